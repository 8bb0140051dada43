"""Methods that train on a sample of the edges, if all edges would take too long."""

from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from vectrick._typing import Array, ArrayLike
from vectrick.backends.arrays import unmasked
from vectrick.data import Edges


class OnSomeEdges(BaseEstimator):
    """A method that trains on at most ``n_edges`` edges, drawn at random, with a share for each class.

    Parameters
    ----------
    method : estimator
        Any estimator that takes Edges.
    n_edges : int
        The largest number of edges to train on.
    random_state : int
        A seed.
    """

    def __init__(self, method: BaseEstimator, n_edges: int, random_state: int = 0) -> None:
        self.method = method
        self.n_edges = n_edges
        self.random_state = random_state

    def fit(self, X: Edges, y: ArrayLike) -> Self:
        """Train on a sample of the edges."""
        labels = np.asarray(unmasked(y, "y"))
        rows = drawn(labels, self.n_edges, np.random.default_rng(self.random_state))
        self.method_ = clone(self.method).fit(X[rows], labels[rows])
        return self

    def decision_function(self, X: Edges) -> Array:
        """Return the real-valued predictions for edges."""
        return np.asarray(self.method_.decision_function(X))

    def predict(self, X: Edges) -> Array:
        """Return the predictions of the method."""
        return np.asarray(self.method_.predict(X))


def drawn(labels: Array, n_edges: int, rng: np.random.Generator) -> Array:
    """Return the sorted positions of at most ``n_edges`` edges; each of two classes gets its share, at least one edge.

    >>> import numpy as np
    >>> drawn(np.array([0, 0, 0, 0, 0, 1]), 3, np.random.default_rng(0)).max()
    np.int64(5)
    """
    if len(labels) <= n_edges:
        return np.arange(len(labels))
    order = rng.permutation(len(labels))
    classes = np.unique(labels)
    if len(classes) > 2:
        return np.sort(order[:n_edges])
    parts = [order[labels[order] == value] for value in classes]
    rare = min(n_edges - 1, max(1, round(n_edges * min(map(len, parts)) / len(labels))))
    sizes = [rare if len(part) == min(map(len, parts)) else n_edges - rare for part in parts]
    return np.sort(np.concatenate([part[:size] for part, size in zip(parts, sizes, strict=True)]))
