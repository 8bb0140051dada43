"""Edges joined with further edges: vertices that both know are one, others are added to the tables."""

import copy
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from vectrick._typing import Array
from vectrick.backends.arrays import to_host
from vectrick.data.edges import Edges
from vectrick.data.tables import VertexTable


def join_edges(edges: Edges, more: Edges) -> Edges:
    """Return edges followed by more edges, in tables that begin with those of the first.

    A vertex is the same in both if both tables are one object, or if it has the same id in tables with ids, or the same
    features in tables without. Two vertices of one id with different features are refused.
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
    """Return the table with the new ones among some vertices of another table, and where each of them is."""
    if table.is_same(more):
        return table, vertices
    if table.n_features != more.n_features:
        raise ValueError(
            f"{more.name} has {more.n_features} columns, but the model was trained with {table.n_features}"
        )
    if table.has_names != more.has_names:
        has, lacks = ("the model's", "this one") if table.has_names else ("this one", "the model's")
        raise ValueError(
            f"of the two tables {more.name}, {has} has ids and {lacks} has none, so nobody can tell which vertices are "
            "the same; give ids to both, or to neither"
        )
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
    joined.origin = None
    old = to_host(table.features)
    new = features[is_new]
    joined.features = csr_array(vstack([old, new])) if issparse(old) else np.vstack([old, new])
    if table.ids is not None:
        ids = [np.asarray(table.ids), np.asarray(more.ids)[used[is_new]] if more.ids is not None else None]
        joined.ids = np.concatenate([part for part in ids if part is not None]) if table.has_names else None
    return joined, place[vertices]


def _rows(table: VertexTable, rows: Array) -> Any:
    features = to_host(table.features)[rows]
    return csr_array(features) if issparse(features) else features


def _keys(table: VertexTable, rows: Array, by_id: bool) -> list[Any]:
    """Return what tells vertices apart: ids, or features."""
    if by_id:
        return np.asarray(table.ids)[rows].tolist()
    features = _rows(table, rows)
    dense = np.asarray(features.toarray() if issparse(features) else features, np.float64)
    return [row.tobytes() for row in dense + 0.0]  # so that -0.0 becomes 0.0


def _check_same(table: VertexTable, more: VertexTable, used: Array, found: Array, features: Any) -> None:
    """Refuse vertices whose features are not those that the table has for their id."""
    both = found >= 0
    old, new = _rows(table, found[both]), features[both]
    differ = (old != new).sum(axis=1) if issparse(old) else (np.asarray(old) != np.asarray(new)).sum(axis=1)
    wrong = np.flatnonzero(np.asarray(differ).ravel())
    if len(wrong):
        name = more.label(int(used[both][wrong[0]]))
        raise ValueError(
            f"{name} of {more.name} has other features than in the model ({len(wrong)} vertices are like that); give "
            "it another id, or fit again"
        )
