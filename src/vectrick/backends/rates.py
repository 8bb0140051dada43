"""The speed of this machine: rates measured once for each dtype and number of threads, and cached on disk.

The planner only compares paths, so an accuracy of about ten percent is enough. A small problem uses defaults that were
measured on a server CPU of 2023, because measuring would take longer than it saves.
"""

import contextlib
import json
import math
import os
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

_LARGEST_FILE = 100_000  # bytes; a cache file has a few hundred
FORMAT = 1  # of the file; increase it when the kernels or the meaning of a rate change


@dataclass(frozen=True)
class Rates:
    """Rates for one dtype and number of threads; products in flops per second, other rates as noted."""

    gemm: float
    sparse_small: float  # sparse product, blocks in L1
    sparse_large: float  # sparse product, blocks in L2
    sampled_small: float  # sampled product, blocks in L1
    sampled_large: float  # sampled product, blocks in L2
    move: float  # bytes per second that are read or written sequentially
    take: float  # edges per second, one thread: numpy.take
    add_at: float  # edges per second, one thread: numpy.add.at
    dispatch: float  # seconds to start and end a parallel step
    measured: bool = True


_found: dict[tuple[np.dtype[Any], int | str], Rates] = {}  # by this process, so that its plans are consistent


def remembered(
    dtype: np.dtype[Any], what: int | str, typical: Callable[[], Rates], measured: Callable[[], Rates] | None = None
) -> Rates:
    """Return rates from this process or the cache file; otherwise measure and cache them, or return typical rates.

    ``what`` is the number of threads, or the name of a device.
    """
    key = (dtype, what)
    if key not in _found:
        _found[key] = _read(_cache_file(*key)) or typical()
    if measured is not None and not _found[key].measured:
        _found[key] = measured()
        _write(_cache_file(*key), _found[key])
    return _found[key]


def cache_folder() -> Path:
    """Return the folder of cached rates: ``VECTRICK_CACHE_DIR``, or ``vectrick`` in the user's cache folder."""
    own = os.environ.get("VECTRICK_CACHE_DIR")
    if own:
        return Path(own)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vectrick"
    except RuntimeError:  # there is no home folder: return a path that cannot be written to
        return Path(os.devnull) / "vectrick"


def _cache_file(dtype: np.dtype[Any], what: int | str) -> Path:
    machine = f"{platform.node()}-{platform.machine()}-numpy{np.__version__}-{dtype.name}-{what}"
    safe = "".join(c if c.isalnum() or c in "-." else "_" for c in machine)
    return cache_folder() / f"rates-{FORMAT}-{safe}.json"


def _read(path: Path) -> Rates | None:
    """Return the rates in a file; None unless all of them are positive and finite numbers."""
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST_FILE:  # opening a pipe would block forever
            return None
        content = json.loads(path.read_text())
        names = [field.name for field in fields(Rates) if field.name != "measured"]
        values: dict[str, Any] = {name: float(content[name]) for name in names}
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError, MemoryError):
        return None
    good = all(math.isfinite(x) and x > 0 for x in values.values())
    return Rates(**values) if good else None


def _write(path: Path, rates: Rates) -> None:
    """Write the file atomically; if it cannot be written, the rates are kept until the process ends."""
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(asdict(rates), indent=1))
        draft.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
