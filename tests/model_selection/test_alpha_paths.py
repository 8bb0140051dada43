"""Paths over alpha: the models and scores of separate fits, for the products of one."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import vectrick as vt
from tests.data import read_graph
from vectrick.metrics import auc

ALPHAS = [1e-3, 0.1, 10.0]
KERNEL = vt.Gaussian(gamma=0.02)


def problem(seed=0):
    X, y = vt.datasets.make_checkerboard(40, density=0.5, noise=0.1, random_state=seed)
    train, validation, _ = vt.vertex_split(X, y, random_state=seed)
    return (X[train], y[train]), (X[validation], y[validation])


def decide(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def fit_quietly(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)


@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize(
    "estimator",
    [
        vt.KronRidge(KERNEL, KERNEL, solver="cg"),
        vt.KronRidge(KERNEL, KERNEL, solver="minres"),
        vt.KronRidge(KERNEL, KERNEL, fit_intercept=True),
        vt.KronRidge(KERNEL, KERNEL, dtype="float32"),
        vt.KronRanker(KERNEL, KERNEL),
        vt.KronRanker(KERNEL, KERNEL, groups="start"),
    ],
    ids=["cg", "minres", "intercept", "float32", "ranker", "ranker within start"],
)
def test_quadratic_losses_give_the_iterates_of_separate_fits(estimator, form):
    train, validation = problem()
    estimator = estimator.set_params(form=form, max_iter=15)
    path = vt.alpha_path(estimator, *train, ALPHAS, validation, iterations="all")
    tolerance = 1e-3 if estimator.dtype == "float32" else 1e-7
    for step in path.steps:
        solver = "cg" if estimator.solver == "auto" else estimator.solver
        alone = clone(estimator).set_params(alpha=step.alpha, solver=solver, tol=0.0, n_iter_no_change=10**9)
        fit_quietly(alone, *train, validation=validation)
        n = len(alone.history_["score"])
        np.testing.assert_allclose(step.scores[:n], alone.history_["score"], atol=tolerance)
        np.testing.assert_allclose(step.risks[:n], alone.history_["risk"], rtol=10 * tolerance)
        np.testing.assert_allclose(
            decide(step.model, validation[0]), decide(alone, validation[0]), atol=100 * tolerance
        )
        assert step.model.n_iter_ == step.best == alone.n_iter_
        assert step.model.alpha == step.alpha


@pytest.mark.parametrize(
    "estimator",
    [vt.KronSVM(KERNEL, KERNEL), vt.KronSVM(KERNEL, KERNEL, loss="hinge"), vt.KronLogistic(KERNEL, KERNEL)],
    ids=["squared hinge", "hinge", "logistic"],
)
def test_other_losses_are_fitted_one_by_one(estimator):
    train, validation = problem()
    cold = vt.alpha_path(estimator, *train, ALPHAS, validation, warm_start=False)
    for step in cold.steps:
        alone = fit_quietly(clone(estimator).set_params(alpha=step.alpha), *train, validation=validation)
        assert list(step.scores) == alone.history_["score"]
        assert np.array_equal(decide(step.model, validation[0]), decide(alone, validation[0]))
    warm = vt.alpha_path(estimator.set_params(n_iter_no_change=10**6), *train, ALPHAS, validation)
    cold = vt.alpha_path(estimator, *train, ALPHAS, validation, warm_start=False)
    assert [step.alpha for step in warm.steps] == ALPHAS
    # Both converge to the same risk, the warm ones from nearer.
    for one, other in zip(warm.steps, cold.steps, strict=True):
        assert one.risks[-1] == pytest.approx(other.risks[-1], rel=1e-3)


@pytest.mark.parametrize(
    "estimator", [vt.KronSVM(KERNEL, KERNEL), vt.KronLogistic(KERNEL, KERNEL)], ids=["svm", "logistic"]
)
def test_an_alpha_whose_start_is_the_solution_has_a_score(estimator):
    """From 2²⁰ on down, many solutions are the one before within the tolerance, and no iteration is made."""
    train, validation = problem()
    path = vt.alpha_path(estimator, *train, [1e-3, 1.0, 1e16, 1e18, 1e20], validation)
    assert np.isfinite(path.scores).all()
    for model, score in zip(path.models, path.scores, strict=True):
        assert auc(validation[1], model.decision_function(validation[0])) == pytest.approx(score, abs=1e-9)


def test_constant_labels_make_a_constant_model():
    (X, y), validation = problem()
    with pytest.warns(UserWarning, match="y is constant"):
        path = vt.alpha_path(
            vt.KronRidge(KERNEL, KERNEL, fit_intercept=True), X, np.full(len(y), 3.0), [1.0], validation
        )
    assert np.allclose(path.best_model.predict(X), 3.0)
    assert path.scores == [0.5]


def test_iterations_beyond_an_exhausted_space_are_its_last():
    rng = np.random.default_rng(0)
    X = vt.Edges.grid(rng.standard_normal((12, 2)), rng.standard_normal((12, 2)))
    train, validation, _ = vt.vertex_split(X, random_state=0)
    y = rng.standard_normal(len(X))
    path = vt.alpha_path(vt.KronRidge(), X[train], y[train], [1.0], (X[validation], y[validation]), iterations=[1, 100])
    assert list(path.best.iterations) == [1, 4]
    exact = vt.KronRidge(solver="direct").fit(X[train], y[train])
    last = vt.alpha_path(vt.KronRidge(), X[train], y[train], [1.0], (X[validation], y[validation]), iterations=[100])
    assert np.allclose(last.best_model.predict(X), exact.predict(X))


def test_scores_are_those_of_the_models():
    train, validation = problem()
    path = vt.alpha_path(vt.KronRidge(KERNEL, KERNEL), *train, ALPHAS, validation)
    for model, score in zip(path.models, path.scores, strict=True):
        assert auc(validation[1], model.predict(validation[0])) == pytest.approx(score)
    assert path.best_model.alpha == path.best.alpha
    assert path.best.best_score == path.scores.max()
    frame = path.frame()
    assert set(frame.columns) == {"alpha", "iteration", "score", "risk"}
    assert frame["score"].max() == path.scores.max()
    assert "the best score" in repr(path)


def test_the_estimator_stays_as_it_was_and_can_hold_out_by_itself():
    train, _ = problem()
    ridge = vt.KronRidge(KERNEL, KERNEL, random_state=0)
    path = vt.alpha_path(ridge, *train, ALPHAS)
    assert not hasattr(ridge, "dual_coef_")
    assert not ridge.early_stopping
    assert len(path.models) == 3


def test_given_iterations_are_scored():
    train, validation = problem()
    path = vt.alpha_path(vt.KronRidge(KERNEL, KERNEL), *train, ALPHAS, validation, iterations=[2, 7])
    assert all(list(step.iterations) == [2, 7] for step in path.steps)
    single = vt.alpha_path(vt.KronRidge(KERNEL, KERNEL), *train, [1.0], validation, iterations=[7])
    assert single.models[0].n_iter_ == 7


def test_progress(capsys):
    train, validation = problem()
    vt.alpha_path(vt.KronRidge(KERNEL, KERNEL, max_iter=5, verbose=2), *train, ALPHAS, validation)
    assert "KronRidge path, iteration: 5 of 5" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("alphas", "message"),
    [
        ([1.0, 0.1], r"alphas\[1\] is 0.1 after 1.0, but alphas must be in increasing order"),
        ([1.0, 1.0], r"alphas\[1\] is 1.0 after 1.0"),
        ([-1.0, 1.0], r"alphas\[0\] is -1.0, but it must be a positive number"),
        ([0.0], r"alphas\[0\] is 0.0"),
        ([], r"alphas has shape \(0,\)"),
        (["a"], r"alphas is \['a'\], but it must be a list of positive numbers"),
        ([float("nan")], r"alphas\[0\] is nan"),
    ],
)
def test_refuses_grids_that_are_none(alphas, message):
    train, validation = problem()
    with pytest.raises(ValueError, match=message):
        vt.alpha_path(vt.KronRidge(), *train, alphas, validation)


def test_refuses_what_cannot_be_meant():
    train, validation = problem()
    with pytest.raises(TypeError, match="estimator is of type str"):
        vt.alpha_path("ridge", *train, [1.0], validation)
    with pytest.raises(ValueError, match="new is 'all'"):
        vt.alpha_path(vt.KronRidge(), *train, [1.0], validation, new="all")
    with pytest.raises(ValueError, match="validation is of type Edges"):
        vt.alpha_path(vt.KronRidge(), *train, [1.0], validation[0])
    for iterations in ("some", [0, 1], [3, 2], [], [1.5]):
        with pytest.raises(ValueError, match=r"iterations is .* but it must be 'all' or positive integers"):
            vt.alpha_path(vt.KronRidge(), *train, [1.0], validation, iterations=iterations)
    for iterations in (5, np.array([5, 1])):
        with pytest.raises(ValueError, match="iterations is"):
            vt.alpha_path(vt.KronRidge(), *train, [1.0], validation, iterations=iterations)
    with pytest.raises(ValueError, match="new is 'start', but without validation both vertices are held out"):
        vt.alpha_path(vt.KronRidge(), *train, [1.0], new="start")
    with pytest.raises(ValueError, match="solver is 'eigen', but it makes no iterations"):
        vt.alpha_path(vt.KronRidge(solver="eigen"), *train, [1.0], validation)
    with pytest.raises(ValueError, match="solver is 'minres', which solves"):
        vt.alpha_path(vt.KronRidge(solver="minres", fit_intercept=True), *train, [1.0], validation)
    constant = validation[0], np.ones(len(validation[1]))
    with pytest.raises(ValueError, match="all the same"):
        vt.alpha_path(vt.KronRidge(), *train, [1.0], constant)


def test_refuses_validation_vertices_that_also_train():
    X, y = vt.datasets.make_checkerboard(40, density=0.5, random_state=0)
    ridge = vt.KronRidge(KERNEL, KERNEL)
    half = X.start < 20
    with pytest.raises(
        ValueError, match=r"validation has \d+ end vertices that also train: vertex 0, vertex 1, vertex 2, …"
    ):
        vt.alpha_path(ridge, X[half], y[half], [1.0], (X[~half], y[~half]))
    assert len(vt.alpha_path(ridge, X[half], y[half], [1.0], (X[~half], y[~half]), new="start").models) == 1
    with pytest.raises(ValueError, match=r"start vertices that also train.*unless new='end'"):
        vt.alpha_path(ridge, X, y, [1.0], (X[:99], y[:99]))
    assert len(vt.alpha_path(ridge, X, y, [1.0], (X[:99], y[:99]), new="neither").models) == 1


def test_knows_vertices_by_id_and_in_plain_arrays_by_features():
    features = np.random.default_rng(0).standard_normal((4, 2))
    y = np.tile([1.0, -1.0], 8)
    tables = [features, features.copy()]
    by_id = [vt.Edges.grid(table, table, start_ids=list("abcd"), end_ids=list("abcd")) for table in tables]
    with pytest.raises(ValueError, match="validation has 4 start vertices that also train: vertex 'a', vertex 'b'"):
        vt.alpha_path(vt.KronRidge(), by_id[0], y, [1.0], (by_id[1], y))
    rows = np.hstack([features[by_id[0].start], features[by_id[0].end]])
    with pytest.raises(ValueError, match="validation has 4 start vertices that also train"):
        vt.alpha_path(
            vt.KronRidge(n_start_features=2), rows.astype(np.float32), y, [1.0], (rows.astype("f").astype("d"), y)
        )
    unknown = [vt.Edges.grid(table, table) for table in tables]  # nothing says that they are the same
    assert len(vt.alpha_path(vt.KronRidge(), unknown[0], y, [1.0], (unknown[1], y)).models) == 1
    proteins = vt.Edges([0, 1, 2], [1, 2, 0], np.eye(5))
    others = vt.Edges._of(np.array([3, 4]), np.array([4, 1]), proteins.start_table, proteins.start_table)
    with pytest.raises(ValueError, match="validation has 1 end vertices that also train: vertex 1"):
        vt.alpha_path(vt.KronRidge(), proteins, np.arange(3.0), [1.0], (others, np.arange(2.0)))


def test_memory_is_checked_first(monkeypatch):
    train, validation = problem()
    monkeypatch.setattr("vectrick.backends.NumpyBackend.free_memory", lambda self: 400_000)
    with pytest.raises(MemoryError, match="the Krylov basis, with the models, 100009 × "):
        vt.alpha_path(vt.KronRidge(max_iter=100_000), *train, ALPHAS, validation)


def test_real_data():
    """On IC, early stopping along the path beats the last iteration, and the paper's whole grid is one call."""
    K, G, start, end, y = read_graph("ic")
    X = vt.Edges(start, end, K, G)
    train, validation, test = vt.vertex_split(X, y, stratify=True, random_state=0)
    path = vt.alpha_path(vt.KronRidge(), X[train], y[train], 2.0 ** np.arange(-20, 21), (X[validation], y[validation]))
    assert len(path.models) == 41
    assert path.scores.max() > path.steps[0].scores[-1]
    assert auc(y[test], path.best_model.predict(X[test])) > 0.6
