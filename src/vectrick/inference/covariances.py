"""Posterior covariances between many edges and a few of them; the full matrix is never formed."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.data import Edges, Graph
from vectrick.inference.fitted_kernel import KernelColumns
from vectrick.models.edge_kernel import EdgeKernel
from vectrick.operators import kron

_NOTHING = 1e-3  # explained share of variance up to which a direction is left out


class Columns(ABC):
    """Columns of the covariance matrix of edges, computed on demand."""

    def __init__(self, kernel: EdgeKernel, edges: Edges) -> None:
        self.graph = Graph.of(edges)
        sides = (kernel.start, edges.start_table, self.graph.used_start), (
            kernel.end, edges.end_table, self.graph.used_end,
        )  # fmt: skip
        self._prior = [KernelColumns(*side) for side in sides]

    def prior(self, rows: Array) -> Array:
        """Return the prior covariances with the edges of the given rows, one column per row."""
        graph = self.graph
        start, end = self._prior[0].block(graph.start[rows]), self._prior[1].block(graph.end[rows])
        return start[graph.start] * end[graph.end]

    @abstractmethod
    def block(self, rows: Array) -> Array:
        """Return the posterior covariances with the edges of some rows, a column for each."""


class DenseColumns(Columns):
    """Covariances from the halves ``L⁻¹ C`` of a decomposed kernel matrix, plus the part of an intercept."""

    def __init__(self, kernel: EdgeKernel, edges: Edges, halves: Array, rest: Array | None) -> None:
        super().__init__(kernel, edges)
        self._halves, self._rest = halves, rest

    def block(self, rows: Array) -> Array:
        """Return the posterior covariances with the edges of some rows, a column for each."""
        block = self.prior(rows) - self._halves.T @ self._halves[:, rows]
        result: Array = block if self._rest is None else block + self._rest[:, None] * self._rest[rows]
        return result


class DegreeColumns(Columns):
    """Covariances by the degree model: the prior covariances minus ``(z - m)ᵀ S (zₛ - m)`` with ``S = I - α M⁻¹``.

    S is small except in the few directions that the training edges determine.
    """

    def __init__(self, found: Any, edges: Edges) -> None:
        super().__init__(found.kernel, edges)
        graph, start, end = found.features_of(edges)
        alpha, shape = found.trained.alpha, (end.shape[1], start.shape[1])
        known = 1.0 - alpha * found.diagonal.reshape(shape)
        kept = known.max(1) > _NOTHING, known.max(0) > _NOTHING
        self._known = known[np.ix_(*kept)]
        self._start, self._end = start[:, kept[1]], end[:, kept[0]]
        self._mean: Any = 0.0
        self._beside: list[tuple[Array, float]] = []  # rank-one parts that an intercept adds
        self._of_mean, self._constant = np.zeros(len(edges)), 0.0
        if found.mean is None:
            return
        self._mean = found.mean.reshape(shape)[np.ix_(*kept)]
        operator = kron(end, start, n_threads=found.trained.n_threads, once=True)[(graph.end, graph.start), :]
        self._of_mean = operator @ found.mean
        self._constant = float(found.mean @ found.mean) + alpha / found.total
        if found.inverse.mean is not None:
            moved = operator @ found.inverse.mean - float(found.mean @ found.inverse.mean)
            self._beside.append((moved, alpha * found.inverse.scale))

    def block(self, rows: Array) -> Array:
        """Return the covariances by the degree model with the edges of the given rows, one column per row."""
        graph = self.graph
        first, second = self._start[graph.start[rows]], self._end[graph.end[rows]]
        w = self._known * (second[:, :, None] * first[:, None, :] - self._mean)
        block = self.prior(rows) - self._of_mean[:, None] - self._of_mean[rows] + self._constant
        for place, one in enumerate(w):
            left = self._start @ one.T
            values = np.einsum("ij,ij->i", left[graph.start], self._end[graph.end])
            block[:, place] -= values - float(np.sum(self._mean * one))
        for values, size in self._beside:
            block += size * values[:, None] * values[rows]
        return block
