"""The squared hinge loss of the L2-SVM."""

from vectrick._typing import Array
from vectrick.losses.base import Pointwise


class SquaredHinge(Pointwise):
    """``½ Σ max(0, 1 - yᵢ pᵢ)²`` for labels -1 and +1.

    Value, gradient and curvature take O(n) for n edges.

    >>> import numpy as np
    >>> SquaredHinge(np.array([1.0, -1.0])).gradient(np.array([0.0, -2.0]))
    array([-1.,  0.])
    """

    name = "squared_hinge"
    of_classes = True

    may_be_flat = True

    def values(self, p: Array, y: Array) -> Array:
        """Return half the squared margin errors."""
        return 0.5 * self._errors(p, y) ** 2

    def slopes(self, p: Array, y: Array) -> Array:
        """Return ``p - y`` inside the margin."""
        return -y * self._errors(p, y)

    def curvatures(self, p: Array, y: Array) -> Array:
        """Return one inside the margin, zero outside, as a mask."""
        return y * p < 1

    def _errors(self, p: Array, y: Array) -> Array:
        errors = 1 - y * p
        return self.xp.where(errors > 0, errors, self.xp.zeros_like(errors))
