"""The training edges in a model file: positions in the tables, labels and weights."""

import numpy as np

from vectrick.backends.arrays import to_host
from vectrick.data.censored import censored, split_bounds
from vectrick.persistence.checks import Tensors, check_range, finite, tensor_of
from vectrick.persistence.read import read_known_edges
from vectrick.training.fitted import KeepsEdges
from vectrick.training.problem import SourceEdges

_KEPT_EDGES = 1_000_000  # training edges that a file stores at most, so that recommendations can leave them out


def write_known(model: KeepsEdges, tensors: Tensors) -> None:
    """Add the training edges of a model, if it keeps them."""
    known = model._known_edges
    if known is not None and len(known[0]) <= _KEPT_EDGES:
        tensors["known"] = np.stack([np.asarray(to_host(vertices), np.int32) for vertices in known])
    if model._source is not None:
        _write_source(model, model._source.on_host(), tensors)


def _write_source(model: KeepsEdges, source: SourceEdges, tensors: Tensors) -> None:
    """Add the training edges, labels and weights of a model; classes are written as their numbers."""
    tensors["source.edges"] = np.stack([source.start, source.end]).astype(np.int32)
    if hasattr(model, "classes_"):
        tensors["source.labels"] = np.searchsorted(np.asarray(model.classes_), source.labels).astype(np.int32)
    else:
        values, bounds = split_bounds(source.labels)
        tensors["source.labels"] = values.astype(np.float64)
        if bounds is not None:
            tensors["source.bounds"] = bounds.astype(np.int32)
    if source.weight is not None:
        tensors["source.weight"] = source.weight.astype(np.float64)


def read_source(model: KeepsEdges, tensors: Tensors) -> SourceEdges | None:
    """Return the edges, labels and weights of a model, or None if its file does not have them."""
    if "source.edges" not in tensors:
        return None
    edges = read_known_edges(tensors, model.predictor_, "source.edges")
    assert edges is not None
    n_edges = len(edges[0])
    if hasattr(model, "classes_"):
        numbers_of = tensor_of(tensors, "source.labels", "i", (n_edges,))
        check_range(numbers_of, len(model.classes_), "the labels")
        labels = np.asarray(model.classes_)[numbers_of]
    else:
        shape = (n_edges, len(model.machines_)) if hasattr(model, "machines_") else (n_edges,)
        labels = finite(tensor_of(tensors, "source.labels", "f", shape))
        if "source.bounds" in tensors:
            labels = censored(labels, tensor_of(tensors, "source.bounds", "i", (n_edges,)))
    weight = None
    if "source.weight" in tensors:
        weight = finite(tensor_of(tensors, "source.weight", "f", (n_edges,)))
    return SourceEdges(*edges, labels, weight)
