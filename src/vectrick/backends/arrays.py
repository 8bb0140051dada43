"""Functions for arrays of any backend that call the backend of the array, and checks of arrays from users.

Arrays of NumPy (since 2.0) and torch follow the array API standard closely enough that code which uses `namespace`
runs on both. Operations that they spell differently are methods of `Backend`, called by the functions of this file.
"""

from typing import Any

import numpy as np

from vectrick._typing import Array, ArrayLike, ArrayNamespace, DTypeLike, Features, Shape
from vectrick.backends.base import Backend
from vectrick.backends.registry import backend_of


def namespace(x: Array) -> ArrayNamespace:
    """Return the module that holds the functions for an array: numpy, or torch.

    >>> import numpy as np
    >>> namespace(np.ones(2)) is np
    True
    """
    return backend_of(x).xp


def to_host(x: Features) -> Any:
    """Return an array as a NumPy array; anything else stays as it is."""
    return backend_of(x).to_host(x)


def placed(values: Features, backend: Backend, dtype: DTypeLike | None = None) -> Array:
    """Return values as an array of a backend; ``dtype`` is a NumPy dtype, by default the dtype of the values."""
    home = backend_of(values)
    return backend.asarray(values if home.xp is backend.xp else home.to_host(values), dtype)


def like(values: Features, other: Array, dtype: DTypeLike | None = None) -> Array:
    """Return values as an array on the backend of another array."""
    return placed(values, backend_of(other), dtype)


def numpy_dtype(x: Array) -> np.dtype[Any]:
    """Return the dtype of an array as a NumPy dtype."""
    return backend_of(x).dtype_of(x)


def cast(x: Array, dtype: DTypeLike) -> Array:
    """Return an array (or a sparse matrix) with another dtype, without a copy if it already has that dtype."""
    return backend_of(x).cast(x, dtype)


def copy_of(x: Array) -> Array:
    """Return a copy."""
    return backend_of(x).copy(x)


def contiguous(x: Array) -> Array:
    """Return an array with contiguous rows."""
    return backend_of(x).contiguous(x)


def zeros(shape: Shape, like: Array, dtype: DTypeLike | None = None) -> Array:
    """Return zeros on the backend of an array, by default with its dtype."""
    backend = backend_of(like)
    return backend.zeros(shape, backend.dtype_of(like) if dtype is None else dtype)


def empty(shape: Shape, like: Array, dtype: DTypeLike | None = None) -> Array:
    """Return an uninitialized array on the backend of another array, by default with its dtype."""
    backend = backend_of(like)
    return backend.empty(shape, backend.dtype_of(like) if dtype is None else dtype)


def arange(n: int, like: Array, dtype: DTypeLike = np.int32) -> Array:
    """Return 0 to n - 1 on the backend of an array."""
    return backend_of(like).arange(n, dtype)


def true_places(mask: Array) -> Array:
    """Return the indices of the true entries of a mask."""
    return backend_of(mask).true_places(mask)


def sorted_values(x: Array) -> Array:
    """Return the values in ascending order."""
    return backend_of(x).sorted_values(x)


def distinct(x: Array) -> Array:
    """Return the distinct values in ascending order, as a NumPy array."""
    return backend_of(x).distinct(x)


def group_sums(groups: Array, values: Array, n_groups: int) -> Array:
    """Return the sum of the values of each group, in an order that is the same in every run."""
    return backend_of(values).group_sums(groups, values, n_groups)


def pieces(x: Array) -> list[slice]:
    """Return the slices that divide a long vector into blocks."""
    size = backend_of(x).piece
    return [slice(start, start + size) for start in range(0, x.shape[0], size)]


# Arrays of users


def unmasked(values: object, name: str) -> Any:
    """Return values unchanged; raise an error for masked values, because no computation would leave them out.

    >>> import numpy as np
    >>> unmasked(np.ma.array([1.0, 2.0], mask=[False, False]), "y")
    array([1., 2.])
    """
    if isinstance(values, list | tuple) and any(isinstance(row, np.ma.MaskedArray) for row in values):
        values = np.ma.stack(values)
    if not isinstance(values, np.ma.MaskedArray):
        return values
    hidden = np.ma.getmaskarray(values)
    if hidden.any():
        raise ValueError(
            f"{name} is a masked array with {int(hidden.sum())} of {hidden.size} values hidden; fill them in with "
            ".filled(value), or remove the rows that contain them"
        )
    return np.asarray(values)


def given_array(values: Features, name: str) -> Array:
    """Return a user's values as an array of the backend that they belong to."""
    return backend_of(values).plain(unmasked(values, name), name)


def as_floats(values: ArrayLike, name: str) -> Array:
    """Return values as a float64 array on the host; raise ValueError if they cannot be converted."""
    try:
        return np.asarray(unmasked(to_host(values), name), np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(values, np.ma.MaskedArray):
            raise
        raise ValueError(f"{name} is of type {type(values).__name__}, but must hold real numbers: {error}") from None
