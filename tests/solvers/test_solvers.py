"""Every solver on every loss that it suits: the same minimum, in both forms, with an honest report."""

import itertools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse.linalg import minres as scipy_minres, qmr as scipy_qmr
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

import vectrick as vt
from vectrick.losses import Diagonal, Hinge, Logistic, RankRLS, Squared, SquaredHinge, WithIntercept
from vectrick.solvers import SOLVERS, CompleteGraph, Dual, Primal, check_solver, minimise, minimise_path
from vectrick.solvers.line_search import exact_step
from vectrick.solvers.linear.qmr import quasi_minimal_residuals

RNG = np.random.default_rng(0)
X, SIGNS = vt.datasets.make_checkerboard(20, 25, density=0.5, random_state=0)
D, T = RNG.standard_normal((20, 4)), RNG.standard_normal((25, 5))
EDGES = (X.end, X.start)
N = len(SIGNS)
VALUES, WEIGHT = RNG.standard_normal(N), RNG.random(N) + 0.1
PHI = np.einsum("ni,nj->nji", D[X.start], T[X.end]).reshape(N, -1)  # rows of R (T ⊗ D)
A = PHI @ PHI.T

LOSSES = {
    "squared": Squared(VALUES),
    "squared, weighted": Squared(VALUES, WEIGHT),
    "squared, intercept": WithIntercept(Squared(VALUES + 3, WEIGHT)),
    "rankrls": RankRLS(VALUES),
    "rankrls within": RankRLS(VALUES, WEIGHT, X.start),
    "squared hinge": SquaredHinge(SIGNS),
    "squared hinge, intercept": WithIntercept(SquaredHinge(SIGNS, WEIGHT)),
    "logistic": Logistic(SIGNS, WEIGHT),
    "logistic, intercept": WithIntercept(Logistic(SIGNS)),
    "hinge": Hinge(SIGNS, WEIGHT),
}


def spaces():
    return {"dual": Dual(vt.kron(T @ T.T, D @ D.T)[EDGES, EDGES]), "primal": Primal(vt.kron(T, D)[EDGES, :])}


def risk(space, loss, alpha, solution):
    norm = solution.x @ (solution.predictions if isinstance(space, Dual) else solution.x)
    return loss.value(solution.predictions) + 0.5 * alpha * norm


def suits(solver, name):
    if solver == "minres":
        return name == "squared"
    try:
        check_solver(solver, LOSSES[name])
    except ValueError:
        return False
    return solver not in ("eigen", "one-pass")


@pytest.mark.parametrize(("name", "form"), list(itertools.product(LOSSES, ["dual", "primal"])))
def test_all_solvers_find_the_same_minimum(name, form):
    loss, alpha = LOSSES[name], 0.5
    risks = {}
    for solver in ("auto", *SOLVERS):
        if suits(solver, name):
            space = spaces()[form]
            found = minimise(space, loss, alpha, solver=solver, max_iter=5000, tol=1e-8)
            assert found.converged, f"{solver}: {found.reason}"
            assert found.n_products > 0
            risks[solver] = risk(space, loss, alpha, found)
            expected = (A if form == "dual" else PHI) @ found.x
            assert_allclose(found.predictions, expected, atol=1e-6 * np.abs(expected).max())
    assert len(risks) >= 2
    best = min(risks.values())
    assert all(value <= best + 1e-7 * abs(best) for value in risks.values()), risks


@pytest.mark.parametrize("name", [name for name in LOSSES if name != "hinge"])
def test_the_gradient_vanishes(name):
    loss, alpha = LOSSES[name], 0.5
    found = minimise(spaces()["primal"], loss, alpha, tol=1e-9)
    gradient = PHI.T @ loss.gradient(found.predictions) + alpha * found.x
    assert np.linalg.norm(gradient) <= 1e-6 * np.linalg.norm(PHI.T @ loss.gradient(np.zeros(N)))


@pytest.mark.parametrize(("form", "solver"), list(itertools.product(["dual", "primal"], ["cg", "minres", "direct"])))
def test_several_shifts_at_once(form, solver):
    alphas = [3.0, 0.5, 10.0, 0.5]
    space = spaces()[form]
    found = minimise_path(space, LOSSES["squared"], alphas, solver=solver, max_iter=500, tol=1e-10)
    for alpha, solution in zip(alphas, found, strict=True):
        expected = A @ np.linalg.solve(A + alpha * np.eye(N), VALUES)
        assert_allclose(solution.predictions, expected, atol=1e-7)


