"""Tables in CSV, TSV (also gzipped) or Parquet files, read by Arrow; errors name the file, the row and the column."""

import csv
import datetime
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from vectrick._typing import Array

if TYPE_CHECKING:
    import pyarrow as pa


ENDINGS = (".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz")

_BLOCK = 1 << 24  # bytes of a CSV file at a time; a line must fit
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?")
_DAY = 86_400e6  # microseconds
_SHOWN = 5  # ids or columns named in an error


class ColumnRules:
    """The rules by which columns of Arrow tables become ids, numbers and words; errors name the table."""

    path: Path  # of the file, or the name of a table in memory
    announces = True  # whether columns of words are reported
    impute = "--impute"  # the name of the option
    remedy = "--impute median fills them with the median"  # of missing values

    def ids(self, table: "pa.Table", column: str) -> Any:
        """Return the ids in a column as an Arrow array of strings; missing or repeated ids raise an error."""
        from pyarrow import compute

        values = table.column(column).combine_chunks()
        self._check_ids(values, column)
        counts = compute.value_counts(values)
        often = counts.field("values").filter(compute.greater(counts.field("counts"), 1))
        if len(often):
            raise ValueError(f"{self.path} has {len(often)} ids more than once: {_some(often.to_pylist())}")
        return values

    def positions(
        self, table: "pa.Table", column: str, known: "pa.Array", where: str, complaints: list[str] | None = None
    ) -> Array:
        """Return the position of each id of a column among the ``known`` ids; errors name their source ``where``.

        Unknown ids raise an error. If a list of ``complaints`` is given, they become -1 and are reported there.
        """
        from pyarrow import compute

        coded = table.column(column).unify_dictionaries().combine_chunks()
        self._check_ids(coded, column)
        if hasattr(coded, "chunks"):  # there are no rows
            return np.empty(0, np.int32)
        rows = compute.index_in(coded.dictionary, value_set=known)
        place, codes = rows.fill_null(-1).to_numpy(), coded.indices.to_numpy()
        positions = place[codes].astype(np.int32, copy=False)
        if rows.null_count and (positions < 0).any():
            unknown = np.unique(codes[positions < 0])
            words = _some([coded.dictionary[int(code)].as_py() for code in unknown[:_SHOWN]], len(unknown))
            complaint = (
                f"{self.path}: {len(unknown)} ids in column {column!r} are not in {where}: {words} "
                f"({int((positions < 0).sum())} of {len(positions)} edges have them)"
            )
            if complaints is None:
                raise ValueError(complaint)
            complaints.append(complaint)
        return np.asarray(positions)

    def _check_ids(self, values: "pa.ChunkedArray", column: str) -> None:
        if values.null_count:
            empty = np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))
            raise ValueError(f"{self.path}: column {column!r} has no id in row {empty[0] + 1}")

    def numbers(self, table: "pa.Table", columns: Sequence[str]) -> Array:
        """Return columns of a table as a matrix; raise an error if a value is not a finite number."""
        out = np.empty((table.num_rows, len(columns)))
        for j, name in enumerate(columns):
            out[:, j] = self.vector(table.column(name), name)
        return out

    def is_words(self, table: "pa.Table", name: str) -> bool:
        """Return whether a column holds words, and none of them is a number."""
        import pyarrow as pa
        from pyarrow import compute

        values = table.column(name)
        kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
            return False
        words = [word for word in compute.unique(values.cast(pa.string())).to_pylist() if word]
        return bool(words) and not any(map(_is_number, words)) and not all(map(_DATE.fullmatch, words))

    def check_dates(self, words: Sequence[str | None], name: str) -> None:
        """Raise an error if most words of a column are dates, and some are not."""
        dates = [word is None or _is_date(word) for word in words]
        n_looking = sum(word is not None and _DATE.fullmatch(word) is not None for word in words)
        if not all(dates) and n_looking > len(words) / 2:
            at = dates.index(False)
            raise ValueError(
                f"{self.path}: row {at + 1}, column {name!r} is {words[at]!r}, but it must be a date like the other "
                "rows, such as 2021-05-01, or empty"
            )

    def words(self, table: "pa.Table", name: str) -> list[str | None]:
        """Return a column of words, with None for empty entries."""
        import pyarrow as pa

        return [word or None for word in table.column(name).cast(pa.string()).to_pylist()]

    def strings(self, table: "pa.Table", name: str) -> list[str | None]:
        """Return a column of strings, with None for empty entries; raise an error if it holds something else."""
        import pyarrow as pa

        kind = table.column(name).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if pa.types.is_nested(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
            raise TypeError(f"{self.path}: column {name!r} holds {kind}, but the model was trained with strings there")
        return self.words(table, name)

    def is_vectors(self, table: "pa.Table", name: str) -> bool:
        """Return whether a column holds a list of numbers in each row."""
        return _is_numeric_list(table.column(name).type)

    def vectors(self, table: "pa.Table", name: str) -> Array:
        """Return a column of lists of numbers as a matrix; the lists must have one length."""
        import pyarrow as pa
        from pyarrow import compute

        values = table.column(name).combine_chunks()
        lengths = np.asarray(compute.fill_null(compute.list_value_length(values), -1))
        wrong = np.flatnonzero((lengths != lengths[0]) | (lengths < 1))
        if len(wrong):
            row, length = int(wrong[0]), int(lengths[wrong[0]])
            what = "has no list" if length < 0 else f"has a list of {length} numbers"
            raise ValueError(
                f"{self.path}: row {row + 1}, column {name!r} {what}, but all rows must have lists of one length, such "
                f"as {max(int(lengths[0]), 1)}"
            )
        flat = compute.cast(compute.list_flatten(values), pa.float64())
        block = np.asarray(flat.to_numpy(zero_copy_only=False)).reshape(len(lengths), -1)
        if not np.isfinite(block).all():
            row = int(np.flatnonzero(~np.isfinite(block).all(axis=1))[0])
            raise ValueError(f"{self.path}: row {row + 1}, column {name!r} has a number that is missing or not finite")
        return block

    def floats(self, table: "pa.Table", name: str) -> Array:
        """Return a column as numbers, with NaN for empty entries."""
        return self._floats(table.column(name), name)

    def _floats(self, values: "pa.ChunkedArray", name: str) -> Array:
        import pyarrow as pa
        from pyarrow import compute

        if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
            values = self._as_numbers(values, name)
        return np.asarray(compute.cast(values, pa.float64(), safe=False).to_numpy())

    def vector(self, values: "pa.ChunkedArray", name: str) -> Array:
        """Return a column as finite numbers."""
        numbers = self._floats(values, name)
        if not np.isfinite(numbers).all():
            at = int(np.flatnonzero(~np.isfinite(numbers))[0])
            shown = values[at].as_py()
            what = "is empty" if shown is None or shown != shown else f"is {shown!r}"
            raise ValueError(f"{self.path}: row {at + 1}, column {name!r} {what}, but it must be a finite number")
        return np.asarray(numbers)

    def _as_numbers(self, values: "pa.ChunkedArray", name: str) -> Any:
        import pyarrow as pa
        from pyarrow import compute

        if pa.types.is_boolean(values.type) or pa.types.is_decimal(values.type):
            return values.cast(pa.float64() if not pa.types.is_boolean(values.type) else pa.int8())
        if pa.types.is_null(values.type):
            return compute.cast(values, pa.float64())
        if pa.types.is_date(values.type) or pa.types.is_timestamp(values.type):  # days since 1970
            seconds = compute.cast(compute.cast(values, pa.timestamp("us"), safe=False), pa.int64())
            return compute.divide(compute.cast(seconds, pa.float64(), safe=False), _DAY)
        words = [word or None for word in compute.cast(values, pa.string()).to_pylist()]
        if any(words) and all(_DATE.fullmatch(word) for word in words if word):  # as Arrow reads them in CSV files
            self.check_dates(words, name)
            return self._as_numbers(pa.chunked_array([pa.array(words).cast(pa.timestamp("us"))]), name)
        for at, word in enumerate(words):
            if word is not None and not _is_number(word):
                raise ValueError(f"{self.path}: row {at + 1}, column {name!r} is {word!r}, but it must be a number")
        return pa.chunked_array([pa.array([None if word is None else float(word) for word in words], pa.float64())])


class TableFile(ColumnRules):
    """A table in a file; the names of its columns are read immediately, its content on request."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        if not self.path.exists():
            raise FileNotFoundError(f"there is no file {self.path}")
        if not self.path.name.endswith(ENDINGS) or not self.path.is_file():
            raise ValueError(
                f"{self.path} is not a table: its name must end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
            )
        if self.path.stat().st_size == 0:
            raise ValueError(f"{self.path} is empty")
        self.is_parquet = self.path.suffix == ".parquet"
        self.delimiter = "\t" if self.path.name.endswith((".tsv", ".tsv.gz")) else ","
        with _told(self.path):
            self.columns = self._read_header()
        twice = sorted({name for name in self.columns if self.columns.count(name) > 1}) if self.columns else []
        if twice:
            raise ValueError(f"{self.path} has the column {twice[0]!r} more than once")

    def _read_header(self) -> list[str]:
        import pyarrow as pa
        from pyarrow import parquet

        if self.is_parquet:
            return list(parquet.read_schema(self.path).names)
        with pa.input_stream(str(self.path)) as stream:
            content = stream.read(_BLOCK)  # never more, even if the first line is longer
        if len(content) == _BLOCK:
            end = content.rfind(b"\n")
            if end < 0:
                raise ValueError(f"its first line is longer than {_BLOCK} bytes, but it must be a header")
            content = content[: end + 1]
        header = next(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), delimiter=self.delimiter), [])
        if any("\n" in name for name in header):
            raise ValueError("its header has a quote that does not end in the first line")
        if not "".join(header).strip():
            raise ValueError("its first line is empty, but it must be a header with the names of the columns")
        return header

    def type_of(self, column: str) -> Any:
        """Return the Arrow type of a column of a Parquet file; None for text files, because they have no types."""
        from pyarrow import parquet

        return parquet.read_schema(self.path).field(column).type if self.is_parquet else None

    def need(self, column: str, option: str) -> str:
        """Return the name of a column; raise an error if there is no such column."""
        if column in self.columns:
            return column
        shown = ", ".join(repr(name) for name in self.columns[:_SHOWN]) + (", …" if len(self.columns) > _SHOWN else "")
        if len(self.columns) == 1 and (mark := next((mark for mark in ";\t|," if mark in self.columns[0]), None)):
            wanted = "commas" if self.delimiter == "," else "tabs"
            hint = ", or its name must end in .tsv" if mark == "\t" else ""
            raise ValueError(
                f"{self.path} seems to be separated by {mark!r}, but it must be by {wanted}{hint}: {shown}"
            )
        raise ValueError(
            f"{self.path} has no column {column!r}, but {shown}; its first line must be a header with the names of the "
            f"columns{f', and {option} chooses another name' if option else ''}"
        )

    def read(self, columns: Sequence[str] | None = None, text: Sequence[str] = (), ids: Sequence[str] = ()) -> Any:
        """Return an Arrow table of some columns: ``text`` as strings, ``ids`` as dictionaries of strings."""
        from pyarrow import csv as arrow_csv, parquet

        with _told(self.path):
            if self.is_parquet:
                table = parquet.read_table(self.path, columns=columns, read_dictionary=list(ids))
            else:
                table = arrow_csv.read_csv(self.path, **self._options(columns, text, ids))
            check_plain(table)
            table = _with_text(table, text, ids)
        if table.num_rows == 0:
            raise ValueError(f"{self.path} has a header, but no rows")
        return table

    def batches(self, columns: Sequence[str], ids: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Yield Arrow tables of about ``n_rows`` rows; the whole file need not fit into memory."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv, parquet

        with _told(self.path):
            if self.is_parquet:
                source: Any = parquet.ParquetFile(self.path, read_dictionary=list(ids)).iter_batches(
                    n_rows, columns=list(columns)
                )
            else:
                source = arrow_csv.open_csv(self.path, **self._options(columns, (), ids))
            held: list[Any] = []
            for batch in source:
                check_plain(batch)
                held.append(batch)
                if sum(map(len, held)) >= n_rows:
                    yield _with_text(pa.Table.from_batches(held), (), ids)
                    held = []
            if held:
                yield _with_text(pa.Table.from_batches(held), (), ids)

    def _options(self, columns: Sequence[str] | None, text: Sequence[str], ids: Sequence[str]) -> dict[str, Any]:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        coded = pa.dictionary(pa.int32(), pa.string())
        types = dict.fromkeys(text, pa.string()) | dict.fromkeys(ids, coded)
        return {
            "read_options": arrow_csv.ReadOptions(block_size=_BLOCK),
            "parse_options": arrow_csv.ParseOptions(delimiter=self.delimiter),
            "convert_options": arrow_csv.ConvertOptions(
                column_types=types, include_columns=columns, auto_dict_encode=False
            ),
        }


class FrameColumns(ColumnRules):
    """The same rules for a frame in memory."""

    announces = False
    impute = "impute"
    remedy = "impute='median' fills them with the median, and marks them in a further feature"

    def __init__(self, name: str) -> None:
        self.path = Path(name)


class _told:  # noqa: N801 (a context manager reads like a verb)
    """Adds the name of the file to Arrow's errors."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        known = (ValueError, KeyError, TypeError, NotImplementedError, EOFError, csv.Error)  # Arrow raises all of these
        if isinstance(error, known) or type(error) is OSError:
            why = " ".join(str(error).split())
            raise ValueError(f"{self.path} cannot be read: {why[:300]}") from None


def _is_numeric_list(kind: "pa.DataType") -> bool:
    import pyarrow as pa

    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return bool(is_list and (pa.types.is_integer(kind.value_type) or pa.types.is_floating(kind.value_type)))


def check_plain(table: "pa.Table") -> None:
    """Raise an error for columns that hold records, or lists of something else than numbers."""
    import pyarrow as pa

    for field in table.schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_nested(kind) and not _is_numeric_list(kind):
            raise ValueError(f"column {field.name!r} is of the type {kind}, but it must hold numbers or words")


def _with_text(table: "pa.Table", text: Sequence[str], ids: Sequence[str]) -> Any:
    """Return a table with columns of text and ids as strings, independent of their type in the file."""
    import pyarrow as pa
    from pyarrow import compute

    for name in text:
        column = table.column(name)
        if not pa.types.is_string(column.type):
            table = table.set_column(table.column_names.index(name), name, compute.cast(column, pa.string()))
    coded = pa.dictionary(pa.int32(), pa.string())
    for name in ids:
        column = table.column(name)
        if column.type != coded:
            encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
            table = table.set_column(table.column_names.index(name), name, compute.cast(encoded, coded))
    return table


def _is_date(word: str) -> bool:
    try:
        return _DATE.fullmatch(word) is not None and bool(datetime.datetime.fromisoformat(word))
    except ValueError:
        return False


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _some(words: Sequence[Any], n_words: int | None = None) -> str:
    n_words = len(words) if n_words is None else n_words
    return ", ".join(map(repr, words[:_SHOWN])) + (", …" if n_words > _SHOWN else "")
