"""`AutoKron`: an estimator that chooses its kernels, loss and alpha."""

from vectrick.automatic.estimator import AutoKron
from vectrick.automatic.find import SearchWarning
from vectrick.estimators import load, register_estimator

register_estimator(AutoKron)

__all__ = ["AutoKron", "SearchWarning", "load"]
