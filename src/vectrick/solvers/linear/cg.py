"""Conjugate gradients: the only loop of the package, for systems of every kind and for several shifts together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any, Protocol

from vectrick._typing import Array
from vectrick.losses import Curvature, Loss
from vectrick.objectives.space import Element, Inverse, Measured, Space
from vectrick.solvers.base import SOLVERS, Accept, Limits, refined
from vectrick.solvers.quadratic import LinearCallback, LinearResult, LinearSystem, QuadraticSolver
from vectrick.solvers.solution import CALLBACK, LIMIT, STALLED, TOLERANCE, Solution

_CORRECTIONS = 50  # maximum number for a linear system


class System(Protocol):
    """Equations ``S x = b`` with a positive definite S, for one function or for several functions as columns."""

    @property
    def measures_last(self) -> bool:
        """Whether to compute the residual after the last iteration."""

    def measured(self, r: Array) -> Measured:
        """Return a preconditioned residual."""

    def next_direction(self, z: Measured, beta: Any, p: Element | None) -> Element:
        """Return the next direction ``z + β p``; p must not be used afterwards."""

    def curved(self, p: Element) -> tuple[Array, Any]:
        """Return the input of `image`, and the inner product of a direction and its image."""

    def image(self, made: Array, p: Element) -> Array:
        """Return the image ``S p``."""

    def reached(self, k: int, x: Any, z: Measured | None) -> Any:
        """Return a reason to stop after k iterations, None, or the columns to continue; z is None if not measured."""


def conjugate_gradients(
    system: System, x: Any, r: Array, max_iter: int, z: Measured | None = None, n_before: int = 0
) -> tuple[str, int]:
    """Solve ``S x = b`` from x in place; return the reason to stop, and the number of iterations.

    S is self-adjoint in the inner product of `System.measured` and `System.curved`. An iteration costs a product with
    S. Every iterate is a descent direction.

    Parameters
    ----------
    x : Element
        The start, an object with a method ``add``.
    r : array
        The residual ``b - S x`` at the start; it is overwritten.
    max_iter : int
        The number of the last iteration.
    z : Measured, optional
        The residual as `System.measured` returns it, if available.
    n_before : int
        The number of earlier iterations.
    """
    z = system.measured(r) if z is None else z
    p, beta = None, None
    for k in range(n_before, max_iter + 1):
        verdict = system.reached(k, x, z)
        if isinstance(verdict, str):
            return verdict, k
        if k == max_iter:
            break
        assert z is not None
        if verdict is not None:
            r, z, p = r[:, verdict], z.only(verdict), None if p is None else p.only(verdict)
            beta = None if beta is None else beta[verdict]
        p = system.next_direction(z, beta, p)
        made, curve = system.curved(p)
        if not _is_positive(curve, z.along):
            return STALLED, k
        step, along = z.along / curve, z.along
        x.add(step, p)
        if k + 1 == max_iter and not system.measures_last:
            z = None
            continue
        r -= step * system.image(made, p)
        del made  # as long as the edges
        z = system.measured(r)
        beta = z.along / along
    return LIMIT, max_iter


def _is_positive(curve: Any, along: Any) -> bool:
    """Return whether all inner products of directions and their images are positive and finite."""
    if isinstance(curve, float):
        return 0 < curve < inf and isfinite(along)
    return bool(((curve > 0) & (curve < inf)).all())


class ImageSystem:
    """``(B + α) x = b`` in the plain inner product, for a function that computes products with B."""

    measures_last = True

    def __init__(
        self,
        times: Callable[[Array], Array],
        alpha: float,
        inverse: Inverse,
        tol: float,
        scale: float,
        callback: Callable[[int, Array, float], bool] | None = None,
    ) -> None:
        self.times, self.alpha, self.inverse = times, alpha, inverse
        self.tol, self.scale, self.callback = tol, scale, callback
        self.residuals: list[float] = []

    def measured(self, r: Array) -> Measured:
        """Return a preconditioned residual."""
        z = self.inverse.times(r)
        return Measured(z, float(r @ z), float(r @ r))

    def next_direction(self, z: Measured, beta: float | None, p: Element | None) -> Element:
        """Return the next direction."""
        return Element(z.c if beta is None or p is None else z.c + beta * p.c, None)

    def curved(self, p: Element) -> tuple[Array, float]:
        """Return the image of a direction, and the curvature along it."""
        q = self.times(p.c) + self.alpha * p.c
        return q, float(p.c @ q)

    def image(self, made: Array, p: Element) -> Array:
        """Return the image."""
        return made

    def reached(self, k: int, x: Element, z: Measured | None) -> str | None:
        """Return a reason to stop, or None."""
        assert z is not None
        self.residuals.append(z.norm / self.scale if self.scale else 0.0)
        if k and self.callback is not None and self.callback(k, x.c, self.residuals[-1]):
            return CALLBACK
        return TOLERANCE if self.residuals[-1] <= self.tol else None


class ConjugateGradients(QuadraticSolver):
    """Conjugate gradients in the kernel's inner product: good predictions early, and several shifts in one run."""

    name = "cg"
    has_mixed = True
    has_preconditioner = True
    solves_paths = True
    krylov = False

    def solve(self, system: LinearSystem, tol: float, max_iter: int, callback: LinearCallback | None) -> LinearResult:
        """Return the solution for each alpha."""
        rhs = system.space.measured(system.rhs)
        of_system = system.space, system.curvature, rhs, system.alphas, system.preconditioner
        return solve_system(*of_system, tol=tol, max_iter=max_iter, callback=callback, accept=system.accept)

    def minimise(self, space: Space, loss: Loss, alpha: float, limits: Limits) -> Solution:
        """Return the minimum; mixed precision uses Newton's method as iterative refinement."""
        if limits.mixed:
            return SOLVERS["newton"]().minimise(space, loss, alpha, refined(limits, _CORRECTIONS))
        return super().minimise(space, loss, alpha, limits)


