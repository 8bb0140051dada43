"""RankRLS: the squared loss of differences, over all pairs of edges or within groups."""

from vectrick._typing import Array
from vectrick.backends.arrays import cast, group_sums, numpy_dtype
from vectrick.losses.base import Loss
from vectrick.losses.curvature import Centered, group_means


class RankRLS(Loss):
    """``1/(4c) Σᵢ Σⱼ (yᵢ - pᵢ - yⱼ + pⱼ)²`` over all pairs of edges, or over pairs within groups; in O(n).

    c is the mean number of edges that an edge is compared with, including itself, so that the loss grows like other
    losses. If ``c hᵢ`` is the size of the group of edge i, the loss equals ``½ Σ hᵢ (eᵢ - ē)²`` for the errors
    ``e = p - y`` and their group means ē. A pair of edges has the product of their weights as its weight.

    >>> import numpy as np
    >>> RankRLS(np.array([0.0, 1.0])).value(np.array([0.0, 0.0]))  # (1 - 0)² in both orders, divided by 4 c = 8
    0.25
    """

    name = "rankrls"
    is_quadratic = True

    def __init__(self, y: Array, sample_weight: Array | None = None, groups: Array | None = None) -> None:
        super().__init__(y, sample_weight)
        self.groups = groups
        weight = self.xp.ones_like(y) if sample_weight is None else sample_weight
        self.h = weight
        if groups is not None:
            sums = group_sums(groups, weight, int(groups.max()) + 1)
            compared = weight * cast(sums[groups], numpy_dtype(y))
            self.h = compared * (self.xp.sum(weight) / self.xp.sum(compared))

    def value(self, p: Array) -> float:
        """Return the sum over pairs."""
        centred = self._centred(p)
        return float(0.5 * self.xp.sum(self.h * centred * centred))

    def gradient(self, p: Array) -> Array:
        """Return the gradient."""
        return self.h * self._centred(p)

    def curvature(self, p: Array) -> Centered:
        """Return the Hessian, the Laplacian of the pairs."""
        return Centered(self.h, self.groups)

    def _centred(self, p: Array) -> Array:
        errors = p - self.y
        return errors - group_means(errors, self.h, self.groups)
