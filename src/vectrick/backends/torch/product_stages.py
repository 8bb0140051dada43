"""The stages of a product on a torch device; each passes its matrix to the next as a strided view."""

from vectrick._typing import Tensor
from vectrick.backends.product_path import Allocation, Matrix, ProblemLike, Stage
from vectrick.backends.rates import Rates
from vectrick.backends.torch import products
from vectrick.backends.torch.layout import Cells, EdgeBlocks, Scattering
from vectrick.backends.torch.workspace import TensorSpace


class DeviceStage(Stage):
    """A stage on a device; for a subset of the edges it is prepared again, because that is fast on a device."""

    def __init__(self, problem: ProblemLike) -> None:
        self.problem = problem
        self.size = problem.dtype.itemsize

    def _cells(self, i: Tensor, j: Tensor, n_i: int, n_j: int) -> Cells:
        key = ("cells", id(i), id(j), n_i, n_j)
        cells: Cells = self.problem.shared(key, lambda: Cells.of(i, j, n_i, n_j))
        return cells

    def _blocks(self, row: Tensor, column: Tensor, n_rows: int, n_columns: int) -> EdgeBlocks:
        key = ("blocks", id(row), id(column), n_rows, n_columns)
        blocks: EdgeBlocks = self.problem.shared(key, lambda: EdgeBlocks.of(row, column, n_rows, n_columns))
        return blocks

    def _in_order(self, vertices: Tensor) -> bool:
        """Whether the edges are ordered by these vertices, so that no sorting is needed."""
        in_order: bool = self.problem.shared(("order", id(vertices)), lambda: EdgeBlocks.in_order(vertices))
        return in_order

    def _bytes(self, n_rows: int, n_cols: int) -> int:
        return n_rows * n_cols * self.size


class ScatterColumns(DeviceStage):
    """``Vᵀ`` as a dense matrix with the vector at the column edges; values of repeated edges are added."""

    label = "scatter"

    def __init__(self, problem: ProblemLike, contracted: Tensor, kept: Tensor, shape: tuple[int, int]) -> None:
        super().__init__(problem)
        self.contracted, self.kept, self.shape = contracted, kept, shape
        self.cells: Cells
        self.how: Scattering

    def seconds(self, rates: Rates) -> float:
        """Return the time of one pass over the edges; cells without edges stay zero from one product to the next."""
        return len(self.kept) / rates.add_at + rates.dispatch

    def allocations(self) -> list[Allocation]:
        """Return the cell of each edge, and the matrix."""
        n_edges = len(self.kept)
        return [
            Allocation("cells of the column edges", 8 * n_edges, f"cells {id(self.contracted)} {id(self.kept)}"),
            Allocation("sorting of the column edges", 40 * n_edges, passing=True),
            Allocation("scattered edges", self._bytes(*self.shape), "grid"),
        ]

    def prepare(self) -> None:
        """Number the cells and sort them."""
        self.cells = self._cells(self.contracted, self.kept, *self.shape)
        self.how = self.problem.shared(("scattering", id(self.cells)), lambda: Scattering.of(self.cells))

    def run(self, x: Tensor, space: TensorSpace, target: Tensor) -> Tensor:
        """Return the matrix."""
        grid = space.get("grid", self.shape[::-1] if self.cells.flipped else self.shape, x, zero=True)
        products.scatter(x, self.how, grid.view(-1))
        return grid.T if self.cells.flipped else grid


class AllColumns(DeviceStage):
    """``Vᵀ`` for all columns: the vector as a matrix, padded with zeros like the factors."""

    label = "reshape"

    def __init__(self, problem: ProblemLike, shape: tuple[int, int], transposed: bool) -> None:
        super().__init__(problem)
        self.transposed = transposed  # the vector holds the matrix column by column
        self.shape = shape[::-1] if transposed else shape
        self.sizes = (problem.M.size[1], problem.N.size[1])  # the vector has the columns of M first

    def seconds(self, rates: Rates) -> float:
        """Return the time of copying the vector to a padded matrix, even if it can be a view."""
        return 2 * self.shape[0] * self.shape[1] * self.size / rates.move + rates.dispatch

    def allocations(self) -> list[Allocation]:
        """Return the matrix if it cannot be a view."""
        return [Allocation("columns as a matrix", 0 if self.shape == self.sizes else self._bytes(*self.shape), "grid")]

    def run(self, x: Tensor, space: TensorSpace, target: Tensor) -> Tensor:
        """Return the matrix."""
        matrix = x.view(self.sizes)
        if self.shape != self.sizes:
            grid = space.get("grid", self.shape, x, zero=True)
            grid[: self.sizes[0], : self.sizes[1]] = matrix
            matrix = grid
        return matrix.T if self.transposed else matrix