def test_several_shifts_cost_no_more_products():
    one = minimise_path(spaces()["dual"], LOSSES["squared"], [0.5], solver="cg", tol=1e-8)
    many = minimise_path(spaces()["dual"], LOSSES["squared"], [0.5, 1.0, 5.0], solver="cg", tol=1e-8)
    assert many[0].n_products == one[0].n_products


def test_the_iterates_of_minres_are_scipys():
    op = spaces()["dual"].A
    with pytest.warns(ConvergenceWarning):
        ours = minimise(Dual(op), LOSSES["squared"], 0.5, solver="minres", max_iter=7, tol=0.0)
    theirs, _ = scipy_minres(op, VALUES, shift=-0.5, maxiter=7, rtol=0.0)
    assert_allclose(ours.x, theirs, rtol=1e-6, atol=1e-9)


def test_dual_and_primal_make_the_same_functions():
    for solver, name in (("cg", "squared, weighted"), ("lbfgs", "logistic"), ("newton", "logistic")):
        found = []
        for space in spaces().values():
            with pytest.warns(ConvergenceWarning):
                found.append(minimise(space, LOSSES[name], 0.5, solver=solver, max_iter=3, inner_iter=4, tol=0.0))
        assert_allclose(found[0].predictions, found[1].predictions, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["squared hinge", "squared hinge, intercept", "logistic"])
@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("inner_iter", [2, 100])
def test_the_risk_never_rises(name, form, inner_iter):
    risks = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        minimise(
            spaces()[form], LOSSES[name], 1e-3, solver="newton", inner_iter=inner_iter, max_iter=40,
            callback=lambda iterate: risks.append(iterate.risk),
        )  # fmt: skip
    assert len(risks) > 2
    assert all(later < earlier for earlier, later in itertools.pairwise(risks))


def test_zeros_outside_the_margin_are_exact():
    easy = np.sign(PHI @ RNG.standard_normal(PHI.shape[1]))
    found = minimise(spaces()["dual"], SquaredHinge(easy), 0.5, solver="newton", tol=1e-8)
    outside = easy * found.predictions > 1 + 1e-4
    assert 50 < outside.sum() < N - 50
    assert (found.x[outside] == 0).all()
    assert_allclose(A @ -SquaredHinge(easy).gradient(found.predictions) / 0.5, found.predictions, atol=1e-4)


def test_products_are_over_active_edges_only():
    sizes = []
    space = spaces()["dual"]
    restrict = space.A.restrict
    space.A.restrict = lambda **masks: sizes.append(restrict(**masks).shape) or restrict(**masks)
    easy = np.sign(PHI @ RNG.standard_normal(PHI.shape[1]))
    minimise(space, SquaredHinge(easy), 1e-3, solver="newton", tol=1e-6)
    assert sizes
    assert min(min(shape) for shape in sizes) < 0.6 * N


def test_the_papers_setting():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = minimise(
            spaces()["dual"], LOSSES["squared hinge"], 0.5, solver="newton-qmr", max_iter=10, inner_iter=10, step=1.0
        )
    best = minimise(spaces()["dual"], LOSSES["squared hinge"], 0.5)
    ours, exact = (risk(spaces()["dual"], LOSSES["squared hinge"], 0.5, solution) for solution in (found, best))
    assert exact <= ours <= 1.01 * exact


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_hinge_is_libsvms(fit_intercept):
    found = minimise(
        spaces()["dual"], Hinge(SIGNS), 0.5, solver="box", fit_intercept=fit_intercept, max_iter=20000, tol=1e-8
    )
    assert found.converged
    decision = found.predictions + found.intercept
    if fit_intercept:
        svc = SVC(kernel="precomputed", C=2.0, tol=1e-8).fit(A, SIGNS)
        assert_allclose(decision, svc.decision_function(A), atol=1e-3)
        assert abs(found.x.sum()) < 1e-6 * np.abs(found.x).sum()
    bound = np.clip(SIGNS * found.x, 0, 1 / 0.5)
    assert_allclose(SIGNS * found.x, bound, atol=1e-12)
    risk_of_zero = Hinge(SIGNS).value(np.zeros(N))
    assert Hinge(SIGNS).value(decision) + 0.25 * found.x @ found.predictions < risk_of_zero