def solve_system(
    space: Space,
    curvature: Curvature,
    rhs: Measured,
    shifts: Sequence[float],
    inverse: Inverse | None = None,
    *,
    tol: float,
    max_iter: int,
    callback: LinearCallback | None = None,
    accept: Accept | None = None,
) -> LinearResult:
    """Solve ``(B + α I) x = b`` for every α in ``shifts``, with ``B x = lift(H predict(x))``.

    B is self-adjoint in the inner product of the space. So an iteration takes one product in dual form (this also gives
    ``A x``), and in primal form one with the features and one with their transpose. A preconditioner requires a single
    shift. ``tol`` is relative to the norm of b. ``accept`` is called when it is reached, and may return a smaller one.
    """
    system = _SpaceSystem(space, curvature, rhs, shifts, inverse, tol, callback, accept)
    known = rhs if inverse is None else None
    reason, n_iter = conjugate_gradients(system, system.found, rhs.c + 0.0, max_iter, known)
    return LinearResult(system.found.solutions, reason, n_iter, system.residuals, scale=rhs.norm)


@dataclass
class _Shifted:
    """The state of a larger shift: its residual is ζ times the residual of the smallest shift."""

    gap: float  # the difference to the smallest shift
    x: Element
    p: Element | None = None
    zeta: float = 1.0
    zeta_before: float = 1.0
    done: bool = False

    def move(self, step: float, step_before: float, beta_before: float) -> None:
        """Take the step that follows from the step of the smallest shift."""
        assert self.p is not None
        old, older = self.zeta, self.zeta_before
        below = step * beta_before * (older - old) + older * step_before * (1 + self.gap * step)
        self.zeta, self.zeta_before = old * older * step_before / below, old
        self.x.add(step * self.zeta / old, self.p)

    def turn(self, r: Element, beta: float) -> None:
        """Make the next direction from the residual of the smallest shift."""
        assert self.p is not None
        ratio = self.zeta / self.zeta_before
        again = beta * ratio * ratio
        self.p = Element(self.zeta * r.c + again * self.p.c, self.zeta * r.f + again * self.p.f)


