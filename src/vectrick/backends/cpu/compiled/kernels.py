"""The two products of the generalized vec trick, blocked for the caches, as Numba kernels for one thread.

Both process edges in the order of `layout`. Each task writes to its own memory, so any division of the work among
threads gives the same bits. Matrices are passed as addresses (``…_at``), in bytes as in `simd`: Numba would take a
third longer to compile code with arrays, and new users wait for the compilation.
"""

from numba import njit

from vectrick.backends.cpu.compiled.simd import (
    VECTOR_BYTES,
    clear,
    copy_element,
    make_add_dots,
    make_add_rows,
    make_prefetch_row,
    make_transpose,
)
from vectrick.backends.cpu.layout import EDGES_AT_ONCE, PANEL_BYTES, STRIP_BYTES

# NaN must stay NaN: no "nnan", no "ninf".
_FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


_add_rows = make_add_rows(STRIP_BYTES // VECTOR_BYTES)
_add_dots = make_add_dots(PANEL_BYTES // VECTOR_BYTES, one_row=False)
_add_dots_of_one_row = make_add_dots(PANEL_BYTES // VECTOR_BYTES, one_row=True)
_transpose = make_transpose(past_the_cache=False)
_transpose_to_memory = make_transpose(past_the_cache=True)
_prefetch_row = make_prefetch_row(PANEL_BYTES // VECTOR_BYTES)
# The hardware cannot predict held rows, because they are far apart; prefetching this far ahead hides the latency.
_AHEAD = 4 * EDGES_AT_ONCE


@njit(nogil=True, cache=True, fastmath=_FASTMATH)
def sparse_product(  # type: ignore[no-untyped-def]
    like, size, F_at, n_rows, n_contracted, values_at, contracted_at, run_kept, run_start, cell_start, block,
    packed_at, keeps_blocks, chunk_at, chunk_rows, out_at, panel_size, panel_stride, row_stride, n_panels,
    past_the_cache, strip0, strip1, chunk0, chunk1,
):  # fmt: skip
    """Write strips of ``F Vᵀ`` for sparse ``V``; all strips take O(e·w + w·(i + k)).

    ``F`` is w × i and ``V`` is k × i with a value per column edge. For each strip of rows of ``F``, each chunk of the
    result and each block of ``i``, pack the block transposed, so that it stays in the cache, and add
    ``value · packed[contracted]`` to row ``kept`` of the chunk. Then write the chunk transposed, so that each row of
    the result is contiguous along ``k``. If there are several chunks, the first one packs the blocks for all of them.
    """
    strip_rows = STRIP_BYTES // size
    row_size = n_contracted * size
    panels_per_chunk = chunk_rows // panel_size
    n_blocks = -(-n_contracted // block)
    for strip in range(strip0, strip1):
        row0 = strip * strip_rows
        rows = min(strip_rows, n_rows - row0)
        rows8 = rows // 8 * 8
        for c in range(chunk0, chunk1):
            clear(chunk_at, chunk_rows * STRIP_BYTES)
            for b in range(n_blocks):
                i0, i1 = b * block, min((b + 1) * block, n_contracted)
                place_at = packed_at + (i0 if keeps_blocks else 0) * STRIP_BYTES
                if c == chunk0:
                    whole = i0 + (i1 - i0) // 8 * 8
                    if rows < strip_rows:
                        clear(place_at, (i1 - i0) * STRIP_BYTES)
                    for o in range(0, rows8, 8):
                        from_at, to_at = F_at + (row0 + o) * row_size, place_at + o * size
                        for i in range(i0, whole, 8):
                            _transpose(from_at + i * size, row_size, to_at + (i - i0) * STRIP_BYTES, STRIP_BYTES, like)
                    for o in range(rows):
                        from_at, to_at = F_at + (row0 + o) * row_size, place_at + o * size
                        for i in range(whole if o < rows8 else i0, i1):
                            copy_element(from_at + i * size, to_at + (i - i0) * STRIP_BYTES, like)
                vertex_at = place_at - i0 * STRIP_BYTES  # address of vertex 0, if it were in the block
                for run in range(cell_start[c * n_blocks + b], cell_start[c * n_blocks + b + 1]):
                    h = run_start[run]
                    _add_rows(
                        chunk_at + run_kept[run] * STRIP_BYTES, vertex_at,
                        contracted_at + h * 4, values_at + h * size, run_start[run + 1] - h, like,
                    )  # fmt: skip
            for panel in range(min(panels_per_chunk, n_panels - c * panels_per_chunk)):
                from_at = chunk_at + panel * panel_size * STRIP_BYTES
                to_at = out_at + (c * panels_per_chunk + panel) * panel_stride + row0 * row_stride
                for o in range(0, strip_rows, 8):
                    for k in range(0, panel_size, 8):
                        tile_at, target_at = from_at + k * STRIP_BYTES + o * size, to_at + o * row_stride + k * size
                        if past_the_cache:
                            _transpose_to_memory(tile_at, STRIP_BYTES, target_at, row_stride, like)
                        else:
                            _transpose(tile_at, STRIP_BYTES, target_at, row_stride, like)


@njit(nogil=True, cache=True, fastmath=_FASTMATH)
def sampled_product(  # type: ignore[no-untyped-def]
    like, size, A_at, row_size, tail_at, B_at, panel_stride, row_stride, n_panels,
    held, held_at, tile_at, one_row, u_at, start, stop,
):  # fmt: skip
    """Write ``u[h] = A[held[h]] · B[tile[h]]`` for a range of row edges in O(k) each.

    The panel loop is outermost, so that a panel of ``B`` stays in the cache for all edges. Eight edges share one
    reduction, and if they have the same held row, they also share its loads.
    """
    clear(u_at + start * size, (stop - start) * size)
    for panel in range(n_panels):
        A_panel, A_stride = A_at + panel * PANEL_BYTES, row_size
        if (panel + 1) * PANEL_BYTES > row_size:  # the last columns, padded with zeros
            A_panel, A_stride = tail_at, PANEL_BYTES
        B_panel = B_at + panel * panel_stride
        for h in range(start, stop, EDGES_AT_ONCE):
            _prefetch_row(A_panel + held[min(h + _AHEAD, stop - 1)] * A_stride)
            u, i, j = u_at + h * size, held_at + h * 4, tile_at + h * 4
            if one_row[h // EDGES_AT_ONCE]:
                _add_dots_of_one_row(u, A_panel, A_stride, i, B_panel, row_stride, j, like)
            else:
                _add_dots(u, A_panel, A_stride, i, B_panel, row_stride, j, like)
