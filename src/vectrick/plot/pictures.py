"""Pictures of the matrix of start and end vertices: predictions, and the uses of edges in a split."""

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vectrick._typing import Array, ArrayLike, Axes
from vectrick.data import Edges, EdgesLike
from vectrick.model_selection.splitting.folds import COLOURS
from vectrick.model_selection.splitting.split import VertexSplit
from vectrick.model_selection.splitting.splitters import VertexKFold
from vectrick.plot.axes import axes_of, plain
from vectrick.reports.matrix import shown_part

if TYPE_CHECKING:
    from vectrick.estimators import FittedModel


_DOTS = 20_000  # most edges in a picture of a split
_TICKS = 30  # most vertices of an axis that shows their names


def matrix(model: "FittedModel", X: Edges, *, known: bool = False, ax: "Axes | None" = None) -> Any:
    """Draw the predictions for all pairs of vertices, with similar vertices side by side.

    For large tables, it shows the vertices with the most edges (up to 250 000 pairs).

    Parameters
    ----------
    model : estimator
        A fitted estimator.
    X : Edges
        The tables of vertices. The edges decide which vertices are shown if there are too many.
    known : bool
        Whether to mark the edges of X with dots.
    ax : matplotlib axes, optional
        Where to draw.

    Examples
    --------
    >>> import vectrick as vt
    >>> X, y = vt.datasets.make_checkerboard(60, noise=0.0, density=0.5, random_state=0)
    >>> model = vt.KronSVM(vt.Gaussian(gamma=1.0), vt.Gaussian(gamma=1.0)).fit(X, y)
    >>> vt.plot.matrix(model, X).get_ylabel()
    'start vertices'
    """
    check_is_fitted(model)
    if not isinstance(X, Edges):
        raise TypeError(f"X is of type {type(X).__name__}, but it must be Edges with vertex tables")
    if not hasattr(model, "predict_grid"):
        raise TypeError(
            f"model is of type {type(model).__name__}, but it must have predict_grid; give the model inside it"
        )
    if getattr(model, "machines_", None):
        one = "model.machine(label)" if hasattr(model, "classes_") else "model.machines_[0]"
        raise ValueError(f"the model has several models inside, but a picture shows one; give {one}")
    edges = X.on(None)
    if not (len(edges.start_table) and len(edges.end_table)):
        raise ValueError("X has an empty table of vertices, so there is nothing to show")
    part = shown_part(model, edges)
    ax = axes_of(ax, 6.0, 5.0)
    limit = float(np.abs(part.scores).max()) or 1.0
    colours = {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit} if hasattr(model, "classes_") else {"cmap": "viridis"}
    image = ax.imshow(part.scores, aspect="auto", interpolation="nearest", **colours)
    ax.figure.colorbar(image, ax=ax, label="prediction")
    if known:
        i = _places(len(edges.start_table), part.starts)[edges.start]
        j = _places(len(edges.end_table), part.ends)[edges.end]
        inside = (i >= 0) & (j >= 0)
        ax.plot(j[inside], i[inside], ".", color="black", markersize=2, label="edges of X")
        ax.legend(loc="upper right", fontsize="small")
    _name(ax, edges, part.starts, part.ends)
    return ax


def _places(size: int, rows: Array) -> Array:
    place = np.full(size, -1)
    place[rows] = np.arange(len(rows))
    return place


def _name(ax: Axes, X: Edges, starts: Array, ends: Array) -> None:
    """Name the axes, and the vertices if they are few."""
    ax.set_ylabel("vertices" if X.is_one_set else "start vertices")
    ax.set_xlabel("vertices" if X.is_one_set else "end vertices")
    for axis, table, rows in ((ax.yaxis, X.start_table, starts), (ax.xaxis, X.end_table, ends)):
        if table.ids is None or len(rows) > _TICKS:
            axis.set_ticks([])
        else:
            turned: dict[str, Any] = {"rotation": 90} if axis is ax.xaxis else {}
            axis.set_ticks(range(len(rows)), [plain(name) for name in np.asarray(table.ids)[rows]], **turned)


