"""Types used in the whole package."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.sparse import sparray

if TYPE_CHECKING:
    import narwhals.typing as nwt
    import pandas as pd
    from matplotlib.axes import Axes as MatplotlibAxes
    from torch import Tensor as TorchTensor, device as DeviceObject  # noqa: N812

# A NumPy array, or an array of the backend that is used in the same way, such as a torch tensor.
Array: TypeAlias = NDArray[Any]


class ArrayNamespace(Protocol):
    """A module of functions of arrays, numpy or torch: the part of the array API standard that the library uses."""

    linalg: Any
    finfo: Any
    bool: Any
    float64: Any
    abs: Callable[..., Array]
    any: Callable[..., Array]
    arange: Callable[..., Array]
    argsort: Callable[..., Array]
    broadcast_to: Callable[..., Array]
    clip: Callable[..., Array]
    concatenate: Callable[..., Array]
    empty: Callable[..., Array]
    empty_like: Callable[..., Array]
    exp: Callable[..., Array]
    eye: Callable[..., Array]
    hstack: Callable[..., Array]
    isfinite: Callable[..., Array]
    isnan: Callable[..., Array]
    log: Callable[..., Array]
    log1p: Callable[..., Array]
    max: Callable[..., Array]
    maximum: Callable[..., Array]
    min: Callable[..., Array]
    minimum: Callable[..., Array]
    ones: Callable[..., Array]
    ones_like: Callable[..., Array]
    searchsorted: Callable[..., Array]
    stack: Callable[..., Array]
    sum: Callable[..., Array]
    tanh: Callable[..., Array]
    triu: Callable[..., Array]
    where: Callable[..., Array]
    zeros: Callable[..., Array]
    zeros_like: Callable[..., Array]


# A table of features, a row for each vertex.
Features: TypeAlias = Array | sparray
# A table of features as users give it: also lists, pandas or polars frames, and tensors.
Table: TypeAlias = "ArrayLike | sparray | nwt.IntoDataFrame | nwt.IntoSeries | None"
# The frames that the library returns.
Frame: TypeAlias = "pd.DataFrame"
# Positions or a mask: whatever selects elements of an array.
Index: TypeAlias = ArrayLike | slice
# A device of the backend "torch".
Device: TypeAlias = "str | DeviceObject | None"
TorchDevice: TypeAlias = "DeviceObject"
Tensor: TypeAlias = "TorchTensor"
# The axes of a figure.
Axes: TypeAlias = "MatplotlibAxes"
# Weights of several kernels: a rule that learns them, numbers, or None for equal weights.
KernelWeights: TypeAlias = ArrayLike | None
# The size of an array.
Shape: TypeAlias = int | tuple[int, ...]
# A seed, as in scikit-learn.
RandomState: TypeAlias = int | np.random.RandomState | None

# Choices by name, so that editors mark misspelled names; `get_args` makes lists of choices from them.
New: TypeAlias = Literal["both", "start", "end", "neither"]
NewOrAll: TypeAlias = New | Literal["all"]
FormName: TypeAlias = Literal["auto", "dual", "primal"]
PreconditionerName: TypeAlias = Literal["auto", "kronecker", "none"]
Precision: TypeAlias = Literal["full", "mixed"]
Landmarks: TypeAlias = Literal["cholesky", "kmeans"]
SpectralFilter: TypeAlias = Literal["ridge", "iterated", "cut-off"]
Groups: TypeAlias = Literal["start", "end"] | None
FloatName: TypeAlias = Literal["float32", "float64"]
ExplainBy: TypeAlias = Literal["edge", "start", "end", "features", "view"]
SuggestBy: TypeAlias = Literal["variance", "improvement", "thompson", "diverse"]

__all__ = [
    "Array", "ArrayLike", "ArrayNamespace", "Axes", "DTypeLike", "Device", "ExplainBy", "Features", "FloatName",
    "FormName", "Frame", "Groups", "Index", "KernelWeights", "Landmarks", "New", "NewOrAll",
    "Precision", "PreconditionerName", "RandomState", "Shape", "SpectralFilter", "SuggestBy", "Table", "Tensor",
    "TorchDevice",
]  # fmt: skip
