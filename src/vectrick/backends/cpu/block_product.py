"""Algorithm 1 for a block of vectors that share the loads of both factors.

The matrix between the two products is computed and used tile by tile. It stays in the cache, and takes less memory for
sixteen vectors than the whole matrix takes for one vector.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.backends.cpu.layout import BLOCK_BYTES, BLOCK_ROWS, sorted_order
from vectrick.backends.memory import Workspace
from vectrick.backends.threads import even_parts, run_tasks

LEAST = 0.5  # share of a full block of vectors from which a block is faster
# The tiles of the matrix between the two products stay in the last-level cache: F is read once for each panel of
# columns, A once for each part of the rows. A part of the columns of A stays in the next smaller cache.
_PANEL, _HEIGHT, _PART = 2048, 256, 512
_TASKS_PER_THREAD = 4  # more tasks than threads, so that a slow thread does not delay the others


@dataclass(frozen=True)
class BlockProduct:
    """``u[h] = Σ_k A[held[h], k] Σ F[tile[h], contracted[e]] v[e]`` over column edges e with ``kept[e] = k``."""

    A: Array
    packed: Array  # F in strips of eight rows, transposed
    n_rows: int
    column_order: Array
    contracted: Array
    kept_start: Array
    row_order: Array
    held: Array
    tile_start: Array

    @classmethod
    def of(cls, F: Array, A: Array, columns: tuple[Array, Array], rows: tuple[Array, Array]) -> "BlockProduct":
        """Sort the edges and pack the first factor; ``columns`` are (kept, contracted), ``rows`` (held, tile)."""
        (kept, contracted), (held, tile) = columns, rows
        column_order = sorted_order(kept, contracted, A.shape[1], F.shape[1])
        row_order = sorted_order(tile, held, F.shape[0], A.shape[0])
        return cls(
            A, packed_strips(F), len(F),
            column_order, contracted[column_order].astype(np.int32), _starts(kept, A.shape[1]),
            row_order, held[row_order].astype(np.int32), _starts(tile, F.shape[0]),
        )  # fmt: skip

    def run(self, block: Array, out: Array, space: Workspace, n_threads: int) -> None:
        """Write the product with a block of vectors; one element of each must fit into ``BLOCK_BYTES``."""
        from vectrick.backends.cpu.compiled.block_kernels import sampled_block, sparse_block

        size, n_kept = block.itemsize, self.A.shape[1]
        lanes, n_vectors = BLOCK_BYTES // size, block.shape[1]
        values = space.get("block values", len(block) * lanes, block.dtype).reshape(len(block), lanes)
        values[:, n_vectors:] = 0
        values[:, :n_vectors] = block[self.column_order]
        sums = space.get("block sums", len(out) * lanes, block.dtype).reshape(len(out), lanes)
        sums[:] = 0
        row_stride = _row_stride(n_kept)
        tile = space.get("block tile", _HEIGHT * row_stride // size, block.dtype)
        like, strip_size = block.dtype.type(0), self.packed.strides[0]
        for first, low in itertools.product(range(0, n_kept, _PANEL), range(0, self.n_rows, _HEIGHT)):
            last, high = min(first + _PANEL, n_kept), min(low + _HEIGHT, self.n_rows)
            strips = even_parts(-(-(high - low) // BLOCK_ROWS), _TASKS_PER_THREAD * n_threads)
            rows = even_parts(high - low, _TASKS_PER_THREAD * n_threads)
            packed_at = self.packed.ctypes.data + low // BLOCK_ROWS * strip_size

            def multiply(
                number: int, first: int = first, last: int = last, packed_at: int = packed_at, strips: Any = strips
            ) -> None:
                sparse_block(
                    like, size, packed_at, strip_size, self.contracted.ctypes.data, values.ctypes.data,
                    self.kept_start, first, last, tile.ctypes.data, row_stride, *strips[number],
                )  # fmt: skip

            def sample(number: int, first: int = first, last: int = last, low: int = low, rows: Any = rows) -> None:
                for begin in range(first, last, _PART):
                    sampled_block(
                        like, self.A.ctypes.data + begin * size, self.A.strides[0], self.held, self.held.ctypes.data,
                        self.tile_start[low:], tile.ctypes.data + (begin - first) * BLOCK_BYTES, row_stride,
                        min(_PART, last - begin), sums.ctypes.data, *rows[number],
                    )  # fmt: skip

            run_tasks(multiply, len(strips), n_threads)
            run_tasks(sample, len(rows), n_threads)
        out[self.row_order] = sums[:, :n_vectors]


def block_bytes(shape: tuple[int, int], n_kept: int, n_edges: int, itemsize: int) -> int:
    """Return the bytes of the packed factor, a tile, the edges, and the vectors in sorted order."""
    packed = -(-shape[0] // BLOCK_ROWS) * BLOCK_ROWS * shape[1] * itemsize
    return packed + _HEIGHT * _row_stride(n_kept) + n_edges * (12 + BLOCK_BYTES)


def _row_stride(n_kept: int) -> int:
    """Return the bytes from a row of a tile to the next: odd in cache lines, so that rows do not conflict."""
    return (min(_PANEL, n_kept) | 1) * BLOCK_BYTES


def packed_strips(F: Array) -> Array:
    """Return the rows of a matrix in strips of eight, each transposed, padded with zeros."""
    n_strips = -(-len(F) // BLOCK_ROWS)
    packed = np.zeros((n_strips, F.shape[1], BLOCK_ROWS), F.dtype)
    for strip in range(n_strips):
        rows = F[strip * BLOCK_ROWS : (strip + 1) * BLOCK_ROWS]
        packed[strip, :, : len(rows)] = rows.T
    return packed


def _starts(vertices: Array, n_vertices: int) -> Array:
    """Return the start of the edges of each vertex in sorted order, and the end of the last edges."""
    return np.append(0, np.cumsum(np.bincount(vertices, minlength=n_vertices)))
