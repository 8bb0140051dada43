"""Comparison of pairwise kernels: which are tried, on which folds, and what it shows."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score

import vectrick as vt
from tests.kernels.formulas import edges_of_one_set


@pytest.fixture(scope="module")
def checker():
    """A small checkerboard, which has interactions only."""
    rng = np.random.default_rng(0)
    d, t = 6 * rng.random((120, 1)), 6 * rng.random((120, 1))
    X = vt.Edges.grid(d, t)[rng.permutation(120 * 120)[:7200]]
    return X, np.where((np.floor(d[X.start, 0]) + np.floor(t[X.end, 0])) % 2, 1.0, -1.0)


@pytest.mark.slow
def test_a_checkerboard_is_all_interactions(checker):
    X, y = checker
    ridge = vt.KronRidge(vt.Gaussian(3.0), vt.Gaussian(3.0))
    found = vt.compare_kernels(X, y, ridge, kernels=["kronecker", "linear"], settings=["both", "neither"], n_jobs=1)
    table = found.table()
    assert list(table.columns) == ["both", "neither"]
    assert (abs(table.loc["linear"] - 0.5) < 0.06).all()  # at chance
    assert (table.loc["kronecker"] > 0.65).all()
    assert table.loc["kronecker", "neither"] > 0.9
    assert found.scoring == "auc"
    assert found.frame["kernel"].tolist()[0] == "kronecker"
    assert set(found.folds.columns) >= {"setting", "kernel", "fold", "score", "alpha", "seconds"}
    assert len(found.folds) == 2 * (9 + 3)
    assert "kronecker" in repr(found)


def test_on_checker_the_linear_kernel_is_at_chance_and_the_kronecker_kernel_is_not():
    (X, y), (X_new, y_new) = (vt.datasets.make_checkerboard(1000, random_state=seed) for seed in range(2))
    auc = {}
    for name in ("linear", "kronecker"):
        model = vt.KronRidge(vt.Gaussian(1.0), vt.Gaussian(1.0), pairwise=name, alpha=1e-4, max_iter=40)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            auc[name] = roc_auc_score(y_new, model.fit(X, y).predict(X_new))
    assert abs(auc["linear"] - 0.5) < 0.02
    assert auc["kronecker"] > 0.7


def test_a_cartesian_kernel_says_nothing_about_two_new_vertices(checker):
    X, y = checker
    ridge = vt.KronRidge(vt.Gaussian(1.0), vt.Gaussian(1.0), alpha=0.1, fit_intercept=False)
    train, test = next(vt.VertexKFold(2, random_state=0).split(X, y))
    assert not ridge.set_params(pairwise="cartesian").fit(X[train], y[train]).predict(X[test]).any()
    train, test = next(vt.VertexKFold(3, new="start", random_state=0).split(X, y))
    assert ridge.fit(X[train], y[train]).predict(X[test]).any()


def tried(X, y, *model):
    """Return the names of the kernels that are tried if nothing is said."""
    return list(vt.compare_kernels(X, y, *model, settings=["neither"], alphas=[1.0], n_folds=2, n_jobs=1).table().index)


@pytest.mark.slow
def test_every_kernel_that_fits_is_tried():
    rng = np.random.default_rng(0)
    S, E = rng.standard_normal((8, 2)), rng.standard_normal((7, 2))
    cells = rng.permutation(56)[:45]
    X, y = vt.Edges(cells // 7, cells % 7, S, E), rng.standard_normal(45)
    two = ["kronecker", "linear", "poly2d", "cartesian"]
    assert tried(X, y) == two  # the Gaussian one is the Kronecker product of Gaussians
    assert tried(X, y, vt.KronRidge()) == [*two, "gaussian"]
    start, end = edges_of_one_set(rng, 12, 90, loops=False)
    one, values = vt.Edges(start, end, rng.standard_normal((12, 2))), rng.standard_normal(len(start))
    with_signs = [*two, "gaussian", "symmetric", "antisymmetric", "mlpk", "ranking"]
    assert tried(one, values, vt.KronRidge()) == with_signs
    both = vt.Edges(np.r_[start, end], np.r_[end, start], one.start_table.features)
    assert tried(both, np.r_[values, values], vt.KronRidge()) == [*two, "gaussian", "symmetric", "mlpk"]


@pytest.mark.slow
def test_two_step_regression_where_the_graph_is_complete():
    rng = np.random.default_rng(0)
    X = vt.Edges.grid(rng.standard_normal((8, 2)), rng.standard_normal((7, 2)))
    y = rng.standard_normal(56)
    more = {"n_folds": 2, "n_jobs": 1, "scoring": "concordance"}
    table = vt.compare_kernels(X, y, settings=["both", "neither"], **more).table()
    assert np.isfinite(table.loc["two_step", "both"])
    assert np.isnan(table.loc["two_step", "neither"])  # where no part of the graph is complete
    with pytest.warns(UserWarning, match="two_step failed with neither new: pairwise='two_step' is for comp"):
        vt.compare_kernels(X, y, kernels=["two_step", "kronecker"], settings=["neither"], **more)


def test_kernels_with_signs_have_no_intercept():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((20, 2))
    start, end = edges_of_one_set(rng, 20, 200, loops=False)
    y = features[start, 0] - features[end, 0]
    ridge = vt.KronRidge(fit_intercept=True)
    found = vt.compare_kernels(vt.Edges(start, end, features), y, ridge, settings=["both"], n_folds=2, n_jobs=1)
    assert found.frame["kernel"].iloc[0] == "ranking"


def test_it_says_what_it_left_out(checker):
    X, y = checker
    found = vt.compare_kernels(X, y, settings=["neither"], alphas=[1.0], n_folds=2, n_jobs=1)
    assert "needs one vertex set" in found.left_out["symmetric"]
    assert found.left_out["gaussian"] == "it is the Kronecker product of the Gaussian vertex kernels"
    assert not set(found.left_out) & set(found.table().index)


def test_one_vertex_set_has_one_kernel_in_all_comparisons():
    rng = np.random.default_rng(0)
    X = vt.Edges(*edges_of_one_set(rng, 20, 200, loops=False), rng.standard_normal((20, 2)))
    y = rng.standard_normal(len(X))
    more = {"kernels": ["kronecker"], "settings": ["both"], "n_folds": 2, "n_jobs": 1}
    g = vt.Gaussian(0.3)
    one, two = (vt.compare_kernels(X, y, model, **more) for model in (vt.KronRidge(g), vt.KronRidge(g, g)))
    assert one.table().equals(two.table())


def test_without_a_seed_all_kernels_have_the_same_folds(checker):
    X, y = checker
    kernels = {"one": "linear", "the same": "linear"}
    found = vt.compare_kernels(X, y, kernels=kernels, settings=["start"], random_state=None, alphas=[1.0], n_jobs=1)
    assert found.table().loc["one", "start"] == found.table().loc["the same", "start"]


def test_an_edge_and_its_reverse_are_in_one_part():
    rng = np.random.default_rng(0)
    start, end = edges_of_one_set(rng, 12, 150)
    X = vt.Edges(np.r_[start, end], np.r_[end, start], rng.standard_normal((12, 2)))
    for train, test in vt.VertexKFold(3, 1, new="neither", random_state=0).split(X):
        known = set(zip(X.start[train].tolist(), X.end[train].tolist(), strict=True))
        assert not any((j, i) in known or (i, j) in known for i, j in zip(X.start[test], X.end[test], strict=True))


def test_the_plot_shows_every_kernel(checker, tmp_path):
    X, y = checker
    found = vt.compare_kernels(
        X, y, kernels={"plain": "kronecker", "mixed": [("kronecker", 0.5), ("linear", 0.5)]}, settings=["start"],
        alphas=[1.0], n_folds=2, n_jobs=1,
    )  # fmt: skip
    figure = found.plot(tmp_path / "kernels.png")
    assert (tmp_path / "kernels.png").stat().st_size > 5000
    assert {text.get_text() for text in figure.legends[0].get_texts()} == {"plain", "mixed", "chance"}


def test_bad_input_is_refused(checker):
    X, y = checker
    with pytest.raises(TypeError, match="X is of type ndarray"):
        vt.compare_kernels(np.ones((3, 2)), [1, 2, 3])
    with pytest.raises(TypeError, match="estimator is of type str"):
        vt.compare_kernels(X, y, "ridge")
    with pytest.raises(ValueError, match="settings has 'all'"):
        vt.compare_kernels(X, y, settings=["all"])
    for given, message in (
        ({"estimator": vt.KronRidge("gausian")}, "start_kernel is 'gausian'"),
        ({"kernels": "kronecker"}, "kernels is 'kronecker', but it must be a list"),
        ({"settings": "both"}, "settings is 'both', but it must be a list"),
        ({"settings": []}, "settings is"),
        ({"alphas": [1.0, 0.1]}, "alphas must be in increasing order"),
        ({"scoring": "foo"}, "scoring is 'foo'"),
        ({"n_folds": 1}, "n_start is 1"),
        ({"n_folds": 500}, "n_start is 500, but the edges have only"),
        ({"y": y[:5]}, r"y has shape \(5,\), but X has"),
    ):
        with pytest.raises(ValueError, match=message):
            vt.compare_kernels(**{"X": X, "y": y, **given})
    with pytest.raises(ValueError, match="kernels is empty"):
        vt.compare_kernels(X, y, kernels=[])
    with pytest.raises(ValueError, match="pairwise='symmetric' needs one vertex set"):
        vt.compare_kernels(X, y, kernels=["symmetric"])
    with pytest.raises(ValueError, match="it must be one of 'kronecker'"):
        vt.compare_kernels(X, y, kernels=["nothing"])


def test_folds_of_edges_alone():
    X, y = vt.datasets.make_checkerboard(20, density=1.0, random_state=0)
    assert len(list(vt.VertexKFold(3, 1, new="neither").split(X, y))) == 3
    with pytest.raises(ValueError, match="n_end is 1"):
        list(vt.VertexKFold(3, 1, new="both").split(X, y))


def test_a_vertex_of_one_set_is_new_wherever_it_appears():
    rng = np.random.default_rng(0)
    X = vt.Edges(*edges_of_one_set(rng, 30, 300), rng.standard_normal((30, 2)))
    for train, test in vt.VertexKFold(3, new="both", random_state=0).split(X):
        known = set(X.start[train]) | set(X.end[train])
        assert not known & (set(X.start[test]) | set(X.end[test]))
