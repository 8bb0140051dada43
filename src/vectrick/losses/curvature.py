"""Hessians of losses as objects that multiply vectors: diagonal, or centered within groups."""

from abc import ABC, abstractmethod

from vectrick._typing import Array
from vectrick.backends.arrays import cast, group_sums, namespace, numpy_dtype


class Curvature(ABC):
    """A positive semi-definite matrix H over the edges.

    ``active`` is a mask of edges; H is zero outside of it. It is None if H has hardly any zeros.

    A product takes O(n).

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> H = vt.losses.SquaredHinge(np.array([1.0, -1.0])).curvature(np.array([0.0, -3.0]))
    >>> H.times(np.ones(2))
    array([1., 0.])
    """

    active: Array | None = None

    @abstractmethod
    def times(self, v: Array) -> Array:
        """Return ``H v``."""

    @abstractmethod
    def restrict(self, mask: Array) -> "Curvature":
        """Return the submatrix of the edges in a mask; the mask must include all active edges."""

    @abstractmethod
    def lowered(self) -> "Curvature":
        """Return the same matrix in float32."""


class Diagonal(Curvature):
    """``H = diag(h)``.

    A product takes O(n).

    >>> import numpy as np
    >>> Diagonal(np.array([1.0, 0.0]), may_be_flat=True).times(np.ones(2))
    array([1., 0.])
    """

    def __init__(self, h: Array, may_be_flat: bool = False) -> None:
        self.h = h
        self.may_be_flat = may_be_flat
        self.active = _positive(h) if may_be_flat else None

    def times(self, v: Array) -> Array:
        """Return ``h v``."""
        return self.h * v

    def restrict(self, mask: Array) -> "Diagonal":
        """Return the submatrix of the edges in a mask."""
        return Diagonal(self.h[mask], self.may_be_flat)

    def lowered(self) -> "Diagonal":
        """Return the same matrix in float32; a boolean diagonal is unchanged."""
        return Diagonal(_single(self.h), self.may_be_flat)


class Identity(Diagonal):
    """``H = I``; h takes the memory of one number for any number of edges.

    A product takes O(n).

    >>> import numpy as np
    >>> Identity(np.zeros(3)).h, Identity(np.zeros(3)).times(np.arange(3))
    (array([1., 1., 1.]), array([0, 1, 2]))
    """

    def __init__(self, like: Array) -> None:
        xp = namespace(like)
        super().__init__(xp.broadcast_to(xp.ones_like(like[:1]), like.shape))

    def times(self, v: Array) -> Array:
        """Return v itself."""
        return v

    def restrict(self, mask: Array) -> "Identity":
        """Return the submatrix of the edges in a mask."""
        return Identity(self.h[mask])

    def lowered(self) -> "Identity":
        """Return the same matrix in float32."""
        return Identity(namespace(self.h).broadcast_to(_single(self.h[:1]), self.h.shape))


class Centered(Curvature):
    """``H v = h (v - v̄)``, where v̄ is the mean of v within each group, weighted by h.

    This is ``diag(h)`` after the loss has been minimized over an intercept for each group: the Hessian of RankRLS, and
    of a loss with an intercept.

    A product takes O(n).

    >>> import numpy as np
    >>> Centered(np.array([1.0, 1.0, 2.0])).times(np.array([1.0, 2.0, 3.0]))
    array([-1.25, -0.25,  1.5 ])
    """

    def __init__(self, h: Array, groups: Array | None = None, may_be_flat: bool = False) -> None:
        self.h, self.groups, self.may_be_flat = h, groups, may_be_flat
        self.active = _positive(h) if may_be_flat else None

    def times(self, v: Array) -> Array:
        """Return ``h (v - v̄)``."""
        result: Array = self.h * (v - group_means(v, self.h, self.groups))
        return result

    def restrict(self, mask: Array) -> "Centered":
        """Return the submatrix of the edges in a mask."""
        groups = None if self.groups is None else self.groups[mask]
        return Centered(self.h[mask], groups, self.may_be_flat)

    def lowered(self) -> "Centered":
        """Return the same matrix in float32; a boolean h is unchanged."""
        return Centered(_single(self.h), self.groups, self.may_be_flat)


def _single(h: Array) -> Array:
    return h if h.dtype == namespace(h).bool else cast(h, "float32")


def _positive(h: Array) -> Array:
    """Return a mask of the positive values of h; a mask is returned unchanged."""
    xp = namespace(h)
    return h if h.dtype == xp.bool else h > 0


def group_means(v: Array, h: Array, groups: Array | None) -> Array:
    """Return the mean of v over the group of each edge, weighted by h; one number if ``groups`` is None."""
    xp = namespace(v)
    if groups is None:
        total = xp.sum(h)
        return xp.sum(h * v) / total if total > 0 else xp.zeros_like(total)
    n_groups = int(groups.max()) + 1
    totals, sums = group_sums(groups, h, n_groups), group_sums(groups, h * v, n_groups)
    return cast((sums / xp.where(totals > 0, totals, 1.0))[groups], numpy_dtype(v))
