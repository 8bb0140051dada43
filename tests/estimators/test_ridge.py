"""Ridge regression: the closed form of complete graphs, and many alphas at once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

import vectrick as vt
from tests.estimators.problems import graph
from vectrick.operators import KronOperator
from vectrick.solvers.solution import EXACT

RNG = np.random.default_rng(0)
GRID = vt.Edges.grid(RNG.standard_normal((12, 3)), RNG.standard_normal((9, 4)))
Y = RNG.standard_normal(len(GRID)) + 1


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_complete_graph_in_closed_form(kernel, fit_intercept):
    order = RNG.permutation(len(GRID))  # in any order
    X, y = GRID[order], Y[order]
    closed = vt.KronRidge(kernel, kernel, alpha=0.3, fit_intercept=fit_intercept).fit(X, y)
    assert closed.solution_.reason == EXACT
    assert "complete graph" in closed.form_reason_
    stepwise = vt.KronRidge(kernel, kernel, alpha=0.3, fit_intercept=fit_intercept, solver="cg", tol=1e-11).fit(X, y)
    assert_allclose(closed.predict(X), stepwise.predict(X), atol=1e-6)
    assert closed.history_["risk"][0] == pytest.approx(stepwise.history_["risk"][-1], rel=1e-8)


def test_closed_form_needs_every_edge_once():
    for X in (GRID[1:], GRID[np.r_[0, 0, 2 : len(GRID)]]):
        model = vt.KronRidge().fit(X, Y[: len(X)])
        assert "complete graph" not in model.form_reason_
        with pytest.raises(ValueError, match=r"solver is 'eigen', which is for ridge regression .* complete graph"):
            vt.KronRidge(solver="eigen").fit(X, Y[: len(X)])
    with pytest.raises(ValueError, match="solver is 'eigen'"):
        vt.KronRidge(solver="eigen").fit(GRID, Y, sample_weight=np.arange(len(Y)) + 1.0)


@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("form", ["auto", "dual", "primal"])
@pytest.mark.parametrize("solver", ["auto", "cg"])
def test_many_alphas_at_once(complete, fit_intercept, form, solver):
    X, y = (GRID, Y) if complete else graph()[:2]
    alphas = [10.0, 0.1, 1.0]
    parameters = {"fit_intercept": fit_intercept, "form": form, "tol": 1e-10, "solver": solver}
    models = vt.KronRidge(**parameters).fit_path(X, y, alphas)
    for alpha, model in zip(alphas, models, strict=True):
        single = vt.KronRidge(alpha=alpha, **parameters).fit(X, y)
        assert model.alpha == alpha
        assert_allclose(model.predict(X), single.predict(X), atol=1e-6)
        assert model.intercept_ == pytest.approx(single.intercept_, abs=1e-7)


def test_paths_say_which_alphas_converged():
    X, y = graph()[:2]
    with pytest.warns(ConvergenceWarning):
        models = vt.KronRidge(solver="cg", max_iter=3).fit_path(X, y, (alpha for alpha in (1e-9, 1e12)))
    assert [model.solution_.converged for model in models] == [False, True]
    narrow = vt.KronRidge(dtype="float32", solver="cg", tol=1e-3, form="dual").fit_path(X, y, np.logspace(-1, 2, 3))
    assert {model.dual_coef_.dtype for model in narrow} == {np.dtype(np.float32)}


def test_bad_paths():
    X, y = graph()[:2]
    with pytest.raises(ValueError, match="alphas is empty"):
        vt.KronRidge().fit_path(X, y, [])
    with pytest.raises(ValueError, match="alpha is -1"):
        vt.KronRidge().fit_path(X, y, [-1.0, 1.0])


def test_constant_labels_bring_a_warning():
    X = graph()[0]
    with pytest.warns(UserWarning, match=r"y is constant \(2.0\)"):
        vt.KronRidge().fit(X, np.full(len(X), 2.0))


def test_early_stopping_scores():
    X, y = vt.datasets.make_checkerboard(120, random_state=0)
    X_val, y_val = vt.datasets.make_checkerboard(120, random_state=1)
    g = vt.Gaussian(gamma=1.0)
    for scoring, labels in (("auto", y), ("r2", y), ("concordance", y + 0.1 * X.start)):
        model = vt.KronRidge(g, g, alpha=1e-3, scoring=scoring, n_iter_no_change=4)
        if scoring == "concordance":
            model.set_params(early_stopping=True, random_state=0).fit(X, labels)
        else:
            model.fit(X, labels, validation=(X_val, y_val))
        scores = model.history_["score"]
        assert model.n_iter_ == 1 + int(np.argmax(scores))
        assert model.solution_.reason == f"the validation score rose no more; the best was iteration {model.n_iter_}"
        assert not model.solution_.converged
        assert len(scores) == len(model.history_["risk"]) == len(model.history_["seconds"]) == model.n_iter_ + 4
    best = vt.KronRidge(g, g, alpha=1e-3, max_iter=model.n_iter_)
    with pytest.warns(ConvergenceWarning):
        best.fit(X, y)


def test_restored_coefficients_are_those_of_the_best_iteration():
    X, y = vt.datasets.make_checkerboard(120, random_state=0)
    validation = vt.datasets.make_checkerboard(120, random_state=1)
    g = vt.Gaussian(gamma=1.0)
    stopped = vt.KronRidge(g, g, alpha=1e-3).fit(X, y, validation=validation)
    with pytest.warns(ConvergenceWarning):
        cut = vt.KronRidge(g, g, alpha=1e-3, solver="cg", max_iter=stopped.n_iter_).fit(X, y)
    assert_allclose(stopped.predict(X), cut.predict(X), rtol=1e-9, atol=1e-9)


def test_monitoring_costs_one_prediction(monkeypatch):
    X, y = vt.datasets.make_checkerboard(60, random_state=0)
    X_val, y_val = vt.datasets.make_checkerboard(50, random_state=1)
    products = []
    multiply = KronOperator._multiply

    def counted(self, block, out):
        products.append(self.shape[0])
        multiply(self, block, out)

    monkeypatch.setattr(KronOperator, "_multiply", counted)
    parameters = {"solver": "cg", "form": "dual", "max_iter": 12, "tol": 0.0, "n_iter_no_change": 99}
    for validation in (None, (X_val, y_val)):
        products.clear()
        with pytest.warns(ConvergenceWarning):
            vt.KronRidge("gaussian", "gaussian", **parameters).fit(X, y, validation=validation)
        scored = products.count(len(y_val))
        assert scored == (0 if validation is None else 12)
        # One of the training graph for each iteration; with a best one to go back to, its predictions are made again.
        assert products.count(len(y)) - 12 <= (0 if validation is None else 1)
        assert len(products) == scored + products.count(len(y))


def test_hold_out_that_cannot_be():
    X = vt.Edges([0, 1], [0, 1], np.eye(2), np.eye(2))
    with pytest.raises(ValueError, match=r"validation_fraction is 0.25, but it leaves 0 edges|different labels"):
        vt.KronRidge(early_stopping=True, random_state=0).fit(X, [0.0, 1.0])
