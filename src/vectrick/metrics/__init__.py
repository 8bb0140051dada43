"""How good predictions are: AUC for two classes, the concordance index for real-valued labels."""

from vectrick.metrics.auc import auc
from vectrick.metrics.concordance import concordance_index

__all__ = ["auc", "concordance_index"]
