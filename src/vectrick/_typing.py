"""The types that all of the package speaks of."""

from typing import Any, TypeAlias

from numpy.typing import ArrayLike, NDArray
from scipy.sparse import sparray

# An array of NumPy, or of the backend that computes, such as a tensor of torch, which is used like one.
Array: TypeAlias = NDArray[Any]
# A table of features, a row for each vertex.
Features: TypeAlias = Array | sparray
# What users give for one of these: also lists, frames of pandas or polars, tensors.
Table: TypeAlias = Any

__all__ = ["Array", "ArrayLike", "Features", "Table"]
