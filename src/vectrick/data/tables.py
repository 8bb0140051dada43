"""A vertex table: one row of features (or of a precomputed kernel) for each vertex, optionally with ids."""

import copy
import itertools
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import narwhals as nw
import numpy as np
from scipy.sparse import csr_array, issparse

from vectrick._typing import Array, ArrayLike, Features, Index, Table
from vectrick.backends import HOST, Backend, backend_of
from vectrick.backends.arrays import cast, given_array, numpy_dtype, placed, to_host, unmasked
from vectrick.data.files.columns import Expected, ReadColumns, indicators
from vectrick.data.frames import FrameParts, split_frame
from vectrick.data.ids import as_ids, as_integers, distinct_ids, is_whole
from vectrick.data.mixed import block_of, rearranged, with_column, with_strings
from vectrick.data.strings.table import characters, given_strings, strings_of

_SHOWN = 5  # ids named in an error
_ASYMMETRY, _LARGE_DIAGONAL = 0.05, 0.95  # of a matrix that looks like a kernel
_LARGEST_KERNEL = 20_000  # vertices up to which a square table is checked for being a kernel matrix
_NUMERAL = re.compile(r"-?\d{1,15}(\.0*)?")


class VertexTable:
    """Features of vertices, dense or sparse, and their ids.

    Parameters
    ----------
    features : array, tensor, SciPy sparse matrix, pandas or polars frame, or strings
        One row for each vertex. In a frame, words become a column of 0 and 1 for each word, ``country=FR``, dates
        become days, and a column of lists becomes a feature for each position, ``vector[0]``. A column that is
        different for nearly all vertices identifies them and is left out. SMILES strings, sequences and text stay
        strings, for kernels on columns (`On`); they are stored as characters, after the numbers. Strings alone are a
        list, a column, or a frame with one column of strings and its ids (`vectrick.data.strings.table`).
    name : str
        The name of the table in errors.
    ids : array, optional
        One id for each row. Default: the ids of the frame (see `id_column`), else none.
    id_column : str, optional
        The column of a frame that holds ids. Default: a column "id", else the index of a pandas frame.
    gaps : bool
        Whether strings may be missing or empty.
    expected : Expected, optional
        The columns of a model: they are taken from a frame by name, and other columns are left out.
    impute : "median", optional
        How to fill missing values of a frame; by default they raise an error.

    Attributes
    ----------
    columns : list or None
        The names of the features, then the columns that hold strings.
    string_columns : tuple of str
        The columns that hold strings, beside numbers.
    notes : dict
        What each column of a frame became, in words.

    Examples
    --------
    >>> import numpy as np
    >>> table = VertexTable(np.eye(3), ids=["a", "b", "c"])
    >>> table.positions(["c", "a"], "start")
    array([2, 0], dtype=int32)
    """

    words: Mapping[str, Array] = MappingProxyType({})  # of columns that became columns of 0 and 1
    text: str | None = None  # the name of the column, if vertices are strings; it may be empty
    string_columns: tuple[str, ...] = ()
    frame: Any = None  # from which the table was made; copies and parts have none
    is_settled = False  # whether models keep columns that their own kernels do not read
    numbered = False  # whether a last column holds the number of each vertex in the table of a model, for `Identity`
    notes: Mapping[str, str] = MappingProxyType({})
    skipped: Sequence[str] = ()  # ids of a file whose strings could not be read

    def __init__(
        self,
        features: Table,
        name: str = "features",
        ids: ArrayLike | None = None,
        id_column: str | None = None,
        gaps: bool = False,
        expected: Expected | None = None,
        impute: str | None = None,
    ) -> None:
        self.name, self.id_column = name, id_column
        self.columns: list[Any] | None = None  # names of the columns, if the table has them
        self.origin: tuple[VertexTable, Array] | None = None  # the original table, and the rows in it
        self.medians: Mapping[str, float] = {}  # the values that replaced missing values in columns
        if hasattr(features, "collect") and not hasattr(features, "to_numpy"):
            raise TypeError(f"{name} is a {type(features).__name__} that is not computed yet; pass {name}.collect()")
        self.is_named = ids is not None  # whether the user chose the ids; the default index of pandas only counts rows
        native, own_ids = features, None
        frame = nw.from_native(features, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            parts = split_frame(frame, features, name, id_column, expected, impute)
            self.frame = native  # to read it again by the columns of a model
            features, own_ids = self._described(parts), parts.ids
            self.is_named = self.is_named or "id" in frame.columns or id_column is not None or not counts_rows(native)
        strings = given_strings(features, name, gaps)
        if strings is not None:
            features, index, title = strings
            if isinstance(frame, nw.DataFrame):
                title, self.columns = str((self.columns or [""])[0]), None
            elif index is not None:
                own_ids, self.is_named = index, self.is_named or not counts_rows(native)
            self.text, features = title, characters(features, name)
        ids = own_ids if ids is None else ids
        self.features: Any = _as_matrix(features, name)
        self.ids = None if ids is None else as_ids(ids, len(self), name)

    @classmethod
    def of_columns(cls, found: ReadColumns, name: str, ids: Array) -> "VertexTable":
        """Return a table of columns that were read from a file; one column of strings alone is a table of strings."""
        if len(found.strings) == 1 and not found.names:
            ((column, strings),) = found.strings.items()
            table = cls([word or "" for word in strings], name, ids, gaps=True)
            table.text = column
            return table
        table = cls(with_strings(found.features, found.strings, name) if found.strings else found.features, name, ids)
        table.medians, table.notes = found.medians, found.notes
        table.columns, table.string_columns = [*found.names, *found.strings], tuple(found.strings)
        return table

    def _described(self, parts: FrameParts) -> Any:
        """Take the columns of a frame; return the features."""
        self.words, self.medians, self.notes = parts.words, parts.medians, parts.notes
        self.columns, self.string_columns = [*parts.columns, *parts.strings], tuple(parts.strings)
        return with_strings(parts.features, parts.strings, self.name) if parts.strings else parts.features

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "frame"}

    def __len__(self) -> int:
        return int(self.features.shape[0])

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return len(self.columns or ()) if self.string_columns else int(self.features.shape[1]) - self.numbered

    @property
    def n_numbers(self) -> int:
        """The number of columns that hold numbers."""
        return self.n_features - len(self.string_columns) if self.text is None else 0

    @property
    def expected(self) -> Expected | None:
        """What tables for predictions must have, if the columns have names."""
        return None if self.columns is None else Expected(self.columns, self.string_columns, self.medians)

    @property
    def strings(self) -> list[str]:
        """The strings, if the vertices are strings."""
        return strings_of(self.features[:, :-1] if self.numbered else self.features)

    def strings_in(self, column: str) -> list[str]:
        """Return the strings of a column of strings; missing ones are empty."""
        if self.text is not None:
            return self.strings
        return strings_of(block_of(self.features, self.n_numbers, self.string_columns.index(column)))

    @property
    def has_names(self) -> bool:
        """Whether the table has ids other than row numbers; the default index of a pandas frame does not count."""
        return self.ids is not None and self.is_named

    @property
    def looks_like_kernel(self) -> bool:
        """Whether the table is square and nearly symmetric, with large values on the diagonal, like a kernel matrix."""
        K, n = self.features, len(self)
        if issparse(K) or K.shape[1] != n or not 2 <= n <= _LARGEST_KERNEL:
            return False
        K = to_host(K)
        size = float(np.abs(K).mean())
        if size == 0 or float(np.abs(K - K.T).mean()) > _ASYMMETRY * size:
            return False
        diagonal = np.diagonal(K)
        return bool((diagonal > 0).all() and (diagonal >= K.mean(axis=1)).mean() >= _LARGE_DIAGONAL)

    def is_same(self, other: "VertexTable") -> bool:
        """Return whether another table has the same vertices in the same order."""
        if self is other:
            return True
        names = [np.asarray(table.ids) for table in (self, other) if table.has_names]
        if len(self) != len(other) or (len(names) == 2 and not np.array_equal(names[0], names[1])):
            return False
        a, b = to_host(self.features), to_host(other.features)
        if a is b:
            return True
        if a.shape != b.shape or issparse(a) != issparse(b):
            return False
        return (a != b).nnz == 0 if issparse(a) else bool(np.array_equal(a, b))

    def positions(self, vertices: ArrayLike, argument: str, or_rows: bool = False) -> Any:
        """Return the rows of the vertices, given as ids, or as positions if the table has no ids.

        An integer also matches an id that is its numeral, "7" or "007" for 7. With ``or_rows``, integers are positions
        if no id of the table is a number or a numeral.
        """
        if self.ids is None:
            return self.rows(vertices, argument)
        values = self._vector(vertices, argument)
        if values.dtype.kind not in "iu" or self.ids.dtype.kind in "iuf":
            return self._look_up(values, argument)
        numbers = self._numbers()
        return self.rows(values, argument) if or_rows and not numbers else self._look_up(values, argument, numbers)

    def rows(self, positions: ArrayLike, argument: str) -> Any:
        """Return positions in the table as integers; raise an error that names the first wrong one."""
        if backend_of(positions) != HOST:  # tensors stay where they are
            return self._positions_elsewhere(positions, argument)
        values = self._vector(positions, argument)
        if values.dtype.kind not in "iu" and values.size:
            reason = f"{self.name} has no ids, so it" if self.ids is None else "it"
            raise TypeError(f"{argument} has dtype {values.dtype}, but {reason} must hold integer positions")
        wrong = np.flatnonzero((values < 0) | (values >= len(self))) if values.size else values
        if wrong.size:
            at = wrong[0]
            raise ValueError(f"{argument}[{at}] is {values[at]}, but {self.name} has {len(self)} vertices")
        return values.astype(np.int32)

    def _vector(self, vertices: ArrayLike, argument: str) -> Array:
        """Return ids or positions as an array of one dimension; whole numbers as integers if the table has ids."""
        values = np.asarray(unmasked(to_host(vertices), argument))
        if values.ndim != 1:
            raise ValueError(f"{argument} has shape {values.shape}, but it must be one-dimensional")
        if values.dtype.kind == "b":
            raise TypeError(f"{argument} is boolean, but it must hold positions or ids of vertices")
        return values if self.ids is None else as_integers(values)

    def _numbers(self) -> dict[Any, int]:
        """Return the row of each id that is a whole number or a numeral ("7" or "007"), or -1 if it is ambiguous."""
        row_of: dict[Any, int] = {}
        numerals: dict[int, int] = {}
        for row, vertex in enumerate(np.asarray(self.ids).tolist()):
            if is_whole(vertex):
                row_of[int(vertex)] = row
            elif not isinstance(vertex, str):
                continue
            elif _NUMERAL.fullmatch(vertex) is not None:
                number = int(vertex) if vertex.isdecimal() else int(float(vertex))
                numerals[number] = -1 if number in numerals else row
        return numerals | row_of

    def _positions_elsewhere(self, values: Any, argument: str) -> Any:
        """Return positions given as a tensor, checked on its device."""
        if values.ndim != 1 or numpy_dtype(values).kind not in "iu":
            raise TypeError(
                f"{argument} is a tensor of {values.dtype} with shape {tuple(values.shape)}, but it must be a vector "
                "of integer positions"
            )
        for worst in (values.argmin(), values.argmax()) if len(values) else ():
            at, value = int(worst), int(values[worst])
            if not 0 <= value < len(self):
                raise ValueError(f"{argument}[{at}] is {value}, but {self.name} has {len(self)} vertices")
        return cast(values, np.int32)

    def on(self, backend: Backend) -> "VertexTable":
        """Return the table with its features as an array of a backend; a sparse table stays as it is."""
        if issparse(self.features):
            return self
        moved = copy.copy(self)
        moved.features = placed(self.features, backend)
        return moved

    def _look_up(self, values: Array, argument: str, row_of: dict[Any, int] | None = None) -> Array:
        distinct, inverse = distinct_ids(values, argument)
        if row_of is None:
            row_of = {vertex: row for row, vertex in enumerate(np.asarray(self.ids).tolist())}
        rows = [row_of.get(vertex, -1) for vertex in distinct.tolist()]
        unknown = [vertex for vertex, row in zip(distinct.tolist(), rows, strict=True) if row < 0]
        if unknown:
            shown = ", ".join(map(repr, unknown[:_SHOWN])) + (", …" if len(unknown) > _SHOWN else "")
            known = repr(np.asarray(self.ids)[:1].tolist()[0]) if len(self) else "none"
            if values.dtype.kind in "iu" and np.asarray(self.ids).dtype.kind not in "iuf":
                known += "; integers are ids if a table has ids; for positions, use the argument positions"
            raise ValueError(
                f"{argument} has {len(unknown)} ids that are not in {self.name}: {shown} (an id there: {known})"
            )
        return np.array(rows, np.int32)[inverse]

    def encoded_as(self, expected: list[Any]) -> dict[str, Array]:
        """Return the columns of 0 and 1 that other features have for the words of this table, by name."""
        columns: dict[str, Array] = {}
        for column, words in self.words.items():
            if any(str(name).startswith(f"{column}=") for name in expected) and len(words) == len(self):
                block, names = indicators(words.tolist(), column, self.name, expected)
                columns |= dict(zip(names, block.T, strict=True))
        return columns

    def settled(self) -> "VertexTable":
        """Return the table with the note that all its columns are needed, by several models with different kernels."""
        taken = copy.copy(self)
        taken.is_settled = True
        return taken

    def with_numbers(self, numbers: Array) -> "VertexTable":
        """Return the table with the numbers of its vertices in a last column."""
        taken = copy.copy(self.without_numbers())
        taken.features, taken.numbered = with_column(taken.features, numbers), True
        return taken

    def without_numbers(self) -> "VertexTable":
        """Return the table without the numbers of its vertices."""
        if not self.numbered:
            return self
        taken = copy.copy(self)
        taken.features, taken.numbered = self.features[:, :-1], False
        return taken

    def with_columns(self, columns: list[Any], strings: tuple[str, ...], encoded: Mapping[str, Array]) -> "VertexTable":
        """Return the table with some of its columns, or ``encoded`` ones; the last ones are ``strings``."""
        place = {name: column for column, name in enumerate(self.columns or ())}
        numbers = columns[: len(columns) - len(strings)]
        taken = copy.copy(self)
        taken.features = rearranged(
            self.features,
            self.n_numbers,
            [encoded[name] if name in encoded else place[name] for name in numbers],
            [place[name] - self.n_numbers for name in strings],
        )
        taken.columns, taken.string_columns, taken.numbered = columns, strings, False
        dropped = set(self.string_columns) - set(strings)
        taken.notes = {column: note for column, note in self.notes.items() if column not in dropped}
        return taken

    def take(self, rows: Index) -> "VertexTable":
        """Return some of the vertices, with their ids; the new table records its origin."""
        taken, places = copy.copy(self), np.asarray(to_host(rows))
        taken.features = self.features[rows]
        taken.ids = None if self.ids is None else self.ids[places]
        taken.words = {column: words[places] for column, words in self.words.items()}
        taken.origin = (self, places) if self.origin is None else (self.origin[0], self.origin[1][places])
        return taken

    def __repr__(self) -> str:
        ids = "" if self.ids is None else ", with ids"
        what = f"{self.n_numbers} features" if self.text is None else "strings"
        what += f", strings in {', '.join(self.string_columns)}" if self.string_columns else ""
        return f"<{self.name}: {len(self)} vertices, {what}{ids}>"

    def label(self, row: int) -> str:
        """Return a name of the vertex for errors."""
        return f"vertex {row}" if self.ids is None else f"vertex {self.ids[row : row + 1].tolist()[0]!r}"


