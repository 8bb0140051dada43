"""What the classifiers share: labels of any two values, and decisions."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from vectrick._arrays import cast, distinct, is_tensor, like, to_host, unmasked
from vectrick.estimators.base import KronEstimator
from vectrick.estimators.inputs import as_classes

Array = Any  # of NumPy or torch


class KronClassifier(ClassifierMixin, KronEstimator):
    """A kernel machine for two classes; the second of ``classes_`` is the positive one."""

    def _encode(self, y: Any, n_edges: int) -> Array:
        labels = as_classes(y, n_edges)
        classes = distinct(labels)
        if len(classes) != 2:
            check_classification_targets(to_host(labels))
        if len(classes) < 2:
            raise ValueError(f"y has one class only, {classes.tolist()[0]!r}, but a classifier needs two")
        if len(classes) > 2:
            kind = type_of_target(to_host(labels))
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}: y has {len(classes)} "
                "classes"
            )
        self.classes_ = classes
        return self._signs(labels)

    def _encode_validation(self, y: Any, n_edges: int) -> Array:
        labels = as_classes(y, n_edges)
        found = distinct(labels)
        unknown = np.setdiff1d(found, self.classes_)
        if len(unknown):
            raise ValueError(f"validation has the class {unknown.tolist()[0]!r}, which the training labels do not have")
        if len(found) < 2:
            raise ValueError("validation has one class only, but a score needs two")
        return self._signs(labels)

    def _check_labels(self, labels: Array) -> None:
        if len(distinct(labels)) < 2:
            raise ValueError("sample_weight is zero for all edges of one class, but a classifier needs two")

    def _signs(self, labels: Array) -> Array:
        is_positive = labels == (self.classes_[1].item() if is_tensor(labels) else self.classes_[1])
        return 2.0 * cast(is_positive, np.float64) - 1.0

    def _auto_scoring(self, y: Array) -> str:
        return "auc"

    def decision_function(self, X: Any) -> Array:
        """Return the real-valued predictions for edges; positive ones mean the second class."""
        return self._decide(X)

    def predict(self, X: Any) -> Array:
        """Return the class of each edge."""
        positive = self._decide(X) > 0
        if is_tensor(positive) and self.classes_.dtype.kind in "biuf":
            return like(self.classes_, positive)[positive.long()]
        return np.asarray(self.classes_[to_host(positive).astype(int)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of edges whose class is predicted rightly."""
        return float(accuracy_score(unmasked(to_host(y), "y"), to_host(self.predict(X)), sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = self._sees_products_only
        return tags
