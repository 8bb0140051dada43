"""The types that the whole package uses."""

from typing import Any, Literal, TypeAlias

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

# Choices by name, so that an editor marks a misspelled one; lists of choices are made of them by `get_args`.
New: TypeAlias = Literal["both", "start", "end", "neither"]
NewOrAll: TypeAlias = New | Literal["all"]
FormName: TypeAlias = Literal["auto", "dual", "primal"]
PreconditionerName: TypeAlias = Literal["auto", "kronecker", "none"]
Precision: TypeAlias = Literal["full", "mixed"]
Landmarks: TypeAlias = Literal["cholesky", "kmeans"]
SpectralFilter: TypeAlias = Literal["ridge", "iterated", "cut-off"]
Groups: TypeAlias = Literal["start", "end"] | None
FloatName: TypeAlias = Literal["float32", "float64"]
ExplainBy: TypeAlias = Literal["edge", "start", "end", "features"]
SuggestBy: TypeAlias = Literal["variance", "improvement", "thompson", "diverse"]

__all__ = [
    "Array", "ArrayLike", "DTypeLike", "ExplainBy", "Features", "FloatName", "FormName", "Groups", "Landmarks", "New",
    "NewOrAll", "Precision", "PreconditionerName", "RandomState", "Shape", "SpectralFilter", "SuggestBy", "Table",
]  # fmt: skip
