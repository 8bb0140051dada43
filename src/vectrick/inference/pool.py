"""The edges that `suggest` chooses from, block by block, and the limits of a batch."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import norm

from vectrick._typing import Array, SuggestBy
from vectrick.backends import HOST
from vectrick.backends.arrays import to_host
from vectrick.data import Edges, join_edges
from vectrick.inference.posterior import Posterior
from vectrick.inference.uncertainty import on_host
from vectrick.models.edge_kernel import EdgeKernel
from vectrick.training.fitted import Fitted
from vectrick.training.update import source_of

_CANDIDATES = 1 << 20  # pairs of a grid that stay candidates, at most
ACTIVE = 1 << 14  # candidates whose covariances are updated from the beginning
_BLOCK = 1 << 18  # pairs of a grid in one block


class Rule:
    """The gain of edges, exact or as a bound, from their prior and posterior variances and their predictions."""

    def __init__(self, by: SuggestBy, scale: float, best: float, rng: np.random.Generator) -> None:
        self.by, self.scale, self.best, self.rng = by, scale, best, rng

    def gain(self, variance: Array, prior: Array, mean: Array) -> Array:
        """Return the gain of edges; for "diverse" and "improvement", it does not grow if their variances fall."""
        if self.by == "diverse":
            return np.divide(variance, prior, out=np.zeros(len(prior)), where=prior > 0)
        if self.by == "variance":  # any edges of a large pool may be the most informative ones
            return self.rng.random(len(variance))
        std = np.sqrt(self.scale * np.maximum(variance, 0.0))
        if self.by == "thompson":
            drawn: Array = mean + 3.0 * std
            return drawn
        over = mean - self.best
        z = np.divide(over, std, out=np.zeros(len(std)), where=std > 0)
        improved: Array = np.where(std > 0, over * norm.cdf(z) + std * norm.pdf(z), np.maximum(over, 0.0))
        return improved


class Pool:
    """The edges to choose from, in blocks."""

    def __init__(self, model: Fitted, given: Any, kernel: EdgeKernel) -> None:
        self.model, self.edges = model, None
        if given is not None and not isinstance(given, tuple):
            self.edges = on_host(model, given)
            self.n_edges = len(self.edges)
            return
        if given is None:
            self.start, self.end = model.start_table_.on(HOST), model.end_table_.on(HOST)
        else:
            if len(given) != 2:
                raise ValueError(f"X_pool is a tuple of {len(given)}, but it must be two tables, (starts, ends)")
            own = model.predictor_
            self.start, self.end = own.start.table(given[0]).on(HOST), own.end.table(given[1]).on(HOST)
        self.known = self._known(kernel)
        self.n_edges = len(self.start) * len(self.end) - len(self.known)

    def _known(self, kernel: EdgeKernel) -> Array:
        """Return the numbers of the pairs that the model was trained on."""
        edges, _ = source_of(self.model)
        places = []
        for side, table, known, vertices in (
            (kernel.start, self.start, edges.start_table, edges.start),
            (kernel.end, self.end, edges.end_table, edges.end),
        ):
            if table.is_same(known):
                places.append(vertices.astype(np.int64))
                continue
            at = np.full(len(known), -1)
            own = side.places(table, np.arange(len(table)))
            at[np.asarray(to_host(side.used))[own[own >= 0]]] = np.flatnonzero(own >= 0)
            places.append(at[vertices])
        inside = (places[0] >= 0) & (places[1] >= 0)
        pairs: Array = np.unique(places[0][inside] * len(self.end) + places[1][inside])
        if self.model.predictor_.kernel.one_set and self.start.is_same(self.end):  # an edge has no direction
            pairs = np.unique(np.concatenate([pairs, (pairs % len(self.end)) * len(self.end) + pairs // len(self.end)]))
        return pairs

    def _pieces(self) -> Iterator[tuple[Edges, Array | None]]:
        """Yield blocks of edges, with their positions if the pool is a list of edges."""
        if self.edges is not None:
            yield self.edges, np.arange(len(self.edges))
            return
        width = len(self.end)
        height = max(1, _BLOCK // max(1, width))
        for low in range(0, len(self.start), height):
            rows = np.arange(low, min(low + height, len(self.start)))
            pairs = (rows[:, None] * width + np.arange(width)).ravel()
            pairs = pairs[~np.isin(pairs, self.known)]
            edges = Edges._of((pairs // width).astype(np.int32), (pairs % width).astype(np.int32), self.start, self.end)
            yield edges, None

    def candidates(self, found: Posterior, rule: Rule) -> tuple[Edges, Array | None, Array, Array]:
        """Return edges with their rows, variances and predictions; for a large grid, only the most promising ones."""
        kept: list[tuple[Any, ...]] = []
        for edges, rows in self._pieces():
            if len(edges):
                variance, prior = found.variance(edges)[0], found.prior(edges)
                mean = np.asarray(to_host(self.model._decide(edges)), np.float64)
                kept.append((edges, rows, variance, mean, rule.gain(variance, prior, mean)))
            if sum(len(part[0]) for part in kept) > 2 * _CANDIDATES:
                kept = [largest_only(kept)]
        edges, rows, variance, mean, _ = largest_only(kept)
        return edges, rows, variance, mean


def largest_only(kept: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Join the parts, and keep only the most promising edges if there are too many."""
    edges = kept[0][0]
    for part in kept[1:]:
        edges = join_edges(edges, part[0])
    rows = None if kept[0][1] is None else np.concatenate([part[1] for part in kept])
    variance, mean, gain = (np.concatenate([part[i] for part in kept]) for i in (2, 3, 4))
    if len(edges) > _CANDIDATES and rows is None:
        best = np.sort(np.argpartition(-gain, _CANDIDATES)[:_CANDIDATES])
        edges, variance, mean, gain = edges[best], variance[best], mean[best], gain[best]
    return edges, rows, variance, mean, gain


class BatchLimits:
    """The number of edges that each vertex may still have."""

    def __init__(self, edges: Edges, per_start: int | None, per_end: int | None) -> None:
        self._sides = [
            (vertices, np.full(len(table), limit))
            for vertices, table, limit in (
                (edges.start, edges.start_table, per_start),
                (edges.end, edges.end_table, per_end),
            )
            if limit is not None
        ]

    def spread(self, order: Array) -> Array:
        """Reorder edges so that all vertices get their allowed number of edges before any vertex gets more."""
        late = np.zeros(len(order), np.int64)
        for vertices, left in self._sides:
            own = vertices[order]
            sorted_by = np.argsort(own, kind="stable")
            first = np.searchsorted(own[sorted_by], own[sorted_by])
            late[sorted_by] = np.maximum(late[sorted_by], (np.arange(len(own)) - first) // left[own[sorted_by]])
        return order[np.argsort(late, kind="stable")]

    def take(self, i: int) -> list[Array]:
        """Count an edge; return masks of the edges that are no longer allowed."""
        over = []
        for vertices, left in self._sides:
            left[vertices[i]] -= 1
            if left[vertices[i]] == 0:
                over.append(vertices == vertices[i])
        return over
