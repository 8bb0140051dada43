"""A fit refuses what it can only fail at: numbers beyond the range of their type, and models that say nothing."""

import numpy as np
import pytest

import vectrick as vt

# A solver that gives up says so before the model is refused.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
D, T = RNG.standard_normal((60, 5)), RNG.standard_normal((50, 5))
GRID = vt.Edges.grid(D, T)
KEPT = RNG.random(3000) < 0.4
X, Y = GRID[KEPT], (D[GRID.start] * T[GRID.end]).sum(axis=1)[KEPT]
G = vt.Gaussian(0.1)


def scaled(factor, dtype=np.float64):
    return vt.Edges(X.start, X.end, (D * factor).astype(dtype), (T * factor).astype(dtype))


@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e200])
def test_labels_beyond_the_range_of_their_squares(factor):
    with pytest.raises(ValueError, match=r"y is at most .* in size, but with float64 it must be between .* scale the"):
        vt.KronRidge(G, G).fit(X, Y * factor)
    with pytest.raises(ValueError, match="y is at most"):
        vt.KronRidge(G, G, dtype="float32").fit(X, Y * 1e-20)


@pytest.mark.parametrize("kind", [vt.KronRidge, vt.KronSVM, vt.KronLogistic, vt.KronRanker])
def test_features_too_large_for_float32(kind):
    y = np.sign(Y)
    with pytest.raises(ValueError, match=r"predicts zero for every edge: .* Scale the features .* dtype='float64'"):
        kind(form="dual").fit(scaled(1e9, np.float32), y)
    assert np.isfinite(kind(form="dual", max_iter=3, tol=0.9).fit(scaled(1.0, np.float32), y).intercept_)


@pytest.mark.parametrize("solver", ["cg", "minres", pytest.param("qmr", marks=pytest.mark.slow), "lbfgs"])
@pytest.mark.parametrize("factor", [1e9, 1e15])
def test_no_solver_returns_a_model_that_predicts_nothing(solver, factor):
    with pytest.raises(ValueError, match=r"training ended in .* Scale the features"):
        vt.KronRidge(solver=solver, form="dual").fit(scaled(factor, np.float32), Y)


def test_a_solver_gives_up_at_once_where_numbers_overflow():
    made = []
    with pytest.raises(ValueError, match="predicts zero"):
        vt.KronRidge(form="dual", solver="cg").fit(scaled(1e15, np.float32), Y, callback=made.append)
    assert len(made) <= 1


@pytest.mark.parametrize("solver", ["direct", "auto"])
@pytest.mark.parametrize("form", ["dual", "primal"])
def test_the_direct_solver_says_what_is_too_large(solver, form):
    some = scaled(1e155)[:100]
    with pytest.raises(ValueError, match="too large"):
        vt.KronRidge(solver=solver, form=form).fit(some, Y[:100])
    with pytest.raises(ValueError, match=r"too large|predicts zero"):
        vt.KronSVM(form=form).fit(some, np.sign(Y[:100]))


def test_features_whose_kernel_is_lost_to_underflow():
    with pytest.raises(ValueError, match="predicts zero for every edge"):
        vt.KronRidge().fit(scaled(1e-170), Y)


def test_a_model_may_be_zero_for_a_reason():
    nothing = vt.Edges(X.start, X.end, 0 * D, T)
    assert not vt.KronRidge(fit_intercept=False).fit(nothing, Y).predict(nothing).any()
    with pytest.warns(UserWarning, match="y is constant"):
        assert not vt.KronRidge(G, G, fit_intercept=False).fit(X, 0 * Y).predict(X).any()
    corners = vt.Edges.grid(np.array([[1.0], [-1.0]]), np.array([[1.0], [-1.0]]))
    balanced = np.array([1.0, 1.0, -1.0, -1.0])  # without interactions, which is all that the kernel sees
    assert not vt.KronSVM(fit_intercept=False).fit(corners, balanced).decision_function(corners).any()
    constant = vt.KronSVM("constant", "constant", fit_intercept=True).fit(corners, balanced)
    assert not constant.decision_function(corners).any()
    with pytest.raises(ValueError, match="predicts zero"):
        vt.KronSVM(G, G, alpha=1e20, fit_intercept=False).fit(X, np.sign(Y))
    path = vt.alpha_path(
        vt.KronSVM(G, G, fit_intercept=False), X, np.sign(Y), [1.0, 1e20]
    )  # of a path, the most regular models are zero
    assert len(path.models) == 2


def test_failed_fits_leave_the_model_as_it_was():
    model = vt.KronRidge(G, G).fit(X, Y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="y is at most"):
        model.fit(X, Y * 1e-300)
    np.testing.assert_array_equal(model.predict(X), before)


def test_resume_and_callback_are_checked():
    model = vt.KronSVM(G, G, max_iter=1)
    with pytest.raises(TypeError, match="resume is of type KronSVM, but it must be a FitStep"):
        model.fit(X, np.sign(Y), resume=model)
    with pytest.raises(TypeError, match="callback is of type int"):
        model.fit(X, np.sign(Y), callback=3)


@pytest.mark.parametrize("kind", [vt.KronRidge, vt.KronSVM, vt.KronLogistic, vt.KronRanker])
def test_unknown_parameters_are_named(kind):
    with pytest.raises(TypeError, match=r"__init__.*lambda_"):
        kind(lambda_=1)


def test_numbers_that_no_float_holds():
    with pytest.raises(ValueError, match="alpha is 1000"):
        vt.KronRidge(alpha=10**400).fit(X, Y)
    with pytest.raises(ValueError, match="gamma is 1000"):
        vt.KronRidge(vt.Gaussian(10**400)).fit(X, Y)


def test_a_scaler_in_a_pipeline_is_told_of_standardized():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    with pytest.raises(TypeError, match=r"use vt\.Standardized\(kernel\) instead of a StandardScaler"):
        make_pipeline(StandardScaler(), vt.KronRidge()).fit(X, Y)


def test_what_was_given_to_standardized_must_fit():
    for given, message in (({"mean": [1.0]}, "mean of Standardized"), ({"scale": np.zeros(5)}, "none of them zero")):
        with pytest.raises(ValueError, match=message):
            vt.KronRidge(vt.Standardized(vt.Linear(), **given)).fit(X, Y)


def test_kernel_matrices_are_weighed_together(monkeypatch):
    monkeypatch.setattr("vectrick.backends.NumpyBackend.free_memory", lambda self: 8 * 60 * 60 + 100)
    message = r"the kernel matrices, 60 × 60 \(start\) and 50 × 50 \(end\), take .* together"
    made = []
    monkeypatch.setattr(vt.Gaussian, "_matrix", lambda self, X, Y: made.append(1))
    for parameters in ({"form": "dual"}, {"pairwise": "poly2d"}, {"solver": "eigen"}):
        edges, y = (GRID, np.zeros(3000)) if "solver" in parameters else (X, Y)
        with pytest.raises(MemoryError, match=message):
            vt.KronRidge(G, G, **parameters).fit(edges, y + edges.start)
    assert not made
