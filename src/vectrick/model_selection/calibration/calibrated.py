"""Probabilities of classes for edges of new vertices, calibrated on the decision values of held-out edges."""

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, is_regressor
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from vectrick._typing import Array, ArrayLike, New, RandomState
from vectrick.backends.arrays import to_host, unmasked
from vectrick.data import EdgesLike
from vectrick.model_selection.calibration.errors import decisions_of
from vectrick.model_selection.calibration.folded import FoldedModel, calibration_folds
from vectrick.persistence.checks import numbers, of_kind

_METHODS = ("sigmoid", "isotonic")
_LEAST_SLOPE = 1e-3  # of probabilities if predictions are useless on the folds


class Calibrated(FoldedModel):
    """A classifier with calibrated probabilities, learned on folds that hold out vertices as in ``new``.

    The model is trained on all edges. The map from its decision values to probabilities is learned from the decision
    values of the held-out edges of folds. scikit-learn's ``CalibratedClassifierCV(model, cv=vt.VertexKFold(...))``
    works on `Edges` as well; with ``ensemble=False`` it needs folds that test every edge once.

    It takes one fit for each fold, one fit to all edges, and O(n log n) for the calibration.

    Parameters
    ----------
    model : estimator
        A `KronSVM`, `KronLogistic` or `AutoKron`.
    new : str
        Which vertices are new at prediction: "both", "start", "end" or "neither".
    method : str
        "sigmoid": the log-odds are linear in the decision value (Platt 1999). "isotonic": they increase with it; this
        needs some thousand edges.
    n_folds : int
        The number of folds.
    random_state : int, optional
        The seed of the folds.

    Attributes
    ----------
    model_ : estimator
        The model that was trained on all edges.
    classes_ : array
        The classes.
    n_calibration_ : int
        The number of held-out edges.

    Examples
    --------
    >>> import vectrick as vt
    >>> X, y = vt.datasets.make_checkerboard(100, density=0.5, random_state=0)
    >>> model = vt.KronSVM(vt.Gaussian(gamma=1.0), vt.Gaussian(gamma=1.0))
    >>> calibrated = vt.Calibrated(model, new="neither", random_state=0).fit(X, y)
    >>> calibrated.predict_proba(X[:3]).shape
    (3, 2)
    """

    def __init__(
        self,
        model: BaseEstimator,
        *,
        new: New = "both",
        method: str = "sigmoid",
        n_folds: int = 5,
        random_state: RandomState = None,
    ) -> None:
        self.model = model
        self.new = new
        self.method = method
        self.n_folds = n_folds
        self.random_state = random_state

    def _fit(self, X: EdgesLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        if self.method not in _METHODS:
            raise ValueError(f"method is {self.method!r}, but it must be one of {', '.join(map(repr, _METHODS))}")
        if is_regressor(self.model):
            raise ValueError(self._why_classes())
        edges, labels = self._given(X, y)
        folds = calibration_folds(edges, labels, self.new, self.n_folds, self.random_state)
        tested = labels[np.concatenate([fold.test for fold in folds])]
        classes = np.unique(labels)
        missing = np.setdiff1d(classes, np.unique(tested))
        if len(missing):
            raise ValueError(
                f"the folds hold out no edge of class {missing.tolist()[0]!r}; use fewer folds or another setting"
            )
        self.__dict__.pop("classes_", None)
        held = self._train(edges, labels, sample_weight, folds)
        if not hasattr(self, "classes_"):
            raise ValueError(self._why_classes())
        decisions = np.concatenate([decisions_of(part.model, edges[part.test]) for part in held])
        truth = np.concatenate([labels[part.test] for part in held])
        self.n_calibration_ = len(truth)
        columns = decisions[:, None] if decisions.ndim == 1 else decisions
        positive = self.classes_[1:] if decisions.ndim == 1 else self.classes_
        self.calibrators_ = [self._learned(column, truth == label)
                             for column, label in zip(columns.T, positive, strict=True)]  # fmt: skip

    def _why_classes(self) -> str:
        return (
            f"model is {self.model!r} and its labels are values, but probabilities are for classes; use a "
            "classifier, such as vt.KronSVM, or vt.ConformalKron for intervals"
        )

    def _learned(self, decisions: Array, positive: Array) -> dict[str, list[float]]:
        """Return the numbers that define the map from decision values to probabilities."""
        if self.method == "sigmoid":
            return {"line": list(log_odds(decisions, positive))}
        found = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(decisions, positive)
        return {"x": found.X_thresholds_.tolist(), "y": found.y_thresholds_.tolist()}

    def predict_proba(self, X: EdgesLike) -> Array:
        """Return the probabilities of the classes, a column for each."""
        check_is_fitted(self, "model_")
        decisions = decisions_of(self.model_, self._edges(X))
        columns = decisions[:, None] if decisions.ndim == 1 else decisions
        chances = np.stack([_chance(c, each) for c, each in zip(columns.T, self.calibrators_, strict=True)], axis=1)
        if decisions.ndim == 1:
            return np.hstack([1.0 - chances, chances])
        total = chances.sum(axis=1, keepdims=True)
        result: Array = np.divide(chances, total, out=np.full(chances.shape, 1.0 / chances.shape[1]), where=total > 0)
        return result

    def predict(self, X: EdgesLike) -> Array:
        """Return the most likely class of each edge."""
        chances = self.predict_proba(X)
        return np.asarray(self.classes_[chances.argmax(axis=1)])

    def score(self, X: EdgesLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of edges whose class is predicted correctly."""
        weight = unmasked(sample_weight, "sample_weight")
        return float(accuracy_score(unmasked(to_host(y), "y"), self.predict(X), sample_weight=weight))

    def _file_state(self) -> dict[str, Any]:
        """Return the fitted state except the model."""
        return {"calibrators": self.calibrators_, "n_calibration": self.n_calibration_}

    def _restore(self, state: dict[str, Any], parts: list[Any]) -> None:
        """Set the fitted attributes from a file."""
        self.model_, self.n_calibration_ = parts[0], of_kind(int, state["n_calibration"])
        stored = of_kind(list, state["calibrators"])
        self.calibrators_ = [
            {of_kind(str, name): list(numbers(values)) for name, values in of_kind(dict, each).items()}
            for each in stored
        ]
        wanted = 1 if len(self.classes_) == 2 else len(self.classes_)
        keys = {"line"} if self.method == "sigmoid" else {"x", "y"}
        if len(self.calibrators_) != wanted or any(set(each) != keys for each in self.calibrators_):
            raise ValueError("the calibration of the probabilities is damaged")


def _chance(decisions: Array, learned: dict[str, list[float]]) -> Array:
    if "line" in learned:
        slope, constant = learned["line"]
        chance: Array = expit(slope * decisions + constant)
        return chance
    return np.interp(decisions, learned["x"], learned["y"])


def log_odds(scores: Array, positive: Array, weight: Array | None = None) -> tuple[float, float]:
    """Return the slope and the intercept of the log-odds of the positive class as a function of scores.

    >>> import numpy as np
    >>> slope, constant = log_odds(np.array([-1.0, 1.0] * 50), np.array([False, True] * 45 + [True, False] * 5))
    >>> round(slope, 2), abs(round(constant, 2))
    (2.2, 0.0)
    """
    model = LogisticRegression(C=1e6, max_iter=1000).fit(scores[:, None], positive, weight)
    slope, constant = float(model.coef_[0, 0]), float(model.intercept_[0])
    if slope < _LEAST_SLOPE:  # keeps the order of predictions; probabilities are near the share of the class
        share = float(np.average(positive, weights=weight))
        return _LEAST_SLOPE, float(np.log(share / (1 - share)))
    return slope, constant
