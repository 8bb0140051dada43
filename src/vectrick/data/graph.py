"""The training graph: edges between numbered training vertices, and their places among the user's edges."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.backends import Backend, backend_of
from vectrick.backends.arrays import arange, like, namespace, pieces, placed, true_places, zeros
from vectrick.data.edges import Edges


@dataclass(frozen=True)
class TrainedEdges:
    """The training edges among the user's edges, and their order."""

    n_edges: int
    places: Any = None  # the user's numbers of the training edges, ascending; None for all of them
    order: Any = None  # the order of the training edges among these; None for their own order

    def only(self, mask: Array) -> "TrainedEdges":
        """Return the edges in a mask over the user's edges; all edges must be kept so far."""
        return self if bool(mask.all()) else TrainedEdges(self.n_edges, true_places(mask))

    def in_user_order(self, x: Any) -> Any:
        """Return values of the training edges in the user's order."""
        if x is None or self.order is None:
            return x
        out = namespace(x).empty_like(x)
        out[like(self.order, x)] = x
        return out

    def in_training_order(self, x: Any) -> Any:
        """Return values, given in the user's order, in the order of the training edges."""
        return x if self.order is None else x[like(self.order, x)]

    def spread(self, x: Any) -> Any:
        """Return a value for each of the user's edges; zero for edges that were left out."""
        x = self.in_user_order(x)
        if self.places is None:
            return x
        out = zeros(self.n_edges, x)
        out[like(self.places, x)] = x
        return out

    def named(self, mask: Array) -> Any:
        """Return the user's numbers of the training edges in a mask, in ascending order."""
        places = true_places(self.in_user_order(mask))
        return places if self.places is None else like(self.places, places)[places]


@dataclass(frozen=True)
class Graph:
    """Training edges between numbered training vertices: positions in ``used_start`` and ``used_end``."""

    start: Array
    end: Array
    used_start: Array
    used_end: Array

    @classmethod
    def of(cls, edges: Edges, one_set: bool = False) -> "Graph":
        """Number the vertices that occur; with ``one_set``, number the vertices of both ends together."""
        if one_set:
            both = namespace(edges.start).concatenate([edges.start, edges.end])
            used, places = _number(both, len(edges.start_table))
            return cls(places[: len(edges)], places[len(edges) :], used, used)
        used_start, start = _number(edges.start, len(edges.start_table))
        used_end, end = _number(edges.end, len(edges.end_table))
        return cls(start, end, used_start, used_end)

    @property
    def pair(self) -> tuple[Array, Array]:
        """The edges as indices of ``G ⊗ K``."""
        return self.end, self.start

    @property
    def is_complete(self) -> bool:
        """Whether every pair of vertices is an edge exactly once."""
        m, q = len(self.used_start), len(self.used_end)
        if len(self.start) != m * q:
            return False
        seen = zeros((m, q), self.start, bool)
        seen[self.start, self.end] = True
        return bool(seen.all())

    def on(self, backend: Backend) -> "Graph":
        """Return the same graph on another backend."""
        arrays = (self.start, self.end, self.used_start, self.used_end)
        return Graph(*(placed(array, backend) for array in arrays))


def _number(vertices: Array, size: int) -> tuple[Array, Array]:
    """Return the vertices that occur, and the place of every given vertex among them; O(n + size)."""
    backend = backend_of(vertices)
    occurs = zeros(size, vertices, bool)
    for piece in pieces(vertices):  # some devices convert indices to longer integers
        occurs[vertices[piece]] = True
    used = backend.asarray(true_places(occurs), np.int32)
    if len(used) == size:
        return used, backend.read_only(vertices)
    place = zeros(size, vertices, np.int32)
    place[used] = arange(len(used), vertices)
    return used, backend.read_only(place[vertices])  # operators do not copy a read-only array
