"""The columns of a vertex table as numbers: categories become columns of 0 and 1, missing values can be filled."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vectrick._typing import Array
from vectrick._warnings import warn
from vectrick.data.files.frames import ColumnRules
from vectrick.data.files.numerals import refuse_commas

if TYPE_CHECKING:
    import pyarrow as pa


_SHOWN = 5  # columns or words named in an error
_FEW_ROWS = 20  # up to this number of rows, a column of different words may still hold categories


class TableWarning(UserWarning):
    """A table has entries that are not numbers; they were converted, filled or left out."""


def read_columns(
    source: ColumnRules,
    table: "pa.Table",
    columns: list[str],
    expected: list[str] | None = None,
    impute: str | None = None,
    medians: dict[str, float] | None = None,
) -> tuple[Array, list[str], dict[str, float]]:
    """Return the features in the columns of a table, their names, and the medians that replace missing values.

    A column of words becomes a column of 0 and 1 for each word, ``colour=red``. ``expected`` are the features that a
    model was trained with: they are selected by name, and words that are not among them are left out. Missing values
    raise an error, unless they are replaced by the median of the column (``impute="median"``) or by ``medians``.
    """
    if impute not in (None, "median"):
        raise ValueError(f"--impute is {impute!r}, but it must be 'median'")
    wanted = None if expected is None else set(expected)
    parts: list[Array] = []
    names: list[str] = []
    learned: dict[str, float] = {}
    filled: list[str] = []
    gaps: dict[str, int] = {}
    for column in columns:
        if wanted is None:
            has_words = source.is_words(table, column)
        else:  # a column that held words in training holds words now, whatever they look like
            has_words = column not in wanted and any(name.startswith(f"{column}=") for name in wanted)
        if has_words:
            block, words = _categories(source, table, column, expected)
            parts.append(block)
            names += words
        elif wanted is None or column in wanted:
            values = source.floats(table, column)
            empty = np.isnan(values)
            known = (medians or {}).get(column)
            if empty.all() and known is None:
                raise ValueError(f"{source.path}: column {column!r} has no value at all; leave it out")
            if impute == "median":
                known = learned[column] = float(np.median(values[~empty]))
            if empty.any() and known is None:
                gaps[column] = int(np.flatnonzero(empty)[0]) + 1
            elif empty.any():
                values = np.where(empty, float(known or 0.0), values)
                filled.append(column)
            _check_finite(source, values, column)
            parts.append(values[:, None])
            names.append(column)
    if gaps:
        _refuse_gaps(source, gaps, expected is not None)
    if filled:
        warn(f"{source.path.name}: missing values in {_listed(filled)} were filled with the median", TableWarning)
    _check_names(source, columns, names, expected)
    often = [name for name, count in Counter(names).items() if count > 1]
    if often:
        raise ValueError(f"{source.path} makes the feature {often[0]!r} twice, from words and a column of that name")
    features = np.hstack(parts) if parts else np.empty((table.num_rows, 0))
    if expected is not None:
        features, names = _in_order(source, features, names, expected), list(expected)
    return features, names, learned


def _categories(
    source: ColumnRules, table: "pa.Table", column: str, expected: list[str] | None
) -> tuple[Array, list[str]]:
    """Return a column of 0 and 1 for each word of a column; leave out a column that identifies rows."""
    words = source.words(table, column)
    refuse_commas((word for word in words if word), f"{source.path}: column {column!r}")
    return indicators(words, column, source.path.name, expected, source.announces)


def indicators(
    words: Sequence[str | None],
    column: str,
    title: str,
    expected: Sequence[str] | None = None,
    announces: bool = False,
) -> tuple[Array, list[str]]:
    """Return a column of 0 and 1 for each word, or for each word in the names ``expected``, and their names.

    >>> indicators(["red", "blue"], "colour", "cars")
    (array([[0., 1.],
           [1., 0.]]), ['colour=blue', 'colour=red'])
    """
    if expected is None:
        known = sorted({word for word in words if word is not None})
        if len(known) > len(words) / 2 and len(words) > _FEW_ROWS:
            warn(
                f"{title}: column {column!r} has {len(known)} different words in {len(words)} rows: it "
                "seems to identify rows instead of describing them, so it was left out",
                TableWarning,
            )
            return np.empty((len(words), 0)), []
        if announces:
            example = f"{column}={known[0]}"
            warn(f"{title}: column {column!r} became {len(known)} columns of 0 and 1, as in {example!r}", TableWarning)
    else:
        known = [name.removeprefix(f"{column}=") for name in expected if name.startswith(f"{column}=")]
        unknown = {word for word in words if word is not None} - set(known)
        if known and unknown:
            warn(
                f"{title}: column {column!r} has {_listed(sorted(unknown))}, but the training data did not; "
                "these vertices have 0 in its columns",
                TableWarning,
            )
    n_missing = sum(word is None for word in words)
    if known and n_missing:
        warn(f"{title}: column {column!r} is empty in {n_missing} rows; they have 0 in its columns", TableWarning)
    place = {word: number for number, word in enumerate(known)}
    block = np.zeros((len(words), len(known)))
    for row, word in enumerate(words):
        if word in place:
            block[row, place[word]] = 1.0
    return block, [f"{column}={word}" for word in known]


def _check_names(source: ColumnRules, columns: list[str], names: list[str], expected: list[str] | None) -> None:
    """Raise if the names of the columns of 0 and 1 of one column could be those of another column."""
    for column in columns if expected is None else ():
        if column not in names and any(other != column and other.startswith(f"{column}=") for other in columns):
            other = next(other for other in columns if other != column and other.startswith(f"{column}="))
            raise ValueError(f"{source.path} has the columns {column!r} and {other!r}, whose features would have equal "
                             "names; rename one of them")  # fmt: skip


def _check_finite(source: ColumnRules, values: Array, column: str) -> None:
    wrong = np.flatnonzero(np.isinf(values))
    if len(wrong):
        raise ValueError(
            f"{source.path}: row {wrong[0] + 1}, column {column!r} is {values[wrong[0]]}, but it must be finite"
        )


def _refuse_gaps(source: ColumnRules, gaps: dict[str, int], are_new: bool) -> None:
    first = next(iter(gaps))
    way_out = "a model that was trained with " if are_new and source.remedy.startswith("-") else ""
    raise ValueError(
        f"{source.path}: row {gaps[first]}, column {first!r} is empty, but it must be a finite number; {len(gaps)} "
        f"columns have missing values ({_listed(list(gaps))}); {way_out}{source.remedy}"
    )


def _in_order(source: ColumnRules, features: Array, names: list[str], expected: list[str]) -> Array:
    """Return the features that a model was trained with, in the order of training."""
    place = {name: column for column, name in enumerate(names)}
    missing = [name for name in expected if name not in place]
    if missing:
        raise ValueError(
            f"{source.path} lacks {len(missing)} of the {len(expected)} columns that the model was trained with: "
            f"{_listed(missing)}"
        )
    return np.ascontiguousarray(features[:, [place[name] for name in expected]])


def _listed(words: list[str]) -> str:
    return ", ".join(map(repr, words[:_SHOWN])) + (", …" if len(words) > _SHOWN else "")