class Multiply(DeviceStage):
    """A dense factor times a matrix: ``A X`` or ``X A``; ``flipped`` stores the transpose of the result."""

    label = "matrix product"

    def __init__(self, problem: ProblemLike, A: Matrix, n_others: int, slot: str, left: bool = True) -> None:
        super().__init__(problem)
        self.A, self.left, self.slot, self.flipped = A, left, slot, False
        self.shape = (A.shape[0], n_others) if left else (n_others, A.shape[1])
        self.depth = A.shape[1 if left else 0]

    def seconds(self, rates: Rates) -> float:
        """Return the longer time of the flops at the matrix-multiply rate and of a pass over the operands."""
        (rows, cols), depth = self.shape, self.depth
        moved = (rows * cols + rows * depth + cols * depth) * self.size
        return max(2 * rows * cols * depth / rates.gemm, moved / rates.move) + rates.dispatch

    def allocations(self) -> list[Allocation]:
        """Return the result."""
        return [
            Allocation(f"copy of {self.A.name}", self.A.copy_bytes(contiguous=False)),
            Allocation("matrix product", self._bytes(*self.shape), self.slot),
        ]

    def prepare(self) -> None:
        """Make the factor."""
        self.A.array()

    def run(self, x: Tensor, space: TensorSpace, target: Tensor) -> Tensor:
        """Return the product."""
        left, right = (self.A.array(), x) if self.left else (x, self.A.array())
        if self.flipped:
            left, right = right.T, left.T
        out = space.get(self.slot, (left.shape[0], right.shape[1]), x)
        products.matrix_product(left, right, out, self.problem.fast)
        return out.T if self.flipped else out


class SparseColumns(DeviceStage):
    """The sparse product ``E Vᵀ``, stored as its transpose; ``V`` holds the vector at the column edges."""

    label = "sparse product"

    def __init__(self, problem: ProblemLike, E: Matrix, kept: Tensor, contracted: Tensor, n_kept: int) -> None:
        super().__init__(problem)
        self.E, self.kept, self.contracted, self.n_kept = E.T, kept, contracted, n_kept
        self.blocks: EdgeBlocks

    def seconds(self, rates: Rates) -> float:
        """Return the time of edges × columns at the sparse rate, and of a pass over the factor and the result."""
        n_edges, (depth, width) = len(self.kept), self.E.shape
        moved = (depth + self.n_kept) * width * self.size
        return 2 * n_edges * width / rates.sparse_large + n_edges / rates.take + moved / rates.move + rates.dispatch

    def allocations(self) -> list[Allocation]:
        """Return the sorted edges, the values in that order, and the result."""
        n_edges = 0 if self._in_order(self.kept) else len(self.kept)  # edges to sort
        return [
            Allocation(f"copy of {self.E.name}", self.E.copy_bytes(contiguous=True)),
            Allocation("sorted column edges", 12 * n_edges, f"blocks {id(self.kept)} {id(self.contracted)}"),
            Allocation("sorting of the column edges", 40 * n_edges, passing=True),
            Allocation("values in sorted order", n_edges * self.size, "values"),
            Allocation("intermediate matrix", self._bytes(self.n_kept, self.E.shape[1]), "middle"),
        ]

    def prepare(self) -> None:
        """Sort the column edges."""
        self.blocks = self._blocks(self.kept, self.contracted, self.n_kept, self.E.shape[0])
        self.E.array(contiguous=True)

    def run(self, x: Tensor, space: TensorSpace, target: Tensor) -> Tensor:
        """Return the result, as a view of its transpose."""
        order = self.blocks.order
        values = x if order is None else products.taken(x, order, space.get("values", (len(x),), x))
        out = space.get("middle", (self.n_kept, self.E.shape[1]), x)
        products.sparse_product(self.E.array(contiguous=True), values, self.blocks, out)
        return out.T


