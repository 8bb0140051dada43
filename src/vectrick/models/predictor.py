"""Predictions of a fitted model: for edges, for grids in blocks, and the best of a grid."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.backends import HOST, Backend, backend_of
from vectrick.backends.arrays import placed
from vectrick.backends.memory import format_bytes
from vectrick.data import Edges, VertexTable
from vectrick.models.edge_kernel import EdgeKernel
from vectrick.models.limits import SMALL_BYTES
from vectrick.models.vertex_kernel import VertexKernel, aligned_edges

_LONG_ROW = 1 << 15  # pairs of one start vertex that are predicted together


KEPT = "_kept_functions"  # the attribute that keeps features or kernel values of vertices between calls


class Predictor(ABC):
    """A function of edges, made of coefficients and of one or more kernels for each side."""

    def __init__(self, kernel: EdgeKernel, n_threads: int | None) -> None:
        self.kernel, self.n_threads = kernel, n_threads

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != KEPT}

    @property
    def start(self) -> VertexKernel:
        """The first kernel of start vertices."""
        return self.kernel.start

    @property
    def end(self) -> VertexKernel:
        """The first kernel of end vertices."""
        return self.kernel.end

    @property
    def backend(self) -> Backend:
        """The backend of the predictions."""
        return self.kernel.start.backend

    def on(self, backend: Backend) -> "Predictor":
        """Return the same predictor on another backend, or itself if it is there already."""
        return self if backend == self.backend else self._moved(backend)

    @abstractmethod
    def _moved(self, backend: Backend) -> "Predictor":
        """Return the same predictor on another backend."""

    @property
    @abstractmethod
    def coefficients(self) -> Array:
        """The coefficients as a vector, as `operator` takes them."""

    @abstractmethod
    def operator(self, edges: Edges) -> Any:
        """Return the operator that makes predictions for edges from the vector of coefficients."""

    @abstractmethod
    def predict(self, edges: Edges) -> Array:
        """Return the predictions for edges."""

    @abstractmethod
    def predict_all(self, edges: Edges, coefficients: Array) -> Array:
        """Return the predictions for edges, one row for each row of coefficients."""

    @property
    @abstractmethod
    def width(self) -> int:
        """The number of features or kernel values of a vertex; it limits the size of blocks of a grid."""

    @abstractmethod
    def blocks(
        self, start: VertexTable, end: VertexTable, width: int | None = None
    ) -> Iterator[tuple[slice, slice, Array]]:
        """Yield the grid of predictions in blocks that are as large as ``width`` allows, by default the predictor's."""

    def has_functions_of(self, other: "Predictor") -> bool:
        """Return whether both have the same features or kernel values, so that they can predict together."""
        return False

    def with_functions_of(self, other: "Predictor") -> "Predictor":
        """Return the same with the features or kernel values of another predictor; they must be equal."""
        return self

    def fits_beside(self, n_rows: int, n_cols: int) -> bool:
        """Return whether a matrix of doubles takes at most a fourth of the free memory."""
        n_bytes = 8 * n_rows * n_cols
        return n_bytes <= SMALL_BYTES or n_bytes <= self.backend.free_memory() // 4

    def check(self, start: VertexTable, end: VertexTable) -> None:
        """Reject tables whose number of columns differs from training."""
        self.start.check(start)
        self.end.check(end)

    def aligned(self, edges: Edges) -> Edges:
        """Return edges whose tables have the columns that the model was trained with, in their order."""
        return aligned_edges(edges, self.start, self.end)

    def grid(self, start: VertexTable, end: VertexTable) -> Array:
        """Return the predictions for all pairs, in blocks; the result has to fit into memory."""
        homes = [backend_of(table.features) for table in (start, end)]
        # Results stay on the backend if the user gave arrays of that backend.
        result = HOST if homes == [HOST, HOST] else self.backend
        n_bytes, free = 8 * len(start) * len(end), result.free_memory()
        if n_bytes > free:
            raise MemoryError(
                f"the grid of {len(start)} × {len(end)} predictions takes {format_bytes(n_bytes)}, but there are only "
                f"{format_bytes(free)}; take fewer vertices at a time, or use top_k"
            )
        out = result.zeros((len(start), len(end)), np.float64)
        for rows, cols, block in self.blocks(start, end):
            out[rows, cols] = placed(block, result)
        return out

    def top_k(self, start: VertexTable, end: VertexTable, k: int) -> tuple[Array, Array]:
        """Return the k best end vertices of each start vertex, best first, and their predictions."""
        backend = self.backend
        best = backend.zeros((len(start), k), np.float64) - np.inf
        which = backend.zeros((len(start), k), np.int64) - 1
        for rows, cols, block in self.blocks(start, end):
            which[rows], best[rows] = backend.best_of(which[rows], best[rows], cols, block)
        return which, best


def block_slices(n_rows: int, n_cols: int, width: int, backend: Backend) -> Iterator[tuple[slice, list[slice]]]:
    """Yield the row slice of each row of blocks, with the column slices; a vertex has ``width`` values."""
    size = backend.grid_bytes
    # A block has whole rows of the grid if that leaves enough rows for a fast product.
    height = max(1, size // (8 * max(width, min(n_cols, _LONG_ROW))))
    across = max(1, size // (8 * max(min(height, n_rows), width)))
    columns = [slice(low, min(low + across, n_cols)) for low in range(0, n_cols, across)]
    for top in range(0, n_rows, height):
        yield slice(top, min(top + height, n_rows)), columns
