"""Dense products by tiles of a matrix that would not fit as a whole: each tile is made, used, and overwritten.

One stage combines a scatter and a matrix product, the other a matrix product and a gather. In float32 a tile to gather
from is the sum of three TF32 products. They have nearly the precision of a float32 product in half the time: each
number is the sum of two numbers that TF32 represents exactly or nearly so, and only the product of the two small
numbers is left out. Sums over many edges use float32, because the tensor cores truncate their sums. Over 100 000 terms
this would cost two more digits.
"""

import itertools
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from vectrick._typing import Tensor
from vectrick.backends.product_path import Allocation, Matrix, ProblemLike
from vectrick.backends.rates import Rates
from vectrick.backends.torch import products
from vectrick.backends.torch.devices import float32_products, load_torch
from vectrick.backends.torch.ordering import has_equal, is_ordered, parts_of, places_of_equal
from vectrick.backends.torch.product_stages import DeviceStage
from vectrick.backends.torch.workspace import TensorSpace

TILE_BYTES = 1 << 30  # of a tile; larger matrices are divided into tiles
_FEW, _ROUNDS = 0.2, 12  # largest share of repeated edges, and number of repeats of a cell, that are added in rounds
_THREE = 0.5  # the time of three TF32 products relative to one float32 product


@dataclass(frozen=True)
class TileEdges:
    """Edges in the order of the rows of a matrix, and their cells within blocks of ``height`` rows."""

    order: "Tensor | None"  # the edge at each place; None for their own order
    index: Tensor  # within the block, int32
    bounds: list[int]  # of the blocks
    height: int
    flipped: bool  # whether the rows are the second vertices
    distinct: bool  # whether no two edges share a cell
    again: "list[Again]" = field(default_factory=list)  # edges whose cell has an earlier edge, if they are separate
    lengths: "Tensor | None" = None  # the number of edges of each cell, if they were merged

    @classmethod
    def of(cls, i: Tensor, j: Tensor, n_i: int, n_j: int, size: int, apart: bool) -> "TileEdges":
        """Order the edges, if they are not ordered by either vertex; ``apart`` separates or merges equal edges."""
        torch = load_torch()
        straight = is_ordered(i, j)
        flipped = not straight and is_ordered(j, i)
        major, minor, n_major, n_minor = (j, i, n_j, n_i) if flipped else (i, j, n_i, n_j)
        order = lengths = rounds = None
        if not (straight or flipped):
            order = (major.long() * n_minor + minor).sort(stable=True).indices.int()
            major, minor = major[order], minor[order]
        distinct = not has_equal(major, minor)
        if apart and not distinct:
            rounds = _rounds(places_of_equal(major, minor), len(major))
            if rounds is None:
                cells, lengths = (major.long() * n_minor + minor).unique_consecutive(return_counts=True)
                major, minor = (cells // n_minor).int(), (cells % n_minor).int()
        height = min(_height(n_minor, size), max(1, n_major))
        starts = torch.arange(0, n_major, height, device=major.device, dtype=major.dtype)
        bounds = [*torch.searchsorted(major, starts).tolist(), len(major)]
        index = torch.empty_like(major, dtype=torch.int32)
        for part in parts_of(len(major)):
            index[part] = (major[part] % height) * n_minor + minor[part]
        again = [Again.of(places, index, bounds) for places in rounds or []]
        for later in again:
            index[later.places] = height * n_minor  # a cell behind the tile
        return cls(order, index, bounds, height, flipped, distinct, again, lengths)

    def blocks(self, n_major: int) -> Iterator[tuple[slice, slice]]:
        """Yield the rows of each block and its edges."""
        for number, (low, high) in enumerate(itertools.pairwise(self.bounds)):
            first = number * self.height
            yield slice(first, min(first + self.height, n_major)), slice(low, high)


@dataclass(frozen=True)
class Again:
    """Edges of different cells, each after an earlier edge in the same cell."""

    places: Tensor
    index: Tensor  # of their cells within the block
    bounds: list[int]  # of the blocks

    @classmethod
    def of(cls, places: Tensor, index: Tensor, bounds: list[int]) -> "Again":
        """Return the edges at the given places."""
        torch = load_torch()
        ends = torch.searchsorted(places, torch.tensor(bounds, device=places.device))
        return cls(places, index[places].long(), ends.tolist())

    def add(self, values: Tensor, block: int, cells: Tensor) -> None:
        """Add the values of the edges in a block to their cells."""
        part = slice(self.bounds[block], self.bounds[block + 1])
        index = self.index[part]
        cells[index] = cells[index] + values[self.places[part]]

    def read(self, cells: Tensor, block: int, values: Tensor) -> None:
        """Write the cells of the edges in a block to their values."""
        part = slice(self.bounds[block], self.bounds[block + 1])
        values[self.places[part]] = cells[self.index[part]]


def _rounds(places: Tensor, n_edges: int) -> list[Tensor] | None:
    """Return the second edges of all cells, then the third, and so on; None if there are too many."""
    torch = load_torch()
    if len(places) > _FEW * n_edges:
        return None
    follows = torch.zeros_like(places, dtype=torch.bool)
    follows[1:] = places[1:] == places[:-1] + 1
    rounds: list[Tensor] = []
    now = ~follows
    while bool(now.any()):
        if len(rounds) == _ROUNDS:
            return None
        rounds.append(places[now])
        now = torch.cat([now[:1] & False, now[:-1] & follows[1:]])
    return rounds


def _height(n_minor: int, size: int) -> int:
    """Return the number of rows of a tile."""
    return max(1, min(TILE_BYTES // max(1, n_minor * size), (2**31 - 1) // max(1, n_minor)))


def split(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return each number as the sum of two: one with the 11 bits of TF32, and the remainder."""
    torch, x = load_torch(), x.contiguous()
    high = ((x.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)
    return high, x - high


def _in_three(x: Tensor, fast: bool) -> bool:
    return bool(x.is_cuda) and x.dtype == load_torch().float32 and not fast


def _products(x: Tensor, fast: bool) -> AbstractContextManager[None]:
    """Return a context with the precision of matrix products."""
    return float32_products(fast) if x.is_cuda else nullcontext()


class TileStage(DeviceStage):
    """A stage that works tile by tile; ``shape`` is the shape of the matrix that is divided."""

    joined = False  # whether many edges that share a cell may be merged
    edges: TileEdges

    def __init__(self, problem: ProblemLike, F: Matrix, edges: tuple[Tensor, Tensor], shape: tuple[int, int]) -> None:
        super().__init__(problem)
        self.F, self.shape = F, shape
        self.i, self.j = edges

    def prepare(self) -> None:
        """Order the edges."""
        what, key = (self.i, self.j, *self.shape, self.size), ("tiles", id(self.i), id(self.j), self.shape)
        self.edges = self.problem.shared(key, lambda: TileEdges.of(*what, apart=True))
        if self.edges.lengths is not None and not self.joined:
            self.edges = self.problem.shared((*key, "each"), lambda: TileEdges.of(*what, apart=False))
        self.F.array()

    def allocations(self) -> list[Allocation]:
        """Return the order of the edges, a tile, and the memory for sorting."""
        n_edges = len(self.i)
        n_sorted = 0 if self._are_ordered() else n_edges
        return [
            Allocation(f"copy of {self.F.name}", self.F.copy_bytes(contiguous=False)),
            Allocation("cells of the edges", 4 * n_edges + 4 * n_sorted, f"tiles {id(self.i)} {id(self.j)}"),
            Allocation("ordering of the edges", 24 * n_sorted, passing=True),
            Allocation("values in order", self.size * n_sorted, "values"),
            Allocation("tile", min(TILE_BYTES, self._bytes(*self.shape)), "tile"),
        ]

    def _are_ordered(self) -> bool:
        key = ("ordered", id(self.i), id(self.j))
        ordered: bool = self.problem.shared(key, lambda: is_ordered(self.i, self.j) or is_ordered(self.j, self.i))
        return ordered

    def _seconds(self, rates: Rates, width: int, share: float) -> float:
        """Return the time of the matrix products and of a pass over the tiles."""
        cells = self.shape[0] * self.shape[1]
        return share * 2 * cells * width / rates.gemm + cells * self.size / rates.move

    def _sides(self) -> tuple[int, int]:
        """Return the rows and columns of the matrix as the edges are ordered."""
        return self.shape[::-1] if self.edges.flipped else self.shape

    def _tile(self, x: Tensor, space: TensorSpace) -> tuple[Tensor, Tensor]:
        """Return the cells of a tile and one behind it, and the tile."""
        n_minor = self._sides()[1]
        cells = space.get("tile", (self.edges.height * n_minor + 1,), x)
        return cells, cells[:-1].view(-1, n_minor)


class ScatterTiles(TileStage):
    """``F Vᵀ`` by tiles of V that are scattered and multiplied; V holds the vector at the column edges."""

    label = "scatter and matrix product by tiles"
    joined = True

    def seconds(self, rates: Rates) -> float:
        """Return the time of the passes over edges and tiles, and of the products."""
        return len(self.i) / rates.add_at + self._seconds(rates, self.F.shape[0], 1.0)

    def allocations(self) -> list[Allocation]:
        """Return the memory for all tiles and the result."""
        result = Allocation("matrix product", self._bytes(self.shape[1], self.F.shape[0]), "middle")
        return [*super().allocations(), result]

    def run(self, x: Tensor, space: TensorSpace, target: Tensor) -> Tensor:
        """Return the matrix; the vertices of an edge are the contracted one and the kept one."""
        edges, fast = self.edges, self.problem.fast
        values = x if edges.order is None else x[edges.order]
        if edges.lengths is not None:
            values = load_torch().segment_reduce(values, "sum", lengths=edges.lengths, unsafe=True)
        factor = self.F.array().T
        out = space.get("middle", (self.shape[1], factor.shape[1]), x).zero_()
        cells, buffer = self._tile(x, space)
        with _products(x, fast):
            for number, (rows, places) in enumerate(edges.blocks(self._sides()[0])):
                tile = buffer[: rows.stop - rows.start]
                tile.zero_()
                products.put(values[places], edges.index[places], cells)
                for later in edges.again:
                    later.add(values, number, cells)
                if edges.flipped:
                    out[rows].addmm_(tile, factor)
                else:
                    out.addmm_(tile.T, factor[rows])
        return out.T


class GatherTiles(TileStage):
    """The entries of ``X Fᵀ`` at the row edges, gathered tile by tile; X is the result of the stage before."""

    label = "matrix product and gather by tiles"

    def seconds(self, rates: Rates) -> float:
        """Return the time of the products, and of the passes over tiles and edges."""
        in_three = _THREE if self.size == 4 and not self.problem.fast else 1.0
        return len(self.i) / rates.take + self._seconds(rates, self.F.shape[1], in_three)

    def run(self, x: Tensor, space: TensorSpace, target: Tensor) -> Tensor:
        """Return the entries in the order of the edges."""
        torch, edges, fast = load_torch(), self.edges, self.problem.fast
        left, right = (self.F.array(), x) if edges.flipped else (x, self.F.array())
        three = _in_three(x, fast)
        if three:
            high, low = split(right)
            right = torch.cat([high, low, high], dim=1)
        found = target if edges.order is None else space.get("products", (len(target),), x)
        cells, buffer = self._tile(x, space)
        with _products(x, three or fast):
            for number, (rows, places) in enumerate(edges.blocks(self._sides()[0])):
                part = left[rows]
                if three:
                    high, low = split(part)
                    part = torch.cat([high, high, low], dim=1)
                tile = buffer[: len(part)]
                torch.mm(part, right.T, out=tile)
                products.gather(cells, edges.index[places], found[places])
                for later in edges.again:
                    later.read(cells, number, found)
        if edges.order is not None:
            target.index_copy_(0, edges.order.long(), found)
        return target
