"""Labels that are bounds: against SciPy's minimum, and everywhere that labels go."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.model_selection import GridSearchCV, cross_val_score

import vectrick as vt

RNG = np.random.default_rng(0)
X = vt.Edges.grid(RNG.standard_normal((9, 3)), RNG.standard_normal((7, 2)))
Y, BOUND = RNG.standard_normal(len(X)), RNG.integers(-1, 2, len(X))
LABELS = vt.censored(Y, BOUND)


def minimum(y, bound, alpha, intercept):
    K, G = (vt.Gaussian().resolve(t.features, np.arange(len(t)))(t.features) for t in (X.start_table, X.end_table))
    A = np.kron(K, G)

    def risk(v):
        p = A @ v[:-1] + intercept * v[-1]
        error = np.where((bound == 0) | ((p - y) * bound < 0), p - y, 0.0)
        slope = np.append(A @ error + alpha * (A @ v[:-1]), intercept * error.sum())
        return 0.5 * error @ error + 0.5 * alpha * v[:-1] @ A @ v[:-1], slope

    found = minimize(risk, np.zeros(len(y) + 1), jac=True, method="L-BFGS-B",
                     options={"maxiter": 50_000, "maxfun": 50_000, "ftol": 1e-16, "gtol": 1e-11})  # fmt: skip
    return A @ found.x[:-1] + intercept * found.x[-1]


@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_minimum_is_that_of_scipy(form, intercept):
    model = vt.KronRidge(
        "gaussian", "gaussian", loss="censored", alpha=0.5, tol=1e-12, form=form, fit_intercept=intercept
    )
    model.fit(X, LABELS)
    assert model.solution_.converged
    assert_allclose(model.predict(X), minimum(Y, BOUND, 0.5, intercept), atol=1e-6)


def test_without_bounds_it_is_ridge_regression():
    expected = vt.KronRidge("gaussian", "gaussian", tol=1e-10).fit(X, Y).predict(X)
    for labels in (Y, vt.censored(Y, ["="] * len(Y))):
        model = vt.KronRidge("gaussian", "gaussian", loss="censored", tol=1e-10).fit(X, labels)
        assert_allclose(model.predict(X), expected, atol=1e-7)


def test_a_prediction_beyond_a_bound_costs_nothing():
    y = vt.censored(np.where(X.start < 4, 5.0, 1.0), np.where(X.start < 4, "<", "="))
    model = vt.KronRidge("gaussian", "gaussian", loss="censored", alpha=1e-3).fit(X, y)
    assert (model.predict(X)[X.start < 4] < 4.0).all()  # nothing pulls them up to the bound
    assert (
        model.score(X, y) > vt.KronRidge("gaussian", "gaussian", alpha=1e-3).fit(X, y["value"]).score(X, y["value"]) - 1
    )


def test_relations_in_words_and_numbers():
    words = vt.censored([1, 2, 3, 4], [" >= ", "<", "=", "≤"])
    assert words["bound"].tolist() == [1, -1, 0, -1]
    np.testing.assert_array_equal(words, vt.censored([1, 2, 3, 4], [1, -1, 0, -1]))
    with pytest.raises(ValueError, match=r"relation\[1\] is 'about'"):
        vt.censored([1.0, 2.0], ["=", "about"])
    with pytest.raises(ValueError, match=r"relation\[0\] is 2"):
        vt.censored([1.0], [2])
    with pytest.raises(ValueError, match="both must be vectors"):
        vt.censored([1.0, 2.0], ["="])


def test_other_models_refuse_bounds():
    with pytest.raises(ValueError, match=r"KronRidge\(loss='censored'\)"):
        vt.KronRidge("gaussian", "gaussian").fit(X, LABELS)
    with pytest.raises(ValueError, match=r"KronRidge\(loss='censored'\)"):
        vt.KronRanker("gaussian", "gaussian").fit(X, LABELS)
    with pytest.raises(ValueError, match=r"labels with fields must be made by vt\.censored"):
        vt.KronRidge(loss="censored").fit(X, np.zeros(len(X), [("a", float)]))
    with pytest.raises(ValueError, match="need the loss 'ridge', and loss is 'svm'"):
        vt.AutoKron(loss="svm").fit(X, LABELS)
    with pytest.raises(ValueError, match="kernel_weights are to be learned"):
        vt.KronRidge(["gaussian", "linear"], "gaussian", loss="censored", kernel_weights="validation").fit(X, LABELS)


def test_files_updates_and_explanations_keep_bounds(tmp_path):
    model = vt.KronRidge("gaussian", "gaussian", loss="censored", tol=1e-10).fit(X[:40], LABELS[:40])
    model.save(tmp_path / "model.vt")
    same = vt.load(tmp_path / "model.vt")
    np.testing.assert_array_equal(same._source.labels, LABELS[:40])
    frame = same.explain(X[50], 3)
    assert_allclose(frame["contribution"].sum(), same.predict(X[50])[0], atol=1e-8)
    whole = vt.KronRidge("gaussian", "gaussian", loss="censored", tol=1e-10).fit(X, LABELS)
    assert_allclose(same.update(X[40:], LABELS[40:]).predict(X), whole.predict(X), atol=1e-6)
    mixed = vt.load(tmp_path / "model.vt").update(X[40:], Y[40:])  # which are values
    assert mixed._source.labels["bound"][40:].tolist() == [0] * 23


def test_folds_and_early_stopping():
    model = vt.KronRidge("gaussian", "gaussian", loss="censored")
    cv = vt.VertexKFold(2, 2, random_state=0)
    assert np.isfinite(cross_val_score(model, X, LABELS, cv=cv)).all()
    assert np.isfinite(GridSearchCV(model, {"alpha": [0.1, 1.0]}, cv=cv).fit(X, LABELS).best_score_)
    frame = vt.compare(
        {"censored": model, "plain": vt.KronRidge("gaussian", "gaussian")}, X, LABELS, cv=cv, baselines=False
    )
    assert frame["mean"].notna().all()
    stopped = model.set_params(early_stopping=True, random_state=0, validation_fraction=0.3).fit(X, LABELS)
    assert "score" in stopped.history_


def test_a_search_trains_its_members_with_bounds():
    big = vt.Edges.grid(RNG.standard_normal((16, 2)), RNG.standard_normal((12, 2)))
    true = (big.start_table.features[big.start] * big.end_table.features[big.end]).sum(axis=1)
    low = true < 0
    y = vt.censored(np.where(low, 0.0, true), np.where(low, "<", "="))  # below zero, nothing is measured
    model = vt.AutoKron(new="neither", random_state=0).fit(big, y)
    assert all(member.loss == "censored" for member in model.members_)
    assert "trained with the bounds" in model.told_[-1]
    plain = vt.AutoKron(new="neither", random_state=0).fit(big, y["value"])
    assert model.predict(big)[low].mean() < plain.predict(big)[low].mean() - 0.1
    assert model.score(big, y) > 0.5


def test_early_stopping_scores_what_is_beyond_a_bound_as_right():
    histories = []
    for far in (-100.0, -1000.0):
        half = np.arange(len(X)) % 2 == 0
        y = vt.censored(np.where(half, far, Y), half.astype(int))  # "> -100" says nothing
        how = {"loss": "censored", "early_stopping": True, "random_state": 0, "fit_intercept": False, "scoring": "r2"}
        model = vt.KronRidge("gaussian", "gaussian", **how).fit(X, y)
        validated = vt.KronRidge("gaussian", "gaussian", **how).fit(X, y, validation=(X, y))
        residual = [part.predict(X[half]) > far for part in (model, validated)]
        assert all(beyond.all() for beyond in residual)
        histories.append(model.predict(X))
    assert_allclose(*histories, atol=1e-8)


def test_scorers_and_searches_of_bounds():
    cv = vt.VertexKFold(2, 2, random_state=0)
    model = vt.KronRidge("gaussian", "gaussian", loss="censored")
    for name in ("concordance", "r2"):
        scores = cross_val_score(model, X, LABELS, cv=cv, scoring=vt.get_scorer(name), error_score="raise")
        assert np.isfinite(scores).all()
    seen = []

    class Watching(GridSearchCV):
        def fit(self, X, y):
            seen.append(y.dtype.names)
            return super().fit(X, y)

    vt.compare({"grid": Watching(model, {"alpha": [1.0]}, cv=cv)}, X, LABELS, cv=cv, baselines=False)
    assert set(seen) == {("value", "bound")}
    for refused in (
        lambda: vt.nested_score(model, X, LABELS, {"alpha": [0.1, 1.0]}),
        lambda: vt.compare_kernels(X, LABELS, model, n_folds=2, kernels=["kronecker"]),
        lambda: vt.ConformalKron(model).fit(X, LABELS),
    ):
        with pytest.raises(ValueError, match=r"y has bounds \(vt.censored\), but .* takes values only"):
            refused()
