"""A kernel whose values are given as the vertex table."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from vectrick._typing import Array, Features
from vectrick.backends.arrays import like, to_host
from vectrick.kernels.base import Kernel


class Precomputed(Kernel):
    """Row i of the table holds the kernel values between vertex i and the vertices of the training table.

    The table of the training edges is square, with a row and a column for each vertex, including vertices without
    training edges. The tables for predictions have the same columns.

    The only computation is the check of the matrix, O(m³) for its eigenvalues.

    >>> import numpy as np, vectrick as vt
    >>> K = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> vt.Precomputed().resolve(K, np.array([0, 1]))(K[:1])
    array([[2., 1.]])
    """

    name = "precomputed"
    learned = ("used",)

    is_psd = False  # this depends on the given values
    is_matrix = True

    def __init__(self, used: Any = None) -> None:
        self.used = used

    def resolve(self, X: Features, positions: Array) -> "Precomputed":
        """Return the kernel with the columns of the training vertices."""
        return self.with_parameters(used=np.asarray(to_host(positions)))

    def _matrix(self, X: Features, Y: Features) -> Array:
        if self.used is None:
            raise ValueError("a precomputed kernel has columns only after it was fitted with training vertices")
        return self._taken(X, self.used)

    def columns(self, X: Features, train: Features, which: Any) -> Array:
        """Return the kernel values between the rows of X and some training vertices."""
        return self._taken(X, to_host(self.used)[to_host(which)])

    def _taken(self, X: Any, columns: Any) -> Array:
        taken = X[:, to_host(columns) if issparse(X) else like(columns, X)]
        result: Array = taken.toarray() if issparse(taken) else taken
        return result

    def diagonal(self, X: Features) -> Array:
        """Return the diagonal of the kernel matrix of the training vertices."""
        return self(X).diagonal()
