"""Solutions on a fold: the library's own fits over the grid of its vertices, with the features of the search."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.backends.arrays import cast, contiguous
from vectrick.estimators import KronLogistic, KronRidge
from vectrick.losses import Logistic, Squared
from vectrick.objectives.degrees import Basis, DegreeSpectrum
from vectrick.objectives.risks import Sides
from vectrick.passes.grid import Grid, GridEngine
from vectrick.passes.tasks import Coding
from vectrick.solvers import Solution
from vectrick.training.pass_fit import PassFit

# Far finer than the differences between candidates.
_RIDGE: dict[str, Any] = {"tol": 1e-3, "max_iter": 40}
_LOGISTIC: dict[str, Any] = {"tol": 1e-2, "max_iter": 12, "inner_iter": 15}


def _turned(matrix: Array) -> Array:
    return contiguous(matrix.T)


@dataclass(frozen=True)
class FoldLabels:
    """The training edges of a fold as matrices of its vertices.

    Attributes
    ----------
    sums, counts : array
        For each pair, the sum of the centered labels of its edges, and the number of its edges.
    mean : float
        The mean of the labels; 0 if there is no intercept.
    has_intercept : bool
        Whether predictions have an intercept.
    kappa : float
        The factor that turns the product of two degrees into the expected number of edges.
    """

    sums: Array
    counts: Array
    mean: float
    has_intercept: bool
    kappa: float

    @cached_property
    def grid(self) -> Grid:
        """The edges for passes, with centered labels."""
        return Grid(_turned(self.counts), _turned(self.sums))

    @cached_property
    def classes(self) -> Grid:
        """The edges with labels -1 and 1."""
        positive = 0.5 * (self.sums + self.counts * (1.0 + self.mean))
        counts, sums, of_positive = map(_turned, (self.counts, 2 * positive - self.counts, positive))
        return Grid(counts, sums, ((1.0, of_positive), (-1.0, counts - of_positive)))

    @cached_property
    def degrees(self) -> tuple[Array, Array]:
        """The numbers of edges of the start and of the end vertices."""
        counts = cast(self.counts, np.float64)
        return counts.sum(1), counts.sum(0)


class FoldFit(PassFit):
    """A candidate on a fold, and its solution for any alpha.

    Parameters
    ----------
    loss : str
        "ridge" or "logistic".
    features : Sides
        The features of the training vertices in which the degree model is diagonal.
    sizes : (array, array)
        The degree model of the start and of the end features.
    labels : FoldLabels
        The edges.
    """

    def __init__(self, loss: str, features: Sides, sizes: tuple[Array, Array], labels: FoldLabels) -> None:
        self.labels, self.sizes = labels, sizes
        self._last: Solution | None = None  # for another alpha
        self.offset = labels.mean if loss == "ridge" else 0.0
        model = KronRidge(**_RIDGE) if loss == "ridge" else KronLogistic(**_LOGISTIC)
        engine = GridEngine(labels.grid if loss == "ridge" else labels.classes)
        kind = Squared if loss == "ridge" else Logistic
        super().__init__(model, engine, features, labels.degrees, kind, Coding(), labels.has_intercept, labels.mean)

    @cached_property
    def spectrum(self) -> DegreeSpectrum:
        """The degree model; it is already diagonal."""
        bases = [Basis(np.empty((0, len(sizes))), sizes) for sizes in self.sizes]
        return DegreeSpectrum.in_bases(bases[0], bases[1], self.features, self.degrees, self.labels.kappa)

    def solved(self, alpha: float) -> tuple[Array, float]:
        """Return the coefficients, a row for each start feature, and the intercept."""
        solution = self._last = self.solve(alpha, start=self._last)
        return self.features.core(solution.x, rows_are_start=True), solution.intercept + self.offset
