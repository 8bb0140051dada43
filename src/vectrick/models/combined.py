"""A weighted sum of predictors of the same vertices, such as the mean of several models."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.backends import Backend
from vectrick.data import Edges, VertexTable
from vectrick.models.predictor import Predictor


class CombinedPredictor(Predictor):
    """The function ``Σ weights[i] fᵢ`` of predictors fᵢ that share their vertex tables."""

    def __init__(self, parts: Sequence[Predictor], weights: Sequence[float]) -> None:
        super().__init__(parts[0].kernel, parts[0].n_threads)
        self.parts, self.weights = tuple(parts), tuple(float(weight) for weight in weights)

    @property
    def coefficients(self) -> Array:
        """The weights of the predictors."""
        return np.array(self.weights)

    @property
    def width(self) -> int:
        """The largest number of functions of a vertex that a predictor has."""
        return max(part.width for part in self.parts)

    def _moved(self, backend: Backend) -> "CombinedPredictor":
        return CombinedPredictor([part.on(backend) for part in self.parts], self.weights)

    def operator(self, edges: Edges) -> Any:
        """Refuse: the predictors have coefficients of their own."""
        raise NotImplementedError("a weighted sum of predictors has no single operator")

    def predict(self, edges: Edges) -> Array:
        """Return the predictions for edges."""
        each = zip(self.parts, self.weights, strict=True)
        total: Any = sum(weight * part.predict(edges) for part, weight in each)
        return total

    def predict_all(self, edges: Edges, coefficients: Array) -> Array:
        """Refuse, as `operator` does."""
        raise NotImplementedError("a weighted sum of predictors has no single vector of coefficients")

    def grid(self, start: VertexTable, end: VertexTable) -> Array:
        """Return the predictions for all pairs, one predictor after the other: each may have a symmetry."""
        out = self.weights[0] * self.parts[0].grid(start, end)
        for part, weight in zip(self.parts[1:], self.weights[1:], strict=True):
            out += weight * part.grid(start, end)
        return out

    def blocks(
        self, start: VertexTable, end: VertexTable, width: int | None = None
    ) -> Iterator[tuple[slice, slice, Array]]:
        """Yield the grid of predictions block by block; all predictors have the same blocks."""
        width = self.width if width is None else width
        for blocks in zip(*(part.blocks(start, end, width) for part in self.parts), strict=True):
            rows, cols, _ = blocks[0]
            yield rows, cols, sum(w * block for w, (_, _, block) in zip(self.weights, blocks, strict=True))
