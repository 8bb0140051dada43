"""Updating a model: a fit to the old and new edges that starts from the model's coefficients."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import eye_array

from vectrick._typing import Array, ArrayLike
from vectrick.backends.arrays import like, to_host, unmasked, zeros
from vectrick.data import Edges, EdgesLike, join_edges
from vectrick.data.censored import CENSORED, split_bounds, with_bounds
from vectrick.kernels import CholeskyMap, FeatureMap
from vectrick.kernels.maps.factor import ExactMap
from vectrick.models.forms import Form
from vectrick.models.predictor import Predictor
from vectrick.models.product import PrimalPredictor
from vectrick.models.vertex_kernel import MatrixMap, SpectralMap
from vectrick.training.fitted import Fitted
from vectrick.training.problem import SourceEdges, Training
from vectrick.training.validate import as_edges

COLUMNS = ("n_features_in_", "feature_names_in_")  # attributes of models fitted to plain arrays


def source_of(model: Fitted) -> tuple[Edges, SourceEdges]:
    """Return the edges that a model was trained on, with labels and weights; raise if it does not keep them."""
    source = model._source
    if source is None:
        raise ValueError(
            "the model does not keep the edges that it was trained on: it was trained with keep_edges=False, or its "
            "file has format 1 or 2 and thus no labels; fit to all edges instead"
        )
    start, end = model.predictor_.start.known, model.predictor_.end.known
    return Edges._of(to_host(source.start), to_host(source.end), start, end), source


def joined_source(
    model: Fitted, X: EdgesLike, y: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Edges, Array, Array | None]:
    """Return all edges, labels and weights: the model's own, followed by new ones."""
    edges, source = source_of(model)
    more = model.predictor_.aligned(as_edges(model, X, reset=False))
    labels = _labels(source.labels, y, len(more))
    for side, old, new in (
        ("start", edges.start_table, more.start_table),
        ("end", edges.end_table, more.end_table),
    ):
        vertex_kernels = getattr(model.predictor_.kernel, f"{side}s")
        if any(each.kernel.is_matrix for each in vertex_kernels) and not old.is_same(new):
            raise ValueError(
                f"{side}_kernel is precomputed for the vertices of one table, but X has another one; make the "
                "edges with the table that the model was trained with, or fit again"
            )
    weight = None
    if sample_weight is not None or source.weight is not None:
        parts = ((source.weight, len(edges)), (_weights(sample_weight, len(more)), len(more)))
        weight = np.concatenate([np.ones(n) if part is None else np.asarray(to_host(part)) for part, n in parts])
    both = np.asarray(to_host(source.labels)), labels
    if both[0].dtype != both[1].dtype and CENSORED in (both[0].dtype, both[1].dtype):  # only one has bounds
        both = with_bounds(both[0]), with_bounds(both[1])
    return join_edges(edges, more), np.concatenate(both), weight


def _labels(known: Array, y: ArrayLike, n_edges: int) -> Array:
    """Return the new labels; they must be of the same kind as the model's labels."""
    labels = np.asarray(unmasked(to_host(y), "y"))
    labels = labels.reshape(-1) if labels.ndim == 2 and labels.shape[1] == 1 else labels
    old = np.asarray(to_host(known))
    if labels.shape != (n_edges, *old.shape[1:]):
        columns = f" and the model {old.shape[1]} labels for each" if old.ndim == 2 else ""
        raise ValueError(f"y has shape {labels.shape}, but X has {n_edges} edges{columns}")
    split_bounds(labels)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        at = tuple(int(place) for place in np.argwhere(~np.isfinite(labels))[0])
        where = ", ".join(map(str, at))
        raise ValueError(f"y[{where}] is {labels[at]}, but labels must be finite; NaN and infinity are not")
    if len(labels) and (old.dtype.kind in "biufV") != (labels.dtype.kind in "biufV"):
        raise ValueError(
            f"y has labels of dtype {labels.dtype}, but the model was trained with labels of dtype {old.dtype}"
        )
    return labels


def _weights(sample_weight: ArrayLike | None, n_edges: int) -> Array | None:
    """Return the new weights, one for each edge; all of them may be zero."""
    if sample_weight is None:
        return None
    weight = np.asarray(unmasked(to_host(sample_weight), "sample_weight"), np.float64)
    if weight.shape != (n_edges,):
        raise ValueError(f"sample_weight has shape {weight.shape}, but X has {n_edges} edges")
    wrong = np.flatnonzero(~((weight >= 0) & np.isfinite(weight)))
    if len(wrong):
        raise ValueError(
            f"sample_weight[{wrong[0]}] is {weight[wrong[0]]}, but weights must be finite and not negative"
        )
    return weight


def has_more_classes(model: Fitted, labels: Array) -> bool:
    """Return whether labels have other classes than a classifier was trained with."""
    classes = getattr(model, "classes_", None)
    return classes is not None and len(np.unique(labels)) != len(classes)


@dataclass(frozen=True)
class WarmStart:
    """The function of an earlier model, as coefficients to start from."""

    predictor: Predictor
    dual: Array | None  # the coefficients of the first edges, in the user's order; None in primal form
    n_edges: int  # old and new edges

    def coefficients(self, form: Form, training: Training) -> Array | None:
        """Return the function as coefficients of a form, in the order of the user's edges; None to start at zero."""
        y = training.loss.y
        if self.dual is not None:
            a = np.zeros(self.n_edges)
            a[: len(self.dual)] = to_host(self.dual)
            places = training.given.kept.places
            a = like(a if places is None else a[to_host(places)], y, training.dtype)
            return a if form.name == "dual" else form.space.lift(training.given.kept.in_training_order(a))
        if form.maps is None or not isinstance(self.predictor, PrimalPredictor) or not training.loss.is_smooth:
            return None
        core = to_host(self.predictor.core)
        both = zip((self.predictor.start_map, self.predictor.end_map), form.maps, strict=True)
        turns = [_turn(old, new) for old, new in both]
        if turns[0] is None or turns[1] is None:
            return None
        turned = np.ascontiguousarray((turns[0] @ core @ turns[1].T).T).reshape(-1)
        return zeros(len(turned), y) + like(turned, y, training.dtype)


def _turn(old: FeatureMap, new: FeatureMap) -> Any:
    """Return the matrix T for which the old features of any vertex are ``Tᵀ`` times the new ones, or None."""
    if isinstance(old, ExactMap):
        return eye_array(new.rank, format="csr") if old.rank == new.rank else None
    if isinstance(old, MatrixMap):
        vertices = old.vertex_kernel.vertices[to_host(old.pivots)]
    elif isinstance(old, CholeskyMap):
        vertices = old.X[to_host(old.pivots)]
    elif isinstance(old, SpectralMap):
        return to_host(new.transform(old.vertex_kernel.vertices)).T @ to_host(old.inverse)
    else:
        return None
    # An old feature is a sum of kernel values with the pivots, and a kernel value is the inner product of the new
    # features of two vertices.
    return np.linalg.solve(to_host(old.corner), to_host(new.transform(vertices))).T
