"""Passes over all pairs of some vertices, as products of dense matrices: fast if a good part of them has edges."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.losses import Loss, Pointwise
from vectrick.passes.engine import Engine
from vectrick.passes.tasks import Partial, Task


@dataclass(frozen=True)
class Grid:
    """Edges as matrices of their pairs of vertices; a pair may have several.

    Rows are end vertices, so that cores are coefficients as they are.

    Attributes
    ----------
    weight : array
        The sum of the weights of the edges of each pair.
    labels : array
        The weighted sum of their labels.
    classes : tuple of (float, array)
        For losses of classes, each label and the weights of the edges that have it.
    """

    weight: Array
    labels: Array
    classes: tuple[tuple[float, Array], ...] = ()


class GridPasses:
    """The passes of `HostPasses` over a grid, with the features R of the rows and C of the columns.

    The derivatives at the last function are kept: a Newton system asks for them in each of its iterations.
    """

    def __init__(self, R: Array, C: Array) -> None:
        self.R, self.C = R, C
        self._curvatures: tuple[Array, float, Array] | None = None  # a core, a constant, and the second derivatives

    @staticmethod
    def knows(loss: type[Loss]) -> bool:
        """Say yes: every loss is computed for the whole grid."""
        return True

    def _predicted(self, W: Array) -> Array:
        R, C = self.R, self.C
        return (R @ W) @ C.T if R.shape[1] * C.shape[0] <= C.shape[1] * R.shape[0] else R @ (W @ C.T)

    def _core(self, grid: Array) -> Array:
        return (self.R.T @ grid) @ self.C

    def quadratic(self, grid: Grid, W: Array, n_threads: int = 1) -> Array:
        """Return the core ``Σ h p φ ⊗ ψ`` over the edges."""
        return self._core(grid.weight * self._predicted(W))

    def label_sums(self, grid: Grid, positive: float | None, with_mean: bool, n_threads: int = 1) -> tuple[Array, ...]:
        """Return the core ``Σ h y φ ⊗ ψ``, with means also ``Σ h φ ⊗ ψ``, and the sums of h and h y."""
        cores = [self._core(grid.labels)] + ([self._core(grid.weight)] if with_mean else [])
        return *cores, np.array([_sum(grid.weight), _sum(grid.labels), np.nan])  # the last one no solver needs

    def loss_sums(
        self, grid: Grid, W: Array, constant: float, loss: type[Pointwise], positive: float | None, n_threads: int = 1
    ) -> tuple[Array, Array, Array]:
        """Return the cores ``Σ L' φ ⊗ ψ`` and ``Σ L'' φ ⊗ ψ``, and the sums of the loss and its derivatives."""
        p = self._predicted(W) + grid.weight.dtype.type(constant)
        of, value, slopes, curvatures = loss(p[:1, 0]), 0.0, np.zeros_like(p), np.zeros_like(p)
        for label, h in grid.classes:
            y = p.dtype.type(label)
            value += _sum(h * of.values(p, y))
            slopes += h * of.slopes(p, y)
            curvatures += h * of.curvatures(p, y)
        self._curvatures = W, constant, curvatures
        numbers = np.array([value, _sum(slopes), _sum(curvatures)])
        return self._core(slopes), self._core(curvatures), numbers

    def curvature_sums(
        self, grid: Grid, W: Array, D: Array, constant: float, loss: type[Pointwise], positive: float | None,
        n_threads: int = 1,
    ) -> Array:  # fmt: skip
        """Return the core ``Σ L'' d φ ⊗ ψ`` with the predictions d of a direction D."""
        kept = self._curvatures
        if kept is None or kept[1] != constant or not np.array_equal(kept[0], W):
            self.loss_sums(grid, W, constant, loss, positive)
            kept = self._curvatures
        assert kept is not None
        return self._core(kept[2] * self._predicted(D))


def _sum(values: Array) -> float:
    return float(values.sum(dtype=np.float64))


class GridEngine(Engine):
    """Passes over a grid."""

    def __init__(self, grid: Grid) -> None:
        super().__init__(False, grid.weight.shape)
        self.grid = grid

    def set_features(self, start: Array, end: Array) -> None:
        """Keep the features."""
        self._passes = GridPasses(end, start)

    def answers(self, task: Task) -> Iterator[Any]:
        """Run a task on the grid."""
        yield self.total(task)

    def total(self, task: Task) -> Partial:
        """Return the sums over the grid."""
        self.n_passes += 1
        answer: Partial = task.run(self._passes, self.grid, 1)
        return answer
