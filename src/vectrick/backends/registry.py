"""The registry of backends: find a backend by its name, by an array, or by the user's parameters."""

from importlib.util import find_spec
from typing import Any

import numpy as np

from vectrick._registry import is_again
from vectrick.backends.base import Backend
from vectrick.backends.cpu.backend import HOST
from vectrick.backends.reference.backend import REFERENCE
from vectrick.backends.torch import devices
from vectrick.backends.torch.backend import TorchBackend, backend_on, on_device
from vectrick.backends.torch.devices import as_device, has_gpu
from vectrick.backends.torch.tensors import is_tensor

_OTHERS: dict[str, Backend] = {}


def register_backend(backend: Backend) -> Backend:
    """Register a backend, so that ``backend=`` of estimators and operators accepts its name.

    To load a model that was trained with it, register the backend first. ``vt.register`` calls this for backends.

    Examples
    --------
    >>> import vectrick as vt
    >>> vt.backends.register_backend("mine")
    Traceback (most recent call last):
    TypeError: backend is of type str, but it must be a Backend
    """
    if not isinstance(backend, Backend):
        raise TypeError(f"backend is of type {type(backend).__name__}, but it must be a Backend")
    name = getattr(backend, "name", "")
    if not isinstance(name, str) or not name:
        raise ValueError(f'{type(backend).__name__} has no name; set name = "..." in the class')
    known = _OTHERS.get(name)
    if name in ("cpu", "torch", "auto") or (known is not None and not is_again(type(backend), type(known))):
        raise ValueError(f"a backend is called {name!r} already; choose another name")
    _OTHERS[name] = backend
    return backend


register_backend(REFERENCE)


def backend_names() -> tuple[str, ...]:
    """Return the names that ``backend=`` accepts.

    Examples
    --------
    >>> import vectrick as vt
    >>> {"cpu", "torch", "reference"} <= set(vt.backends.backend_names())
    True
    """
    return "cpu", "torch", "auto", *_OTHERS


def own_backends() -> list[Backend]:
    """Return the backends that users have registered.

    Examples
    --------
    >>> import vectrick as vt
    >>> vt.backends.own_backends()
    []
    """
    return [backend for backend in _OTHERS.values() if backend is not REFERENCE]


def backend_of(x: Any) -> Backend:
    """Return the backend that an array belongs to; all other objects belong to the host.

    >>> import numpy as np
    >>> backend_of(np.ones(2))
    <backend cpu>
    """
    if type(x) is np.ndarray:
        return HOST
    if is_tensor(x):
        return backend_on(x.device)
    return next((backend for backend in _OTHERS.values() if backend.xp is not HOST.xp and backend.owns(x)), HOST)


def as_backend(place: Any) -> Backend:
    """Return a backend unchanged, the backend of a torch device or its name, or the host for None.

    Examples
    --------
    >>> import vectrick as vt
    >>> vt.backends.as_backend(None)
    <backend cpu>
    """
    if isinstance(place, Backend):
        return place
    return HOST if place is None else on_device(place)


def common_backend(named: dict[str, Any], advice: str) -> Backend:
    """Return the common backend of arrays; if tensors are on different devices, the error lists the devices.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> vt.backends.common_backend({"start": np.ones(2), "end": np.ones(3)}, "move them: {}")
    <backend cpu>
    """
    places = {name: backend_of(array) for name, array in named.items()}
    others = {name: backend for name, backend in places.items() if backend != HOST}
    if len(set(others.values())) > 1:
        raise ValueError(advice.format(", ".join(f"{name} on {backend}" for name, backend in others.items())))
    return next(iter(others.values()), HOST)


def settle_backend(backend: str | Backend, device: str | None, home: Backend = HOST) -> Backend:
    """Return the backend to compute with, given the user's parameters and the backend of the data.

    "auto" uses a GPU if there is one, and otherwise silently the CPU; without a GPU, ``device="cuda"`` is an error.

    Examples
    --------
    >>> import vectrick as vt
    >>> vt.backends.settle_backend("cpu", None)
    <backend cpu>
    """
    if isinstance(backend, Backend):
        if device is not None and str(device) not in ("auto", str(backend.device)):
            raise ValueError(f"backend is {backend!r}, but device is {str(device)!r}; leave device out")
        return backend
    if backend == "dask":  # for lakes only; edges in memory stay on this machine
        backend = "cpu"
    if backend not in backend_names():
        raise ValueError(f"backend is {backend!r}, but it must be one of {', '.join(map(repr, backend_names()))}")
    if backend in ("torch", "auto"):
        return _settle_torch(backend, device, home)
    if device is not None and str(device) not in ("auto", "cpu"):
        raise ValueError(f"backend is {backend!r}, but device is {str(device)!r}; use backend='torch'")
    if isinstance(home, TorchBackend) and home.device.type != "cpu":
        raise ValueError(f"backend is {backend!r}, but the data are tensors on {home}; use backend='torch'")
    return HOST if backend == "cpu" else _OTHERS[backend]


def release(backend: str | Backend, error: BaseException) -> None:
    """Release the memory of failed work on a backend; ``backend`` has the same values as in `settle_backend`.

    Examples
    --------
    >>> import vectrick as vt
    >>> vt.backends.release("cpu", ValueError("it failed"))
    """
    if isinstance(backend, Backend):
        backend.release(error)
    elif isinstance(backend, str) and backend in _OTHERS:
        _OTHERS[backend].release(error)
    elif backend in ("torch", "auto"):
        devices.release(error)


def _settle_torch(backend: str, device: str | None, home: Backend) -> Backend:
    """Return the backend of the requested device, or of the data."""
    data = home if isinstance(home, TorchBackend) else None
    if backend == "auto" and str(device) == "cpu" and find_spec("torch") is None:
        return HOST
    if device is not None and str(device) != "auto":
        if str(device) == "cuda" and data is not None and data.device.type == "cuda":
            return data  # "cuda" without a number allows any GPU
        wanted = backend_on(as_device(device))
        if data is not None and data != wanted:
            raise ValueError(f"device is {str(device)!r}, but the data are tensors on {data}; move them with .to()")
        return wanted
    if data is not None:
        return data
    return HOST if backend == "auto" and not has_gpu() else on_device("auto")
