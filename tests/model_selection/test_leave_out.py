"""The closed forms of leaving out against training again."""

import numpy as np
import pytest

import vectrick as vt
from tests.data import read_matrix

LEAVE = ["edge", "start", "end", "both"]


def problem(m=7, q=5, seed=0):
    rng = np.random.default_rng(seed)
    X = vt.Edges.grid(rng.standard_normal((m, 3)), rng.standard_normal((q, 2)))
    order = rng.permutation(m * q)
    return X[order], rng.standard_normal(m * q)


def rest(X, edge, leave):
    """Return a mask of the edges that are left to train on."""
    same_start, same_end = X.start == X.start[edge], X.end == X.end[edge]
    left_out = {
        "edge": same_start & same_end,
        "start": same_start,
        "end": same_end,
        "both": same_start | same_end,
    }
    return ~left_out[leave]


def again(model, X, y, leave):
    found = np.empty(len(y))
    for edge in range(len(y)):
        train = rest(X, edge, leave)
        found[edge] = model.fit(X[train], y[train]).predict(X[[edge]])[0]
    return found


@pytest.mark.parametrize("leave", LEAVE)
@pytest.mark.parametrize("shape", [(7, 5), (4, 8)])
@pytest.mark.parametrize("alpha", [1e-2, 1.0, 100.0])
def test_is_training_again(leave, shape, alpha):
    X, y = problem(*shape)
    model = vt.KronRidge(
        vt.Gaussian(gamma=0.5), vt.Gaussian(gamma=0.3), alpha=alpha, solver="direct", fit_intercept=False
    )
    np.testing.assert_allclose(vt.leave_out_predictions(model, X, y, leave), again(model, X, y, leave), atol=1e-8)


@pytest.mark.parametrize("leave", LEAVE)
def test_kernels_without_full_rank(leave):
    X, y = problem()
    model = vt.KronRidge(alpha=0.1, solver="direct", fit_intercept=False)
    np.testing.assert_allclose(vt.leave_out_predictions(model, X, y, leave), again(model, X, y, leave), atol=1e-8)


@pytest.mark.parametrize("leave", LEAVE)
def test_real_data(leave):
    """On the drug responses, some edges are predicted again by models that were trained without them."""
    K, G = (read_matrix("gdsc", f"{side}_kernel") for side in ("start", "end"))
    X = vt.Edges.grid(K, G)
    y = np.random.default_rng(0).standard_normal((len(K), len(G)))
    y = (K @ y @ G / 50).ravel()
    model = vt.KronRidge("precomputed", "precomputed", alpha=10.0, solver="cg", tol=1e-9, fit_intercept=False)
    predicted = vt.leave_out_predictions(model, X, y, leave)
    for edge in (0, 7777):
        train = rest(X, edge, leave)
        assert model.fit(X[train], y[train]).predict(X[[edge]])[0] == pytest.approx(predicted[edge], abs=1e-6)


def test_refuses_what_has_no_closed_form():
    X, y = problem()
    ridge = vt.KronRidge()
    with pytest.raises(ValueError, match=r"X has 34 edges .* where each of the 35 pairs"):
        vt.leave_out_predictions(ridge, X[1:], y[1:])
    with pytest.raises(ValueError, match="leave is 'vertex'"):
        vt.leave_out_predictions(ridge, X, y, "vertex")
    with pytest.raises(TypeError, match="must be a KronRidge"):
        vt.leave_out_predictions(vt.KronSVM(), X, y)
    with pytest.raises(ValueError, match="fit_intercept is True"):
        vt.leave_out_predictions(vt.KronRidge(fit_intercept=True), X, y)
    one_set = vt.Edges.grid(np.eye(3))
    with pytest.raises(ValueError, match="one vertex set"):
        vt.leave_out_predictions(ridge, one_set, np.arange(9.0), "start")
    assert vt.leave_out_predictions(ridge, one_set, np.arange(9.0), "edge").shape == (9,)
    single = vt.Edges.grid(np.eye(1), np.eye(3))
    with pytest.raises(ValueError, match="only one start vertex"):
        vt.leave_out_predictions(ridge, single, np.arange(3.0), "both")


def test_refuses_kernels_that_had_to_be_repaired():
    rng = np.random.default_rng(0)
    K = rng.standard_normal((6, 6))
    for kernel in (K + K.T, K @ K.T + np.triu(K)):
        X = vt.Edges.grid(kernel, np.eye(3))
        with (
            pytest.warns(vt.KernelWarning),
            pytest.raises(ValueError, match="start_kernel is not symmetric and positive semi-definite"),
        ):
            vt.leave_out_predictions(vt.KronRidge("precomputed"), X, rng.standard_normal(18))


def test_the_estimator_stays_as_it_was():
    X, y = problem()
    ridge = vt.KronRidge(early_stopping=True)
    vt.leave_out_predictions(ridge, X, y)
    assert ridge.early_stopping
    assert not hasattr(ridge, "dual_coef_")
