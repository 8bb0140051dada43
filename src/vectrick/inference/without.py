"""Predictions without some of the training edges: from covariances if they suffice, else by a new fit."""

from typing import Any

import numpy as np

from vectrick._typing import Array, ArrayLike, Frame
from vectrick.backends import HOST
from vectrick.backends.arrays import to_host
from vectrick.data import Edges, EdgesLike
from vectrick.inference.uncertainty import (
    N_SAMPLES,
    check_has_variance,
    numbers_of,
    on_host,
    posterior_of,
)
from vectrick.kernels.base import is_settled
from vectrick.models.edge_kernel import EdgeKernel
from vectrick.models.kernel_spec import KernelSpec
from vectrick.models.limits import checked_features
from vectrick.training.fitted import Fitted, Machine
from vectrick.training.update import source_of

_FEW = 64  # largest number of edges that ridge regression leaves out by covariances, without a new fit


def trained_edges(part: Machine, owner: Fitted) -> Array:
    """Return the mask of the training edges of a model; other edges were held out, or have zero weight."""
    edges, source = source_of(owner)
    kernel = part.predictor_.kernel
    mask: Array = (numbers_of(kernel.start)[edges.start] >= 0) & (numbers_of(kernel.end)[edges.end] >= 0)
    return mask if source.weight is None else mask & (np.asarray(to_host(source.weight)) > 0)


def each_without(model: Fitted, x: Edges, frame: Frame, prediction: float) -> Array:
    """Return the predictions for an edge after leaving out each of some training edges, for ridge regression."""
    check_has_variance(model)
    if len(model._parts) > 1:
        raise ValueError(
            f"the model is an ensemble of {len(model._parts)} models, but influence=True requires one model; "
            "model.predict_without(X, edges=...) trains all of them again"
        )
    if not model.solution_.converged:
        raise ValueError(
            "influence is True, but this requires the minimum of the risk, and the fit ended before it "
            f"({model.solution_.reason}); model.predict_without(X, edges=...) trains again"
        )
    if _is_of_labels(model.predictor_.kernel):
        raise ValueError(
            "influence is True, but a kernel is made from the labels of the training edges, so it changes without one "
            "of them; model.predict_without(X, edges=...) trains again"
        )
    rows, is_trained = frame["row"].to_numpy(), trained_edges(model._parts[0][1], model)
    trained = is_trained[rows]
    covariance, alphas, residuals = _removal(model, x, rows[trained])
    without = np.full(len(rows), prediction)
    without[trained] -= covariance[0, 1:] / (alphas - covariance.diagonal()[1:]) * residuals
    for place in np.flatnonzero(trained):  # the last edge of a vertex
        if _changes_kernels(model, rows[place : place + 1]):
            without[place] = _decided_again(model, x, np.arange(len(is_trained)) != rows[place])[0]
    return without


def _removal(model: Fitted, x: Edges, rows: Array) -> tuple[Array, Array, Array]:
    """Return covariances between edges x and training edges, the noise of the latter, and their residuals."""
    edges, source = source_of(model)
    some, labels = edges[rows], np.asarray(to_host(source.labels), np.float64)[rows]
    posterior = posterior_of(model, N_SAMPLES, 0)
    weight = np.ones(len(rows)) if source.weight is None else np.asarray(to_host(source.weight), np.float64)[rows]
    covariance = posterior.relative_covariance(x, some)
    return covariance, model._parts[0][1].alpha / np.maximum(weight, 1e-300), labels - to_host(model._decide(some))


def _removal_if_known(model: Fitted, x: Edges, rows: Array) -> tuple[Array, Array, Array] | None:
    """Return the result of `_removal`; None if new vertices have no mutual kernel values, or if edges are too many."""
    try:
        return _removal(model, x, rows)
    except ValueError:
        return None