def test_hinge_gap_is_a_bound():
    gaps, risks = [], []
    loss = LOSSES["hinge"]

    def told(iterate):
        gaps.append(iterate.residual)
        risks.append(iterate.risk)

    minimise(
        spaces()["dual"], loss, 0.5, max_iter=20000, tol=1e-9,
        callback=told,
    )  # fmt: skip
    best = risks[-1]
    assert all(risk - best <= gap * risk + 1e-9 for risk, gap in zip(risks, gaps, strict=True))


def test_warm_starts():
    loss = LOSSES["logistic"]
    for solver in ("newton", "lbfgs"):
        cold = minimise(spaces()["dual"], loss, 0.5, solver=solver, tol=1e-7)
        warm = minimise(spaces()["dual"], loss, 0.5, solver=solver, tol=1e-6, start=cold.x)
        assert warm.n_iter <= 1
    cold = minimise(spaces()["dual"], LOSSES["hinge"], 0.5, tol=1e-6, max_iter=9999)
    warm = minimise(spaces()["dual"], LOSSES["hinge"], 0.5, tol=1e-5, start=cold.x, max_iter=9999)
    assert warm.n_iter < cold.n_iter


@pytest.mark.parametrize("solver", ["cg", "minres", "qmr", "newton", "newton-qmr", "lbfgs", "box"])
def test_callbacks_stop_without_a_warning(solver):
    loss = LOSSES["hinge"] if solver == "box" else LOSSES["squared"]
    seen = []

    def stop(iterate):
        seen.append(iterate)
        return iterate.n_iter == 2

    found = minimise(spaces()["dual"], loss, 0.01, solver=solver, inner_iter=3, callback=stop, tol=1e-12)
    assert found.reason == "stopped by the callback"
    assert [iterate.n_iter for iterate in seen] == [1, 2]
    assert_allclose(found.x, seen[-1].x, atol=1e-12)
    assert all(np.isfinite(iterate.risk) for iterate in seen)


@pytest.mark.parametrize("solver", ["cg", "minres", "qmr", "newton", "lbfgs", "box"])
def test_limits_are_honoured_and_told(solver):
    loss = LOSSES["hinge"] if solver == "box" else LOSSES["squared"]
    with pytest.warns(ConvergenceWarning, match=f"solver '{solver}' stopped after 3 iterations: iteration limit"):
        found = minimise(spaces()["dual"], loss, 1e-3, solver=solver, inner_iter=2, max_iter=3, tol=1e-12)
    assert not found.converged
    assert found.n_iter == 3


def test_float32():
    op = vt.kron((T @ T.T).astype(np.float32), (D @ D.T).astype(np.float32))[EDGES, EDGES]
    for loss in (Squared(VALUES.astype(np.float32)), SquaredHinge(SIGNS.astype(np.float32))):
        found = minimise(Dual(op), loss, 0.5, tol=1e-3, solver="cg" if loss.is_quadratic else "newton")
        assert found.x.dtype == np.float32
        assert found.converged


def test_labels_of_zero():
    for solver in ("cg", "minres", "newton", "lbfgs", "direct"):
        found = minimise(spaces()["dual"], Squared(np.zeros(N)), 0.5, solver=solver)
        assert found.converged
        assert (found.x == 0).all()


@pytest.mark.parametrize(
    ("solver", "name", "message"),
    [
        ("sgd", "squared", "solver is 'sgd', but it must be one of"),
        ("cg", "logistic", "needs a quadratic loss, but the loss is Logistic"),
        ("newton", "hinge", "needs a smooth loss, but the loss is Hinge"),
        ("box", "squared", "is for the hinge loss, but the loss is Squared"),
        ("minres", "squared, weighted", "without weights"),
        ("eigen", "squared", "complete graph"),
    ],
)
def test_solvers_say_what_they_need(solver, name, message):
    with pytest.raises(ValueError, match=message):
        minimise(spaces()["dual"], LOSSES[name], 1.0, solver=solver)


def test_paths_need_a_shifted_solver():
    with pytest.raises(ValueError, match="only 'cg', 'minres' and 'direct'"):
        minimise_path(spaces()["dual"], LOSSES["squared"], [1.0], solver="qmr")


