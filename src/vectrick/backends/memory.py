"""Memory: free memory, sizes such as "2 GB", and workspace that is reused."""

import math
import platform
import re
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

CACHE_LINE = 64  # bytes
HUGE_PAGE = 2**21  # bytes; large buffers are aligned to it
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def available_memory() -> int:
    """Return the bytes that can be allocated now: free memory of the machine, limited by its cgroup."""
    import psutil

    free = int(psutil.virtual_memory().available)
    in_cgroup = _cgroup_free()
    return free if in_cgroup is None else min(free, in_cgroup)


def _cgroup_free(root: Path = Path("/sys/fs/cgroup")) -> int | None:
    versions = (
        ("memory.max", "memory.current", "memory.stat", "inactive_file"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_inactive_file"),
    )
    for limit, used, statistics, cached in versions:
        try:
            free = int((root / limit).read_text()) - int((root / used).read_text())
            counters = dict(line.split() for line in (root / statistics).read_text().splitlines())
            # The system frees cached files when memory runs short.
            return max(0, free + int(counters.get(cached, 0)))
        except (OSError, ValueError):
            continue
    return None


def parse_bytes(size: int | float | str) -> int:
    """Return a size such as ``2_000_000_000``, ``"2GB"`` or ``"512 MiB"`` in bytes.

    >>> parse_bytes("1.5 GB"), parse_bytes("1KiB"), parse_bytes(10)
    (1500000000, 1024, 10)
    """
    if isinstance(size, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([kmgt]?i?)b?\s*", size.lower())
        if match and match[2] in _UNITS and float(match[1]) > 0:
            return int(float(match[1]) * _UNITS[match[2]])
    elif isinstance(size, int | float | np.integer | np.floating) and not isinstance(size, bool) and size > 0:
        return int(min(size, 2.0**62))
    raise ValueError(f"max_memory is {size!r}, but it must be a positive number of bytes or text such as '2GB'")


def format_bytes(size: float) -> str:
    """Return a size as readable text.

    >>> format_bytes(328e6), format_bytes(900)
    ('328 MB', '900 B')
    """
    for unit in ("B", "KB", "MB", "GB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.3g} TB" if size < 1000 else f"{size:,.0f} TB"


def aligned_empty(n_bytes: int, room: float = math.inf) -> NDArray[np.uint8]:
    """Return uninitialized bytes that start on a cache line, or on a huge page if they are many and there is room.

    NumPy requests huge pages from 4 MB on. With them, a buffer that the kernels address at random is contiguous in
    physical memory, so its lines do not compete for the same places in the L2 cache.
    """
    large = n_bytes >= 2**18 and room >= 2 * HUGE_PAGE
    align = HUGE_PAGE if large else CACHE_LINE
    raw = np.empty(max(n_bytes, HUGE_PAGE if large else 0) + align, np.uint8)
    skip = -raw.ctypes.data % align
    return raw[skip : skip + n_bytes]


class Workspace:
    """Named buffers that are kept from one product to the next and grow to the largest request.

    Attributes
    ----------
    room : float
        The bytes that may still be spent on alignment to huge pages.
    """

    def __init__(self) -> None:
        self.room = math.inf
        self._buffers: dict[str, NDArray[Any]] = {}
        self._scratch: deque[NDArray[Any]] = deque()

    def get(self, slot: str, n_items: int, dtype: DTypeLike) -> NDArray[Any]:
        """Return an aligned, uninitialized vector of ``n_items``, valid until the next request for the slot."""
        dtype = np.dtype(dtype)
        n_bytes = n_items * dtype.itemsize
        buffer = self._buffers.get(slot)
        if buffer is None or buffer.nbytes < n_bytes:
            self._buffers.pop(slot, None)
            buffer = self._buffers[slot] = self._new(n_bytes)
        return buffer[:n_bytes].view(dtype)

    @contextmanager
    def borrow(self, n_items: int, dtype: DTypeLike) -> Iterator[NDArray[Any]]:
        """Lend a vector to the calling thread for the duration of a ``with`` block."""
        n_bytes = n_items * np.dtype(dtype).itemsize
        try:
            buffer = self._scratch.pop()
        except IndexError:
            buffer = None
        if buffer is None or buffer.nbytes < n_bytes:
            buffer = self._new(n_bytes)
        yield buffer[:n_bytes].view(dtype)
        self._scratch.append(buffer)

    def _new(self, n_bytes: int) -> NDArray[np.uint8]:
        buffer = aligned_empty(n_bytes, self.room)
        assert buffer.base is not None
        self.room -= buffer.base.nbytes - n_bytes
        return buffer


def peak_memory() -> int | None:
    """Return the peak memory of the process in bytes; None if the system does not report it."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) if platform.system() == "Darwin" else 1024 * int(peak)
