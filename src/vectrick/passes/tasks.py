"""Tasks that a pass runs on every block: small and picklable, with a few small arrays as result."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from vectrick._typing import Array
from vectrick.backends.arrays import cast
from vectrick.data.lake.blocks import EdgeBlock
from vectrick.losses import Loss, Pointwise, Squared

Partial = tuple[Array, ...]  # arrays that are added up over the blocks


# A function of predictions, labels and weights to values of edges, whose sums of features are wanted, and numbers.
PointwiseSums: TypeAlias = Callable[[list[Array], Array, Array | None], tuple[list[Array], Array]]


class Passes(Protocol):
    """The features of both sides, and what can be computed with them for a block of edges: on a host or on a device."""

    def has_sums(self, loss: type[Loss]) -> bool:
        """Whether `label_sums`, `loss_sums` and `curvature_sums` are available for a loss."""

    def quadratic(self, block: EdgeBlock, W: Array, n_threads: int = 1) -> Array:
        """Return the core ``Σ h p φ ⊗ ψ``."""

    def label_sums(
        self, block: EdgeBlock, positive: float | None, with_mean: bool, n_threads: int = 1
    ) -> tuple[Array, ...]:
        """Return the core ``Σ h y φ ⊗ ψ``, with means also ``Σ h φ ⊗ ψ``, and the sums of h, h y and h y²."""

    def loss_sums(
        self,
        block: EdgeBlock,
        W: Array,
        constant: float,
        loss: type[Pointwise],
        positive: float | None,
        n_threads: int = 1,
    ) -> tuple[Array, Array, Array]:
        """Return the cores of the slopes and of the curvatures, and the sums of loss, slope and curvature."""

    def curvature_sums(
        self,
        block: EdgeBlock,
        W: Array,
        D: Array,
        constant: float,
        loss: type[Pointwise],
        positive: float | None,
        n_threads: int = 1,
    ) -> Array:
        """Return the core ``Σ h d φ ⊗ ψ`` of the predictions d of another core."""

    def pointwise(
        self, block: EdgeBlock, cores: Sequence[Array], use: PointwiseSums, n_cores: int, n_threads: int = 1
    ) -> tuple[Sequence[Array], Array]:
        """Return cores of values that ``use`` computes from predictions, and the sums of its numbers."""

    def predictions(self, block: EdgeBlock, W: Array, n_threads: int = 1) -> Array:
        """Return the predictions of the edges, in the order of the block."""

    def predictions_at(self, block: EdgeBlock, W: Array, places: Array, n_threads: int = 1) -> Array:
        """Return the predictions of some edges, given by their places in the block, ascending."""

    def row_sums(self, block: EdgeBlock, n_threads: int = 1) -> Array:
        """Return the sums of the columns' features over the edges of each row."""

    def column_sums(self, block: EdgeBlock) -> Array:
        """Return the sums of the rows' features over the edges of each column."""


class Task(Protocol):
    """A task for a block."""

    @property
    def name(self) -> str:
        """The name that Dask's dashboard shows."""

    def run(self, passes: Passes, block: EdgeBlock, n_threads: int) -> Any:
        """Return the result, computed with the features of ``passes``."""


@dataclass(frozen=True)
class Coding:
    """The coding of labels for the loss: unchanged, or -1 and +1 for one class against the others."""

    positive: float | None = None

    def __call__(self, label: Array) -> Array:
        """Return the labels as doubles."""
        if self.positive is None:
            return cast(label, np.float64)
        return 2.0 * cast(label == self.positive, np.float64) - 1.0


@dataclass(frozen=True)
class LabelSums:
    """``Φᵀ h y`` and, if there is an intercept, ``Φᵀ h``; with the sums of h, h y and h y²."""

    coding: Coding
    with_mean: bool
    name: str = "sum-labels"

    def run(self, passes: Passes, block: EdgeBlock, n_threads: int) -> Partial:
        """Return the sums of a block."""
        if passes.has_sums(Squared):
            compiled: Partial = passes.label_sums(block, self.coding.positive, self.with_mean, n_threads)
            return compiled

        def use(_: list[Array], label: Array, weight: Array | None) -> tuple[list[Array], Array]:
            y = self.coding(label)
            h = y * 0 + 1.0 if weight is None else cast(weight, np.float64)
            values = [h * y, h] if self.with_mean else [h * y]
            return values, np.array([float(h.sum()), float(h @ y), float(h @ (y * y))])

        cores, numbers = passes.pointwise(block, [], use, 2 if self.with_mean else 1, n_threads)
        return (*cores, numbers)


