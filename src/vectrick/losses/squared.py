"""The squared loss of ridge regression."""

from vectrick._typing import Array, ArrayNamespace
from vectrick.losses.base import Formula
from vectrick.losses.curvature import Diagonal, Identity


class Squared(Formula):
    """``½ Σ (pᵢ - yᵢ)²``.

    Value, gradient and curvature take O(n) for n edges.

    >>> import numpy as np
    >>> Squared(np.array([1.0, 2.0])).value(np.array([0.0, 0.0]))
    2.5
    """

    name = "squared"
    is_quadratic = True

    @staticmethod
    def value_of(xp: ArrayNamespace, p: Array, y: Array) -> Array:
        """Return half the squared errors."""
        return 0.5 * (p - y) ** 2

    @staticmethod
    def slope_of(xp: ArrayNamespace, p: Array, y: Array) -> Array:
        """Return the errors."""
        return p - y

    @staticmethod
    def curvature_of(xp: ArrayNamespace, p: Array, y: Array) -> Array:
        """Return ones."""
        return xp.ones_like(p)

    def curvature(self, p: Array) -> Diagonal:
        """Return the identity, or a diagonal matrix of the weights."""
        kind = type(self)
        is_own = kind.curvatures is Formula.curvatures and kind.curvature_of is Squared.curvature_of
        return Identity(self.y) if self.weight is None and is_own else super().curvature(p)
