"""Truncated Newton in dual and primal form: Algorithms 2 and 3 of the paper."""

from dataclasses import dataclass, replace
from typing import Any

from vectrick._typing import Array
from vectrick.losses import Curvature, Loss
from vectrick.solvers.base import Accept, Limits, Solver
from vectrick.solvers.cg import solve_system
from vectrick.solvers.degree_model import DegreeModel, Preconditioner
from vectrick.solvers.direct import solve_directly
from vectrick.solvers.line_search import exact_step
from vectrick.solvers.mixed import LowPrecision
from vectrick.solvers.qmr import quasi_minimal_residuals
from vectrick.solvers.quadratic import LinearResult
from vectrick.solvers.solution import (
    CALLBACK,
    LIMIT,
    ROUNDING,
    TOLERANCE,
    Callback,
    Iterate,
    Solution,
    finest,
    rounding,
    why_stalled,
)
from vectrick.solvers.space import Dual, Element, Measured, Space


@dataclass(frozen=True)
class Inner:
    """How a Newton system is solved: the method, how many iterations, and the step that is taken."""

    method: str = "cg"
    max_iter: int = 100
    step: float | None = None  # None for the exact line search; the paper has 1
    mixed: bool = False  # whether directions are found with products in float32, or TF32
    budget: int | None = None  # the most iterations that all systems in low precision may take
    model: DegreeModel | None = None  # the preconditioner


class Newton(Solver):
    """Truncated Newton whose systems are solved by conjugate gradients in the kernel's inner product."""

    name = "newton"
    method = "cg"
    max_iter = 100
    has_mixed = True
    has_preconditioner = True

    def minimise(self, space: Space, loss: Loss, alpha: float, limits: Limits) -> Solution:
        """Return the minimum."""
        inner = Inner(self.method, limits.inner_iter, limits.step, limits.mixed, limits.budget, limits.model)
        how: dict[str, Any] = {"start": limits.start, "callback": limits.callback, "accept": limits.accept}
        return newton(space, loss, alpha, inner=inner, tol=limits.tol, max_iter=limits.max_iter, **how)


class NewtonQMR(Newton):
    """Truncated Newton as in the paper: systems are solved by quasi-minimal residuals."""

    name = "newton-qmr"
    method = "qmr"
    has_mixed = False
    has_preconditioner = False


class NewtonDirect(Newton):
    """Newton's method with systems that are solved exactly, for small problems."""

    name = "newton-direct"
    method = "direct"
    has_mixed = False
    has_preconditioner = False
    verified = "always"

    def minimise(self, space: Space, loss: Loss, alpha: float, limits: Limits) -> Solution:
        """Return the minimum; one more step is cheap and doubles the number of correct digits."""
        return super().minimise(space, loss, alpha, replace(limits, tol=min(limits.tol, 1e-9)))


def newton(
    space: Space,
    loss: Loss,
    alpha: float,
    *,
    inner: Inner,
    tol: float,
    max_iter: int,
    start: Array | None = None,
    callback: Callback | None = None,
    accept: Accept | None = None,
) -> Solution:
    """Minimise ``L(p) + ½ α ‖f‖²``.

    Each iteration solves ``(B + α I) δ = gradient`` roughly, more exactly near the minimum, and takes the exact step
    along δ; the risk never rises (except with a fixed step). If the loss is flat at many edges, the products use the
    other edges only. ``tol`` is relative to the norm of the gradient at zero.

    With ``inner.mixed`` the systems are solved in low precision, but gradients, steps and risks are computed in full
    precision; for a quadratic loss this is iterative refinement. Once a direction no longer descends, the rest is done
    in full precision. With ``inner.model`` the systems are preconditioned; its degrees are renewed in each iteration.
    """
    low = LowPrecision(space, loss, alpha, inner.max_iter, inner.budget) if inner.mixed else None
    mixed = low  # it counts corrections, also once low is None because it no longer helped
    x = space.zero(loss.y) if start is None else space.element(start)
    risk = _risk(space, loss, alpha, x)
    at_zero = space.measured(space.lift(loss.gradient(0 * x.f)))
    first = at_zero.norm
    residuals: list[float] = []
    near = False  # whether the last system was solved to the wanted accuracy
    is_minimum = False  # whether such a system says that the risk cannot fall by more than rounding hides

    def ended(converged: bool, reason: str, n_iter: int) -> Solution:
        solution = replace(_solution(space, x, converged, reason, n_iter, residuals), scale=first)
        return solution if mixed is None else replace(solution, n_corrections=mixed.n_corrections)

    for k in range(max_iter):
        curvature = loss.curvature(x.f)
        is_first = k == 0 and start is None
        gradient = at_zero.c if is_first else space.lift(loss.gradient(x.f)) + alpha * x.c
        sub = space.subspace(curvature.active if low is None else None, gradient)
        rest = at_zero if is_first and sub.keep is None else sub.space.measured(sub.take(gradient))
        residuals.append(rest.norm / first if first else 0.0)
        if residuals[-1] <= tol:
            closer = None if accept is None else accept(x, residuals[-1])
            if closer is None:
                return ended(True, TOLERANCE, k)
            tol = closer
        if low is not None and low.is_spent(residuals[-1]):
            return ended(False, LIMIT, k)
        accuracy = _forcing(residuals[-1], tol)
        new = precondition = None
        if inner.model is not None:
            precondition = inner.model.preconditioner(curvature, alpha, as_made=loss.is_quadratic)
        if low is not None:
            # A quadratic loss has one system, which is worth solving as exactly as low precision allows.
            wanted = 0.3 * tol / residuals[-1] if loss.is_quadratic else accuracy
            direction = low.direction(curvature, rest, residuals[-1], wanted, tol, precondition)
            if direction is not None:
                new = _step(space, loss, alpha, x, direction, inner.step)
                # Near the minimum of a quadratic loss rounding hides that the risk falls; the gradient will show it.
                hidden = _hidden(x.f, risk) if loss.is_quadratic else 0.0
                if not new[1] < risk + hidden and residuals[-1] > rounding(x.f):
                    low.give_up(residuals[-1], tol)
                    new = None
            if new is None:
                low, sub = None, space.subspace(curvature.active, gradient)
                rest = sub.space.measured(sub.take(gradient))
        if new is None and near and isinstance(space, Dual) and curvature.active is not None and inner.step is None:
            new = _sparse_step(space, loss, alpha, x, risk, curvature, gradient, accuracy * rest.norm, inner)
        if new is None:
            result = _solve(sub.space, sub.curvature(curvature), rest, alpha, inner, accuracy, precondition)
            near = result.converged
            descent = sub.expand(result.x[0])
            descent.negate()
            new = _step(space, loss, alpha, x, descent, inner.step)
            if near and not new[1] < risk:
                is_minimum = _expected_decrease(space, loss, alpha, x, descent) <= _hidden(x.f, risk)
            del result, descent  # as long as the edges, and the next iteration will need the room
        if not new[1] < risk and inner.step is None and low is None:
            reason = ROUNDING if is_minimum else why_stalled(x.f, residuals[-1])
            return ended(reason == ROUNDING, reason, k)
        x, risk = new
        n_corrections = None if mixed is None else mixed.n_corrections
        state = Iterate(k + 1, space.n_products, x.c, x.f, risk, residuals[-1], n_corrections=n_corrections)
        if callback is not None and callback(state):
            return ended(False, CALLBACK, k + 1)
    return ended(False, LIMIT, max_iter)


