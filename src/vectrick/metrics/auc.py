"""The area under the ROC curve, fast enough for every iteration of a solver."""

from typing import Any

import numpy as np


def auc(y_true: Any, y_score: Any) -> float:
    """Return the probability that a positive label has a larger score than another one; ties count half.

    Labels over zero are positive. It is scikit-learn's ``roc_auc_score`` without its checks, which for 250 000 edges
    take longer than predicting them; with one class only, or with a score that is NaN, it is NaN.

    >>> auc([-1.0, 1.0, 1.0], [0.2, 0.1, 0.3])
    0.5
    """
    is_positive, score = np.asarray(y_true) > 0, np.asarray(y_score)
    positive, other = np.sort(score[is_positive]), np.sort(score[~is_positive])
    n_pairs = len(positive) * len(other)
    if n_pairs == 0 or np.isnan(positive[-1]) or np.isnan(other[-1]):  # NaN is sorted to the end
        return float("nan")
    # Two sorted lists are faster than one order of all scores where one class is rare.
    below = other.searchsorted(positive, "left").sum() + other.searchsorted(positive, "right").sum()
    return float(0.5 * below / n_pairs)
