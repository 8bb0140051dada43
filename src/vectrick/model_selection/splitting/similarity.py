"""Similarities between vertices, from 0 to 1, by a given kernel or by a kernel that suits the vertex table."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.sparse import issparse

from vectrick._typing import Array, ArrayLike
from vectrick.data import Edges, VertexTable
from vectrick.data.strings.table import kind_of_strings
from vectrick.kernels import (
    Gaussian,
    Kernel,
    Morgan,
    Precomputed,
    SmithWaterman,
    Spectrum,
    Standardized,
    Tanimoto,
    as_kernel,
)

_AT_ONCE = 2048  # rows of the similarity matrix that are computed together


class Similarity:
    """Similarities between vertices of one table that have edges: ``k(x, y) / √(k(x, x) k(y, y))``.

    Parameters
    ----------
    table : VertexTable
        The table.
    used : array
        The rows of the vertices that have edges.
    kernel : str or Kernel
        "auto" uses Morgan fingerprints for molecules, alignments for sequences (a spectrum kernel without parasail), a
        given matrix of similarities, the Tanimoto kernel for bits, and a Gaussian kernel for other features.
    name : str
        The name of the kernel in error messages.
    """

    def __init__(
        self, table: VertexTable, used: Array, kernel: ArrayLike | Kernel | str | None = "auto", name: str = "kernel"
    ) -> None:
        is_auto = isinstance(kernel, str) and kernel == "auto"
        chosen = _usual(table, used) if is_auto else as_kernel(kernel, name)
        self.features = table.features[used]
        self.kernel = chosen.resolve(self.features, used)
        if isinstance(self.kernel, Precomputed):
            self._norms = np.sqrt(np.maximum(np.asarray(table.features[used, used], np.float64).ravel(), 1e-300))
        else:
            self._norms = np.sqrt(np.maximum(np.asarray(self.kernel.diagonal(self.features), np.float64), 1e-300))

    def blocks(self, rows: Array, columns: Array) -> Iterator[tuple[Array, Array]]:
        """Yield blocks of rows and their similarities with all columns; both index the used vertices."""
        train: Any = self.features
        for low in range(0, len(rows), _AT_ONCE):
            some = rows[low : low + _AT_ONCE]
            values = np.asarray(self.kernel.columns(self.features[some], train, columns), np.float64)
            yield some, values / (self._norms[some][:, None] * self._norms[columns])


def _usual(table: VertexTable, used: Array) -> Kernel:
    if table.text is not None:
        if kind_of_strings(table.take(used).strings, table.text) == "smiles":
            return Morgan()
        return SmithWaterman() if find_spec("parasail") is not None else Spectrum()
    features: Any = table.features
    values = features.data if issparse(features) else features
    if table.looks_like_kernel:
        return Precomputed()
    if values.size and np.isin(values, (0, 1)).all():
        return Tanimoto()
    return Gaussian() if issparse(features) else Standardized(Gaussian())


def largest_similarity(X: Edges, train: Array, test: Array, side: str) -> Array:
    """Return, for each test edge, the largest similarity of its vertex of a side to the training vertices."""
    table, vertices = (X.start_table, X.start) if side == "start" else (X.end_table, X.end)
    trained = np.concatenate([X.start[train], X.end[train]]) if X.is_one_set else vertices[train]
    used = np.unique(np.concatenate([trained, vertices[test]]))
    similarity = Similarity(table, used)
    known, asked = np.unique(trained), np.unique(vertices[test])
    columns, best = np.searchsorted(used, known), np.zeros(len(used))
    for rows, values in similarity.blocks(np.searchsorted(used, asked), columns):
        best[rows] = values.max(axis=1)
    result: Array = best[np.searchsorted(used, vertices[test])]
    return result
