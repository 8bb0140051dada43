"""A block of edges: the edges of one partition, sorted for fast passes, in eight bytes each.

A pass processes the vertices of one side, its *rows*, and sums values of the other side, its *columns*, over their
edges. Columns are divided into tiles whose features fit into the cache; in a tile, edges are sorted by row. The
position of a column in its tile takes two bytes, and so does the position of a row among 65 536. A label takes four
bytes if they hold it exactly.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vectrick._typing import Array

ROW_TILE = 1 << 16  # rows of a tile, so that a place in a tile takes 16 bits
_NARROW, _WIDE = 1 << 13, 1 << 16  # columns of a tile
_RUN = 4  # edges of a row in a tile that outweigh the cost of loading the row
_COUNTERS = 4  # counters for each edge, up to which counting is the fastest way to sort
_SAMPLE = 1000  # values that are checked first
_SEGMENT, _MOST_SEGMENTS = 1 << 15, 16  # fewest edges for another thread, and most threads for a block


@dataclass(frozen=True, eq=False)  # blocks are compared by identity
class EdgeBlock:
    """Edges of one partition.

    Attributes
    ----------
    row, col : array
        Positions in the tile, unsigned 16-bit, in sorted order.
    label, weight : array
        In the same order; None if there are none.
    pieces : array
        A row for each run of edges in one tile and one segment: segment, first row and first column of the tile,
        first edge, last edge + 1. Segments divide the rows, so that threads can share a block.
    rows : (int, int)
        The first row with edges, and the last row with edges + 1.
    """

    row: Array
    col: Array
    label: Array | None
    weight: Array | None
    pieces: Array
    rows: tuple[int, int]

    def __len__(self) -> int:
        return len(self.row)

    @property
    def n_segments(self) -> int:
        """The number of segments."""
        return int(self.pieces[:, 0].max()) + 1 if len(self.pieces) else 0

    @property
    def arrays(self) -> tuple[Array | None, ...]:
        """The long arrays."""
        return self.row, self.col, self.label, self.weight

    @property
    def n_bytes(self) -> int:
        """The bytes of the long arrays."""
        return sum(array.nbytes for array in self.arrays if array is not None)

    def positions(self) -> tuple[Array, Array]:
        """Return the rows and columns of all edges as vertices."""
        rows, cols = np.empty(len(self), np.int32), np.empty(len(self), np.int32)
        for _, row0, col0, first, stop in self.pieces.tolist():
            np.add(self.row[first:stop], row0, out=rows[first:stop], casting="unsafe", dtype=np.int32)
            np.add(self.col[first:stop], col0, out=cols[first:stop], casting="unsafe", dtype=np.int32)
        return rows, cols

    @classmethod
    def of(
        cls, rows: Array, cols: Array, label: Array | None, weight: Array | None, shape: tuple[int, int]
    ) -> "EdgeBlock":
        """Sort edges into a block; ``shape`` holds the numbers of vertices of rows and of columns.

        >>> import numpy as np
        >>> block = EdgeBlock.of(np.array([2, 0]), np.array([1, 0]), np.array([5.0, 4.0]), None, (3, 2))
        >>> block.positions(), block.label
        ((array([0, 2], dtype=int32), array([0, 1], dtype=int32)), array([4., 5.], dtype=float32))
        """
        return cls.placed(rows, cols, label, weight, shape)[0]

    @classmethod
    def placed(
        cls, rows: Array, cols: Array, label: Array | None, weight: Array | None, shape: tuple[int, int]
    ) -> tuple["EdgeBlock", Array]:
        """Sort edges into a block; return it, and the place of each edge in it."""
        n, width = len(rows), _width(len(rows), shape)
        dtypes = np.uint16, np.uint16, _compact_type(label), _compact_type(weight)
        row, col, labels, weights = in_one_buffer(n, dtypes)
        if not n:
            return cls(row, col, labels, weights, np.empty((0, 5), np.int64), (0, 0)), np.empty(0, np.int64)
        n_tiles = -(-shape[1] // width)
        if n_tiles * shape[0] <= _COUNTERS * n:
            pieces, places = _sorted_by_counting(rows, cols, shape[0], n_tiles, width, row, col)
        else:
            pieces, places = _sorted_by_digits(rows, cols, shape[0], n_tiles, width, row, col)
        for values, array in ((label, labels), (weight, weights)):
            if values is not None:
                array[places] = values
        return cls(row, col, labels, weights, pieces, (int(rows.min()), int(rows.max()) + 1)), places


def _width(n_edges: int, shape: tuple[int, int]) -> int:
    """Return the number of columns of a tile: few enough for the cache, but enough for runs of edges of a row."""
    width = _NARROW
    while width < _WIDE and n_edges * width < _RUN * shape[0] * shape[1]:
        width *= 2
    return width


def _sorted_by_counting(
    rows: Array, cols: Array, n_rows: int, n_tiles: int, width: int, row: Array, col: Array
) -> tuple[Array, Array]:
    """Write sorted edges to ``row`` and ``col``; return the pieces, and the place of each edge."""
    from vectrick.backends.cpu.sorting import cell_starts, place_edges  # compiled code

    starts = cell_starts(rows, cols, n_rows, n_tiles, width)
    cells, bounds = _cells(rows)
    cuts = [starts[tile * n_rows + np.append(cells, n_rows)].astype(np.int64) for tile in range(n_tiles)]
    places = np.empty(len(rows), np.uint32)
    place_edges(rows, cols, n_rows, ROW_TILE - 1, width - 1, width, starts, row, col, places)
    return _pieces(cells, bounds, cuts, range(n_tiles), width), places


def _sorted_by_digits(
    rows: Array, cols: Array, n_rows: int, n_tiles: int, width: int, row: Array, col: Array
) -> tuple[Array, Array]:
    """Do the same as `_sorted_by_counting` if there are far more cells than edges."""
    from vectrick.backends.cpu.sorting import radix_argsort  # compiled code

    order = radix_argsort(rows.astype(np.uint32), n_rows)
    order = order[radix_argsort((cols[order] // width).astype(np.uint32), n_tiles)]
    ordered, tiles = rows[order], cols[order] // width
    # Tiles begin at multiples of powers of two, so the place in a tile is the low bits.
    row[:], col[:] = ordered & (ROW_TILE - 1), cols[order] & (width - 1)
    places = np.empty(len(rows), np.int64)
    places[order] = np.arange(len(rows))
    cells, bounds = _cells(rows)
    firsts = np.flatnonzero(np.diff(tiles, prepend=-1))
    stops = np.append(firsts[1:], len(rows))
    cuts = [
        first + np.append(np.searchsorted(ordered[first:stop], cells), stop - first)
        for first, stop in zip(firsts.tolist(), stops.tolist(), strict=True)
    ]
    return _pieces(cells, bounds, cuts, tiles[firsts].tolist(), width), places


def _cells(rows: Array) -> tuple[Array, Array]:
    """Return the boundaries of rows, for segments and for tiles of rows, and the boundaries of segments."""
    n = len(rows)
    n_segments = min(max(n // _SEGMENT, 1), _MOST_SEGMENTS)
    some = np.sort(rows[:: max(1, n // 4096)])  # a sample suffices to divide the work
    bounds = np.unique(some[np.arange(1, n_segments) * len(some) // n_segments]).astype(np.int64)
    return np.unique([*bounds.tolist(), *range(0, int(rows.max()) + 1, ROW_TILE)]), bounds


def _pieces(cells: Array, bounds: Array, cuts: list[Array], tiles: Any, width: int) -> Array:
    """Return the pieces: for each tile of columns, the runs of edges between the boundaries of rows."""
    segments = np.searchsorted(bounds, cells, side="right").tolist()
    bases = (cells // ROW_TILE * ROW_TILE).tolist()
    pieces = [
        (segment, base, tile * width, low, high)
        for tile, cut in zip(tiles, cuts, strict=True)
        for segment, base, low, high in zip(segments, bases, cut[:-1].tolist(), cut[1:].tolist(), strict=True)
        if high > low
    ]
    return np.array(pieces, np.int64).reshape(-1, 5)


def _compact_type(values: Array | None) -> Any:
    """Return the type that holds values without loss: four bytes each if they suffice, else eight."""
    if values is None:
        return None
    if values.dtype == np.float32:
        return np.float32
    with np.errstate(over="ignore", invalid="ignore"):
        # If values need eight bytes, usually the first few already show it.
        same = (np.array_equal(some.astype(np.float32), some, equal_nan=True) for some in (values[:_SAMPLE], values))
        return np.float32 if all(same) else np.float64


def in_one_buffer(length: int, dtypes: tuple[Any, ...]) -> list[Any]:
    """Return consecutive arrays of one length in a single buffer; None for a dtype of None.

    A long buffer returns to the system when it is freed, but short ones would fragment memory.
    """
    sizes = [0 if dtype is None else -(-length * np.dtype(dtype).itemsize // 8) * 8 for dtype in dtypes]
    buffer = np.empty(sum(sizes), np.uint8)
    ends = np.cumsum(sizes).tolist()
    return [
        None if dtype is None else buffer[end - size : end].view(dtype)[:length]
        for dtype, size, end in zip(dtypes, sizes, ends, strict=True)
    ]
