"""scikit-learn scorers for fitted models, including scores within vertices and scores of interactions."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from vectrick._typing import Array, ArrayLike
from vectrick.backends.arrays import to_host, unmasked
from vectrick.data import EdgesLike
from vectrick.data.censored import within_bounds
from vectrick.estimators import as_edges
from vectrick.metrics import concordance_index, interaction_concordance
from vectrick.metrics.scores import OF_CLASSES, SCORES
from vectrick.model_selection.splitting.pairs import Pairs

Score = Callable[[Array, Array, Any], float]


def _over_all(name: str) -> Score:
    return lambda y, score, pairs: SCORES[name](y, score, None)


def _within(side: str) -> Score:
    return lambda y, score, pairs: concordance_index(y, score, getattr(pairs, side), average="groups")


# Arguments: labels (positive and negative numbers for two classes), predictions, and the vertices of the edges.
_SCORES: dict[str, Score] = {
    **{name: _over_all(name) for name in SCORES},
    "concordance_per_start": _within("start"),
    "concordance_per_end": _within("end"),
    "interaction_concordance": lambda y, score, pairs: interaction_concordance(y, score, pairs.start, pairs.end),
}
_OF_VERTICES = ("concordance_per_start", "concordance_per_end", "interaction_concordance")


class EdgeScorer:
    """A scorer for edges: ``scorer(estimator, X, y)`` returns a number, and larger is better; see `get_scorer`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, estimator: BaseEstimator, X: EdgesLike, y: ArrayLike) -> float:
        """Return the score of the predictions of a fitted estimator."""
        classes = getattr(estimator, "classes_", None)
        return self.score(y, predictions(estimator, X), self._pairs(estimator, X), classes)

    def score(self, y: ArrayLike, score: Any, pairs: Pairs | None = None, classes: Any = None) -> float:
        """Return the score of predictions; it is NaN if it is not defined, for example with only one class.

        Predictions with a column for each of several ``classes`` get the mean score of the classes, each against the
        rest. A class that is absent from y, or the only class in y, is ignored.
        """
        if np.ndim(score) == 2 and classes is not None:
            values, table = np.asarray(unmasked(y, "y")), np.asarray(score)
            each = [self.score(values == label, table[:, column], pairs) for column, label in enumerate(classes)]
            return float(np.nanmean(each)) if not np.isnan(each).all() else float("nan")
        labels = np.asarray(unmasked(y, "y"))
        if labels.dtype.names is not None:
            labels, score = within_bounds(labels, np.asarray(score))
        values = np.unique(labels)
        if len(values) < 2:
            return float("nan")
        if len(values) == 2:
            labels = np.where(labels == values[1], 1.0, -1.0) if self.name != "r2" else labels
        elif self.name in OF_CLASSES and len(values) > 2:
            raise ValueError(f"scoring is {self.name!r}, which needs two classes, but y has {len(values)} values")
        return float(_SCORES[self.name](labels, np.asarray(score), pairs))

    def _pairs(self, estimator: BaseEstimator, X: EdgesLike) -> Pairs | None:
        if self.name not in _OF_VERTICES:
            return None
        while not hasattr(estimator, "n_start_features") and hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_  # of a grid search
        known = getattr(estimator, "n_start_features", None) is not None and not hasattr(X, "start_table")
        return Pairs.of(as_edges(estimator, X, reset=False) if known else X)

    def __repr__(self) -> str:
        return f"get_scorer({self.name!r})"


def get_scorer(name: str) -> EdgeScorer:
    """Return a scorer by its name, for the argument ``scoring`` of scikit-learn's functions and of `compare`.

    Parameters
    ----------
    name : str
        - "auc", "average_precision": for two classes;
        - "r2": for real-valued labels;
        - "concordance": the share of pairs of edges in the right order (`concordance_index`); the AUC for two classes;
        - "concordance_per_start", "concordance_per_end": the mean of the concordance within each start or end vertex;
          it measures whether the model ranks the targets of a drug, not only the drugs;
        - "interaction_concordance": measures whether the model ranks interactions, not only main effects.

    Examples
    --------
    >>> import vectrick as vt
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = vt.datasets.make_checkerboard(60, density=0.5, random_state=0)
    >>> model, cv = vt.KronSVM("gaussian", "gaussian"), vt.VertexKFold(2, 2, random_state=0)
    >>> cross_val_score(model, X, y, cv=cv, scoring=vt.get_scorer("concordance_per_start")).shape
    (4,)
    """
    if name not in _SCORES:
        raise ValueError(f"scoring is {name!r}, but it must be one of {', '.join(map(repr, _SCORES))}")
    return EdgeScorer(name)


def predictions(estimator: BaseEstimator, X: EdgesLike) -> Array:
    """Return real-valued predictions: decision values, else probabilities of the second class, else predictions."""
    if hasattr(estimator, "decision_function"):
        return np.asarray(to_host(estimator.decision_function(X)))
    if hasattr(estimator, "predict_proba"):
        return np.asarray(to_host(estimator.predict_proba(X)))[:, 1]
    return np.asarray(to_host(estimator.predict(X)))
