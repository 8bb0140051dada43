"""Scores of solutions by the estimators, for other losses and pairwise kernels and for sparse graphs."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.automatic.labels import RANKS
from vectrick.automatic.scoring.problem import Place, SearchProblem
from vectrick.automatic.scoring.sides import Candidate, StopSearch
from vectrick.backends.arrays import namespace, to_host
from vectrick.data import Edges, VertexTable
from vectrick.estimators import KronLogistic, KronRanker, KronRidge, KronSVM
from vectrick.metrics.scores import SCORES
from vectrick.model_selection.sharing import SharedMatrix

_TOL = 1e-3  # of the solver: far finer than the differences between alphas


def estimator_of(loss: str, **parameters: Any) -> Any:
    """Return the estimator of a loss."""
    if loss in ("svm", "hinge"):
        return KronSVM(loss="hinge" if loss == "hinge" else "squared_hinge", **parameters)
    if loss == "logistic":
        return KronLogistic(**parameters)
    if loss in RANKS:
        return KronRanker(groups=RANKS[loss], **{**parameters, "fit_intercept": False})
    return KronRidge(loss="censored" if loss == "censored" else "squared", **parameters)


def solver_of(loss: str) -> str:
    """Return a solver that makes no more products than a coarse tolerance requires, even for few edges."""
    return "newton" if loss in ("logistic", "svm") else "auto"


def usual_curvature(loss: str, y: Array) -> float:
    """Return the usual curvature of a loss at an edge, the ratio of its alpha to the alpha of ridge regression."""
    if loss != "logistic":
        return 1.0
    share = float((y > 0).mean())
    return share * (1 - share)


class FullSolves:
    """Solutions of candidates on folds.

    Parameters
    ----------
    problem : SearchProblem
        The folds and the kernels.
    """

    def __init__(self, problem: SearchProblem) -> None:
        self.problem = problem
        self._tables: dict[Any, VertexTable] = {}

    def scores(
        self,
        candidates: Sequence[Candidate],
        alphas: Array,
        folds: Sequence[int],
        done: Callable[[], None],
        kept: dict[Place, Array],
    ) -> Array:
        """Return the scores of candidates, for each alpha and fold, as `SearchProblem.scores` does."""
        problem, out = self.problem, np.full((*alphas.shape, len(folds)), np.nan)
        try:
            for at, candidate in enumerate(candidates):
                for column, number in enumerate(folds):
                    test = problem.folds[number].test
                    groups = None if problem.groups is None else problem.groups[test]
                    for place, alpha in enumerate(alphas[at]):
                        predictions = self.predictions(candidate, alpha, number)
                        kept[at, place, column] = predictions
                        out[at, place, column] = SCORES[problem.scoring](problem.truth[test], predictions, groups)
                    done()
        except StopSearch:
            pass
        return out

    def predictions(self, candidate: Candidate, alpha: float, number: int) -> Array:
        """Return the predictions of a candidate for the test edges of a fold."""
        problem, fold, kernel = self.problem, self.problem.folds[number], SharedMatrix()
        start, end = (self._table(candidate, which) for which in ("start", "end"))
        X = Edges._of(*problem.numbers(candidate), start, start if candidate.is_one_set else end)
        model = estimator_of(
            candidate.loss, start_kernel=kernel, end_kernel=kernel, pairwise=candidate.pairwise, alpha=float(alpha),
            fit_intercept=candidate.has_intercept, tol=_TOL, keep_edges=False, n_threads=problem.n_threads,
            solver="cg" if candidate.loss == "ridge" else solver_of(candidate.loss), backend=problem.backend,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about iterations
            model.fit(X[fold.train], problem.y[fold.train])
        return np.asarray(to_host(model._decide(X[fold.test])))

    def _table(self, candidate: Candidate, which: str) -> VertexTable:
        """Return the kernel matrix of a side as a table, without its negative eigenvalues."""
        choice = candidate.start if which == "start" else candidate.end
        constant = candidate.start_constant if which == "start" else candidate.end_constant
        side = self.problem.side(candidate, which)
        key = id(side), choice.name, constant
        if key not in self._tables:
            K = side.matrix(choice)[0]
            if not choice.kernel.is_psd:
                values, vectors = namespace(K).linalg.eigh(K)
                K = (vectors * values.clip(0.0)) @ vectors.T
            self._tables[key] = VertexTable(K + constant, "a kernel matrix")
        return self._tables[key]
