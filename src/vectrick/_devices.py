"""Devices of torch: which there are, and what to do where there is none."""

import sys
from importlib.util import find_spec
from typing import Any

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
