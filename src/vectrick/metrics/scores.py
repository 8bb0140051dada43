"""Scores by name, for early stopping and model selection."""

from collections.abc import Callable

import numpy as np
from sklearn.metrics import average_precision_score, r2_score

from vectrick._typing import Array
from vectrick.metrics.auc import auc
from vectrick.metrics.concordance import concordance_index


def _r2(y: Array, scores: Array, groups: Array | None) -> float:
    """Return R² without scikit-learn's checks, because they take longer than the sums."""
    if isinstance(y, np.ndarray) and isinstance(scores, np.ndarray) and y.ndim == 1 == scores.ndim:
        total = float(((y - y.mean()) ** 2).sum())
        if total > 0:
            return 1.0 - float(((y - scores) ** 2).sum()) / total
    return float(r2_score(y, scores))


SCORES: dict[str, Callable[[Array, Array, Array | None], float]] = {
    "auc": lambda y, scores, groups: auc(y, scores),
    "average_precision": lambda y, scores, groups: average_precision_score(y, scores),
    "concordance": concordance_index,
    "r2": _r2,
}
OF_CLASSES = ("auc", "average_precision")
