"""Frames as vertex tables: ids, strings, numbers, and words and dates by the rules for files."""

import re
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np

from vectrick._typing import Array
from vectrick.data.files.columns import read_columns
from vectrick.data.files.frames import FrameColumns
from vectrick.data.strings.table import is_missing

_OF_STRINGS = re.compile(r"(?<![a-z])(smiles|sequences?|fasta|inchi)(?![a-z])", re.IGNORECASE)
_SHOWN = 20  # columns named in an error
_FEW = 20  # up to this number of rows, different words may still be categories


def split_frame(
    frame: nw.DataFrame[Any], native: object, name: str, id_column: str | None, expected: list[Any] | None = None
) -> tuple[Any, Array | None, list[Any], dict[str, Array]]:
    """Return features or strings, ids, the names of the features, and the words of columns that became several."""
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
        wanted = [other for other in kept if _is_of(str(other), expected)]
        return _encoded(frame, wanted, name, ids, [str(each) for each in expected])
    words = [other for other in kept if not (kinds[other].is_numeric() or kinds[other] == nw.Boolean)]
    if len(kept) == 1 and words and _are_strings(frame, words[0]):
        return frame.get_column(words[0]).to_list(), ids, kept, {}
    if column is None:
        wrong = [other for other in words if _identifies(frame, other) or _holds_strings(frame, other)]
    else:
        wrong = [other for other in words if _holds_strings(frame, other)]
    if words and not wrong:
        return _encoded(frame, kept, name, ids)
    if wrong:
        shown = ", ".join(map(repr, wrong[:5])) + (", …" if len(wrong) > 5 else "")
        side = name.partition("_")[0]
        ids_by = f"{side}_id=" if side in ("start", "end") else "start_id=, end_id="
        raise TypeError(
            f"{name} has columns that are not numbers: {shown}. If one of them holds the ids, call it 'id' or name it "
            f"({ids_by} of Edges.from_frame); encode categories as columns of 0 and 1, for example with "
            f"pandas.get_dummies(table, columns=[{wrong[0]!r}]); leave out the rest. A table of strings, for "
            "kernels such as vt.Morgan, has one column apart from its ids"
        )
    values = (frame if column is None else frame.drop(column)).to_numpy()
    if values.dtype == object:  # pandas' own missing values
        values = np.array([[np.nan if is_missing(entry) else float(entry) for entry in row] for row in values])
    return values.astype(np.float32 if values.dtype == np.float32 else np.float64, copy=False), ids, kept, {}


def _encoded(
    frame: nw.DataFrame[Any], kept: list[Any], name: str, ids: Array | None, expected: list[str] | None = None
) -> tuple[Array, Array | None, list[Any], dict[str, Array]]:
    """Return the columns of a frame with words or dates by the rules for files (`read_columns`)."""
    source = FrameColumns(name)
    wrong = [other for other in kept if not _is_simple(frame.get_column(other))]
    if wrong:
        raise TypeError(
            f"{name}: column {wrong[0]!r} is of the type {frame.schema[wrong[0]]}, but it must hold numbers, words, "
            "booleans or dates; leave it out, or give a frame with a column for each number"
        )
    if not all(isinstance(other, str) for other in kept):
        raise TypeError(f"{name} has the columns {kept}, but with words or dates among them, names must be strings")
    try:
        table = frame.select(kept).to_arrow()
    except (ArithmeticError, NotImplementedError, TypeError, ValueError) as error:  # Arrow raises all of these
        raise TypeError(f"{name} has a column of a type that cannot be used: {error}") from None
    features, names, _ = read_columns(source, table, kept, expected)
    if expected is not None:
        return features, ids, names, {}
    words = {other: np.array(source.words(table, other), object) for other in kept if source.is_words(table, other)}
    return features, ids, names, words


def _is_of(column: str, expected: list[Any]) -> bool:
    """Return whether some of the expected features come from a column."""
    return any(str(name) == column or str(name).startswith(f"{column}=") for name in expected)


def _has_features(frame: nw.DataFrame[Any], kept: list[Any], expected: list[Any]) -> bool:
    """Return whether expected features come from words or dates of a frame; numbers are matched later."""
    kinds = frame.schema
    numbers = all(kinds[other].is_numeric() or kinds[other] == nw.Boolean for other in kept)
    return not numbers and all(any(_is_of(str(other), [name]) for other in kept) for name in expected)


def _is_simple(values: nw.Series[Any]) -> bool:
    """Return whether a column holds numbers, words, booleans or dates."""
    kind = values.dtype
    if kind == nw.Object:
        return all(isinstance(entry, str) or is_missing(entry) for entry in values.to_list())
    if kind == nw.Categorical or kind == nw.Enum:
        return all(isinstance(entry, str | Real) or is_missing(entry) for entry in set(values.to_list()))
    simple = (nw.Boolean, nw.String, nw.Date, nw.Datetime)
    return kind.is_numeric() or any(kind == each for each in simple)


def _identifies(frame: nw.DataFrame[Any], column: Any) -> bool:
    """Return whether nearly all entries of a column of strings are different, as ids are."""
    values = frame.get_column(column)
    return _are_strings(frame, column) and len(set(values.to_list())) > max(len(values) / 2, 1) and len(values) > _FEW


def _holds_strings(frame: nw.DataFrame[Any], column: Any) -> bool:
    """Return whether a column is named as one of SMILES strings or sequences, which are no categories."""
    return _are_strings(frame, column) and _OF_STRINGS.search(str(column)) is not None


def _are_strings(frame: nw.DataFrame[Any], column: str) -> bool:
    """Return whether a column has strings, optionally with missing values; categories and times are not strings."""
    values = frame.get_column(column)
    return values.dtype == nw.String or (
        values.dtype == nw.Object and any(isinstance(v, str) for v in values.to_list())
    )
