"""The hinge loss of the L1-SVM."""

from vectrick._typing import Array, ArrayNamespace
from vectrick.losses.base import Formula


class Hinge(Formula):
    """``Σ max(0, 1 - yᵢ pᵢ)`` for labels -1 and +1; its curvature is zero, so it needs a solver that does not use it.

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

    @staticmethod
    def value_of(xp: ArrayNamespace, p: Array, y: Array) -> Array:
        """Return the margin errors."""
        errors = 1 - y * p
        return xp.where(errors > 0, errors, xp.zeros_like(errors))

    @staticmethod
    def slope_of(xp: ArrayNamespace, p: Array, y: Array) -> Array:
        """Return ``-y`` inside the margin."""
        return xp.where(y * p < 1, -y, xp.zeros_like(y))

    @staticmethod
    def curvature_of(xp: ArrayNamespace, p: Array, y: Array) -> Array:
        """Return zeros."""
        return xp.zeros_like(p)
