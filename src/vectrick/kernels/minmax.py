"""The MinMax kernel of counts."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.metrics.pairwise import manhattan_distances

from vectrick._typing import Array, Features
from vectrick.backends.arrays import like, to_host
from vectrick.kernels.base import Kernel
from vectrick.kernels.rows import dense_products, ones
from vectrick.kernels.tanimoto import refuse_negative

_MOST_BITS = 1 << 24  # columns
_MOST_SET = 20  # set bits for each entry
_EXACT = 1 << 24  # single precision counts exactly up to here


class MinMax(Kernel):
    """``k(x, y) = Σ min(xᵢ, yᵢ) / Σ max(xᵢ, yᵢ)``: the share that two bags of counts have in common.

    For bits it is the Tanimoto kernel. Features must not be negative. Two rows of zeros are equal: their value is 1.

    Values between m and p vertices with r features take O(m p r).

    >>> import numpy as np, vectrick as vt
    >>> vt.MinMax()(np.array([[3.0, 0.0]]), np.array([[1.0, 1.0], [3.0, 0.0]]))
    array([[0.25, 1.  ]])
    """

    name = "minmax"

    def resolve(self, X: Features, positions: Array) -> "MinMax":
        """Return the kernel; raise on negative features."""
        refuse_negative(X, "MinMax")
        return self

    def _matrix(self, X: Features, Y: Features) -> Array:
        both: list[Any] = [csr_array(Z) if issparse(Z) else np.asarray(to_host(Z)) for Z in (X, Y)]
        first, second = both
        sums = np.add.outer(np.asarray(first.sum(axis=1)).ravel(), np.asarray(second.sum(axis=1)).ravel())
        common = _common_counts(first, second) if issparse(first) and issparse(second) else None
        if common is None:
            # min(x, y) = (x + y - |x - y|) / 2
            dense = (Z.toarray() if issparse(Z) else Z for Z in (first, second))
            common = 0.5 * (sums - manhattan_distances(*dense))
        values = np.divide(common, sums - common, out=np.ones_like(sums), where=sums > common)
        return values if issparse(Y) else like(values, Y)

    def diagonal(self, X: Features) -> Array:
        """Return ones."""
        return ones(X)


def _common_counts(X: csr_array, Y: csr_array) -> Array | None:
    """Return the sums of smaller counts, as products of bits: a count c sets the first c of many bits.

    None if entries are not counts, or if they are so large that there would be too many bits.
    """
    most = max(float(Z.data.max(initial=0.0)) for Z in (X, Y))
    whole = all((Z.data == np.floor(Z.data)).all() for Z in (X, Y))
    if not whole or most * X.shape[1] > _MOST_BITS or any(Z.data.sum() > _MOST_SET * Z.nnz for Z in (X, Y)):
        return None
    if any(float(Z.sum(axis=1).max(initial=0.0)) >= _EXACT for Z in (X, Y)):
        return None
    first = _bits(X, int(most))
    return np.asarray(dense_products(first, first if Y is X else _bits(Y, int(most))), np.float64)


def _bits(X: csr_array, most: int) -> csr_array:
    counts = X.data.astype(np.int64)
    ends = np.cumsum(counts)
    level = np.arange(int(counts.sum())) - np.repeat(ends - counts, counts)
    columns = np.repeat(X.indices.astype(np.int64) * most, counts) + level
    starts = np.concatenate([[0], ends])[X.indptr]
    return csr_array((np.ones(len(columns), np.float32), columns, starts), (X.shape[0], X.shape[1] * most))
