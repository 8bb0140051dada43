"""Scores of candidates, and the choice of the ensemble's members."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vectrick._typing import Array
from vectrick.automatic.scoring.sides import Candidate

_ERRORS = 2.0  # standard errors below the best score within which a candidate may be as good
LEAST_DIFFERENCE = 0.005  # of scores, in case a few folds agree by chance


@dataclass(frozen=True)
class Result:
    """The scores of a candidate.

    Attributes
    ----------
    candidate : Candidate
        The scored candidate.
    alphas : array
        The alphas, relative to the mean kernel value of an edge with itself.
    scores : array
        A row for each alpha, and a column for each fold.
    weights : array
        The weight of each fold in the mean.
    seconds : float
        The time for scoring.
    stage : str
        The stage of the search.
    folds : tuple of int
        The folds.
    is_solved : bool
        Whether these are scores of solutions, not of the first pass over the edges.
    """

    candidate: Candidate
    alphas: Array
    scores: Array
    weights: Array
    seconds: float
    stage: str
    folds: tuple[int, ...] = ()
    is_solved: bool = False

    @property
    def means(self) -> Array:
        """The mean score over the folds for each alpha."""
        return np.asarray(self.scores @ (self.weights / self.weights.sum()))

    @property
    def best(self) -> int:
        """The place of the best alpha."""
        return int(np.argmax(self.means))

    @property
    def alpha(self) -> float:
        """The best alpha."""
        return float(self.alphas[self.best])

    @property
    def score(self) -> float:
        """The mean score over the folds at the best alpha."""
        return float(self.means[self.best])

    @property
    def spread(self) -> float:
        """The standard deviation between the folds."""
        scores = self.scores[self.best]
        return float(scores.std(ddof=1)) if len(scores) > 1 else float("nan")


def diverse(results: Sequence[Result], n: int) -> list[Result]:
    """Return the best ``n`` results such that no kernel of a side is in more than about a third of them.

    An ensemble of different kernels is safer than an ensemble of the best kernel with five constants, because the best
    score on a few folds is partly luck. If there are too few kernels, the best remaining results complete the list.
    """
    limit = -(-n // 3)
    chosen: list[Result] = []
    for strict in (True, False):
        for result in results:
            if len(chosen) == n:
                return chosen
            own, others = result.candidate, [other.candidate for other in chosen]
            if own in others:
                continue
            pair = any(other.start is own.start and other.end is own.end for other in others)
            often = max(
                sum(getattr(other, which) is getattr(own, which) for other in others) for which in ("start", "end")
            )
            if not strict or (not pair and often < limit):
                chosen.append(result)
    return chosen


def near_best(results: Sequence[Result]) -> list[Result]:
    """Return the results that may be as good as the best, given the spread between folds; others harm an ensemble."""
    if not results or not np.isfinite(results[0].score):
        return list(results)
    error = np.nan_to_num(results[0].spread) / max(1, len(results[0].folds)) ** 0.5
    least = results[0].score - max(_ERRORS * error, LEAST_DIFFERENCE)
    return [result for result in results if result.score >= least]