def row_keys(features: Table) -> list[Any]:
    """Return a key for each row of features; equal rows have equal keys."""
    if not issparse(features):
        return [row.tobytes() for row in np.asarray(to_host(features), np.float64) + 0.0]  # so that -0.0 becomes 0.0
    entries = csr_array(features, dtype=np.float64, copy=True)
    entries.sum_duplicates()
    entries.eliminate_zeros()
    indices, bounds = entries.indices.astype(np.int64), itertools.pairwise(entries.indptr.tolist())
    return [(indices[low:high].tobytes(), entries.data[low:high].tobytes()) for low, high in bounds]


def counts_rows(table: object) -> bool:
    """Return whether a frame has no index, or the default index of pandas: 0, 1, 2, … without a name."""
    index = getattr(table, "index", None)
    if index is None or not hasattr(index, "to_numpy"):
        return True
    return getattr(index, "name", None) is None and np.array_equal(index.to_numpy(), np.arange(len(index)))


def _as_matrix(features: Features, name: str) -> Any:
    if issparse(features):
        matrix = csr_array(features)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
    else:
        matrix = given_array(features, name)
        if matrix.ndim == 1:
            raise ValueError(
                f"{name} has shape {matrix.shape}, but it must have a row for each vertex: use x[None, :] for one "
                "vertex, or x[:, None] for vertices with one feature each"
            )
    if matrix.ndim != 2:
        raise ValueError(f"{name} has shape {matrix.shape}, but it must be a table with a row for each vertex")
    dtype = numpy_dtype(matrix)
    if dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {matrix.dtype}, but it must hold real numbers")
    return matrix if dtype in (np.float32, np.float64) else cast(matrix, np.float64)
