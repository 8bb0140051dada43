"""The squared hinge loss of the L2-SVM."""

from vectrick._typing import Array, ArrayNamespace
from vectrick.losses.base import Formula


class SquaredHinge(Formula):
    """``½ Σ max(0, 1 - yᵢ pᵢ)²`` for labels -1 and +1.

    Value, gradient and curvature take O(n) for n edges.

    >>> import numpy as np
    >>> SquaredHinge(np.array([1.0, -1.0])).gradient(np.array([0.0, -2.0]))
    array([-1.,  0.])
    """

    name = "squared_hinge"
    of_classes = True

    may_be_flat = True

    @staticmethod
    def value_of(xp: ArrayNamespace, p: Array, y: Array) -> Array:
        """Return half the squared margin errors."""
        errors = 1 - y * p
        return 0.5 * xp.where(errors > 0, errors, xp.zeros_like(errors)) ** 2

    @staticmethod
    def slope_of(xp: ArrayNamespace, p: Array, y: Array) -> Array:
        """Return ``p - y`` inside the margin."""
        errors = 1 - y * p
        return -y * xp.where(errors > 0, errors, xp.zeros_like(errors))

    @staticmethod
    def curvature_of(xp: ArrayNamespace, p: Array, y: Array) -> Array:
        """Return one inside the margin, zero outside, as a mask."""
        return y * p < 1
