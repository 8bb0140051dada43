"""Nested cross-validation: nothing of the test folds is seen, and sharing changes nothing."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import vectrick as vt
from tests.data import read_graph
from vectrick.model_selection.sharing import SharedMatrix, Sharing

G1, G2 = vt.Gaussian(gamma=0.01), vt.Gaussian(gamma=1.0)
GRID = {"start_kernel": [G1, G2], "end_kernel": [G1, G2], "alpha": [0.01, 1.0, 100.0]}
OUTER = vt.VertexKFold(2, 2, random_state=0)


def problem(m=60, seed=0):
    return vt.datasets.make_checkerboard(m, density=0.6, noise=0.0, random_state=seed)


def test_scores_are_those_of_the_chosen_models():
    X, y = problem()
    found = vt.nested_score(vt.KronRidge(max_iter=8), X, y, GRID, outer=OUTER, n_jobs=1)
    assert found.scores.shape == (1, 4)
    assert found.mean == pytest.approx(found.scores.mean())
    for (train, test), row in zip(OUTER.split(X, y), found.chosen, strict=True):
        model = vt.KronRidge(
            row["start_kernel"], row["end_kernel"], alpha=row["alpha"], max_iter=row["iteration"], solver="cg"
        )
        with pytest.warns(match="iteration limit"):
            model.fit(X[train], y[train])
        assert vt.get_scorer("auc")(model, X[test], y[test]) == pytest.approx(row["score"], abs=1e-6)
    assert list(found.frame()["score"]) == list(found.scores[0])
    assert "± " in repr(found)


def test_labels_of_the_test_folds_do_not_change_what_is_chosen():
    X, y = problem()
    first = vt.nested_score(vt.KronRidge(max_iter=8), X, y, GRID, outer=OUTER, n_jobs=1)
    _, test = next(iter(OUTER.split(X, y)))
    other = y.copy()
    other[test] = -other[test]
    second = vt.nested_score(vt.KronRidge(max_iter=8), X, other, GRID, outer=OUTER, n_jobs=1)
    names = ("start_kernel", "end_kernel", "alpha", "iteration", "inner_score")
    assert [repr(first.chosen[0][name]) for name in names] == [repr(second.chosen[0][name]) for name in names]
    assert first.chosen[0]["score"] == pytest.approx(1 - second.chosen[0]["score"])


@pytest.mark.slow
def test_processes_do_not_change_the_scores():
    X, y = problem()
    estimators = [vt.KronRidge(max_iter=5), vt.KronSVM(max_iter=2, inner_iter=5)]
    one, two = (vt.nested_score(estimators, X, y, GRID, outer=OUTER, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert np.array_equal(one.scores, two.scores)
    assert {row["estimator"] for row in one.chosen} <= {"KronRidge", "KronSVM"}


def test_repeats_and_other_scores():
    X, y = problem()
    y = y + 0.01 * np.arange(len(y))
    outer = vt.VertexKFold(2, new="start", n_repeats=2, random_state=0)
    found = vt.nested_score(vt.KronRidge(max_iter=5), X, y, GRID, outer=outer, scoring="concordance", n_jobs=1)
    assert found.scores.shape == (2, 2)
    assert found.spread == pytest.approx(found.scores.mean(axis=1).std(ddof=1))
    assert found.scoring == "concordance"
    ranker = vt.nested_score(vt.KronRanker(groups="start", max_iter=5), X, y, GRID, outer=OUTER, n_jobs=1)
    assert ranker.scoring == "concordance"


def test_classes_of_any_kind_and_plain_arrays():
    X, y = problem(30)
    rows = np.hstack([X.start_table.features[X.start], X.end_table.features[X.end]])
    labels = np.where(y > 0, "yes", "no")
    svm = vt.KronSVM(max_iter=2, inner_iter=5, n_start_features=1)
    found = vt.nested_score(svm, rows, labels, GRID, outer=OUTER, n_jobs=1)
    assert found.scoring == "auc"
    assert np.isfinite(found.scores).all()


def test_two_values_are_no_classes_for_r2():
    X, y = problem(30)
    ridge = vt.KronRidge(G1, G1, fit_intercept=True, max_iter=10)
    found = vt.nested_score(ridge, X, np.where(y > 0, 5.0, 0.0), {"alpha": [1.0]}, outer=OUTER, scoring="r2", n_jobs=1)
    assert found.mean > -1


def test_kernels_of_the_grid_are_not_changed():
    X, y = problem(30)
    kernel = vt.Gaussian(gamma=1.0)
    grid = {"start_kernel": [kernel], "start_kernel__gamma": [0.01, 7.0], "alpha": [1.0]}
    found = vt.nested_score(vt.KronRidge(max_iter=3), X, y, grid, outer=OUTER, n_jobs=1)
    assert kernel.gamma == 1.0
    assert all(row["start_kernel"].gamma == row["start_kernel__gamma"] for row in found.chosen)


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_warnings_come_once(n_jobs):
    rng = np.random.default_rng(0)
    K = rng.standard_normal((20, 20))
    K = K + K.T + 3 * np.eye(20)
    X = vt.Edges.grid(K, K.copy())
    y = np.where(rng.random(400) < 0.5, 1.0, -1.0)
    ridge = vt.KronRidge("precomputed", "precomputed", max_iter=3)
    with pytest.warns(vt.KernelWarning) as caught:
        vt.nested_score(ridge, X, y, {"alpha": [1.0]}, outer=OUTER, inner=OUTER, n_jobs=n_jobs)
    kinds = [str(warning.message).partition(":")[0] for warning in caught]
    assert len(kinds) <= 4  # for each side, in the inner and in the outer loop
    assert all(warning.filename == __file__ for warning in caught)


def test_the_mean_of_the_best():
    X, y = problem()
    alone = vt.nested_score(vt.KronRidge(), X, y, GRID, outer=OUTER, iterations=[20], n_jobs=1)
    assert {row["iteration"] for row in alone.chosen} == {20}
    found = vt.nested_score(vt.KronRidge(), X, y, GRID, outer=OUTER, iterations=[20], n_best=3, n_jobs=1)
    assert len(found.chosen) == 12
    for (train, test), start in zip(OUTER.split(X, y), range(0, 12, 3), strict=True):
        rows = found.chosen[start : start + 3]
        assert rows[0]["inner_score"] == alone.chosen[start // 3]["inner_score"]
        assert rows[0]["inner_score"] >= rows[1]["inner_score"] >= rows[2]["inner_score"]
        predicted = []
        for row in rows:
            model = vt.KronRidge(row["start_kernel"], row["end_kernel"], alpha=row["alpha"], max_iter=20, solver="cg")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                one = model.fit(X[train], y[train]).predict(X[test])
            predicted.append((one - one.mean()) / one.std())
        assert vt.get_scorer("auc").score(y[test], np.mean(predicted, axis=0)) == pytest.approx(
            rows[0]["score"], abs=1e-6
        )


def test_progress(capsys):
    X, y = problem(30)
    vt.nested_score(vt.KronRidge(max_iter=3), X, y, {"alpha": [1.0]}, outer=OUTER, n_jobs=1, verbose=1)
    assert "nested_score: 8 of 8, auc" in capsys.readouterr().err


@pytest.mark.parametrize(
    "kernel",
    [
        vt.Linear(),
        G2,
        G2 + vt.Constant(0.5),
        vt.Polynomial(degree=2, gamma=0.1),
        vt.Tanimoto(),
        vt.Gaussian(),
        "cosine",
    ],
    ids=repr,
)
def test_shared_kernels_have_the_same_values(kernel):
    rng = np.random.default_rng(0)
    X = vt.Edges(rng.integers(0, 9, 60), rng.integers(0, 7, 60), rng.random((12, 30)), rng.random((8, 3)))
    y = rng.standard_normal(60)
    shared, start, end = Sharing(X, 1e-12).of(kernel, kernel)
    train, test = X.start < 5, X.start >= 5
    expected = vt.KronRidge(kernel, kernel, alpha=0.1).fit(X[train], y[train]).predict(X[test])
    found = vt.KronRidge(start, end, alpha=0.1).fit(shared[train], y[train]).predict(shared[test])
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def test_large_smooth_kernels_are_factored_once():
    X, _ = vt.datasets.make_checkerboard(900, density=0.01, random_state=0)
    sharing = Sharing(X, 1e-12)
    shared, start, _ = sharing.of(vt.Gaussian(gamma=0.01), vt.Gaussian(gamma=0.01))
    assert isinstance(start, vt.Linear)
    assert shared.start_table.n_features < 200
    again, _, _ = sharing.of(vt.Gaussian(gamma=0.01), vt.Gaussian(gamma=0.01))
    assert again.start_table is shared.start_table
    matrix, kernel, _ = sharing.of(vt.Gaussian(gamma=100.0), vt.Gaussian(gamma=0.01))
    assert isinstance(kernel, SharedMatrix)
    assert matrix.start_table.n_features == 900


def test_refuses_what_cannot_be_meant():
    X, y = problem(30)
    with pytest.raises(TypeError, match="estimator is of type str"):
        vt.nested_score("ridge", X, y, GRID)
    with pytest.raises(ValueError, match="param_grid has 1 grids, but there are 2 estimators"):
        vt.nested_score([vt.KronRidge(), vt.KronSVM()], X, y, [GRID])
    with pytest.raises(ValueError, match=r"param_grid\['alpha'\]\[1\] is 0.1 after 1.0"):
        vt.nested_score(vt.KronRidge(), X, y, {"alpha": [1.0, 0.1]})
    with pytest.raises(TypeError, match="param_grid is of type int"):
        vt.nested_score(vt.KronRidge(), X, y, 3)
    with pytest.raises(ValueError, match="Invalid parameter 'beta'"):
        vt.nested_score(vt.KronRidge(), X, y, {"beta": [1.0]})
    with pytest.raises(ValueError, match="scoring is 'accuracy', but it must be one of"):
        vt.nested_score(vt.KronRidge(), X, y, GRID, scoring="accuracy")
    for grid in ({"start_kernel": "gaussian"}, {"max_iter": 5}, {"start_kernel": []}):
        with pytest.raises(ValueError, match=r"param_grid\[.*\] is .*, but it must be a list of at least one value"):
            vt.nested_score(vt.KronRidge(), X, y, grid)
    with pytest.raises(TypeError, match=r"outer is 3, but it must be a vt.VertexKFold"):
        vt.nested_score(vt.KronRidge(), X, y, GRID, outer=3)
    with pytest.raises(ValueError, match="n_jobs is 0"):
        vt.nested_score(vt.KronRidge(), X, y, GRID, n_jobs=0)
    with pytest.raises(ValueError, match="scoring is 'auc', which needs two classes"):
        vt.nested_score(vt.KronRidge(), X, np.arange(len(y)), GRID, scoring="auc")
    with pytest.raises(ValueError, match="estimators have different groups"):
        vt.nested_score([vt.KronRidge(), vt.KronRanker(groups="start")], X, y, GRID, scoring="concordance")
    with pytest.raises(ValueError, match="n_best is 0, but it must be a positive integer"):
        vt.nested_score(vt.KronRidge(), X, y, GRID, n_best=0)
    with pytest.raises(ValueError, match="a mean of standardized predictions has no scale"):
        vt.nested_score(vt.KronRidge(), X, y, GRID, n_best=2, scoring="r2")
    with pytest.raises(ValueError, match="iterations is 5"):
        vt.nested_score(vt.KronRidge(), X, y, GRID, iterations=5)
    rare = np.where(np.arange(len(y)) < 4, 1.0, -1.0)
    with pytest.raises(ValueError, match=r"fold \d .* has \d+ \w+ edges with one label only"):
        vt.nested_score(vt.KronRidge(), X, rare, GRID)


@pytest.mark.slow
def test_real_data():
    K, G, start, end, y = read_graph("gpcr")
    X = vt.Edges(start, end, K, G)
    grid = {"start_kernel": [vt.Gaussian(0.2)], "end_kernel": [vt.Gaussian(0.2)], "alpha": [0.1, 1.0]}
    found = vt.nested_score(vt.KronRidge(max_iter=20), X, y, grid, outer=OUTER, inner=OUTER, n_jobs=2)
    assert found.mean > 0.7
