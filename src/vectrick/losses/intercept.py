"""An intercept as a property of the loss: the constant that suits the predictions best is minimised out."""

from vectrick._typing import Array
from vectrick.losses.base import Loss, Pointwise
from vectrick.losses.curvature import Centered

_MAX_STEPS = 200
_FAR = 100.0  # how far beyond all predictions the constant can be at most: where any loss is flat or linear


class WithIntercept(Loss):
    """``min over b of L(p + b)``: convex and smooth like L, so every solver can fit an unpenalised intercept.

    Its gradient is that of L at ``p + b``, and its Hessian is ``H - h hᵀ / Σ h`` with ``H = diag(h)`` there. Finding b
    takes a few passes over the edges.

    The intercept of given predictions takes O(n), a few times over for losses that are not quadratic.

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
        """Return the best constant b, by Newton's method inside a bracket that shrinks."""
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
        """Return the loss with the best constant."""
        return self.loss.value(p + self.intercept(p))

    def gradient(self, p: Array) -> Array:
        """Return the gradient with the best constant."""
        return self.loss.gradient(p + self.intercept(p))

    def curvature(self, p: Array) -> Centered:
        """Return the Hessian with the best constant."""
        h = self.loss.curvature(p + self.intercept(p)).h
        return Centered(h, may_be_flat=self.loss.may_be_flat)
