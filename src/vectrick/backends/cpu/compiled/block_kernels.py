"""The two products of the generalized vec trick for a block of vectors, as Numba kernels for one thread.

The elements of the right-hand sides are stored side by side, so that each element of a factor is loaded once for all.
As in `kernels`, addresses are in bytes, and each task writes to its own memory.
"""

from numba import njit

from vectrick.backends.cpu.compiled.simd import VECTOR_BYTES, make_add_block, make_dot_block, make_prefetch_row
from vectrick.backends.cpu.layout import BLOCK_BYTES, BLOCK_ROWS

_VECTORS = BLOCK_BYTES // VECTOR_BYTES
_EDGES = 8  # edges that the sampled product processes together

_add_block = make_add_block(BLOCK_ROWS, _VECTORS)
_dot_block = make_dot_block(_EDGES, _VECTORS)
_dot_one = make_dot_block(1, _VECTORS)
_prefetch_row = make_prefetch_row(4)  # of the next edges; the hardware prefetches the rest of a row


@njit(nogil=True, cache=True)
def sparse_block(  # type: ignore[no-untyped-def]
    like, size, packed_at, strip_size, contracted_at, values_at, kept_start, kept0, kept1,
    out_at, row_stride, strip0, strip1,
):  # fmt: skip
    """Write ``out[o][k] = Σ_h F[o, contracted[h]] · values[h]`` over the edges of each kept vertex k in a panel."""
    for strip in range(strip0, strip1):
        strip_at = packed_at + strip * strip_size
        for k in range(kept0, kept1):
            h, stop = kept_start[k], kept_start[k + 1]
            _add_block(
                out_at + strip * BLOCK_ROWS * row_stride + (k - kept0) * BLOCK_BYTES, row_stride, strip_at,
                contracted_at + h * 4, values_at + h * BLOCK_BYTES, stop - h, like,
            )  # fmt: skip


@njit(nogil=True, cache=True)
def sampled_block(  # type: ignore[no-untyped-def]
    like, A_at, A_stride, held, held_at, tile_start, tile_at, row_stride, n_columns, u_at, tile0, tile1,
):  # fmt: skip
    """Add ``A[held[h]] · tile`` over the columns of a panel to the results of the edges of each tile row."""
    for tile in range(tile0, tile1):
        h, stop = tile_start[tile], tile_start[tile + 1]
        row_at = tile_at + tile * row_stride
        while h + _EDGES <= stop:
            for ahead in range(h + _EDGES, min(h + 2 * _EDGES, len(held))):
                _prefetch_row(A_at + held[ahead] * A_stride)
            _dot_block(u_at + h * BLOCK_BYTES, A_at, A_stride, held_at + h * 4, row_at, n_columns, like)
            h += _EDGES
        while h < stop:
            _dot_one(u_at + h * BLOCK_BYTES, A_at, A_stride, held_at + h * 4, row_at, n_columns, like)
            h += 1
