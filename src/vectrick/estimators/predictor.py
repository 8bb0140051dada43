"""Predictions of a fitted model: for edges, for grids in blocks, and the best of a grid."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from vectrick.backends.memory import available_memory, format_bytes
from vectrick.backends.threads import count_threads, even_parts, run_tasks, single_threaded_blas
from vectrick.data import Edges, VertexTable
from vectrick.estimators.inputs import Graph
from vectrick.estimators.side import Side, checked_features
from vectrick.kernels import FeatureMap
from vectrick.operators import kron

Array = NDArray[Any]

_BLOCK_BYTES = 1 << 26  # of a block of a grid
_LONG_ROW = 1 << 15  # pairs of one start vertex that are predicted at once
_SMALL_GRID, _FILLED = 1 << 20, 8  # pairs, and pairs for each edge, up to which the whole grid is predicted for edges


class Predictor(ABC):
    """A function of edges, ``f(d, t) = Σ core[i, j] φᵢ(d) ψⱼ(t)``.

    In dual form φ and ψ are the kernel values with the training vertices and the core holds the dual coefficients; in
    primal form they are features and the core holds the primal coefficients.
    """

    def __init__(self, start: Side, end: Side, n_threads: int | None) -> None:
        self.start, self.end, self.n_threads = start, end, n_threads

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
            return np.zeros(len(edges), self.coefficients.dtype)
        graph, first, second = self._functions(edges)
        n_pairs = first.shape[0] * second.shape[0]
        if n_pairs <= min(_SMALL_GRID, _FILLED * len(edges)) and not issparse(first) and not issparse(second):
            # Two matrix products and no plan: planning and sorting would take longer.
            grid = np.asarray(first @ self.core) @ second.T
            return np.asarray(grid[graph.start, graph.end])
        return np.asarray(self._operator(graph, first, second, once=True) @ self.coefficients)

    def predict_all(self, edges: Edges, coefficients: Array) -> Array:
        """Return the predictions for edges of each row of coefficients, which are many."""
        graph, first, second = self._functions(edges)
        n_pairs, size = first.shape[0] * second.shape[0], first.shape[1] * second.shape[1]
        filled = max(n_pairs, size) <= min(_SMALL_GRID, _FILLED * max(len(edges), coefficients.shape[1]))
        dense = not issparse(first) and not issparse(second)
        if not dense or not filled:
            operator = self._operator(graph, first, second, once=False)
            return np.ascontiguousarray((operator @ coefficients.T).T)
        # Some vectors at a time, for a thread each: two products of matrices, the one that makes them smaller first.
        out = np.empty((len(coefficients), len(edges)), coefficients.dtype)
        parts = even_parts(len(coefficients), max(1, len(coefficients) // 8))
        (u, m), (v, q) = first.shape, second.shape
        end_first = v * m * (q + u) <= u * q * (m + v)

        def predict(number: int) -> None:
            rows = slice(*parts[number])
            cores = self._cores(coefficients[rows])
            grids = first @ (cores @ second.T) if end_first else (first @ cores) @ second.T
            out[rows] = grids[:, graph.start, graph.end]

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
        n_bytes = 8 * len(start) * len(end)
        if n_bytes > available_memory():
            raise MemoryError(
                f"the grid of {len(start)} × {len(end)} predictions takes {format_bytes(n_bytes)}, but there are only "
                f"{format_bytes(available_memory())}; take fewer vertices at a time, or use top_k"
            )
        out = np.empty((len(start), len(end)))
        for rows, cols, block in self.blocks(start, end):
            out[rows, cols] = block
        return out

    def top_k(self, start: VertexTable, end: VertexTable, k: int) -> tuple[Array, Array]:
        """Return for each start vertex the k end vertices with the largest predictions, and these, the best first."""
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

    def blocks(self, start: VertexTable, end: VertexTable) -> Iterator[tuple[slice, slice, Array]]:
        """Yield the grid of predictions block by block."""
        self.start.check(start)
        self.end.check(end)
        core = self.core
        wide = core.shape[1]
        # Whole rows of the grid where that leaves enough of them for a good product.
        n_rows = max(1, _BLOCK_BYTES // (8 * max(core.shape[0], wide, min(len(end), _LONG_ROW))))
        n_cols = max(1, _BLOCK_BYTES // (8 * max(min(n_rows, len(start)), wide)))
        kept: dict[int, Any] = {}  # ψ of the end vertices, where all of them fit
        keep = 8 * wide * len(end) <= available_memory() // 4
        for top in range(0, len(start), n_rows):
            rows = slice(top, min(top + n_rows, len(start)))
            first = self.start_functions(checked_features(start, np.arange(rows.start, rows.stop)))
            left = np.asarray(first @ core) if not issparse(first) or not issparse(core) else (first @ core).toarray()
            for low in range(0, len(end), n_cols):
                cols = slice(low, min(low + n_cols, len(end)))
                second = kept.get(low)
                if second is None:
                    second = self.end_functions(checked_features(end, np.arange(cols.start, cols.stop)))
                    if keep:
                        kept[low] = second
                yield rows, cols, np.asarray((second @ left.T).T if issparse(second) else left @ second.T)


class DualPredictor(Predictor):
    """Kernel values with the training vertices, and the coefficients of the support edges."""

    def __init__(self, start: Side, end: Side, graph: Graph, a: Array, n_threads: int | None) -> None:
        super().__init__(start, end, n_threads)
        support = np.flatnonzero(a)
        self.graph = (
            graph
            if len(support) == len(a)
            else Graph(graph.start[support], graph.end[support], graph.used_start, graph.used_end)
        )
        self.a = a[support]

    def start_functions(self, features: Any) -> Array:
        """Return the kernel values with the training start vertices."""
        return self.start.rows(features).astype(self.a.dtype, copy=False)

    def end_functions(self, features: Any) -> Array:
        """Return the kernel values with the training end vertices."""
        return self.end.rows(features).astype(self.a.dtype, copy=False)

    @cached_property
    def core(self) -> Any:
        """The dual coefficients, a row for each start vertex and a column for each end vertex; equal edges add up."""
        shape = (len(self.graph.used_start), len(self.graph.used_end))
        entries = csr_array((self.a, (self.graph.start, self.graph.end)), shape)
        return entries.toarray() if entries.nnz > 0.05 * shape[0] * shape[1] else entries

    def _cores(self, coefficients: Array) -> Array:
        m, q = len(self.graph.used_start), len(self.graph.used_end)
        cores = np.zeros((len(coefficients), m * q), coefficients.dtype)
        place = self.graph.start.astype(np.int64) * q + self.graph.end
        for core, row in zip(cores, coefficients, strict=True):
            np.add.at(core, place, row)
        return cores.reshape(-1, m, q)

    @property
    def coefficients(self) -> Array:
        """The dual coefficients of the support edges."""
        return self.a

    def _operator(self, graph: Graph, first: Any, second: Any, once: bool) -> Any:
        return kron(second, first, n_threads=self.n_threads, once=once)[graph.pair, self.graph.pair]


class PrimalPredictor(Predictor):
    """Features of vertices, and a coefficient for each pair of a start and an end feature."""

    def __init__(
        self, start: Side, end: Side, start_map: FeatureMap, end_map: FeatureMap, w: Array, n_threads: int | None
    ) -> None:
        super().__init__(start, end, n_threads)
        self.start_map, self.end_map, self.w = start_map, end_map, w

    def start_functions(self, features: Any) -> Any:
        """Return the features of start vertices."""
        return self.start_map.transform(features).astype(self.w.dtype, copy=False)

    def end_functions(self, features: Any) -> Any:
        """Return the features of end vertices."""
        return self.end_map.transform(features).astype(self.w.dtype, copy=False)

    @cached_property
    def core(self) -> Array:
        """The primal coefficients, a row for each start feature and a column for each end feature."""
        return self.w.reshape(self.end_map.rank, self.start_map.rank).T

    def _cores(self, coefficients: Array) -> Array:
        return coefficients.reshape(-1, self.end_map.rank, self.start_map.rank).transpose(0, 2, 1)

    @property
    def coefficients(self) -> Array:
        """The primal coefficients, those of the first end feature first."""
        return self.w

    def _operator(self, graph: Graph, first: Any, second: Any, once: bool) -> Any:
        return kron(second, first, n_threads=self.n_threads, once=once)[graph.pair, :]
