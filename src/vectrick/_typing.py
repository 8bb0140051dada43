"""The types that the whole package uses."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.sparse import sparray

# A NumPy array, or an array of the backend that computes, such as a torch tensor, which is used like one.
Array: TypeAlias = NDArray[Any]
# A table of features, a row for each vertex.
Features: TypeAlias = Array | sparray
# What users give for one of these: also lists, pandas or polars frames, and tensors.
Table: TypeAlias = Any
# The size of an array.
Shape: TypeAlias = int | tuple[int, ...]
# A seed, as scikit-learn takes it.
RandomState: TypeAlias = int | np.random.RandomState | None

__all__ = ["Array", "ArrayLike", "DTypeLike", "Features", "RandomState", "Shape", "Table"]
