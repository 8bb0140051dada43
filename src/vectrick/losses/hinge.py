"""The hinge loss of the L1-SVM."""

from vectrick._typing import Array
from vectrick.losses.base import Pointwise


class Hinge(Pointwise):
    """``Σ max(0, 1 - yᵢ pᵢ)`` for labels -1 and +1; it has no curvature, and needs a solver that does not use it.

    Value, gradient and curvature take O(n) for n edges.

    >>> import numpy as np
    >>> Hinge(np.array([1.0, -1.0])).value(np.array([0.5, -2.0]))
    0.5
    """

    name = "hinge"
    of_classes = True
    is_hinge = True
    is_smooth = False
    may_be_flat = True

    def values(self, p: Array, y: Array) -> Array:
        """Return the margin errors."""
        errors = 1 - y * p
        return self.xp.where(errors > 0, errors, self.xp.zeros_like(errors))

    def slopes(self, p: Array, y: Array) -> Array:
        """Return ``-y`` inside the margin."""
        return self.xp.where(y * p < 1, -y, self.xp.zeros_like(y))

    def curvatures(self, p: Array, y: Array) -> Array:
        """Return zeros."""
        return self.xp.zeros_like(y)
