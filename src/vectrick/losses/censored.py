"""The squared loss of labels that may be bounds."""

from typing import Any

from vectrick._typing import Array
from vectrick.losses.base import Pointwise


class Censored(Pointwise):
    """``½ Σ (pᵢ - yᵢ)²``, without edges whose prediction satisfies the bound that is their label.

    Value, gradient and curvature take O(n) for n edges.

    Parameters
    ----------
    y : array
        Labels.
    sample_weight : array, optional
        A weight for each edge.
    bounds : array, optional
        1 if the label is a lower bound of the true value, -1 if it is an upper bound, 0 if it is the true value.

    Examples
    --------
    >>> import numpy as np
    >>> loss = Censored(np.array([5.0, 5.0]), bounds=np.array([-1, 0]))  # "< 5" and "= 5"
    >>> loss.gradient(np.array([4.0, 4.0])), loss.gradient(np.array([6.0, 6.0]))
    (array([ 0., -1.]), array([1., 1.]))
    """

    name = "censored"
    may_be_flat = True
    takes_bounds = True

    def __init__(self, y: Array, sample_weight: Array | None = None, bounds: Array | None = None) -> None:
        super().__init__(y, sample_weight)
        self.bounds = self.xp.zeros_like(y) if bounds is None else bounds

    def part(self, piece: slice) -> Any:
        """Return the labels and the bounds of some edges."""
        return self.y[piece], self.bounds[piece]

    def values(self, p: Array, y: Array) -> Array:
        """Return half the squared errors."""
        return 0.5 * self.slopes(p, y) ** 2

    def slopes(self, p: Array, y: Array) -> Array:
        """Return the errors; zero if a bound is satisfied."""
        errors = p - (y[0] if isinstance(y, tuple) else y)
        return self.xp.where(self._counts(errors, y), errors, self.xp.zeros_like(errors))

    def curvatures(self, p: Array, y: Array) -> Array:
        """Return ones, or zero if a bound is satisfied, as a mask."""
        return self._counts(p - (y[0] if isinstance(y, tuple) else y), y)

    def _counts(self, errors: Array, y: Array) -> Array:
        """Return a mask of the edges that count; an edge with a bound counts only if the bound is violated."""
        if not isinstance(y, tuple):  # plain labels
            result: Array = errors == errors
            return result
        return (y[1] == 0) | (errors * y[1] < 0)