class SampledRows(DeviceStage):
    """The sampled product ``A[held] · B[tile]`` of every row edge; ``B`` is the result of the stage before."""

    label = "sampled product"

    def __init__(self, problem: ProblemLike, A: Matrix, held: Tensor, tile: Tensor, n_tile: int, turned: bool) -> None:
        super().__init__(problem)
        self.A, self.held, self.tile, self.n_tile, self.turned = A, held, tile, n_tile, turned
        self.blocks: EdgeBlocks
        self.swapped: bool

    def seconds(self, rates: Rates) -> float:
        """Return the time of edges × columns at the sampled rate, and of a pass over both matrices."""
        n_edges, (n_held, width) = len(self.held), self.A.shape
        moved = (n_held + (3 if self.turned else 1) * self.n_tile) * width * self.size
        return 2 * n_edges * width / rates.sampled_large + n_edges / rates.take + moved / rates.move + rates.dispatch

    def allocations(self) -> list[Allocation]:
        """Return the sorted edges, the products in that order, and the matrix with contiguous rows."""
        sorted_already = self._in_order(self.held) or self._in_order(self.tile)
        n_edges = 0 if sorted_already else len(self.held)  # edges to sort
        return [
            Allocation(f"copy of {self.A.name}", self.A.copy_bytes(contiguous=True)),
            Allocation("sorted row edges", 12 * n_edges),
            Allocation("sorting of the row edges", 40 * n_edges, passing=True),
            Allocation("products in sorted order", n_edges * self.size, "products"),
            Allocation("turned matrix", self._bytes(self.n_tile, self.A.shape[1]) if self.turned else 0, "turned"),
        ]

    def prepare(self) -> None:
        """Sort the row edges by either of their vertices, because a dot product is symmetric."""
        self.swapped = not self._in_order(self.held) and self._in_order(self.tile)
        if self.swapped:
            self.blocks = self._blocks(self.tile, self.held, self.n_tile, self.A.shape[0])
        else:
            self.blocks = self._blocks(self.held, self.tile, self.A.shape[0], self.n_tile)
        self.A.array(contiguous=True)

    def run(self, x: Tensor, space: TensorSpace, target: Tensor) -> Tensor:
        """Return the result in the order of the edges."""
        if x.stride(1) != 1:
            x = space.get("turned", tuple(x.shape), x).copy_(x)
        A = self.A.array(contiguous=True)
        position = self.blocks.position
        in_order = target if position is None else space.get("products", (len(target),), x)
        left, right = (x, A) if self.swapped else (A, x)
        products.sampled_product(left, right, self.blocks, in_order)
        return target if position is None else products.taken(in_order, position, target)


class GatherRows(DeviceStage):
    """The entries of a matrix at the row edges; the stage before stores the matrix in the order of the edges."""

    label = "gather"

    def __init__(self, problem: ProblemLike, i: Tensor, j: Tensor, shape: tuple[int, int], before: Multiply) -> None:
        super().__init__(problem)
        self.i, self.j, self.shape, self.before = i, j, shape, before
        self.cells: Cells

    def seconds(self, rates: Rates) -> float:
        """Return the time of one pass over the edges."""
        return len(self.i) / rates.take + rates.dispatch

    def allocations(self) -> list[Allocation]:
        """Return the cell of each edge."""
        n_edges = len(self.i)
        return [
            Allocation("cells of the row edges", 8 * n_edges, f"cells {id(self.i)} {id(self.j)}"),
            Allocation("numbering of the row edges", 24 * n_edges, passing=True),
        ]

    def prepare(self) -> None:
        """Number the cells."""
        self.cells = self._cells(self.i, self.j, *self.shape)
        self.before.flipped = self.cells.flipped

    def run(self, x: Tensor, space: TensorSpace, target: Tensor) -> Tensor:
        """Return the entries."""
        matrix = x.T if self.cells.flipped else x
        products.gather(matrix.view(-1), self.cells.index, target)
        return target


class AllRows(DeviceStage):
    """Every entry of a matrix, in the order of the Kronecker product."""

    label = "reshape"

    def __init__(self, problem: ProblemLike, transposed: bool) -> None:
        super().__init__(problem)
        self.transposed = transposed

    def seconds(self, rates: Rates) -> float:
        """Return zero: it is the same for all paths."""
        return 0.0

    def allocations(self) -> list[Allocation]:
        """Return nothing: the result is counted elsewhere."""
        return []

    def run(self, x: Tensor, space: TensorSpace, target: Tensor) -> Tensor:
        """Return the entries."""
        n_rows, n_cols = self.problem.M.size[0], self.problem.N.size[0]
        x = x.T if self.transposed else x
        target.view(n_rows, n_cols).copy_(x[:n_rows, :n_cols])
        return target
