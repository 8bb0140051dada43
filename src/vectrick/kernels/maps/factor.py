"""Low-rank factors of kernel matrices: exact if there are finitely many features, else by pivoted Cholesky."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpstrf
from scipy.sparse import issparse

from vectrick._typing import Array, Features
from vectrick.backends import HOST, Backend, backend_of
from vectrick.backends.arrays import cast, contiguous, empty, like, namespace, placed, to_host
from vectrick.kernels.base import Kernel

_FLOOR = 1e-13  # a smaller remainder of the diagonal is rounding
_CANDIDATES, _AT_ONCE = 256, 1 << 25  # vertices to choose pivots from, and the limit of kernel values with them
_WORSE = 0.001  # candidates below this share of the best vertex are not taken


class FeatureMap(ABC):
    """Features ``Φ`` of the training vertices with ``Φ Φᵀ = K``, and the same features for other vertices.

    ``tolerance`` bounds the error of each entry of K, relative to its largest diagonal entry; 0 means exact. For
    features of landmarks there is no bound; ``error`` is then the share of the mean diagonal entry of K that the
    features lack.

    A map of rank r has O(m r) numbers for m vertices.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> found = vt.kernels.feature_map(vt.Linear(), X, 0.0)
    >>> found.rank, np.allclose(found.train @ found.train.T, X @ X.T)
    (1, True)
    """

    tolerance = 0.0
    error: float | None = None

    def __init__(self, train: Array) -> None:
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

    def __init__(self, kernel: Kernel, train: Array) -> None:
        super().__init__(train)
        self.kernel = kernel

    def transform(self, X: Features) -> Any:
        """Return the features of other vertices."""
        return self.kernel.features(X)


class CholeskyMap(FeatureMap):
    """Features from kernel values with the pivots: ``k(x, pivots) L⁻ᵀ``.

    Rank r takes r columns of the kernel matrix and O(m r²).

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> found = vt.kernels.feature_map(vt.Gaussian(gamma=1.0), X, 1e-10)
    >>> type(found).__name__, found.rank < 15
    ('CholeskyMap', True)
    """

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

    For a kernel with finitely many features, these are returned, regardless of their number. For other kernels, pivoted
    Cholesky makes the features; the result is None if the rank exceeds ``max_rank``. ``matrix`` returns the kernel
    matrix, if other code may need it, too.

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

    values: Any = ComputedMatrix(kernel, X, backend)
    if backend.makes_at_once(*X.shape):
        values = placed(kernel(X, X), backend, np.float64) if matrix is None else matrix()
    factor = pivoted_cholesky(values, placed(kernel.diagonal(X), backend, np.float64), tolerance, max_rank)
    return None if factor is None else CholeskyMap(kernel, X, *factor, tolerance)


class ComputedMatrix:
    """A kernel matrix whose rows and corners are computed on demand."""

    def __init__(self, kernel: Kernel, X: Features, backend: Backend) -> None:
        self.kernel, self.X, self.backend = kernel, X, backend

    def rows(self, which: Array) -> Array:
        """Return some rows."""
        return placed(self.kernel.columns(self.X, self.X, which), self.backend, np.float64).T

    def corner(self, which: Array) -> Array:
        """Return the values of some vertices with each other."""
        return placed(self.kernel.columns(self.X[which], self.X, which), self.backend, np.float64)


class _Whole:
    """A kernel matrix in memory."""

    def __init__(self, K: Array) -> None:
        self.K = K

    def rows(self, which: Array) -> Array:
        """Return some rows."""
        return self.K[which]

    def corner(self, which: Array) -> Array:
        """Return the values of some vertices with each other."""
        return self.K[which[:, None], which]


def pivoted_cholesky(
    values: Any, diagonal: Any, tolerance: float, max_rank: int, truncated: bool = False
) -> tuple[Any, Array] | None:
    """Return L with ``L Lᵀ ≈ K`` and its pivots, or None if the rank exceeds ``max_rank`` and L is not ``truncated``.

    ``values`` is K, or has methods ``rows`` and ``corner`` that compute parts of it. The steps stop when no diagonal
    entry of ``K - L Lᵀ`` exceeds ``tolerance`` times the largest of K; this bounds every entry. It takes O(m r²) for
    rank r, and needs r rows of K only; LAPACK's ``pstrf`` needs the whole matrix.

    Each step finds several pivots. Candidates are sampled in proportion to the remainders of their diagonal entries
    (as by Chen, Epperly, Tropp and Webber 2025), so that they are spread out. LAPACK takes the best candidates until
    they are much worse than the best vertex was. The rank is within a few percent of the rank of steps that each take
    the best vertex, but matrix products make the factor and are several times as fast.

    >>> import numpy as np
    >>> K = np.ones((3, 3)) + np.diag([1.0, 0.0, 0.0])
    >>> L, pivots = pivoted_cholesky(K, np.diagonal(K), 1e-12, 3)
    >>> L.shape, bool(np.allclose(L @ L.T, K))
    ((3, 2), True)
    """
    K = values if hasattr(values, "corner") else _Whole(values)
    xp, rest = namespace(diagonal), cast(diagonal, np.float64) + 0.0
    m, max_rank = len(rest), min(max_rank, len(rest))
    if m == 0:
        return empty((0, 0), rest), np.empty(0, int)
    backend, rng = backend_of(rest), np.random.default_rng(0)
    # The transposed factor, so that a new column of L is contiguous; it grows, since most kernels need few columns.
    rows, pivots = empty((0, m), rest), np.empty(0, np.int64)
    left = to_host(rest)
    limit = max(tolerance, _FLOOR) * float(left.max())
    while left.max() > limit:
        k = len(pivots)
        if k == max_rank:
            return _lower(rows[:k], pivots) if truncated else None
        some = _candidates(left, min(_CANDIDATES, max(8, _AT_ONCE // m)), rng)
        which = like(some, rest)
        corner = K.corner(which)
        before = contiguous(rows[:k, which])
        corner = to_host(corner - before.T @ before)
        chosen, lower = _best_of(corner, left[some], max(_WORSE * float(left.max()), limit), max_rank - k)
        found = some[chosen]
        which = like(found, rest)
        new = K.rows(which) - rows[:k, which].T @ rows[:k] if k else K.rows(which)
        new = backend.solve_triangular(like(lower, rest), contiguous(new))
        if k + len(found) > len(rows):
            rows = xp.concatenate([rows, empty((min(max(k, _CANDIDATES), max_rank - k), m), rest)])
        rows[k : k + len(found)] = new
        rest -= (new * new).sum(0)
        rest[which] = 0.0  # regardless of rounding errors
        pivots, left = np.concatenate([pivots, found]), to_host(rest)
    return _lower(rows[: len(pivots)], pivots)


def _candidates(left: Array, n: int, rng: np.random.Generator) -> Array:
    """Return the vertex with the largest remainder and others, sampled by their remainders; each once."""
    sums = np.cumsum(np.maximum(left, 0.0))
    places = np.searchsorted(sums, (np.arange(n) + rng.random(n)) / n * sums[-1])
    return np.unique(np.append(np.minimum(places[1:], len(left) - 1), left.argmax()))


def _best_of(corner: Array, rests: Array, least: float, most: int) -> tuple[Array, Array]:
    """Return pivots with a remainder of at least ``least``, the best first, and the factor of their remainders."""
    corner[np.diag_indices(len(corner))] = rests
    factor, order, rank, _ = dpstrf(corner, tol=least, lower=1)
    rank = max(1, min(int(rank), most))
    return order[:rank] - 1, np.tril(factor[:rank, :rank])


def _lower(rows: Array, pivots: Array) -> tuple[Any, Array]:
    """Return the factor and its pivots, with exact zeros for rounding errors above the diagonal of its corner."""
    places = like(pivots, rows)
    rows[:, places] = namespace(rows).triu(rows[:, places])
    return contiguous(rows.T), pivots
