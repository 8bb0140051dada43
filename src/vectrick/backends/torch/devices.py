"""Torch devices: their names, their free memory, and the precision of matrix products."""

import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from vectrick._typing import TorchDevice
from vectrick.backends.memory import available_memory, format_bytes

_setting = threading.RLock()  # protects a setting of the process from other threads

_MISSING = (
    "torch is not installed; install it with: pip install 'vectrick[torch]' (on a machine without a GPU torch's CPU "
    "build is enough), or use backend='cpu'; for a fitted model, call set_params(backend='cpu', device=None)"
)


def load_torch() -> Any:
    """Return the module torch; raise ImportError with installation instructions if it is missing."""
    if "torch" not in sys.modules and find_spec("torch") is None:
        raise ImportError(_MISSING)
    import torch

    return torch


def has_gpu() -> bool:
    """Whether torch is installed and can use a GPU."""
    return find_spec("torch") is not None and bool(load_torch().cuda.is_available())


def as_device(device: str | None) -> Any:
    """Return the torch device "cpu", "cuda" or "cuda:1"; "auto" is a GPU if there is one."""
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
        why = "this build of torch is for CPUs only" if torch.version.cuda is None else "torch finds no GPU"
        raise ValueError(f"device is {text!r}, but {why}; use device='cpu' or 'auto', or backend='cpu'")
    n_devices = torch.cuda.device_count()
    at = int(number) if colon else torch.cuda.current_device()
    if at >= n_devices:
        raise ValueError(f"device is {text!r}, but there are {n_devices} GPUs: 'cuda:0' to 'cuda:{n_devices - 1}'")
    return torch.device("cuda", at)


def describe_gpu() -> str:
    """Return the name of the GPU and its free memory, or the reason why there is none."""
    if find_spec("torch") is None:
        return "torch is not installed: pip install 'vectrick[torch]'"
    torch = load_torch()
    if not torch.cuda.is_available():
        return "this torch is a CPU build" if torch.version.cuda is None else "torch finds none"
    triton = "with Triton" if find_spec("triton") is not None else "without Triton, so sparse products are slow"
    free, total = torch.cuda.mem_get_info()
    return f"{torch.cuda.get_device_name()}, {format_bytes(free)} of {format_bytes(total)} free, {triton}"


def free_memory(device: TorchDevice) -> int:
    """Return the bytes that can be allocated on a device: free memory, and unused memory that torch reserves."""
    torch = load_torch()
    if device.type != "cuda":
        return available_memory()
    stats = torch.cuda.memory_stats_as_nested_dict(device)  # memory_reserved() and others flatten it each time
    reserved, used = (stats[name]["all"]["current"] for name in ("reserved_bytes", "allocated_bytes"))
    return int(torch.cuda.mem_get_info(device)[0] + reserved - used)


def give_back() -> None:
    """Free the unused memory that torch reserves on the GPUs."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def release(error: BaseException) -> None:
    """Release the memory of failed work on a GPU; raise MemoryError with an explanation if memory ran out."""
    traceback.clear_frames(error.__traceback__)  # a stored exception would keep its tensors alive
    give_back()
    if type(error).__name__ == "OutOfMemoryError":
        raise MemoryError(
            f"the device ran out of memory during training: {str(error).partition('. ')[0]}. What helps: "
            "dtype='float32', fewer edges at a time, or backend='cpu'"
        ) from None


@contextmanager
def float32_products(fast: bool) -> Iterator[None]:
    """Compute float32 matrix products with 24 bits, or with the 11 bits of TF32, for any setting of the process.

    TF32 is used only if the user selects it: results must not lose digits because another library changed the setting.
    """
    settings = load_torch().backends.cuda.matmul
    with _setting:
        before = settings.fp32_precision
        settings.fp32_precision = "tf32" if fast else "ieee"
        try:
            yield
        finally:
            settings.fp32_precision = before