def predict_without(
    model: Fitted, X: EdgesLike, edges: ArrayLike | None, start: ArrayLike | None, end: ArrayLike | None
) -> Array:
    """Return the predictions of a model without some training edges; see `FittedModel.predict_without`."""
    if edges is None and start is None and end is None:
        raise ValueError("nothing is left out: give edges, start or end")
    if model._machines:
        raise ValueError(model._why_one_machine())
    x, known = on_host(model, X), source_of(model)[0]
    left_out = np.zeros(len(known), bool)
    if edges is not None:
        left_out |= _found(model, known, edges)
    for side, given in (("start", start), ("end", end)):
        if given is not None:
            single = isinstance(given, str | int | np.integer)
            rows = getattr(model, f"{side}_table_").positions(np.array([given]) if single else given, side)
            both = ("start", "end") if model.predictor_.kernel.symmetry else (side,)  # symmetric: no direction
            for own in both:
                left_out |= np.isin(getattr(known, own), np.asarray(to_host(rows)))
    trained = trained_edges(model._parts[0][1], model)
    rows = np.flatnonzero(left_out & trained)
    if not len(rows):
        raise ValueError("the model was not trained on any of the edges to leave out")
    if len(rows) == trained.sum():
        raise ValueError("all training edges are left out, but at least one must stay")
    follows = len(rows) <= _FEW and _follows(model) and not _changes_kernels(model, rows)
    found = _removal_if_known(model, x, rows) if follows else None
    if found is not None:
        covariance, alphas, residuals = found
        n = len(x)
        changed = np.linalg.solve(np.diag(alphas) - covariance[n:, n:], residuals)
        predictions: Array = to_host(model._decide(x)) - covariance[:n, n:] @ changed
        return predictions
    return _decided_again(model, x, ~left_out)


def _decided_again(model: Fitted, x: Edges, rest: Array) -> Array:
    """Return the predictions of a model that is trained on some of its edges."""
    known, source = source_of(model)
    weight = None if source.weight is None else np.asarray(to_host(source.weight))[rest]
    again = model._trained_again(known[rest].on(HOST), np.asarray(to_host(source.labels))[rest], weight)
    return np.asarray(to_host(again._decide(x)))


def _changes_kernels(model: Fitted, rows: Array) -> bool:
    """Whether a fit without some edges would have other kernels, because a kernel depends on a lost vertex."""
    edges, _ = source_of(model)
    part = model._parts[0][1]
    kernel, rest = part.predictor_.kernel, trained_edges(part, model)
    rest[rows] = False
    spec = KernelSpec.of(part)
    for side, given in ((kernel.start, spec.start_kernels[0]), (kernel.end, spec.end_kernels[0])):
        left = np.unique(getattr(edges, side.name)[rest])
        if len(left) == len(side.used):
            continue
        features = checked_features(side.known.on(HOST), left)
        if side.projection is not None or not is_settled(given, features, left):
            return True
    return False


def _follows(model: Fitted) -> bool:
    """Whether predictions without few edges follow from covariances; this requires converged ridge regression."""
    try:
        check_has_variance(model)
    except ValueError:
        return False
    part = model._parts[0][1]
    kernel = part.predictor_.kernel
    is_fixed = kernel.is_product and not kernel.is_two_step and not _is_of_labels(kernel)
    return len(model._parts) == 1 and is_fixed and part.solution_.converged


def _is_of_labels(kernel: EdgeKernel) -> bool:
    """Whether a kernel changes with the labels of edges that are left out."""
    return any(side.kernel.needs_labels for side in (kernel.start, kernel.end))


def _found(model: Fitted, known: Edges, given: Any) -> Array:
    """Return the mask of the training edges that are among given ones."""
    edges = on_host(model, given)
    places = []
    for side in ("start", "end"):
        table, vertices = getattr(edges, f"{side}_table"), getattr(edges, side)
        own = getattr(model.predictor_, side)
        place = own.places(table, vertices) if not table.is_same(own.known) else None
        places.append(vertices if place is None else np.where(place >= 0, own.used[place], -1))
    width = len(model.end_table_) + 1
    wanted = places[0].astype(np.int64) * width + places[1]
    mask: Array = np.isin(known.start.astype(np.int64) * width + known.end, wanted)
    if model.predictor_.kernel.symmetry:
        mask |= np.isin(known.end.astype(np.int64) * width + known.start, wanted)
    return mask
