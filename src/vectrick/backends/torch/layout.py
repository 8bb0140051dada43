"""The order of edges for products on a GPU: cells of a matrix, and blocks of edges that share a row."""

from dataclasses import dataclass

from vectrick._typing import DTypeLike, Tensor
from vectrick.backends.torch.devices import load_torch
from vectrick.backends.torch.ordering import is_ascending, is_ordered

_LARGEST = 2**31  # sizes from which indices need 64 bits
_BLOCK, _PROGRAMS = (1 << 8, 1 << 14), 1 << 11  # minimum and maximum of edges in a block; preferred number of blocks


def _numbers(major: Tensor, minor: Tensor, n_minor: int) -> Tensor:
    return major.long() * n_minor + minor


def _numbers_to(n: int, like: Tensor, dtype: DTypeLike | None = None) -> Tensor:
    """Return 0 to n - 1 on the device of a tensor."""
    torch = load_torch()
    return torch.arange(n, dtype=torch.int64 if dtype is None else dtype, device=like.device)


def _compact(index: Tensor, size: int) -> Tensor:
    return index.int() if size < _LARGEST else index


@dataclass(frozen=True)
class Cells:
    """The cell of each edge in a matrix, row by row; ``flipped`` if the matrix is stored as its transpose.

    A GPU is fast if neighboring edges are in neighboring cells. If the edges are ordered, the matrix is therefore
    stored in their order.
    """

    index: Tensor
    flipped: bool
    is_ascending: bool

    @classmethod
    def of(cls, i: Tensor, j: Tensor, n_i: int, n_j: int) -> "Cells":
        """Return the cells ``(i, j)`` of a matrix of n_i × n_j."""
        straight = is_ordered(i, j)
        flipped = not straight and is_ordered(j, i)
        index = _numbers(j, i, n_i) if flipped else _numbers(i, j, n_j)
        return cls(_compact(index, n_i * n_j), flipped, straight or flipped)


@dataclass(frozen=True)
class Scattering:
    """How to write a vector to cells in ascending order; values of equal cells are added."""

    index: Tensor  # distinct and ascending
    order: "Tensor | None"  # the edge at each place; None for their own order
    lengths: "Tensor | None"  # the number of edges of each cell; None for one each

    @classmethod
    def of(cls, cells: Cells) -> "Scattering":
        """Sort the cells, if they are not sorted."""
        index, order = cells.index, None
        if not cells.is_ascending:
            index, order = index.sort(stable=True)
            order = _compact(order, len(order))
        if not bool((index[1:] == index[:-1]).any()):
            return cls(index, order, None)
        index, lengths = index.unique_consecutive(return_counts=True)
        return cls(index, order, lengths)


@dataclass(frozen=True)
class EdgeBlocks:
    """Edges ordered by row, in blocks of edges of one row; a program processes one block."""

    column: Tensor
    order: "Tensor | None"  # the edge at each place; None for their own order
    position: "Tensor | None"  # the place of each edge
    row: Tensor  # of each block
    start: Tensor  # of each block, and the end of the last
    n_rows: int
    some_empty: bool  # whether a row has no edges
    shared: tuple[Tensor, Tensor] | None  # rows of several blocks, and their numbers of blocks

    @staticmethod
    def in_order(row: Tensor) -> bool:
        """Whether edges need not be sorted by these vertices."""
        return is_ascending(row)

    @classmethod
    def of(cls, row: Tensor, column: Tensor, n_rows: int, n_columns: int) -> "EdgeBlocks":
        """Sort the edges by row and column, if they are not sorted by row, and divide the rows into blocks."""
        torch = load_torch()
        order = position = None
        if not is_ascending(row):
            order = _numbers(row, column, n_columns).sort(stable=True).indices
            row, column = row[order], column[order]
            position = torch.empty_like(order)
            position[order] = _numbers_to(len(order), order)
            position = _compact(position, len(order))
            order = _compact(order, len(order))
        bounds = torch.searchsorted(row, _numbers_to(n_rows + 1, row, torch.int32))
        counts = bounds[1:] - bounds[:-1]
        size = min(max(len(row) // _PROGRAMS, _BLOCK[0]), _BLOCK[1])
        n_blocks = (counts + size - 1) // size
        of_row = _numbers_to(n_rows, row).repeat_interleave(n_blocks)
        first = n_blocks.cumsum(0) - n_blocks
        start = bounds[of_row] + (_numbers_to(len(of_row), row) - first[of_row]) * size
        several = (n_blocks > 1).nonzero().flatten()
        shared = (several, n_blocks[several]) if len(several) else None
        start = torch.cat([start, start.new_tensor([len(row)])])
        return cls(column, order, position, of_row.int(), start, n_rows, bool((counts == 0).any()), shared)


def padded(n: int) -> int:
    """Return the next multiple of eight.

    >>> padded(353), padded(360)
    (360, 360)
    """
    return -(-n // 8) * 8
