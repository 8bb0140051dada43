"""The logistic loss."""

from vectrick._typing import Array
from vectrick.losses.base import Pointwise


class Logistic(Pointwise):
    """``Σ log(1 + exp(-yᵢ pᵢ))`` for labels -1 and +1, without overflow for any margin.

    Value, gradient and curvature take O(n) for n edges.

    >>> import numpy as np
    >>> Logistic(np.array([1.0, -1.0])).value(np.array([0.0, 1000.0]))
    1000.6931471805599
    """

    name = "logistic"
    of_classes = True

    def values(self, p: Array, y: Array) -> Array:
        """Return ``log(1 + exp(-y p))``, computed from the side where the exponential is small."""
        xp, margin = self.xp, y * p
        return xp.log1p(xp.exp(-xp.abs(margin))) + xp.where(margin < 0, -margin, xp.zeros_like(margin))

    def slopes(self, p: Array, y: Array) -> Array:
        """Return ``-y / (1 + exp(y p))``."""
        return -y * self._other_class(p, y)

    def curvatures(self, p: Array, y: Array) -> Array:
        """Return ``exp(y p) / (1 + exp(y p))²``."""
        small = self.xp.exp(-self.xp.abs(p))
        return small / (1 + small) ** 2

    def _other_class(self, p: Array, y: Array) -> Array:
        """Return the probability of the class that the label is not."""
        xp, margin = self.xp, y * p
        small = xp.exp(-xp.abs(margin))
        return xp.where(margin > 0, small, xp.ones_like(small)) / (1 + small)
