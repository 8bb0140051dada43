"""The rates of a torch device, measured once and cached on disk with the rates of the CPU."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from vectrick._typing import DTypeLike, TorchDevice
from vectrick.backends.rates import Rates, remembered
from vectrick.backends.torch import products
from vectrick.backends.torch.devices import load_torch
from vectrick.backends.torch.layout import Cells, EdgeBlocks, Scattering
from vectrick.backends.torch.tensors import torch_dtype

# Measured on an H200 in float64 and float32, and on one core of a CPU.
_TYPICAL = {
    "cuda": {
        "gemm": (52e12, 48e12), "sparse": (2.2e12, 4.7e12), "sampled": (1.7e12, 4e12),
        "move": 3.8e12, "take": 6e10, "add_at": 5e10, "dispatch": 1e-5,
    },
    "cpu": {
        "gemm": (50e9, 100e9), "sparse": (4e9, 8e9), "sampled": (1e9, 2e9),
        "move": 1e10, "take": 4e8, "add_at": 2e8, "dispatch": 2e-5,
    },
}  # fmt: skip


def typical_rates(dtype: DTypeLike, device: TorchDevice) -> Rates:
    """Return typical rates, without measuring."""
    typical: dict[str, Any] = _TYPICAL[device.type]
    at = 0 if np.dtype(dtype).itemsize == 8 else 1
    sparse, sampled = typical["sparse"][at], typical["sampled"][at]
    return Rates(
        gemm=typical["gemm"][at], sparse_small=sparse, sparse_large=sparse, sampled_small=sampled,
        sampled_large=sampled, move=typical["move"], take=typical["take"], add_at=typical["add_at"],
        dispatch=typical["dispatch"], measured=False,
    )  # fmt: skip


def device_rates(dtype: np.dtype[Any], device: TorchDevice, fast: bool, measured: bool) -> Rates:
    """Return cached or typical rates of a device; with ``measured``, measure them unless they are cached."""
    torch = load_torch()
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else f"cpu-{torch.get_num_threads()}"
    what = f"{name}-torch{torch.__version__}{'-tf32' if fast else ''}"
    make = (lambda: measure(dtype, device, fast)) if measured else None
    return remembered(dtype, what, lambda: typical_rates(dtype, device), make)


def measure(dtype: DTypeLike, device: TorchDevice, fast: bool = False) -> Rates:
    """Time the primitives on problems that fill the device; it takes half a second at most."""
    torch = load_torch()
    n, n_edges, side = (6144, 1 << 20, 1 << 13) if device.type == "cuda" else (512, 1 << 14, 1 << 10)
    generator = torch.Generator(device).manual_seed(0)
    matrix = torch.randn((side, side), generator=generator, device=device, dtype=torch_dtype(dtype))
    size = matrix.element_size()
    left, out = matrix[:n, :n].contiguous(), matrix.new_empty((n, n))
    gemm = 2 * n**3 / _seconds(lambda: products.matrix_product(left, left, out, fast), device)
    copy = torch.empty_like(matrix)
    move = 2 * side * side * size / _seconds(lambda: copy.copy_(matrix), device)
    cells = torch.randperm(side * side, generator=generator, device=device)[: 4 * n_edges].sort().values
    how = Scattering.of(Cells.of(cells // side, cells % side, side, side))
    vector = torch.randn(len(cells), generator=generator, device=device, dtype=matrix.dtype)
    flat, target = copy.view(-1), torch.empty_like(vector)
    add_at = len(cells) / _seconds(lambda: products.scatter(vector, how, flat), device)
    take = len(cells) / _seconds(lambda: products.gather(flat, how.index, target), device)
    quarter = cells[::4].contiguous()
    blocks = EdgeBlocks.of((quarter // side).int(), (quarter % side).int(), side, side)
    values = vector[: len(quarter)]
    flops = 2 * len(quarter) * side
    sparse = flops / _seconds(lambda: products.sparse_product(matrix, values, blocks, copy), device)
    sampled = flops / _seconds(lambda: products.sampled_product(matrix, matrix, blocks, target), device)
    dispatch = _TYPICAL[device.type]["dispatch"]
    assert isinstance(dispatch, float)
    return Rates(gemm, sparse, sparse, sampled, sampled, move, take, add_at, dispatch)


def _seconds(work: Callable[[], Any], device: TorchDevice, repeats: int = 3) -> float:
    """Return the shortest time of a few runs, after one warm-up run."""
    torch = load_torch()
    best = float("inf")
    for number in range(repeats + 1):
        begin = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        if number:
            best = min(best, time.perf_counter() - begin)
    return best
