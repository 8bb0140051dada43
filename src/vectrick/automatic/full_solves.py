"""Scores of other losses than the squared one, by solving them on the inner folds for the kernels that ridge found."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from vectrick._typing import Array
from vectrick.automatic.ground import Candidate, Ground, Stopped
from vectrick.automatic.labels import RANKS
from vectrick.automatic.search import Result
from vectrick.data import Edges, VertexTable
from vectrick.estimators import KronLogistic, KronRanker, KronRidge, KronSVM
from vectrick.metrics.scores import SCORES
from vectrick.model_selection.sharing import SharedMatrix

_LADDER = np.array([1 / 16, 1 / 4, 1.0, 4.0])  # times the alpha that is best for ridge regression
_TOL = 1e-3  # of the solver: far finer than the differences between alphas


def estimator_of(loss: str, **parameters: Any) -> Any:
    """Return the estimator of a loss."""
    if loss == "svm":
        return KronSVM(**parameters)
    if loss == "logistic":
        return KronLogistic(**parameters)
    if loss in RANKS:
        return KronRanker(groups=RANKS[loss], **{**parameters, "fit_intercept": False})
    return KronRidge(**parameters)


class FullSolves:
    """Candidates of one loss, solved on all folds; it keeps the predictions for the test edges.

    Parameters
    ----------
    ground : Ground
        The folds and the kernels.
    loss : str
        The loss.
    alpha : float, optional
        The only alpha, in the unit of the models.
    done : callable
        Called after each fit; it may raise `Stopped`.
    """

    def __init__(self, ground: Ground, loss: str, alpha: float | None, done: Callable[[], None]) -> None:
        self.ground, self.loss, self.alpha, self.done = ground, loss, alpha, done
        self.predictions: dict[Candidate, list[list[Array]]] = {}

    def run(self, found: Sequence[Result]) -> list[Result]:
        """Return the results for the kernels of other results, those that were finished."""
        results = []
        for result in found:
            try:
                results.append(self._solve(result))
            except Stopped:
                if not results:
                    raise
                break
        return results

    def _solve(self, result: Result) -> Result:
        ground = self.ground
        candidate = replace(result.candidate, loss=self.loss)
        alphas = _LADDER * result.alpha * self._curvature()
        if self.alpha is not None:
            alphas = np.array([self.alpha / ground.scale(candidate)])
        start, end = (
            VertexTable(side.matrix(choice)[0] + constant, "a kernel matrix")
            for side, choice, constant in (
                (ground.side(candidate, "start"), candidate.start, candidate.start_constant),
                (ground.side(candidate, "end"), candidate.end, candidate.end_constant),
            )
        )
        one_set = candidate.pairwise != "kronecker"
        X = Edges._of(*ground.numbers(candidate), start, start if one_set else end)
        kernel = SharedMatrix(is_psd=False)
        scores = np.empty((len(alphas), len(ground.folds)))
        kept: list[list[Array]] = [[] for _ in alphas]
        for at, alpha in enumerate(alphas):
            model = estimator_of(
                self.loss, start_kernel=kernel, end_kernel=kernel, pairwise=candidate.pairwise, alpha=float(alpha),
                fit_intercept=candidate.pairwise != "antisymmetric", tol=_TOL, keep_edges=False,
                n_threads=ground.n_threads,
            )  # fmt: skip
            for number, fold in enumerate(ground.folds):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of kernels that are repaired, and of iterations
                    model.fit(X[fold.train], ground.y[fold.train])
                predictions = np.asarray(model._decide(X[fold.test]))
                groups = None if ground.groups is None else ground.groups[fold.test]
                scores[at, number] = SCORES[ground.scoring](ground.y[fold.test], predictions, groups)
                kept[at].append(predictions)
                self.done()
        self.predictions[candidate] = kept
        return Result(candidate, alphas, scores, ground.weights, 0.0, f"the loss {self.loss}")

    def _curvature(self) -> float:
        """Return the usual curvature of the loss at an edge, by which its alpha is smaller than ridge regression's."""
        if self.loss != "logistic":
            return 1.0
        share = float((self.ground.y > 0).mean())
        return share * (1 - share)

    def predictions_of(self, result: Result) -> list[Array]:
        """Return the predictions of a result for the test edges of each fold, at its best alpha."""
        return self.predictions[result.candidate][result.best]
