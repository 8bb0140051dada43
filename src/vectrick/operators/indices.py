"""Edge lists as indices of the two factors: checks, masks, and renumbering to the vertices that occur."""

from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.backends import Backend, backend_of
from vectrick.backends.arrays import arange, numpy_dtype, pieces, placed, true_places, zeros
from vectrick.backends.product_path import Pair
from vectrick.operators.factors import as_array

_LARGEST = 2**31 - 1  # vertices; the kernels keep vertex numbers in 32 bits


def as_pair(pair: object, sizes: tuple[int, int], names: tuple[str, str], what: str) -> Pair | None:
    """Return ``(p, q)`` as two integer vectors of one length within the sizes, or None for the slice ``:``."""
    if isinstance(pair, slice):
        if pair == slice(None):
            return None
        raise TypeError(f"the {what} are {pair}, but a slice must be ':'; give a pair of index vectors instead")
    if not isinstance(pair, tuple | list | np.ndarray) or len(pair) != 2:
        raise TypeError(
            f"the {what} must be ':' or a pair ({names[0]}, {names[1]}) of index vectors, as in "
            "kron(M, N)[(p, q), (r, t)]"
        )
    first, second = (_as_indices(part, name) for part, name in zip(pair, names, strict=True))
    if len(first) != len(second):
        raise ValueError(
            f"{names[0]} has length {len(first)} and {names[1]} has length {len(second)}, but they must agree"
        )
    for part, size, name, factor in zip((first, second), sizes, names, "MN", strict=True):
        _check_range(part, size, name, f"{factor} has {size} {what}")
    # Copy the indices, because the transpose and restrictions are built from them later. Read-only arrays need no
    # copy.
    return _own(first), _own(second)


def _own(indices: Array) -> Array:
    return backend_of(indices).owned(indices, np.int32)


def pair_on(pair: Pair | None, backend: Backend) -> Pair | None:
    """Return a pair on a backend; None for all."""
    return None if pair is None else (placed(pair[0], backend), placed(pair[1], backend))


def _as_indices(value: object, name: str) -> Any:
    array = as_array(value, name)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {tuple(array.shape)}, but it must be a vector of indices")
    if len(array) == 0:
        return zeros(0, array, np.int32)
    if numpy_dtype(array).kind not in "iu":
        raise TypeError(f"{name} has dtype {array.dtype}, but indices must be integers")
    return array


def _check_range(indices: Array, size: int, name: str, bound: str) -> None:
    if len(indices) == 0:
        return
    extremes = backend_of(indices).remembered(indices, "extremes", lambda: _extremes(indices))
    for worst, index in extremes:
        if not 0 <= index < size:
            raise IndexError(f"{name}[{worst}] is {index}, but {bound}")
    if size > _LARGEST:
        raise ValueError(f"{bound}, but at most {_LARGEST} are supported on each side of a graph")


def _extremes(indices: Array) -> list[tuple[int, int]]:
    """Return the places and values of the smallest and the largest index."""
    places = int(indices.argmin()), int(indices.argmax())
    return [(place, int(indices[place])) for place in places]


def is_same(pair: Pair | None, other: Pair | None) -> bool:
    """Whether two pairs consist of the same two array objects, not only of equal arrays."""
    return pair is not None and other is not None and pair[0] is other[0] and pair[1] is other[1]


def cut(pair: Pair | None, mask: Array | None) -> Pair | None:
    """Return the edges that a mask selects; None for all."""
    return pair if pair is None or mask is None else (pair[0][mask], pair[1][mask])


def used_vertices(indices: Array, size: int, share: float) -> Array | None:
    """Return the sorted vertices that occur, or None if they are more than this share of all."""

    def find() -> Array:
        seen = zeros(size, indices, bool)
        for piece in pieces(indices):  # some devices need longer integers as indices
            seen[indices[piece]] = True
        return true_places(seen)

    used = backend_of(indices).remembered(indices, ("used", size), find)
    return used if len(used) < size and len(used) <= share * size else None


def renumber(indices: Array, used: Array | None, size: int) -> Array:
    """Return the indices as positions among the used vertices."""
    if used is None:
        return indices
    position = zeros(size, indices)
    position[used] = arange(len(used), indices)
    return position[indices]
