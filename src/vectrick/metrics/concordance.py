"""The concordance index: the share of pairs with different labels that predictions put in the right order."""

import numpy as np

from vectrick._typing import Array, ArrayLike
from vectrick.backends.arrays import as_floats

_TINY, _SHORT = 10, 100_000  # up to _SHORT labels, SciPy is used, because it needs no compilation
AVERAGES = ("pairs", "groups")


def concordance_index(
    y_true: ArrayLike, y_score: ArrayLike, groups: ArrayLike | None = None, *, average: str = "pairs"
) -> float:
    """Return the share of pairs with different labels whose scores are in the same order; a tied score counts half.

    It is 0.5 for random predictions and 1.0 for a perfect order. For two classes it equals the AUC. It is exact, takes
    O(n log n), and is NaN if all labels are equal.

    Parameters
    ----------
    y_true, y_score : array
        Labels and predictions.
    groups : array, optional
        Count only pairs within a group, such as the edges of one start vertex.
    average : str
        "pairs" gives every pair the same weight. "groups" gives every group the same weight: the result is the mean
        over groups with at least two different labels.

    Examples
    --------
    >>> concordance_index([1.0, 2.0, 3.0, 4.0], [0.1, 0.5, 0.5, 0.7])
    0.9166666666666667
    >>> concordance_index([1.0, 2.0, 3.0, 4.0], [0.3, 0.4, 0.1, 0.2], groups=[0, 0, 1, 1])
    1.0
    """
    y, score = checked_scores(y_true, y_score)
    if average not in AVERAGES:
        raise ValueError(f"average is {average!r}, but it must be one of {', '.join(map(repr, AVERAGES))}")
    if groups is not None and np.shape(groups) != y.shape:
        raise ValueError(f"groups has shape {np.shape(groups)}, but y_true has {y.shape}")
    if not len(y) or np.isnan(score).any():
        return float("nan")
    if groups is None and len(y) <= _SHORT:
        return share_in_order(np.array([_differences(y, score)]))
    from vectrick.backends.cpu.order import order_differences  # compiled code, loaded only if needed

    group = np.zeros(len(y), np.int64) if groups is None else np.unique(groups, return_inverse=True)[1].ravel()
    order = np.lexsort((y, group))
    bounds = np.concatenate([[0], np.cumsum(np.bincount(group))])
    counts = np.empty((len(bounds) - 1, 2), np.int64)
    order_differences(y[order], score[order], bounds, counts)
    return share_in_order(counts if average == "groups" else counts.sum(axis=0, keepdims=True))


def _differences(y: Array, score: Array) -> tuple[float, float]:
    """Return concordant minus discordant pairs, and pairs with different y, computed from Kendall's tau-b."""
    if len(y) <= _TINY:  # too few labels for SciPy's kendalltau
        signs = np.sign(y[:, None] - y) * np.sign(score[:, None] - score)
        return float(signs.sum() / 2), float((y[:, None] != y).sum() / 2)
    from scipy.stats import kendalltau

    pairs = len(y) * (len(y) - 1) / 2
    tied_y, tied_score = (float((n * (n - 1) // 2).sum()) for n in (_counts(y), _counts(score)))
    tau = kendalltau(y, score, method="asymptotic").statistic if min(pairs - tied_y, pairs - tied_score) > 0 else 0.0
    return float(np.rint(tau * np.sqrt(pairs - tied_y) * np.sqrt(pairs - tied_score))), pairs - tied_y


def _counts(values: Array) -> Array:
    return np.unique(values, return_counts=True)[1].astype(np.int64)


def share_in_order(counts: Array) -> float:
    """Return the mean share over rows of (concordant minus discordant pairs, comparable pairs), without empty rows."""
    counts = counts[counts[:, 1] > 0]
    return float((0.5 + 0.5 * counts[:, 0] / counts[:, 1]).mean()) if len(counts) else float("nan")


def checked_scores(y_true: ArrayLike, y_score: ArrayLike) -> tuple[Array, Array]:
    """Return labels and predictions as two vectors of doubles."""
    y, score = as_floats(y_true, "y_true"), as_floats(y_score, "y_score")
    if y.shape != score.shape or y.ndim != 1:
        raise ValueError(
            f"y_true has shape {y.shape} and y_score {score.shape}, but both must be vectors of one length"
        )
    wrong = np.flatnonzero(~np.isfinite(y))
    if wrong.size:
        raise ValueError(f"y_true[{wrong[0]}] is {y[wrong[0]]}, but labels must be finite numbers")
    return y, score
