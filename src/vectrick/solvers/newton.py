"""Truncated Newton: the only loop of the package, for any implementation of the risk."""

from typing import Protocol

from vectrick.solvers.base import Accept
from vectrick.solvers.solution import CALLBACK, LIMIT, ROUNDING, TOLERANCE, Callback, Iterate, Solution


class NewtonProblem(Protocol):
    """A regularized risk at a current point."""

    @property
    def forcing(self) -> tuple[float, float]:
        """The loosest tolerance of systems, and the share of the final tolerance for the last systems."""

    @property
    def measures_last(self) -> bool:
        """Whether the gradient after a step is available without another product."""

    def residual(self) -> float:
        """Return the norm of the gradient at the point, relative to its norm at the zero function."""

    def accept(self, accept: Accept, residual: float) -> float | None:
        """Return None if a point within the tolerance suffices, or a smaller tolerance."""

    def move(self, residual: float, tol: float, accuracy: float) -> str | None:
        """Move to a point with a lower risk, by a system solved to ``accuracy``; return a reason if there is none."""

    def iterate(self, n_iter: int, residual: float) -> Iterate:
        """Return the current point for callbacks."""

    def solution(self, converged: bool, reason: str, n_iter: int, residuals: list[float]) -> Solution:
        """Return the current point as the result."""


def minimise_by_newton(
    problem: NewtonProblem, tol: float, max_iter: int, callback: Callback | None = None, accept: Accept | None = None
) -> Solution:
    """Minimize a risk; each iteration solves a system roughly, more exactly near the minimum, and takes a step.

    ``tol`` is relative to the norm of the gradient at zero. ``accept`` is called when it is reached, and may return a
    smaller one.
    """
    residuals = [problem.residual()]
    for k in range(max_iter + 1):
        if residuals[-1] <= tol:
            closer = None if accept is None else problem.accept(accept, residuals[-1])
            if closer is None:
                return problem.solution(True, TOLERANCE, k, residuals)
            tol = closer
        if k == max_iter:
            break
        reason = problem.move(residuals[-1], tol, _accuracy(residuals[-1], tol, *problem.forcing))
        if reason is not None:
            return problem.solution(reason == ROUNDING, reason, k, residuals)
        if problem.measures_last:
            residuals.append(problem.residual())
        if callback is not None and callback(problem.iterate(k + 1, residuals[-1])):
            return problem.solution(False, CALLBACK, k + 1, residuals)
        if not problem.measures_last and k + 1 < max_iter:
            residuals.append(problem.residual())
    return problem.solution(False, LIMIT, max_iter, residuals)


def _accuracy(residual: float, tol: float, roughest: float, share: float) -> float:
    """Return the tolerance of a Newton system: loose far from the minimum, tighter near it."""
    return float(max(min(roughest, residual**0.5), share * tol / residual, 1e-10))
