"""Passes over all pairs of some vertices, as products of dense matrices: fast if many of the pairs have edges."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vectrick._typing import Array
from vectrick.backends import backend_of
from vectrick.losses import Pointwise
from vectrick.passes.engine import Engine
from vectrick.passes.tasks import Partial, Task
from vectrick.passes.vectors import VectorPasses, total_of


@dataclass
class Grid:
    """Edges as matrices over pairs of vertices; a pair may have several edges.

    Rows are end vertices, so cores need no transposition.

    Attributes
    ----------
    weight : array
        The sum of the weights of the edges of each pair.
    labels : array
        The weighted sum of their labels.
    of_class : sequence of (float, array)
        For losses of classes, each label and the weights of the edges that have it.
    """

    weight: Array
    labels: Array
    of_class: Sequence[tuple[float, Array]] = ()
    curvatures: tuple[Array, float, Array] | None = None

    def label_sums(self, positive: float | None) -> tuple[Array, float]:
        """Return the sums of the labels of each pair, and NaN because no solver needs the sum of squares."""
        return self.labels, float("nan")

    def derivatives(self, p: Array, loss: type[Pointwise], positive: float | None) -> tuple[float, Array, Array]:
        """Return the loss of predictions, and its first and second derivatives, summed for each pair."""
        of = loss(p[:1, 0])  # only the backend of the array matters
        value, slopes, curvatures = 0.0, p * 0, p * 0
        for label, h in self.of_class:
            y: Any = label
            value += total_of(h * of.values(p, y))
            slopes += h * of.slopes(p, y)
            curvatures += h * of.curvatures(p, y)
        return value, slopes, curvatures


class GridPasses(VectorPasses):
    """Passes over a grid, with the features R of the rows and C of the columns."""

    def __init__(self, R: Array, C: Array) -> None:
        self.R, self.C = R, C

    def predicted(self, edges: Grid, W: Array) -> Array:
        """Return the predictions of a core for all pairs."""
        R, C = self.R, self.C
        return (R @ W) @ C.T if R.shape[1] * C.shape[0] <= C.shape[1] * R.shape[0] else R @ (W @ C.T)

    def lifted(self, edges: Grid, values: Array) -> Array:
        """Return the core ``Rᵀ V C``."""
        return (self.R.T @ values) @ self.C


class GridEngine(Engine):
    """Passes over a grid."""

    def __init__(self, grid: Grid) -> None:
        super().__init__(False, (grid.weight.shape[0], grid.weight.shape[1]), backend_of(grid.weight))
        self.grid = grid

    def set_features(self, start: Array, end: Array) -> None:
        """Set the features."""
        self._passes = GridPasses(end, start)

    def answers(self, task: Task) -> Iterator[Any]:
        """Run a task on the grid."""
        yield task.run(self._passes, self.grid, 1)  # type: ignore[arg-type] # a grid takes the place of a block

    def total(self, task: Task) -> Partial:
        """Return the sums over the grid, in the dtype of the features."""
        self.n_passes += 1
        return next(self.answers(task))
