"""The two products of the generalized vec trick, blocked for the caches, as Numba kernels for one thread.

Both work on edges in the order of `layout`, and both write to places that no other part of the work writes to, so any
division of the work among threads gives the same bits.
"""

import numpy as np
from numba import njit

from vectrick.backends.cpu.layout import EDGES_AT_ONCE, PANEL_BYTES, STRIP_BYTES
from vectrick.backends.cpu.simd import VECTOR_BYTES, make_add_dots, make_add_rows, make_prefetch_row, make_transpose

# NaN must stay NaN: no "nnan", no "ninf".
_FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


_add_rows = make_add_rows(STRIP_BYTES // VECTOR_BYTES)
_add_dots = make_add_dots(PANEL_BYTES // VECTOR_BYTES, one_row=False)
_add_dots_of_one_row = make_add_dots(PANEL_BYTES // VECTOR_BYTES, one_row=True)
_transpose = make_transpose(past_the_cache=False)
_transpose_to_memory = make_transpose(past_the_cache=True)
_prefetch_row = make_prefetch_row(PANEL_BYTES // VECTOR_BYTES)
# Held rows lie far apart, where the hardware does not see them coming; this many edges ahead hides the latency.
_AHEAD = 4 * EDGES_AT_ONCE


@njit(nogil=True, cache=True, fastmath=_FASTMATH)
def sparse_product(  # type: ignore[no-untyped-def]
    F, values, contracted, run_kept, run_start, cell_start, block,
    packed, chunk, out, panel_size, panel_stride, row_stride, n_panels, past_the_cache,
    strip0, strip1, chunk0, chunk1,
):  # fmt: skip
    """Write strips of ``F Vᵀ`` for sparse ``V``; all of them take O(e·w + w·(i + k)).

    ``F`` is w × i and ``V`` is k × i with a value per column edge. Strip by strip of ``F``'s rows, chunk by chunk of
    the result and block by block of ``i``: pack the block transposed, so that it stays in the cache; add
    ``value · packed[contracted]`` to row ``kept`` of the chunk; write the chunk transposed, so that each row of the
    result is contiguous along ``k``. Where there are several chunks, the first one packs for all.
    """
    like = values[0]
    size = F.itemsize
    strip_rows = packed.shape[1]
    n_contracted = F.shape[1]
    row_size = n_contracted * size
    panels_per_chunk = chunk.shape[0] // panel_size
    F_at, packed_at, chunk_at = np.int64(F.ctypes.data), np.int64(packed.ctypes.data), np.int64(chunk.ctypes.data)
    values_at, contracted_at = np.int64(values.ctypes.data), np.int64(contracted.ctypes.data)
    out_at = np.int64(out.ctypes.data)
    n_blocks = -(-n_contracted // block)
    keeps_blocks = packed.shape[0] >= n_contracted
    for strip in range(strip0, strip1):
        row0 = strip * strip_rows
        rows = min(strip_rows, F.shape[0] - row0)
        rows8 = rows // 8 * 8
        for c in range(chunk0, chunk1):
            for k in range(chunk.shape[0]):
                for o in range(strip_rows):
                    chunk[k, o] = 0.0
            for b in range(n_blocks):
                i0, i1 = b * block, min((b + 1) * block, n_contracted)
                place = i0 if keeps_blocks else 0
                if c == chunk0:
                    whole = i0 + (i1 - i0) // 8 * 8
                    for o in range(0, rows8, 8):
                        for i in range(i0, whole, 8):
                            _transpose(
                                F_at + (row0 + o) * row_size + i * size, row_size,
                                packed_at + ((place + i - i0) * strip_rows + o) * size, strip_rows * size, like,
                            )  # fmt: skip
                    for i in range(i0, i1):
                        for o in range(rows8 if i < whole else 0, rows):
                            packed[place + i - i0, o] = F[row0 + o, i]
                        for o in range(rows, strip_rows):
                            packed[place + i - i0, o] = 0.0
                rows_at = packed_at + (place - i0) * strip_rows * size  # of vertex 0, were it there
                for run in range(cell_start[c * n_blocks + b], cell_start[c * n_blocks + b + 1]):
                    h = run_start[run]
                    _add_rows(
                        chunk_at + run_kept[run] * strip_rows * size, rows_at,
                        contracted_at + h * 4, values_at + h * size, run_start[run + 1] - h, like,
                    )  # fmt: skip
            for panel in range(min(panels_per_chunk, n_panels - c * panels_per_chunk)):
                from_at = chunk_at + panel * panel_size * strip_rows * size
                to_at = out_at + (c * panels_per_chunk + panel) * panel_stride + row0 * row_stride
                for o in range(0, strip_rows, 8):
                    for k in range(0, panel_size, 8):
                        tile_at, target_at = from_at + (k * strip_rows + o) * size, to_at + o * row_stride + k * size
                        if past_the_cache:
                            _transpose_to_memory(tile_at, strip_rows * size, target_at, row_stride, like)
                        else:
                            _transpose(tile_at, strip_rows * size, target_at, row_stride, like)


@njit(nogil=True, cache=True, fastmath=_FASTMATH)
def sampled_product(  # type: ignore[no-untyped-def]
    A, tail, B, panel_stride, row_stride, n_panels, held, tile, one_row, u, start, stop
):
    """Write ``u[h] = A[held[h]] · B[tile[h]]`` for a range of row edges in O(k) each.

    The panel loop is outermost, so that a panel of ``B`` stays in the cache while the edges pass over it; eight edges
    share one reduction and, where they share the held row, its loads too.
    """
    like = u[0]
    size = A.itemsize
    A_at, tail_at, B_at = np.int64(A.ctypes.data), np.int64(tail.ctypes.data), np.int64(B.ctypes.data)
    held_at, tile_at, u_at = np.int64(held.ctypes.data), np.int64(tile.ctypes.data), np.int64(u.ctypes.data)
    for h in range(start, stop):
        u[h] = 0.0
    for panel in range(n_panels):
        A_stride = A.shape[1] * size
        A_panel = A_at + panel * PANEL_BYTES
        if (panel + 1) * PANEL_BYTES > A_stride:  # the last columns, padded with zeros
            A_panel, A_stride = tail_at, np.int64(PANEL_BYTES)
        B_panel = B_at + panel * panel_stride
        for h in range(start, stop, EDGES_AT_ONCE):
            _prefetch_row(A_panel + held[min(h + _AHEAD, stop - 1)] * A_stride)
            if one_row[h // EDGES_AT_ONCE]:
                _add_dots_of_one_row(
                    u_at + h * size, A_panel, A_stride, held_at + h * 4, B_panel, row_stride, tile_at + h * 4, like
                )
            else:
                _add_dots(
                    u_at + h * size, A_panel, A_stride, held_at + h * 4, B_panel, row_stride, tile_at + h * 4, like
                )
