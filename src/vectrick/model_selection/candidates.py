"""Candidates of a search: combinations of parameters, their scores on folds, and the choice of the best."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone

from vectrick._typing import Array
from vectrick.data import Edges
from vectrick.estimators import KronEstimator, PathStep, fit_along
from vectrick.metrics.scores import OF_CLASSES, SCORES
from vectrick.model_selection.alpha_paths import check_alphas
from vectrick.model_selection.sharing import Sharing
from vectrick.model_selection.splitting.folds import Fold

# A grid of parameters: lists of values by name, or one grid for each of several estimators.
ParamGrid: TypeAlias = Mapping[str, Sequence[Any] | Array] | Sequence[Mapping[str, Sequence[Any] | Array]]

_NEVER = 10**9  # iterations without a better score before a stop, so that all are compared


@dataclass(frozen=True)
class GridPoint:
    """An estimator with all parameters set except alpha, and edges whose tables hold its kernels."""

    estimator: KronEstimator
    shown: dict[str, Any]
    X: Edges
    alphas: Array
    plain: KronEstimator  # the same with the original kernels


def as_lists(estimator: KronEstimator | Sequence[KronEstimator], param_grid: ParamGrid) -> tuple[list[Any], list[Any]]:
    """Check the estimators; return them and a grid for each."""
    estimators = list(estimator) if isinstance(estimator, list | tuple) else [estimator]
    for each in estimators:
        if not isinstance(each, KronEstimator):
            raise TypeError(
                f"estimator is of type {type(each).__name__}, but it must be one of vectrick's; for others use "
                "GridSearchCV with cv=vt.VertexKFold(...)"
            )
    grids = list(param_grid) if isinstance(param_grid, list | tuple) else [param_grid] * len(estimators)
    if not estimators or len(grids) != len(estimators):
        raise ValueError(f"param_grid has {len(grids)} grids, but there are {len(estimators)} estimators")
    return estimators, grids


def settle_scoring(scoring: str, estimators: list[Any], labels: Array, n_best: int) -> str:
    """Return the name of the score to use, or raise an error if that score is not possible."""
    if isinstance(n_best, bool) or not isinstance(n_best, Integral) or n_best < 1:
        raise ValueError(f"n_best is {n_best!r}, but it must be a positive integer")
    names = ("auto", *SCORES)
    if scoring not in names:
        raise ValueError(f"scoring is {scoring!r}, but it must be one of {', '.join(map(repr, names))}")
    if scoring == "auto":
        scoring = estimators[0]._auto_scoring(labels)
    n_values = len(np.unique(labels))
    if scoring in OF_CLASSES and n_values != 2:
        raise ValueError(f"scoring is {scoring!r}, which needs two classes, but y has {n_values} values")
    if n_best > 1 and scoring == "r2":
        raise ValueError(f"n_best is {n_best} and scoring is 'r2', but a mean of standardized predictions has no scale")
    if scoring == "concordance" and len({getattr(estimator, "groups", None) for estimator in estimators}) > 1:
        raise ValueError("estimators have different groups, so their concordances cannot be compared")
    return scoring


def compare_candidate(
    candidate: GridPoint, labels: Array, folds: list[Fold], iterations: Sequence[int] | None
) -> Array:
    """Return the mean scores over inner folds, a row for each alpha and a column for each iteration."""
    tables = []
    for fold in folds:
        train, test = ((candidate.X[rows], labels[rows]) for rows in (fold.train, fold.test))
        limits: dict[str, Any] = {"iterations": iterations, "warm_start": False}
        steps = fit_along(candidate.estimator, *train, candidate.alphas.tolist(), test, **limits)
        tables.append(_table(steps))
    return _mean(tables)


def make_candidates(estimators: list[Any], grids: list[Any], edges: Edges, scoring: str) -> list[GridPoint]:
    """Return a grid point for every combination of parameters except alpha, with kernels that the folds share."""
    candidates = []
    sharing: dict[float, Sharing] = {}
    for estimator, grid in zip(estimators, grids, strict=True):
        if not isinstance(grid, Mapping):
            raise TypeError(f"param_grid is of type {type(grid).__name__}, but it must be a dict of lists of values")
        alphas = check_alphas(grid.get("alpha", [estimator.alpha]), "param_grid['alpha']")
        others = {name: _values(name, values) for name, values in grid.items() if name != "alpha"}
        for values in itertools.product(*others.values()):
            # Copies, since "start_kernel__gamma" would also change the kernel of other candidates.
            parameters = {name: clone(value, safe=False) for name, value in zip(others, values, strict=True)}
            plain = clone(estimator).set_params(**parameters)
            shared = clone(plain)
            share = sharing.setdefault(float(shared.factor_tol), Sharing(edges, float(shared.factor_tol)))
            X, start, end = edges, shared.start_kernel, shared.end_kernel
            if shared.pairwise == "kronecker" and not any(isinstance(kernel, list | tuple) for kernel in (start, end)):
                X, start, end = share.of(start, end)
            shown = {"estimator": type(estimator).__name__, **parameters} if len(estimators) > 1 else parameters
            dtype = shared._compute_dtype(edges).name  # the dtype of the features, not of kernel values
            shared.set_params(start_kernel=start, end_kernel=end, scoring=scoring, dtype=dtype, n_threads=1)
            shared.set_params(n_iter_no_change=_NEVER, n_start_features=None, verbose=0)
            candidates.append(GridPoint(shared, shown, X, alphas, plain))
    return candidates


def _values(name: str, values: Any) -> list[Any]:
    """Return the values of a parameter as a list; raise an error if it is empty."""
    if isinstance(values, str) or not isinstance(values, Iterable) or not len(choices := list(values)):
        raise ValueError(f"param_grid[{name!r}] is {values!r}, but it must be a list of at least one value")
    return choices


def _table(steps: list[PathStep]) -> Array:
    """Return the scores, a row for each alpha and a column for each iteration from 1; missing scores are NaN."""
    rows = []
    for step in steps:
        every = np.arange(1, step.iterations[-1] + 1)
        row = np.full(len(every), np.nan)
        row[step.iterations - 1] = step.scores
        rows.append(row)
    return _pad(rows)


def _pad(rows: Iterable[Array]) -> Array:
    """Return rows as a matrix; a short row is filled up with its last value."""
    rows = list(rows)
    width = max(len(row) for row in rows)
    return np.array([np.append(row, np.full(width - len(row), row[-1])) for row in rows])


def _mean(tables: list[Array]) -> Array:
    """Return the mean over inner folds; a score that is missing in any fold is NaN."""
    width = max(table.shape[1] for table in tables)
    wide = [np.pad(table, ((0, 0), (0, width - table.shape[1])), mode="edge") for table in tables]
    return np.asarray(np.mean(wide, axis=0))


@dataclass(frozen=True)
class Selected:
    """A candidate with the alpha and the iteration that have its best score over the inner folds."""

    candidate: GridPoint
    alpha: float
    iteration: int
    inner_score: float

    @property
    def shown(self) -> dict[str, Any]:
        """The chosen parameters and their score, for display."""
        best = {"alpha": self.alpha, "iteration": self.iteration, "inner_score": self.inner_score}
        return {**self.candidate.shown, **best}


def choose_best(candidates: list[GridPoint], tables: list[Array]) -> list[Selected]:
    """Return the candidates at their best alpha and iteration, best first; a tie goes to the most regularized."""
    choices = []
    for candidate, table in zip(candidates, tables, strict=True):
        if not np.isnan(table).all():
            score = float(np.nanmax(table))
            rows, columns = np.nonzero(table == score)
            iteration = int(columns[rows == rows[-1]][0]) + 1
            choices.append(Selected(candidate, float(candidate.alphas[rows[-1]]), iteration, score))
    if not choices:
        raise ValueError("no candidate has a score on the inner folds: the predictions are NaN or constant")
    return sorted(choices, key=lambda choice: -choice.inner_score)
