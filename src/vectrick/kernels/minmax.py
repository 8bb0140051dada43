"""The MinMax kernel of counts."""

import numpy as np
from scipy.sparse import csr_array, issparse

from vectrick._typing import Array, Features
from vectrick.backends.arrays import like, to_host
from vectrick.kernels.base import Kernel, ones
from vectrick.kernels.tanimoto import refuse_negative


class MinMax(Kernel):
    """``k(x, y) = Σ min(xᵢ, yᵢ) / Σ max(xᵢ, yᵢ)``: the share that two bags of counts have in common.

    For bits it is the Tanimoto kernel. Features must not be negative. Two rows of zeros are equal: their value is 1.

    >>> import numpy as np, vectrick as vt
    >>> vt.MinMax()(np.array([[3.0, 0.0]]), np.array([[1.0, 1.0], [3.0, 0.0]]))
    array([[0.25, 1.  ]])
    """

    name = "minmax"

    def resolve(self, X: Features, positions: Array) -> "MinMax":
        """Return the kernel, or refuse negative features."""
        refuse_negative(X, "MinMax")
        return self

    def _matrix(self, X: Features, Y: Features) -> Array:
        from sklearn.metrics.pairwise import manhattan_distances

        # min(x, y) = (x + y - |x - y|) / 2, and scikit-learn has the sums of differences for sparse rows as well.
        first, second = (csr_array(Z) if issparse(Z) else np.asarray(to_host(Z)) for Z in (X, Y))
        differences = manhattan_distances(first, second)
        sums = np.add.outer(np.asarray(first.sum(axis=1)).ravel(), np.asarray(second.sum(axis=1)).ravel())
        values = np.divide(sums - differences, sums + differences, out=np.ones_like(sums), where=sums > 0)
        return values if issparse(Y) else like(values, Y)

    def diagonal(self, X: Features) -> Array:
        """Return ones."""
        return ones(X)
