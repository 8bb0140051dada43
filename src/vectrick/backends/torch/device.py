"""Which device of torch to compute on, what it has free, and arithmetic that is what it says."""

import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from typing import Any

from vectrick._devices import as_device, has_gpu, load_torch

BACKENDS = ("cpu", "torch", "auto")

_setting = threading.RLock()  # of the whole process, which other threads must not see half changed


def settle_device(backend: str, device: Any, found: Any = None) -> Any:
    """Return the device of torch to compute on, or None for NumPy.

    ``found`` is the device of the tensors that the data are, None where they are arrays. "auto" takes a GPU where there
    is one, and else the CPU, silently unless ``device`` asks for a GPU.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend is {backend!r}, but it must be one of {', '.join(map(repr, BACKENDS))}")
    named = device is not None and str(device) != "auto"
    if backend == "cpu":
        if named and str(device) != "cpu":
            raise ValueError(f"backend is 'cpu', but device is {str(device)!r}; use backend='torch'")
        if found is not None and found.type != "cpu":
            raise ValueError(f"backend is 'cpu', but the data are tensors on {found}; use backend='torch'")
        return None
    if backend == "auto" and str(device) == "cpu" and find_spec("torch") is None:
        return None
    if named and str(device) == "cuda" and found is not None and found.type == "cuda":
        return found  # any of them was asked for
    if named:
        wanted = as_device(device)
        if found is not None and found != wanted:
            raise ValueError(f"device is {str(device)!r}, but the data are tensors on {found}; move them with .to()")
        return wanted
    if found is not None:
        return found
    if backend == "auto" and not has_gpu():
        return None
    return as_device("auto")


def free_memory(device: Any) -> int:
    """Return the bytes that can be allocated on a device: what it has free, and what torch holds without using it."""
    torch = load_torch()
    if device.type != "cuda":
        from vectrick.backends.memory import available_memory

        return available_memory()
    held = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0] + held)


def give_back() -> None:
    """Return to the GPUs what torch holds without using it."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


@contextmanager
def float32_products(fast: bool) -> Iterator[None]:
    """Hold matrix products of float32 to their 24 bits, or let them have the 11 of TF32, whatever the process has set.

    TF32 is for those who ask for it: nobody should lose digits because another library changed a global setting.
    """
    settings = load_torch().backends.cuda.matmul
    with _setting:
        before = settings.fp32_precision
        settings.fp32_precision = "tf32" if fast else "ieee"
        try:
            yield
        finally:
            settings.fp32_precision = before


def exact_products(device: Any) -> AbstractContextManager[None]:
    """Return what holds float32 to its digits on a device of torch; for None nothing is needed."""
    return nullcontext() if device is None else float32_products(fast=False)


class TensorSpace:
    """Named buffers that live from one product to the next, as tensors on one device."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self._buffers: dict[tuple[str, Any], Any] = {}

    def get(self, slot: str, shape: tuple[int, ...], like: Any, zero: bool = False) -> Any:
        """Return a tensor, uninitialised, valid until the slot is asked for again; with ``zero`` it begins as zeros.

        Whoever asked for zeros has to leave zeros where it does not write.
        """
        key, n_items = (slot, like.dtype), 1
        for length in shape:
            n_items *= length
        buffer = self._buffers.get(key)
        if buffer is None or len(buffer) < n_items:
            self._buffers.pop(key, None)
            make = like.new_zeros if zero else like.new_empty
            buffer = self._buffers[key] = make(n_items)
        return buffer[:n_items].view(shape)
