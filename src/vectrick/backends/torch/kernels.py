"""Triton kernels: scatter, gather, the sparse and the sampled product.

In the two products a program processes a few edges of one row at a time, and a panel of columns. The rows that it
gathers are in the L2 cache, and the bandwidth of this cache is the limit. The order of sums is always the same.
"""

from typing import TYPE_CHECKING

import triton
import triton.language as tl

from vectrick.backends.torch.layout import EdgeBlocks

if TYPE_CHECKING:
    import torch


_PLACES = 512  # entries that one program gathers or scatters


@triton.jit
def _scatter(values, order, index, grid, n, ORDERED: tl.constexpr, SIZE: tl.constexpr):  # type: ignore[no-untyped-def]
    place = tl.program_id(0).to(tl.int64) * SIZE + tl.arange(0, SIZE)
    inside = place < n
    source = tl.load(order + place, mask=inside, other=0) if ORDERED else place
    cell = tl.load(index + place, mask=inside, other=0)
    tl.store(grid + cell, tl.load(values + source, mask=inside, other=0), mask=inside)


@triton.jit
def _gather(grid, index, out, n, SIZE: tl.constexpr):  # type: ignore[no-untyped-def]
    place = tl.program_id(0).to(tl.int64) * SIZE + tl.arange(0, SIZE)
    inside = place < n
    cell = tl.load(index + place, mask=inside, other=0)
    tl.store(out + place, tl.load(grid + cell, mask=inside, other=0), mask=inside)


@triton.jit
def _sparse(  # type: ignore[no-untyped-def]
    E, values, row, start, column, slot, out, extra, width, e_stride, out_stride, extra_stride,
    SHARED: tl.constexpr, EDGES: tl.constexpr, PANEL: tl.constexpr,
):  # fmt: skip
    block = tl.program_id(0)
    low, high = tl.load(start + block), tl.load(start + block + 1)
    cols = tl.program_id(1) * PANEL + tl.arange(0, PANEL)
    inside = cols < width
    total = tl.zeros((EDGES, PANEL), E.dtype.element_ty)
    for first in range(low, high, EDGES):
        edge = first + tl.arange(0, EDGES)
        here = edge < high
        source = tl.load(column + edge, mask=here, other=0).to(tl.int64)
        value = tl.load(values + edge, mask=here, other=0)
        rows = tl.load(E + source[:, None] * e_stride + cols[None, :], mask=here[:, None] & inside[None, :], other=0)
        total += rows * value[:, None]
    found = tl.sum(total, axis=0)
    target = tl.load(row + block).to(tl.int64)
    if SHARED:
        place = tl.load(slot + block).to(tl.int64)
        if place >= 0:
            tl.store(extra + place * extra_stride + cols, found, mask=inside)
        else:
            tl.store(out + target * out_stride + cols, found, mask=inside)
    else:
        tl.store(out + target * out_stride + cols, found, mask=inside)


@triton.jit
def _sampled(  # type: ignore[no-untyped-def]
    A, B, row, start, column, out, begin, width, a_stride, b_stride,
    MORE: tl.constexpr, EDGES: tl.constexpr, PANEL: tl.constexpr,
):  # fmt: skip
    block = tl.program_id(0)
    low, high = tl.load(start + block), tl.load(start + block + 1)
    cols = begin + tl.arange(0, PANEL)
    inside = cols < width
    held = tl.load(A + tl.load(row + block).to(tl.int64) * a_stride + cols, mask=inside, other=0)
    for first in range(low, high, EDGES):
        edge = first + tl.arange(0, EDGES)
        here = edge < high
        source = tl.load(column + edge, mask=here, other=0).to(tl.int64)
        rows = tl.load(B + source[:, None] * b_stride + cols[None, :], mask=here[:, None] & inside[None, :], other=0)
        found = tl.sum(rows * held[None, :], axis=1)
        if MORE:
            found += tl.load(out + edge, mask=here, other=0)
        tl.store(out + edge, found, mask=here)


def scatter(values: "torch.Tensor", order: "torch.Tensor", index: "torch.Tensor", grid: "torch.Tensor") -> None:
    """Write ``values[order]`` to the cells of a matrix."""
    n = len(index)
    _scatter[(triton.cdiv(n, _PLACES),)](
        values, index if order is None else order, index, grid, n, order is not None, _PLACES
    )


def gather(grid: "torch.Tensor", index: "torch.Tensor", out: "torch.Tensor") -> None:
    """Write the cells of a matrix to ``out``."""
    n = len(index)
    _gather[(triton.cdiv(n, _PLACES),)](grid, index, out, n, _PLACES)


def sparse_product(
    E: "torch.Tensor",
    values: "torch.Tensor",
    blocks: EdgeBlocks,
    slot: "torch.Tensor",
    out: "torch.Tensor",
    extra: "torch.Tensor",
) -> None:
    """Write ``Σ values · E[column]`` over the edges of each block to its row of ``out``, or its slot in ``extra``."""
    edges, panel, warps = (4, 128, 1) if E.element_size() == 8 else (8, 64, 2)
    shared = slot is not None
    _sparse[(len(blocks.row), triton.cdiv(E.shape[1], panel))](
        E, values, blocks.row, blocks.start, blocks.column, slot if shared else blocks.row, out,
        extra if shared else out, E.shape[1], E.stride(0), out.stride(0), extra.stride(0) if shared else 0,
        shared, edges, panel, num_warps=warps,
    )  # fmt: skip


def sampled_product(A: "torch.Tensor", B: "torch.Tensor", blocks: EdgeBlocks, out: "torch.Tensor") -> None:
    """Write ``A[row] · B[column]`` of each edge to ``out``, in the order of the blocks, panel by panel."""
    width = A.shape[1]
    edges, panel = (4, 256) if A.element_size() == 8 else (32, 64)
    for begin in range(0, width, panel):
        _sampled[(len(blocks.row),)](
            A, B, blocks.row, blocks.start, blocks.column, out, begin, width, A.stride(0), B.stride(0),
            begin > 0, edges, panel, num_warps=1,
        )  # fmt: skip
