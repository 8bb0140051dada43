"""Ensembles: weights that put members on one scale, and probabilities, from predictions on folds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vectrick._typing import Array
from vectrick.automatic.scoring.problem import SearchProblem
from vectrick.metrics.scores import SCORES
from vectrick.model_selection.calibration.calibrated import log_odds


@dataclass(frozen=True)
class Mean:
    """A weighted sum of the predictions of members.

    Attributes
    ----------
    weights : array
        The weight of each member.
    constant : float
        The intercept that is added to the sum.
    scores : array
        The score of the sum on each fold.
    score, spread : float
        The mean and the standard deviation of the scores.
    decisions : list of array
        The sum itself for the test edges of each fold.
    """

    weights: Array
    constant: float
    scores: Array
    score: float
    spread: float
    decisions: list[Array]


def mean_of(
    problem: SearchProblem,
    numbers: Sequence[int],
    predictions: Sequence[Sequence[Array]],
    is_classifier: bool,
    is_scaled: bool,
) -> Mean:
    """Return the ensemble of members from their predictions for the test edges of some folds.

    For classes and rankings, the members are standardized first; for regression they already have the scale of the
    labels (``is_scaled``). For classes, logistic regression on the predictions for held-out edges (Platt 1999) turns
    the sum into log-odds, so that probabilities are valid for unseen vertices.
    """
    folds, shares = [problem.folds[number] for number in numbers], problem.weights[list(numbers)]
    shares = shares / shares.sum()
    members = np.array([np.concatenate(list(parts)) for parts in predictions])
    spreads = np.maximum(members.std(axis=1), 1e-300)
    weights = np.full(len(members), 1.0 / len(members)) / (1.0 if is_scaled else spreads)
    constant = 0.0 if is_scaled else -float(weights @ members.mean(axis=1))
    total = weights @ members + constant
    bounds = np.cumsum([len(fold.test) for fold in folds])[:-1]
    scores = np.array(
        [
            SCORES[problem.scoring](
                problem.truth[fold.test], part, None if problem.groups is None else problem.groups[fold.test]
            )
            for fold, part in zip(folds, np.split(total, bounds), strict=True)
        ]
    )
    spread = float(scores.std(ddof=1)) if len(scores) > 1 else float("nan")
    if is_classifier:
        labels = np.concatenate([problem.y[fold.test] for fold in folds])
        # Folds have the same weights as in the score, so that a setting with many edges does not dominate.
        weight = np.concatenate([np.full(len(f.test), w / len(f.test)) for f, w in zip(folds, shares, strict=True)])
        slope, odds = log_odds(total, labels > 0, weight * len(weight))
        weights, constant = slope * weights, slope * constant + odds
    decisions = np.split(weights @ members + constant, bounds)
    return Mean(weights, constant, scores, float(shares @ scores), spread, decisions)
