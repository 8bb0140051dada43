"""Predictions of a model on one Kronecker product, from kernel values or from features."""

import copy
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from vectrick._cached import cached_property
from vectrick._typing import Array, Features, Table
from vectrick.backends import Backend
from vectrick.backends.arrays import cast, contiguous, numpy_dtype, placed, true_places, zeros
from vectrick.backends.threads import even_parts
from vectrick.data import Edges, Graph, VertexTable
from vectrick.kernels import CholeskyMap, FeatureMap
from vectrick.kernels.base import computed_once
from vectrick.models.edge_kernel import EdgeKernel
from vectrick.models.limits import checked_features
from vectrick.models.predictor import KEPT, Predictor, block_slices
from vectrick.models.vertex_kernel import MatrixMap, SpectralMap, VertexKernel
from vectrick.operators import kron

_KEPT_BYTES = 1 << 27  # of values of the training table's end vertices that are kept for the next grid
_SMALL_GRID, _FILLED = 1 << 20, 8  # pairs, and pairs per edge, up to which the whole grid is predicted for edges


class ProductPredictor(Predictor):
    """A function of edges, ``f(d, t) = Σ core[i, j] φᵢ(d) ψⱼ(t)``.

    In dual form φ and ψ are the kernel values with the training vertices and the core holds the dual coefficients; in
    primal form they are features and the core holds the primal coefficients.
    """

    @abstractmethod
    def start_functions(self, features: Features) -> Any:
        """Return φ of start vertices, a row for each."""

    @abstractmethod
    def end_functions(self, features: Features) -> Any:
        """Return ψ of end vertices, a row for each."""

    core: Any  # the coefficients as a matrix, dense or sparse

    def _kron(self, second: Array, first: Array, once: bool) -> Any:
        return kron(second, first, n_threads=self.n_threads, once=once, backend=self.backend)

    def _are_here(self, *values: Array) -> bool:
        """Return whether values are dense and on the backend of the predictions."""
        return all(self.backend.owns(value) for value in values)

    @abstractmethod
    def _operator(self, graph: Graph, first: Array, second: Array, once: bool) -> Any:
        """Return the operator for edges with these values of φ and ψ."""

    def operator(self, edges: Edges) -> Any:
        """Return the operator that makes predictions for edges from the vector of coefficients."""
        return self._operator(*self._functions(edges), once=False)

    def predict(self, edges: Edges) -> Array:
        """Return the predictions for edges."""
        if len(edges) == 0 or len(self.coefficients) == 0:
            self.check(edges.start_table, edges.end_table)
            return zeros(len(edges), self.coefficients)
        return self.predict_graph(*vertices_of(self, edges))

    def predict_graph(self, graph: Graph, start_features: Table, end_features: Table) -> Array:
        """Return the predictions for edges between vertices with these features."""
        if len(self.coefficients) == 0:
            return zeros(len(graph.start), self.coefficients)
        first, second = self.start_functions(start_features), self.end_functions(end_features)
        n_pairs = first.shape[0] * second.shape[0]
        filled = n_pairs <= min(_SMALL_GRID, _FILLED * len(graph.start))
        if filled and self._are_here(first, second):
            # Two matrix products and no plan: planning and sorting would take longer.
            with self.backend.exact_products():
                grid = (first @ self.core) @ second.T
            result: Array = grid[graph.start, graph.end]
        else:
            result = self._operator(graph, first, second, once=True) @ self.coefficients
        return result

    def predict_all(self, edges: Edges, coefficients: Array) -> Array:
        """Return the predictions for edges, one row for each row of coefficients."""
        graph, first, second = self._functions(edges)
        n_pairs, size = first.shape[0] * second.shape[0], first.shape[1] * second.shape[1]
        filled = max(n_pairs, size) <= min(_SMALL_GRID, _FILLED * max(len(edges), coefficients.shape[1]))
        if not filled or not self._are_here(first, second):
            operator = self._operator(graph, first, second, once=False)
            return contiguous((operator @ coefficients.T).T)
        # Each thread takes some vectors at a time: two matrix products, first the one that makes them smaller.
        out = zeros((len(coefficients), len(edges)), coefficients)
        parts = even_parts(len(coefficients), max(1, len(coefficients) // 8))
        (u, m), (v, q) = first.shape, second.shape
        end_first = v * m * (q + u) <= u * q * (m + v)

        def predict(number: int) -> None:
            rows = slice(*parts[number])
            cores = self._cores(coefficients[rows])
            grids = first @ (cores @ second.T) if end_first else (first @ cores) @ second.T
            out[rows] = grids[:, graph.start, graph.end]

        self.backend.in_parallel(predict, len(parts), self.n_threads)
        return out

    @abstractmethod
    def _cores(self, coefficients: Array) -> Array:
        """Return the matrix `core` of each row of coefficients."""

    def _functions(self, edges: Edges) -> tuple[Graph, Any, Any]:
        """Return the vertices of the edges, and φ and ψ of each."""
        graph, start_features, end_features = vertices_of(self, edges)
        return graph, self.start_functions(start_features), self.end_functions(end_features)

    @property
    def width(self) -> int:
        """The number of features or kernel values of a vertex."""
        return int(max(self.core.shape))

    def blocks(
        self, start: VertexTable, end: VertexTable, width: int | None = None
    ) -> Iterator[tuple[slice, slice, Array]]:
        """Yield the grid of predictions block by block."""
        return product_blocks(self, [self], [1.0], start, end, width or self.width)

    def start_side(self, features: Features) -> Array:
        """Return ``Σᵢ core[i, j] φᵢ`` of start vertices, a row for each."""
        first = self.start_functions(features)
        with self.backend.exact_products():
            left = first @ self.core
        result: Array = left.toarray() if issparse(left) else left
        return result

    def block(self, left: Array, second: Array) -> Array:
        """Return the predictions for all pairs, from `start_side` and `end_functions`."""
        with self.backend.exact_products():
            block: Array = (second @ left.T).T if issparse(second) else left @ second.T
        return block


def vertices_of(predictor: Predictor, edges: Edges) -> tuple[Graph, Any, Any]:
    """Return the graph of edges, and the features of its start and its end vertices."""
    predictor.check(edges.start_table, edges.end_table)
    graph = Graph.of(edges)
    start, end = edges.start_table, edges.end_table
    return graph, checked_features(start, graph.used_start), checked_features(end, graph.used_end)


def product_blocks(
    owner: Predictor,
    parts: Sequence[ProductPredictor],
    weights: Sequence[float],
    start: VertexTable,
    end: VertexTable,
    width: int,
) -> Iterator[tuple[slice, slice, Array]]:
    """Yield the grid of predictions of a weighted sum of predictors block by block.

    The features or kernel values of end vertices are kept for all rows of blocks if they fit. The ``owner`` keeps them
    for further calls if they are few and the end vertices are the training table.
    """
    owner.check(start, end)
    wide = sum(part.core.shape[1] for part in parts)
    is_own = end is owner.end.known and 8 * wide * len(end) <= _KEPT_BYTES
    kept: dict[tuple[int, int], Any] = owner.__dict__.setdefault(KEPT, {}) if is_own else {}
    keep = is_own or owner.fits_beside(wide, len(end))
    start, end = start.on(owner.backend), end.on(owner.backend)
    for rows, all_cols in block_slices(len(start), len(end), width, owner.backend):
        with computed_once():
            features = checked_features(start, np.arange(rows.start, rows.stop))
            lefts = [part.start_side(features) for part in parts]
        for cols in all_cols:
            functions = kept.get((cols.start, cols.stop))
            if functions is None:
                with computed_once():
                    features = checked_features(end, np.arange(cols.start, cols.stop))
                    functions = [part.end_functions(features) for part in parts]
                if keep:
                    kept[cols.start, cols.stop] = functions
            blocks = [part.block(*both) for part, *both in zip(parts, lefts, functions, strict=True)]
            total: Any = blocks[0]
            if len(parts) > 1:
                total = sum(weight * block for weight, block in zip(weights, blocks, strict=True))
            yield rows, cols, total


class DualPredictor(ProductPredictor):
    """Kernel values with the training vertices, and the coefficients of the support edges."""

    def __init__(self, kernel: EdgeKernel, graph: Graph, a: Array, n_threads: int | None) -> None:
        super().__init__(kernel, n_threads)
        support = true_places(a != 0)
        self.graph = (
            graph
            if len(support) == len(a)
            else Graph(graph.start[support], graph.end[support], graph.used_start, graph.used_end)
        )
        self.a = a[support]

    def start_functions(self, features: Features) -> Array:
        """Return the kernel values with the training start vertices."""
        return cast(self.start.rows(features), numpy_dtype(self.a))

    def end_functions(self, features: Features) -> Array:
        """Return the kernel values with the training end vertices."""
        return cast(self.end.rows(features), numpy_dtype(self.a))

    @cached_property
    def core(self) -> Any:
        """The dual coefficients, a row for each start vertex and a column for each end vertex; equal edges add up."""
        shape = (len(self.graph.used_start), len(self.graph.used_end))
        return self.backend.scattered(self.a, self.graph.start, self.graph.end, shape)

    def _cores(self, coefficients: Array) -> Array:
        shape = (len(self.graph.used_start), len(self.graph.used_end))
        return self.backend.scattered_all(coefficients, self.graph.start, self.graph.end, shape)

    @property
    def coefficients(self) -> Array:
        """The dual coefficients of the support edges."""
        return self.a

    def has_functions_of(self, other: Predictor) -> bool:
        """Return whether both have the same training edges and kernels."""
        return isinstance(other, DualPredictor) and other.kernel is self.kernel and other.graph is self.graph

    def with_functions_of(self, other: Predictor) -> "DualPredictor":
        """Return the same with the kernels and edges of another predictor."""
        assert isinstance(other, DualPredictor)
        same = copy.copy(self)
        same.kernel, same.graph = other.kernel, other.graph
        return same

    def _moved(self, backend: Backend) -> "DualPredictor":
        kernel, a = self.kernel.on(backend), placed(self.a, backend)
        return DualPredictor(kernel, self.graph.on(backend), a, self.n_threads)

    def _operator(self, graph: Graph, first: Array, second: Array, once: bool) -> Any:
        return self._kron(second, first, once)[graph.pair, self.graph.pair]


class PrimalPredictor(ProductPredictor):
    """Features of vertices, and a coefficient for each pair of a start and an end feature."""

    def __init__(
        self, kernel: EdgeKernel, start_map: FeatureMap, end_map: FeatureMap, w: Array, n_threads: int | None
    ) -> None:
        super().__init__(kernel, n_threads)
        self.start_map, self.end_map, self.w = start_map, end_map, w

    def start_functions(self, features: Features) -> Any:
        """Return the features of start vertices."""
        return self._values(self.start_map, features)

    def end_functions(self, features: Features) -> Any:
        """Return the features of end vertices."""
        return self._values(self.end_map, features)

    def _values(self, feature_map: FeatureMap, features: Features) -> Any:
        values = feature_map.transform(features)
        if issparse(values) and not self.backend.holds(values):
            values = placed(values.toarray(), self.backend)
        return cast(values, numpy_dtype(self.w))

    def has_functions_of(self, other: Predictor) -> bool:
        """Return whether both have the same feature maps."""
        if not isinstance(other, PrimalPredictor):
            return False
        return other.start_map is self.start_map and other.end_map is self.end_map

    def with_functions_of(self, other: Predictor) -> "PrimalPredictor":
        """Return the same with the feature maps of another predictor."""
        assert isinstance(other, PrimalPredictor)
        return PrimalPredictor(other.kernel, other.start_map, other.end_map, self.w, self.n_threads)

    def _moved(self, backend: Backend) -> "PrimalPredictor":
        kernel = self.kernel.on(backend)
        maps = _map_on(self.start_map, kernel.start), _map_on(self.end_map, kernel.end)
        return PrimalPredictor(kernel, *maps, placed(self.w, backend), self.n_threads)

    @cached_property
    def core(self) -> Array:
        """The primal coefficients, a row for each start feature and a column for each end feature."""
        return self.w.reshape(self.end_map.rank, self.start_map.rank).T

    def _cores(self, coefficients: Array) -> Array:
        return coefficients.reshape(-1, self.end_map.rank, self.start_map.rank).swapaxes(1, 2)

    @property
    def coefficients(self) -> Array:
        """The primal coefficients, ordered by end feature, then by start feature."""
        return self.w

    def _operator(self, graph: Graph, first: Array, second: Array, once: bool) -> Any:
        return self._kron(second, first, once)[graph.pair, :]


def _map_on(feature_map: FeatureMap, there: VertexKernel) -> FeatureMap:
    """Return the feature map of a vertex kernel that was moved; features of training vertices are no longer needed."""
    moved = copy.copy(feature_map)
    moved.train = np.broadcast_to(0.0, (0, feature_map.rank))
    if isinstance(moved, MatrixMap | SpectralMap):
        moved.vertex_kernel = there
    if isinstance(moved, CholeskyMap):
        moved.X, moved.corner = there.vertices, placed(moved.corner, there.backend)
    if isinstance(moved, SpectralMap):
        moved.inverse = placed(moved.inverse, there.backend)
    return moved
