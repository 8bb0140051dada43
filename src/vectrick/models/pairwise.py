"""Predictions of a model whose kernel of edges is a sum of pairwise kernels: for edges, and for grids in blocks."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from vectrick._cached import cached_property
from vectrick._typing import Array, Features
from vectrick.backends import Backend, backend_of
from vectrick.backends.arrays import cast, contiguous, group_sums, namespace, numpy_dtype, placed, true_places, zeros
from vectrick.backends.product_path import Pair
from vectrick.data import Edges, Graph, VertexTable
from vectrick.kernels.pairwise import VertexFactors
from vectrick.models.edge_kernel import EdgeKernel
from vectrick.models.limits import checked_features
from vectrick.models.predictor import Predictor, block_slices
from vectrick.models.vertex_kernel import VertexKernel
from vectrick.operators import ONES, Term, kron_sum
from vectrick.operators.factors import Factor

_BLOCK = 1 << 10  # rows and columns of a grid that are made symmetric at a time


class PairwisePredictor(Predictor):
    """A function of edges, ``f(d, t) = Σ aₕ κ((d, t), edge h)`` with the kernel κ of edges."""

    def __init__(self, kernel: EdgeKernel, graph: Graph, a: Array, n_threads: int | None) -> None:
        super().__init__(kernel, n_threads)
        support = true_places(a != 0)
        self.a = a[support]
        self.graph = replace(graph, start=graph.start[support], end=graph.end[support])

    def _moved(self, backend: Backend) -> "PairwisePredictor":
        kernel, a = self.kernel.on(backend), placed(self.a, backend)
        return PairwisePredictor(kernel, self.graph.on(backend), a, self.n_threads)

    @property
    def coefficients(self) -> Array:
        """The dual coefficients of the support edges."""
        return self.a

    @property
    def _train_pair(self) -> Pair:
        return self.graph.start, self.graph.end

    def operator(self, edges: Edges) -> Any:
        """Return the operator that makes predictions for edges from the vector of coefficients."""
        return self._operator_of(edges, once=False, sorted_ends=False)[0]

    def _operator_of(self, edges: Edges, once: bool, sorted_ends: bool = True) -> tuple[Any, Array | None]:
        """Return the operator, and for a kernel with a symmetry the mask of the edges that it takes reversed.

        Only one direction of each edge is then computed, so both directions agree to the last bit.
        """
        self.check(edges.start_table, edges.end_table)
        rows = _Vertices.of(edges, self.kernel.one_set)
        terms = self.kernel.terms(lambda side: self._factors(side, rows))
        start, end, turned = rows.start, rows.end, None
        if sorted_ends and self.kernel.symmetry and edges.is_one_set:
            turned, where = start > end, namespace(start).where
            start, end = where(turned, end, start), where(turned, start, end)
        limits: dict[str, Any] = {"n_threads": self.n_threads, "once": once, "device": self.backend}
        return kron_sum(terms, (start, end), self._train_pair, **limits), turned

    def _factors(self, side: VertexKernel, rows: "_Vertices") -> VertexFactors:
        parts = rows.of_side(side, self.kernel.one_set)
        values = [cast(side.rows(checked_features(table, used)), numpy_dtype(self.a)) for table, used in parts]
        kernel = values[0] if len(values) == 1 else namespace(values[0]).concatenate(values)
        return VertexFactors(kernel, lambda: self._same(side, parts))

    def _same(self, side: VertexKernel, parts: list[tuple[VertexTable, Array]]) -> Any:
        places = np.concatenate([side.places(table, used) for table, used in parts])
        known = np.flatnonzero(places >= 0)
        entries = (np.ones(len(known), numpy_dtype(self.a)), (known, places[known]))
        return csr_array(entries, (len(places), len(side.used)))

    def predict(self, edges: Edges) -> Array:
        """Return the predictions for edges."""
        if len(edges) == 0 or len(self.a) == 0:
            self.check(edges.start_table, edges.end_table)
            return zeros(len(edges), self.a)
        operator, turned = self._operator_of(edges, once=True)
        predictions: Array = operator @ self.a
        if turned is not None and self.kernel.symmetry < 0:
            predictions[turned] *= -1
            predictions[edges.start == edges.end] = 0
        return predictions

    def predict_all(self, edges: Edges, coefficients: Array) -> Array:
        """Return the predictions for edges, one row for each row of coefficients."""
        operator, turned = self._operator_of(edges, once=False)
        predictions = (operator @ coefficients.T).T
        if turned is not None and self.kernel.symmetry < 0:
            predictions[:, turned] *= -1
        return contiguous(predictions)

    # Grids

    def grid(self, start: VertexTable, end: VertexTable) -> Array:
        """Return the predictions for all pairs; for one list of vertices, they have the symmetry of the kernel."""
        out = super().grid(start, end)
        if self.kernel.symmetry and start.is_same(end):
            _symmetrise(out, self.kernel.symmetry)
        return out

    @property
    def width(self) -> int:
        """The number of kernel values of a vertex."""
        return max(len(self.start.used), len(self.end.used))

    def blocks(
        self, start: VertexTable, end: VertexTable, width: int | None = None
    ) -> Iterator[tuple[slice, slice, Array]]:
        """Yield the grid of predictions block by block."""
        self.check(start, end)
        start, end = start.on(self.backend), end.on(self.backend)
        cores = self._cores
        kept: dict[int, _Values] = {}  # the matrices of the end vertices, if all of them fit
        keep = self.fits_beside(self.width * max(1, len(self.kernel.ends)), len(end))
        for rows, all_cols in block_slices(len(start), len(end), width or self.width, self.backend):
            at_start = _Values(self, start, rows)
            left = [(at_start.times(first, core), second) for first, second, core in cores.products]
            of_start = at_start.alone(cores.at_start) + cores.constant
            for cols in all_cols:
                at_end = kept.get(cols.start) or _Values(self, end, cols)
                if keep:
                    kept[cols.start] = at_end
                block = zeros((rows.stop - rows.start, cols.stop - cols.start), self.a)
                for values, second in left:
                    block += at_end.times(second, values.T).T
                block += of_start[:, None] + at_end.alone(cores.at_end)
                yield rows, cols, block

    @cached_property
    def _cores(self) -> "_Cores":
        return _Cores(self.kernel.terms(_Names), self._train_pair, self.a)


class _Vertices:
    """The numbered vertices of edges to predict; both ends are numbered together if the model has one vertex set."""

    def __init__(self, start: Array, end: Array, parts: list[list[tuple[VertexTable, Array]]]) -> None:
        self.start, self.end, self.parts = start, end, parts

    @classmethod
    def of(cls, edges: Edges, one_set: bool) -> "_Vertices":
        """Number the vertices."""
        graph = Graph.of(edges, one_set and edges.is_one_set)
        both = [(edges.start_table, graph.used_start), (edges.end_table, graph.used_end)]
        if not one_set:
            return cls(graph.start, graph.end, [both[:1], both[1:]])
        if edges.is_one_set:
            return cls(graph.start, graph.end, [both[:1]])
        return cls(graph.start, graph.end + len(graph.used_start), [both])  # end vertices come after start vertices

    def of_side(self, side: VertexKernel, one_set: bool) -> list[tuple[VertexTable, Array]]:
        """Return the tables and their rows for which a side's kernel is computed."""
        return self.parts[0] if one_set or side.name == "start" else self.parts[1]


