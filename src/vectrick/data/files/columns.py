"""The columns of a vertex table as numbers: categories become columns of 0 and 1, missing values can be filled."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from vectrick._typing import Array
from vectrick._warnings import warn
from vectrick.data.files.frames import ColumnRules
from vectrick.data.files.numerals import refuse_commas
from vectrick.data.strings.table import LETTERS, kind_of_strings

if TYPE_CHECKING:
    import pyarrow as pa


_SHOWN = 5  # columns or words named in an error
_FEW_ROWS = 20  # up to this number of rows, a column of different words may still hold categories
_LONG_TEXT, _SHORT_TEXT = 5, 2.5  # mean number of words that make text; the latter if nearly all rows are different
_LONG_STRING = 8  # characters of a SMILES string or a sequence that is recognized without the name of its column
MISSING = " is missing"  # ends the name of a feature that marks missing values of a column
OF_STRINGS = re.compile(r"(?<![a-z])(smiles|sequences?|fasta|inchi)(?![a-z])", re.IGNORECASE)
TEXT = "text"  # the note of such a column
_STAY_STRINGS = {"smiles": "SMILES strings", "sequence": "sequences", "text": TEXT}
_SMILES = re.compile(r"(\[[^\]\s]+\]|Br|Cl|[BCNOPSFIbcnops]|[-=#$:/\\.()%+]|\d)+")


class TableWarning(UserWarning):
    """A table has entries that are not numbers; they were converted, filled or left out."""


@dataclass(frozen=True)
class Expected:
    """What a model expects of a vertex table.

    Attributes
    ----------
    columns : list
        The names of its features, and at the end the columns that hold strings.
    strings : tuple of str
        The columns that hold strings.
    medians : dict
        The values that replace missing values in columns of numbers.
    """

    columns: list[Any]
    strings: tuple[str, ...] = ()
    medians: Mapping[str, float] = field(default_factory=dict)

    @property
    def features(self) -> list[str]:
        """The names of the features that are numbers."""
        return [str(name) for name in self.columns[: len(self.columns) - len(self.strings)]]


@dataclass
class ReadColumns:
    """The content of the columns of a table.

    Attributes
    ----------
    features : array
        The columns of numbers.
    names : list of str
        Their names.
    strings : dict
        The columns that stay strings, with None for missing ones.
    medians : dict
        The values that replaced missing values.
    notes : dict
        What each column of the table became, in words.
    """

    features: Array
    names: list[str] = field(default_factory=list)
    strings: dict[str, list[str | None]] = field(default_factory=dict)
    medians: dict[str, float] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)


def read_columns(
    source: ColumnRules,
    table: "pa.Table",
    columns: list[str],
    expected: Expected | None = None,
    impute: str | None = None,
) -> ReadColumns:
    """Return the features in the columns of a table, and its columns of strings.

    A column of words becomes a column of 0 and 1 for each word, ``colour=red``; SMILES strings, sequences and text stay
    strings (`kind_of_words`); a column of lists becomes a feature for each position, ``vector[0]``. With ``expected``,
    features are selected by name, and words that are not among them are left out. Missing values raise an error, unless
    they are replaced by the median of the column (``impute="median"``), with a feature ``age is missing`` beside it.
    """
    if impute not in (None, "median"):
        raise ValueError(f"{source.impute} is {impute!r}, but it must be 'median'")
    reader = _Reader(source, table, expected, impute)
    for column in columns:
        reader.read(column)
    return reader.finished(columns)


class _Reader:
    """Reads the columns of a table one by one."""

    def __init__(self, source: ColumnRules, table: "pa.Table", expected: Expected | None, impute: str | None) -> None:
        self.source, self.table, self.expected, self.impute = source, table, expected, impute
        self.wanted = None if expected is None else set(expected.features)
        self.found = ReadColumns(np.empty((table.num_rows, 0)))
        self._parts: list[Array] = []
        self._filled: list[str] = []
        self._gaps: dict[str, int] = {}

    def read(self, column: str) -> None:
        """Read a column, if it is wanted."""
        source, table, wanted = self.source, self.table, self.wanted
        if self.expected is not None and column in self.expected.strings:
            self.found.strings[column] = strings = source.strings(table, column)
            n_missing = sum(string is None for string in strings)
            if n_missing:
                warn(f"{source.path.name}: column {column!r} is empty in {n_missing} rows", TableWarning)
        elif source.is_vectors(table, column):
            if wanted is None or f"{column}[0]" in wanted:
                block = source.vectors(table, column)
                n_known = sum(name.startswith(f"{column}[") for name in wanted or ())
                if n_known not in (0, block.shape[1]):
                    raise ValueError(
                        f"{source.path}: column {column!r} has vectors of {block.shape[1]} numbers, but the model was "
                        f"trained with {n_known}"
                    )
                names = [f"{column}[{place}]" for place in range(block.shape[1])]
                self._keep(column, block, names, f"a vector of {len(names)} numbers")
        elif self._has_words(column):
            self._words(column)
        elif wanted is None or column in wanted:
            self._numbers(column)

    def finished(self, columns: list[str]) -> ReadColumns:
        """Return what was found; raise an error if something is missing."""
        source, found = self.source, self.found
        if self._gaps:
            _refuse_gaps(source, self._gaps, self.expected is not None)
        if self._filled:
            names = _listed(self._filled)
            warn(f"{source.path.name}: missing values in {names} were filled with the median", TableWarning)
        _check_names(source, columns, found.names, self.expected is not None)
        found.features = np.hstack(self._parts) if self._parts else found.features
        if self.expected is not None:
            _in_order(source, found, self.expected)
        return found

    def _has_words(self, column: str) -> bool:
        """Return whether a column holds words; a column that held words in training holds words now."""
        if self.wanted is None:
            return self.source.is_words(self.table, column)
        return column not in self.wanted and any(name.startswith(f"{column}=") for name in self.wanted)

    def _words(self, column: str) -> None:
        words = self.source.words(self.table, column)
        self.source.check_dates(words, column)
        kind = "category" if self.expected is not None else kind_of_words(words, column)
        if kind in _STAY_STRINGS:
            self.found.strings[column], self.found.notes[column] = words, _STAY_STRINGS[kind]
            return
        refuse_commas((word for word in words if word), f"{self.source.path}: column {column!r}")
        known = None if self.expected is None else self.expected.features
        block, names = indicators(words, column, self.source.path.name, known, self.source.announces)
        self._keep(column, block, names, f"{len(names)} columns of 0 and 1" if names else "left out: identifies rows")

    def _numbers(self, column: str) -> None:
        values, mark = self.source.floats(self.table, column), column + MISSING
        empty = np.isnan(values)
        median = None if self.expected is None else self.expected.medians.get(column)
        if empty.all() and median is None:
            raise ValueError(f"{self.source.path}: column {column!r} has no value at all; leave it out")
        if self.impute == "median":
            median = self.found.medians[column] = float(np.median(values[~empty]))
        note = "numbers"
        if empty.any() and median is None:
            self._gaps[column] = int(np.flatnonzero(empty)[0]) + 1
        elif empty.any():
            values = np.where(empty, float(median or 0.0), values)
            self._filled.append(column)
            note = f"numbers; {int(empty.sum())} missing ones are the median {median:.6g}, and marked"
        _check_finite(self.source, values, column)
        is_marked = self.impute == "median" and empty.any() if self.wanted is None else mark in self.wanted
        if is_marked and (self.wanted is None or mark not in self.table.column_names):
            self._keep(column, np.column_stack([values, empty]), [column, mark], note)
        else:
            self._keep(column, values[:, None], [column], note)

    def _keep(self, column: str, block: Array, names: list[str], note: str) -> None:
        self._parts.append(block)
        self.found.names += names
        self.found.notes[column] = note


def kind_of_words(words: Sequence[str | None], column: str) -> str:
    """Return what the words of a column are: "smiles", "sequence", "text", "identifier" or "category".

    >>> kind_of_words(["red", "blue"], "colour"), kind_of_words(["a man lost at sea", "a friend and a dog"], "plot")
    ('category', 'text')
    """
    known = [word for word in words if word]
    if not known:
        return "category"
    different = len(set(known))
    if OF_STRINGS.search(column):
        return kind_of_strings(known, column)
    n_words = np.array([len(word.split()) for word in known])
    is_distinct = different > len(words) / 2 and len(words) > _FEW_ROWS
    if n_words.mean() >= _LONG_TEXT or (is_distinct and n_words.mean() >= _SHORT_TEXT):
        return "text"
    long = [word for word in known if len(word) >= _LONG_STRING]
    if is_distinct and len(long) > len(known) / 2 and (n_words == 1).all():
        if all(set(word) <= LETTERS for word in known):
            return "sequence"
        if all(_SMILES.fullmatch(word) for word in known):
            return "smiles"
    return "identifier" if is_distinct else "category"


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


def _check_names(source: ColumnRules, columns: list[str], names: list[str], are_expected: bool) -> None:
    """Raise if features of two columns have equal names, or those of 0 and 1 could be those of another column."""
    often = [name for name, count in Counter(names).items() if count > 1]
    if often:
        raise ValueError(f"{source.path} makes the feature {often[0]!r} twice, from several columns; rename one")
    for column in () if are_expected else columns:
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


def _in_order(source: ColumnRules, found: ReadColumns, expected: Expected) -> None:
    """Put what was found into the order of training; raise an error if a column is missing."""
    place = {name: column for column, name in enumerate(found.names)}
    missing = [name for name in expected.features if name not in place]
    missing += [name for name in expected.strings if name not in found.strings]
    if missing:
        raise ValueError(
            f"{source.path} lacks {len(missing)} of the {len(expected.columns)} columns that the model was trained "
            f"with: {_listed(missing)}"
        )
    found.features = np.ascontiguousarray(found.features[:, [place[name] for name in expected.features]])
    found.names = expected.features
    found.strings = {name: found.strings[name] for name in expected.strings}


def _listed(words: list[str]) -> str:
    return ", ".join(map(repr, words[:_SHOWN])) + (", …" if len(words) > _SHOWN else "")
