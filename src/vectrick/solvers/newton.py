"""Truncated Newton in dual and primal form: Algorithms 2 and 3 of the paper."""

from dataclasses import dataclass
from typing import Any

from vectrick.losses import Curvature, Loss
from vectrick.solvers.cg import LinearResult, conjugate_gradients
from vectrick.solvers.direct import solve_directly
from vectrick.solvers.line_search import exact_step
from vectrick.solvers.qmr import quasi_minimal_residuals
from vectrick.solvers.solution import CALLBACK, LIMIT, ROUNDING, TOLERANCE, Callback, Iterate, Solution, why_stalled
from vectrick.solvers.space import Dual, Element, Space

Array = Any

INNER = ("cg", "qmr", "direct")


@dataclass(frozen=True)
class Inner:
    """How a Newton system is solved: the method, how many iterations, and the step that is taken."""

    method: str = "cg"
    max_iter: int = 100
    step: float | None = None  # None for the exact line search; the paper has 1


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
) -> Solution:
    """Minimise ``L(p) + ½ α ‖f‖²``.

    Each iteration solves ``(B + α I) δ = gradient`` roughly, as far as the distance to the minimum deserves, and goes the
    exact step along it; the risk never rises (except with a fixed step). Where the loss is flat at many edges, the
    products are over the others only. ``tol`` is relative to the norm of the gradient at zero.
    """
    x = space.zero(loss.y) if start is None else space.element(start)
    risk = _risk(space, loss, alpha, x)
    first = space.norm(space.element(space.lift(loss.gradient(0 * x.f))))
    residuals: list[float] = []
    for k in range(max_iter):
        g = loss.gradient(x.f)
        curvature = loss.curvature(x.f)
        part = space.part(curvature.active, x)
        gradient = part.space.element(part.take(space.lift(g) + alpha * x.c))
        residuals.append(part.space.norm(gradient) / first if first else 0.0)
        if residuals[-1] <= tol:
            return _solution(space, x, True, TOLERANCE, k, residuals)
        system = part.curvature(curvature)
        found = _solve(part.space, system, gradient, alpha, inner, _forcing(residuals[-1], tol))
        descent = part.expand(found.x[0].times(-1.0))
        new, new_risk = _step(space, loss, alpha, x, descent, inner.step)
        if found.converged and inner.step is None and isinstance(space, Dual) and curvature.active is not None:
            new, new_risk = _drop(space, loss, alpha, new, risk, new_risk)
        if not new_risk < risk and inner.step is None:
            reason = why_stalled(x.f, residuals[-1])
            return _solution(space, x, reason == ROUNDING, reason, k, residuals)
        x, risk = new, new_risk
        state = Iterate(k + 1, space.n_products, x.c, x.f, risk, residuals[-1])
        if callback is not None and callback(state):
            return _solution(space, x, False, CALLBACK, k + 1, residuals)
    return _solution(space, x, False, LIMIT, max_iter, residuals)


def _forcing(residual: float, tol: float) -> float:
    """Return how exactly to solve a Newton system: roughly far from the minimum, more and more exactly near it."""
    return max(min(0.3, residual**0.5), 0.1 * tol / residual, 1e-10)


def _solve(
    space: Space, curvature: Curvature, gradient: Element, alpha: float, inner: Inner, tol: float
) -> LinearResult:
    if inner.method == "direct":
        return LinearResult([solve_directly(space, curvature, gradient.c, alpha)], TOLERANCE, 1)
    if inner.method == "qmr":
        return quasi_minimal_residuals(space, curvature, gradient.c, alpha, tol=tol, max_iter=inner.max_iter)
    return conjugate_gradients(space, curvature, gradient, [alpha], tol=tol, max_iter=inner.max_iter)


def _step(
    space: Space, loss: Loss, alpha: float, x: Element, descent: Element, step: float | None
) -> tuple[Element, float]:
    """Go along a direction; return the function there and its risk."""
    if step is None:
        step = exact_step(loss, x.f, descent.f, alpha, space.inner(x, descent), space.inner(descent, descent))
    new = x.copy()
    new.add(step, descent)
    return new, _risk(space, loss, alpha, new)


def _drop(
    space: Dual, loss: Loss, alpha: float, new: Element, risk: float, new_risk: float
) -> tuple[Element, float]:
    """Set the coefficients of edges without loss to zero, which they are at the minimum, if the risk still falls."""
    active = loss.curvature(new.f).active
    drop = ~active & (new.c != 0)
    if not drop.any():
        return new, new_risk
    space.n_products += 1
    fewer = Element(new.c * ~drop, new.f - space.A.restrict(cols=drop) @ new.c[drop])
    fewer_risk = _risk(space, loss, alpha, fewer)
    return (fewer, fewer_risk) if fewer_risk <= risk - 0.5 * (risk - new_risk) else (new, new_risk)


def _risk(space: Space, loss: Loss, alpha: float, x: Element) -> float:
    return loss.value(x.f) + 0.5 * alpha * space.inner(x, x)


def _solution(space: Space, x: Element, converged: bool, reason: str, n_iter: int, residuals: list[float]) -> Solution:
    return Solution(x.c, x.f, converged, reason, n_iter, space.n_products, residuals)
