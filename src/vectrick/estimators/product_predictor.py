"""Predictions of a model on one Kronecker product, from kernel values or from features."""

import copy
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from vectrick._arrays import cast, is_tensor, like, namespace, numpy_dtype, true_places, zeros
from vectrick._cached import cached_property
from vectrick.backends.threads import count_threads, even_parts, run_tasks, single_threaded_blas
from vectrick.backends.torch.device import exact_products
from vectrick.data import Edges, VertexTable
from vectrick.estimators.inputs import Graph
from vectrick.estimators.predictor import Predictor, block_slices
from vectrick.estimators.side import MatrixMap, Side, SpectralMap, checked_features
from vectrick.kernels import CholeskyMap, FeatureMap
from vectrick.operators import kron

Array = Any  # of NumPy or torch

_SMALL_GRID, _FILLED = 1 << 20, 8  # pairs, and pairs for each edge, up to which the whole grid is predicted for edges


class ProductPredictor(Predictor):
    """A function of edges, ``f(d, t) = Σ core[i, j] φᵢ(d) ψⱼ(t)``.

    In dual form φ and ψ are the kernel values with the training vertices and the core holds the dual coefficients; in
    primal form they are features and the core holds the primal coefficients.
    """

    @abstractmethod
    def start_functions(self, features: Any) -> Any:
        """Return φ of start vertices, a row for each."""

    @abstractmethod
    def end_functions(self, features: Any) -> Any:
        """Return ψ of end vertices, a row for each."""

    core: Any  # the coefficients as a matrix, dense or sparse

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
            self.check(edges.start_table, edges.end_table)
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
        self.check(edges.start_table, edges.end_table)
        graph = Graph.of(edges)
        first = self.start_functions(checked_features(edges.start_table, graph.used_start))
        second = self.end_functions(checked_features(edges.end_table, graph.used_end))
        return graph, first, second

    def blocks(self, start: VertexTable, end: VertexTable) -> Iterator[tuple[slice, slice, Array]]:
        """Yield the grid of predictions block by block."""
        self.check(start, end)
        start, end = start.on(self.device), end.on(self.device)
        core = self.core
        wide = core.shape[1]
        kept: dict[int, Any] = {}  # ψ of the end vertices, where all of them fit
        keep = self.fits_beside(wide, len(end))
        for rows, all_cols in block_slices(len(start), len(end), max(core.shape), self.device):
            first = self.start_functions(checked_features(start, np.arange(rows.start, rows.stop)))
            with exact_products(self.device):
                left = first @ core
            left = left.toarray() if issparse(left) else left
            for cols in all_cols:
                second = kept.get(cols.start)
                if second is None:
                    second = self.end_functions(checked_features(end, np.arange(cols.start, cols.stop)))
                    if keep:
                        kept[cols.start] = second
                with exact_products(self.device):
                    block = (second @ left.T).T if issparse(second) else left @ second.T
                yield rows, cols, block


class DualPredictor(ProductPredictor):
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


class PrimalPredictor(ProductPredictor):
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
