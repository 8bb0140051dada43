"""Conjugate gradients in the kernel's inner product, for several shifts at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite

from vectrick.losses import Curvature, Loss
from vectrick.solvers.base import SOLVERS, Limits, refined
from vectrick.solvers.preconditioned import preconditioned_gradients
from vectrick.solvers.quadratic import LinearCallback, LinearResult, LinearSystem, QuadraticSolver
from vectrick.solvers.solution import CALLBACK, LIMIT, STALLED, TOLERANCE, Solution
from vectrick.solvers.space import Element, Residual, Space

_CORRECTIONS = 50  # of a linear system at most


@dataclass
class _Shifted:
    """The state of a shift that follows the smallest one: its residual is ζ times that of the smallest."""

    gap: float  # to the smallest shift
    x: Element
    p: Element
    zeta: float = 1.0
    zeta_before: float = 1.0
    done: bool = False

    def move(self, step: float, step_before: float, beta_before: float) -> None:
        """Take the step that follows from the one of the smallest shift."""
        old, older = self.zeta, self.zeta_before
        below = step * beta_before * (older - old) + older * step_before * (1 + self.gap * step)
        self.zeta, self.zeta_before = old * older * step_before / below, old
        self.x.add(step * self.zeta / old, self.p)

    def turn(self, r: Element, beta: float) -> None:
        """Make the next direction from the residual of the smallest shift."""
        ratio = self.zeta / self.zeta_before
        again = beta * ratio * ratio
        self.p = Element(self.zeta * r.c + again * self.p.c, self.zeta * r.f + again * self.p.f)


class ConjugateGradients(QuadraticSolver):
    """Conjugate gradients in the kernel's inner product: good predictions early, and all shifts at once."""

    name = "cg"
    has_mixed = True
    has_preconditioner = True
    solves_paths = True
    krylov = False

    def solve(self, system: LinearSystem, tol: float, max_iter: int, callback: LinearCallback | None) -> LinearResult:
        """Return the solutions for each alpha."""
        rest, limits = system.space.residual(system.rhs), (tol, max_iter, callback)
        if system.preconditioner is not None:
            (alpha,) = system.alphas
            how = (system.preconditioner, *limits, system.accept)
            return preconditioned_gradients(system.space, system.curvature, rest, alpha, *how)
        return conjugate_gradients(system.space, system.curvature, rest, system.alphas, *limits)

    def minimise(self, space: Space, loss: Loss, alpha: float, limits: Limits) -> Solution:
        """Return the minimum; in mixed precision, by Newton's method, which is then iterative refinement."""
        if limits.mixed:
            return SOLVERS["newton"]().minimise(space, loss, alpha, refined(limits, _CORRECTIONS))
        return super().minimise(space, loss, alpha, limits)


def conjugate_gradients(
    space: Space,
    curvature: Curvature,
    rhs: Residual,
    shifts: Sequence[float],
    tol: float,
    max_iter: int,
    callback: LinearCallback | None = None,
) -> LinearResult:
    """Solve ``(B + α I) x = b`` for every α in ``shifts``, with ``B x = lift(H predict(x))``.

    B is self-adjoint in the inner product of the space, so a step takes one product (in primal form one with the
    features and one with their transpose), and ``A x`` comes with it. Krylov spaces do not depend on α: the larger
    shifts follow the smallest for O(n) each, since their residuals are multiples of its own (Jegerlehner 1996). Every
    iterate is a descent direction. ``tol`` is relative to the norm of b.
    """
    smallest = min(shifts)
    x, r, p = space.zero(rhs.c), rhs, space.direction(rhs)
    others = [_Shifted(shift - smallest, x.copy(), p.copy()) for shift in shifts if shift > smallest]
    following = iter(others)
    solutions = [x if shift == smallest else next(following).x for shift in shifts]
    step_before, beta_before = 1.0, 0.0
    residuals = [0.0 if rhs.square <= 0 else 1.0]
    for k in range(max_iter):
        if max([residuals[-1], *(residuals[-1] * other.zeta for other in others)]) <= tol:
            return LinearResult(solutions, TOLERANCE, k, residuals, scale=rhs.norm)
        hp = curvature.times(p.f)
        curve = float(p.f @ hp) + smallest * space.inner(p, p)
        if not 0 < curve < inf or not isfinite(r.square):
            return LinearResult(solutions, STALLED, k, residuals, scale=rhs.norm)
        step = r.square / curve
        x.add(step, p)
        for other in others:
            other.done = other.done or residuals[-1] * other.zeta <= tol
            if not other.done:
                other.move(step, step_before, beta_before)
        if k + 1 == max_iter:  # the residual after the last step would cost a product that nobody needs
            stop = callback is not None and callback(k + 1, solutions, residuals[-1])
            return LinearResult(solutions, CALLBACK if stop else LIMIT, max_iter, residuals, scale=rhs.norm)
        new = space.residual(r.c - step * (space.lift(hp) + smallest * p.c))
        del hp  # as long as the edges
        residuals.append(new.norm / rhs.norm)
        if callback is not None and callback(k + 1, solutions, residuals[-1]):
            return LinearResult(solutions, CALLBACK, k + 1, residuals, scale=rhs.norm)
        beta = max(new.square, 0.0) / r.square
        beta_p = beta * p.f if others else None
        p = space.direction(new, beta, p)
        for other in others:
            if not other.done:
                other.turn(Element(new.c, p.f - beta_p), beta)
        r, step_before, beta_before = new, step, beta
    raise AssertionError("unreachable: the last iteration returns")
