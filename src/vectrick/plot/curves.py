"""Curves: the history of a fit or a search, ROC curves, and scores along alpha."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from vectrick._colours import BLUE, GREY, ORANGE
from vectrick._typing import ArrayLike, Axes
from vectrick.automatic import AutoKron
from vectrick.backends.arrays import to_host, unmasked
from vectrick.data import EdgesLike
from vectrick.metrics import auc
from vectrick.model_selection.alpha_paths import AlphaPath
from vectrick.model_selection.scorers import predictions
from vectrick.plot.axes import COLOURS, axes_of, below, clean, plain

if TYPE_CHECKING:
    from vectrick.estimators import FittedModel


def history(model: "FittedModel", *, ax: "Axes | None" = None) -> Any:
    """Draw the history of a fit: the risk after each iteration, and the score on held-out edges.

    A dotted line marks the iteration that was kept. With several classes, there is a line for each. For an `AutoKron`,
    the figure shows every candidate of the search with its score and the standard deviation between folds, the best
    first. The members of the ensemble are highlighted.

    Parameters
    ----------
    model : estimator
        A fitted `KronRidge`, `KronSVM`, `KronLogistic`, `KronRanker` or `AutoKron`.
    ax : matplotlib axes, optional
        Where to draw.

    Examples
    --------
    >>> import vectrick as vt
    >>> X, y = vt.datasets.make_checkerboard(60, random_state=0)
    >>> k = vt.Gaussian(gamma=1.0)
    >>> model = vt.KronSVM(k, k, early_stopping=True, random_state=0).fit(X, y)
    >>> vt.plot.history(model).get_xlabel()
    'iteration'
    """
    if isinstance(model, AutoKron):
        return _search(model, ax)
    machines = getattr(model, "machines_", None)
    if machines:
        return _machines(model, machines, ax)
    known = getattr(model, "history_", None)
    if not isinstance(known, dict) or "risk" not in known:
        raise ValueError(
            f"model is {type(model).__name__} without a history_; it must be a fitted KronRidge, KronSVM, "
            "KronLogistic, KronRanker or AutoKron"
        )
    ax = clean(axes_of(ax), "iteration", "risk")
    style: dict[str, Any] = {"marker": "o", "markersize": 3} if len(known["iteration"]) < 40 else {}
    ax.plot(known["iteration"], known["risk"], color=BLUE, **style)
    ax.yaxis.label.set_color(BLUE)
    if "score" in known:
        right = ax.twinx()
        right.plot(known["iteration"], known["score"], color=ORANGE, **style)
        right.set_ylabel("score on held-out edges", color=ORANGE)
        right.spines[["top", "left"]].set_visible(False)
        ax.axvline(model.n_iter_, color=GREY, linestyle=":", label=f"kept: iteration {model.n_iter_}")
        below(ax)
    return ax


def _machines(model: "FittedModel", machines: Any, ax: "Axes | None") -> Any:
    """Draw the risk of each one-vs-rest model, or of the model for each column of labels."""
    ax = clean(axes_of(ax), "iteration", "risk")
    names = getattr(model, "classes_", range(len(machines)))
    for number, (name, machine) in enumerate(zip(names, machines, strict=True)):
        known = machine.history_
        ax.plot(known["iteration"], known["risk"], "o-", color=COLOURS[number % len(COLOURS)], label=plain(name))
    below(ax)
    return ax


def _search(model: AutoKron, ax: "Axes | None") -> Any:
    """Draw the candidates of a search."""
    if not hasattr(model, "search_"):
        raise ValueError("model is an AutoKron that is not fitted; call its fit first")
    frame = model.search_[model.search_["score"].notna()].sort_values("score", ascending=False, kind="stable")
    ax = clean(axes_of(ax), "candidates, the best first", f"{model.scoring_} on held-out edges")
    place, member = np.arange(1, len(frame) + 1), frame["member"].to_numpy(bool)
    for rows, colour, size, name in ((~member, GREY, 3, "tried"), (member, BLUE, 7, "in the model")):
        ax.errorbar(
            place[rows], frame["score"][rows], yerr=np.nan_to_num(frame["spread"][rows]), fmt="o", color=colour,
            markersize=size, elinewidth=0.8, label=name,
        )  # fmt: skip
    below(ax)
    return ax


def roc(models: Any, X: EdgesLike, y: ArrayLike, *, ax: "Axes | None" = None) -> Any:
    """Draw ROC curves for edges with two labels: the true positive rate against the false positive rate.

    Parameters
    ----------
    models : estimator or dict
        A fitted estimator, or several by name. An array of scores may replace an estimator.
    X, y : Edges, array
        Edges that the models were not trained on, and their labels; the larger of the two labels is the positive one.
    ax : matplotlib axes, optional
        Where to draw.

    Examples
    --------
    >>> import vectrick as vt
    >>> (X, y), test = (vt.datasets.make_checkerboard(100, noise=0.0, random_state=seed) for seed in (0, 1))
    >>> k = vt.Gaussian(gamma=1.0)
    >>> vt.plot.roc({"KronSVM": vt.KronSVM(k, k).fit(X, y)}, *test).get_ylabel()
    'share of positive edges above the threshold'
    """
    from sklearn.metrics import roc_curve

    labels = np.asarray(unmasked(to_host(y), "y"))
    values = np.unique(labels)
    if len(values) != 2:
        raise ValueError(f"y has {len(values)} different labels, but a ROC curve is for two")
    named = models if isinstance(models, Mapping) else {type(models).__name__: models}
    all_scores = {}
    for name, model in named.items():
        scores = predictions(model, X) if hasattr(model, "fit") else np.asarray(unmasked(to_host(model), name))
        if np.shape(scores) != labels.shape:
            raise ValueError(f"{name} has scores of shape {np.shape(scores)}, but y has {labels.shape}")
        if not np.isfinite(np.asarray(scores, np.float64)).all():
            raise ValueError(f"{name} has scores that are NaN or infinite, so edges cannot be ordered")
        all_scores[name] = scores
    ax = clean(
        axes_of(ax, 5.0, 4.6),
        "share of negative edges above the threshold",
        "share of positive edges above the threshold",
    )
    truth = labels == values[1]
    for number, (name, scores) in enumerate(all_scores.items()):
        area = auc(np.where(truth, 1.0, -1.0), np.asarray(scores, np.float64))
        ax.plot(
            *roc_curve(truth, scores)[:2], color=COLOURS[number % len(COLOURS)],
            linestyle="-" if number < len(COLOURS) else "--", label=f"{plain(name)}: AUC {area:.3f}",
        )  # fmt: skip
    ax.plot([0, 1], [0, 1], color=GREY, linestyle=":", label="chance")
    ax.set_aspect("equal")
    ax.legend(frameon=False, loc="lower right")
    return ax


def path(path: AlphaPath, *, ax: "Axes | None" = None) -> Any:
    """Draw the scores of `alpha_path`: a line over the iterations for each alpha, and a star at the best.

    If only one iteration of each alpha was scored, the figure shows the score against alpha.

    Parameters
    ----------
    path : AlphaPath
        The result of `vt.alpha_path`.
    ax : matplotlib axes, optional
        Where to draw.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> X, y = vt.datasets.make_checkerboard(60, random_state=0)
    >>> k = vt.Gaussian(gamma=1.0)
    >>> found = vt.alpha_path(vt.KronRidge(k, k, random_state=0), X, y, 2.0 ** np.arange(-6, 4))
    >>> vt.plot.path(found).get_xlabel()
    'iteration'
    """
    if not isinstance(path, AlphaPath):
        raise TypeError(f"path is of type {type(path).__name__}, but it must be the result of vt.alpha_path")
    ax, best = clean(axes_of(ax), "iteration", "score on validation edges"), path.best
    ax.set_xscale("log")
    if all(len(step.scores) == 1 for step in path.steps):
        ax.plot(path.alphas, path.scores, color=BLUE, marker="o", markersize=4)
        ax.set_xlabel("alpha")
        ax.plot(best.alpha, best.best_score, "*", color=ORANGE, markersize=14, label=f"alpha {best.alpha:.3g}")
    else:
        from matplotlib import colormaps
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import LogNorm

        norm = LogNorm(path.alphas[0], max(path.alphas[-1], path.alphas[0] * 1.001))
        for step in path.steps:
            ax.plot(step.iterations, step.scores, color=colormaps["viridis"](norm(step.alpha)), linewidth=1)
        ax.figure.colorbar(ScalarMappable(norm, "viridis"), ax=ax, label="alpha")
        name = f"alpha {best.alpha:.3g}, iteration {best.best}"
        ax.plot(best.best, best.best_score, "*", color=ORANGE, markersize=14, label=name)
    below(ax)
    return ax
