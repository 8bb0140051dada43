"""Torch tensors from other values, and dtypes by their names. If a tensor exists, torch is loaded."""

import sys
from typing import Any

import numpy as np

from vectrick._typing import DTypeLike, Tensor, TorchDevice
from vectrick.backends.torch.ordering import is_ascending, parts_of


def is_tensor(x: object) -> bool:
    """Whether x is a torch tensor; this does not load torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def torch_dtype(dtype: DTypeLike) -> Any:
    """Return the torch dtype with the name of a NumPy dtype."""
    return getattr(sys.modules["torch"], np.dtype(dtype).name)


def numpy_dtype(x: Tensor) -> np.dtype[Any]:
    """Return the dtype of a tensor as a NumPy dtype."""
    name = str(x.dtype).removeprefix("torch.")
    return np.dtype("float16" if name == "bfloat16" else name)  # NumPy has no bfloat16


def as_tensor(values: Any, device: TorchDevice, dtype: DTypeLike | None = None) -> Tensor:
    """Return values as a tensor on a device, without a copy if possible; ``dtype`` is a NumPy dtype."""
    torch = sys.modules["torch"]
    wanted = None if dtype is None else torch_dtype(dtype)
    if is_tensor(values):
        # A tensor on the device with this dtype is not copied, so it keeps its cached facts.
        return (values.detach() if values.requires_grad else values).to(device=device, dtype=wanted)
    array = np.ascontiguousarray(values)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if not array.flags.writeable:
        array = array.copy()  # a tensor could write to it
    return torch.as_tensor(array, dtype=wanted, device=device)


def group_sums(groups: Tensor, values: Tensor, n_groups: int) -> Tensor:
    """Return the sum of the values of each group in float64, in an order that is the same in every run."""
    torch = sys.modules["torch"]
    ascending = is_ascending(groups)
    if ascending:
        bounds = torch.searchsorted(groups, torch.arange(n_groups + 1, dtype=groups.dtype, device=groups.device))
        lengths = bounds[1:] - bounds[:-1]
    else:
        lengths = torch.zeros(n_groups, dtype=torch.int64, device=groups.device)
        for part in parts_of(len(groups)):  # in parts, because int64 takes more memory
            lengths += torch.bincount(groups[part].long(), minlength=n_groups)
    if len(values) and bool((values == values[0]).all()):
        return lengths.double() * values[0].double()
    if not ascending:  # the order of atomic additions at random places would vary between runs
        values = values[groups.argsort(stable=True)]
    return torch.segment_reduce(values.double(), "sum", lengths=lengths, unsafe=True)
