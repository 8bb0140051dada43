"""The rates of this machine's CPUs: typical, cached or measured."""

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from vectrick._typing import Array
from vectrick.backends.cpu import layout, products
from vectrick.backends.memory import Workspace
from vectrick.backends.rates import Rates, remembered


def default_rates(dtype: DTypeLike, n_threads: int) -> Rates:
    """Return typical rates, without measuring."""
    speed = n_threads * 8 / np.dtype(dtype).itemsize
    return Rates(
        gemm=50e9 * speed, sparse_small=32e9 * speed, sparse_large=24e9 * speed, sampled_small=26e9 * speed,
        sampled_large=17e9 * speed, move=10e9 * n_threads, take=8e8, add_at=4e8, dispatch=2e-5, measured=False,
    )  # fmt: skip


def machine_rates(dtype: np.dtype[Any], n_threads: int) -> Rates:
    """Return the rates of this machine from the cache file; if there is none, measure in about 0.4 s and write it."""
    return remembered(dtype, n_threads, lambda: default_rates(dtype, n_threads), lambda: measure(dtype, n_threads))


def known_rates(dtype: np.dtype[Any], n_threads: int) -> Rates:
    """Return the rates of this machine if they have been measured before, otherwise the defaults."""
    return remembered(dtype, n_threads, lambda: default_rates(dtype, n_threads))


def measure(dtype: DTypeLike, n_threads: int) -> Rates:
    """Time the primitives on small problems."""
    dtype = np.dtype(dtype)
    size = dtype.itemsize
    n, large = 768, 2048
    matrix = np.ones((large, large), dtype)
    small = np.ascontiguousarray(matrix[:n, :n])
    out = np.empty_like(small)
    rng = np.random.default_rng(0)
    vector, target = np.ones(2**17, dtype), np.zeros(2**17, dtype)
    places = rng.permutation(len(vector))

    gemm = 2 * n**3 / _seconds(lambda: products.dense_product(small, small, out, n_threads))
    take = len(vector) / _seconds(lambda: np.take(vector, places, out=target, mode="clip"))
    add_at = len(vector) / _seconds(lambda: np.add.at(target, places, vector))
    empty = _time_products(matrix, large, n_threads, rng)[0]
    move = 2 * large**2 * size / empty

    def rate(n_edges: int, side: int, seconds: float) -> float:
        flops = 2 * n_edges * side
        seconds -= 2 * side**2 * size / move + n_edges / take
        return flops / max(seconds, flops / (0.9 * gemm))  # noise must not make it faster than BLAS

    measured: dict[str, Any] = {}
    for name, factor, n_edges in (("small", small, n * n // 4), ("large", matrix, large**2 // 25)):
        sparse, sampled = _time_products(factor, n_edges, n_threads, rng)
        measured[f"sparse_{name}"] = rate(n_edges, len(factor), sparse)
        measured[f"sampled_{name}"] = rate(n_edges, len(factor), sampled)
    return Rates(gemm=gemm, move=move, take=take, add_at=add_at, dispatch=default_rates(dtype, 1).dispatch, **measured)


def _time_products(F: Array, n_edges: int, n_threads: int, rng: np.random.Generator) -> tuple[float, float]:
    """Return the seconds of a sparse and a sampled product with a random square graph."""
    side = len(F)
    kept, contracted = rng.integers(side, size=n_edges), rng.integers(side, size=n_edges)
    columns = layout.ColumnLayout.build(kept, contracted, side, side, layout.column_blocking(n_edges, side, side))
    rows = layout.RowLayout.build(kept, contracted, side, side, layout.row_blocking(n_edges, side, side))
    tiles = products.Tiles(products.whole_strips(side, F.itemsize), side, F.itemsize, by_panels=True)
    space = Workspace()
    values, u = np.ones(n_edges, F.dtype), np.empty(len(rows.held), F.dtype)
    B, tail = space.get("B", tiles.n_items, F.dtype), products.padded_tail(F)
    sparse = _seconds(lambda: products.sparse_product(F, values, columns, tiles, B, space, n_threads))
    sampled = _seconds(lambda: products.sampled_product(F, tail, tiles, B, rows, u, n_threads))
    return sparse, sampled


def _seconds(work: Callable[[], Any], repeats: int = 5) -> float:
    """Return the shortest time of a few runs, after one warm-up run."""
    work()
    best = math.inf
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best
