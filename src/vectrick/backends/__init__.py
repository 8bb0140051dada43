"""Backends store arrays and compute products: a base class, a folder for each backend, and shared code.

>>> import vectrick as vt
>>> vt.backends.HOST
<backend cpu>
"""

from vectrick.backends.base import Backend
from vectrick.backends.cpu.backend import HOST, NumpyBackend
from vectrick.backends.registry import (
    as_backend,
    backend_names,
    backend_of,
    common_backend,
    own_backends,
    register_backend,
    release,
    settle_backend,
)

__all__ = [
    "HOST",
    "Backend",
    "NumpyBackend",
    "as_backend",
    "backend_names",
    "backend_of",
    "common_backend",
    "own_backends",
    "register_backend",
    "release",
    "settle_backend",
]