class _Names(VertexFactors):
    """Placeholders for the matrices of a side, in terms that have no rows yet."""

    def __init__(self, side: VertexKernel) -> None:
        super().__init__(("kernel", side), lambda: ("same", side))

    squared = cached_property(lambda self: ("squared", self.kernel[1]))


class _Cores:
    """The coefficients as matrices between the training vertices, one for each pair of factors and kind of rows."""

    def __init__(self, terms: list[Term], pair: Pair, a: Array) -> None:
        products: dict[Any, Any] = {}
        alone: tuple[dict[Any, Any], dict[Any, Any]] = ({}, {})
        self.constant = 0.0
        for given in terms:
            if given.first is ONES and given.second is ONES:
                self.constant += given.weight * float(a.sum())
                continue
            turned = given.first is ONES or (not given.has_ones and given.rows[0] > given.rows[1])
            term = given.swapped if turned else given
            if term.has_ones:
                added = term.weight * _by_vertex(a, pair[term.cols[0]], term.first)
                _add(alone[term.rows[0]], (term.first, None), added)
                continue
            core = term.weight * _matrix(a, pair[term.cols[0]], pair[term.cols[1]], term.first, term.second)
            into = products if term.rows == (0, 1) else alone[term.rows[0]]
            _add(into, (term.first, term.second), core)
        self.products = [(first, second, _dense(core)) for (first, second), core in products.items()]
        self.at_start, self.at_end = ([(*key, _dense(core)) for key, core in cores.items()] for cores in alone)


