"""Scores from histograms for more predictions than fit into memory, each with a bound on its error.

Predictions are counted in bins, separately for each label or bin of labels. The order of two edges in different bins is
certain. A pair of edges in one bin counts half, with an error of at most half. So the error of a score is at most half
the share of pairs that lie in one bin.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vectrick._typing import Array

MOST_CELLS = 1 << 22  # of a histogram
MOST_BINS = 1 << 16  # of predictions
COARSE_LABELS, FINE_LABELS, FINE_BINS = 256, 128, 256  # if labels are values


class BoundedScore(float):
    """A score from a histogram; ``bound`` limits its error, and ``n_edges`` is the number of edges.

    >>> score = BoundedScore(0.75, 1e-5, 100)
    >>> score + 0.25, score.bound
    (1.0, 1e-05)
    """

    bound: float
    n_edges: int

    def __new__(cls, value: float, bound: float, n_edges: int) -> "BoundedScore":
        """Make a number with a bound."""
        score = super().__new__(cls, value)
        score.bound, score.n_edges = bound, n_edges
        return score

    def __getnewargs__(self) -> Any:
        return float(self), self.bound, self.n_edges

    def __repr__(self) -> str:
        return f"{float(self):.6g} (± {self.bound:.1e}, {self.n_edges} edges)"


@dataclass(frozen=True)
class Bins:
    """Bins of predictions, and levels of labels.

    If levels are ranges of labels, ``fine`` divides each level further.
    """

    edges: Array
    levels: Array
    fine: Array | None = None
    few: Array | None = None  # some of the edges, for the fine levels

    @classmethod
    def of(cls, predictions: Array, labels: Array, distinct: Array | None) -> "Bins":
        """Return bins with about equal numbers of edges, estimated from a sample of the edges.

        >>> Bins.of(np.arange(100.0), np.arange(100.0) % 2, np.array([0.0, 1.0])).levels
        array([1.])
        """
        if distinct is not None:
            n_bins = min(MOST_BINS, MOST_CELLS // max(1, len(distinct)))
            return cls(_quantiles(predictions, n_bins), distinct[1:])
        n_bins = MOST_CELLS // COARSE_LABELS
        fine = _quantiles(labels, COARSE_LABELS * FINE_LABELS)
        coarse = fine[FINE_LABELS - 1 :: FINE_LABELS]  # so that each fine level lies in one coarse level
        return cls(_quantiles(predictions, n_bins), coarse, fine, _quantiles(predictions, FINE_BINS))

    def count(self, predictions: Array, labels: Array) -> tuple[Array, ...]:
        """Return the histogram of levels and bins; with fine levels, also a histogram of fine levels and few bins."""
        coarse = _counted(self.levels, self.edges, labels, predictions)
        if self.fine is None or self.few is None:
            return (coarse,)
        return coarse, _counted(self.fine, self.few, labels, predictions)

    def concordance(self, counts: tuple[Array, ...]) -> BoundedScore:
        """Return the share of pairs with different labels that predictions put in the right order."""
        coarse = counts[0].astype(np.float64)
        right, tied, comparable = _ordered(coarse)
        unknown = 0.0
        if self.fine is not None:
            level_of = np.searchsorted(self.levels, np.append(self.fine, np.inf), side="left")
            for level in range(len(coarse)):
                own = _ordered(counts[1][level_of == level].astype(np.float64))
                right, tied, comparable = right + own[0], tied + own[1], comparable + own[2]
            sizes = counts[1].sum(1).astype(np.float64)
            unknown = float((sizes * (sizes - 1)).sum() / 2)
        n_edges = int(coarse.sum())
        if not comparable + unknown > 0:
            return BoundedScore(np.nan, 0.0, n_edges)
        value = (right + 0.5 * tied) / comparable if comparable else 0.5
        return BoundedScore(value, (0.5 * tied + unknown) / (comparable + unknown), n_edges)

    def average_precision(self, counts: tuple[Array, ...]) -> BoundedScore:
        """Return the average precision of two classes, from the highest bin to the lowest."""
        other, positive = counts[0][:, ::-1].astype(np.float64)
        n_positive = positive.sum()
        if not n_positive:
            return BoundedScore(np.nan, 0.0, int(counts[0].sum()))
        above, both = np.cumsum(positive) - positive, np.cumsum(positive + other) - positive - other
        share = positive / n_positive
        # In a bin the positive edges may all come first or all come last.
        with np.errstate(invalid="ignore", divide="ignore"):
            best = np.where(positive > 0, (above + positive) / (both + positive), 0.0)
            worst = np.where(positive > 0, (above + 1) / (both + other + 1), 0.0)
            middle = np.where(positive > 0, (above + positive) / (both + positive + other), 0.0)
        bound = max(float(share @ (best - middle)), float(share @ np.maximum(middle - worst, 0.0)))
        return BoundedScore(float(share @ middle), bound, int(counts[0].sum()))


def _quantiles(values: Array, n: int) -> Array:
    """Return the distinct boundaries of n parts of about equal size."""
    values = np.sort(values)
    places = np.arange(1, n) * len(values) // n
    return np.unique(values[places[places < len(values)]])


def _counted(levels: Array, edges: Array, labels: Array, predictions: Array) -> Array:
    """Return the number of edges at each level and in each bin."""
    shape = len(levels) + 1, len(edges) + 1
    cells = np.searchsorted(levels, labels, side="right") * shape[1] + np.searchsorted(edges, predictions, side="right")
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)


def _ordered(counts: Array) -> tuple[float, float, float]:
    """Return the numbers of pairs with different levels: in the right order, in the same bin, and in total."""
    below = np.zeros(counts.shape[1])
    right = tied = comparable = 0.0
    for row in counts:
        right += float(row[1:] @ np.cumsum(below)[:-1])
        tied += float(row @ below)
        comparable += float(row.sum() * below.sum())
        below += row
    return right, tied, comparable
