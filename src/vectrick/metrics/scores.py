"""Scores of labels and predictions by name, for early stopping and model selection."""

from collections.abc import Callable

from sklearn.metrics import average_precision_score, r2_score

from vectrick._typing import Array
from vectrick.metrics.auc import auc
from vectrick.metrics.concordance import concordance_index

SCORES: dict[str, Callable[[Array, Array, Array | None], float]] = {
    "auc": lambda y, scores, groups: auc(y, scores),
    "average_precision": lambda y, scores, groups: average_precision_score(y, scores),
    "concordance": concordance_index,
    "r2": lambda y, scores, groups: r2_score(y, scores),
}
OF_CLASSES = ("auc", "average_precision")
