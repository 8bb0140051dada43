"""What users give: edges or plain arrays, labels, weights; checked, and in one form."""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.validation import validate_data

from vectrick._arrays import (
    arange,
    as_floats,
    as_tensor,
    is_tensor,
    like,
    namespace,
    numpy_dtype,
    placed,
    to_host,
    true_places,
    unmasked,
    zeros,
)
from vectrick.data import Edges, VertexTable

Array = Any  # of NumPy or torch


def on_host(X: Any) -> Any:
    """Return edges, or an array, without tensors."""
    if isinstance(X, Edges):
        return X if X.device is None else X.on(None)
    return to_host(X)


def as_edges(estimator: Any, X: Any, reset: bool) -> Edges:
    """Return X as edges: it is `Edges`, or a plain array of concatenated features whose equal rows are one vertex."""
    if isinstance(X, Edges):
        if reset:  # of edges there are no columns to compare a later array with
            for name in ("n_features_in_", "feature_names_in_"):
                estimator.__dict__.pop(name, None)
        return X
    n_start = estimator.n_start_features
    if n_start is None:
        raise ValueError(
            f"X is of type {type(X).__name__}, but n_start_features is None: give Edges (vt.Edges.from_frame makes "
            "them from a table of ids), or say how many of the columns of X belong to the start vertex"
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
    """Return the edges of rows of concatenated features, the first ``n_start`` being those of the start vertex."""
    start_rows, start = np.unique(rows[:, :n_start], axis=0, return_inverse=True)
    end_rows, end = np.unique(rows[:, n_start:], axis=0, return_inverse=True)
    tables = VertexTable(start_rows, "start_features"), VertexTable(end_rows, "end_features")
    return Edges._of(start.astype(np.int32), end.astype(np.int32), *tables)


def as_weights(sample_weight: Any, n_edges: int, device: Any = None) -> Array | None:
    """Return weights of edges as finite numbers that are not negative, where the edges are, or None."""
    if sample_weight is None:
        return None
    check_device(sample_weight, "sample_weight", device)
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
    return placed(weight, device)


def as_real_labels(y: Any, n_edges: int) -> Array:
    """Return real-valued labels, or say what is wrong with them."""
    labels = _as_vector(y, n_edges)
    if is_tensor(labels):
        labels = labels.double()
        if not bool(namespace(labels).isfinite(labels).all()):
            at = int(true_places(~namespace(labels).isfinite(labels))[0])
            raise ValueError(f"y contains NaN or infinity: y[{at}] is {float(labels[at])}")
        return labels
    try:
        labels = labels.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"y has dtype {labels.dtype}, but it must hold real numbers") from None
    wrong = np.flatnonzero(~np.isfinite(labels))
    if wrong.size:
        raise ValueError(f"y contains NaN or infinity: y[{wrong[0]}] is {labels[wrong[0]]}")
    return labels


def as_classes(y: Any, n_edges: int) -> Array:
    """Return class labels as they are, checked to be a vector without missing values."""
    labels = _as_vector(y, n_edges)
    if numpy_dtype(labels).kind == "f":
        as_real_labels(labels, n_edges)
    # NumPy's strings of any length are unknown to much that sorts labels.
    return labels.astype(object) if numpy_dtype(labels).kind == "T" else labels


def labels_on(y: Any, device: Any) -> Any:
    """Return labels where the edges are: numbers as a tensor on a device, words and everything else on the host."""
    y = unmasked(y, "y")
    _check_missing(y)
    if device is None:
        check_device(y, "y", device)
        return to_host(y)
    if is_tensor(y):
        check_device(y, "y", device)
        return as_tensor(y, device)
    return as_tensor(y, device) if isinstance(y, np.ndarray) and y.dtype.kind in "biuf" and y.ndim == 1 else y


def _check_missing(y: Any) -> None:
    """Refuse labels that are missing: None, NaN among words, pandas' NA. NaN among numbers is found later."""
    is_frame = hasattr(y, "isna") or hasattr(y, "is_null")  # a column of pandas or polars
    if not (is_frame or isinstance(y, list | tuple) or (isinstance(y, np.ndarray) and y.dtype.kind == "O")):
        return
    import pandas as pd

    values = np.asarray(y, object)
    missing: Array = np.flatnonzero(pd.isna(values)) if values.ndim == 1 else np.empty(0, int)
    if len(missing) and not all(isinstance(value, Real) for value in values):
        raise ValueError(f"y[{missing[0]}] is missing ({len(missing)} of {len(y)} labels are)")


