"""Frames as vertex tables: ids, strings, numbers, and words and dates by the rules for files."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np

from vectrick._typing import Array
from vectrick.data.files.columns import MISSING, Expected, kind_of_words, read_columns
from vectrick.data.files.frames import FrameColumns, check_plain
from vectrick.data.strings.table import is_missing

_SHOWN = 20  # columns named in an error


@dataclass(frozen=True)
class FrameParts:
    """A frame as the parts of a vertex table.

    Attributes
    ----------
    features : array or list
        The features, or the strings of a frame with one column of strings.
    ids : array or None
        The ids.
    columns : list
        The names of the features.
    strings : dict
        Other columns of strings.
    words : dict
        The words of columns that became columns of 0 and 1.
    medians, notes : dict
        As in `ReadColumns`.
    """

    features: Any
    ids: Array | None
    columns: list[Any]
    strings: Mapping[str, Any] = field(default_factory=dict)
    words: Mapping[str, Array] = field(default_factory=dict)
    medians: Mapping[str, float] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)


def split_frame(
    frame: nw.DataFrame[Any],
    native: object,
    name: str,
    id_column: str | None,
    expected: Expected | None = None,
    impute: str | None = None,
) -> FrameParts:
    """Return the parts of a vertex table; words, dates, vectors and strings follow the rules for files."""
    columns = list(frame.columns)
    if id_column is not None and id_column not in columns:
        raise ValueError(f"{name} has no column {id_column!r}; its columns are {', '.join(map(str, columns[:_SHOWN]))}")
    column = "id" if id_column is None and "id" in columns else id_column
    ids: Array | None
    if column is not None:
        ids = frame.get_column(column).to_numpy()
    else:
        ids = getattr(getattr(native, "index", None), "to_numpy", lambda: None)()
    kept = [other for other in columns if other != column]
    kinds = frame.schema
    if expected is not None and _has_features(frame, kept, expected):
        wanted = [other for other in kept if _is_of(str(other), expected.columns)]
        return _encoded(frame, wanted, name, ids, expected)
    words = [other for other in kept if not (kinds[other].is_numeric() or kinds[other] == nw.Boolean)]
    if len(kept) == 1 and words and _are_strings(frame, words[0]):
        return FrameParts(frame.get_column(words[0]).to_list(), ids, kept)
    if column is None:
        _refuse_identifiers(frame, words, name)
    if words or impute is not None:
        return _encoded(frame, kept, name, ids, None, impute)
    values = (frame if column is None else frame.drop(column)).to_numpy()
    if values.dtype == object:  # pandas' own missing values
        values = np.array([[np.nan if is_missing(entry) else float(entry) for entry in row] for row in values])
    return FrameParts(values.astype(np.float32 if values.dtype == np.float32 else np.float64, copy=False), ids, kept)


def _refuse_identifiers(frame: nw.DataFrame[Any], words: list[Any], name: str) -> None:
    """Raise an error for columns of words that are different for nearly all vertices: they may be the ids."""
    wrong = [
        other
        for other in words
        if _are_strings(frame, other)
        and kind_of_words([None if is_missing(v) else str(v) for v in frame.get_column(other).to_list()], str(other))
        == "identifier"
    ]
    if wrong:
        shown = ", ".join(map(repr, wrong[:5])) + (", …" if len(wrong) > 5 else "")
        side = name.partition("_")[0]
        ids_by = f"{side}_id=" if side in ("start", "end") else "start_id=, end_id="
        raise TypeError(
            f"{name} has columns of words that are different for nearly all vertices: {shown}. If one of them holds "
            f"the ids, call it 'id' or name it ({ids_by} of Edges.from_frame); leave out the rest, or set an index of "
            "ids. SMILES strings and sequences stay strings if the name of their column says so ('smiles', 'sequence')"
        )


def _encoded(
    frame: nw.DataFrame[Any],
    kept: list[Any],
    name: str,
    ids: Array | None,
    expected: Expected | None = None,
    impute: str | None = None,
) -> FrameParts:
    """Return the columns of a frame by the rules for files (`read_columns`)."""
    source = FrameColumns(name)
    wrong = [other for other in kept if not _is_simple(frame.get_column(other))]
    if wrong:
        raise TypeError(
            f"{name}: column {wrong[0]!r} is of the type {frame.schema[wrong[0]]}, but it must hold numbers, words, "
            "booleans, dates, or lists of numbers; leave it out"
        )
    if not all(isinstance(other, str) for other in kept):
        raise TypeError(f"{name} has the columns {kept}, but with words or dates among them, names must be strings")
    try:
        table = frame.select(kept).to_arrow()
        check_plain(table)
    except (ArithmeticError, NotImplementedError, TypeError, ValueError) as error:  # Arrow raises all of these
        raise TypeError(f"{name} has a column of a type that cannot be used: {error}") from None
    found = read_columns(source, table, kept, expected, impute)
    words = {}
    if expected is None:
        is_words = (other for other in kept if other not in found.strings and source.is_words(table, other))
        words = {other: np.array(source.words(table, other), object) for other in is_words}
    return FrameParts(found.features, ids, found.names, found.strings, words, found.medians, found.notes)


def _is_of(column: str, expected: list[Any]) -> bool:
    """Return whether some of the expected features come from a column."""
    names = map(str, expected)
    return any(name in (column, column + MISSING) or name.startswith((f"{column}=", f"{column}[")) for name in names)


def _has_features(frame: nw.DataFrame[Any], kept: list[Any], expected: Expected) -> bool:
    """Return whether expected features come from words, dates or gaps of a frame; plain numbers are matched later."""
    kinds = frame.schema
    numbers = all(kinds[other].is_numeric() or kinds[other] == nw.Boolean for other in kept)
    if numbers and not expected.medians:
        return False
    return all(any(_is_of(str(other), [name]) for other in kept) for name in expected.columns)


def _is_simple(values: nw.Series[Any]) -> bool:
    """Return whether a column holds numbers, words, booleans, dates, or lists of numbers."""
    kind = values.dtype
    if kind == nw.Object:
        entries = values.to_list()
        are_lists = any(isinstance(entry, list | tuple | np.ndarray) for entry in entries)
        allowed: tuple[type, ...] = (list, tuple, np.ndarray) if are_lists else (str,)
        others = (bool, Decimal, datetime.date)  # of which Arrow makes a column, if all are of one kind
        kinds = {type(entry) for entry in entries if isinstance(entry, allowed) or not is_missing(entry)}
        return all(issubclass(kind, allowed) for kind in kinds) or (
            len(kinds) == 1 and issubclass(next(iter(kinds)), others)
        )
    if isinstance(kind, nw.List | nw.Array):
        return True
    if kind == nw.Categorical or kind == nw.Enum:
        return all(isinstance(entry, str | Real) or is_missing(entry) for entry in set(values.to_list()))
    return kind.is_numeric() or any(kind == each for each in (nw.Boolean, nw.String, nw.Date, nw.Datetime))


def _are_strings(frame: nw.DataFrame[Any], column: str) -> bool:
    """Return whether a column has strings, optionally with missing values; categories and times are not strings."""
    values = frame.get_column(column)
    return values.dtype == nw.String or (
        values.dtype == nw.Object and any(isinstance(v, str) for v in values.to_list())
    )
