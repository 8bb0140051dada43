"""The stages of a product on the CPU: each estimates its time and memory before it runs, and is prepared once."""

import numpy as np
from scipy.sparse import csr_array

from vectrick._typing import Array
from vectrick.backends.cpu import products
from vectrick.backends.cpu.block_product import LEAST, BlockProduct, block_bytes
from vectrick.backends.cpu.layout import (
    BLOCK_BYTES,
    STRIP_BYTES,
    Blocking,
    ColumnLayout,
    RowLayout,
    column_blocking,
    row_blocking,
)
from vectrick.backends.cpu.products import Tiles
from vectrick.backends.memory import Workspace
from vectrick.backends.product_path import Allocation, BlockStage, Matrix, ProblemLike, Stage
from vectrick.backends.rates import Rates


class SparseColumns(Stage):
    """The sparse product ``E Vᵀ``; ``V`` holds the vector at the column edges."""

    label = "sparse product"

    def __init__(
        self,
        problem: ProblemLike,
        E: Matrix,
        kept: Array,
        contracted: Array,
        n_kept: int,
        by_panels: bool,
        padded: bool = False,
    ) -> None:
        self.padded = padded
        self.problem, self.E, self.kept, self.contracted, self.n_kept = problem, E, kept, contracted, n_kept
        self.size = problem.dtype.itemsize
        self.blocking = column_blocking(len(kept), n_kept, E.shape[1])
        self.by_panels = by_panels
        self.tiles = Tiles(products.whole_strips(E.shape[0], self.size), n_kept, self.size, by_panels)
        self.layout: ColumnLayout

    def seconds(self, rates: Rates) -> float:
        """Return the time of edges × rows at the sparse rate, and of a pass over the factor and the result."""
        n_edges, depth = len(self.kept), self.E.shape[1]
        rate = rates.sparse_small if self.blocking.is_small else rates.sparse_large
        moved = self.tiles.n_rows * (depth + self.n_kept) * self.size
        return 2 * n_edges * self.tiles.n_rows / rate + moved / rates.move + n_edges / rates.take + rates.dispatch

    def allocations(self) -> list[Allocation]:
        """Return the sorted edges, the values in that order, the packed strips and the result."""
        n_edges, depth = len(self.kept), self.E.shape[1]
        n_runs = min(n_edges, self.n_kept * -(-depth // self.blocking.block))
        return [
            Allocation(f"copy of {self.E.name}", self.E.copy_bytes(contiguous=True)),
            Allocation("sorted column edges", 12 * n_edges + 16 * n_runs),
            Allocation("sorting of the column edges", 32 * n_edges, passing=True),
            Allocation("values in sorted order", n_edges * self.size, "values"),
            _strips(self.problem, self.blocking, self.n_kept, depth),
            Allocation("intermediate matrix", self.tiles.n_items * self.size, "middle"),
        ]

    def prepare(self) -> None:
        """Sort the column edges."""
        self.layout = ColumnLayout.build(self.kept, self.contracted, self.n_kept, self.E.shape[1], self.blocking)
        self.E.array(contiguous=True)

    def adopt(self, other: "SparseColumns", rows: Array | None, cols: Array | None) -> None:
        """Keep the order of the edges."""
        self.blocking = other.blocking
        self.layout = other.layout if cols is None else other.layout.restrict(cols)

    def run(self, x: Array, space: Workspace, target: Array) -> Array:
        """Return the result as a buffer of tiles, or as a matrix if the tiles are stored row by row."""
        values = space.get("values", len(x), x.dtype)
        products.take(x, self.layout.order, values, self.problem.n_threads)
        out = space.get("middle", self.tiles.n_items, x.dtype)
        E = self.E.array(contiguous=True)
        products.sparse_product(E, values, self.layout, self.tiles, out, space, self.problem.n_threads)
        if self.by_panels:
            return out
        return self.tiles.rows(out) if self.padded else self.tiles.rows(out)[: E.shape[0], : self.n_kept]


def _strips(problem: ProblemLike, blocking: Blocking, n_kept: int, n_contracted: int) -> Allocation:
    """Return the allocation of the strips that the threads of a sparse product keep in the cache."""
    n_rows = blocking.chunk + products.packed_rows(blocking, -(-n_kept // blocking.chunk), n_contracted)
    return Allocation("packed strips", problem.n_threads * STRIP_BYTES * n_rows, "strips")


def _cells(which: str, major: Array, minor: Array, n_minor: int) -> Allocation:
    """Return the allocation of the cells that scatter and gather of one graph share."""
    return Allocation(f"cells of the {which} edges", 8 * len(major), f"cells {id(major)} {id(minor)} {n_minor}")


def _numbered(problem: ProblemLike, major: Array, minor: Array, n_minor: int) -> Array:
    """Return ``major * n_minor + minor``, shared by scatter and gather with the same edges."""
    key = ("cells", id(major), id(minor), n_minor, len(major))
    result: Array = problem.shared(key, lambda: major.astype(np.int64) * n_minor + minor)
    return result


def _numbering(which: str, n_edges: int) -> Allocation:
    return Allocation(f"numbering of the {which} edges", 16 * n_edges, passing=True)


class ScatterColumns(Stage):
    """``Vᵀ`` as a dense matrix with the vector at the column edges; values of repeated edges are added."""

    label = "scatter"

    def __init__(self, problem: ProblemLike, contracted: Array, kept: Array, shape: tuple[int, int]) -> None:
        self.problem, self.contracted, self.kept, self.shape = problem, contracted, kept, shape
        self.cells: Array

    def seconds(self, rates: Rates) -> float:
        """Return the time of one pass over the edges and one over the matrix."""
        moved = self.shape[0] * self.shape[1] * self.problem.dtype.itemsize
        return len(self.kept) / rates.add_at + moved / rates.move

    def allocations(self) -> list[Allocation]:
        """Return the cell of each edge, and the matrix."""
        return [
            _cells("column", self.contracted, self.kept, self.shape[1]),
            _numbering("column", len(self.kept)),
            Allocation("scattered edges", self.shape[0] * self.shape[1] * self.problem.dtype.itemsize, "outer"),
        ]

    def prepare(self) -> None:
        """Number the cells."""
        self.cells = _numbered(self.problem, self.contracted, self.kept, self.shape[1])

    def run(self, x: Array, space: Workspace, target: Array) -> Array:
        """Return the matrix."""
        flat = space.get("outer", self.shape[0] * self.shape[1], x.dtype)
        flat.fill(0)
        np.add.at(flat, self.cells, x)
        return flat.reshape(self.shape)


class AllColumns(Stage):
    """``Vᵀ`` for all columns: a view of the vector as a matrix."""

    label = "reshape"

    def __init__(self, shape: tuple[int, int], transposed: bool) -> None:
        self.shape, self.transposed = shape, transposed

    def seconds(self, rates: Rates) -> float:
        """Return zero: it is a view."""
        return 0.0

    def allocations(self) -> list[Allocation]:
        """Return nothing."""
        return []

    def run(self, x: Array, space: Workspace, target: Array) -> Array:
        """Return the view."""
        return x.reshape(self.shape[::-1]).T if self.transposed else x.reshape(self.shape)


class Multiply(Stage):
    """A dense factor times a matrix by BLAS: ``A X`` or ``X A``."""

    label = "BLAS"

    def __init__(
        self, problem: ProblemLike, A: Matrix, n_others: int, slot: str, left: bool = True, tiles: bool = False
    ) -> None:
        self.problem, self.A, self.left, self.slot = problem, A, left, slot
        rows, cols = (A.shape[0], n_others) if left else (n_others, A.shape[1])
        size = problem.dtype.itemsize
        self.shape = (rows, cols)
        self.tiles = Tiles(rows, cols, size, by_panels=False) if tiles else None
        self.n_items = self.tiles.n_items if self.tiles else rows * cols
        self.flops = 2 * rows * cols * A.shape[1 if left else 0]

    def seconds(self, rates: Rates) -> float:
        """Return the time of the flops at the matrix-multiply rate, and of a pass over the operands."""
        size = self.problem.dtype.itemsize
        moved = (self.A.shape[0] * self.A.shape[1] + 2 * self.n_items) * size
        return self.flops / rates.gemm + 0.5 * moved / rates.move + 2 * rates.dispatch  # twice, to limit BLAS

    def allocations(self) -> list[Allocation]:
        """Return the result."""
        return [
            Allocation(f"copy of {self.A.name}", self.A.copy_bytes(contiguous=False)),
            Allocation("matrix product", self.n_items * self.problem.dtype.itemsize, self.slot),
        ]

    def prepare(self) -> None:
        """Make the factor."""
        self.A.array()

    def run(self, x: Array, space: Workspace, target: Array) -> Array:
        """Return the product, as a buffer of tiles if there are ``tiles``."""
        buffer = space.get(self.slot, self.n_items, x.dtype)
        out = buffer.reshape(self.shape) if self.tiles is None else self.tiles.rows(buffer)[:, : self.shape[1]]
        left, right = (self.A.array(), x) if self.left else (x, self.A.array())
        products.dense_product(left, right, out, self.problem.n_threads)
        if self.tiles is None:
            return out
        self.tiles.rows(buffer)[:, self.shape[1] :] = 0
        return buffer


class MultiplySparse(Stage):
    """A matrix times the transpose of a sparse factor, ``X Fᵀ``, by the sparse product."""

    label = "sparse factor"

    def __init__(self, problem: ProblemLike, factor: csr_array, n_rows: int, slot: str, padded: bool = False) -> None:
        self.problem, self.factor, self.n_rows, self.slot, self.padded = problem, factor, n_rows, slot, padded
        n_kept, depth = factor.shape
        size = problem.dtype.itemsize
        self.blocking = column_blocking(factor.nnz, n_kept, depth)
        self.tiles = Tiles(products.whole_strips(n_rows, size), n_kept, size, by_panels=False)
        self.layout: ColumnLayout
        self.values: Array

    def seconds(self, rates: Rates) -> float:
        """Return the time of entries × rows at the sparse rate, and of a pass over both matrices."""
        rate = rates.sparse_small if self.blocking.is_small else rates.sparse_large
        moved: int = self.n_rows * sum(self.factor.shape) * self.problem.dtype.itemsize
        flops = 2 * int(self.factor.nnz) * self.tiles.n_rows
        return flops / rate + 2 * moved / rates.move + rates.dispatch

    def allocations(self) -> list[Allocation]:
        """Return the sorted entries, a contiguous operand, the packed strips and the result."""
        size, (n_kept, depth) = self.problem.dtype.itemsize, self.factor.shape
        n_runs = min(self.factor.nnz, n_kept * -(-depth // self.blocking.block))
        return [
            Allocation("sorted sparse factor", (16 + 2 * size) * self.factor.nnz + 16 * n_runs),
            Allocation("sorting of the sparse factor", 40 * self.factor.nnz, passing=True),
            Allocation("contiguous operand", self.n_rows * depth * size, "operand"),
            _strips(self.problem, self.blocking, n_kept, depth),
            Allocation("matrix product", self.tiles.n_items * size, self.slot),
        ]

    def prepare(self) -> None:
        """Sort the entries of the factor."""
        entries = self.factor.tocoo()
        n_kept, depth = self.factor.shape
        self.layout = ColumnLayout.build(entries.coords[0], entries.coords[1], n_kept, depth, self.blocking)
        self.values = entries.data[self.layout.order]

    def adopt(self, other: "MultiplySparse", rows: Array | None, cols: Array | None) -> None:
        """Share the sorted factor; it does not depend on the edges."""
        self.layout, self.values = other.layout, other.values

    def run(self, x: Array, space: Workspace, target: Array) -> Array:
        """Return the product, as whole rows with their padding if ``padded``."""
        if not x.flags.c_contiguous:
            operand = space.get("operand", x.size, x.dtype).reshape(x.shape)
            operand[:] = x
            x = operand
        out = space.get(self.slot, self.tiles.n_items, x.dtype)
        products.sparse_product(x, self.values, self.layout, self.tiles, out, space, self.problem.n_threads)
        rows = self.tiles.rows(out)
        return rows if self.padded else rows[: self.n_rows, : self.tiles.n_columns]


class SampledRows(Stage):
    """The sampled product ``A[held] · B[tile]`` of every row edge; ``B`` is the result of the stage before."""

    label = "sampled product"

    def __init__(self, problem: ProblemLike, A: Matrix, held: Array, tile: Array, tiles: Tiles) -> None:
        self.problem, self.A, self.held, self.tile, self.tiles = problem, A, held, tile, tiles
        self.blocking = row_blocking(len(held), A.shape[0], tiles.n_rows)
        self.layout: RowLayout
        self.tail: Array

    def seconds(self, rates: Rates) -> float:
        """Return the time of edges × columns at the sampled rate, and of a pass over both matrices."""
        n_edges, size = len(self.held), self.problem.dtype.itemsize
        rate = rates.sampled_small if self.blocking.is_small else rates.sampled_large
        padded = self.tiles.n_panels * self.tiles.panel_size
        # The rows of A are read in parts that are far apart in memory, so reading takes about twice as long.
        moved = (2 * self.A.shape[0] + self.tiles.n_rows) * padded * size
        return 2 * n_edges * padded / rate + moved / rates.move + n_edges / rates.take + rates.dispatch

    def allocations(self) -> list[Allocation]:
        """Return the sorted edges and the products in that order."""
        n_edges = len(self.held)
        tail = self.A.shape[0] * self.tiles.panel_size if self.A.shape[1] % self.tiles.panel_size else 0
        return [
            Allocation(f"copy of {self.A.name}", self.A.copy_bytes(contiguous=True)),
            Allocation("sorted row edges", 16 * n_edges + n_edges // 8),
            Allocation("sorting of the row edges", 32 * n_edges, passing=True),
            Allocation("last columns", tail * self.problem.dtype.itemsize),
            Allocation("products in sorted order", n_edges * self.problem.dtype.itemsize, "products"),
        ]

    def prepare(self) -> None:
        """Sort the row edges."""
        self.layout = RowLayout.build(self.held, self.tile, self.A.shape[0], self.tiles.n_rows, self.blocking)
        self.tail = products.padded_tail(self.A.array(contiguous=True))

    def adopt(self, other: "SampledRows", rows: Array | None, cols: Array | None) -> None:
        """Keep the order of the edges."""
        self.blocking, self.tail = other.blocking, other.tail
        self.layout = other.layout if rows is None else other.layout.restrict(rows)

    def run(self, x: Array, space: Workspace, target: Array) -> Array:
        """Return the result in the order of the edges."""
        in_order = space.get("products", len(self.layout.held), x.dtype)
        A = self.A.array(contiguous=True)
        products.sampled_product(A, self.tail, self.tiles, x, self.layout, in_order, self.problem.n_threads)
        products.take(in_order, self.layout.position, target, self.problem.n_threads)
        return target


class SparseBlock(BlockStage):
    """The sparse and the sampled product of a block of vectors that share the loads of both factors."""

    def __init__(self, first: SparseColumns, last: SampledRows) -> None:
        self.first, self.last = first, last
        self.width = BLOCK_BYTES // first.size
        self.least = round(LEAST * self.width)
        self.product: BlockProduct | None = None

    def n_bytes(self) -> int:
        """Return the bytes of the packed factor, edges in another order, a tile, and vectors in sorted order."""
        n_edges = len(self.first.kept) + len(self.last.held)
        return block_bytes(self.first.E.shape, self.first.n_kept, n_edges, self.first.size)

    def run(self, block: Array, out: Array, space: Workspace) -> None:
        """Write the product with a block of vectors."""
        if self.product is None:
            F, A = self.first.E.array(contiguous=True), self.last.A.array(contiguous=True)
            columns, rows = (self.first.kept, self.first.contracted), (self.last.held, self.last.tile)
            self.product = BlockProduct.of(F, A, columns, rows)
        self.product.run(block, out, space, self.first.problem.n_threads)


class GatherRows(Stage):
    """The entries of a matrix at the row edges."""

    label = "gather"

    def __init__(self, problem: ProblemLike, major: Array, minor: Array, n_minor: int) -> None:
        self.problem, self.major, self.minor, self.n_minor = problem, major, minor, n_minor
        self.cells: Array

    def seconds(self, rates: Rates) -> float:
        """Return the time of one pass over the edges."""
        return len(self.major) / rates.take

    def allocations(self) -> list[Allocation]:
        """Return the cell of each edge."""
        return [
            _cells("row", self.major, self.minor, self.n_minor),
            _numbering("row", len(self.major)),
        ]

    def prepare(self) -> None:
        """Number the cells."""
        self.cells = _numbered(self.problem, self.major, self.minor, self.n_minor)

    def run(self, x: Array, space: Workspace, target: Array) -> Array:
        """Return the entries."""
        np.take(x.reshape(-1), self.cells, out=target, mode="clip")
        return target


class AllRows(Stage):
    """Every entry of a matrix, in the order of the Kronecker product."""

    label = "reshape"

    def __init__(self, transposed: bool) -> None:
        self.transposed = transposed

    def seconds(self, rates: Rates) -> float:
        """Return zero: it is the same for all paths."""
        return 0.0

    def allocations(self) -> list[Allocation]:
        """Return nothing: the result is counted elsewhere."""
        return []

    def run(self, x: Array, space: Workspace, target: Array) -> Array:
        """Return the entries."""
        x = x.T if self.transposed else x
        target.reshape(x.shape)[:] = x
        return target
