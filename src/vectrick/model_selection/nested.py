"""Nested cross-validation: the score of a model whose parameters are tuned inside the training folds only."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from vectrick._html import html_block, html_table
from vectrick._progress import Progress
from vectrick._typing import Array, ArrayLike, Frame
from vectrick.backends.arrays import unmasked
from vectrick.data import Edges, EdgesLike
from vectrick.data.censored import refuse_bounds
from vectrick.estimators import KronEstimator, as_edges, with_iterations
from vectrick.metrics.scores import OF_CLASSES, SCORES
from vectrick.model_selection.alpha_paths import check_iterations
from vectrick.model_selection.candidates import (
    ParamGrid,
    Selected,
    as_lists,
    choose_best,
    compare_candidate,
    make_candidates,
    settle_scoring,
)
from vectrick.model_selection.parallel import count_jobs, in_parallel
from vectrick.model_selection.splitting.folds import Fold
from vectrick.model_selection.splitting.splitters import VertexKFold, check_splitter
from vectrick.persistence.checkpoints import Finished


@dataclass(frozen=True)
class NestedScore:
    """The result of `nested_score`.

    Attributes
    ----------
    scores : array of shape (n_repeats, n_folds)
        The scores on the outer test folds.
    chosen : list of dict
        For each outer fold, its name, the parameters that the inner folds chose, their inner score and the test score.
        With ``n_best > 1``, each chosen combination has its own row.
    scoring : str
        The name of the score.
    """

    scores: Array
    chosen: list[dict[str, Any]]
    scoring: str

    @property
    def mean(self) -> float:
        """The mean over all folds and repeats."""
        return float(self.scores.mean())

    @property
    def spread(self) -> float:
        """The standard deviation of the mean scores of the repeats; with one repeat, of the scores of the folds."""
        values = self.scores.mean(axis=1) if len(self.scores) > 1 else self.scores[0]
        return float(values.std(ddof=1)) if len(values) > 1 else float("nan")

    def frame(self) -> Frame:
        """Return a pandas frame with a row for each outer fold: the chosen parameters and the scores."""
        import pandas as pd

        return pd.DataFrame(self.chosen)

    def __repr__(self) -> str:
        n_repeats, n_folds = self.scores.shape
        over = f"{n_repeats} repeats" if n_repeats > 1 else f"{n_folds} folds"
        low, high = self.scores.min(), self.scores.max()
        return f"<{self.scoring} {self.mean:.3f} ± {self.spread:.3f} over {over}; folds from {low:.3f} to {high:.3f}>"

    def _repr_html_(self) -> str:
        names = list(self.chosen[0])
        rows = [[row.get(name, "") for name in names] for row in self.chosen]
        return html_block(repr(self)[1:-1], html_table([name.replace("_", " ") for name in names], rows))


def nested_score(
    estimator: KronEstimator | Sequence[KronEstimator],
    X: EdgesLike,
    y: ArrayLike,
    param_grid: ParamGrid,
    *,
    outer: VertexKFold | None = None,
    inner: VertexKFold | None = None,
    scoring: str = "auto",
    iterations: Sequence[int] | None = None,
    n_best: int = 1,
    n_jobs: int | None = None,
    verbose: int = 0,
    checkpoint: Finished | str | Path | None = None,
) -> NestedScore:
    """Return the scores of a nested cross-validation whose inner loop chooses kernels, alpha and the iteration.

    In each outer fold, the training edges are split again by their vertices. Every combination of the grid is fitted
    for all its alphas (`alpha_path`, without warm starts) and scored at its iterations. The combination, alpha and
    iteration with the best mean score over the inner folds are then used to fit all training edges of the outer fold.
    This model is scored on the test edges of the outer fold; no earlier step uses them.

    Parameters
    ----------
    estimator : estimator or list of estimators
        One or several estimators of vectrick. Several, such as
        ``[vt.KronRidge(), vt.KronSVM(max_iter=10, inner_iter=10)]``, choose the loss as well. ``max_iter`` is the
        largest iteration to compare (None means 100 for quadratic losses, and the default of the solver for others).
    X, y : Edges or array, array
        Edges and labels.
    param_grid : dict, or list of dicts
        Values of parameters, such as ``{"start_kernel": [vt.Gaussian(0.1), vt.Gaussian(1.0)], "alpha": [0.1, 1.0]}``;
        the values of alpha must be positive and increasing. A list has one grid for each estimator.
    outer, inner : VertexKFold, optional
        The outer and the inner folds, by default ``VertexKFold(3, 3, random_state=0)``. The default inner folds have
        the setting of the outer folds, and are stratified if there are two classes.
    scoring : str
        "auc", "average_precision", "concordance", "r2", or "auto", the default of the first estimator.
    iterations : sequence of int, optional
        With a quadratic loss, the iterations to choose from; by default nine up to ``max_iter``. A single one, large
        enough to converge, leaves the regularization to alpha alone. Otherwise the best iteration for the fewer edges
        of the inner folds may be too early for the outer folds.
    n_best : int
        The number of combinations to train in each outer fold: the best by inner score, each at its best alpha and
        iteration. Their predictions are standardized to zero mean and unit variance, and their mean is scored. If
        positive edges are few, the best of many combinations is partly luck, and the mean of several is safer.
    n_jobs : int, optional
        The number of processes that fit in parallel, with one thread each; by default (or -1) the number of CPUs. The
        scores do not depend on it.
    verbose : int
        1 reports progress about twice a second, 2 after each fit.
    checkpoint : path, optional
        A file that keeps finished results. After an interruption, the same call continues from it. Remove it
        afterwards.

    Returns
    -------
    NestedScore
        ``scores`` for each repeat and fold, ``mean``, ``spread`` and ``frame()``.

    Notes
    -----
    A kernel that does not depend on the training vertices is computed or factored once, for all vertices. The folds
    take rows and columns of it.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> rng = np.random.default_rng(0)
    >>> X = vt.Edges.grid(rng.standard_normal((20, 2)), rng.standard_normal((20, 2)))
    >>> y = (X.start_table.features[X.start] * X.end_table.features[X.end]).sum(axis=1) > 0
    >>> grid = {"start_kernel": ["linear", vt.Gaussian(gamma=1.0)], "alpha": [0.1, 1.0]}
    >>> svm, outer = vt.KronSVM(max_iter=5, inner_iter=5), vt.VertexKFold(2, 2, random_state=0)
    >>> found = vt.nested_score(svm, X, y, grid, outer=outer, n_jobs=1)
    >>> found.scores.shape, found.mean > 0.9
    ((1, 4), True)
    """
    estimators, grids = as_lists(estimator, param_grid)
    check_iterations(iterations)
    for name, cv in (("outer", outer), ("inner", inner)):
        check_splitter(cv, name)
    n_jobs = count_jobs(n_jobs)
    refuse_bounds(y, "nested_score")
    edges, labels = as_edges(clone(estimators[0]), X, reset=True), np.asarray(unmasked(y, "y"))
    two_classes = len(np.unique(labels)) == 2
    outer = VertexKFold(3, 3, random_state=0) if outer is None else outer
    inner = VertexKFold(3, 3, outer.new, stratify=two_classes, random_state=0) if inner is None else inner
    scoring = settle_scoring(scoring, estimators, labels, n_best)
    candidates = make_candidates(estimators, grids, edges, scoring)
    # All folds, inner ones included, are made and checked before anything is fitted.
    folds = outer.folds(edges, labels)
    inner_folds = [_inner_folds(inner, fold, edges, labels) for fold in folds]
    tasks = [(f, c) for f in range(len(folds)) for c in range(len(candidates))]
    progress = Progress("nested_score", len(tasks) + len(folds), verbose)
    divided = [[fold.test, *(choice.test for choice in parts)] for fold, parts in zip(folds, inner_folds, strict=True)]
    what = "nested_score", estimators, grids, edges, labels, divided, scoring, iterations, n_best
    with Finished.of(checkpoint).work(*what) as finished:
        compared = in_parallel(
            compare_candidate,
            {f"fold {f} candidate {c}": (candidates[c], labels, inner_folds[f], iterations) for f, c in tasks},
            n_jobs,
            lambda _: progress.step(),
            finished,
            np.ndarray,
        )
    tables = dict(zip(tasks, compared, strict=True))
    best = [choose_best(candidates, [tables[f, c] for c in range(len(candidates))])[:n_best] for f in range(len(folds))]
    values = np.where(labels == np.unique(labels)[1], 1.0, -1.0) if scoring in OF_CLASSES else labels
    with finished:
        judged = in_parallel(
            _judge,
            {f"fold {f}": (best[f], labels, values, fold, scoring) for f, fold in enumerate(folds)},
            n_jobs,
            lambda score: progress.step(f"{scoring} {score:.3f}"),
            finished,
            float,
        )
    chosen = [
        {"fold": fold.name, **choice.shown, "score": score}
        for fold, choices, score in zip(folds, best, judged, strict=True)
        for choice in choices
    ]
    return NestedScore(np.array(judged).reshape(outer.n_repeats, -1), chosen, scoring)


def _judge(best: list[Selected], labels: Array, values: Array, fold: Fold, scoring: str) -> float:
    """Return the score of the chosen combinations on the test edges of a fold."""
    predicted = []
    for choice in best:
        candidate = choice.candidate
        model = with_iterations(candidate.estimator, choice.alpha, choice.iteration)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the number of iterations was chosen
            model.fit(candidate.X[fold.train], labels[fold.train])
        test = candidate.X[fold.test]
        predicted.append(model._decide(test))
    groups = model._groups_of(test)
    if len(best) == 1:
        return float(SCORES[scoring](values[fold.test], predicted[0], groups))
    mean = np.mean([(each - each.mean()) / max(each.std(), 1e-300) for each in predicted], axis=0)
    return float(SCORES[scoring](values[fold.test], mean, groups))


def _inner_folds(inner: VertexKFold, fold: Fold, edges: Edges, labels: Array) -> list[Fold]:
    """Return the folds of the training edges of a fold, as positions among all edges."""
    rows = fold.train
    try:
        parts = inner.folds(edges[rows], labels[rows])
    except ValueError as error:
        raise ValueError(f"inner folds of {fold.name}: {error}") from None
    return [Fold(part.name, rows[part.train], rows[part.test]) for part in parts]
