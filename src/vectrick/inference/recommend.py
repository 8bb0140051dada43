"""The best end vertices for start vertices, by ids, without known edges."""

import copy
from numbers import Integral
from typing import Any

import narwhals as nw
import numpy as np

from vectrick._typing import Array, ArrayLike, Frame, Table
from vectrick.backends import HOST
from vectrick.backends.arrays import to_host
from vectrick.data import Edges, VertexTable
from vectrick.training.fitted import Fitted


def recommend(
    model: Fitted,
    start: ArrayLike | None,
    positions: ArrayLike | None,
    k: int,
    exclude_known: bool,
    known: ArrayLike | None,
    end_features: Table,
) -> Frame:
    """Return a pandas frame with the best end vertices of each start vertex; see `FittedModel.recommend`."""
    import pandas as pd
    from scipy.special import expit

    if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
        raise ValueError(f"k is {k!r}, but it must be a positive integer")
    if (start is None) == (positions is None):
        raise ValueError("give either start (ids, or a table of vertices) or positions (rows of model.start_table_)")
    starts, asked = _asked(model, start, positions)
    ends = model.end_table_ if end_features is None else model.predictor_.end.table(end_features)
    pairs = _known_pairs(model, starts, ends, known) if exclude_known else np.empty((2, 0), np.int64)
    which, scores = (part[asked] for part in _best(model, starts, ends, min(int(k), len(ends)), pairs))
    rows, ranks = np.nonzero(which >= 0)
    frame = {
        "start": names_of(starts)[asked[rows]],
        "end": names_of(ends)[which[rows, ranks]],
        "rank": ranks + 1,
        "score": scores[rows, ranks],
    }
    if hasattr(model, "predict_proba"):
        frame["probability"] = expit(frame["score"])
    return pd.DataFrame(frame)


def _asked(model: Fitted, start: ArrayLike | None, positions: ArrayLike | None) -> tuple[VertexTable, Array]:
    """Return the requested start vertices, each once, and the position of each request among them.

    Requests are ids or positions of known vertices, or a table of any vertices.
    """
    known: VertexTable = model.start_table_
    if positions is not None:
        single = isinstance(positions, Integral)
        return _some_of(known, known.rows(np.array([positions]) if single else positions, "positions"))
    if isinstance(start, VertexTable) or getattr(start, "ndim", 1) == 2 or _is_frame(start):
        table: VertexTable = model.predictor_.start.table(start)
        return table, np.arange(len(table))
    is_single = isinstance(start, str | Integral)
    vertices: Any = np.array([start], object if isinstance(start, str) else None) if is_single else start
    return _some_of(known, known.positions(vertices, "start"))


def _some_of(known: VertexTable, rows: Array) -> tuple[VertexTable, Array]:
    """Return a table of some rows, each once, and the place of each row in it."""
    distinct, asked = np.unique(np.asarray(to_host(rows)), return_inverse=True)
    return _with_names(known).take(distinct), asked.ravel()


def _with_names(table: VertexTable) -> VertexTable:
    """Return a table whose vertices have ids; without ids, their positions become the ids."""
    if table.ids is not None:
        return table
    named = copy.copy(table)
    named.ids = np.arange(len(table))
    return named


def _is_frame(value: object) -> bool:
    return isinstance(nw.from_native(value, eager_only=True, pass_through=True), nw.DataFrame)


def names_of(table: VertexTable) -> Array:
    """Return the ids of the vertices of a table, or their positions if it has none."""
    return np.arange(len(table)) if table.ids is None else np.asarray(table.ids)


def _known_pairs(model: Fitted, starts: VertexTable, ends: VertexTable, known: ArrayLike | None) -> Array:
    """Return known edges as positions among start and end vertices, in both directions if the kernel has a symmetry."""
    start_table, end_table = model.start_table_, model.end_table_
    if known is None:
        edges = model._known_edges
        if edges is None:
            raise ValueError(
                "exclude_known is True, but the model does not keep the edges that it was trained on (a file keeps "
                "up to a million edges): give them as known=, or use exclude_known=False"
            )
        first, second = (np.asarray(to_host(vertices)) for vertices in edges)
    elif isinstance(known, Edges):
        first, second = (np.asarray(to_host(vertices)) for vertices in (known.start, known.end))
        names = _names_in(known.start_table, start_table), _names_in(known.end_table, end_table)
        if len(known):
            _check_known((names[0][first], names[1][second]), (starts, start_table), (ends, end_table))
        return _pairs_of(model, (first, second), names, starts, ends)
    else:
        import pandas as pd

        ids = _id_columns(known)
        _check_known(ids, (starts, start_table), (ends, end_table))
        (first, start_names), (second, end_names) = (pd.factorize(np.asarray(column)) for column in ids)
        return _pairs_of(model, (first, second), (start_names, end_names), starts, ends)
    return _pairs_of(model, (first, second), (names_of(start_table), names_of(end_table)), starts, ends)


