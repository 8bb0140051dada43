"""Counts of edges from a pass: their number, the degrees of vertices, and their labels."""

from dataclasses import dataclass

import numpy as np

from vectrick._typing import Array

MOST_LABELS = 100  # different labels that are kept


@dataclass
class Counts:
    """The counts of a lake, or of a partition.

    Attributes
    ----------
    n_edges, n_unknown, n_unlabeled : int
        The number of edges, and of edges that were dropped because a vertex or the label is missing.
    start, end : array
        The number of edges of each vertex.
    labels : array, optional
        The different labels, ascending; None if there are more than 100, or no labels.
    low, high, total : float
        The least and the largest label, and their sum.
    """

    n_edges: int
    n_unknown: int
    n_unlabeled: int
    start: Array
    end: Array
    labels: Array | None = None
    low: float = np.inf
    high: float = -np.inf
    total: float = 0.0

    @classmethod
    def nothing(cls, n_start: int, n_end: int, with_labels: bool = True) -> "Counts":
        """Return the counts of no edges."""
        degrees = np.zeros(n_start, np.int64), np.zeros(n_end, np.int64)
        return cls(0, 0, 0, *degrees, labels=np.empty(0) if with_labels else None)

    def add_edges(self, start: Array, end: Array, labels: Array | None) -> None:
        """Add further edges."""
        self.n_edges += len(start)
        self.start += np.bincount(start, minlength=len(self.start))
        self.end += np.bincount(end, minlength=len(self.end))
        if labels is None or not len(labels):
            return
        self.low, self.high = min(self.low, float(labels.min())), max(self.high, float(labels.max()))
        self.total += float(labels.sum(dtype=np.float64))
        if self.labels is not None:
            self.labels = _distinct_with(self.labels, labels)

    def add(self, other: "Counts") -> None:
        """Add the counts of other edges."""
        self.n_edges += other.n_edges
        self.n_unknown += other.n_unknown
        self.n_unlabeled += other.n_unlabeled
        self.start += other.start
        self.end += other.end
        both = None if self.labels is None or other.labels is None else np.union1d(self.labels, other.labels)
        self.labels = None if both is None or len(both) > MOST_LABELS else both
        self.low, self.high, self.total = min(self.low, other.low), max(self.high, other.high), self.total + other.total


def _distinct_with(known: Array, values: Array) -> Array | None:
    """Return the different labels of both, or None if there are too many."""
    import pandas as pd

    # A sample often shows immediately that labels are values, not classes.
    if len(pd.unique(values[: 10 * MOST_LABELS])) > MOST_LABELS:
        return None
    both = np.union1d(known, pd.unique(values))
    return both if len(both) <= MOST_LABELS else None
