"""The stage for a product with an identity matrix: only edges that share a vertex are multiplied."""

import numpy as np

from vectrick._typing import Array
from vectrick.backends.memory import Workspace
from vectrick.backends.product_path import Allocation, Matrix, Pair, ProblemLike, Stage
from vectrick.backends.rates import Rates


class MatchedRows(Stage):
    """``Σ A[p, r] v`` over the column edges (r, s) with the vertex s of the row edge (p, s), for every row edge.

    It takes ``Σₛ rowsₛ · colsₛ``, for rowsₛ row edges and colsₛ column edges of vertex s. The whole product with ``A``
    takes the number of edges times the number of vertices.
    """

    label = "products of edges that share a vertex"

    def __init__(self, problem: ProblemLike, A: Matrix, rows: Pair, cols: Pair, n_shared: int) -> None:
        self.problem, self.A, self.n_shared = problem, A, n_shared
        self.rows, self.cols = rows, cols
        counts = [np.bincount(pair[1], minlength=n_shared).astype(np.float64) for pair in (rows, cols)]
        self.n_products = float(counts[0] @ counts[1])
        self.row_order: Array
        self.col_order: Array

    def seconds(self, rates: Rates) -> float:
        """Return the time of the products; each takes about half as long as a look-up."""
        n_edges = len(self.rows[0]) + len(self.cols[0])
        return self.n_products / (2 * rates.take * self.problem.n_threads) + n_edges / rates.take + rates.dispatch

    def allocations(self) -> list[Allocation]:
        """Return the edges in order, and the values and products in that order."""
        n_rows, n_cols, size = len(self.rows[0]), len(self.cols[0]), self.problem.dtype.itemsize
        return [
            Allocation(f"copy of {self.A.name}", self.A.copy_bytes(contiguous=True)),
            Allocation("edges by vertex", 12 * (n_rows + n_cols) + 16 * self.n_shared),
            Allocation("sorting of the edges", 24 * max(n_rows, n_cols), passing=True),
            Allocation("values by vertex", n_cols * size, "values"),
            Allocation("products by vertex", n_rows * size, "products"),
        ]

    def prepare(self) -> None:
        """Sort the edges by the vertex that they may share, and then by the other vertex."""
        self.row_order, self.col_order = (np.lexsort(pair) for pair in (self.rows, self.cols))
        self._lay_out()

    def adopt(self, other: "MatchedRows", rows: Array | None, cols: Array | None) -> None:
        """Keep the order of the edges."""
        self.row_order, self.col_order = _kept(other.row_order, rows), _kept(other.col_order, cols)
        self._lay_out()

    def _lay_out(self) -> None:
        self.held, self.row_ends = self._sorted(self.rows, self.row_order)
        self.contracted, self.col_ends = self._sorted(self.cols, self.col_order)
        self.A.array(contiguous=True)

    def _sorted(self, pair: Pair, order: Array) -> tuple[Array, Array]:
        ends = np.zeros(self.n_shared + 1, np.int64)
        np.cumsum(np.bincount(pair[1], minlength=self.n_shared), out=ends[1:])
        return pair[0][order].astype(np.int32), ends

    def run(self, x: Array, space: Workspace, target: Array) -> Array:
        """Return the result in the order of the edges."""
        from vectrick.backends.cpu.compiled.matched_kernel import matched_product

        values = space.get("values", len(x), x.dtype)
        np.take(x, self.col_order, out=values, mode="clip")
        products = space.get("products", len(target), x.dtype)
        edges = (self.held, self.row_ends), (self.contracted, self.col_ends)
        matched_product(self.A.array(contiguous=True), edges, values, products, self.problem.n_threads)
        target[self.row_order] = products
        return target


def _kept(order: Array, mask: Array | None) -> Array:
    """Return the order of the edges in a mask, renumbered."""
    if mask is None:
        return order
    places = np.cumsum(mask) - 1
    return np.asarray(places[order[mask[order]]])
