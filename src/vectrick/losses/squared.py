"""The squared loss of ridge regression."""

from vectrick._typing import Array
from vectrick.losses.base import Pointwise
from vectrick.losses.curvature import Diagonal, Identity


class Squared(Pointwise):
    """``½ Σ (pᵢ - yᵢ)²``.

    Value, gradient and curvature take O(n) for n edges.

    >>> import numpy as np
    >>> Squared(np.array([1.0, 2.0])).value(np.array([0.0, 0.0]))
    2.5
    """

    name = "squared"
    is_quadratic = True

    def values(self, p: Array, y: Array) -> Array:
        """Return half the squared errors."""
        return 0.5 * (p - y) ** 2

    def slopes(self, p: Array, y: Array) -> Array:
        """Return the errors."""
        return p - y

    def curvatures(self, p: Array, y: Array) -> Array:
        """Return ones."""
        return self.xp.ones_like(y)

    def curvature(self, p: Array) -> Diagonal:
        """Return the identity, or the weights."""
        is_one = self.weight is None and type(self).curvatures is Squared.curvatures
        return Identity(self.y) if is_one else super().curvature(p)
