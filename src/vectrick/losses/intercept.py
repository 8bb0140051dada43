"""An intercept as a property of the loss: the loss is minimized over it for any given predictions."""

from vectrick._typing import Array
from vectrick.losses.base import Loss, Pointwise
from vectrick.losses.curvature import Centered

_MAX_STEPS = 200
_FAR = 100.0  # margin of the bracket for the intercept; beyond it, any loss is flat or linear


class WithIntercept(Loss):
    """``min over b of L(p + b)``: convex and smooth like L, so every solver can fit an unpenalized intercept.

    Its gradient is the gradient of L at ``p + b``. Its Hessian is ``H - h hᵀ / Σ h``, where ``H = diag(h)`` is the
    Hessian of L at ``p + b``. Computing b takes a few passes over the edges.

    The intercept of given predictions takes O(n), several times if the loss is not quadratic.

    >>> import numpy as np
    >>> from vectrick.losses import Squared
    >>> WithIntercept(Squared(np.array([1.0, 3.0]))).intercept(np.zeros(2))
    2.0
    """

    def __init__(self, loss: Pointwise) -> None:
        super().__init__(loss.y, loss.weight)
        self.loss = loss
        self.is_quadratic = loss.is_quadratic
        self._last = 0.0
        self._resolution = 2 * float(self.xp.finfo(loss.y.dtype).eps)

    def intercept(self, p: Array) -> float:
        """Return the optimal intercept b, by Newton's method inside a shrinking bracket."""
        xp, y = self.xp, self.y
        low = min(0.0, float(xp.min(y))) - float(xp.max(p)) - _FAR
        high = max(0.0, float(xp.max(y))) - float(xp.min(p)) + _FAR
        b = min(max(self._last, low), high)
        for _ in range(_MAX_STEPS):
            slope = float(xp.sum(self.loss.gradient(p + b)))
            low, high = (b, high) if slope < 0 else (low, b)
            curvature = float(xp.sum(self.loss.curvature(p + b).h))
            new = b - slope / curvature if curvature > 0 else float("inf")
            if slope == 0 or abs(new - b) <= self._resolution * (1.0 + abs(b)):
                break
            if not low < new < high:
                new = 0.5 * (low + high)
            if abs(new - b) <= self._resolution * (1.0 + abs(b)):
                break
            b = new
        self._last = b
        return b

    def value(self, p: Array) -> float:
        """Return the loss with the optimal intercept."""
        return self.loss.value(p + self.intercept(p))

    def gradient(self, p: Array) -> Array:
        """Return the gradient with the optimal intercept."""
        return self.loss.gradient(p + self.intercept(p))

    def curvature(self, p: Array) -> Centered:
        """Return the Hessian with the optimal intercept."""
        h = self.loss.curvature(p + self.intercept(p)).h
        return Centered(h, may_be_flat=self.loss.may_be_flat)