def check_device(x: Any, name: str, device: Any) -> None:
    """Refuse a tensor on another device than the edges; from the CPU it is copied."""
    if is_tensor(x) and x.device.type != "cpu" and x.device != device:
        where = "arrays on the host" if device is None else f"on {device}"
        raise ValueError(f"{name} is on {x.device}, but the edges are {where}; move one of them with .to()")


def _as_vector(y: Any, n_edges: int) -> Any:
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None: give a label for each edge")
    labels = y if is_tensor(y) and y.ndim == 1 else column_or_1d(to_host(y), warn=True)
    if len(labels) != n_edges:
        raise ValueError(f"y has length {len(labels)}, but X has {n_edges} edges: inconsistent numbers of samples")
    if n_edges == 0:
        raise ValueError("X has no edges, so there is nothing to train on: 0 sample(s)")
    return labels if is_tensor(labels) else np.asarray(labels)


@dataclass(frozen=True)
class Kept:
    """Which of the user's edges are trained on, and in which order."""

    n_edges: int
    places: Any = None  # the user's numbers of the training edges, ascending; None for all of them
    order: Any = None  # of the training edges among these; None for their own

    def only(self, mask: Any) -> "Kept":
        """Return those of a mask over the user's edges, which were all kept so far."""
        return self if bool(mask.all()) else Kept(self.n_edges, true_places(mask))

    def outward(self, x: Any) -> Any:
        """Return values of the training edges in the user's order."""
        if x is None or self.order is None:
            return x
        out = namespace(x).empty_like(x)
        out[like(self.order, x)] = x
        return out

    def inward(self, x: Any) -> Any:
        """Return values in the user's order in that of the training edges."""
        return x if self.order is None else x[like(self.order, x)]

    def spread(self, x: Any) -> Any:
        """Return a value for each of the user's edges, zero for those that were left out."""
        x = self.outward(x)
        if self.places is None:
            return x
        out = zeros(self.n_edges, x)
        out[like(self.places, x)] = x
        return out

    def named(self, mask: Any) -> Any:
        """Return the user's numbers of the training edges in a mask, in ascending order."""
        found = true_places(self.outward(mask))
        return found if self.places is None else like(self.places, found)[found]


@dataclass(frozen=True)
class Graph:
    """Training edges between numbered training vertices: positions in ``used_start`` and ``used_end``."""

    start: Array
    end: Array
    used_start: Array
    used_end: Array

    @classmethod
    def of(cls, edges: Edges, one_set: bool = False) -> "Graph":
        """Number the vertices that occur; of one vertex set, those of both ends together if so asked."""
        if one_set:
            both = namespace(edges.start).concatenate([edges.start, edges.end])
            used, places = _number(both, len(edges.start_table))
            return cls(places[: len(edges)], places[len(edges) :], used, used)
        used_start, start = _number(edges.start, len(edges.start_table))
        used_end, end = _number(edges.end, len(edges.end_table))
        return cls(start, end, used_start, used_end)

    @property
    def pair(self) -> tuple[Array, Array]:
        """The edges as indices of ``G ⊗ K``."""
        return self.end, self.start

    @property
    def is_complete(self) -> bool:
        """Whether every pair of vertices is an edge exactly once."""
        m, q = len(self.used_start), len(self.used_end)
        if len(self.start) != m * q:
            return False
        xp = namespace(self.start)
        seen = zeros((m, q), self.start, xp.bool)
        seen[self.start, self.end] = True
        return bool(seen.all())

    def on(self, device: Any) -> "Graph":
        """Return the same graph on a device of torch, None for the host."""
        arrays = (self.start, self.end, self.used_start, self.used_end)
        return Graph(*(placed(array, device) for array in arrays))


def _number(vertices: Array, size: int) -> tuple[Array, Array]:
    """Return the vertices that occur, and every vertex as its place among them; O(n + size)."""
    xp = namespace(vertices)
    occurs = zeros(size, vertices, xp.bool)
    occurs[vertices] = True
    used = xp.asarray(true_places(occurs), dtype=xp.int32)
    if len(used) == size:
        return used, _read_only(vertices)
    place = zeros(size, vertices, xp.int32)
    place[used] = arange(len(used), vertices)
    return used, _read_only(place[vertices])


def _read_only(array: Any) -> Any:
    """Return a view that cannot be written to, which operators take without copying it; a tensor as it is."""
    if is_tensor(array):
        return array
    view = array.view()
    view.flags.writeable = False
    return view
