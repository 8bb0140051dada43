"""The report of a model that somebody has fitted in Python, judged on edges that it has not seen."""

import copy
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
from vectrick.data.folder import Dataset
from vectrick.estimators import FittedModel, joined_source
from vectrick.model_selection.holdout import Holdout
from vectrick.model_selection.trained import Trained, scoring_of
from vectrick.reports.build import fit_report
from vectrick.reports.page import check_report


def report(
    model: Any,
    X: EdgesLike,
    y: ArrayLike,
    path: "str | PathLike[str]",
    *,
    title: str = "Edges",
    overwrite: bool = False,
) -> Path:
    """Write a page about a fitted model: data, training, quality, trust, the matrix of predictions, the best new edges.

    It is the page of ``vectrick fit --report``: one file that needs no network. The model is judged on the edges of X
    that it was not trained on: those whose vertices are both new to it, those with one new vertex, and the others, each
    apart. An `AutoKron` that was fitted to X itself is judged on its inner folds. The page needs plotly:
    ``pip install 'vectrick[report]'``.

    Parameters
    ----------
    model : estimator
        A fitted estimator that has kept its training edges (``keep_edges=True``, the default).
    X, y : Edges or array, array
        Edges and labels: values, or two classes.
    path : path
        The page to write, .html.
    title : str
        What the data are called.
    overwrite : bool
        Whether to replace a file that exists.

    Returns
    -------
    Path
        Where the page is.

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
        raise ValueError(
            "a report is for values or two classes, but the model has several machines; give one: model.machine(label)"
        )
    trained = _beside(model, X, y)
    fit_report(trained, f"vt.report(model, X, y, {page.name!r})", [], name=title).write(page)
    return page


def _beside(model: Any, X: EdgesLike, y: ArrayLike) -> Trained:
    """Return the model beside its training edges and those that judge it."""
    edges, labels, _ = joined_source(model, X, y, None)
    edges, n_own = edges.on(None), len(model._source.start)
    keys = edges.start.astype(np.int64) * len(edges.end_table) + edges.end
    kept = np.concatenate([np.arange(n_own), n_own + np.flatnonzero(~np.isin(keys[n_own:], keys[:n_own]))])
    model, labels, names = _coded(model, labels[kept])
    values, bounds = split_bounds(labels)
    data = Dataset(edges[kept], values, _kinds(edges), classes=names, bounds=bounds)
    if isinstance(model, AutoKron) and len(kept) == n_own and getattr(model, "_held_out", None):
        return searched(model, data, _seconds(model))
    scoring = getattr(model, "scoring_", None) or scoring_of(model, values)
    holdout = Holdout(np.arange(n_own), _by_setting(data.X, n_own))
    trained = Trained(model, data, holdout, scoring, history=getattr(model, "history_", {}), is_divided=False)
    trained.judge()
    trained.seconds["training"] = _seconds(model)
    return trained


def _seconds(model: Any) -> float:
    """Return how long a fit took, as far as the model knows."""
    if isinstance(model, AutoKron):
        return float(sum(getattr(model, "seconds_", {"unknown": float("nan")}).values()))
    return float((getattr(model, "history_", {}).get("seconds") or [float("nan")])[-1])


def _coded(model: Any, labels: Array) -> tuple[Any, Array, tuple[str, ...] | None]:
    """Return model and labels with the classes -1 and +1 in place of words, and the names of two classes."""
    classes = getattr(model, "classes_", None)
    values = np.unique(labels) if classes is None and labels.dtype.names is None else classes
    if values is None or len(values) != 2:
        return model, labels, None
    names = tuple(str(value) for value in values.tolist())
    if values.dtype.kind in "iuf":
        return model, labels, names
    coded = copy.copy(model)  # whose decisions are the same
    if classes is not None:
        coded.classes_ = np.array([-1, 1])
    return coded, np.where(labels == values[1], 1, -1), names


def _kinds(X: Edges) -> dict[str, str]:
    tables = {"start": X.start_table, "end": X.end_table}
    return {side: "kernel" if table.looks_like_kernel else "features" for side, table in tables.items()}


def _by_setting(X: Edges, n_train: int) -> dict[str, Array]:
    """Return the rows after the training edges by what is new about them: both vertices, one, or neither."""
    tables = X.start_table, X.end_table
    known = [np.zeros(len(table), bool) for table in tables]
    known[0][X.start[:n_train]] = True
    known[1][X.end[:n_train]] = True
    if X.is_one_set:
        known = [known[0] | known[1]] * 2
    start, end = ~known[0][X.start], ~known[1][X.end]
    later = np.arange(len(X)) >= n_train
    one = {"start": start ^ end} if X.is_one_set else {"start": start & ~end, "end": end & ~start}
    masks = {"both": start & end, **one, "neither": ~start & ~end}
    return {new: np.flatnonzero(mask & later) for new, mask in masks.items() if (mask & later).any()}
