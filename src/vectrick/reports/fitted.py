"""The report of a model that was fitted in Python, tested on edges that it was not trained on."""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vectrick._typing import Array, ArrayLike
from vectrick.automatic import AutoKron
from vectrick.automatic.trained import searched
from vectrick.data import Edges, EdgesLike
from vectrick.data.censored import split_bounds
from vectrick.data.files.dataset import Dataset
from vectrick.estimators import FittedModel, joined_source, source_of
from vectrick.kernels.text import format_kernel
from vectrick.model_selection.splitting.holdout import Holdout, by_setting
from vectrick.model_selection.trained import Trained, scoring_of
from vectrick.reports.build import fit_report
from vectrick.reports.page import check_report


def report(
    model: FittedModel,
    X: EdgesLike,
    y: ArrayLike,
    path: "str | PathLike[str]",
    *,
    title: str = "Edges",
    overwrite: bool = False,
) -> Path:
    """Write a report about a fitted model: data, training, quality, trust, matrix of predictions, best new edges.

    The report is the page of ``vectrick fit --report``: one file that needs no network. The model is tested on the
    edges of X that it was not trained on, separately for edges with two new vertices, one new vertex, and no new
    vertex. An `AutoKron` that was fitted to X itself is scored on its inner folds. The page needs plotly:
    ``pip install 'vectrick[report]'``.

    Parameters
    ----------
    model : estimator
        A fitted estimator that has kept its training edges (``keep_edges=True``, the default).
    X, y : Edges or array, array
        Edges and labels: values, or two classes.
    path : path
        The file to write, .html.
    title : str
        The name of the data, in the title.
    overwrite : bool
        Whether to replace a file that exists.

    Returns
    -------
    Path
        The path of the page.

    Examples
    --------
    >>> import tempfile, vectrick as vt
    >>> X, y = vt.datasets.make_checkerboard(60, noise=0.0, density=0.5, random_state=0)
    >>> train, _, test = vt.vertex_split(X, y, validation_size=0.0, random_state=0)
    >>> model = vt.KronSVM(vt.Gaussian(gamma=1.0), vt.Gaussian(gamma=1.0)).fit(X[train], y[train])
    >>> vt.report(model, X[test], y[test], tempfile.mkdtemp() + "/page.html", title="Checker").name
    'page.html'
    """
    page = Path(path)
    check_report(page, overwrite, "path", "use overwrite=True")
    if not isinstance(model, FittedModel):
        raise TypeError(f"model is of type {type(model).__name__}, but it must be an estimator of vectrick")
    check_is_fitted(model)
    if model._machines:
        one = "model.machine(label), with labels True and False" if hasattr(model, "classes_") else "model.machines_[0]"
        raise ValueError(
            f"a report is for values or two classes, but the model consists of several models; give one: {one}"
        )
    trained = _beside(model, X, y)
    fit_report(trained, f"vt.report(model, X, y, {page.name!r})", [], name=title).write(page)
    return page


def _beside(model: FittedModel, X: EdgesLike, y: ArrayLike) -> Trained:
    """Return the model with its training edges and its test edges."""
    n_own = len(source_of(model)[0])
    edges, labels, _ = joined_source(model, X, y, None)
    edges = edges.on(None)
    keys = _keys(edges, bool(model.predictor_.kernel.symmetry))
    kept = np.concatenate([np.arange(n_own), n_own + np.flatnonzero(~np.isin(keys[n_own:], keys[:n_own]))])
    _check_labels(model, labels[n_own:])
    model, labels, names = _coded(model, labels[kept])
    values, bounds = split_bounds(labels)
    data = Dataset(edges[kept], values, _kinds(model), classes=names, bounds=bounds)
    if isinstance(model, AutoKron) and len(kept) == n_own and getattr(model, "_held_out", None):
        return searched(model, data, float(sum(model.seconds_.values())))
    scoring = getattr(model, "scoring_", None) or scoring_of(model, values)
    own = np.arange(len(kept)) < n_own
    tests = {new: np.flatnonzero(mask & ~own) for new, mask in by_setting(data.X, own).items()}
    holdout = Holdout(np.flatnonzero(own), {new: rows for new, rows in tests.items() if len(rows)})
    trained = Trained(model, data, holdout, scoring, history=getattr(model, "history_", {}), is_divided=False)
    trained.judge()
    if trained.history.get("seconds"):  # models from files have no training time
        trained.seconds["training"] = float(trained.history["seconds"][-1])
    elif getattr(model, "seconds_", None):
        trained.seconds["training"] = float(sum(model.seconds_.values()))
    return trained


def _keys(X: Edges, both_ways: bool) -> Array:
    """Return a key for each edge; equal edges have equal keys, with ``both_ways`` in either direction."""
    start, end = X.start.astype(np.int64), X.end.astype(np.int64)
    if both_ways:
        start, end = np.minimum(start, end), np.maximum(start, end)
    return np.asarray(start * len(X.end_table) + end)


def _check_labels(model: FittedModel, labels: Array) -> None:
    """Raise if labels are not classes of the model."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return
    unknown = np.unique(labels[~np.isin(labels, classes)])
    if len(unknown) or (labels.dtype.kind == "b") != (np.asarray(classes).dtype.kind == "b"):
        shown = unknown.tolist()[:3] or np.unique(labels).tolist()[:3]
        raise ValueError(
            f"y has labels such as {shown}, but the classes of the model are {np.asarray(classes).tolist()}"
        )


def _coded(model: FittedModel, labels: Array) -> tuple[Any, Array, tuple[str, ...] | None]:
    """Return the model and the labels with numbers for two classes, and the names of the classes."""
    classes = getattr(model, "classes_", None)
    values = np.unique(labels) if classes is None and labels.dtype.names is None else classes
    if values is None or len(values) != 2:
        return model, labels, None
    names = tuple(str(value) for value in values.tolist())
    if classes is None:  # a regression: its predictions are near the labels
        return model, labels.astype(np.float64), names
    if values.dtype.kind in "iuf":
        return model, labels, names
    coded = object.__new__(type(model))  # copy.copy would drop display data; the decisions are the same
    coded.__dict__.update(model.__dict__)
    coded.classes_ = np.array([-1, 1])
    return coded, np.where(labels == values[1], 1, -1), names


def _kinds(model: FittedModel) -> dict[str, str]:
    """Return "kernel" for sides whose tables the model uses as kernel matrices, else "features"."""
    kinds = {}
    for side in ("start", "end"):
        texts = [format_kernel(getattr(part.predictor_, side).kernel) for _, part in model._parts]
        kinds[side] = "kernel" if any("precomputed" in text for text in texts) else "features"
    return kinds
