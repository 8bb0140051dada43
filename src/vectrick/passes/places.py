"""The device for the passes of a process: the CPU, a requested backend, or the GPU of a worker."""

import sys
import threading
import weakref
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from vectrick.backends import Backend, settle_backend
from vectrick.passes.device import DevicePasses
from vectrick.passes.host import HostPasses

Passes = HostPasses | DevicePasses

_lock = threading.Lock()
_best: "weakref.WeakKeyDictionary[HostPasses, Passes]" = weakref.WeakKeyDictionary()


def passes_on(host: HostPasses, backend: Backend) -> Passes:
    """Return passes on a backend."""
    return host if backend.passes_over_blocks else DevicePasses(host, backend)


def best_passes(host: HostPasses) -> Any:
    """Return passes on a GPU of this machine that torch can use, else on the CPU; the result is cached."""
    with _lock:
        if host not in _best:
            _best[host] = passes_on(host, settle_backend("auto" if _may_have_gpu() else "cpu", None))
        return _best[host]


def _may_have_gpu() -> bool:
    """Return whether to look for a GPU: loading torch takes seconds, but driver files on Linux are quick to check."""
    if find_spec("torch") is None:
        return False
    return sys.platform != "linux" or any(Path(driver).exists() for driver in ("/dev/nvidiactl", "/dev/kfd"))
