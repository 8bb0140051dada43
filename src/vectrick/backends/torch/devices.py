"""Torch devices: which exist, how much memory they have free, and arithmetic of a known precision."""

import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from vectrick._typing import TorchDevice
from vectrick.backends.memory import available_memory, format_bytes

_setting = threading.RLock()  # of the whole process, which other threads must not see half changed

_MISSING = (
    "torch is not installed; install it with: pip install 'vectrick[torch]' (on a machine without a GPU torch's CPU "
    "build is enough), or use backend='cpu', which a fitted model takes by set_params(backend='cpu', device=None)"
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


def as_device(device: str | None) -> Any:
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


def describe_gpu() -> str:
    """Return the name of the GPU and its free memory, or why there is none."""
    if find_spec("torch") is None:
        return "torch is not installed: pip install 'vectrick[torch]'"
    torch = load_torch()
    if not torch.cuda.is_available():
        return "this torch is a CPU build" if torch.version.cuda is None else "torch sees none"
    triton = "with Triton" if find_spec("triton") is not None else "without Triton, so sparse products are slow"
    free, total = torch.cuda.mem_get_info()
    return f"{torch.cuda.get_device_name()}, {format_bytes(free)} of {format_bytes(total)} free, {triton}"


def free_memory(device: TorchDevice) -> int:
    """Return the bytes that can be allocated on a device: what it has free, and what torch holds without using it."""
    torch = load_torch()
    if device.type != "cuda":
        return available_memory()
    stats = torch.cuda.memory_stats_as_nested_dict(device)  # the numbers alone would each flatten it
    reserved, used = (stats[name]["all"]["current"] for name in ("reserved_bytes", "allocated_bytes"))
    return int(torch.cuda.mem_get_info(device)[0] + reserved - used)


def give_back() -> None:
    """Return to the GPUs what torch holds without using it."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def release(error: BaseException) -> None:
    """Release what failed work holds on a GPU; raise MemoryError with an explanation if memory ran out."""
    traceback.clear_frames(error.__traceback__)  # an exception that somebody keeps would keep its tensors
    give_back()
    if type(error).__name__ == "OutOfMemoryError":
        raise MemoryError(
            f"the device ran out of memory during training: {str(error).partition('. ')[0]}. What helps: "
            "dtype='float32', fewer edges at a time, or backend='cpu'"
        ) from None


@contextmanager
def float32_products(fast: bool) -> Iterator[None]:
    """Make float32 matrix products with 24 bits, or with the 11 bits of TF32, whatever the process has set.

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
