"""Predictions of a fitted model: for edges, for grids in blocks, and the best of a grid."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from vectrick._arrays import arange, is_tensor, namespace, to_host, zeros
from vectrick.backends.memory import available_memory, format_bytes
from vectrick.backends.torch.device import free_memory
from vectrick.data import Edges, VertexTable
from vectrick.estimators.side import Side, aligned_edges

Array = Any  # of NumPy or torch

_BLOCK_BYTES, _DEVICE_BLOCK_BYTES = 1 << 26, 1 << 28  # of a block of a grid, on a device of torch
_LONG_ROW = 1 << 15  # pairs of one start vertex that are predicted at once


class Predictor(ABC):
    """A function of edges, made of coefficients and of one kernel or more for each side."""

    def __init__(self, start: Side, end: Side, n_threads: int | None) -> None:
        self.start, self.end, self.n_threads = start, end, n_threads

    @property
    def device(self) -> Any:
        """The device of torch that predictions are made on; None for the host."""
        return self.start.device

    @abstractmethod
    def on(self, device: Any) -> "Predictor":
        """Return the same predictor on a device of torch, None for the host."""

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
        """Return the predictions for edges of each row of coefficients, which are many."""

    @abstractmethod
    def blocks(self, start: VertexTable, end: VertexTable) -> Iterator[tuple[slice, slice, Array]]:
        """Yield the grid of predictions block by block."""

    def fits_beside(self, n_rows: int, n_cols: int) -> bool:
        """Whether a matrix of doubles takes no more than a fourth of the memory that is free."""
        free = available_memory() if self.device is None else free_memory(self.device)
        return 8 * n_rows * n_cols <= free // 4

    def check(self, start: VertexTable, end: VertexTable) -> None:
        """Refuse tables with other columns than those trained with."""
        self.start.check(start)
        self.end.check(end)

    def aligned(self, edges: Edges) -> Edges:
        """Return edges whose tables have the columns that the model was trained with, in their order."""
        return aligned_edges(edges, self.start, self.end)

    def grid(self, start: VertexTable, end: VertexTable) -> Array:
        """Return the predictions for all pairs, in blocks; the result has to fit into memory."""
        n_bytes, tensors = (
            8 * len(start) * len(end),
            self.device is not None and any(is_tensor(table.features) for table in (start, end)),
        )
        free = free_memory(self.device) if tensors else available_memory()
        if n_bytes > free:
            raise MemoryError(
                f"the grid of {len(start)} × {len(end)} predictions takes {format_bytes(n_bytes)}, but there are only "
                f"{format_bytes(free)}; take fewer vertices at a time, or use top_k"
            )
        at = self.coefficients if tensors else np.empty(0)
        out = zeros((len(start), len(end)), at, namespace(at).float64)
        for rows, cols, block in self.blocks(start, end):
            out[rows, cols] = block if tensors else to_host(block)
        return out

    def top_k(self, start: VertexTable, end: VertexTable, k: int) -> tuple[Array, Array]:
        """Return for each start vertex the k end vertices with the largest predictions, and these, the best first."""
        if self.device is not None:
            return self._top_k_on_device(start, end, k)
        best = np.full((len(start), k), -np.inf)
        which = np.full((len(start), k), -1, np.int64)
        for rows, cols, block in self.blocks(start, end):
            which[rows], best[rows] = merge_best(which[rows], best[rows], cols, block)
        return which, best

    def _top_k_on_device(self, start: VertexTable, end: VertexTable, k: int) -> tuple[Any, Any]:
        """Return the same by stable sorting of each block, which a GPU does faster than it selects."""
        xp, at = namespace(self.coefficients), self.coefficients
        best = zeros((len(start), k), at, xp.float64) - float("inf")
        which = zeros((len(start), k), at, xp.int64) - 1
        for rows, cols, block in self.blocks(start, end):
            names = (arange(block.shape[1], block, xp.int64) + cols.start).expand(block.shape)
            scores, names = xp.hstack([best[rows], block]), xp.hstack([which[rows], names])
            order = scores.argsort(dim=1, descending=True, stable=True)[:, :k]
            best[rows], which[rows] = scores.gather(1, order), names.gather(1, order)
        return which, best


def merge_best(which: Array, best: Array, cols: slice, block: Array) -> tuple[Array, Array]:
    """Return the best columns so far of each row and their scores, after a block with the scores of more columns."""
    k = best.shape[1]
    scores = np.hstack([best, block])
    names = np.hstack([which, np.broadcast_to(np.arange(cols.start, cols.stop), block.shape)])
    if scores.shape[1] > 4 * k:  # only the best need to be sorted; ties at the edge go to all of them
        bound = np.partition(scores, -k, axis=1)[:, -k]
        width = int((scores >= bound[:, None]).sum(axis=1).max())
        order = np.argsort(scores < bound[:, None], axis=1, kind="stable")[:, :width]
        scores, names = np.take_along_axis(scores, order, 1), np.take_along_axis(names, order, 1)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(names, order, 1), np.take_along_axis(scores, order, 1)


def block_slices(n_rows: int, n_cols: int, width: int, device: Any) -> Iterator[tuple[slice, list[slice]]]:
    """Yield the rows of blocks of a grid, each with the columns of its blocks; ``width`` functions of each vertex."""
    size = _BLOCK_BYTES if device is None else _DEVICE_BLOCK_BYTES
    # Whole rows of the grid where that leaves enough of them for a good product.
    height = max(1, size // (8 * max(width, min(n_cols, _LONG_ROW))))
    across = max(1, size // (8 * max(min(height, n_rows), width)))
    columns = [slice(low, min(low + across, n_cols)) for low in range(0, n_cols, across)]
    for top in range(0, n_rows, height):
        yield slice(top, min(top + height, n_rows)), columns
