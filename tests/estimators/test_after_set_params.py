"""Methods of a fitted model use the parameters of its fit, whatever `set_params` said since."""

import numpy as np
import pytest

import vectrick as vt

rng = np.random.default_rng(0)
X = vt.Edges.grid(rng.standard_normal((12, 3)), rng.standard_normal((8, 2)))
Y = rng.standard_normal(96)
CHANGES = {
    "alpha": 10.0,
    "start_kernel__gamma": 3.0,
    "fit_intercept": False,
    "factor_tol": 1e-2,
    "pairwise": "cartesian",
}


def _results(model, classes):
    methods = {
        "predict": lambda: model.predict(X),
        "explain": model.explain(X[5:6], k=96)["contribution"].to_numpy,
        "without an edge": lambda: model.predict_without(X[:5], edges=X[3:4]),
        "without a vertex": lambda: model.predict_without(X[:5], start=[4]),
        "novelty": lambda: model.novelty(X),
        "suggest": vt.suggest(model, X[:40], n=3)["start"].to_numpy,
    }
    if not classes:
        methods |= {
            "std": lambda: model.predict(X, return_std=True)[1],
            "influence": model.explain(X[5:6], influence=True)["without"].to_numpy,
            "sample": lambda: model.sample(X[:4], 2, random_state=0),
        }
    return {name: method() for name, method in methods.items()}


@pytest.mark.parametrize("kind", [vt.KronRidge, vt.KronLogistic, vt.KronSVM])
@pytest.mark.parametrize("loaded", [False, True])
def test_fitted_methods_use_the_parameters_of_the_fit(kind, loaded, tmp_path):
    classes = kind is not vt.KronRidge
    model = kind(vt.Gaussian(0.5), vt.Gaussian(0.5), alpha=0.1).fit(X, np.sign(Y) if classes else Y)
    before = _results(model, classes)
    if loaded:
        model.save(tmp_path / "model.vt")
        model = vt.load(tmp_path / "model.vt")
    model.set_params(**CHANGES)
    for name, after in _results(model, classes).items():
        np.testing.assert_allclose(after, before[name], rtol=1e-9, atol=1e-9, err_msg=name)


def test_a_file_holds_the_parameters_of_the_fit(tmp_path):
    model = vt.KronRidge(vt.Gaussian(0.5), "gaussian", alpha=0.1).fit(X, Y).set_params(alpha=10.0)
    model.save(tmp_path / "model.vt")
    assert vt.load(tmp_path / "model.vt").alpha == 0.1
    assert model.alpha == 10.0


def test_a_new_fit_uses_the_new_parameters():
    model = vt.KronRidge(vt.Gaussian(0.5), vt.Gaussian(0.5), alpha=0.1).fit(X, Y).set_params(alpha=10.0).fit(X, Y)
    other = vt.KronRidge(vt.Gaussian(0.5), vt.Gaussian(0.5), alpha=10.0).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X, return_std=True)[1], other.predict(X, return_std=True)[1])


def test_plain_arrays_are_split_as_in_the_fit():
    rows = rng.standard_normal((30, 4))
    model = vt.KronRidge("gaussian", "gaussian", n_start_features=1).fit(rows, rows[:, 0])
    before = model.predict(rows)
    np.testing.assert_array_equal(model.set_params(n_start_features=3).predict(rows), before)


def test_members_of_a_search_keep_theirs():
    model = vt.AutoKron(random_state=0, n_best=2).fit(X, Y)
    before = model.predict(X, return_std=True)[1]
    for member in model.members_:
        member.set_params(alpha=7.0)
    np.testing.assert_array_equal(model.predict(X, return_std=True)[1], before)


def test_wrappers_and_searches_keep_theirs(tmp_path):
    conformal = vt.ConformalKron(vt.KronRidge("gaussian", "gaussian"), method="cv+", random_state=0).fit(X, Y)
    conformal.set_params(method="full").save(tmp_path / "conformal.vt")
    loaded = vt.load(tmp_path / "conformal.vt")
    assert loaded.method == "cv+"
    np.testing.assert_allclose(loaded.predict(X), conformal.predict(X))
    rows = rng.integers(0, 4, (200, 4)).astype(float)
    given = vt.ConformalKron(vt.KronRidge("gaussian", "gaussian", n_start_features=1), new="neither", random_state=0)
    given.fit(rows, rows[:, 0])
    before = given.predict_interval(rows)
    np.testing.assert_array_equal(given.set_params(model__n_start_features=2).predict_interval(rows), before)
    values = vt.AutoKron(random_state=0, n_best=2).fit(X, Y)
    before = values.predict_without(X[:3], start=[2])
    np.testing.assert_allclose(values.set_params(loss="logistic").predict_without(X[:3], start=[2]), before)
    classes = vt.AutoKron(random_state=0, n_best=2).fit(X, np.where(Y > 0, "yes", "no"))
    assert hasattr(classes.set_params(loss="ridge"), "predict_proba")
