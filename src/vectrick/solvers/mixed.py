"""Newton directions from products of low precision, corrected by gradients of full precision.

For a quadratic loss this is iterative refinement: each direction solves for the remaining residual, to a few digits.
"""

from sklearn.exceptions import ConvergenceWarning

from vectrick._warnings import warn
from vectrick.backends.arrays import cast, numpy_dtype, zeros
from vectrick.losses import Curvature, Loss
from vectrick.objectives.degrees import Preconditioner
from vectrick.objectives.space import Dual, Element, Measured, Space
from vectrick.solvers.linear.cg import solve_system
from vectrick.solvers.solution import rounding

ACCURACY = 3e-3  # relative accuracy of a system; each correction gains about as many digits
_SHARES = 4  # one direction may take a quarter of all iterations, so that a hard system leaves some for others
_PROGRESS = 0.5  # a correction has failed if it leaves more than this share of the residual
_SOME, _BROKEN = 0.2, 4.0  # or if it leaves more than this share, and this multiple of its own estimate


class LowPrecision:
    """The same functions with products in float32, by TF32 on a GPU that has it."""

    def __init__(self, space: Space, loss: Loss, alpha: float, max_iter: int, budget: int | None) -> None:
        self.space, self.low = space, space.lowered()
        self.loss, self.alpha, self.max_iter = loss, alpha, max_iter
        self.budget = budget  # iterations left for all directions together
        self.n_corrections = 0
        self._before: float | None = None  # the residual before the last direction
        self._promised = 0.0  # the share of it that would remain if products were exact
        self._in_vain = 0  # failed corrections, not necessarily one after the other

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
        """Return whether no iterations are left, unless corrections failed so often that full precision takes over."""
        return self.budget == 0 and self._in_vain + self._is_stuck(residual) < 2


def give_up(n_corrections: int, residual: float, tol: float) -> None:
    """Warn that the rest is done in full precision."""
    warn(
        f"precision is 'mixed', but after {n_corrections} corrections, products of low precision make no more "
        f"progress (the relative residual is {residual:.1e}, tol is {tol:.1e}); the rest is done in full "
        "precision. Use precision='full', a larger alpha, or more iterations",
        ConvergenceWarning,
    )
