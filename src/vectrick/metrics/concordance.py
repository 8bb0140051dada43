"""The concordance index: the share of pairs with different labels that predictions put in the right order."""

from typing import Any

import numpy as np
from scipy.stats import kendalltau


def concordance_index(y_true: Any, y_score: Any, groups: Any = None) -> float:
    """Return the share of pairs with different labels whose scores are in the same order; a tied score counts half.

    It is 0.5 at chance and 1.0 for a perfect order; for two classes it is the AUC. ``groups`` restricts it to pairs
    within a group, such as the edges of one start vertex. It takes O(n log n), by way of Kendall's tau; without two
    different labels it is NaN.

    >>> concordance_index([1.0, 2.0, 3.0, 4.0], [0.1, 0.5, 0.5, 0.7])
    0.9166666666666667
    >>> concordance_index([1.0, 2.0, 3.0, 4.0], [0.3, 0.4, 0.1, 0.2], groups=[0, 0, 1, 1])
    1.0
    """
    y, score = np.asarray(y_true), np.asarray(y_score)
    if y.shape != score.shape or y.ndim != 1:
        raise ValueError(
            f"y_true has shape {y.shape} and y_score {score.shape}, but both must be vectors of one length"
        )
    if np.isnan(score).any():
        return float("nan")
    if groups is not None and np.shape(groups) != y.shape:
        raise ValueError(f"groups has shape {np.shape(groups)}, but y_true has {y.shape}")
    if groups is None:
        parts = [np.arange(len(y))]
    else:
        inverse = np.unique(groups, return_inverse=True)[1]
        parts = np.split(np.argsort(inverse, kind="stable"), np.cumsum(np.bincount(inverse))[:-1])
    differences, pairs = np.array([_differences(y[part], score[part]) for part in parts]).sum(axis=0)
    return float(0.5 + 0.5 * differences / pairs) if pairs else float("nan")


def _differences(y: Any, score: Any) -> tuple[int, int]:
    """Return concordant minus discordant pairs, and the number of pairs with different labels."""
    comparable, distinct = _pairs_apart(y), _pairs_apart(score)
    if comparable == 0 or distinct == 0:
        return 0, comparable
    # tau-b is (concordant - discordant) / sqrt(pairs apart in y * pairs apart in score).
    return round(float(kendalltau(y, score).statistic) * (float(comparable) * float(distinct)) ** 0.5), comparable


def _pairs_apart(values: Any) -> int:
    """Return the number of pairs with different values."""
    counts = np.unique(values, return_counts=True)[1].astype(np.int64)
    n = len(values)
    return int(n * (n - 1) // 2 - (counts * (counts - 1) // 2).sum())