def split(
    split: VertexSplit | VertexKFold,
    X: EdgesLike,
    y: ArrayLike | None = None,
    *,
    fold: int = 0,
    ax: "Axes | None" = None,
) -> Any:
    """Draw the edges of a split: a dot for each, colored by its use, with held-out vertices at the top and left.

    Parameters
    ----------
    split : VertexSplit or VertexKFold
        The result of `vt.vertex_split`, or folds.
    X : Edges or array
        The edges of the split.
    y : array, optional
        Their labels, for stratified folds.
    fold : int
        The number of the fold to draw.
    ax : matplotlib axes, optional
        Where to draw.

    Examples
    --------
    >>> import vectrick as vt
    >>> X, y = vt.datasets.make_checkerboard(60, random_state=0)
    >>> vt.plot.split(vt.vertex_split(X, y, random_state=0), X).get_title()
    '232 training, 50 validation, 56 test, 562 left out'
    """
    from vectrick.model_selection.splitting.pairs import Pairs

    pairs = Pairs.of(X)
    if isinstance(split, VertexKFold):
        folds = split.folds(X, y)
        if isinstance(fold, bool) or not isinstance(fold, Integral) or not 0 <= fold < len(folds):
            raise ValueError(f"fold is {fold!r}, but there are {len(folds)} folds, from 0 to {len(folds) - 1}")
        split = VertexSplit(folds[fold].train, np.empty(0, int), folds[fold].test, len(pairs))
    if not isinstance(split, VertexSplit):
        raise TypeError(
            f"split is of type {type(split).__name__}, but it must be a result of vt.vertex_split or a vt.VertexKFold"
        )
    if split.n_edges != len(pairs):
        raise ValueError(f"split has {split.n_edges} edges, but X has {len(pairs)}")
    uses = dict(zip(("training", "validation", "test"), split, strict=True))
    use = np.full(len(pairs), 3)
    for number, rows in enumerate(uses.values()):
        use[rows] = number
    ax = axes_of(ax, 5.0, 5.0)
    if pairs.one_set:  # a vertex has the same place on both axes
        start, end = np.split(_ordered(np.concatenate([pairs.start, pairs.end]), np.tile(use, 2)), 2)
    else:
        start, end = (_ordered(vertices, use) for vertices in (pairs.start, pairs.end))
    shown = np.random.default_rng(0).permutation(len(pairs))[:_DOTS]
    size = np.clip(20_000 / max(1, len(shown)), 0.4, 14)
    for number, (name, colour) in reversed(list(enumerate(COLOURS.items()))):
        rows = shown[use[shown] == number]
        if len(rows):
            ax.scatter(end[rows], start[rows], s=size, color=colour, linewidths=0, label=name)
    counts = [f"{int((use == number).sum()):,} {name}" for number, name in enumerate(COLOURS) if (use == number).any()]
    ax.set_title(", ".join(counts), fontsize="medium")
    ax.set_ylabel("vertices" if pairs.one_set else "start vertices")
    ax.set_xlabel("vertices" if pairs.one_set else "end vertices")
    ax.invert_yaxis()
    ax.set(xticks=[], yticks=[])
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.05), ncols=4, frameon=False, markerscale=(40 / size) ** 0.5)
    return ax


def _ordered(vertices: Array, use: Array) -> Array:
    """Return the place of each edge's vertex: test vertices first, then validation, unused and training vertices."""
    _, where = np.unique(vertices, return_inverse=True)
    trains, validates, tests = (np.bincount(where, use == number) > 0 for number in range(3))
    rank = np.select([trains, tests, validates], [3, 0, 1], 2)
    place = np.empty(len(rank), int)
    place[np.argsort(rank, kind="stable")] = np.arange(len(rank))
    return place[where]
