"""L-BFGS in the kernel's inner product.

SciPy's L-BFGS uses the plain inner product, so the condition number of the dual problem is squared. It also takes a
product for every trial step. Here, the predictions of a direction are available, and the exact step costs O(n).
"""

from collections import deque
from typing import Any

from vectrick._typing import Array
from vectrick.losses import Loss
from vectrick.objectives.space import Element, Measured, Space
from vectrick.solvers.base import Limits, Solver
from vectrick.solvers.line_search import exact_step
from vectrick.solvers.solution import CALLBACK, LIMIT, ROUNDING, TOLERANCE, Callback, Iterate, Solution, why_stalled

_MEMORY = 10  # pairs of step and change of gradient


class LBFGS(Solver):
    """L-BFGS for smooth losses; it uses gradients only."""

    name = "lbfgs"

    def minimise(self, space: Space, loss: Loss, alpha: float, limits: Limits) -> Solution:
        """Return the minimum."""
        how: dict[str, Any] = {"start": limits.start, "callback": limits.callback}
        return lbfgs(space, loss, alpha, tol=limits.tol, max_iter=limits.max_iter, **how)


def lbfgs(
    space: Space,
    loss: Loss,
    alpha: float,
    *,
    tol: float,
    max_iter: int,
    start: Array | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Minimize ``L(p) + ½ α ‖f‖²`` with gradients only; one product for each iteration (two in primal form).

    ``tol`` is relative to the norm of the gradient at zero.
    """
    x = space.zero(loss.y) if start is None else space.element(start)
    first = space.measured(space.lift(loss.gradient(0 * x.f))).norm
    gradient = _gradient(space, loss, alpha, x)
    pairs: deque[tuple[Element, Element, float]] = deque(maxlen=_MEMORY)
    residuals: list[float] = []
    for k in range(max_iter):
        square = space.inner(gradient, gradient)
        size = Measured(gradient.c, square, square).norm
        residuals.append(size / first if first else 0.0)
        if residuals[-1] <= tol:
            return Solution(x.c, x.f, True, TOLERANCE, k, space.n_products, residuals)
        d = _direction(space, gradient, pairs)
        step = exact_step(loss, x.f, d.f, alpha, space.inner(x, d), space.inner(d, d))
        if step == 0:
            reason = why_stalled(x.f, residuals[-1])
            return Solution(x.c, x.f, reason == ROUNDING, reason, k, space.n_products, residuals)
        s = d.times(step)
        x.add(1.0, s)
        new = _gradient(space, loss, alpha, x)
        change = new.copy()
        change.add(-1.0, gradient)
        curve = space.inner(s, change)
        if curve > 0:
            pairs.append((s, change, curve))
        gradient = new
        risk = loss.value(x.f) + 0.5 * alpha * space.inner(x, x)
        if callback is not None and callback(Iterate(k + 1, space.n_products, x.c, x.f, risk, residuals[-1])):
            return Solution(x.c, x.f, False, CALLBACK, k + 1, space.n_products, residuals)
    return Solution(x.c, x.f, False, LIMIT, max_iter, space.n_products, residuals)


def _gradient(space: Space, loss: Loss, alpha: float, x: Element) -> Element:
    return space.element(space.lift(loss.gradient(x.f)) + alpha * x.c)


def _direction(space: Space, gradient: Element, pairs: deque[tuple[Element, Element, float]]) -> Element:
    """Return minus the inverse Hessian, estimated from the last steps, times the gradient (two-loop recursion)."""
    d = gradient.times(-1.0)
    shares = []
    for s, change, curve in reversed(pairs):
        share = space.inner(s, d) / curve
        d.add(-share, change)
        shares.append(share)
    if pairs:
        _, change, curve = pairs[-1]
        d = d.times(curve / space.inner(change, change))
    for (s, change, curve), share in zip(pairs, reversed(shares), strict=True):
        d.add(share - space.inner(change, d) / curve, s)
    return d
