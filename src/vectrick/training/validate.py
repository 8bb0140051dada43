"""The input of users: edges or plain arrays, labels and weights, checked and converted to one form."""

from numbers import Real
from typing import Any, Protocol

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.validation import validate_data

from vectrick._typing import Array, ArrayLike
from vectrick.backends import HOST, Backend, backend_of
from vectrick.backends.arrays import (
    as_floats,
    cast,
    given_array,
    namespace,
    numpy_dtype,
    placed,
    to_host,
    true_places,
    unmasked,
)
from vectrick.data import Edges, VertexTable
from vectrick.data.censored import split_bounds
from vectrick.data.files.numerals import refuse_commas
from vectrick.data.source import is_lake


class HasColumns(Protocol):
    """An estimator, as far as plain arrays of concatenated features go."""

    n_start_features: int | None


def as_given(x: Array, home: Backend) -> Any:
    """Return a result as the user's kind of array: a NumPy array if the user gave NumPy arrays."""
    return to_host(x) if home == HOST else x


def as_edges(estimator: Any, X: Any, reset: bool) -> Edges:
    """Return X as `Edges`; in a plain array of concatenated features, equal features are one vertex."""
    if isinstance(X, Edges):
        if reset:  # Edges have no columns to compare with a later array
            for name in ("n_features_in_", "feature_names_in_"):
                estimator.__dict__.pop(name, None)
        return X
    if is_lake(X):
        raise ValueError("X is a lake, whose edges are not in memory; this needs edges in memory: X.edges() reads them")
    known = {} if reset else estimator.__dict__.get("_fitted_parameters", {})
    n_start = known.get("n_start_features", estimator.n_start_features)
    if n_start is None:
        raise ValueError(
            f"X is of type {type(X).__name__}, but n_start_features is None: give Edges (vt.Edges.from_frame makes "
            "them from a table of ids), or set it to the number of columns of X that belong to the start vertex"
        )
    array = validate_data(
        estimator, unmasked(to_host(X), "X"), reset=reset, dtype=[np.float64, np.float32], ensure_min_features=1
    )
    if isinstance(n_start, bool) or n_start != int(n_start) or n_start < 1:
        raise ValueError(f"n_start_features is {n_start!r}, but it must be a positive integer")
    if n_start >= array.shape[1]:
        raise ValueError(
            f"X has {array.shape[1]} feature(s) and n_start_features is {n_start}, but both the start and the end "
            "vertex need at least one"
        )
    return split_columns(array, n_start)


def split_columns(rows: Array, n_start: int) -> Edges:
    """Return the edges of rows of concatenated features; the first ``n_start`` columns belong to the start vertex."""
    start_rows, start = np.unique(rows[:, :n_start], axis=0, return_inverse=True)
    end_rows, end = np.unique(rows[:, n_start:], axis=0, return_inverse=True)
    tables = VertexTable(start_rows, "start_features"), VertexTable(end_rows, "end_features")
    return Edges._of(start.astype(np.int32), end.astype(np.int32), *tables)


def as_weights(sample_weight: ArrayLike | None, n_edges: int, backend: Backend = HOST) -> Array | None:
    """Return the weights of edges on their backend, checked to be finite and not negative, or None."""
    if sample_weight is None:
        return None
    backend.refuse_others(sample_weight, "sample_weight", "the edges are")
    weight = as_floats(sample_weight, "sample_weight")
    if weight.ndim == 0:
        weight = np.full(n_edges, float(weight))
    if weight.shape != (n_edges,):
        raise ValueError(f"sample_weight has shape {weight.shape}, but there are {n_edges} edges")
    wrong = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if wrong.size:
        at = wrong[0]
        raise ValueError(f"sample_weight[{at}] is {weight[at]}, but weights must be finite and not negative")
    if not weight.any():
        raise ValueError("sample_weight is zero for every edge, so there is nothing to train on")
    return placed(weight, backend)


def as_real_labels(y: ArrayLike, n_edges: int) -> Array:
    """Return real-valued labels; raise if they are not finite real numbers."""
    labels: Array = _as_vector(y, n_edges)
    try:
        if numpy_dtype(labels) != np.float32:  # kept for many edges on a GPU
            labels = cast(labels, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"y has dtype {labels.dtype}, but it must hold real numbers") from None
    wrong = true_places(~namespace(labels).isfinite(labels))
    if len(wrong):
        raise ValueError(f"y contains NaN or infinity: y[{int(wrong[0])}] is {float(labels[int(wrong[0])])}")
    return labels


def as_classes(y: ArrayLike, n_edges: int) -> Array:
    """Return class labels as they are, checked to be a vector without missing values."""
    labels = _as_vector(y, n_edges)
    if numpy_dtype(labels).kind == "f":
        as_real_labels(labels, n_edges)
    if numpy_dtype(labels).kind in "OUT":
        refuse_commas((word for word in labels.tolist() if isinstance(word, str)), "y")
    # Much code that sorts labels does not support NumPy's strings of variable length.
    result: Array = labels.astype(object) if numpy_dtype(labels).kind == "T" else labels
    return result


def with_bounds(y: ArrayLike | None, loss_type: Any = None, backend: Backend = HOST) -> tuple[Any, Array | None]:
    """Return labels and None, or for labels with bounds their values and bounds; raise if the loss takes none."""
    values, bounds = split_bounds(y)
    if bounds is None:
        return y, None
    if loss_type is not None and not loss_type.takes_bounds:
        raise ValueError("y has bounds (vt.censored), but this loss takes none; use KronRidge(loss='censored')")
    return values, placed(bounds, backend)


def labels_on(y: ArrayLike | None, backend: Backend) -> Any:
    """Return labels: numbers as an array on the backend of the edges, strings and everything else on the host."""
    y = unmasked(y, "y")
    _check_missing(y)
    backend.refuse_others(y, "y", "the edges are")
    is_array = backend_of(y) != HOST or (isinstance(y, np.ndarray) and y.dtype.kind in "biuf" and y.ndim == 1)
    return placed(y, backend) if is_array else y


def _check_missing(y: Any) -> None:
    """Reject missing labels: None, NaN among strings, pandas' NA. NaN among numbers is found later."""
    is_frame = hasattr(y, "isna") or hasattr(y, "is_null")  # a column of pandas or polars
    if not (is_frame or isinstance(y, list | tuple) or (isinstance(y, np.ndarray) and y.dtype.kind == "O")):
        return
    import pandas as pd

    values = np.asarray(y, object)
    missing: Array = np.flatnonzero(pd.isna(values)) if values.ndim == 1 else np.empty(0, int)
    if len(missing) and not all(isinstance(value, Real) for value in values):
        raise ValueError(f"y[{missing[0]}] is missing ({len(missing)} of {len(y)} labels are)")


def _as_vector(y: Any, n_edges: int) -> Any:
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None: give a label for each edge")
    home = backend_of(y)  # scikit-learn's function is for NumPy
    labels = y if home != HOST and y.ndim == 1 else column_or_1d(home.to_host(y), warn=True)
    if len(labels) != n_edges:
        raise ValueError(f"y has length {len(labels)}, but X has {n_edges} edges: inconsistent numbers of samples")
    if n_edges == 0:
        raise ValueError("X has no edges, so there is nothing to train on: 0 sample(s)")
    return given_array(labels, "y")
