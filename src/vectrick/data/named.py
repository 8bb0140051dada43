"""Tables of vertices for frames of edges: which of their columns holds the ids."""

import copy
import re
from collections.abc import Sequence
from typing import Any, TypeGuard

import narwhals as nw
import numpy as np
from scipy.sparse import csr_array

from vectrick._typing import Array, ArrayLike, Frame, Table
from vectrick.data.files.columns import ReadColumns
from vectrick.data.mixed import numbers_of
from vectrick.data.pairs import Pairs
from vectrick.data.tables import VertexTable

_ID = re.compile(r"(?i:(^|[_\s-])id)$|[a-z]I[dD]$")  # names of id columns: movie_id, movieId, "movie id"


def eager_frame(frame: Frame, name: str) -> Any:
    """Return a frame as a narwhals frame; raise an error if it is not computed or not a frame."""
    if hasattr(frame, "collect") and not hasattr(frame, "to_numpy"):
        raise TypeError(f"{name} is a {type(frame).__name__} that is not computed yet; pass {name}.collect()")
    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError:
        raise TypeError(
            f"{name} is of type {type(frame).__name__}, but it must be a pandas, polars or Arrow frame"
        ) from None


def pairs_of(
    edges: Frame, side: str, columns: "str | Sequence[str]", table: Table, id_column: str | None, **how: Any
) -> tuple[VertexTable, Array]:
    """Return the table of one side and the vertex of each edge; two columns of ids make pairs."""
    name = f"{side}_table"
    if isinstance(columns, str):
        if table is None:
            raise ValueError(f"{name} is None, but with pairs on the other side, each side needs its own table")
        ids = edges.get_column(columns).to_numpy()
        whole = named_table(table, name, columns, id_column, ids, **how)
        return whole, whole.positions(ids, columns)
    if how.get("gaps"):
        raise ValueError("invalid is 'skip', but pairs need readable parts; leave out the unreadable ones yourself")
    if len(columns) != 2:
        raise ValueError(f"{side} is {columns!r}, but vertices that are pairs have two columns")
    first, second = (edges.get_column(column).to_numpy() for column in columns)
    if isinstance(table, tuple) and len(table) != 2:
        raise ValueError(f"{name} has {len(table)} tables, but pairs have two parts: give one table, or two")
    if isinstance(table, tuple):
        tables = [named_table(part, name, column, id_column, ids, **how)
                  for part, column, ids in zip(table, columns, (first, second), strict=True)]  # fmt: skip
        pairs = Pairs(first, second, *tables)
    else:
        both = np.concatenate([np.asarray(first, object), np.asarray(second, object)])
        pairs = Pairs(first, second, named_table(table, name, columns[0], id_column, both, **how))
    return pairs, pairs.vertices.astype(np.int32)


def named_table(
    table: Table, name: str, column: str, id_column: str | None, ids: ArrayLike | None, **how: Any
) -> VertexTable:
    """Return a vertex table whose ids are in the named column, or in the column with the name of the edges' column."""
    if isinstance(table, VertexTable) and id_column is None:
        return table
    if are_frames(table):
        return side_by_side([named_table(part, name, column, id_column, ids, **how) for part in table], name)
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        if id_column is not None:
            raise ValueError(
                f"{name.partition('_')[0]}_id is {id_column!r}, but {name} is of type {type(table).__name__} and "
                "has no named columns"
            )
        return VertexTable(table, name, **how)
    # In a frame without column names, the names are numbers, so they do not identify the ids.
    if id_column is None and isinstance(column, str) and column in frame.columns:
        id_column = column
    if id_column is None and "id" not in frame.columns and _has_no_index(table):
        _refuse_accidents(frame, name, column, ids)
    return VertexTable(table, name, id_column=id_column, **how)


def are_frames(tables: Table) -> TypeGuard[list[Frame]]:
    """Return whether several frames are given, which are joined by ids."""
    return isinstance(tables, list) and any(hasattr(part, "columns") for part in tables)


def side_by_side(tables: Sequence[VertexTable], name: str) -> VertexTable:
    """Return several tables of the same vertices as one, joined by ids; the first one has the vertices."""
    first = tables[0]
    found = ReadColumns(np.empty((len(first), 0)))
    blocks = []
    for number, each in enumerate(tables):
        table = copy.copy(each)
        table.name = f"{name}[{number}]"
        if not table.has_names or (table.columns is None and table.text is None):
            raise ValueError(f"{name}[{number}] has no ids or no names of columns, so it cannot be joined")
        rows = table.positions(np.asarray(first.ids), f"{name}[0]")
        strings = [table.text or "text"] if table.text is not None else list(table.string_columns)
        names = [] if table.text is not None else list(table.columns or ())[: table.n_numbers]
        twice = set(found.names + list(found.strings)) & set(map(str, names + strings))
        if twice:
            raise ValueError(f"{name} has the column {min(twice)!r} in two tables; rename one of them")
        blocks.append(numbers_of(csr_array(table.features), table.n_numbers, range(table.n_numbers))[rows])
        found.names += [str(column) for column in names]
        for column in strings:
            all_strings = table.strings_in(column)
            found.strings[column] = [all_strings[row] or None for row in rows.tolist()]
            found.notes[column] = table.notes.get(column, "strings")
        found.notes |= {column: note for column, note in table.notes.items() if column not in strings}
        found.medians |= table.medians
    found.features = np.hstack(blocks)
    joined = VertexTable.of_columns(found, name, np.asarray(first.ids))
    joined.words = {column: words[table.positions(np.asarray(first.ids), name)] for table in tables
                    for column, words in table.words.items()}  # fmt: skip
    return joined


def _has_no_index(table: Table) -> bool:
    """Return whether a frame has no index of the user's: none at all, or row numbers, possibly of a larger frame."""
    index = getattr(table, "index", None)
    return index is None or (getattr(index, "name", None) is None and index.dtype.kind in "iu")


def _refuse_accidents(frame: Frame, name: str, column: Any, ids: ArrayLike | None) -> None:
    """Raise an error if row numbers would be used as ids, although a column of the table could hold the ids."""
    wanted = set(np.asarray(ids).tolist())
    candidates = []
    for other in frame.columns:
        values = frame.get_column(other)
        if values.dtype == nw.Boolean:
            continue
        known = set(values.to_list())
        is_called_id = str(other).lower() == f"{column}id".lower() or _ID.search(str(other)) is not None
        if is_called_id or (len(known) == len(values) and wanted <= known):
            candidates.append(other)
    if candidates:
        side, shown = name.partition("_")[0], ", ".join(map(repr, candidates[:5]))
        raise ValueError(
            f"{name} has no column {column!r} or 'id', so its row numbers would be used as ids, but it has "
            f"columns that could hold them: {shown}; pass {side}_id={candidates[0]!r}"
            + (
                ""
                if not hasattr(frame.to_native(), "rename_axis")
                else f", or {name}.rename_axis({str(column)!r}) if the row numbers are the ids"
            )
        )
