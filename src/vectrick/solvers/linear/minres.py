"""MINRES for several shifts together."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, isfinite

from vectrick._typing import Array
from vectrick.objectives.space import Element, Space
from vectrick.solvers.quadratic import LinearCallback, LinearResult, LinearSystem, QuadraticSolver
from vectrick.solvers.solution import CALLBACK, LIMIT, STALLED, TOLERANCE


@dataclass
class _Rotations:
    """The QR factorization of one shifted tridiagonal matrix, and the directions that belong to it."""

    shift: float
    x: Element
    newer: Element  # the last two directions
    older: Element
    phi: float  # the norm of the residual
    cosine: float = -1.0
    sine: float = 0.0
    delta: float = 0.0
    epsilon: float = 0.0
    done: bool = False

    def turn(self, v: Element, diagonal: float, beyond: float) -> None:
        """Add a column of the tridiagonal matrix: its diagonal entry and the entry below."""
        diagonal += self.shift
        old_epsilon = self.epsilon
        delta = self.cosine * self.delta + self.sine * diagonal
        gamma_bar = self.sine * self.delta - self.cosine * diagonal
        self.epsilon, self.delta = self.sine * beyond, -self.cosine * beyond
        gamma = max(hypot(gamma_bar, beyond), 1e-300)
        self.cosine, self.sine = gamma_bar / gamma, beyond / gamma
        phi, self.phi = self.cosine * self.phi, self.sine * self.phi
        w = v.copy()
        w.add(-old_epsilon, self.older)
        w.add(-delta, self.newer)
        self.older, self.newer = self.newer, w.times(1 / gamma)
        self.x.add(phi, self.newer)


class Minres(QuadraticSolver):
    """MINRES, the paper's method for ridge regression: ``(A + αI) x = y`` without weights and intercept."""

    name = "minres"
    is_general = False
    needs_symmetric = True
    solves_paths = True
    krylov = True

    def solve(self, system: LinearSystem, tol: float, max_iter: int, callback: LinearCallback | None) -> LinearResult:
        """Return the solution for each alpha."""
        return minres(system.space, system.rhs, system.alphas, tol, max_iter, callback)


def minres(
    space: Space,
    rhs: Array,
    shifts: Sequence[float],
    tol: float,
    max_iter: int,
    callback: LinearCallback | None = None,
) -> LinearResult:
    """Solve ``(A + α I) x = b`` for every α in ``shifts`` in the plain inner product: the paper's ridge regression.

    ``A`` is the kernel matrix in dual form, ``Φᵀ Φ`` in primal form. Each iteration makes one product (one with Φ and
    one with its transpose in primal form) for any number of shifts, and each shift takes O(n).
    SciPy's MINRES solves for one shift and does not return the predictions of its iterates.
    """
    beta = first = float(rhs @ rhs) ** 0.5
    zero = space.zero(rhs)
    systems = [_Rotations(shift, zero.copy(), zero.copy(), zero.copy(), first) for shift in shifts]
    if first == 0:
        return LinearResult([system.x for system in systems], TOLERANCE, 0, [0.0])
    v, before = rhs / beta, zero.c
    residuals = [1.0]
    smallest = min(systems, key=lambda system: system.shift)
    for k in range(max_iter):
        f = space.predict(v)
        Av = space.lift(f)
        after = Av - beta * before if k else Av + 0.0
        diagonal = float(v @ after)
        after -= diagonal * v
        beyond = float(after @ after) ** 0.5
        if not (isfinite(diagonal) and isfinite(beyond)):
            return LinearResult([system.x for system in systems], STALLED, k, residuals)
        for system in systems:
            if not system.done:
                system.turn(Element(v, f), diagonal, beyond)
                system.done = abs(system.phi) <= tol * first
        residuals.append(abs(smallest.phi) / first)
        functions = [system.x for system in systems]
        if callback is not None and callback(k + 1, functions, residuals[-1]):
            return LinearResult(functions, CALLBACK, k + 1, residuals)
        if all(system.done for system in systems) or beyond <= 1e-300:
            return LinearResult(functions, TOLERANCE, k + 1, residuals)
        before, v, beta = v, after / beyond, beyond
    return LinearResult([system.x for system in systems], LIMIT, max_iter, residuals)
