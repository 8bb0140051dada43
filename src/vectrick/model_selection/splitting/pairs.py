"""The vertices of edges as splitters and scorers need them, from `Edges` or from an array of pairs."""

from dataclasses import dataclass

import numpy as np

from vectrick._typing import Array, ArrayLike
from vectrick.backends.arrays import to_host, unmasked
from vectrick.data import Edges, EdgesLike


@dataclass(frozen=True)
class Pairs:
    """The start and end vertex of each edge, as numbers below ``n_start`` and ``n_end``."""

    start: Array
    end: Array
    n_start: int
    n_end: int
    one_set: bool

    def __len__(self) -> int:
        return len(self.start)

    def distinct(self) -> Array:
        """Return the number of each edge's pair of vertices; pairs are numbered by first occurrence.

        Copies of an edge have the same number. With one vertex set, an edge and its reverse do as well.

        >>> Pairs.of(np.array([[0, 1], [1, 0], [0, 1]])).distinct().tolist()
        [0, 1, 0]
        """
        first, second = self.start.astype(np.int64), self.end.astype(np.int64)
        if self.one_set:
            first, second = np.minimum(first, second), np.maximum(first, second)
        _, rows, number = np.unique(first * self.n_end + second, return_index=True, return_inverse=True)
        result: Array = np.argsort(np.argsort(rows))[number.ravel()]
        return result

    @classmethod
    def of(cls, X: EdgesLike, groups: ArrayLike | None = None, one_set: bool | None = None) -> "Pairs":
        """Return the vertices of edges, from ``groups`` (an n × 2 array of vertices) or else from X.

        ``one_set`` is whether both ends come from one vertex set. By default, `Edges` determine it; arrays have two.
        """
        if isinstance(X, Edges):
            if one_set is not None and one_set != X.is_one_set:
                said = "one table" if X.is_one_set else "two tables"
                raise ValueError(f"one_set is {one_set}, but X has {said} of vertices")
            one_set = X.is_one_set
            if groups is None:
                return cls(to_host(X.start), to_host(X.end), len(X.start_table), len(X.end_table), one_set)
        name, pairs = ("X", X) if groups is None else ("groups", groups)
        array = np.asarray(unmasked(pairs, name))
        if array.ndim != 2 or array.shape[1] != 2:
            raise ValueError(
                f"{name} has shape {array.shape}, but it must be Edges or an array with two columns, the start and the "
                "end vertex of each edge; for a table of features, pass the pairs as groups"
            )
        if len(array) != np.shape(X)[0]:
            raise ValueError(f"groups has {len(array)} rows, but X has {np.shape(X)[0]} edges")
        if one_set:
            vertices, both = np.unique(array, return_inverse=True)
            start, end = both.reshape(array.shape).T
            return cls(start, end, len(vertices), len(vertices), True)
        (starts, start), (ends, end) = (np.unique(column, return_inverse=True) for column in array.T)
        return cls(start.ravel(), end.ravel(), len(starts), len(ends), False)
