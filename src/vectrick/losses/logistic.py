"""The logistic loss."""

from vectrick._typing import Array, ArrayNamespace
from vectrick.losses.base import Formula


class Logistic(Formula):
    """``Σ log(1 + exp(-yᵢ pᵢ))`` for labels -1 and +1, without overflow for any margin.

    Value, gradient and curvature take O(n) for n edges.

    >>> import numpy as np
    >>> Logistic(np.array([1.0, -1.0])).value(np.array([0.0, 1000.0]))
    1000.6931471805599
    """

    name = "logistic"
    of_classes = True

    @staticmethod
    def value_of(xp: ArrayNamespace, p: Array, y: Array) -> Array:
        """Return ``log(1 + exp(-y p))``, computed without large exponentials."""
        margin = y * p
        return xp.log1p(xp.exp(-xp.abs(margin))) + xp.where(margin < 0, -margin, xp.zeros_like(margin))

    @staticmethod
    def slope_of(xp: ArrayNamespace, p: Array, y: Array) -> Array:
        """Return ``-y / (1 + exp(y p))``: the probability of the other class, with the sign of -y."""
        margin = y * p
        small = xp.exp(-xp.abs(margin))
        result: Array = -y * (xp.where(margin > 0, small, xp.ones_like(small)) / (1 + small))
        return result

    @staticmethod
    def curvature_of(xp: ArrayNamespace, p: Array, y: Array) -> Array:
        """Return ``exp(y p) / (1 + exp(y p))²``."""
        small = xp.exp(-xp.abs(y * p))  # the same expression as above, so that compilers evaluate it once
        result: Array = small / (1 + small) ** 2
        return result
