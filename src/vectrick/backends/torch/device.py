"""Which device of torch to compute on, what it has free, and arithmetic that is what it says."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

BACKENDS = ("cpu", "torch", "auto")

_MISSING = (
    "torch is not installed; install it with: pip install 'vectrick[torch]' (on a machine without a GPU torch's CPU "
    "build is enough), or use backend='cpu'"
)


def load_torch() -> Any:
    """Return the module torch, or say how to get it."""
    if "torch" not in sys.modules and find_spec("torch") is None:
        raise ImportError(_MISSING)
    import torch

    return torch


def has_gpu() -> bool:
    """Whether torch is there and sees a GPU."""
    return find_spec("torch") is not None and bool(load_torch().cuda.is_available())


def as_device(device: Any) -> Any:
    """Return a device of torch: "cpu", "cuda", "cuda:1", or "auto" for a GPU where there is one."""
    torch = load_torch()
    text = str(device)
    if text == "auto":
        return torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")
    kind, colon, number = text.partition(":")
    if kind not in ("cpu", "cuda") or (colon and not number.isdecimal()):
        raise ValueError(f"device is {text!r}, but it must be 'auto', 'cpu', 'cuda' or 'cuda:1' with a number")
    if kind == "cpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        why = "this build of torch is for CPUs only" if torch.version.cuda is None else "torch sees no GPU"
        raise ValueError(f"device is {text!r}, but {why}; use device='cpu' or 'auto', or backend='cpu'")
    n_devices = torch.cuda.device_count()
    at = int(number) if colon else torch.cuda.current_device()
    if at >= n_devices:
        raise ValueError(f"device is {text!r}, but there are {n_devices} GPUs: 'cuda:0' to 'cuda:{n_devices - 1}'")
    return torch.device("cuda", at)


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


def give_back(device: Any) -> None:
    """Return to a GPU what torch holds without using it."""
    if device is not None and device.type == "cuda":
        load_torch().cuda.empty_cache()


@contextmanager
def float32_products(fast: bool) -> Iterator[None]:
    """Hold matrix products of float32 to their 24 bits, or let them have the 11 of TF32, whatever the process has set.

    TF32 is for those who ask for it: nobody should lose digits because another library changed a global setting.
    """
    settings = load_torch().backends.cuda.matmul
    before = settings.fp32_precision
    settings.fp32_precision = "tf32" if fast else "ieee"
    try:
        yield
    finally:
        settings.fp32_precision = before


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
