"""The types that all of the package speaks of."""

from typing import Any, TypeAlias

Array: TypeAlias = Any  # an array of NumPy, or of the backend that computes, such as a tensor of torch