def _add(into: dict[Any, Any], key: Any, value: Any) -> None:
    into[key] = into[key] + value if key in into else value


def _n_train(factor: Features) -> int:
    return len(factor[1].used)


def _by_vertex(a: Array, vertices: Array, factor: Factor) -> Array:
    return cast(group_sums(vertices, a, _n_train(factor)), numpy_dtype(a))


def _matrix(a: Array, rows: Array, cols: Array, first: Array, second: Array) -> Any:
    shape = _n_train(first), _n_train(second)
    return backend_of(a).scattered(a, rows, cols, shape)


def _dense(core: Any) -> Any:
    return core.toarray() if issparse(core) and core.nnz > 0.05 * core.shape[0] * core.shape[1] else core


class _Values:
    """The matrices of some vertices of a grid, each made once."""

    def __init__(self, predictor: PairwisePredictor, table: VertexTable, part: slice) -> None:
        self.predictor, self.table, self.part = predictor, table, part
        self._made: dict[Any, Any] = {}

    def _of(self, factor: Any) -> Any:
        kind, side = factor
        if factor not in self._made:
            places = np.arange(self.part.start, self.part.stop)
            if kind == "same":
                same = self.predictor._same(side, [(self.table, places)])
                backend = self.predictor.backend
                self._made[factor] = same if backend.holds(same) else placed(same.toarray(), backend)
            elif kind == "squared":
                self._made[factor] = self._of(("kernel", side)) ** 2
            else:
                values = side.rows(checked_features(self.table, places))
                self._made[factor] = cast(values, numpy_dtype(self.predictor.a))
        return self._made[factor]

    def times(self, factor: Factor, matrix: Array) -> Array:
        """Return a factor of these vertices times a matrix."""
        with self.predictor.backend.exact_products():
            product = self._of(factor) @ matrix
        result: Array = product.toarray() if issparse(product) else product
        return result

    def alone(self, cores: list[tuple[Any, Any, Any]]) -> Array:
        """Return the part of the predictions that depends on each of these vertices alone."""
        total = zeros(self.part.stop - self.part.start, self.predictor.a)
        for first, second, core in cores:
            if second is None:
                total += self.times(first, core)
            else:
                total += (self.times(first, core) * self._of(second)).sum(1)
        return total


def _symmetrise(grid: Array, sign: int) -> None:
    """Make a square grid symmetric or antisymmetric to the last bit, block by block."""
    blocks = [slice(low, low + _BLOCK) for low in range(0, len(grid), _BLOCK)]
    for i, rows in enumerate(blocks):
        for cols in blocks[i:]:
            mean = 0.5 * (grid[rows, cols] + sign * grid[cols, rows].T)
            grid[rows, cols], grid[cols, rows] = mean, sign * mean.T
