"""The base of the classifiers: labels of any values, and decisions."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from vectrick._typing import Array, ArrayLike
from vectrick.backends.arrays import cast, distinct, like, to_host, unmasked
from vectrick.data import EdgesLike
from vectrick.data.lake.counts import Counts
from vectrick.data.lake.scan import ScannedEdges
from vectrick.data.source import AnyEdges, is_lake
from vectrick.estimators.base import KronEstimator
from vectrick.operators import Plan
from vectrick.streaming.fit import fit_lake_against_rest
from vectrick.streaming.scores import score_lake
from vectrick.training.monitor import FitStep
from vectrick.training.one_vs_rest import SeveralClassesError, fit_against_rest
from vectrick.training.parameters import sees_products_only
from vectrick.training.validate import as_classes


class KronClassifier(ClassifierMixin, KronEstimator):
    """A kernel machine for two classes or more; with two, the second of ``classes_`` is the positive one."""

    def fit(
        self,
        X: AnyEdges,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        validation: tuple[EdgesLike, ArrayLike] | ScannedEdges | None = None,
        callback: Callable[[FitStep], bool | None] | None = None,
        keep_interrupted: bool = False,
        resume: FitStep | None = None,
    ) -> Self:
        """Train on edges X with labels y; with more than two classes, train each against the rest (``machines_``).

        Parameters
        ----------
        X : Edges, ScannedEdges or array
            One row for each edge; see ``n_start_features`` for plain arrays. Edges of a lake (`vt.scan_edges`)
            include their labels and weights.
        y : array
            A label for each edge.
        sample_weight : array, optional
            A weight for each edge.
        validation, callback, keep_interrupted, resume
            As for `KronRidge.fit`.

        Returns
        -------
        self
        """
        watch: dict[str, Any] = {"callback": callback, "keep_interrupted": keep_interrupted, "resume": resume}
        try:
            super().fit(X, y, sample_weight, validation=validation, **watch)
        except SeveralClassesError as several:
            against_rest: Any = fit_lake_against_rest if is_lake(X) else fit_against_rest
            against_rest(self, several.classes, X, y, sample_weight, validation, **watch)
            return self
        self.__dict__.pop("machines_", None)
        return self

    def _plan(self, X: AnyEdges, y: ArrayLike | None, sample_weight: ArrayLike | None) -> Plan:
        try:
            return super()._plan(X, y, sample_weight)
        except SeveralClassesError as several:  # each model is for one class against the rest
            return super()._plan(X, to_host(y) == several.classes[0], sample_weight)

    def machine(self, label: object) -> Any:
        """Return the one-vs-rest model of a class, for example to predict grids and rankings of this class."""
        check_is_fitted(self)
        for name, machine in zip(self.classes_.tolist(), self._place_machines(), strict=False):
            if name == label or str(name) == str(label):
                return self._with_source(machine, name)
        known = ", ".join(map(repr, self.classes_.tolist())) if self._machines else "none, since there are two classes"
        raise ValueError(f"label is {label!r}, but the machines of this model are {known}")

    def _why_one_machine(self) -> str:
        return (
            f"the model has {len(self.classes_)} classes, but grids, rankings and explanations are for one class: use "
            f"model.machine({self.classes_.tolist()[0]!r}), or --class on the command line"
        )

    def _encode(self, y: ArrayLike, n_edges: int) -> Array:
        labels = as_classes(y, n_edges)
        classes = distinct(labels)
        if len(classes) != 2:
            check_classification_targets(to_host(labels))
        if len(classes) < 2:
            raise ValueError(f"y has one class only, {classes.tolist()[0]!r}, but a classifier needs two")
        if len(classes) > 2:
            raise SeveralClassesError(classes)
        self.classes_ = classes
        return self._signs(labels)

    def _check_lake_labels(self, counts: Counts, dtype: np.dtype[Any]) -> None:
        if counts.labels is None:
            raise ValueError("the labels of the lake have more than 100 values, so they are not classes; use KronRidge")
        if len(counts.labels) < 2:
            raise ValueError(f"the labels of the lake are all {counts.low}, but a classifier needs two classes")
        classes = counts.labels.astype(dtype)
        if len(classes) > 2:
            raise SeveralClassesError(classes)
        self.classes_ = classes

    def _encode_validation(self, y: ArrayLike, n_edges: int) -> Array:
        labels = as_classes(y, n_edges)
        classes = distinct(labels)
        unknown = np.setdiff1d(classes, self.classes_)
        if len(unknown):
            raise ValueError(f"validation has the class {unknown.tolist()[0]!r}, but the training labels do not")
        if len(classes) < 2:
            raise ValueError("validation has one class only, but a score needs two")
        return self._signs(labels)

    def _check_labels(self, labels: Array) -> None:
        if len(distinct(labels)) < 2:
            raise ValueError("sample_weight is zero for all edges of one class, but a classifier needs two")

    def _signs(self, labels: Array) -> Array:
        return 2.0 * cast(labels == like(self.classes_[1:2], labels), np.float64) - 1.0

    def _auto_scoring(self, y: Array) -> str:
        return "auc"

    def _lake_scoring(self, counts: Counts) -> str:
        return "auc"

    def decision_function(self, X: AnyEdges) -> Array:
        """Return the real-valued predictions for edges; positive ones mean the second class.

        With more than two classes, there is a column for each class.
        """
        return self._decide(X)

    def predict(self, X: AnyEdges) -> Array:
        """Return the class of each edge."""
        decisions = self._decide(X)
        if self._machines:
            return np.asarray(self.classes_[to_host(decisions).argmax(axis=1)])
        positive = decisions > 0 if self.classes_.dtype.kind in "biuf" else to_host(decisions > 0)  # strings are there
        return like(self.classes_, positive)[cast(positive, np.int64)]

    def score(self, X: AnyEdges, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of edges whose class is predicted correctly."""
        if is_lake(X):
            return score_lake(self, X, "accuracy")
        return float(
            accuracy_score(
                unmasked(to_host(y), "y"),
                to_host(self.predict(X)),
                sample_weight=unmasked(sample_weight, "sample_weight"),
            )
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = sees_products_only(self)
        return tags
