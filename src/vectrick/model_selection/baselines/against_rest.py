"""One-vs-rest classification with methods for two classes."""

from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from vectrick._typing import Array, ArrayLike
from vectrick.backends.arrays import unmasked
from vectrick.data import Edges


class AgainstRest(BaseEstimator):
    """A copy of a method for each class. scikit-learn's OneVsRestClassifier requires an X with rows.

    Parameters
    ----------
    method : estimator
        An estimator for two classes, with ``decision_function``.
    """

    def __init__(self, method: BaseEstimator) -> None:
        self.method = method

    def fit(self, X: Edges, y: ArrayLike) -> Self:
        """Train the copies."""
        labels = np.asarray(unmasked(y, "y"))
        self.classes_ = np.unique(labels)
        self.methods_ = [clone(self.method).fit(X, np.where(labels == label, 1, -1)) for label in self.classes_]
        return self

    def decision_function(self, X: Edges) -> Array:
        """Return a column of real-valued predictions for each class."""
        return np.column_stack([method.decision_function(X) for method in self.methods_])

    def predict(self, X: Edges) -> Array:
        """Return the class of each edge."""
        return np.asarray(self.classes_[self.decision_function(X).argmax(axis=1)])
