"""Tests of the order of long vectors on a device, part by part, so that temporary vectors are short."""

import weakref
from collections.abc import Callable
from typing import Any

from vectrick._typing import Tensor
from vectrick.backends.torch.devices import load_torch

_PART = 1 << 26  # length of temporary vectors


def is_ascending(x: Tensor) -> bool:
    """Whether no element is smaller than the one before it."""
    parts = parts_of(len(x))
    return bool(remembered(x, "ascending", lambda: all(bool((_steps(x, part) >= 0).all()) for part in parts)))


def remembered(x: Tensor, key: object, make: Callable[[], Any]) -> Any:
    """Return a fact about a tensor; read-only tensors cache it, because reading all edges takes time."""
    facts = getattr(x, "facts", None)
    if facts is None:
        return make()
    if key not in facts:
        facts[key] = make()
    return facts[key]


def is_ordered(major: Tensor, minor: Tensor) -> bool:
    """Whether edges are ordered by one vertex, and then by the other."""
    # Python may give the id of a deleted tensor to another one.
    known = remembered(major, ("ordered", id(minor)), lambda: (weakref.ref(minor), _is_ordered(major, minor)))
    return bool(known[1]) if known[0]() is minor else _is_ordered(major, minor)


def _is_ordered(major: Tensor, minor: Tensor) -> bool:
    for part in parts_of(len(major)):
        step, then = _steps(major, part), _steps(minor, part)
        if not bool(((step > 0) | ((step == 0) & (then >= 0))).all()):
            return False
    return True


def has_equal(major: Tensor, minor: Tensor) -> bool:
    """Whether two neighbors among ordered edges are equal."""
    parts = parts_of(len(major))
    return any(bool(((_steps(major, part) == 0) & (_steps(minor, part) == 0)).any()) for part in parts)


def places_of_equal(major: Tensor, minor: Tensor) -> Tensor:
    """Return the places of ordered edges that are equal to the edge before."""
    found = []
    for part in parts_of(len(major)):
        same = (_steps(major, part) == 0) & (_steps(minor, part) == 0)
        found.append(same.nonzero().view(-1) + (part.start + 1))
    return load_torch().cat(found)


def _steps(x: Tensor, part: slice) -> Tensor:
    return x[part.start + 1 : part.stop + 1] - x[part.start : part.stop][: len(x) - 1 - part.start]


def parts_of(n: int) -> list[slice]:
    """Return slices of a long vector, so that temporary vectors are short."""
    return [slice(low, min(low + _PART, n)) for low in range(0, n, _PART)]
