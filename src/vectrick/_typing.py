"""The types that all of the package speaks of."""

from typing import Any, TypeAlias

from numpy.typing import NDArray

# An array of NumPy, or of the backend that computes, such as a tensor of torch, which is used like one.
Array: TypeAlias = NDArray[Any]
