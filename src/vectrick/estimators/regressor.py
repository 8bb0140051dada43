"""What the estimators of real-valued labels share."""

from typing import Any

from vectrick._typing import Array
from vectrick._warnings import warn
from vectrick.backends.arrays import distinct
from vectrick.data import EdgesLike
from vectrick.estimators.base import KronEstimator
from vectrick.estimators.validate import as_real_labels


class KronRegressor(KronEstimator):
    """A kernel machine for real-valued labels."""

    def _encode(self, y: Any, n_edges: int) -> Array:
        labels = as_real_labels(y, n_edges)
        if n_edges > 1 and (labels == labels[0]).all():
            warn(f"y is constant ({float(labels[0])}), so there is little to learn", UserWarning)
        return labels

    def _encode_validation(self, y: Any, n_edges: int) -> Array:
        return as_real_labels(y, n_edges)

    def _auto_scoring(self, y: Array) -> str:
        return "auc" if len(distinct(y)) == 2 else "r2"

    def predict(self, X: EdgesLike) -> Array:
        """Return the prediction for each edge."""
        return self._decide(X)
