"""The order of edges for the blocked kernels: sorted once, and cheaply restricted to a subset."""

from dataclasses import dataclass, replace

import numpy as np

from vectrick._typing import Array

STRIP_BYTES = 256  # bytes of a row that the sparse product processes together
PANEL_BYTES = 512  # bytes of a row that the sampled product processes together
EDGES_AT_ONCE = 8  # edges that the sampled product processes as a group
BLOCK_BYTES = 128  # bytes for one element of each of several vectors, stored side by side
BLOCK_ROWS = 8  # rows of a factor that are packed together for these vectors


@dataclass(frozen=True)
class Blocking:
    """The rows that a kernel addresses at random (``block``) and, in the sparse product, holds as results (``chunk``).

    Small blocks stay in the L1 cache, but are faster only if several edges of a vertex fall into one block. A sparser
    graph needs larger blocks that stay in L2.
    """

    block: int
    chunk: int

    @property
    def is_small(self) -> bool:
        """Whether the rows are meant to stay in the L1 cache."""
        return self.block == _SMALL_BLOCK


_SMALL_BLOCK = 128  # rows of a block that stays in the L1 cache
_EDGES_PER_SMALL_BLOCK = 8  # edges of one vertex
_ONE_CHUNK = 2048  # columns up to which they are one chunk


def column_blocking(n_edges: int, n_kept: int, n_contracted: int) -> Blocking:
    """Return the blocking of the sparse product for a graph of this density."""
    small = _fills_small_blocks(n_edges, n_kept, n_contracted)
    block = _SMALL_BLOCK if small else 1024
    if not small and n_edges * block < _EDGES_PER_SMALL_BLOCK * n_kept * n_contracted:
        block = 2048
    # One chunk for all rows if it fits into the L2 cache; always a whole number of panels, in float32 and float64.
    chunk = -(-n_kept // 128) * 128
    return Blocking(block, chunk if chunk <= _ONE_CHUNK else 512)


def row_blocking(n_edges: int, n_held: int, n_tile: int) -> Blocking:
    """Return the blocking of the sampled product for a graph of this density."""
    return Blocking(_SMALL_BLOCK if _fills_small_blocks(n_edges, n_held, n_tile) else 2048, 0)


def _fills_small_blocks(n_edges: int, n_vertices: int, n_others: int) -> bool:
    return n_edges * _SMALL_BLOCK >= _EDGES_PER_SMALL_BLOCK * n_vertices * n_others


_MANY = 100_000  # number of edges from which our own sort is faster, although it must be loaded


def _sort(key: Array, largest: int) -> Array:
    if largest >= 2**32:
        return np.argsort(key, kind="stable")
    if len(key) < _MANY:
        return np.argsort(key.astype(np.uint32), kind="stable")
    from vectrick.backends.cpu.sorting import radix_argsort  # loads Numba

    return radix_argsort(key.astype(np.uint32), largest)


def sorted_order(major: Array, minor: Array, n_major: int, n_minor: int) -> Array:
    """Return the order of edges by one vertex, then by the other."""
    return _sort(major.astype(np.int64) * n_minor + minor, n_major * n_minor)


def _positions_of(mask: Array, order: Array) -> tuple[Array, Array]:
    """Return the mask in sorted order, and the new numbers of the sorted edges that it keeps."""
    kept = mask[order]
    renumbered = np.cumsum(mask, dtype=order.dtype) - 1
    return kept, renumbered[order[kept]]


@dataclass(frozen=True)
class ColumnLayout:
    """Column edges for the sparse product by chunk of ``kept`` vertices, block of ``contracted`` vertices, kept vertex.

    A *run* is a maximal sequence of edges with one kept vertex in one block.
    """

    blocking: Blocking
    n_chunks: int
    order: Array  # order[h] is the edge at place h
    contracted: Array
    run_kept: Array  # within its chunk
    run_start: Array
    cell_start: Array  # in runs; a cell is a block within a chunk

    @classmethod
    def build(
        cls, kept: Array, contracted: Array, n_kept: int, n_contracted: int, blocking: Blocking
    ) -> "ColumnLayout":
        """Sort the edges; O(e log e)."""
        chunk, block = blocking.chunk, blocking.block
        n_blocks = -(-n_contracted // block)
        n_chunks = -(-n_kept // chunk)
        run_of = ((kept // chunk).astype(np.int64) * n_blocks + contracted // block) * chunk + kept % chunk
        order = _sort(run_of * block + contracted % block, n_chunks * chunk * n_blocks * block)
        run_of = run_of[order]
        first = np.ones(len(run_of), bool)
        np.not_equal(run_of[1:], run_of[:-1], out=first[1:])
        run_start = np.flatnonzero(first)
        runs = run_of[run_start]
        cell_start = np.searchsorted(runs, np.arange(n_chunks * n_blocks + 1, dtype=np.int64) * chunk)
        run_start = np.append(run_start, len(run_of))
        return cls(blocking, n_chunks, order, contracted[order].astype(np.int32), runs % chunk, run_start, cell_start)

    def restrict(self, mask: Array) -> "ColumnLayout":
        """Return the layout of the edges in the mask, renumbered; O(e), without sorting."""
        kept, order = _positions_of(mask, self.order)
        before = np.append(0, np.cumsum(kept))
        run_start = before[self.run_start]
        return replace(self, order=order, contracted=self.contracted[kept], run_start=run_start)


@dataclass(frozen=True)
class RowLayout:
    """Row edges for the sampled product: by block of ``tile`` vertices, then ``held`` vertex; padded to groups of 8."""

    blocking: Blocking
    position: Array  # position[h] is the place of edge h
    held: Array
    tile: Array
    one_row: Array  # whether the eight edges of a group share their held vertex

    @classmethod
    def build(cls, held: Array, tile: Array, n_held: int, n_tile: int, blocking: Blocking) -> "RowLayout":
        """Sort the edges; O(f log f)."""
        block = blocking.block
        key = ((tile // block).astype(np.int64) * n_held + held) * block + tile % block
        order = _sort(key, -(-n_tile // block) * n_held * block)
        return cls._in_order(blocking, order, held[order], tile[order])

    @classmethod
    def _in_order(cls, blocking: Blocking, order: Array, held: Array, tile: Array) -> "RowLayout":
        n_edges = len(order)
        padded = -(-n_edges // EDGES_AT_ONCE) * EDGES_AT_ONCE
        position = np.empty_like(order)
        position[order] = np.arange(n_edges, dtype=order.dtype)
        held_padded, tile_padded = np.zeros(padded, np.int32), np.zeros(padded, np.int32)
        held_padded[:n_edges], tile_padded[:n_edges] = held, tile
        groups = held_padded.reshape(-1, EDGES_AT_ONCE)
        return cls(blocking, position, held_padded, tile_padded, (groups == groups[:, :1]).all(axis=1))

    def restrict(self, mask: Array) -> "RowLayout":
        """Return the layout of the edges in the mask, renumbered; O(f), without sorting."""
        n_edges = len(self.position)
        order = np.empty_like(self.position)
        order[self.position] = np.arange(n_edges, dtype=order.dtype)
        kept, order = _positions_of(mask, order)
        return self._in_order(self.blocking, order, self.held[:n_edges][kept], self.tile[:n_edges][kept])
