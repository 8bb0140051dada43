"""What this machine can do per second: measured once for a dtype and a number of threads, and kept on disk.

The planner only compares paths, so the figures need to be right to some ten percent. A small problem does not pay for
the measurement and takes the defaults, which were measured on a server CPU of 2023.
"""

import contextlib
import json
import math
import os
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

_LARGEST_FILE = 100_000  # bytes; ours have a few hundred
FORMAT = 1  # of the file; raise it when the kernels or the meaning of a rate change


@dataclass(frozen=True)
class Rates:
    """Rates for one dtype and number of threads; products in flops per second, the rest as its unit says."""

    gemm: float
    sparse_small: float  # sparse product, blocks in L1
    sparse_large: float  # sparse product, blocks in L2
    sampled_small: float  # sampled product, blocks in L1
    sampled_large: float  # sampled product, blocks in L2
    move: float  # bytes per second read or written in passing
    take: float  # edges per second, one thread: numpy.take
    add_at: float  # edges per second, one thread: numpy.add.at
    dispatch: float  # seconds to start and end a parallel step
    measured: bool = True


def default_rates(dtype: DTypeLike, n_threads: int) -> Rates:
    """Return typical rates, without measuring."""
    speed = n_threads * 8 / np.dtype(dtype).itemsize
    return Rates(
        gemm=50e9 * speed, sparse_small=32e9 * speed, sparse_large=24e9 * speed, sampled_small=26e9 * speed,
        sampled_large=17e9 * speed, move=10e9 * n_threads, take=8e8, add_at=4e8, dispatch=2e-5, measured=False,
    )  # fmt: skip


_found: dict[tuple[np.dtype[Any], int | str], Rates] = {}  # by this process, so that its plans agree with each other


def machine_rates(dtype: np.dtype[Any], n_threads: int) -> Rates:
    """Return the rates of this machine: from the cache file, or measured now, in about 0.4 s, and written there."""
    return remembered(dtype, n_threads, lambda: default_rates(dtype, n_threads), lambda: measure(dtype, n_threads))


def known_rates(dtype: np.dtype[Any], n_threads: int) -> Rates:
    """Return the rates of this machine if they have been measured before, the defaults otherwise."""
    return remembered(dtype, n_threads, lambda: default_rates(dtype, n_threads))


def remembered(
    dtype: np.dtype[Any], what: int | str, typical: Callable[[], Rates], measured: Callable[[], Rates] | None = None
) -> Rates:
    """Return rates from this process or the cache file, else those measured now (and written), or typical ones.

    ``what`` is the number of threads, or the name of a device.
    """
    key = (dtype, what)
    if key not in _found:
        _found[key] = _read(_cache_file(*key)) or typical()
    if measured is not None and not _found[key].measured:
        _found[key] = measured()
        _write(_cache_file(*key), _found[key])
    return _found[key]


def measure(dtype: DTypeLike, n_threads: int) -> Rates:
    """Time the primitives on small problems."""
    from vectrick.backends.cpu.products import dense_product

    dtype = np.dtype(dtype)
    size = dtype.itemsize
    n, large = 768, 2048
    matrix = np.ones((large, large), dtype)
    small = np.ascontiguousarray(matrix[:n, :n])
    out = np.empty_like(small)
    rng = np.random.default_rng(0)
    vector, target = np.ones(2**17, dtype), np.zeros(2**17, dtype)
    places = rng.permutation(len(vector))

    gemm = 2 * n**3 / _seconds(lambda: dense_product(small, small, out, n_threads))
    take = len(vector) / _seconds(lambda: np.take(vector, places, out=target, mode="clip"))
    add_at = len(vector) / _seconds(lambda: np.add.at(target, places, vector))
    empty = _time_products(matrix, large, n_threads, rng)[0]
    move = 2 * large**2 * size / empty

    def rate(n_edges: int, side: int, seconds: float) -> float:
        flops = 2 * n_edges * side
        seconds -= 2 * side**2 * size / move + n_edges / take
        return flops / max(seconds, flops / (0.9 * gemm))  # noise must not make it faster than BLAS

    found: dict[str, Any] = {}
    for name, factor, n_edges in (("small", small, n * n // 4), ("large", matrix, large**2 // 25)):
        sparse, sampled = _time_products(factor, n_edges, n_threads, rng)
        found[f"sparse_{name}"] = rate(n_edges, len(factor), sparse)
        found[f"sampled_{name}"] = rate(n_edges, len(factor), sampled)
    return Rates(gemm=gemm, move=move, take=take, add_at=add_at, dispatch=default_rates(dtype, 1).dispatch, **found)


def _time_products(F: Any, n_edges: int, n_threads: int, rng: np.random.Generator) -> tuple[float, float]:
    """Return the seconds of a sparse and a sampled product with a random square graph."""
    from vectrick.backends.cpu import layout, products
    from vectrick.backends.memory import Workspace

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
    """Return the shortest of a few runs after one that is not timed."""
    work()
    best = math.inf
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def cache_folder() -> Path:
    """Return where rates are kept: ``VECTRICK_CACHE_DIR``, or ``vectrick`` in the user's cache folder."""
    own = os.environ.get("VECTRICK_CACHE_DIR")
    if own:
        return Path(own)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vectrick"
    except RuntimeError:  # nobody's home: a place where nothing can be written
        return Path(os.devnull) / "vectrick"


def _cache_file(dtype: np.dtype[Any], what: int | str) -> Path:
    machine = f"{platform.node()}-{platform.machine()}-numpy{np.__version__}-{dtype.name}-{what}"
    safe = "".join(c if c.isalnum() or c in "-." else "_" for c in machine)
    return cache_folder() / f"rates-{FORMAT}-{safe}.json"


def _read(path: Path) -> Rates | None:
    """Return the rates in a file, or None unless every one of them is there and makes sense."""
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST_FILE:  # opening a pipe would wait for ever
            return None
        found = json.loads(path.read_text())
        names = [field.name for field in fields(Rates) if field.name != "measured"]
        values: dict[str, Any] = {name: float(found[name]) for name in names}
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError, MemoryError):
        return None
    good = all(math.isfinite(x) and x > 0 for x in values.values())
    return Rates(**values) if good else None


def _write(path: Path, rates: Rates) -> None:
    """Write the file in one step; without a place to write, the rates live as long as the process."""
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(asdict(rates), indent=1))
        draft.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
