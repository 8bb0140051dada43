"""Tables for predictions in the form of the training table: columns by name, known vertices by id or features."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick._warnings import warn
from vectrick.data import VertexTable
from vectrick.data.files.columns import Expected
from vectrick.data.pairs import Pairs
from vectrick.data.tables import row_keys
from vectrick.kernels import KernelWarning

_SHOWN = 5  # columns named in an error


def aligned_table(known: VertexTable, table: VertexTable, name: str) -> VertexTable:
    """Return a table with the columns of the training table ``known``, matched by name if both tables have names.

    Other columns are left out, and the order of columns does not matter. If the kernel compares vertices themselves,
    the table gets the numbers of its vertices in the training table. ``name`` is the name of the table in errors.
    """
    if table is known or (table.origin is not None and table.origin[0] is known):
        return table
    if isinstance(known, Pairs) != isinstance(table, Pairs):
        kinds = ["vt.Pairs" if isinstance(each, Pairs) else "single vertices" for each in (table, known)]
        raise ValueError(f"{name} has {kinds[0]}, but the model was trained with {kinds[1]}")
    if isinstance(known, Pairs) and isinstance(table, Pairs):
        if known.symmetric != table.symmetric:
            raise ValueError(f"{name} has pairs with symmetric={table.symmetric}, but the model was trained with "
                             f"symmetric={known.symmetric}")  # fmt: skip
        first, second = (
            aligned_table(mine, part, f"{name}: {mine.name}")
            for mine, part in zip(known.parts, table.parts, strict=True)
        )
        return table.with_parts((first, first if table.parts[0] is table.parts[1] else second))
    plain = _with_columns(known, _read_again(known, table.without_numbers()), name)
    if not known.numbered:
        return plain
    rows = _rows_of_ids(known, plain)
    if rows is None:
        rows = rows_in(known.without_numbers(), plain, np.arange(len(plain)), name)
    return plain.with_numbers(np.where(rows >= 0, rows + 1, -1 - np.arange(len(plain))))  # new ones are all different


def _rows_of_ids(known: VertexTable, table: VertexTable) -> Array | None:
    """Return the row of each vertex by its id, or -1; None if one of the tables has no ids. 7 is the same as "7"."""
    if not (known.has_names and table.has_names):
        return None
    row_of = {str(vertex): row for row, vertex in enumerate(np.asarray(known.ids).tolist())}
    return np.array([row_of.get(str(vertex), -1) for vertex in np.asarray(table.ids).tolist()], np.int64)


def _read_again(known: VertexTable, table: VertexTable) -> VertexTable:
    """Return a table read again from its frame by the columns of a model, if its own columns do not have all of them.

    What a column holds was decided by the content of the training table; a few new rows may look different.
    """
    source, rows = (table, None) if table.origin is None else table.origin
    wanted = known.expected if known.text is None else Expected([known.text], (known.text,))
    if source.frame is None or wanted is None or (known.text is not None and known.text == table.text):
        return table
    own = set(table.columns or ())
    is_whole = known.text is None and own >= set(wanted.columns)
    if is_whole and set(table.string_columns) >= set(wanted.strings) and not known.medians:
        return table
    fresh = VertexTable(source.frame, source.name, source.ids, source.id_column, expected=wanted)
    if fresh.columns != wanted.columns:
        return table
    fresh.is_named, fresh.text = source.is_named, known.text
    if known.text is not None:
        fresh.columns, fresh.string_columns = None, ()
    return fresh if rows is None else fresh.take(rows)


def _with_columns(known: VertexTable, table: VertexTable, name: str) -> VertexTable:
    same = known.columns == table.columns and known.string_columns == table.string_columns
    if table.columns is None and known.string_columns and known.text is None and table.text is None:
        raise ValueError(
            f"{name} has no named columns, but the model was trained with strings in "
            f"{', '.join(map(repr, known.string_columns))}; give a frame"
        )
    if known.columns is None or table.columns is None or same:
        return table
    _check_vectors(known.columns, table.columns, name)
    place = {name: column for column, name in enumerate(table.columns)}
    encoded = table.encoded_as(known.columns)
    missing = [column for column in known.columns if column not in place and column not in encoded]
    if missing:
        shown = ", ".join(map(repr, missing[:_SHOWN])) + (", …" if len(missing) > _SHOWN else "")
        raise ValueError(
            f"{name} lacks {len(missing)} of the {len(known.columns)} columns that the model was trained with: {shown} "
            f"(columns there: {', '.join(map(repr, table.columns[:_SHOWN])) or 'none'})"
        )
    for column in known.columns:
        if column not in encoded and (column in known.string_columns) != (column in table.string_columns):
            given, wanted = ("strings", "numbers") if column in table.string_columns else ("numbers", "strings")
            raise ValueError(f"{name} has {given} in the column {column!r}, but the model was trained with {wanted}")
    return table.with_columns(list(known.columns), known.string_columns, encoded)


def _check_vectors(known: Sequence[Any], given: Sequence[Any], name: str) -> None:
    """Raise an error if a column of vectors has another length than in training."""
    for column in map(str, known):
        if column.endswith("[0]"):
            vector = column.removesuffix("[0]")
            lengths = [sum(str(each).startswith(f"{vector}[") for each in columns) for columns in (given, known)]
            if lengths[0] not in (0, lengths[1]):
                raise ValueError(
                    f"{name} has vectors of {lengths[0]} numbers in the column {vector!r}, but the model was trained "
                    f"with {lengths[1]}"
                )


def rows_in(mine: VertexTable, table: VertexTable, vertices: Array, name: str) -> Array:
    """Return the row of each vertex of a table in the table ``mine``, or -1 for new vertices.

    Vertices of the same table (or of a table taken from it) are matched by position. Vertices of another table are
    matched by features, and also by ids if both tables have ids that are more than positions. Without these ids, the
    second vertex with some features in one table is the second vertex with these features in the other. The result
    depends only on the tables, never on the selection of vertices.
    """
    if table.is_same(mine):
        return vertices
    if table.origin is not None and table.origin[0].is_same(mine):
        return np.asarray(table.origin[1][vertices])
    with_ids = table.has_names and mine.has_names
    known, others = _identities(mine, with_ids), _identities(table, with_ids)
    if not with_ids:
        _warn_of_copies(known, [others[row] for row in vertices.tolist()], name)
    row_of = {key: row for row, key in enumerate(known)}
    return np.array([row_of.get(others[row], -1) for row in vertices.tolist()], np.int64)


def _warn_of_copies(known: list[Any], asked: list[Any], name: str) -> None:
    """Warn of vertices that match several training vertices and that only ids could identify."""
    n_known = Counter(features for features, _ in known)
    unclear = {features for features, _ in asked if n_known[features] > 1}
    if unclear:
        warn(
            f"{len(unclear)} of the {name.removesuffix('_features')} vertices have the features of several training "
            "vertices, and no ids to identify them; their order in the table decides. Give both tables ids",
            KernelWarning,
        )


def _identities(table: VertexTable, with_ids: bool) -> list[tuple[Any, Any]]:
    """Return a unique key for each vertex of a table: features, with ids or else the number of the copy."""
    rows = row_keys(table.features)
    if with_ids and table.ids is not None:
        return list(zip(rows, table.ids.tolist(), strict=True))
    copies: Counter[Any] = Counter()
    identities = []
    for row in rows:
        copies[row] += 1
        identities.append((row, copies[row]))
    return identities
