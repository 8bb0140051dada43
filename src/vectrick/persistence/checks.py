"""Checks of values from untrusted files before they are used: kinds, shapes, ranges."""

from collections.abc import Callable
from typing import Any

import numpy as np

from vectrick._typing import Array

Tensors = dict[str, Array]

_PLAIN = (type(None), bool, int, float, str)
LOADING_ERRORS = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError)


def tensor_of(tensors: Tensors, name: str, kinds: str, shape: tuple[int | None, ...]) -> Array:
    """Return a tensor after checking its kind of numbers and its shape."""
    tensor = tensors[name]
    if tensor.dtype.kind not in kinds or len(tensor.shape) != len(shape):
        raise ValueError(f"the tensor {name!r} is of the wrong kind")
    if any(expected is not None and n != expected for n, expected in zip(tensor.shape, shape, strict=True)):
        raise ValueError(f"the tensor {name!r} has shape {tensor.shape}, but it must be {shape}")
    return tensor


def finite(values: Array) -> Array:
    """Return coefficients after checking that they are finite."""
    if not np.isfinite(values).all():
        raise ValueError("some coefficients are not finite")
    return values


def check_range(values: Array, size: int, name: str) -> None:
    """Raise an error if positions are out of range."""
    if values.dtype.kind != "i" or (values.size and (values.min() < 0 or values.max() >= size)):
        raise ValueError(f"{name} has positions that are not in 0 to {size - 1}")


def of_kind(kind: Callable[..., Any], value: object) -> Any:
    """Return a value if it is of a kind, or raise an error; an integer is also a float."""
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise TypeError(f"{value!r} is not of type {getattr(kind, '__name__', kind)}")
    return value


def numbers(values: object) -> list[Any]:
    """Return a list of numbers."""
    if not isinstance(values, list) or any(type(value) not in (int, float) for value in values):
        raise TypeError("a list in the file holds something that is not a number")
    return values


def plain(value: object) -> Any:
    """Return a plain value after checking it: a number, text, True, False or None."""
    if type(value) not in _PLAIN:
        raise TypeError(f"{value!r} is not a plain value")
    return value
