"""A Krylov basis gives the iterates of the solvers, for every alpha and iteration."""

import warnings

import numpy as np
import pytest

import vectrick as vt
from vectrick.solvers.linear.krylov import krylov_basis
from vectrick.training.prepare import prepare

ALPHAS = np.array([1e-3, 0.1, 10.0])


def basis_of(model, X, y, max_iter):
    training = prepare(model, X, y, None, None)
    form = model._choose_form(training)
    zero = form.space.zero(training.loss.y)
    rhs = form.space.lift(-training.loss.gradient(zero.f))
    curvature = training.loss.curvature(zero.f)
    minimal = model.solver == "minres"
    return krylov_basis(form.space, curvature, rhs, max_iter=max_iter, minimal_residual=minimal)


@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("solver", ["cg", "minres"])
def test_iterates_are_those_of_the_solver(form, solver):
    X, y = vt.datasets.make_checkerboard(40, random_state=0)
    kernel = vt.Gaussian(gamma=0.01)
    model = vt.KronRidge(kernel, kernel, form=form, solver=solver, tol=0.0, fit_intercept=False)
    basis = basis_of(model, X, y, 12)
    for k in (1, 2, 5, 12):
        weights = basis.weights(ALPHAS, k)
        for alpha, z in zip(ALPHAS, weights.T, strict=True):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted = model.set_params(alpha=alpha, max_iter=k).fit(X, y)
            expected = fitted.dual_coef_ if form == "dual" else fitted.predictor_.w
            found = basis.vectors[:k].T @ z
            assert np.abs(found - expected).max() <= 1e-9 * np.abs(expected).max()


def test_an_exhausted_space_ends():
    features = np.diag([1.0, 2.0, 0.0])[:, :2]
    X = vt.Edges.grid(features, np.ones((4, 1)))  # rank 2
    y = np.arange(12.0)
    basis = basis_of(vt.KronRidge(solver="cg"), X, y, 50)
    assert basis.size == 2
    z = basis.weights(np.array([0.5]), 2)[:, 0]
    assert basis.residual(0.5, z) < 1e-12
    A = np.kron(features @ features.T, np.ones((4, 4)))  # start vertices vary slowest
    exact = A @ np.linalg.solve(A + 0.5 * np.eye(12), y)
    assert np.allclose(A @ (basis.vectors.T @ z), exact)
