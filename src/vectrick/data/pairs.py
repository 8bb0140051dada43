"""Vertices made of vertices: pairs of drugs, a drug at a dose, a user in a context."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack, issparse

from vectrick._typing import Array, ArrayLike, Index, Table
from vectrick.backends import Backend
from vectrick.backends.arrays import namespace, to_host
from vectrick.data.tables import VertexTable


class Pairs(VertexTable):
    """Vertices that are pairs of other vertices, for ``start_features`` or ``end_features`` of `Edges`.

    A kernel of such vertices is the product of the kernels of both parts: ``k((a, b), (c, d)) = k(a, c) k(b, d)``, and
    of pairs without order ``(k(a, c) k(b, d) + k(a, d) k(b, c)) / 2``. Any kernel that is given for the vertices
    becomes such a product (`Parts`): ``vt.Tanimoto() + vt.Constant(0.5) + vt.Identity()`` learns the effects of pairs,
    of single parts, and of known parts beyond their features. Pairs that occur several times become one vertex.

    The cost is memory for the features of both parts of every pair, and O(n) to find the different ones of n pairs.

    Parameters
    ----------
    first, second : array
        The two parts of each pair: ids of the tables, or positions.
    table : frame, array or VertexTable
        The vertices that the parts are, as for `Edges`.
    second_table : frame, array or VertexTable, optional
        The vertices that the second parts are, if these are of another kind, such as doses.
    symmetric : bool, optional
        Whether (a, b) is the same as (b, a); by default yes, if both parts are from one table.

    Attributes
    ----------
    vertices : array
        The vertex of each given pair.
    parts : tuple of VertexTable
        The tables of the first and of the second parts.
    first, second : array
        The positions of the parts of each vertex in these tables.

    Examples
    --------
    >>> import pandas as pd, vectrick as vt
    >>> drugs = pd.DataFrame({"id": ["a", "b", "c"], "x": [0.0, 1.0, 2.0]})
    >>> pairs = vt.Pairs(["a", "b", "b"], ["b", "a", "c"], drugs)
    >>> len(pairs), pairs.ids.tolist(), pairs.vertices.tolist()
    (2, ['a + b', 'b + c'], [0, 0, 1])
    >>> X, y = vt.Edges(pairs.vertices, [0, 1, 1], pairs, [[0.0], [1.0]], positions=True), [1.0, 2.0, 3.0]
    >>> model = vt.KronRidge(vt.Linear() + vt.Constant(), vt.Linear() + vt.Constant()).fit(X, y)
    >>> model.predict(vt.Edges([0], [0], vt.Pairs(["c"], ["a"], drugs), [[1.0]], positions=True)).shape
    (1,)
    """

    parts: tuple[VertexTable, VertexTable]
    symmetric: bool
    first: Array
    second: Array
    vertices: Array

    def __init__(
        self,
        first: ArrayLike,
        second: ArrayLike,
        table: Table,
        second_table: Table = None,
        *,
        symmetric: bool | None = None,
    ) -> None:
        whole = _part(table, "table")
        other = whole if second_table is None else _part(second_table, "second_table")
        if symmetric is not None and not isinstance(symmetric, bool | np.bool_):
            raise ValueError(f"symmetric is {symmetric!r}, but it must be True, False or None")
        if symmetric and other is not whole:
            raise ValueError("symmetric is True, but the parts are from two tables, so their order matters")
        rows = [
            np.asarray(part.positions(given, name, or_rows=True))
            for part, given, name in ((whole, first, "first"), (other, second, "second"))
        ]
        if len(rows[0]) != len(rows[1]):
            raise ValueError(f"first has length {len(rows[0])} and second has {len(rows[1])}, but a pair has both")
        is_symmetric = other is whole if symmetric is None else bool(symmetric)
        same = np.flatnonzero(rows[0] == rows[1])
        if other is whole and len(same):
            raise ValueError(f"first[{same[0]}] and second[{same[0]}] are both {whole.label(int(rows[0][same[0]]))}, "
                             "but a pair has two different parts")  # fmt: skip
        if is_symmetric:  # in an order that does not depend on the table
            names = np.arange(len(whole)) if whole.ids is None else np.asarray(whole.ids).astype(str)
            turned = names[rows[0]] > names[rows[1]]
            rows = [np.where(turned, rows[1], rows[0]), np.where(turned, rows[0], rows[1])]
        keys = rows[0].astype(np.int64) * len(other) + rows[1]
        _, places, number = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(np.argsort(places))  # vertices in the order of the given pairs
        places = np.sort(places)
        made = Pairs.of_parts(rows[0][places], rows[1][places], (whole, other), is_symmetric)
        self.__dict__ |= made.__dict__ | {"vertices": order[number.ravel()]}

    @classmethod
    def of_parts(cls, first: Array, second: Array, parts: tuple[VertexTable, VertexTable], symmetric: bool) -> "Pairs":
        """Return pairs from checked positions of different pairs, such as those of a model file."""
        made = cls.__new__(cls)
        made.name, made.symmetric, made.parts, made.first, made.second = "pairs", symmetric, parts, first, second
        made.columns, made.origin, made.medians, made.id_column = None, None, {}, None
        made.vertices, made.ids = np.arange(len(first)), _names(*parts, first, second)
        made.is_named = parts[0].has_names and parts[1].has_names
        return made

    @property
    def features(self) -> Any:
        """The features of both parts, side by side."""
        if "_features" not in self.__dict__:
            sides = [part.features[rows] for part, rows in zip(self.parts, (self.first, self.second), strict=True)]
            if any(map(issparse, sides)):
                self._features: Any = csr_array(hstack([csr_array(side) for side in sides], "csr"))
            else:
                self._features = namespace(sides[0]).hstack(sides)
        return self._features

    @property
    def widths(self) -> tuple[int, int]:
        """The numbers of columns of both parts."""
        first, second = (int(part.features.shape[1]) for part in self.parts)
        return first, second

    def __len__(self) -> int:
        return len(self.first)

    def with_parts(self, parts: tuple[VertexTable, VertexTable]) -> "Pairs":
        """Return the same pairs with other tables of the same parts."""
        if parts[0] is self.parts[0] and parts[1] is self.parts[1]:
            return self
        changed = copy.copy(self)
        changed.__dict__.pop("_features", None)
        changed.parts = parts
        return changed

    def each_part(self, change: Callable[[VertexTable], VertexTable]) -> "Pairs":
        """Return the same pairs with changed tables of parts; one table stays one."""
        first = change(self.parts[0])
        return self.with_parts((first, first if self.parts[1] is self.parts[0] else change(self.parts[1])))

    def on(self, backend: Backend) -> "Pairs":
        """Return the pairs with the features of their parts as arrays of a backend."""
        return self.each_part(lambda part: part.on(backend))

    def settled(self) -> "Pairs":
        """Return the pairs with the note that all columns of their parts are needed."""
        return self.each_part(lambda part: part.settled())

    def without_numbers(self) -> "Pairs":
        """Return the pairs without the numbers of their parts."""
        return self.each_part(lambda part: part.without_numbers())

    def take(self, rows: Index) -> "Pairs":
        """Return some of the pairs; the new table records its origin."""
        taken, places = copy.copy(self), np.asarray(to_host(rows))
        taken.__dict__.pop("_features", None)
        taken.first, taken.second = self.first[places], self.second[places]
        taken.ids = None if self.ids is None else self.ids[places]
        taken.vertices = np.arange(len(taken.first))
        taken.origin = (self, places) if self.origin is None else (self.origin[0], self.origin[1][places])
        return taken

    def __repr__(self) -> str:
        n_parts = len(np.unique(np.concatenate([self.first, self.second]))) if self.symmetric else None
        of = f" of {n_parts} parts" if n_parts is not None else ""
        return f"<{self.name}: {len(self)} pairs{of}, with ids>"


def _part(table: Table, name: str) -> VertexTable:
    if isinstance(table, Pairs):
        raise TypeError(f"{name} has pairs, but the parts of a pair must be single vertices")
    return table if isinstance(table, VertexTable) else VertexTable(table, name)


def _names(whole: VertexTable, other: VertexTable, first: Array, second: Array) -> Array:
    """Return the ids of pairs, made of the ids or positions of their parts."""
    names: Sequence[Array] = [
        np.arange(len(table)) if table.ids is None else np.asarray(table.ids) for table in (whole, other)
    ]
    both = zip(names[0][first].tolist(), names[1][second].tolist(), strict=True)
    return np.array([f"{a} + {b}" for a, b in both], object)
