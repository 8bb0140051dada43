"""Scores of predictions: AUC for two classes, concordance for real-valued labels and for interactions."""

from vectrick.metrics.auc import auc
from vectrick.metrics.concordance import concordance_index
from vectrick.metrics.interaction import interaction_concordance

__all__ = ["auc", "concordance_index", "interaction_concordance"]