def test_exact_step_is_exact():
    p, d = RNG.standard_normal((2, N))
    for loss in (LOSSES["logistic"], LOSSES["squared hinge"], LOSSES["rankrls"]):
        d = -np.sign(d @ loss.gradient(p)) * d
        t = exact_step(loss, p, d, 0.1, 0.0, 1.0)
        values = [loss.value(p + s * d) + 0.05 * s * s for s in (t, 0.99 * t, 1.01 * t)]
        assert values[0] == min(values)
        assert exact_step(loss, p, -d, 0.1, 0.0, 1.0) == 0.0


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_complete_graphs_in_closed_form(fit_intercept):
    Y = RNG.standard_normal((20, 25)) + 2
    K, G = D @ D.T, T @ T.T
    found = CompleteGraph(K, G).solve(Y, [0.1, 5.0], fit_intercept)
    whole = np.kron(K, G)
    for alpha, (coefficients, b) in zip([0.1, 5.0], found, strict=True):
        expected = np.linalg.solve(whole + alpha * np.eye(500), Y.ravel() - b)
        assert_allclose(K @ coefficients @ G, (whole @ expected).reshape(20, 25), atol=1e-9)
        assert abs(expected.sum()) < 1e-6 if fit_intercept else b == 0


@pytest.mark.parametrize("scale", [1.0, 1e2, 1e4])
@pytest.mark.parametrize("form", ["dual", "primal"])
def test_large_kernels_and_small_alphas_lose_no_digits(scale, form):
    S, E = scale * np.arange(1, 11.0)[:, None], scale * np.arange(1, 9.0)[:, None]
    grid = vt.Edges.grid(S, E)
    y = 1 + grid.start * grid.end / 20
    Z = S[grid.start, 0] * E[grid.end, 0] / scale**2
    expected = Z * (Z @ y) / (Z @ Z + 1 / scale**4)
    for solver in ("auto", "direct", "cg"):
        model = vt.KronRidge(solver=solver, form=form, fit_intercept=False).fit(grid, y)
        assert model.solution_.converged
        assert_allclose(model.predict(grid), expected, rtol=1e-6)


def test_flags_follow_from_the_coefficients():
    S, E = 1e3 * np.arange(1, 11.0)[:, None], 1e3 * np.arange(1, 9.0)[:, None]
    grid = vt.Edges.grid(S, E)
    y = 1 + grid.start * grid.end / 20
    for solver in ("minres", "qmr"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = vt.KronRidge(solver=solver, form="dual").fit(grid, y)
        right = np.abs(model.predict(grid) - y).mean() < 2
        assert right or not model.solution_.converged


def test_what_is_not_a_number_has_not_converged():
    huge = vt.kron(np.full((25, 25), 1e200), np.full((20, 20), 1e200))[EDGES, EDGES]
    for loss in (Squared(VALUES), SquaredHinge(SIGNS)):
        with np.errstate(all="ignore"), pytest.warns(ConvergenceWarning):
            found = minimise(Dual(huge), loss, 1.0, solver="cg" if loss.is_quadratic else "newton")
        assert not found.converged


@pytest.mark.parametrize("alpha", [1e-2, 1.0, 1e2, 1e4])
def test_hinge_with_intercept_for_any_alpha(alpha):
    y = np.where(np.arange(N) % 3 > 0, 1.0, -1.0)
    found = minimise(spaces()["dual"], Hinge(y), alpha, fit_intercept=True, max_iter=20000, tol=1e-5)
    svc = SVC(kernel="precomputed", C=1 / alpha, tol=1e-6).fit(A, y)
    theirs = svc.decision_function(A)
    a = np.zeros(N)
    a[svc.support_] = svc.dual_coef_[0]
    best = Hinge(y).value(theirs) + 0.5 * alpha * a @ A @ a
    ours = Hinge(y).value(found.predictions + found.intercept) + 0.5 * alpha * found.x @ found.predictions
    assert ours <= best * (1 + 1e-4)


def test_qmr_is_that_of_scipy():
    op = vt.kron(T @ T.T, D @ D.T)[EDGES, EDGES]
    h = RNG.uniform(0.5, 2.0, N)
    matrix = h[:, None] * A + 5.0 * np.eye(N)
    for n_iter in (1, 3, 7, 100):  # the same iterates on the way
        ours = quasi_minimal_residuals(Dual(op), Diagonal(h), VALUES, 5.0, tol=1e-10, max_iter=n_iter)
        theirs, _ = scipy_qmr(matrix, VALUES, rtol=1e-10, maxiter=n_iter)
        assert_allclose(ours.x[0].c, theirs, atol=1e-9 * np.abs(theirs).max())
    assert ours.converged
    assert_allclose(matrix @ ours.x[0].c, VALUES, atol=1e-7)
