"""The kind of labels (two classes, several classes, values or ranks), and labels as numbers for a search."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from vectrick._typing import Array, ArrayLike, Groups
from vectrick.backends import HOST
from vectrick.backends.arrays import distinct, to_host
from vectrick.data import Edges
from vectrick.data.censored import censored, split_bounds
from vectrick.estimators import SeveralClassesError, as_classes, as_real_labels, labels_on

CLASS_LOSSES = ("logistic", "svm", "hinge")
RANKS: dict[str, Groups] = {"rank": None, "rank-start": "start", "rank-end": "end"}  # and the side of groups
LOSSES = ("auto", "ridge", *CLASS_LOSSES, *RANKS)


@dataclass(frozen=True)
class Labels:
    """Labels as numbers for a search.

    Attributes
    ----------
    y : array
        Numbers; -1 and 1 for classes.
    classes : array, optional
        The two classes.
    within : str, optional
        "start" or "end" if only edges with the same start or end vertex are compared.
    is_rank : bool
        Whether only the order of predictions counts.
    bounds : array, optional
        Which labels are bounds (`vt.censored`); a search treats bounds as values and trains members with the bounds.
    """

    y: Array
    classes: Array | None
    within: str | None = None
    is_rank: bool = False
    bounds: Array | None = None

    @property
    def target(self) -> Array:
        """The training labels of members: numbers, possibly with bounds."""
        return self.y if self.bounds is None else censored(self.y, self.bounds)

    @property
    def has_two(self) -> bool:
        """Whether there are two different labels."""
        return len(np.unique(self.y)) == 2

    def groups(self, X: Edges) -> Array | None:
        """Return the group of each edge, None if all are compared."""
        if self.within is None:
            return None
        return np.asarray(X.start if self.within == "start" else X.end)

    @property
    def usual_score(self) -> str:
        """The score for "auto"."""
        if self.is_rank:
            return "concordance"
        return "auc" if self.has_two else "r2"


def read_labels(y: ArrayLike | None, n_edges: int, loss: str) -> Labels:
    """Return the labels for a loss; "auto" detects whether they are classes.

    Strings, booleans and two different numbers are classes; other numbers are values. More than two classes raise
    `SeveralClassesError`.

    >>> read_labels(["no", "yes", "no"], 3, "auto").y, read_labels([1.0, 2.0, 2.5], 3, "auto").classes
    (array([-1.,  1., -1.]), None)
    """
    y, bounds = split_bounds(None if y is None else to_host(y))
    given = labels_on(y, HOST)
    if bounds is not None:
        if loss not in ("auto", "ridge"):
            raise ValueError(f"y has bounds (vt.censored), but bounds need the loss 'ridge', and loss is {loss!r}")
        return Labels(np.asarray(as_real_labels(given, n_edges), np.float64), None, bounds=bounds)
    if loss in CLASS_LOSSES or (loss == "auto" and _are_classes(as_classes(given, n_edges))):
        labels = as_classes(given, n_edges)
        classes = np.asarray(distinct(labels))
        if len(classes) != 2:
            check_classification_targets(labels)
        if len(classes) < 2:
            raise ValueError(f"y has one class only, {classes.tolist()[0]!r}, but a classifier needs two")
        if len(classes) > 2:
            raise SeveralClassesError(classes)
        return Labels(2.0 * (labels == classes[1]) - 1.0, classes)
    values = np.asarray(as_real_labels(given, n_edges), np.float64)
    if n_edges == 1:
        raise ValueError("X has one edge (1 sample), too few to choose a model")
    if n_edges > 1 and (values == values[0]).all():
        raise ValueError(f"y is constant ({float(values[0])}), so no model can be chosen")
    return Labels(values, None, RANKS.get(loss), loss in RANKS)


def _are_classes(labels: Array) -> bool:
    return labels.dtype.kind not in "iuf" or len(np.unique(labels)) <= 2
