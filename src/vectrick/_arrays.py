"""Arrays of NumPy and of torch: which of them it is, and what the two spell differently.

Both follow the array API standard closely enough (NumPy since 2.0) that code which asks for `namespace` runs on either.
Nothing here imports torch: whoever holds a tensor has it loaded.
"""

import sys
from typing import Any

import numpy as np

Array = Any  # of NumPy or torch


def is_tensor(x: Any) -> bool:
    """Whether x is a torch tensor."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def namespace(x: Array) -> Any:
    """Return the module that holds the functions for an array: numpy, or torch.

    >>> import numpy as np
    >>> namespace(np.ones(2)) is np
    True
    """
    return sys.modules["torch"] if is_tensor(x) else np


def to_host(x: Array) -> Array:
    """Return an array as one of NumPy; what is none of torch stays what it is."""
    return x.detach().cpu().numpy() if is_tensor(x) else x


def unmasked(values: Any, name: str) -> Any:
    """Return values as they are, or say that some of them are hidden, which no computation here would leave out.

    >>> import numpy as np
    >>> unmasked(np.ma.array([1.0, 2.0], mask=[False, False]), "y")
    array([1., 2.])
    """
    if isinstance(values, list | tuple) and any(isinstance(one, np.ma.MaskedArray) for one in values):
        values = np.ma.stack(values)
    if not isinstance(values, np.ma.MaskedArray):
        return values
    hidden = np.ma.getmaskarray(values)
    if hidden.any():
        raise ValueError(
            f"{name} is a masked array with {int(hidden.sum())} of {hidden.size} values hidden; fill them in with "
            ".filled(value), or leave out the rows that have them"
        )
    return np.asarray(values)


def as_floats(values: Any, name: str) -> Array:
    """Return values as an array of doubles, or say what cannot be one."""
    try:
        return np.asarray(unmasked(to_host(values), name), np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(values, np.ma.MaskedArray):
            raise
        raise ValueError(f"{name} is of type {type(values).__name__}, but must hold real numbers: {error}") from None


def like(values: Any, other: Array, dtype: Any = None) -> Array:
    """Return values as an array where another one lives; ``dtype`` is one of NumPy, by default they keep theirs."""
    if is_tensor(other):
        return as_tensor(values, other.device, dtype)
    found = np.asarray(to_host(values))
    return found if dtype is None else found.astype(dtype, copy=False)


def placed(values: Any, device: Any) -> Array:
    """Return an array on a device of torch, or for None as one of NumPy."""
    return to_host(values) if device is None else as_tensor(values, device)


def as_tensor(values: Any, device: Any, dtype: Any = None) -> Array:
    """Return values as a tensor on a device, without a copy where they are one; ``dtype`` is one of NumPy."""
    torch = sys.modules["torch"]
    wanted = None if dtype is None else torch_dtype(dtype)
    if is_tensor(values):
        return values.detach().to(device=device, dtype=wanted)
    array = np.ascontiguousarray(values)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if not array.flags.writeable:
        array = array.copy()  # a tensor could write to it
    return torch.as_tensor(array, dtype=wanted, device=device)


def plain_tensor(x: Array, name: str) -> Array:
    """Return a dense tensor without its gradient, which nothing here would pass on; refuse a sparse one."""
    if str(x.layout) != "torch.strided":
        raise TypeError(f"{name} is a sparse tensor; give a SciPy sparse matrix, or a dense tensor by .to_dense()")
    return x.detach()


def torch_dtype(dtype: Any) -> Any:
    """Return the dtype of torch that NumPy's is called by."""
    return getattr(sys.modules["torch"], np.dtype(dtype).name)


def numpy_dtype(x: Array) -> np.dtype[Any]:
    """Return the dtype of an array as NumPy has it."""
    if not is_tensor(x):
        found: np.dtype[Any] = x.dtype
        return found
    name = str(x.dtype).removeprefix("torch.")
    return np.dtype("float16" if name == "bfloat16" else name)  # which NumPy does not have


def cast(x: Array, dtype: Any) -> Array:
    """Return an array (or a sparse matrix) in another dtype, without a copy where it has it already."""
    if is_tensor(x):
        return x.to(torch_dtype(dtype))
    return x if x.dtype == dtype else x.astype(dtype)


def copy_of(x: Array) -> Array:
    """Return a copy."""
    return x.clone() if is_tensor(x) else x.copy()


def zeros(shape: Any, like: Array, dtype: Any = None) -> Array:
    """Return zeros where an array lives, by default of its dtype."""
    return namespace(like).zeros(shape, dtype=like.dtype if dtype is None else dtype, device=like.device)


def empty(shape: Any, like: Array, dtype: Any = None) -> Array:
    """Return an array that is not initialised where another one lives, by default of its dtype."""
    return namespace(like).empty(shape, dtype=like.dtype if dtype is None else dtype, device=like.device)


def arange(n: int, like: Array, dtype: Any = None) -> Array:
    """Return 0 to n - 1 where an array lives."""
    xp = namespace(like)
    return xp.arange(n, dtype=xp.int32 if dtype is None else dtype, device=like.device)


def true_places(mask: Array) -> Array:
    """Return the places where a mask is true."""
    return mask.nonzero().flatten() if is_tensor(mask) else np.flatnonzero(mask)


def sorted_values(x: Array) -> Array:
    """Return the values in ascending order."""
    return x.sort().values if is_tensor(x) else np.sort(x)


def distinct(x: Array) -> np.ndarray[Any, Any]:
    """Return the distinct values in ascending order, as an array of NumPy."""
    return np.asarray(to_host(x.unique())) if is_tensor(x) else np.unique(x)


def group_sums(groups: Array, values: Array, n_groups: int) -> Array:
    """Return the sum of the values of each group, in an order that is the same in every run."""
    if not is_tensor(values):
        return np.bincount(groups, values, n_groups)
    torch = sys.modules["torch"]
    order = groups.argsort(stable=True)  # an addition at random places would depend on who comes first
    lengths = torch.bincount(groups.long(), minlength=n_groups)
    return torch.segment_reduce(values[order].double(), "sum", lengths=lengths, unsafe=True)
