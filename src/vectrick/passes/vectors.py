"""Passes with vectors as long as the edges, on any backend: every task consists of two kinds of products."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from vectrick._typing import Array
from vectrick.backends.arrays import namespace
from vectrick.losses import Loss, Pointwise

if TYPE_CHECKING:
    from vectrick.data.lake.blocks import EdgeBlock


class VectorEdges(Protocol):
    """Edges with a vector of predictions, or pairs of vertices with a matrix of predictions."""

    weight: Array | None  # None if all are one
    curvatures: tuple[Array, float, Array] | None  # a core, an intercept, and the second derivatives there

    def label_sums(self, positive: float | None) -> tuple[Array, float]:
        """Return h y for each edge, and the sum of h y²."""

    def derivatives(self, p: Array, loss: type[Pointwise], positive: float | None) -> tuple[float, Array, Array]:
        """Return the loss of predictions, and its first and second derivatives by the prediction of each edge."""


class VectorPasses(ABC):
    """The passes of `HostPasses`, from predictions for all edges, and sums of features with values of all edges.

    The second derivatives at the last function are kept, because a Newton system needs them in each iteration.
    """

    def edges_of(self, block: "EdgeBlock") -> Any:
        """Return the edges of a block on the device that computes."""
        return block

    @abstractmethod
    def predicted(self, edges: Any, W: Array) -> Array:
        """Return the predictions of a core."""

    @abstractmethod
    def lifted(self, edges: Any, values: Array) -> Array:
        """Return the core ``Σ v φ ⊗ ψ``."""

    def has_sums(self, loss: type[Loss]) -> bool:
        """Return True: every loss is computed for all edges together."""
        return True

    def quadratic(self, block: "EdgeBlock", W: Array, n_threads: int = 1) -> Array:
        """Return the core ``Σ h p φ ⊗ ψ``."""
        edges: VectorEdges = self.edges_of(block)
        p = self.predicted(edges, W)
        return self.lifted(edges, p if edges.weight is None else edges.weight * p)

    def label_sums(
        self, block: "EdgeBlock", positive: float | None, with_mean: bool, n_threads: int = 1
    ) -> tuple[Array, ...]:
        """Return the core ``Σ h y φ ⊗ ψ``, with means also ``Σ h φ ⊗ ψ``, and the sums of h, h y and h y²."""
        edges: VectorEdges = self.edges_of(block)
        hy, square = edges.label_sums(positive)
        cores, sums = [self.lifted(edges, hy)], [float(len(hy)), total_of(hy), square]
        if edges.weight is not None:
            sums[0] = total_of(edges.weight)
        if with_mean:
            cores.append(self.lifted(edges, hy * 0 + 1.0 if edges.weight is None else edges.weight))
        return *cores, np.array(sums)

    def loss_sums(
        self,
        block: "EdgeBlock",
        W: Array,
        constant: float,
        loss: type[Pointwise],
        positive: float | None,
        n_threads: int = 1,
    ) -> tuple[Array, Array, Array]:
        """Return the cores ``Σ L' φ ⊗ ψ`` and ``Σ L'' φ ⊗ ψ``, and the sums of the loss and its derivatives."""
        edges: VectorEdges = self.edges_of(block)
        p = self.predicted(edges, W)
        p += constant
        value, slopes, curvatures = edges.derivatives(p, loss, positive)
        edges.curvatures = W, constant, curvatures
        numbers = np.array([value, total_of(slopes), total_of(curvatures)])
        return self.lifted(edges, slopes), self.lifted(edges, curvatures), numbers

    def curvature_sums(
        self,
        block: "EdgeBlock",
        W: Array,
        D: Array,
        constant: float,
        loss: type[Pointwise],
        positive: float | None,
        n_threads: int = 1,
    ) -> Array:
        """Return the core ``Σ L'' d φ ⊗ ψ`` with the predictions d of a direction D."""
        edges: VectorEdges = self.edges_of(block)
        kept = edges.curvatures
        if kept is None or kept[1] != constant or not bool((kept[0] == W).all()):
            self.loss_sums(block, W, constant, loss, positive)
            edges = self.edges_of(block)
            kept = edges.curvatures
        assert kept is not None
        return self.lifted(edges, kept[2] * self.predicted(edges, D))


def total_of(values: Array) -> float:
    """Return the sum of all values, in float64."""
    xp = namespace(values)
    return float(xp.sum(values, dtype=xp.float64))
