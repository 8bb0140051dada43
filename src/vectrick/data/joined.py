"""Edges joined with further edges: shared vertices are matched, unseen vertices are added to the tables."""

import copy
import itertools
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from vectrick._typing import Array, Features
from vectrick.backends.arrays import to_host
from vectrick.data.edges import Edges
from vectrick.data.pairs import Pairs
from vectrick.data.tables import VertexTable


def join_edges(edges: Edges, more: Edges) -> Edges:
    """Return edges followed by more edges; each table begins with the table of the first edges.

    Two vertices are the same if both tables are equal and their positions are the same, if they have the same id in
    tables with ids, or if they have the same features in tables without ids. The same id with different features raises
    an error.
    """
    if edges.is_one_set != more.is_one_set:
        sets = ["one vertex set" if part.is_one_set else "two vertex sets" for part in (edges, more)]
        raise ValueError(f"X has edges of {sets[1]}, but the model was trained on edges of {sets[0]}")
    if edges.is_one_set:
        both = np.concatenate([to_host(more.start), to_host(more.end)])
        table, places = _joined(edges.start_table, more.start_table, both)
        first, second = places[: len(more)], places[len(more) :]
        tables = table, table
    else:
        start, first = _joined(edges.start_table, more.start_table, to_host(more.start))
        end, second = _joined(edges.end_table, more.end_table, to_host(more.end))
        tables = start, end
    both_starts, both_ends = (
        np.concatenate([to_host(old), new]).astype(np.int32) for old, new in ((edges.start, first), (edges.end, second))
    )
    return Edges._of(both_starts, both_ends, *tables)


def _joined(table: VertexTable, more: VertexTable, vertices: Array) -> tuple[VertexTable, Array]:
    """Add the unseen ones of some vertices of another table; return the table, and the position of each vertex."""
    if isinstance(table, Pairs) and isinstance(more, Pairs):
        return _joined_pairs(table, more, vertices)
    if table.is_same(more):
        return table, vertices
    if table.n_features != more.n_features:
        raise ValueError(
            f"{more.name} has {more.n_features} columns, but the model was trained with {table.n_features}"
        )
    if table.has_names != more.has_names:
        has, lacks = ("the model's", "this one") if table.has_names else ("this one", "the model's")
        raise ValueError(
            f"of the two tables {more.name}, {has} has ids and {lacks} has none, so it is unclear which vertices are "
            "the same; give ids to both, or to neither"
        )
    if table.has_names and _is_text(table) != _is_text(more):
        kinds = ["text" if _is_text(one) else "numbers" for one in (more, table)]
        raise ValueError(f"the ids of {more.name} are {kinds[0]}, but the ids of the model are {kinds[1]}")
    used = np.unique(vertices)
    features = _rows(more, used)
    known = _keys(table, np.arange(len(table)), table.has_names)
    row_of = {key: row for row, key in reversed(list(enumerate(known)))}
    found = np.array([row_of.get(key, -1) for key in _keys(more, used, table.has_names)], np.int64)
    if table.has_names:
        _check_same(table, more, used, found, features)
    is_new = found < 0
    found[is_new] = len(table) + np.arange(int(is_new.sum()))
    place = np.zeros(len(more), np.int64)
    place[used] = found
    if not is_new.any():
        return table, place[vertices]
    joined = copy.copy(table)
    joined.origin, joined.words = None, {}
    old = to_host(table.features)
    new = features[is_new]
    if issparse(old):
        joined.features = csr_array(vstack([old, csr_array(new)]))
    else:
        joined.features = np.vstack([old, new.toarray() if issparse(new) else new])
    if table.ids is not None:
        ids = [np.asarray(table.ids), np.asarray(more.ids)[used[is_new]] if more.ids is not None else None]
        joined.ids = np.concatenate([part for part in ids if part is not None]) if table.has_names else None
    return joined, place[vertices]


def _joined_pairs(table: Pairs, more: Pairs, vertices: Array) -> tuple[VertexTable, Array]:
    """Add the unseen ones of some pairs, and their unseen parts; return the table, and the position of each pair."""
    used = np.unique(vertices)
    first, second = more.first[used], more.second[used]
    if table.parts[0] is table.parts[1]:
        part, places = _joined(table.parts[0], more.parts[0], np.concatenate([first, second]))
        parts, rows = (part, part), [places[: len(used)], places[len(used) :]]
    else:
        found = [_joined(mine, other, these) for mine, other, these in
                 zip(table.parts, more.parts, (first, second), strict=True)]  # fmt: skip
        parts, rows = (found[0][0], found[1][0]), [found[0][1], found[1][1]]
    row_of = {pair: row for row, pair in enumerate(zip(table.first.tolist(), table.second.tolist(), strict=True))}
    for pair in zip(rows[0].tolist(), rows[1].tolist(), strict=True):
        row_of.setdefault(pair, len(row_of))
    both = np.array(list(row_of), np.int64).reshape(-1, 2)
    place = np.zeros(len(more), np.int64)
    place[used] = [row_of[pair] for pair in zip(rows[0].tolist(), rows[1].tolist(), strict=True)]
    return Pairs.of_parts(both[:, 0], both[:, 1], parts, table.symmetric), place[vertices]


def _is_text(table: VertexTable) -> bool:
    return np.asarray(table.ids).dtype.kind not in "iuf"


def _rows(table: VertexTable, rows: Array) -> Any:
    features = to_host(table.features)[rows]
    return csr_array(features) if issparse(features) else features


def _keys(table: VertexTable, rows: Array, by_id: bool) -> list[Any]:
    """Return a key for each vertex: its id, or its features."""
    if by_id:
        result: list[Any] = np.asarray(table.ids)[rows].tolist()
        return result
    features = _rows(table, rows)
    if not issparse(features):
        entries = csr_array(np.asarray(features, np.float64))
    else:
        entries = csr_array(features.astype(np.float64), copy=True)
        entries.sum_duplicates()
        entries.eliminate_zeros()
    indices, data = entries.indices.astype(np.int64), entries.data
    bounds = itertools.pairwise(entries.indptr.tolist())
    return [(indices[low:high].tobytes(), data[low:high].tobytes()) for low, high in bounds]


def _check_same(table: VertexTable, more: VertexTable, used: Array, found: Array, features: Features) -> None:
    """Raise an error for vertices whose features differ from the features of the same id in the table."""
    both = found >= 0
    old, new = _rows(table, found[both]), features[both]
    if issparse(old) or issparse(new):
        differ = (csr_array(old) != csr_array(new)).sum(axis=1)
    else:
        differ = (np.asarray(old) != np.asarray(new)).sum(axis=1)
    wrong = np.flatnonzero(np.asarray(differ).ravel())
    if len(wrong):
        name = more.label(int(used[both][wrong[0]]))
        raise ValueError(
            f"{name} of {more.name} has other features than in the model ({len(wrong)} such vertices); give "
            "it another id, or fit again"
        )
