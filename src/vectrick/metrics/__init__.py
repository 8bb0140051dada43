"""How good predictions are: AUC for two classes, the concordance index for real-valued labels, interactions."""

from vectrick.metrics.auc import auc
from vectrick.metrics.concordance import concordance_index
from vectrick.metrics.interaction import interaction_concordance

__all__ = ["auc", "concordance_index", "interaction_concordance"]
