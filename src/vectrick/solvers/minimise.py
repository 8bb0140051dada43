"""One door to all solvers: which suits which loss, by name or automatically."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from vectrick.losses import Diagonal, Hinge, Loss
from vectrick.solvers.box import hinge_dual
from vectrick.solvers.cg import LinearResult, conjugate_gradients
from vectrick.solvers.direct import MAX_SIZE, solve_directly
from vectrick.solvers.lbfgs import lbfgs
from vectrick.solvers.minres import minres
from vectrick.solvers.newton import Inner, newton
from vectrick.solvers.qmr import quasi_minimal_residuals
from vectrick.solvers.solution import EXACT, INEXACT, ROUNDING, TOLERANCE, Callback, Iterate, Solution, finest, rounding
from vectrick.solvers.space import Dual, Element, Space

Array = Any

LINEAR = ("cg", "minres", "qmr", "direct", "eigen")  # they solve a quadratic problem at one go
MIXED = ("cg", "newton")  # that there are with products of low precision
_CORRECTIONS = 50  # of a linear system at most
SOLVERS = ("auto", *LINEAR, "newton", "newton-qmr", "newton-direct", "lbfgs", "box")


def check_solver(solver: str, loss: Loss | type[Loss]) -> None:
    """Say what is wrong where a solver needs something that a loss does not have."""
    if solver not in SOLVERS:
        raise ValueError(f"solver is {solver!r}, but it must be one of {', '.join(map(repr, SOLVERS))}")
    if solver == "auto":
        return
    name = (loss if isinstance(loss, type) else type(loss)).__name__
    if solver == "box" and not (isinstance(loss, Hinge) or loss is Hinge):
        raise ValueError(f"solver is 'box', which is for the hinge loss, but the loss is {name}")
    if solver != "box" and not loss.is_smooth:
        raise ValueError(
            f"solver is {solver!r}, which needs a smooth loss, but the loss is {name}; use 'box' or 'auto'"
        )
    if solver in LINEAR and not loss.is_quadratic:
        raise ValueError(
            f"solver is {solver!r}, which needs a quadratic loss, but the loss is {name}; use 'newton', 'lbfgs' or "
            "'auto'"
        )


def check_precision(precision: str, solver: str, loss: Loss | type[Loss], early_stopping: bool) -> None:
    """Say what is wrong where a solver or a loss has no mixed precision, or no iterates to stop at."""
    if precision != "mixed":
        return
    if not loss.is_smooth:
        raise ValueError("precision is 'mixed', which the hinge loss has no solver for; use precision='full'")
    if solver not in ("auto", *MIXED):
        raise ValueError(
            f"precision is 'mixed' and solver is {solver!r}, but mixed precision is for 'auto', 'cg' and 'newton'; use "
            "one of these, or precision='full'"
        )
    if loss.is_quadratic and early_stopping:
        raise ValueError(
            "precision is 'mixed', which goes straight to the minimum of a quadratic loss, but early stopping asks for "
            "the iterates on the way; use precision='full', or early_stopping=False"
        )


def check_path_precision(precision: str) -> None:
    """Refuse mixed precision for a path of alphas, which is made of one Krylov space."""
    if precision == "mixed":
        raise ValueError("precision is 'mixed', which a path of alphas does not have; use precision='full'")


def choose_solver(space: Space, loss: Loss, early_stopping: bool) -> str:
    """Return the solver that "auto" stands for.

    Small problems are solved exactly, unless the way there matters. Conjugate gradients in the kernel's inner product
    makes good predictions early and solves all shifts at once; Newton's method is built on it.
    """
    if not loss.is_smooth:
        return "box"
    small = space.size <= MAX_SIZE and not early_stopping
    if loss.is_quadratic:
        return "direct" if small else "cg"
    return "newton-direct" if small else "newton"


def minimise(
    space: Space,
    loss: Loss,
    alpha: float,
    *,
    solver: str = "auto",
    max_iter: int = 100,
    inner_iter: int = 100,
    step: float | None = None,
    tol: float = 1e-6,
    start: Array | None = None,
    fit_intercept: bool = False,
    precision: str = "full",
    callback: Callback | None = None,
) -> Solution:
    """Minimise ``L(p) + ½ α ‖f‖²``, and warn with ConvergenceWarning if the tolerance was not reached.

    Parameters
    ----------
    space : Dual or Primal
        The functions to minimise over.
    loss : Loss
        The loss, with its labels.
    alpha : float
        The weight of the regularizer, positive.
    solver : str
        One of `SOLVERS`. "newton-qmr" with ``max_iter=10, inner_iter=10, step=1.0`` is the paper's setting for the SVM,
        "minres" with ``max_iter=100`` its setting for ridge regression.
    step : float, optional
        A fixed step of Newton's method; by default the exact line search.
    tol : float
        The norm of the gradient (for "box" the duality gap) relative to that of the function zero (to the risk); at
        least 1e-4 in float32.
    start : array, optional
        Coefficients to start from. Newton's method goes on from them as if it had never stopped; methods that build up
        a Krylov space begin a new one there.
    fit_intercept : bool
        For "box"; other losses are wrapped by `WithIntercept`.
    precision : str
        "full", or "mixed" for directions of low precision where the solver has them ("cg" and "newton"); for a
        quadratic loss ``max_iter`` then bounds the iterations that find all of them, and each correction counts as one.
    callback : callable, optional
        Called with an `Iterate` after each iteration; returning True stops.
    """
    check_solver(solver, loss)
    name = choose_solver(space, loss, callback is not None) if solver == "auto" else solver
    tol = max(tol, finest(loss.y))
    common: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "callback": callback}
    mixed, budget = precision == "mixed" and name in MIXED, None
    if mixed and name == "cg":
        name, inner_iter, common["max_iter"], budget = "newton", max_iter, _CORRECTIONS, max_iter
    if name == "box":
        assert isinstance(loss, Hinge)
        found = hinge_dual(space, loss, alpha, fit_intercept=fit_intercept, start=start, **common)
    elif name in LINEAR:
        found = _solve_quadratic(space, loss, [alpha], name, start=start, **common)[0]
    elif name == "lbfgs":
        found = lbfgs(space, loss, alpha, start=start, **common)
    else:
        if name == "newton-direct":
            common["tol"] = min(tol, 1e-9)  # a last step is cheap, and doubles the digits
        inner = Inner(
            {"newton": "cg", "newton-qmr": "qmr", "newton-direct": "direct"}[name], inner_iter, step, mixed, budget
        )
        found = newton(space, loss, alpha, inner=inner, start=start, **common)
    if name != "box" and (found.converged or name == "newton-direct"):
        found = _verified(space, loss, alpha, found, tol, _gradient_at_zero(space, loss))
    found.warn(name, tol)
    return found


def _gradient_at_zero(space: Space, loss: Loss) -> float:
    return space.residual(space.lift(loss.gradient(space.zero(loss.y).f))).norm


def _verified(space: Space, loss: Loss, alpha: float, found: Solution, tol: float, first: float) -> Solution:
    """Return a solution whose flag follows from its coefficients alone, not from what a recurrence made of them."""
    f = space.predict(found.x)
    rest = space.residual(space.lift(loss.gradient(f)) + alpha * found.x).norm
    relative = rest / first if first else 0.0
    near = relative <= 10 * tol
    reached = relative <= tol or (found.converged and (near or relative <= rounding(f)))
    reason = found.reason
    if reached != found.converged:
        reason = TOLERANCE if reached else INEXACT
    elif reached and not near:
        reason = ROUNDING
    residuals = [*found.residuals, relative]
    return replace(found, predictions=f, converged=reached, reason=reason, residuals=residuals)


def minimise_path(
    space: Space, loss: Loss, alphas: Sequence[float], *, solver: str = "auto", max_iter: int = 100, tol: float = 1e-6
) -> list[Solution]:
    """Minimise a quadratic loss for every alpha, for about the price of the smallest one."""
    check_solver("cg" if solver == "auto" else solver, loss)
    name = choose_solver(space, loss, False) if solver == "auto" else solver
    if name not in ("cg", "minres", "direct"):
        raise ValueError(f"solver is {solver!r}, but only 'cg', 'minres' and 'direct' solve for several alphas at once")
    tol = max(tol, finest(loss.y))
    found = _solve_quadratic(space, loss, alphas, name, tol=tol, max_iter=max_iter, callback=None)
    first = _gradient_at_zero(space, loss)
    found = [_verified(space, loss, alpha, one, tol, first) for alpha, one in zip(alphas, found, strict=True)]
    worst = max(found, key=lambda one: (not one.converged, one.residuals[-1]))
    worst.warn(name, tol)
    return found


def _solve_quadratic(
    space: Space,
    loss: Loss,
    alphas: Sequence[float],
    name: str,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None,
    start: Array | None = None,
) -> list[Solution]:
    """Solve ``(B + α I) x = -gradient at zero`` for every alpha; with a start, for what has to be added to it."""
    if name == "eigen":
        raise ValueError(
            "solver is 'eigen', which is for ridge regression in dual form on a complete graph without weights and "
            "early stopping; use 'auto'"
        )
    base = space.zero(loss.y) if start is None else space.element(start)
    curvature = loss.curvature(base.f)
    rhs = space.lift(-loss.gradient(base.f))
    if start is not None:
        rhs = rhs - alphas[0] * base.c

    def moved(x: Element) -> Element:
        return x if start is None else Element(base.c + x.c, base.f + x.f)

    def told(k: int, functions: list[Element], residual: float) -> bool | None:
        assert callback is not None
        x = moved(functions[0])
        risk = loss.value(x.f) + 0.5 * alphas[0] * space.inner(x, x)
        return callback(Iterate(k, space.n_products, x.c, x.f, risk, residual))

    limits: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "callback": None if callback is None else told}
    if name == "direct":
        functions = [solve_directly(space, curvature, rhs, alpha) for alpha in alphas]
        if callback is not None:
            told(1, functions, 0.0)
        return [Solution(x.c, x.f, True, EXACT, 1, space.n_products, [0.0]) for x in map(moved, functions)]
    if name == "qmr":
        found = quasi_minimal_residuals(space, curvature, rhs, alphas[0], **limits)
    elif name == "minres":
        check_symmetric(space, curvature)
        found = minres(space, rhs, alphas, **limits)
    else:
        found = conjugate_gradients(space, curvature, space.residual(rhs), alphas, **limits)
    return [_solution(space, found, moved(x)) for x in found.x]


def check_symmetric(space: Space, curvature: Any) -> None:
    """Refuse a problem that MINRES does not solve."""
    uniform = isinstance(curvature, Diagonal) and bool((curvature.h == 1).all())
    if not uniform:
        form = "dual" if isinstance(space, Dual) else "primal"
        raise ValueError(
            f"solver is 'minres', which solves (A + αI) x = y for the squared loss without weights and intercept, but "
            f"the {form} problem is another one; use 'cg'"
        )


def _solution(space: Space, found: LinearResult, x: Element) -> Solution:
    return Solution(x.c, x.f, found.converged, found.reason, found.n_iter, space.n_products, found.residuals)
