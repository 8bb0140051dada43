"""Result files in Parquet or CSV, written block by block; an error leaves no partial file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vectrick._files import check_output, replacing

ENDINGS = (".parquet", ".csv", ".tsv")


def check_table_output(path: Path, force: bool) -> None:
    """Raise if a table cannot be written to a path."""
    if path.suffix not in ENDINGS:
        raise ValueError(
            f"--output is {str(path)!r}, but its name must end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        )
    check_output(path, force)


@contextmanager
def table_writer(path: Path) -> Iterator[Any]:
    """Yield a function that writes the next block of rows, a dict with an Arrow array for each column."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    writer: Any = None
    with replacing(path) as draft:

        def write(columns: dict[str, Any]) -> None:
            nonlocal writer
            table = pa.table(columns)
            coded = [name for name in table.column_names if pa.types.is_dictionary(table.schema.field(name).type)]
            if path.suffix != ".parquet":
                table = pa.table({name: table[name].cast(table.schema.field(name).type.value_type)
                                  if name in coded else table[name] for name in table.column_names})  # fmt: skip
                mark = csv.WriteOptions(delimiter="\t" if path.suffix == ".tsv" else ",")
                writer = writer or csv.CSVWriter(draft, table.schema, write_options=mark)
            else:
                # Scores hardly repeat, so a dictionary of them would only cost time.
                writer = writer or parquet.ParquetWriter(draft, table.schema, use_dictionary=coded)
            writer.write_table(table)

        try:
            yield write
        except BaseException:
            _abandon(writer)
            raise
        if writer is None:
            raise ValueError(f"there is nothing to write to {path}")
        writer.close()


def write_columns(path: Path, columns: dict[str, Any]) -> None:
    """Write a whole table, given as a sequence of values for each column; None is an empty cell."""
    import pyarrow as pa

    with table_writer(path) as write:
        write({name: pa.array(list(values)) for name, values in columns.items()})


def _abandon(writer: Any) -> None:
    """Close the writer of a file that will be removed; on a full disk, closing fails as well."""
    try:
        if writer is not None:
            writer.close()
    except OSError:
        pass


def plain(value: object) -> Any:
    """Return a cell of a frame as a Python value, None if it is empty."""
    import pandas as pd

    if pd.isna(value):
        return None
    return value.item() if hasattr(value, "item") else value


def named(ids: Any, rows: Any) -> Any:
    """Return the ids of rows as an Arrow array that holds each id once."""
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(rows, pa.int32()), ids)