class _Shifts:
    """The functions of all shifts.

    Krylov spaces do not depend on the shift. The residuals of larger shifts are multiples of the residual of the
    smallest, so each of them costs only O(n) (Jegerlehner 1996).
    """

    def __init__(self, space: Space, shifts: Sequence[float], like: Array) -> None:
        self.least, self.x = min(shifts), space.zero(like)
        self.others = [_Shifted(shift - self.least, self.x.copy()) for shift in shifts if shift > self.least]
        following = iter(self.others)
        self.solutions = [self.x if shift == self.least else next(following).x for shift in shifts]
        self._step = 1.0
        self._beta = 0.0

    @property
    def worst(self) -> float:
        """The largest residual, relative to the residual of the smallest shift."""
        return max([1.0, *(other.zeta for other in self.others)])

    def add(self, step: float, p: Element) -> None:
        """Take a step of the smallest shift, and the resulting steps of the others."""
        self.x.add(step, p)
        for other in self.others:
            if not other.done:
                other.move(step, self._step, self._beta)
        self._step = step

    def turn(self, p: Element, before: Array | None, r: Array, beta: float | None) -> None:
        """Make the next directions; p is of the smallest shift, ``before`` is β times its last predictions."""
        self._beta = beta or 0.0
        for other in self.others:
            if beta is None:
                other.p = p.copy()
            elif not other.done:
                other.turn(Element(r, p.f - before), beta)


@dataclass
class _SpaceSystem:
    """A system in a space of functions."""

    space: Space
    curvature: Curvature
    rhs: Measured
    shifts: Sequence[float]
    inverse: Inverse | None
    tol: float
    callback: LinearCallback | None
    accept: Accept | None
    residuals: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.found = _Shifts(self.space, self.shifts, self.rhs.c)
        self.alpha = self.found.least

    @property
    def measures_last(self) -> bool:
        """Whether to measure the last residual; without a preconditioner, this takes a product."""
        return self.inverse is not None

    def measured(self, r: Array) -> Measured:
        """Return a preconditioned residual."""
        return self.space.measured(r, self.inverse)

    def next_direction(self, z: Measured, beta: float | None, p: Element | None) -> Element:
        """Return the next direction."""
        if not self.found.others:
            return self.space.next_direction(z, beta or 0.0, p)
        before = None if p is None or beta is None else beta * p.f
        new = self.space.next_direction(z, beta or 0.0, p)
        self.found.turn(new, before, z.c, beta)
        return new

    def curved(self, p: Element) -> tuple[Array, float]:
        """Return ``H predict(p)``, and the curvature along p."""
        hp = self.curvature.times(p.f)
        return hp, float(p.f @ hp) + self.alpha * self.space.inner(p, p)

    def image(self, made: Array, p: Element) -> Array:
        """Return ``(B + α) p``."""
        return self.space.lift(made) + self.alpha * p.c

    def reached(self, k: int, x: Any, z: Measured | None) -> str | None:
        """Return a reason to stop, or None."""
        if z is not None:
            first = 1.0 if z.square > 0 or z.square != z.square else 0.0
            self.residuals.append(z.norm / self.rhs.norm if k else first)
        if k and self.callback is not None and self.callback(k, self.found.solutions, self.residuals[-1]):
            return CALLBACK
        if z is None:
            return LIMIT
        for other in self.found.others:
            other.done = other.done or self.residuals[-1] * other.zeta <= self.tol
        if not self.residuals[-1] * self.found.worst <= self.tol:
            return None
        closer = None if self.accept is None or k == 0 else self.accept(self.found.x, self.residuals[-1])
        if closer is None:
            return TOLERANCE
        self.tol = closer
        return None
