"""Thin factors of kernel matrices: exact where there are finitely many features, else by pivoted Cholesky."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from vectrick.kernels.base import Kernel

Array = NDArray[Any]

_FLOOR = 1e-13  # a smaller rest of the diagonal is rounding


class FeatureMap(ABC):
    """Features ``Φ`` of the training vertices with ``Φ Φᵀ = K``, and the same features for other vertices.

    ``tolerance`` bounds the error of each entry of K, relative to its largest diagonal entry; 0 means exact.
    """

    tolerance = 0.0

    def __init__(self, train: Any) -> None:
        self.train = train

    @property
    def rank(self) -> int:
        """The number of features."""
        return int(self.train.shape[1])

    @abstractmethod
    def transform(self, X: Any) -> Any:
        """Return the features of other vertices."""


class ExactMap(FeatureMap):
    """The features of a kernel that has finitely many."""

    def __init__(self, kernel: Kernel, train: Any) -> None:
        super().__init__(train)
        self.kernel = kernel

    def transform(self, X: Any) -> Any:
        """Return the features of other vertices."""
        return self.kernel.features(X)


class CholeskyMap(FeatureMap):
    """Features from kernel values with the pivots: ``k(x, pivots) L⁻ᵀ``."""

    def __init__(
        self, kernel: Kernel, X: Any, train: Array, pivots: Array, tolerance: float, corner: Array | None = None
    ) -> None:
        super().__init__(train)
        self.kernel, self.X, self.pivots, self.tolerance = kernel, X, pivots, tolerance
        self.corner = train[pivots] if corner is None else corner  # L at the pivots, lower triangular

    def transform(self, X: Any) -> Array:
        """Return the features of other vertices."""
        return np.asarray(solve_triangular(self.corner, self._values(X).T, lower=True).T)

    def _values(self, X: Any) -> Array:
        """Return the kernel values with the pivots."""
        return self.kernel.columns(X, self.X, self.pivots)


def feature_map(kernel: Kernel, X: Any, tolerance: float, max_rank: int | None = None) -> FeatureMap | None:
    """Return the features of a resolved kernel at the training vertices X, or None if there are over ``max_rank``.

    >>> import numpy as np, vectrick as vt
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> found = feature_map(vt.Gaussian(gamma=1.0), X, 1e-12)
    >>> found.rank < 15, bool(np.allclose(found.train, found.transform(X)))
    (True, True)
    """
    max_rank = X.shape[0] if max_rank is None else max_rank
    exact = kernel.features(X)
    if exact is not None:
        return ExactMap(kernel, exact)
    diagonal = np.asarray(kernel.diagonal(X), np.float64)
    found = pivoted_cholesky(lambda i: kernel.columns(X, X, [i])[:, 0], diagonal, tolerance, max_rank)
    return None if found is None else CholeskyMap(kernel, X, *found, tolerance)


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
    limit = max(tolerance, _FLOOR) * rest.max(initial=0.0)
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
