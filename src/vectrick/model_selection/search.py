"""Search for the best kernels, loss, alpha and iteration on vertex-disjoint folds."""

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
from vectrick._typing import ArrayLike
from vectrick.backends.arrays import unmasked
from vectrick.data import EdgesLike
from vectrick.estimators import KronEstimator, as_edges, with_iterations
from vectrick.model_selection.alpha_paths import check_iterations
from vectrick.model_selection.candidates import (
    ParamGrid,
    as_lists,
    choose_best,
    compare_candidate,
    make_candidates,
    settle_scoring,
)
from vectrick.model_selection.parallel import count_jobs, in_parallel
from vectrick.model_selection.splitting.splitters import VertexKFold, check_splitter
from vectrick.persistence.checkpoints import Finished


@dataclass(frozen=True)
class VertexSearch:
    """The result of `vertex_search`.

    Attributes
    ----------
    model : estimator
        The best estimator, fitted to all edges.
    choices : list of dict
        The combinations of the grid, best first, each with its best alpha and iteration and its mean score over the
        folds.
    scoring : str
        The name of the score.
    """

    model: Any
    choices: list[dict[str, Any]]
    scoring: str

    @property
    def score(self) -> float:
        """The mean score of the best combination over the folds.

        This score was used for model selection, so it is optimistic; see `nested_score`.
        """
        return float(self.choices[0]["inner_score"])

    def __repr__(self) -> str:
        return f"<{self.model}: {self.scoring} {self.score:.3f}, the best of {len(self.choices)} combinations>"

    def _repr_html_(self) -> str:
        names = list(self.choices[0])
        rows = [[choice[name] for name in names] for choice in self.choices]
        title = f"{self.scoring} {self.score:.3f}, the best of {len(self.choices)} combinations"
        return html_block(title, html_table([name.replace("_", " ") for name in names], rows, strong=0))


def vertex_search(
    estimator: KronEstimator | Sequence[KronEstimator],
    X: EdgesLike,
    y: ArrayLike,
    param_grid: ParamGrid,
    *,
    cv: VertexKFold | None = None,
    scoring: str = "auto",
    iterations: Sequence[int] | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    checkpoint: Finished | str | Path | None = None,
) -> VertexSearch:
    """Choose kernels, loss, alpha and iteration by vertex-disjoint folds, and fit the best to all edges.

    This is one outer fold of `nested_score`, on all edges. Use `nested_score` to estimate the quality of the result.

    Parameters
    ----------
    estimator, X, y, param_grid, scoring, iterations, n_jobs, verbose, checkpoint
        As for `nested_score`.
    cv : VertexKFold, optional
        The folds; by default ``VertexKFold(3, 3, random_state=0)``, stratified if there are two classes.

    Returns
    -------
    VertexSearch
        The fitted ``model`` and the ``choices``.

    Examples
    --------
    >>> import vectrick as vt
    >>> X, y = vt.datasets.make_checkerboard(60, noise=0.0, density=0.5, random_state=0)
    >>> grid = {"start_kernel": [vt.Gaussian(1.0), "linear"], "end_kernel": [vt.Gaussian(1.0)], "alpha": [0.1, 1.0]}
    >>> found = vt.vertex_search(vt.KronRidge(max_iter=20), X, y, grid, n_jobs=1)
    >>> found.model.start_kernel, len(found.choices)
    (Gaussian(gamma=1.0), 2)
    """
    estimators, grids = as_lists(estimator, param_grid)
    check_iterations(iterations)
    check_splitter(cv, "cv")
    n_jobs = count_jobs(n_jobs)
    edges, labels = as_edges(clone(estimators[0]), X, reset=True), np.asarray(unmasked(y, "y"))
    two_classes = len(np.unique(labels)) == 2
    cv = VertexKFold(3, 3, stratify=two_classes, random_state=0) if cv is None else cv
    scoring = settle_scoring(scoring, estimators, labels, 1)
    candidates = make_candidates(estimators, grids, edges, scoring)
    folds = cv.folds(edges, labels)
    progress = Progress("vertex_search", len(candidates) + 1, verbose)
    what = "vertex_search", estimators, grids, edges, labels, [fold.test for fold in folds], scoring, iterations
    with Finished.of(checkpoint).work(*what) as finished:
        tables = in_parallel(
            compare_candidate,
            {f"candidate {c}": (candidate, labels, folds, iterations) for c, candidate in enumerate(candidates)},
            n_jobs,
            lambda _: progress.step(),
            finished,
            np.ndarray,
        )
    best = choose_best(candidates, tables)
    plain = with_iterations(best[0].candidate.plain, best[0].alpha, best[0].iteration)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the number of iterations was chosen
        model = plain.fit(X, y)
    progress.step()
    return VertexSearch(model, [choice.shown for choice in best], scoring)
