"""The products of the generalized vec trick on tensors: by Triton on a GPU, otherwise by plain torch."""

import warnings
from contextlib import nullcontext
from functools import cache
from importlib.util import find_spec
from typing import Any

from vectrick._typing import Tensor
from vectrick.backends.torch.devices import float32_products, load_torch
from vectrick.backends.torch.layout import EdgeBlocks, Scattering

_CHUNK = 1 << 23  # entries that are gathered together, without Triton


@cache
def has_triton() -> bool:
    """Whether Triton is installed."""
    return find_spec("triton") is not None


def _here(x: Tensor) -> Any:
    """Return a context in which Triton launches on the device of a tensor."""
    cuda = load_torch().cuda
    return nullcontext() if x.device.index == cuda.current_device() else cuda.device(x.device)


def uses_triton(x: Tensor) -> bool:
    """Whether a tensor is on a device that runs Triton's kernels."""
    return bool(x.is_cuda) and has_triton()


def matrix_product(A: Tensor, B: Tensor, out: Tensor, fast: bool) -> None:
    """Write ``A @ B`` to ``out``, in full float32 precision unless ``fast`` allows TF32."""
    torch = load_torch()
    if not A.is_cuda or A.dtype != torch.float32:
        torch.mm(A, B, out=out)
        return
    with float32_products(fast):
        torch.mm(A, B, out=out)


def scatter(x: Tensor, how: Scattering, grid: Tensor) -> None:
    """Write a vector to the cells of a flat matrix; other cells keep their values."""
    if how.lengths is not None:
        x = x if how.order is None else x[how.order]
        x = load_torch().segment_reduce(x, "sum", lengths=how.lengths, unsafe=True)
    order = how.order if how.lengths is None else None
    if uses_triton(x):
        from vectrick.backends.torch import kernels

        with _here(x):
            kernels.scatter(x, order, how.index, grid)
        return
    grid.index_copy_(0, how.index.long(), x if order is None else x[order])


def put(values: Tensor, index: Tensor, grid: Tensor) -> None:
    """Write values to distinct cells of a flat matrix."""
    if uses_triton(values):
        from vectrick.backends.torch import kernels

        with _here(values):
            kernels.scatter(values, None, index, grid)
        return
    grid.index_copy_(0, index.long(), values)


def gather(grid: Tensor, index: Tensor, out: Tensor) -> None:
    """Write the cells of a flat matrix to a vector."""
    if uses_triton(grid):
        from vectrick.backends.torch import kernels

        with _here(grid):
            kernels.gather(grid, index, out)
        return
    load_torch().index_select(grid, 0, index, out=out)


def taken(x: Tensor, index: Tensor, out: Tensor) -> Tensor:
    """Return ``x[index]``, written to ``out``."""
    gather(x, index, out)
    return out


def sparse_product(E: Tensor, values: Tensor, blocks: EdgeBlocks, out: Tensor) -> None:
    """Write for each row the sum of ``values · E[column]`` over its edges; values are in the order of the blocks."""
    torch = load_torch()
    if not uses_triton(E):
        rows = blocks.row.long().repeat_interleave(blocks.start[1:] - blocks.start[:-1])
        places = torch.stack([rows, blocks.column.long()])
        shape = (blocks.n_rows, E.shape[0])
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse invariant checks")  # some versions warn although checks are off
            sparse = torch.sparse_coo_tensor(places, values, shape, is_coalesced=True, check_invariants=False)
            out.copy_(torch.sparse.mm(sparse, E))
        return
    from vectrick.backends.torch import kernels

    if blocks.some_empty:
        out.zero_()
    with _here(E):
        if blocks.shared is None:
            kernels.sparse_product(E, values, blocks, None, out, None)
            return
        rows, lengths = blocks.shared
        of_shared = torch.isin(blocks.row, rows.int())
        slot = torch.where(of_shared, of_shared.long().cumsum(0) - 1, -1)
        extra = E.new_empty((int(lengths.sum()), E.shape[1]))
        kernels.sparse_product(E, values, blocks, slot, out, extra)
        out[rows] = torch.segment_reduce(extra, "sum", lengths=lengths, axis=0, unsafe=True)


def sampled_product(A: Tensor, B: Tensor, blocks: EdgeBlocks, out: Tensor) -> None:
    """Write ``A[row] · B[column]`` of each edge to ``out``, in the order of the blocks. Rows are contiguous."""
    torch = load_torch()
    if uses_triton(A):
        from vectrick.backends.torch import kernels

        with _here(A):
            kernels.sampled_product(A, B, blocks, out)
        return
    rows = blocks.row.long().repeat_interleave(blocks.start[1:] - blocks.start[:-1])
    step = max(1, _CHUNK // max(1, A.shape[1]))
    for low in range(0, len(rows), step):
        part = slice(low, low + step)
        out[part] = torch.linalg.vecdot(A[rows[part]], B[blocks.column[part]])
