"""Conjugate gradients in the kernel's inner product, for several shifts at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from vectrick.losses import Curvature
from vectrick.solvers.solution import CALLBACK, LIMIT, STALLED, TOLERANCE
from vectrick.solvers.space import Element, Space

Array = Any


@dataclass
class LinearResult:
    """The functions that solve a linear system for each shift, and how far the solver came."""

    x: list[Element]
    reason: str
    n_iter: int
    residuals: list[float] = field(default_factory=list)  # relative, of the smallest shift

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self.reason == TOLERANCE


# Told after each iteration: its number, the functions, the relative residual. True stops.
LinearCallback = Callable[[int, list[Element], float], bool | None]


@dataclass
class _Shifted:
    """The state of one shift: its residual is ζ times that of the smallest shift."""

    gap: float  # to the smallest shift
    x: Element
    p: Element
    zeta: float = 1.0
    zeta_before: float = 1.0
    done: bool = False


def conjugate_gradients(
    space: Space,
    curvature: Curvature,
    rhs: Element,
    shifts: Sequence[float],
    *,
    tol: float,
    max_iter: int,
    callback: LinearCallback | None = None,
) -> LinearResult:
    """Solve ``(B + α I) x = b`` for every α in ``shifts``, with ``B x = lift(H predict(x))``.

    B is self-adjoint in the inner product of the space, so that one product makes a step (in primal form one with the
    features and one with their transpose), and ``A x`` comes with it. Krylov spaces do not depend on α: the larger
    shifts follow the smallest for O(n) each, their residuals being multiples of its own (Jegerlehner 1996). Every
    iterate is a descent direction. ``tol`` is relative to the norm of b; ``rhs`` is used up.
    """
    smallest = min(shifts)
    states = [_Shifted(shift - smallest, space.zero(rhs.c), rhs.copy()) for shift in shifts]
    r, p = rhs, rhs.copy()
    rr = first = space.inner(r, r)
    step_before, beta_before = 1.0, 0.0
    residuals = [1.0]
    if first <= 0:
        return LinearResult([state.x for state in states], TOLERANCE, 0, [0.0])
    for k in range(max_iter):
        hp = curvature.times(p.f)
        curve = float(p.f @ hp) + smallest * space.inner(p, p)
        if not curve > 0:
            return LinearResult([state.x for state in states], STALLED, k, residuals)
        step = rr / curve
        _move(states, p, step, step_before, beta_before)
        r.c -= step * (space.lift(hp) + smallest * p.c)
        if k + 1 < max_iter:  # the residual after the last step would cost a product that nobody needs
            r.f = space.predict(r.c)
            new = space.inner(r, r)
            residuals.append((max(new, 0.0) / first) ** 0.5)
        if callback is not None and callback(k + 1, [state.x for state in states], residuals[-1]):
            return LinearResult([state.x for state in states], CALLBACK, k + 1, residuals)
        if k + 1 == max_iter:
            break
        beta = max(new, 0.0) / rr
        for state in states:
            state.done = state.done or state.zeta * residuals[-1] <= tol
        if all(state.done for state in states):
            return LinearResult([state.x for state in states], TOLERANCE, k + 1, residuals)
        p = Element(r.c + beta * p.c, r.f + beta * p.f)
        for state in states:
            if state.gap and not state.done:
                ratio = state.zeta / state.zeta_before
                again = beta * ratio * ratio
                state.p = Element(state.zeta * r.c + again * state.p.c, state.zeta * r.f + again * state.p.f)
        rr, step_before, beta_before = new, step, beta
    return LinearResult([state.x for state in states], LIMIT, max_iter, residuals)


def _move(states: list[_Shifted], p: Element, step: float, step_before: float, beta_before: float) -> None:
    """Take the step of the smallest shift, and the one that follows from it for every other."""
    for state in states:
        if not state.gap:
            state.x.add(step, p)
        elif not state.done:
            old, older = state.zeta, state.zeta_before
            below = step * beta_before * (older - old) + older * step_before * (1 + state.gap * step)
            state.zeta, state.zeta_before = old * older * step_before / below, old
            state.x.add(step * state.zeta / old, state.p)
