"""Baselines and comparisons on the same folds."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsRegressor

import vectrick as vt
from tests.data import read_graph
from vectrick.model_selection.baselines.models import (
    SGD,
    BoostedTrees,
    ConcatenatedFeatures,
    LibSVM,
    Neighbours,
    VertexMean,
)

CV = vt.VertexKFold(2, 2, random_state=0)
BASELINES = [
    SGD("hinge", n_updates=3000),
    SGD("log_loss", n_updates=3000),
    Neighbours(),
    LibSVM(),
    BoostedTrees(max_iter=10),
    VertexMean(),
]


def main_effects(m=25, q=20, seed=0):
    """Return a graph whose labels follow the features of the vertices, without interactions."""
    rng = np.random.default_rng(seed)
    X = vt.Edges.grid(rng.standard_normal((m, 3)), rng.standard_normal((q, 2)))[rng.permutation(m * q)[:400]]
    effect = X.start_table.features[X.start, 0] + X.end_table.features[X.end, 1]
    return X, effect + 0.3 * rng.standard_normal(len(X))


@pytest.mark.parametrize("baseline", BASELINES, ids=repr)
@pytest.mark.parametrize("kind", ["values", "classes", "words"])
def test_learns_main_effects(baseline, kind):
    X, y = main_effects()
    if kind != "values":
        y = np.where(y > 0.5, 1, -1) if kind == "classes" else np.where(y > 0.5, "yes", "no")
    new = "neither" if isinstance(baseline, VertexMean) else "both"
    cv = vt.VertexKFold(2, 2, new, random_state=0)
    found = vt.compare({"it": baseline}, X, y, cv=cv, baselines=False)
    assert found.loc["it", "mean"] > 0.65
    model = baseline.fit(X, y)
    assert set(model.predict(X)) <= set(y) or kind == "values"


def test_vertex_means_know_nothing_of_new_vertices():
    X, y = main_effects()
    found = vt.compare(VertexMean(), X, y, cv=CV, baselines=False)
    assert found.loc["VertexMean", "mean"] == 0.5
    with pytest.raises(ValueError, match="another start table"):
        VertexMean().fit(X, y).decision_function(main_effects(seed=1)[0])


def test_neighbours_are_scikit_learns():
    X, y = main_effects()
    model = Neighbours(ks=(1, 5, 9)).fit(X[:300], y[:300])
    rows = ConcatenatedFeatures(X)
    theirs = KNeighborsRegressor(model.k_).fit(rows.of(X[:300]), y[:300]).predict(rows.of(X[300:]))
    np.testing.assert_allclose(model.decision_function(X[300:]), theirs, atol=1e-6)


def test_rows_are_concatenated_features():
    X, _ = main_effects()
    expected = np.hstack([X.start_table.features[X.start], X.end_table.features[X.end]])
    np.testing.assert_allclose(ConcatenatedFeatures(X).of(X), expected, atol=1e-6)
    scaled = ConcatenatedFeatures(X, scale=True).of(X)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(scaled.std(axis=0), 1, atol=1e-5)
    sparse = vt.Edges(X.start, X.end, csr_array(X.start_table.features), csr_array(X.end_table.features))
    np.testing.assert_allclose(ConcatenatedFeatures(sparse).of(sparse), expected, atol=1e-6)


def test_libsvm_takes_a_part_of_many_edges():
    X, y = main_effects()
    assert LibSVM(max_edges=50).fit(X, y).model_.shape_fit_[0] == 50
    rare = np.where(np.arange(len(y)) == 0, 1, -1)
    with pytest.raises(ValueError, match="max_edges is 2, but so few edges have one label only"):
        LibSVM(max_edges=2).fit(X, rare)


def test_compares_on_the_same_folds():
    X, y = main_effects()
    y = np.where(y > 0.5, 1.0, -1.0)
    methods = [vt.KronSVM(vt.Gaussian(0.3), vt.Gaussian(0.3)), vt.KronSVM(alpha=10.0)]
    few = {"vertex mean": VertexMean()}
    rows = vt.compare(methods, X, y, cv=CV, baselines=few, per_fold=True)
    assert set(rows["method"]) == {"KronSVM", "KronSVM 2", "vertex mean"}
    assert list(rows[rows["method"] == "KronSVM"]["fold"]) == [fold.name for fold in CV.folds(X, y)]
    for (train, test), score in zip(CV.split(X, y), rows["score"], strict=False):
        assert vt.get_scorer("auc")(methods[0].fit(X[train], y[train]), X[test], y[test]) == pytest.approx(score)
    summary = vt.compare(methods, X, y, cv=CV, baselines=few)
    assert summary["mean"].is_monotonic_decreasing
    some = rows[rows["method"] == "KronSVM"]["score"]
    assert summary.loc["KronSVM", "mean"] == pytest.approx(some.mean())
    assert summary.loc["KronSVM", "spread"] == pytest.approx(some.std())
    assert summary.loc["KronSVM", "lowest"] == some.min()
    assert (summary["seconds"] > 0).all()


def test_spread_is_over_repeats():
    X, y = main_effects()
    cv = vt.VertexKFold(2, 2, n_repeats=3, random_state=0)
    rows = vt.compare(vt.KronRidge(), X, y, cv=cv, baselines=False, per_fold=True, scoring="concordance_per_start")
    means = rows.groupby("repeat")["score"].mean()
    assert len(means) == 3
    summary = vt.compare(vt.KronRidge(), X, y, cv=cv, baselines=False, scoring="concordance_per_start")
    assert summary.loc["KronRidge", "spread"] == pytest.approx(means.std())


def test_one_that_fails_does_not_end_the_others():
    X, y = main_effects()
    with pytest.warns(UserWarning, match=r"broken failed in fold \d .* ValueError: alpha is -1"):
        found = vt.compare({"broken": vt.KronRidge(alpha=-1), "fine": vt.KronRidge()}, X, y, cv=CV, baselines=False)
    assert np.isnan(found.loc["broken", "mean"])
    assert found.loc["fine", "mean"] > 0


def test_a_method_that_fails_in_one_fold_has_no_mean():
    X, y = main_effects()
    first = len(CV.folds(X, y)[0].train)

    class Fragile(VertexMean):
        def _fit(self, X, y):
            if len(y) == first:
                raise RuntimeError("no")
            super()._fit(X, y)

    with pytest.warns(UserWarning, match="fragile failed in fold 0"):
        found = vt.compare({"fragile": Fragile(), "fine": VertexMean()}, X, y, cv=CV, baselines=False)
    assert np.isnan(found.loc["fragile", "mean"])
    assert list(found.index) == ["fine", "fragile"]


def test_an_interruption_that_a_library_calls_an_error_is_one():
    X, y = main_effects()

    class Wrapped(VertexMean):
        def _fit(self, X, y):
            raise ValueError("not a valid PEP 3118 buffer format string") from KeyboardInterrupt()

    with pytest.raises(KeyboardInterrupt):
        vt.compare({"wrapped": Wrapped()}, X, y, cv=CV, baselines=False)


def test_baselines_are_estimators():
    X, y = main_effects()
    with pytest.raises(NotFittedError):
        VertexMean().decision_function(X)
    with pytest.raises(ValueError, match=r"y has shape \(399,\), but X has 400 edges"):
        LibSVM().fit(X, np.sign(y[:-1]))
    model = VertexMean().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert model.score(X, y) == vt.concordance_index(y, model.decision_function(X))
    assert Neighbours().fit(X[:5], y[:5]).k_ == 1  # too few edges to choose


def test_refuses_and_reports(capsys):
    X, y = main_effects()
    with pytest.raises(TypeError, match="X is of type ndarray, but it must be Edges"):
        vt.compare(vt.KronRidge(), np.zeros((3, 2)), [1, 2, 3])
    with pytest.raises(TypeError, match="X is of type ndarray, but it must be Edges"):
        VertexMean().fit(np.zeros((3, 2)), [1, 2, 3])
    with pytest.raises(TypeError, match="baselines is of type list"):
        vt.compare(vt.KronRidge(), X, y, baselines=[VertexMean()])
    with pytest.raises(ValueError, match="both have the name 'KNN'"):
        vt.compare({"KNN": vt.KronRidge()}, X, y)
    with pytest.raises(ValueError, match="nothing to compare"):
        vt.compare([], X, y, baselines=False)
    with pytest.raises(TypeError, match="the method 'str' is of type str"):
        vt.compare(["KronRidge"], X, y)
    with pytest.raises(TypeError, match=r"cv is 3, but it must be a vt.VertexKFold"):
        vt.compare(vt.KronRidge(), X, y, cv=3)
    with pytest.raises(ValueError, match="scoring is 'accuracy'"):
        vt.compare(vt.KronRidge(), X, y, scoring="accuracy")
    vt.compare(vt.KronRidge(), X, y, cv=CV, baselines=False, verbose=2)
    assert (
        "compare: 4 of 4, KronRidge, fold 3 (start part 1 of 2, end part 1 of 2): concordance"
        in capsys.readouterr().err
    )


def test_memory_is_checked_first(monkeypatch):
    X, y = main_effects()
    monkeypatch.setattr("vectrick.backends.NumpyBackend.free_memory", lambda self: 1000)
    monkeypatch.setattr("vectrick.models.limits.SMALL_BYTES", 0)
    with pytest.raises(MemoryError, match="the table of concatenated features, 400 × 5"):
        Neighbours().fit(X, y)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_real_data():
    """On GPCR, Kronecker models and baselines are above chance for new vertices, and vertex means are not."""
    K, G, start, end, y = read_graph("gpcr")
    X = vt.Edges(start, end, K, G)
    kernels = vt.Gaussian(1.0) + vt.Constant(0.3), vt.Gaussian(1.0) + vt.Constant(0.3)
    methods = {"tuned": vt.KronRidge(*kernels, alpha=1.0, solver="cg", max_iter=20), "mean": VertexMean()}
    found = vt.compare(methods, X, y, cv=CV, baselines={"KNN": Neighbours()})
    assert found.loc["mean", "mean"] == 0.5
    assert found.loc["tuned", "mean"] > 0.7
    assert found.loc["KNN", "mean"] > 0.6
