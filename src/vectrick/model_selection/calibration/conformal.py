"""Intervals and sets of labels for new edges, calibrated on folds of the same setting."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from vectrick._typing import Array, ArrayLike, New, RandomState
from vectrick._warnings import warn
from vectrick.data import DataWarning, Edges, EdgesLike
from vectrick.data.censored import refuse_bounds
from vectrick.estimators import KronRanker, label_scale
from vectrick.model_selection.calibration.errors import (
    Centre,
    Errors,
    check_coverage,
    decisions_of,
    errors_of,
    interval,
    news_of,
    sets,
)
from vectrick.model_selection.calibration.folded import FoldedModel, HeldOutFold, calibration_folds
from vectrick.model_selection.splitting.folds import Fold
from vectrick.persistence.checks import of_kind

_METHODS = ("full", "cv+")


class ConformalKron(FoldedModel):
    """Conformal intervals for values, or sets of classes, for edges of new vertices.

    The model is trained on all edges, and on folds that hold out vertices (or edges) according to ``new``. The errors
    on the held-out edges of each fold, relative to the standard deviations of the fold's model, determine the width of
    the intervals. With ``method="full"``, intervals are around the prediction of the model that was trained on all
    edges. With "cv+" (Barber and others, 2021), they combine the predictions of the models of all folds, and are wider.

    One property is guaranteed: with "cv+" and exchangeable edges, intervals contain at least a share
    ``1 - 2 (1 - coverage)`` of the labels, for any model. Other properties are only measured: the share is near
    ``coverage``, also for "full" and for graphs, although edges that share a vertex are not exchangeable. The guide on
    trust reports the coverage on three data sets in four settings. The coverage is an average over edges, not for each
    vertex; sets of classes have their coverage within each class.

    It takes one fit for each fold, one fit to all edges, and O(n log n) for the quantiles.

    Parameters
    ----------
    model : estimator
        A `KronRidge`, or any other estimator of vectrick. Errors are relative to standard deviations (`is_scaled_`) if
        the model has them: ridge regression, and ensembles of it, with a product of kernels.
    new : str
        Which vertices are new at prediction: "both", "start", "end" or "neither".
    coverage : float
        The share of the labels that should be in their intervals.
    method : str
        "full" or "cv+"; see above. With "full" the models of the folds are not kept.
    scaled : bool
        Whether intervals are wider if the standard deviation is larger; else all are about equally wide.
    n_folds : int
        The number of folds.
    random_state : int, optional
        The seed of the folds.

    Attributes
    ----------
    model_ : estimator
        The model that was trained on all edges; it makes the predictions.
    n_calibration_ : int
        The number of held-out edges.
    is_scaled_ : bool
        Whether errors are relative to standard deviations.
    classes_ : array
        The classes, if labels are classes.

    Examples
    --------
    >>> import vectrick as vt
    >>> X, y = vt.datasets.make_checkerboard(80, random_state=0)
    >>> y = y + 0.1 * X.start
    >>> model = vt.KronRidge(vt.Gaussian(gamma=0.01) + vt.Constant(), vt.Gaussian(gamma=0.01) + vt.Constant())
    >>> conformal = vt.ConformalKron(model, new="both", coverage=0.9, random_state=0).fit(X, y)
    >>> lower, upper = conformal.predict_interval(X[:100])
    >>> bool((lower < upper).all())
    True
    """

    def __init__(
        self,
        model: BaseEstimator,
        *,
        new: New = "both",
        coverage: float = 0.9,
        method: str = "full",
        scaled: bool = True,
        n_folds: int = 5,
        random_state: RandomState = None,
    ) -> None:
        self.model = model
        self.new = new
        self.coverage = coverage
        self.method = method
        self.scaled = scaled
        self.n_folds = n_folds
        self.random_state = random_state

    def _fit(self, X: EdgesLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        check_coverage(self.coverage)
        if self.method not in _METHODS:
            raise ValueError(f"method is {self.method!r}, but it must be one of {', '.join(map(repr, _METHODS))}")
        if isinstance(self.model, KronRanker):
            raise ValueError(
                "model is a KronRanker, but its scores rank edges and do not predict labels; use vt.KronRidge for "
                "intervals, or a classifier for sets"
            )
        refuse_bounds(y, "ConformalKron")
        edges, labels = self._given(X, y)
        folds = calibration_folds(edges, labels, self.new, self.n_folds, self.random_state)
        self._check_enough(labels, folds, is_classifier(self.model))
        self.__dict__.pop("classes_", None)
        held = self._train(edges, labels, sample_weight, folds)
        self._check_enough(labels, folds, hasattr(self, "classes_"))  # a search has its classes only now
        self._calibrate(edges, labels, held)

    def _check_enough(self, y: Array, folds: list[Fold], is_classifier: bool) -> None:
        """Raise an error if held-out edges are too few, for each class if labels are classes."""
        tested = y[np.concatenate([fold.test for fold in folds])]
        counts = {f" of class {label!r}": int((tested == label).sum()) for label in np.unique(y).tolist()}
        least = self.coverage / (1.0 - self.coverage)
        for of_what, n in counts.items() if is_classifier else (("", len(tested)),):
            if n < least - 1e-9:
                raise ValueError(
                    f"coverage is {self.coverage} and needs at least {int(np.ceil(least - 1e-9))} edges{of_what} to "
                    f"calibrate on, but the folds hold out {n}; use a lower coverage, or more data"
                )

    def _calibrate(self, edges: Edges, y: Array, held: list[HeldOutFold]) -> None:
        classes = getattr(self, "classes_", None)
        wanted = bool(self.scaled) and classes is None
        scales = [label_scale(part.model, edges[part.test]) if wanted else None for part in held]
        self.is_scaled_ = all(scale is not None for scale in scales)
        tests = [part.test for part in held]
        decisions = [decisions_of(part.model, edges[part.test]) for part in held]
        self.models_ = [part.model for part in held]
        if self.method == "full":
            self.models_, tests, decisions = [self.model_], [np.concatenate(tests)], [np.concatenate(decisions)]
            scales = [np.concatenate([scale for scale in scales if scale is not None]) if self.is_scaled_ else None]
        self.errors_ = [
            errors_of(y[rows], some, scale if self.is_scaled_ else None, classes)
            for rows, some, scale in zip(tests, decisions, scales, strict=True)
        ]
        self.n_calibration_ = sum(len(rows) for rows in tests)

    def predict_interval(self, X: EdgesLike, coverage: float | None = None) -> tuple[Array, Array]:
        """Return the lower and the upper bounds of intervals for the labels of edges.

        Parameters
        ----------
        X : Edges or array
            The edges.
        coverage : float, optional
            The coverage, by default the estimator's; a change needs no further training.
        """
        coverage = self._coverage(coverage)
        if hasattr(self, "classes_"):
            raise ValueError("the labels are classes, but intervals are for values; use predict_set")
        edges = self._asked(X)
        centres = []
        for model, (errors,) in zip(self.models_, self.errors_, strict=True):
            scale = label_scale(model, edges) if self.is_scaled_ else None
            centres.append(Centre(decisions_of(model, edges), np.ones(len(edges)) if scale is None else scale, errors))
        return interval(centres, coverage)

    def predict_set(self, X: EdgesLike, coverage: float | None = None) -> Array:
        """Return a mask of the possible classes: a row for each edge, a column for each of ``classes_``.

        A set may have several classes. It is empty if the edge is unlike the held-out edges of every class.
        """
        coverage = self._coverage(coverage)
        if not hasattr(self, "classes_"):
            raise ValueError("the labels are values, but sets are for classes; use predict_interval")
        edges = self._asked(X)
        parts = [(decisions_of(model, edges), errors) for model, errors in zip(self.models_, self.errors_, strict=True)]
        return sets(parts, coverage)

    def _coverage(self, coverage: float | None) -> float:
        check_is_fitted(self, "model_")
        wanted = check_coverage(self.coverage if coverage is None else coverage)
        n_fewest = min(sum(errors[column].n for errors in self.errors_) for column in range(len(self.errors_[0])))
        if n_fewest < wanted / (1.0 - wanted) - 1e-9:
            raise ValueError(
                f"coverage is {wanted} and needs at least {int(np.ceil(wanted / (1.0 - wanted) - 1e-9))} edges to "
                f"calibrate on, but there were {n_fewest}"
            )
        return wanted

    def _asked(self, X: EdgesLike) -> Edges:
        """Return edges; warn if they have new vertices on a side without new vertices in the calibration."""
        edges: Edges = self.model_.predictor_.aligned(self._edges(X))
        news = news_of(self.model_, edges)
        known_sides = [side for side in ("start", "end") if self.new not in ("both", side)]
        newer = np.isin(news, [*known_sides, "both"] if known_sides else [])
        if newer.any():
            warn(
                f"{int(newer.sum())} of {len(edges)} edges have new vertices on a side without new vertices in "
                f"calibration (new={self.new!r}), so their intervals or sets are too small; calibrate with new='both'",
                DataWarning,
            )
        return edges

    @property
    def _file_parts(self) -> list[Any]:
        return [self.model_, *(self.models_ if self.method == "cv+" else [])]

    def _file_state(self) -> dict[str, Any]:
        """Return the fitted state except the models."""
        errors = [[each.header() for each in some] for some in self.errors_]
        return {"errors": errors, "is_scaled": self.is_scaled_, "n_calibration": self.n_calibration_}

    def _restore(self, state: dict[str, Any], parts: list[Any]) -> None:
        """Set the fitted attributes from a file."""
        self.model_, self.models_ = parts[0], parts[1:] or parts
        self.errors_ = [[Errors.read(each) for each in of_kind(list, some)] for some in of_kind(list, state["errors"])]
        n_kinds = len(getattr(self, "classes_", [0]))
        if len(self.errors_) != len(self.models_) or any(len(some) != n_kinds for some in self.errors_):
            raise ValueError(f"there are errors of {len(self.errors_)} folds for {len(self.models_)} models")
        self.is_scaled_, self.n_calibration_ = of_kind(bool, state["is_scaled"]), of_kind(int, state["n_calibration"])
