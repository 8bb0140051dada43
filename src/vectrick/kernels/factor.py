"""Thin factors of kernel matrices: exact where there are finitely many features, else by pivoted Cholesky."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from vectrick._typing import Array, Features
from vectrick.backends import HOST, backend_of
from vectrick.backends.arrays import cast, contiguous, empty, like, namespace, placed, to_host
from vectrick.kernels.base import Kernel

_FLOOR = 1e-13  # a smaller rest of the diagonal is rounding
_ROWS = 64  # of the factor to begin with


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
    def transform(self, X: Features) -> Any:
        """Return the features of other vertices."""


class ExactMap(FeatureMap):
    """The features of a kernel that has finitely many."""

    def __init__(self, kernel: Kernel, train: Any) -> None:
        super().__init__(train)
        self.kernel = kernel

    def transform(self, X: Features) -> Any:
        """Return the features of other vertices."""
        return self.kernel.features(X)


class CholeskyMap(FeatureMap):
    """Features from kernel values with the pivots: ``k(x, pivots) L⁻ᵀ``."""

    def __init__(
        self, kernel: Kernel, X: Features, train: Array, pivots: Array, tolerance: float, corner: Array | None = None
    ) -> None:
        super().__init__(train)
        self.kernel, self.X, self.pivots, self.tolerance = kernel, X, pivots, tolerance
        self.corner = train[pivots] if corner is None else corner  # L at the pivots, lower triangular

    def transform(self, X: Features) -> Any:
        """Return the features of other vertices."""
        values = like(self._values(X), self.corner)
        return backend_of(values).solve_triangular(self.corner, values.T).T

    def _values(self, X: Features) -> Array:
        """Return the kernel values with the pivots."""
        return self.kernel.columns(X, self.X, self.pivots if issparse(self.X) else like(self.pivots, self.X))


def feature_map(
    kernel: Kernel,
    X: Features,
    tolerance: float,
    max_rank: int | None = None,
    matrix: Callable[[], Array] | None = None,
) -> FeatureMap | None:
    """Return the features of a resolved kernel at the training vertices X.

    A kernel with finitely many features has these, however many they are. Others get theirs by pivoted Cholesky, or
    None if its rank passes ``max_rank``. ``matrix`` returns the kernel matrix, if somebody else may need it too.

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
    backend = HOST if issparse(X) else backend_of(X)

    def column(i: Any) -> Any:
        return placed(kernel.columns(X, X, i), backend, np.float64)

    columns: Any = column
    if backend.makes_at_once(*X.shape):
        columns = placed(kernel(X, X), backend, np.float64) if matrix is None else matrix()
    factor = pivoted_cholesky(columns, placed(kernel.diagonal(X), backend, np.float64), tolerance, max_rank)
    return None if factor is None else CholeskyMap(kernel, X, *factor, tolerance)


def pivoted_cholesky(
    column: Callable[[Any], Any] | Any, diagonal: Any, tolerance: float, max_rank: int
) -> tuple[Any, Array] | None:
    """Return L with ``L Lᵀ ≈ K`` and its pivots, or None if the rank passes ``max_rank``.

    ``column`` returns columns of K, or is the matrix itself. If it is a function, it is called for one column after
    the other, never for the whole matrix. The steps stop when no diagonal entry of ``K - L Lᵀ`` is over ``tolerance``
    times the largest of K, which bounds every entry. It takes O(m r²) for rank r. (LAPACK's ``pstrf`` does the same,
    but needs the whole matrix.)

    >>> import numpy as np
    >>> K = np.ones((3, 3)) + np.diag([1.0, 0.0, 0.0])
    >>> L, pivots = pivoted_cholesky(K, np.diagonal(K), 1e-12, 3)
    >>> L.shape, bool(np.allclose(L @ L.T, K))
    ((3, 2), True)
    """
    xp, rest = namespace(diagonal), cast(diagonal, np.float64) + 0.0
    m = len(rest)
    max_rank = min(max_rank, m)
    if m == 0:
        return empty((0, 0), rest), np.empty(0, int)
    limit = max(tolerance, _FLOOR) * float(rest.max())
    steps = _CholeskySteps(column, rest, max_rank)
    # The factor transposed, so that a new column of L is contiguous; it grows, since most kernels need few columns.
    rows = empty((0, m), rest)
    ahead = backend_of(rest).ahead
    for k in range(max_rank + 1):
        if k == len(rows) and k < max_rank:
            rows = xp.concatenate([rows, empty((min(max(_ROWS, k), max_rank - k), m), rest)])
        if k % ahead == 0 or k == max_rank:
            rank = _first_below(steps.rests_before(k), limit)
            if rank <= k:
                return _lower(rows[:rank], steps.pivots[:rank])
        if k < max_rank:
            steps.step(rows, k)
    return None


class _CholeskySteps:
    """The steps of pivoted Cholesky: each writes one row of the transposed factor."""

    def __init__(self, column: Any, rest: Any, max_rank: int) -> None:
        self.column, self.rest = column if callable(column) else lambda i: column[i], rest
        self.pivots = empty(max_rank, rest, np.int64)
        self.rests = empty(max_rank, rest)  # the largest rest before each step
        self._fused = backend_of(rest).fused_cholesky(column, rest, self.pivots, self.rests)

    def rests_before(self, k: int) -> Array:
        """Return the largest rest before each of the first k steps, and now."""
        return np.append(to_host(self.rests[:k]), float(self.rest.max()))

    def step(self, rows: Any, k: int) -> None:
        """Write row k."""
        if self._fused is not None:
            self._fused(rows, k)
            return
        pivot = namespace(rows).argmax(self.rest).reshape(1)  # an array: reading it as a number would wait for the GPU
        largest = self.rest[pivot]
        self.pivots[k : k + 1], self.rests[k : k + 1] = pivot, largest
        row = self.column(pivot).reshape(-1)
        if k:
            row = row - (rows[:k][:, pivot].T @ rows[:k])[0]
        row = row / largest**0.5
        self.rest -= row * row
        self.rest[pivot] = 0.0  # whatever the diagonal said about it
        rows[k] = row


def _first_below(rests: Array, limit: float) -> int:
    """Return the number of steps until no rest was over the limit, or a larger number if one still is."""
    over = rests > limit
    return len(over) + 1 if over.all() else int(np.argmin(over))


def _lower(rows: Any, pivots: Any) -> tuple[Any, Array]:
    """Return the factor and its pivots, with exact zeros for rounding errors above the diagonal of its corner."""
    rows[:, pivots] = namespace(rows).triu(rows[:, pivots])
    return contiguous(rows.T), np.asarray(to_host(pivots))
