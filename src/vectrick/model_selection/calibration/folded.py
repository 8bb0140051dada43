"""The base of `Calibrated` and `ConformalKron`: a model, and copies that are trained without parts of the data."""

from abc import abstractmethod
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from vectrick._progress import Progress
from vectrick._typing import Array, ArrayLike, New, RandomState
from vectrick.backends import HOST
from vectrick.backends.arrays import to_host, unmasked
from vectrick.data import Edges, EdgesLike
from vectrick.estimators import FitParameters, FittedModel, as_edges, as_weights, save_model
from vectrick.model_selection.splitting.folds import Fold, check_new, rarer_class
from vectrick.model_selection.splitting.pairs import Pairs
from vectrick.model_selection.splitting.splitters import VertexKFold

LEAST_VERTICES = 5  # fewest held-out vertices of a new side that can represent others


@dataclass(frozen=True)
class HeldOutFold:
    """A model that was trained without a part of the data, and the edges of that part."""

    model: Any
    test: Array  # positions


class FoldedModel(FitParameters, BaseEstimator):
    """A model that is trained on all edges, and on folds that hold out edges as in the setting ``new``."""

    model: Any
    new: New
    n_folds: int
    random_state: Any
    model_: Any
    _known_edges = None  # the models have them
    _source = None

    @property
    def n_start_features(self) -> int | None:
        """The number of columns of a plain array that belong to the start vertex."""
        number: int | None = self.model.n_start_features
        return number

    @property
    def predictor_(self) -> Any:
        """The predictor of the model that was trained on all edges."""
        return self.model_.predictor_

    def fit(self, X: EdgesLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train the model on all edges and on the folds; weights count in training, not in the calibration."""
        before = dict(self.__dict__)
        try:
            self._check()
            self._fit(X, y, sample_weight)
            self._remember_parameters()
        except BaseException:  # after any error, the previous fit stays intact
            self.__dict__ = before
            raise
        return self

    @abstractmethod
    def _fit(self, X: EdgesLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        """Check, train and calibrate."""

    def _check(self) -> None:
        """Raise an error for invalid parameters."""
        if not isinstance(self.model, FittedModel):
            raise TypeError(f"model is {self.model!r}, but it must be an estimator of vectrick, such as vt.KronRidge()")
        check_new(self.new)
        if isinstance(self.n_folds, bool) or not isinstance(self.n_folds, Integral) or self.n_folds < 2:
            raise ValueError(f"n_folds is {self.n_folds!r}, but it must be an integer of at least 2")

    def _given(self, X: EdgesLike, y: ArrayLike) -> tuple[Edges, Array]:
        """Return the edges and their labels."""
        edges = as_edges(self, X, reset=True).on(HOST)  # folds are made there; models move the edges to their device
        labels = np.asarray(unmasked(to_host(y), "y"))
        labels = labels.reshape(-1) if labels.ndim == 2 and labels.shape[1] == 1 else labels
        if labels.shape != (len(edges),):
            raise ValueError(f"y has shape {labels.shape}, but X has {len(edges)} edges that need one label each")
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            at = int(np.flatnonzero(~np.isfinite(labels))[0])
            raise ValueError(f"y[{at}] is {labels[at]}, but labels must be finite")
        if is_classifier(self.model):
            check_classification_targets(labels)
        return edges, labels

    def _check_classes(self, y: Array, folds: list[Fold]) -> None:
        """Raise an error if the training edges of a fold lack a class."""
        for fold in folds:
            missing = np.setdiff1d(y, y[fold.train])
            if len(missing):
                raise ValueError(
                    f"{fold.name} has no training edge of class {missing.tolist()[0]!r}: its edges have few "
                    f"vertices; use another setting than new={self.new!r}, or another n_folds or random_state"
                )

    def _train(self, edges: Edges, y: Array, sample_weight: ArrayLike | None, folds: list[Fold]) -> list[HeldOutFold]:
        """Train the model on all edges, and on the training edges of each fold."""
        weight = as_weights(None if sample_weight is None else to_host(sample_weight), len(edges))
        progress = Progress(type(self).__name__, len(folds) + 1, getattr(self.model, "verbose", 0))

        def trained(rows: Any) -> Any:
            part = None if weight is None else weight[rows]
            model = clone(self.model).fit(edges[rows], y[rows], part)
            progress.step()
            return model

        if is_classifier(self.model):
            self._check_classes(y, folds)
        held = [HeldOutFold(trained(fold.train), fold.test) for fold in folds]
        if held and hasattr(held[0].model, "classes_"):  # a search has its classes only now
            self._check_classes(y, folds)
        self.model_ = trained(np.arange(len(edges)))
        if hasattr(self.model_, "classes_"):
            self.classes_ = self.model_.classes_
        return held

    def predict(self, X: EdgesLike) -> Array:
        """Return the predictions of the model that was trained on all edges."""
        check_is_fitted(self, "model_")
        predictions: Array = self.model_.predict(self._edges(X))
        return predictions

    def score(self, X: EdgesLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the score of the model that was trained on all edges."""
        check_is_fitted(self, "model_")
        return float(self.model_.score(self._edges(X), y, sample_weight))

    def novelty(self, X: EdgesLike, *, parts: bool = False) -> Any:
        """Return how new edges are to the model that was trained on all edges; see `FittedModel.novelty`."""
        check_is_fitted(self, "model_")
        return self.model_.novelty(self._edges(X), parts=parts)

    def _edges(self, X: EdgesLike) -> Edges:
        """Return edges as the models take them."""
        return as_edges(self._as_fitted(), X, reset=False).on(HOST)

    def save(self, path: Path | str, *, about: dict[str, Any] | None = None) -> None:
        """Write the model to one file that `vectrick.load` reads; see `FittedModel.save`."""
        check_is_fitted(self, "model_")
        save_model(self._as_fitted(), path, about)

    @property
    def _file_parts(self) -> list[Any]:
        """The models that a file holds."""
        return [self.model_]

    @classmethod
    def _file_parameters(cls, parts: list[Any]) -> dict[str, Any]:
        """Return the parameters that follow from the models of a file."""
        return {"model": clone(parts[0])}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        own = self.model.__sklearn_tags__() if hasattr(self.model, "__sklearn_tags__") else tags
        tags.estimator_type, tags.classifier_tags, tags.regressor_tags = (
            own.estimator_type, own.classifier_tags, own.regressor_tags,
        )  # fmt: skip
        tags.target_tags.required = True
        return tags


def calibration_folds(X: Edges, y: Array, new: New, n_folds: int, random_state: RandomState) -> list[Fold]:
    """Return folds that hold out every vertex of a new side once, so that no edge is tested twice.

    With both vertices new, fold i holds out part i of the start and part i of the end vertices. Each fold trains
    on most edges, so that its model is nearly as good as the model that is trained on all edges.
    """
    n_end = 1 if new == "neither" else n_folds
    pairs, named = Pairs.of(X), VertexKFold(n_folds, n_end, new)
    for side, vertices in (("start", pairs.start), ("end", pairs.end)):
        held = np.concatenate([pairs.start, pairs.end]) if pairs.one_set else vertices
        n_vertices = len(np.unique(held))
        if new in ("both", side) and n_vertices < LEAST_VERTICES:
            raise ValueError(
                f"new is {new!r}, but X has only {n_vertices} {side} vertices to hold out, and at least "
                f"{LEAST_VERTICES} are needed; use another setting, or more data"
            )
        if new in ("both", side) and n_folds > n_vertices:
            raise ValueError(f"n_folds is {n_folds}, but X has only {n_vertices} {side} vertices to divide")
    if new == "neither":
        named.n_start = min(n_folds, int(pairs.distinct().max()) + 1)
    named._check(pairs)
    positive = rarer_class(y) if len(np.unique(y)) == 2 else None
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    folds = named._divide(pairs, np.random.default_rng(seed), positive, "")
    if new == "both" and not pairs.one_set:
        folds = folds[:: n_folds + 1]
    folds = [fold for fold in folds if len(fold.test) and len(fold.train)]
    if not folds:
        raise ValueError(f"new is {new!r}, but no fold of X has edges to train on and edges to test; use more data")
    return folds
