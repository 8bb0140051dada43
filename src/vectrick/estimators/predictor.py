"""Predictions of a fitted model: for edges, for grids in blocks, and the best of a grid."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from vectrick._arrays import arange, cast, is_tensor, like, namespace, numpy_dtype, to_host, true_places, zeros
from vectrick.backends.memory import available_memory, format_bytes
from vectrick.backends.threads import count_threads, even_parts, run_tasks, single_threaded_blas
from vectrick.backends.torch.device import exact_products, free_memory
from vectrick.data import Edges, VertexTable
from vectrick.estimators.inputs import Graph
from vectrick.estimators.side import MatrixMap, Side, SpectralMap, checked_features
from vectrick.kernels import CholeskyMap, FeatureMap
from vectrick.operators import kron

Array = Any  # of NumPy or torch

_BLOCK_BYTES, _DEVICE_BLOCK_BYTES = 1 << 26, 1 << 28  # of a block of a grid, on a device of torch
_LONG_ROW = 1 << 15  # pairs of one start vertex that are predicted at once
_SMALL_GRID, _FILLED = 1 << 20, 8  # pairs, and pairs for each edge, up to which the whole grid is predicted for edges


class Predictor(ABC):
    """A function of edges, ``f(d, t) = Σ core[i, j] φᵢ(d) ψⱼ(t)``.

    In dual form φ and ψ are the kernel values with the training vertices and the core holds the dual coefficients; in
    primal form they are features and the core holds the primal coefficients.
    """

    def __init__(self, start: Side, end: Side, n_threads: int | None) -> None:
        self.start, self.end, self.n_threads = start, end, n_threads

    @property
    def device(self) -> Any:
        """The device of torch that predictions are made on; None for the host."""
        return self.start.device

    @abstractmethod
    def on(self, device: Any) -> "Predictor":
        """Return the same predictor on a device of torch, None for the host."""

    @abstractmethod
    def start_functions(self, features: Any) -> Any:
        """Return φ of start vertices, a row for each."""

    @abstractmethod
    def end_functions(self, features: Any) -> Any:
        """Return ψ of end vertices, a row for each."""

    core: Any  # the coefficients as a matrix, dense or sparse

    @property
    @abstractmethod
    def coefficients(self) -> Array:
        """The coefficients as a vector, as `operator` takes them."""

    def _kron(self, second: Any, first: Any, once: bool) -> Any:
        where = {} if self.device is None else {"backend": "torch", "device": self.device}
        return kron(second, first, n_threads=self.n_threads, once=once, **where)

    def _is_here(self, values: Any) -> bool:
        """Whether values are dense, and where the coefficients are."""
        return not issparse(values) and is_tensor(values) == (self.device is not None)

    def _sides_on(self, device: Any) -> tuple[Side, Side]:
        """Return both sides on a device; one table stays one."""
        start = self.start.on(device)
        return start, self.end.on(device, start.known if self.end.known is self.start.known else None)

    @abstractmethod
    def _operator(self, graph: Graph, first: Any, second: Any, once: bool) -> Any:
        """Return the operator for edges with these values of φ and ψ."""

    def operator(self, edges: Edges) -> Any:
        """Return the operator that makes predictions for edges from the vector of coefficients."""
        return self._operator(*self._functions(edges), once=False)

    def predict(self, edges: Edges) -> Array:
        """Return the predictions for edges."""
        if len(edges) == 0 or len(self.coefficients) == 0:
            self.start.check(edges.start_table)
            self.end.check(edges.end_table)
            return zeros(len(edges), self.coefficients)
        graph, first, second = self._functions(edges)
        n_pairs = first.shape[0] * second.shape[0]
        filled = n_pairs <= min(_SMALL_GRID, _FILLED * len(edges))
        if filled and self._is_here(first) and self._is_here(second):
            # Two matrix products and no plan: planning and sorting would take longer.
            with exact_products(self.device):
                grid = (first @ self.core) @ second.T
            return grid[graph.start, graph.end]
        return self._operator(graph, first, second, once=True) @ self.coefficients

    def predict_all(self, edges: Edges, coefficients: Array) -> Array:
        """Return the predictions for edges of each row of coefficients, which are many."""
        graph, first, second = self._functions(edges)
        n_pairs, size = first.shape[0] * second.shape[0], first.shape[1] * second.shape[1]
        filled = max(n_pairs, size) <= min(_SMALL_GRID, _FILLED * max(len(edges), coefficients.shape[1]))
        if not filled or not (self._is_here(first) and self._is_here(second)):
            operator = self._operator(graph, first, second, once=False)
            made = (operator @ coefficients.T).T
            return made.contiguous() if is_tensor(made) else np.ascontiguousarray(made)
        # Some vectors at a time, for a thread each: two products of matrices, the one that makes them smaller first.
        out = zeros((len(coefficients), len(edges)), coefficients)
        parts = even_parts(len(coefficients), max(1, len(coefficients) // 8))
        (u, m), (v, q) = first.shape, second.shape
        end_first = v * m * (q + u) <= u * q * (m + v)

        def predict(number: int) -> None:
            rows = slice(*parts[number])
            cores = self._cores(coefficients[rows])
            grids = first @ (cores @ second.T) if end_first else (first @ cores) @ second.T
            out[rows] = grids[:, graph.start, graph.end]

        if self.device is not None:
            with exact_products(self.device):
                for number in range(len(parts)):
                    predict(number)
            return out
        with single_threaded_blas():
            run_tasks(predict, len(parts), count_threads(self.n_threads))
        return out

    @abstractmethod
    def _cores(self, coefficients: Array) -> Array:
        """Return the matrix `core` of each row of coefficients."""

    def _functions(self, edges: Edges) -> tuple[Graph, Any, Any]:
        """Return the vertices of the edges, and φ and ψ of each."""
        self.start.check(edges.start_table)
        self.end.check(edges.end_table)
        graph = Graph.of(edges)
        first = self.start_functions(checked_features(edges.start_table, graph.used_start))
        second = self.end_functions(checked_features(edges.end_table, graph.used_end))
        return graph, first, second

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
            scores = np.hstack([best[rows], block])
            names = np.hstack([which[rows], np.broadcast_to(np.arange(cols.start, cols.stop), block.shape)])
            if scores.shape[1] > 4 * k:  # only the best need to be sorted; ties at the edge go to all of them
                bound = np.partition(scores, -k, axis=1)[:, -k]
                width = int((scores >= bound[:, None]).sum(axis=1).max())
                order = np.argsort(scores < bound[:, None], axis=1, kind="stable")[:, :width]
                scores, names = np.take_along_axis(scores, order, 1), np.take_along_axis(names, order, 1)
            order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
            best[rows], which[rows] = np.take_along_axis(scores, order, 1), np.take_along_axis(names, order, 1)
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

    def blocks(self, start: VertexTable, end: VertexTable) -> Iterator[tuple[slice, slice, Array]]:
        """Yield the grid of predictions block by block."""
        self.start.check(start)
        self.end.check(end)
        start, end = start.on(self.device), end.on(self.device)
        core = self.core
        wide = core.shape[1]
        size = _BLOCK_BYTES if self.device is None else _DEVICE_BLOCK_BYTES
        # Whole rows of the grid where that leaves enough of them for a good product.
        n_rows = max(1, size // (8 * max(core.shape[0], wide, min(len(end), _LONG_ROW))))
        n_cols = max(1, size // (8 * max(min(n_rows, len(start)), wide)))
        kept: dict[int, Any] = {}  # ψ of the end vertices, where all of them fit
        keep = 8 * wide * len(end) <= (available_memory() if self.device is None else free_memory(self.device)) // 4
        for top in range(0, len(start), n_rows):
            rows = slice(top, min(top + n_rows, len(start)))
            first = self.start_functions(checked_features(start, np.arange(rows.start, rows.stop)))
            with exact_products(self.device):
                left = first @ core
            left = left.toarray() if issparse(left) else left
            for low in range(0, len(end), n_cols):
                cols = slice(low, min(low + n_cols, len(end)))
                second = kept.get(low)
                if second is None:
                    second = self.end_functions(checked_features(end, np.arange(cols.start, cols.stop)))
                    if keep:
                        kept[low] = second
                with exact_products(self.device):
                    block = (second @ left.T).T if issparse(second) else left @ second.T
                yield rows, cols, block


class DualPredictor(Predictor):
    """Kernel values with the training vertices, and the coefficients of the support edges."""

    def __init__(self, start: Side, end: Side, graph: Graph, a: Array, n_threads: int | None) -> None:
        super().__init__(start, end, n_threads)
        support = true_places(a != 0)
        self.graph = (
            graph
            if len(support) == len(a)
            else Graph(graph.start[support], graph.end[support], graph.used_start, graph.used_end)
        )
        self.a = a[support]

    def start_functions(self, features: Any) -> Array:
        """Return the kernel values with the training start vertices."""
        return cast(self.start.rows(features), numpy_dtype(self.a))

    def end_functions(self, features: Any) -> Array:
        """Return the kernel values with the training end vertices."""
        return cast(self.end.rows(features), numpy_dtype(self.a))

    @cached_property
    def core(self) -> Any:
        """The dual coefficients, a row for each start vertex and a column for each end vertex; equal edges add up."""
        shape = (len(self.graph.used_start), len(self.graph.used_end))
        if is_tensor(self.a):
            core = zeros(shape, self.a)  # edges that occur twice add up, in their order
            places = self.graph.start.long() * shape[1] + self.graph.end
            places, order = places.sort(stable=True)
            places, lengths = places.unique_consecutive(return_counts=True)
            core.view(-1)[places] = namespace(core).segment_reduce(self.a[order], "sum", lengths=lengths, unsafe=True)
            return core
        entries = csr_array((self.a, (self.graph.start, self.graph.end)), shape)
        return entries.toarray() if entries.nnz > 0.05 * shape[0] * shape[1] else entries

    def _cores(self, coefficients: Array) -> Array:
        m, q = len(self.graph.used_start), len(self.graph.used_end)
        if is_tensor(coefficients):
            made = [DualPredictor(self.start, self.end, self.graph, row, self.n_threads).core for row in coefficients]
            return namespace(coefficients).stack(made)
        cores = np.zeros((len(coefficients), m * q), coefficients.dtype)
        place = self.graph.start.astype(np.int64) * q + self.graph.end
        for core, row in zip(cores, coefficients, strict=True):
            np.add.at(core, place, row)
        return cores.reshape(-1, m, q)

    @property
    def coefficients(self) -> Array:
        """The dual coefficients of the support edges."""
        return self.a

    def on(self, device: Any) -> "DualPredictor":
        """Return the same predictor on a device of torch, None for the host."""
        start, end = self._sides_on(device)
        return DualPredictor(start, end, self.graph.on(device), like(self.a, start.used), self.n_threads)

    def _operator(self, graph: Graph, first: Any, second: Any, once: bool) -> Any:
        return self._kron(second, first, once)[graph.pair, self.graph.pair]


class PrimalPredictor(Predictor):
    """Features of vertices, and a coefficient for each pair of a start and an end feature."""

    def __init__(
        self, start: Side, end: Side, start_map: FeatureMap, end_map: FeatureMap, w: Array, n_threads: int | None
    ) -> None:
        super().__init__(start, end, n_threads)
        self.start_map, self.end_map, self.w = start_map, end_map, w

    def start_functions(self, features: Any) -> Any:
        """Return the features of start vertices."""
        return self._values(self.start_map, features)

    def end_functions(self, features: Any) -> Any:
        """Return the features of end vertices."""
        return self._values(self.end_map, features)

    def _values(self, found: FeatureMap, features: Any) -> Any:
        values = found.transform(features)
        if issparse(values) and self.device is not None:
            values = like(values.toarray(), self.w)
        return cast(values, numpy_dtype(self.w))

    def on(self, device: Any) -> "PrimalPredictor":
        """Return the same predictor on a device of torch, None for the host."""
        start, end = self._sides_on(device)
        maps = _map_on(self.start_map, start), _map_on(self.end_map, end)
        return PrimalPredictor(start, end, *maps, like(self.w, start.used), self.n_threads)

    @cached_property
    def core(self) -> Array:
        """The primal coefficients, a row for each start feature and a column for each end feature."""
        return self.w.reshape(self.end_map.rank, self.start_map.rank).T

    def _cores(self, coefficients: Array) -> Array:
        return coefficients.reshape(-1, self.end_map.rank, self.start_map.rank).swapaxes(1, 2)

    @property
    def coefficients(self) -> Array:
        """The primal coefficients, those of the first end feature first."""
        return self.w

    def _operator(self, graph: Graph, first: Any, second: Any, once: bool) -> Any:
        return self._kron(second, first, once)[graph.pair, :]


def _map_on(found: FeatureMap, side: Side) -> FeatureMap:
    """Return the features of a side that was moved; those of the training vertices are not needed any more."""
    moved = copy.copy(found)
    moved.train = np.broadcast_to(0.0, (0, found.rank))
    if isinstance(moved, MatrixMap | SpectralMap):
        moved.side = side
    if isinstance(moved, CholeskyMap):
        moved.X, moved.corner = side.vertices, like(moved.corner, side.used)
    if isinstance(moved, SpectralMap):
        moved.inverse = like(moved.inverse, side.used)
    return moved