def _forcing(residual: float, tol: float) -> float:
    """Return how exactly to solve a Newton system: roughly far from the minimum, more and more exactly near it."""
    return float(max(min(0.05, residual**0.5), 0.1 * tol / residual, 1e-10))


def _solve(
    space: Space,
    curvature: Curvature,
    gradient: Measured,
    alpha: float,
    inner: Inner,
    tol: float,
    precondition: Preconditioner | None = None,
) -> LinearResult:
    if inner.method == "direct":
        return LinearResult([solve_directly(space, curvature, gradient.c, alpha)], TOLERANCE, 1)
    if inner.method == "qmr":
        return quasi_minimal_residuals(space, curvature, gradient.c, alpha, tol=tol, max_iter=inner.max_iter)
    return solve_system(space, curvature, gradient, [alpha], precondition, tol=tol, max_iter=inner.max_iter)


def _step(
    space: Space, loss: Loss, alpha: float, x: Element, descent: Element, step: float | None
) -> tuple[Element, float]:
    """Go along a direction; return the function there and its risk."""
    if step is None:
        step = exact_step(loss, x.f, descent.f, alpha, space.inner(x, descent), space.inner(descent, descent))
    new = x.copy()
    new.add(step, descent)
    return new, _risk(space, loss, alpha, new)


def _expected_decrease(space: Space, loss: Loss, alpha: float, x: Element, descent: Element) -> float:
    """Return by how much a Newton step lowers the risk if its quadratic model holds: half the slope."""
    slope = float((loss.gradient(x.f) * descent.f).sum()) + alpha * space.inner(x, descent)
    return 0.5 * abs(slope)


def _hidden(like: Array, risk: float) -> float:
    """Return a decrease of the risk that rounding hides: four units in its last place."""
    return 4e-3 * finest(like) * abs(risk)


def _sparse_step(
    space: Dual,
    loss: Loss,
    alpha: float,
    x: Element,
    risk: float,
    curvature: Curvature,
    gradient: Array,
    accuracy: float,
    inner: Inner,
) -> tuple[Element, float] | None:
    """Make a Newton step after which edges outside the margin have no coefficient; None if that does not descend.

    Where the curvature is zero, the system says ``α δ = g + α a``: beyond the margin, where g is zero, the whole
    coefficient is removed. A system of the active edges alone remains. Far from the minimum this is a bad direction;
    near the minimum it is the exact one, and the step is 1.
    """
    assert curvature.active is not None
    c = gradient * ~curvature.active / alpha
    outside = c != 0
    gone = space.zero(x.c)
    if bool(outside.any()):
        space.n_products += 1
        gone = Element(c, space.A.restrict(cols=outside) @ c[outside])
    sub = space.subspace(curvature.active)
    rest = sub.space.measured(sub.take(gradient - curvature.times(gone.f) - alpha * c))
    if rest.norm > 0:
        result = _solve(sub.space, sub.curvature(curvature), rest, alpha, inner, min(0.5, accuracy / rest.norm))
        if not result.converged:
            return None
        gone.add(1.0, sub.expand(result.x[0]))
    gone.negate()
    best = _step(space, loss, alpha, x, gone, None)
    whole = _step(space, loss, alpha, x, gone, 1.0)
    whole[0].c[outside & (loss.gradient(x.f) == 0)] = 0.0  # what rounding left
    enough = whole[1] <= risk - 0.5 * (risk - best[1])
    return (whole if enough else best) if best[1] < risk else None


def _risk(space: Space, loss: Loss, alpha: float, x: Element) -> float:
    return loss.value(x.f) + 0.5 * alpha * space.inner(x, x)


def _solution(space: Space, x: Element, converged: bool, reason: str, n_iter: int, residuals: list[float]) -> Solution:
    return Solution(x.c, x.f, converged, reason, n_iter, space.n_products, residuals)
