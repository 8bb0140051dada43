"""Thin factors of kernel matrices: exact where there are finitely many features, else by pivoted Cholesky."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.sparse import issparse

from vectrick.kernels.base import Kernel

Array = NDArray[Any]


@dataclass(frozen=True)
class FeatureMap:
    """Features ``Φ`` of the training vertices with ``Φ Φᵀ = K``, and the same features for other vertices.

    ``tolerance`` bounds the error of each entry of K, relative to its largest diagonal entry; 0 means exact.
    """

    train: Any
    transform: Callable[[Any], Any]
    tolerance: float

    @property
    def rank(self) -> int:
        """The number of features."""
        return int(self.train.shape[1])

    @classmethod
    def of(cls, kernel: Kernel, X: Any, tolerance: float, max_rank: int | None = None) -> "FeatureMap | None":
        """Return the features of a resolved kernel at the training vertices X, or None if there are over max_rank."""
        max_rank = X.shape[0] if max_rank is None else max_rank
        exact = kernel.features(X)
        if exact is not None:
            return cls(exact, kernel.features, 0.0) if exact.shape[1] <= max_rank or issparse(exact) else None
        diagonal = np.asarray(kernel.diagonal(X), np.float64)
        found = pivoted_cholesky(lambda i: kernel.columns(X, X, [i])[:, 0], diagonal, tolerance, max_rank)
        if found is None:
            return None
        features, pivots = found
        corner = features[pivots]  # lower triangular

        def transform(new: Any) -> Array:
            return np.asarray(solve_triangular(corner, kernel.columns(new, X, pivots).T, lower=True).T)

        return cls(features, transform, tolerance)


def pivoted_cholesky(
    column: Callable[[int], Array], diagonal: Array, tolerance: float, max_rank: int
) -> tuple[Array, Array] | None:
    """Return L with ``L Lᵀ ≈ K`` and its pivots, or None if the rank passes ``max_rank``.

    It asks for one column of K after the other, never for the whole, and stops when no diagonal entry of ``K - L Lᵀ``
    is over ``tolerance`` times the largest of K, which bounds every entry. It takes O(m r²) for rank r. (LAPACK's
    ``pstrf`` does the same, but has to be given the whole matrix.)

    >>> import numpy as np
    >>> K = np.ones((3, 3)) + np.diag([1.0, 0.0, 0.0])
    >>> L, pivots = pivoted_cholesky(lambda i: K[:, i], np.diagonal(K), 1e-12, 3)
    >>> L.shape, bool(np.allclose(L @ L.T, K))
    ((3, 2), True)
    """
    rest = diagonal.astype(np.float64)
    m = len(rest)
    limit = tolerance * rest.max(initial=0.0)
    rows = np.empty((min(max_rank, m), m))  # the factor transposed, so that a new column of L is contiguous
    pivots: list[int] = []
    while (pivot := int(np.argmax(rest))) >= 0 and rest[pivot] > limit:
        k = len(pivots)
        if k == len(rows):
            return None
        rows[k] = column(pivot)
        rows[k] -= rows[:k, pivot] @ rows[:k]
        rows[k] /= np.sqrt(rest[pivot])
        rest -= rows[k] ** 2
        rows[k, pivots] = 0.0  # exact zeros above the diagonal of the corner, where rounding left some
        rest[pivot] = 0.0
        pivots.append(pivot)
    return np.ascontiguousarray(rows[: len(pivots)].T), np.array(pivots, int)
