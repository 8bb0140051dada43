"""The array primitives on the CPU: sparse, sampled and dense products, run by the thread pool."""

from dataclasses import dataclass

import numpy as np

from vectrick._typing import Array
from vectrick.backends.cpu.layout import EDGES_AT_ONCE, PANEL_BYTES, STRIP_BYTES, Blocking, ColumnLayout, RowLayout
from vectrick.backends.memory import CACHE_LINE, Workspace
from vectrick.backends.threads import even_parts, run_tasks, single_threaded_blas

_CACHED = 2**25  # bytes of a result that usually fit into the last-level cache
_TASKS_PER_THREAD = 4  # more tasks than threads, so that a slow thread does not delay the others


@dataclass(frozen=True)
class Tiles:
    """The layout of a matrix in a buffer: aligned rows, zero-padded to whole panels; panel by panel or row by row."""

    n_rows: int
    n_columns: int
    itemsize: int
    by_panels: bool

    @property
    def panel_size(self) -> int:
        """The number of columns in a panel."""
        return PANEL_BYTES // self.itemsize

    @property
    def n_panels(self) -> int:
        """The number of panels."""
        return -(-self.n_columns // self.panel_size)

    @property
    def panel_stride(self) -> int:
        """The bytes from one panel to the next."""
        return self.n_rows * PANEL_BYTES if self.by_panels else PANEL_BYTES

    @property
    def row_stride(self) -> int:
        """The bytes from one row to the next."""
        # Row by row: an odd number of cache lines, so that rows that are used together do not conflict in the cache.
        return PANEL_BYTES if self.by_panels else self.n_panels * PANEL_BYTES + CACHE_LINE

    @property
    def n_items(self) -> int:
        """The number of elements of the buffer."""
        return self.n_rows * self.row_stride * (self.n_panels if self.by_panels else 1) // self.itemsize

    def rows(self, buffer: Array) -> Array:
        """Return the whole rows, padding included, of a buffer that holds the matrix row by row."""
        return buffer.reshape(self.n_rows, -1)


def take(x: Array, places: Array, out: Array, n_threads: int) -> None:
    """Write ``x[places]`` to ``out``, with several threads because most of the time is memory latency."""
    parts = even_parts(len(out), _worthwhile(10 * len(out), n_threads))

    def task(number: int) -> None:
        part = slice(*parts[number])
        np.take(x, places[part], out=out[part], mode="clip")

    run_tasks(task, len(parts), len(parts))


def _worthwhile(flops: int, n_threads: int) -> int:
    """Return the number of threads for this much work: one if others would take longer to start than they save."""
    return n_threads if flops > 5e6 else 1


def whole_strips(n_rows: int, itemsize: int) -> int:
    """Return the number of rows to allocate for the result of a sparse product: a whole number of strips."""
    strip = STRIP_BYTES // itemsize
    return -(-n_rows // strip) * strip


def packed_rows(blocking: Blocking, n_chunks: int, n_contracted: int) -> int:
    """Return the number of rows that a sparse product keeps packed: all for several chunks, a block for one chunk."""
    return n_contracted if n_chunks > 1 else min(blocking.block, n_contracted)


def sparse_product(
    F: Array, values: Array, layout: ColumnLayout, tiles: Tiles, out: Array, workspace: Workspace, n_threads: int
) -> None:
    """Write ``F Vᵀ`` to the buffer ``out``; ``V`` has ``values`` (in the order of the layout) at its edges.

    ``F`` is C-contiguous."""
    from vectrick.backends.cpu.compiled.kernels import sparse_product as kernel

    strip_rows = STRIP_BYTES // F.itemsize
    n_rows, n_contracted = F.shape
    n_strips, n_packed = -(-n_rows // strip_rows), packed_rows(layout.blocking, layout.n_chunks, n_contracted)
    chunk_rows = layout.blocking.chunk
    n_threads = _worthwhile(2 * n_rows * (len(values) + n_contracted + tiles.n_columns), n_threads)
    wanted = 1 if n_threads == 1 else _TASKS_PER_THREAD * n_threads
    like = values[0]
    # Each part packs its strips again, so chunks are divided only if there are too few strips.
    parts = [
        (strips, chunks)
        for strips in even_parts(n_strips, wanted)
        for chunks in even_parts(layout.n_chunks, 1 if n_strips >= wanted else -(-wanted // n_strips))
    ]

    def task(number: int) -> None:
        (strip0, strip1), (chunk0, chunk1) = parts[number]
        with workspace.borrow((n_packed + chunk_rows) * strip_rows, F.dtype) as scratch:
            kernel(
                like, F.itemsize, F.ctypes.data, n_rows, n_contracted, values.ctypes.data,
                layout.contracted.ctypes.data, layout.run_kept, layout.run_start, layout.cell_start,
                layout.blocking.block, scratch.ctypes.data, layout.n_chunks > 1,
                scratch.ctypes.data + n_packed * STRIP_BYTES, chunk_rows, out.ctypes.data,
                tiles.panel_size, tiles.panel_stride, tiles.row_stride, tiles.n_panels,
                out.nbytes > _CACHED, strip0, strip1, chunk0, chunk1,
            )  # fmt: skip

    run_tasks(task, len(parts), n_threads)


def padded_tail(A: Array) -> Array:
    """Return the columns of ``A`` that do not fill a panel, padded with zeros to one panel, for `sampled_product`."""
    size = PANEL_BYTES // A.itemsize
    whole = A.shape[1] // size * size
    tail = np.zeros((A.shape[0] if whole < A.shape[1] else 0, size), A.dtype)
    tail[:, : A.shape[1] - whole] = A[: len(tail), whole:]
    return tail


def sampled_product(
    A: Array, tail: Array, tiles: Tiles, B: Array, layout: RowLayout, out: Array, n_threads: int
) -> None:
    """Write ``A[held] · B[tile]`` of every row edge to ``out``, in the order of the layout. ``A`` is C-contiguous."""
    from vectrick.backends.cpu.compiled.kernels import sampled_product as kernel

    n_groups, like = len(layout.held) // EDGES_AT_ONCE, out[0]
    n_threads = _worthwhile(2 * len(layout.held) * tiles.n_columns, n_threads)
    parts = even_parts(n_groups, n_threads)  # not more, because every part reads all panels

    def task(number: int) -> None:
        start, stop = parts[number]
        kernel(
            like, A.itemsize, A.ctypes.data, A.shape[1] * A.itemsize, tail.ctypes.data, B.ctypes.data,
            tiles.panel_stride, tiles.row_stride, tiles.n_panels, layout.held, layout.held.ctypes.data,
            layout.tile.ctypes.data, layout.one_row, out.ctypes.data, start * EDGES_AT_ONCE, stop * EDGES_AT_ONCE,
        )  # fmt: skip

    run_tasks(task, len(parts), n_threads)


def dense_product(A: Array, B: Array, out: Array, n_threads: int) -> None:
    """Write ``A @ B`` to ``out``, in blocks that depend only on the shape: the same bits for any number of threads."""
    by_rows = out.shape[0] >= out.shape[1]
    n_threads = _worthwhile(2 * out.size * A.shape[1], n_threads)
    parts = even_parts(max(out.shape), _n_blocks(max(out.shape)))

    def task(number: int) -> None:
        part = slice(*parts[number])
        # BLAS sometimes sets the invalid-operation flag in small products of finite numbers.
        with np.errstate(invalid="ignore"):
            if by_rows:
                np.matmul(A[part], B, out=out[part])
            else:
                np.matmul(A, B[:, part], out=out[:, part])

    with single_threaded_blas():
        run_tasks(task, len(parts), n_threads)


def _n_blocks(length: int) -> int:
    """Return the number of blocks of a dense product: each at most 256 long, an even number for equal shares."""
    if length >= 256:
        return 4 * -(-length // 1024)
    return 2 if length >= 64 else 1
