"""Products of edges that share a vertex, as a Numba kernel: entries of a matrix at the other vertices, times values."""

from numba import njit, uint64

from vectrick._typing import Array
from vectrick.backends.threads import even_parts, run_tasks

_TASKS = 32  # parts of the rows, each a task of the thread pool


@njit(nogil=True, cache=True, fastmath={"contract", "nsz"})
def _matched_product(A, held, row_ends, contracted, col_ends, values, out, start, stop):  # type: ignore[no-untyped-def]
    """Write the sums for the row edges of some shared vertices, four rows at a time."""
    flat, width = A.reshape(-1), uint64(A.shape[1])
    for s in range(start, stop):
        first, last = col_ends[s], col_ends[s + 1]
        h, end = row_ends[s], row_ends[s + 1]
        while h + 4 <= end:
            a, b = uint64(held[h]) * width, uint64(held[h + 1]) * width
            c, d = uint64(held[h + 2]) * width, uint64(held[h + 3]) * width
            sum_a = sum_b = sum_c = sum_d = values.dtype.type(0)
            for i in range(first, last):
                j, x = uint64(contracted[i]), values[i]
                sum_a += flat[a + j] * x
                sum_b += flat[b + j] * x
                sum_c += flat[c + j] * x
                sum_d += flat[d + j] * x
            out[h], out[h + 1], out[h + 2], out[h + 3] = sum_a, sum_b, sum_c, sum_d
            h += 4
        while h < end:
            a, sum_a = uint64(held[h]) * width, values.dtype.type(0)
            for i in range(first, last):
                sum_a += flat[a + uint64(contracted[i])] * values[i]
            out[h] = sum_a
            h += 1


def matched_product(
    A: Array, edges: tuple[tuple[Array, Array], tuple[Array, Array]], values: Array, out: Array, n_threads: int
) -> None:
    """Write ``Σ A[held, contracted] · value`` over the column edges of the same shared vertex, for every row edge.

    ``edges`` has a pair for rows and a pair for columns: the other vertex of each edge, sorted by the shared vertex,
    and the bounds of the edges of each shared vertex. ``A`` is C-contiguous.
    """
    (held, row_ends), (contracted, col_ends) = edges
    parts = even_parts(len(row_ends) - 1, _TASKS)

    def task(number: int) -> None:
        _matched_product(A, held, row_ends, contracted, col_ends, values, out, *parts[number])

    run_tasks(task, len(parts), n_threads)
