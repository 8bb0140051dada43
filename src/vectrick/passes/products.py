"""Passes by two products, on any backend: with the features of the edges, and with their transpose."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

from vectrick._typing import Array
from vectrick.backends import Backend
from vectrick.backends.arrays import cast, contiguous
from vectrick.losses import Pointwise
from vectrick.operators import Operator
from vectrick.passes.engine import Engine
from vectrick.passes.tasks import Coding, Task
from vectrick.passes.vectors import VectorPasses, total_of


@dataclass(eq=False)
class EdgeProducts:
    """Edges as operators of their features, with labels and weights.

    Attributes
    ----------
    features, transposed : Operator
        The features of the edges (the features of rows first), and their transpose.
    shape : (int, int)
        The numbers of features of rows and columns.
    """

    features: Operator
    transposed: Operator
    shape: tuple[int, int]
    label: Any
    weight: Array | None
    curvatures: tuple[Array, float, Array] | None = None

    def lowered(self) -> "EdgeProducts":
        """Return the same edges with products in float32, by TF32 on a GPU that has it."""
        return replace(self, features=self.features.lowered(), transposed=self.transposed.lowered(), curvatures=None)

    def label_sums(self, positive: float | None) -> tuple[Array, float]:
        """Return h y for each edge, and the sum of h y²."""
        y = Coding(positive)(self.label)
        hy = y if self.weight is None else self.weight * y
        return hy, total_of(hy * y)

    def derivatives(self, p: Array, loss: type[Pointwise], positive: float | None) -> tuple[float, Array, Array]:
        """Return the loss of predictions, and its first and second derivatives."""
        of = loss(Coding(positive)(self.label), self.weight)
        return of.value(p), of.gradient(p), of.curvature(p).h


class ProductPasses(VectorPasses):
    """Passes by products with the features of the edges."""

    def predicted(self, edges: EdgeProducts, W: Array) -> Array:
        """Return the predictions of a core."""
        predictions: Array = edges.features @ cast(contiguous(W), edges.features.dtype).reshape(-1)
        return predictions

    def lifted(self, edges: EdgeProducts, values: Array) -> Array:
        """Return the core ``Σ v φ ⊗ ψ``."""
        core: Array = edges.transposed @ cast(values, edges.features.dtype)
        return core.reshape(edges.shape)


class ProductEngine(Engine):
    """Passes over edges in memory, with existing operators."""

    def __init__(self, edges: EdgeProducts, sizes: tuple[int, int], backend: Backend) -> None:
        super().__init__(False, sizes[::-1], backend)
        self.edges = edges

    def set_features(self, start: Array, end: Array) -> None:
        """Do nothing: the operators contain the features."""

    def lowered(self) -> Self:
        """Return an engine over the same edges with products in float32, by TF32 on a GPU that has it."""
        low = copy.copy(self)
        low.edges = self.edges.lowered()
        return low

    def answers(self, task: Task) -> Iterator[Any]:
        """Run a task on all edges."""
        yield task.run(ProductPasses(), self.edges, 1)  # type: ignore[arg-type] # all edges are one block
