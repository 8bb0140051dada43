"""Directions of Newton's method from products of low precision, which gradients of full precision correct.

For a quadratic loss this is iterative refinement: each direction solves for what is left, to a few digits.
"""

from sklearn.exceptions import ConvergenceWarning

from vectrick._warnings import warn
from vectrick.backends.arrays import cast, numpy_dtype, zeros
from vectrick.losses import Curvature, Loss
from vectrick.objectives.degrees import Preconditioner
from vectrick.objectives.space import Dual, Element, Measured, Space
from vectrick.solvers.linear.cg import solve_system
from vectrick.solvers.solution import rounding

ACCURACY = 3e-3  # how exactly to solve a system: each correction gains about as many digits
_SHARES = 4  # one direction may take a fourth of all iterations, so a system that is too hard leaves some for others
_PROGRESS = 0.5  # a correction that leaves more of the residual than this has failed
_SOME, _BROKEN = 0.2, 4.0  # and so has one that leaves this much, and so many times what its own products promised


class LowPrecision:
    """The same functions with products in float32, by TF32 on a GPU that has it."""

    def __init__(self, space: Space, loss: Loss, alpha: float, max_iter: int, budget: int | None) -> None:
        self.space, self.low = space, space.lowered()
        self.loss, self.alpha, self.max_iter = loss, alpha, max_iter
        self.budget = budget  # iterations that are left for all directions together
        self.n_corrections = 0
        self._before: float | None = None  # the residual that the last direction was for
        self._promised = 0.0  # what it would leave of that if products were exact
        self._in_vain = 0  # corrections that failed; between them rounding may have helped one

    def direction(
        self,
        curvature: Curvature,
        gradient: Measured,
        residual: float,
        accuracy: float,
        tol: float,
        precondition: Preconditioner | None = None,
    ) -> Element | None:
        """Return the next direction, or None if low precision no longer helps; ``residual`` is relative."""
        stuck = self._is_stuck(residual)
        self._in_vain += stuck
        if stuck and residual <= rounding(gradient.c):
            return None
        if self._in_vain == 2 and self.loss.is_quadratic:  # otherwise the curvature may have changed on the way
            give_up(self.n_corrections, residual, tol)
            return None
        scale = gradient.norm  # so that small gradients keep their digits
        rhs = cast(gradient.c / scale, "float32")
        sub = self.low.subspace(curvature.active, rhs)
        before = sub.space.n_products
        rest = sub.space.measured(sub.take(rhs))
        max_iter = self.max_iter if self.budget is None else min(self.max_iter // _SHARES + 1, self.budget)
        system = sub.space, sub.curvature(curvature.lowered()), rest, [self.alpha]
        inverse = None if precondition is None else precondition.lowered()
        result = solve_system(*system, inverse, tol=max(accuracy, ACCURACY), max_iter=max_iter)
        self.space.n_products += sub.space.n_products - before
        self.n_corrections += 1
        self._before, self._promised = residual, result.residuals[-1]
        self.budget = None if self.budget is None else self.budget - result.n_iter
        c = result.x[0].c
        if sub.keep is not None and isinstance(self.low, Dual):
            c = zeros(self.low.size, c)
            c[sub.keep] = result.x[0].c
        return self.space.element(cast(c, numpy_dtype(gradient.c)) * -scale)

    def _is_stuck(self, residual: float) -> bool:
        most = min(_PROGRESS, max(_SOME, _BROKEN * self._promised))
        return self._before is not None and residual > most * self._before

    def is_spent(self, residual: float) -> bool:
        """Whether no iterations are left, and corrections did not fail so often that full precision goes on."""
        return self.budget == 0 and self._in_vain + self._is_stuck(residual) < 2


def give_up(n_corrections: int, residual: float, tol: float) -> None:
    """Warn that the rest is done in full precision."""
    warn(
        f"precision is 'mixed', but after {n_corrections} corrections products of low precision bring the "
        f"minimum no closer (the relative residual is {residual:.1e}, tol is {tol:.1e}); the rest is done in full "
        "precision. Use precision='full', a larger alpha, or more iterations",
        ConvergenceWarning,
    )