def _names_in(table: VertexTable, known: VertexTable) -> Array:
    """Return the ids of a table to compare with a model's; a table without ids must be the model's own."""
    if table.has_names or not known.has_names:
        return names_of(table)
    if not table.is_same(known):
        raise ValueError(
            f"known has positions in {table.name}, but the vertices of the model have ids (such as "
            f"{names_of(known)[:1].tolist()[0]!r}); give known edges whose tables have ids, or a frame of ids"
        )
    return names_of(known)


def _check_known(ids: tuple[Array, Array], *sides: tuple[VertexTable, VertexTable]) -> None:
    """Raise an error if no id of known edges matches a vertex: ids of another type, or columns in another order."""
    for name, column, tables in zip(("start", "end"), ids, sides, strict=True):
        vertices = {vertex for table in tables for vertex in names_of(table).tolist()}
        if len(column) and not vertices & set(np.asarray(column).tolist()):
            raise ValueError(
                f"known has {column[:1].tolist()[0]!r} and others as ids of {name} vertices, but the model has none of "
                f"them (one of its ids: {names_of(tables[1])[:1].tolist()[0]!r}); name the columns start and end, or "
                "put them first"
            )


def _id_columns(known: ArrayLike | None) -> tuple[Array, Array]:
    """Return the ids of known edges in a frame: its columns "start" and "end", else its first two."""
    frame = nw.from_native(known, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame) or len(frame.columns) < 2:
        raise TypeError(
            f"known is of type {type(known).__name__}, but it must be Edges, or a frame whose first two columns (or "
            "the columns start and end) hold the ids of edges"
        )
    names = ("start", "end") if {"start", "end"} <= set(frame.columns) else frame.columns[:2]
    first, second = (frame.get_column(name).to_numpy() for name in names)
    return first, second


def _pairs_of(
    model: Fitted, edges: tuple[Array, Array], ids: tuple[Array, Array], starts: VertexTable, ends: VertexTable
) -> Array:
    """Return the positions of edges between vertices with these ids; edges of other vertices are left out.

    A vertex is not recommended to itself, so its pair with itself is included.
    """
    own = [table.origin is not None or table is known
           for table, known in ((starts, model.start_table_), (ends, model.end_table_))]  # fmt: skip
    (first, second), (start_ids, end_ids) = edges, ids
    one_set = model.start_table_ is model.end_table_
    rows, cols = [_taken(_rows_of(starts, start_ids, own[0]), first)], [_taken(_rows_of(ends, end_ids, own[1]), second)]
    if one_set and model.predictor_.kernel.symmetry:
        rows.append(_taken(_rows_of(starts, end_ids, own[0]), second))
        cols.append(_taken(_rows_of(ends, start_ids, own[1]), first))
    if one_set:
        rows.append(np.arange(len(starts)) if starts.has_names or own[0] else np.full(len(starts), -1))
        cols.append(_rows_of(ends, names_of(starts), own[1]))
    pairs = np.stack([np.concatenate(rows), np.concatenate(cols)])
    return pairs[:, (pairs >= 0).all(axis=0)]


def _taken(rows: Array, which: Array) -> Array:
    """Return some of the rows; -1 (a missing id) stays -1."""
    return np.append(rows, -1)[which]


def _rows_of(table: VertexTable, ids: Array, is_own: bool) -> Array:
    """Return the rows of ids, -1 for missing ids; in a new table without ids, all ids are missing."""
    if not table.has_names and not is_own:
        return np.full(len(ids), -1)
    row_of = {vertex: row for row, vertex in enumerate(names_of(table).tolist())}
    return np.array([row_of.get(vertex, -1) for vertex in np.asarray(ids).tolist()], np.int64)


def _best(model: Fitted, starts: VertexTable, ends: VertexTable, k: int, pairs: Array) -> tuple[Array, Array]:
    """Return the best columns of each row of the grid and their scores; -1 if no column is left."""
    which, best = np.full((len(starts), k), -1, np.int64), np.full((len(starts), k), -np.inf)
    order = np.argsort(pairs[0], kind="stable")
    rows_out, cols_out = pairs[:, order]
    for rows, cols, block in model.iter_grid(starts, ends):
        scores = np.array(to_host(block))
        part = slice(*np.searchsorted(rows_out, [rows.start, rows.stop]))
        inside = (cols_out[part] >= cols.start) & (cols_out[part] < cols.stop)
        scores[rows_out[part][inside] - rows.start, cols_out[part][inside] - cols.start] = -np.inf
        which[rows], best[rows] = HOST.best_of(which[rows], best[rows], cols, scores)
    which[np.isneginf(best)] = -1
    return which, best