@dataclass(frozen=True)
class NormalProduct:
    """``Φᵀ H Φ w`` with the weights of the edges as H."""

    core: Array
    name: str = "pass"

    def run(self, passes: Passes, block: EdgeBlock, n_threads: int) -> Partial:
        """Return the product of a block."""
        return (passes.quadratic(block, self.core, n_threads),)


@dataclass(frozen=True)
class LossGradient:
    """The loss at a function, its gradient ``Φᵀ L'``, and ``Φᵀ h`` with the curvatures h; with the sums of L' and h."""

    core: Array
    intercept: float
    loss: type[Pointwise]
    coding: Coding
    name: str = "gradient"

    def run(self, passes: Passes, block: EdgeBlock, n_threads: int) -> Partial:
        """Return the sums of a block."""
        if passes.has_sums(self.loss):
            sums: Partial = passes.loss_sums(
                block, self.core, self.intercept, self.loss, self.coding.positive, n_threads
            )
            return sums

        def use(predicted: list[Array], label: Array, weight: Array | None) -> tuple[list[Array], Array]:
            p, y = cast(predicted[0], np.float64) + self.intercept, self.coding(label)
            loss = self.loss(y[:1])  # only the backend of the array matters
            parts = [cast(part(p, y), np.float64) for part in (loss.values, loss.slopes, loss.curvatures)]
            if weight is not None:
                parts = [part * weight for part in parts]
            return parts[1:], np.array([float(part.sum()) for part in parts])

        cores, numbers = passes.pointwise(block, [self.core], use, 2, n_threads)
        return (*cores, numbers)


@dataclass(frozen=True)
class CurvatureProduct:
    """``Φᵀ H Φ d`` with the curvatures H of the loss at a function."""

    core: Array
    direction: Array
    intercept: float
    loss: type[Pointwise]
    coding: Coding
    name: str = "curvature"

    def run(self, passes: Passes, block: EdgeBlock, n_threads: int) -> Partial:
        """Return the product of a block."""
        if passes.has_sums(self.loss):
            cores = self.core, self.direction
            return (passes.curvature_sums(block, *cores, self.intercept, self.loss, self.coding.positive, n_threads),)

        def use(predicted: list[Array], label: Array, weight: Array | None) -> tuple[list[Array], Array]:
            p, y = cast(predicted[0], np.float64) + self.intercept, self.coding(label)
            h = cast(self.loss(y[:1]).curvatures(p, y), np.float64)
            values = h * predicted[1] if weight is None else h * predicted[1] * weight
            return [values], np.zeros(1)

        return (passes.pointwise(block, [self.core, self.direction], use, 1, n_threads)[0][0],)


@dataclass(frozen=True)
class VertexSums:
    """The sums of the weights h at each vertex of both sides, and with labels the sums of h y and h y²."""

    shape: tuple[int, int]
    with_labels: bool = False
    name: str = "sum-vertices"

    def run(self, passes: Passes, block: EdgeBlock, n_threads: int) -> Partial:
        """Return the sums of a block, each for its rows and for its columns."""
        rows, cols = block.positions()
        h = np.ones(len(block)) if block.weight is None else block.weight.astype(np.float64)
        values = [h]
        if self.with_labels:
            assert block.label is not None
            values += [h * block.label, h * block.label.astype(np.float64) ** 2]
        return tuple(
            np.bincount(vertices, value, size)
            for value in values
            for vertices, size in ((rows, self.shape[0]), (cols, self.shape[1]))
        )


@dataclass(frozen=True)
class RowSums:
    """The weighted sum of the features of its columns, for each row."""

    name: str = "sum-features"

    def run(self, passes: Passes, block: EdgeBlock, n_threads: int) -> tuple[int, Array]:
        """Return the first row with edges, and the sums from there on."""
        return block.rows[0], passes.row_sums(block, n_threads)


@dataclass(frozen=True)
class ColumnSums:
    """The weighted sum of the features of its rows, for each column."""

    name: str = "sum-features"

    def run(self, passes: Passes, block: EdgeBlock, n_threads: int) -> tuple[int, Array]:
        """Return zero, and the sums of all columns."""
        return 0, passes.column_sums(block)


def add_up(partials: Iterable[Partial]) -> Partial:
    """Return the sums of the results of blocks, added in their order."""
    total: list[Array] | None = None
    for partial in partials:
        arrays = [cast(array, np.float64) for array in partial]
        if total is None:
            total = [array + 0.0 for array in arrays]
        else:
            total = [whole + array for whole, array in zip(total, arrays, strict=True)]
    assert total is not None
    return tuple(total)
