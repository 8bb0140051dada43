"""A weighted sum of predictors of the same vertices, for example an ensemble."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.backends import Backend
from vectrick.data import Edges, VertexTable
from vectrick.kernels.base import computed_once
from vectrick.models.predictor import Predictor
from vectrick.models.product import ProductPredictor, product_blocks, vertices_of


class CombinedPredictor(Predictor):
    """The function ``Σ weights[i] fᵢ`` of predictors fᵢ that share their vertex tables."""

    def __init__(self, parts: Sequence[Predictor], weights: Sequence[float]) -> None:
        super().__init__(parts[0].kernel, parts[0].n_threads)
        self.parts, self.weights = tuple(parts), tuple(float(weight) for weight in weights)
        for part in parts[1:]:  # so that kernel values that several predictors need are computed once
            part.start.share_vertices(parts[0].start)
            part.end.share_vertices(parts[0].end)

    @property
    def coefficients(self) -> Array:
        """The weights of the predictors."""
        return np.array(self.weights)

    @property
    def width(self) -> int:
        """The largest width of the predictors."""
        return max(part.width for part in self.parts)

    def _moved(self, backend: Backend) -> "CombinedPredictor":
        return CombinedPredictor([part.on(backend) for part in self.parts], self.weights)

    def operator(self, edges: Edges) -> Any:
        """Raise an error: each predictor has its own coefficients."""
        raise NotImplementedError("a weighted sum of predictors has no single operator")

    def predict(self, edges: Edges) -> Array:
        """Return the predictions for edges."""
        products = self._products
        if products is None or not len(edges):
            each = [part.predict(edges) for part in self.parts]
        else:
            with computed_once():
                vertices = vertices_of(self, edges)
                each = [part.predict_graph(*vertices) for part in products]
        total: Any = sum(weight * values for weight, values in zip(self.weights, each, strict=True))
        result: Array = total
        return result

    @property
    def _products(self) -> list[ProductPredictor] | None:
        """The predictors if each of them has one Kronecker product as its kernel, else None."""
        products = [part for part in self.parts if isinstance(part, ProductPredictor)]
        return products if len(products) == len(self.parts) else None

    def predict_all(self, edges: Edges, coefficients: Array) -> Array:
        """Raise an error, like `operator`."""
        raise NotImplementedError("a weighted sum of predictors has no single vector of coefficients")

    def grid(self, start: VertexTable, end: VertexTable) -> Array:
        """Return the predictions for all pairs, one predictor after the other, since each may have a symmetry."""
        out = self.weights[0] * self.parts[0].grid(start, end)
        for part, weight in zip(self.parts[1:], self.weights[1:], strict=True):
            out += weight * part.grid(start, end)
        return out

    def blocks(
        self, start: VertexTable, end: VertexTable, width: int | None = None
    ) -> Iterator[tuple[slice, slice, Array]]:
        """Yield the grid of predictions block by block; all predictors have the same blocks."""
        width = self.width if width is None else width
        products = self._products
        if products is not None:
            yield from product_blocks(self, products, self.weights, start, end, width)
            return
        for blocks in zip(*(part.blocks(start, end, width) for part in self.parts), strict=True):
            rows, cols, _ = blocks[0]
            yield rows, cols, sum(w * block for w, (_, _, block) in zip(self.weights, blocks, strict=True))
