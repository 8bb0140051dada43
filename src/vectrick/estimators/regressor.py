"""The base of the estimators for real-valued labels."""

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from vectrick._typing import Array, ArrayLike
from vectrick._warnings import warn
from vectrick.backends.arrays import distinct
from vectrick.data import EdgesLike
from vectrick.data.lake.counts import Counts
from vectrick.data.lake.scan import ScannedEdges
from vectrick.estimators.base import KronEstimator
from vectrick.training.validate import as_real_labels


def _ranks_two_labels(model: object) -> bool:
    """Return whether a model is fitted to at most two different labels; always True for models from files."""
    return hasattr(model, "predictor_") and getattr(model, "_has_two_labels", True)


class KronRegressor(KronEstimator):
    """A kernel machine for real-valued labels."""

    def _encode(self, y: ArrayLike, n_edges: int) -> Array:
        labels = as_real_labels(y, n_edges)
        if n_edges > 1 and (labels == labels[0]).all():
            warn(f"y is constant ({float(labels[0])}), so there is little to learn", UserWarning)
        self._has_two_labels = bool(((labels == labels.min()) | (labels == labels.max())).all())
        return labels

    def _check_lake_labels(self, counts: Counts, dtype: np.dtype[Any]) -> None:
        if counts.low == counts.high and counts.n_edges > 1:
            warn(f"the labels of the lake are constant ({counts.low}), so there is little to learn", UserWarning)
        self._has_two_labels = counts.labels is not None and len(counts.labels) <= 2

    def _encode_validation(self, y: ArrayLike, n_edges: int) -> Array:
        return as_real_labels(y, n_edges)

    def _auto_scoring(self, y: Array) -> str:
        return "auc" if len(distinct(y)) == 2 else "r2"

    def _lake_scoring(self, counts: Counts) -> str:
        return "auc" if counts.labels is not None and len(counts.labels) == 2 else "r2"

    def predict(self, X: EdgesLike | ScannedEdges) -> Array:
        """Return the prediction for each edge."""
        return self._decide(X)

    @available_if(_ranks_two_labels)  # type: ignore[untyped-decorator]
    def decision_function(self, X: EdgesLike | ScannedEdges) -> Array:
        """Return the prediction for each edge, unless the model was trained with more than two labels.

        scikit-learn uses it for scores like "roc_auc"; a regressor for more labels must not have it.
        """
        return self.predict(X)
