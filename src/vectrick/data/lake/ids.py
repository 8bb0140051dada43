"""Conversion of ids in Arrow columns to positions in a vertex table; the table is converted only once."""

from typing import TYPE_CHECKING, Any

import numpy as np

from vectrick._typing import Array
from vectrick.data.tables import VertexTable

if TYPE_CHECKING:
    import pyarrow as pa


_SHOWN = 5  # ids named in an error


class IdTypeError(TypeError):
    """A column holds values of another type than the ids of its table."""

    def __init__(self, message: str, column: str) -> None:
        super().__init__(message)
        self.column = column


class IdMap:
    """A map from the ids of one column of a lake to positions in a vertex table.

    For a table without ids, or with the default index of pandas, the column holds positions.

    >>> import numpy as np, pyarrow as pa
    >>> ids = IdMap(VertexTable(np.eye(3), "start_table", ids=["a", "b", "c"]), "user")
    >>> ids.positions(pa.array(["c", "a", "z"]))
    array([ 2,  0, -1], dtype=int32)
    """

    def __init__(self, table: VertexTable, column: str) -> None:
        import pyarrow as pa

        self.column, self.n_vertices, self.name = column, len(table), table.name
        self.skipped = pa.array(table.skipped, pa.string())  # ids whose strings could not be read
        self.values: Any = None  # the ids; None if the column holds positions
        if table.ids is not None and not _counts(table.ids):
            ids = table.ids
            text = ids.dtype.kind in "OUT"
            try:
                self.values = pa.array(ids.tolist() if text else ids)
            except (OverflowError, pa.ArrowException) as error:
                raise IdTypeError(f"the ids of {table.name} have a type that no lake has: {error}", column) from None

    @property
    def is_text(self) -> bool:
        """Whether the ids are text."""
        import pyarrow as pa

        return self.values is not None and _is_text(self.values.type, pa)

    def check(self, kind: "pa.DataType", where: str) -> None:
        """Raise an error if the type of a column does not match the ids."""
        import pyarrow as pa

        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if self.is_text != _is_text(kind, pa) or not (_is_text(kind, pa) or pa.types.is_integer(kind)):
            known = "are positions" if self.values is None else f"are values such as {self.values[0].as_py()!r}"
            message = f"{where}: column {self.column!r} has type {kind}, but the ids of {self.name} {known}"
            raise IdTypeError(message, self.column)

    def positions(self, column: "pa.Array") -> Array:
        """Return the positions of a column of ids, -1 for ids that are not in the table and for null."""
        import pyarrow as pa
        from pyarrow import compute

        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        if pa.types.is_dictionary(column.type):
            places = self.positions(column.dictionary)
            which = compute.fill_null(column.indices.cast(pa.int64()), len(places)).to_numpy(zero_copy_only=False)
            in_values: Array = np.append(places, np.int32(-1))[which]
            return in_values
        if self.values is None:
            numbers = compute.fill_null(column, 0).to_numpy(zero_copy_only=False)
            known = (numbers >= 0) & (numbers < self.n_vertices) & column.is_valid().to_numpy(zero_copy_only=False)
            places = np.full(len(numbers), -1, np.int32)
            places[known] = numbers[known]
            return places
        column, ids = _comparable(column, self.values)
        found = compute.index_in(column, value_set=ids)
        result: Array = compute.fill_null(found, -1).to_numpy(zero_copy_only=False)
        return result

    def without_skipped(self, unknown: "pa.Array") -> Any:
        """Return ids that are in no table, without ids of vertices that were left out."""
        import pyarrow as pa
        from pyarrow import compute

        if not len(self.skipped):
            return unknown
        return unknown.filter(compute.invert(compute.is_in(unknown.cast(pa.string()), value_set=self.skipped)))

    def describe(self, unknown: object) -> str:
        """Return a text for errors about ids that are in no table."""
        import pyarrow as pa

        distinct = pa.array(unknown).unique()
        shown = ", ".join(repr(value) for value in distinct[:_SHOWN].to_pylist())
        more = ", …" if len(distinct) > _SHOWN else ""
        known = f"positions 0 to {self.n_vertices - 1}" if self.values is None else repr(self.values[0].as_py())
        return f"{shown}{more} (an id there: {known})"


def _comparable(column: "pa.Array", ids: "pa.Array") -> tuple[Any, Any]:
    """Return a column and ids in one type, as Arrow requires; integers outside of its range become null."""
    import pyarrow as pa
    from pyarrow import compute

    if column.type == ids.type:
        return column, ids
    if _is_text(ids.type, pa):
        return column.cast(pa.large_string()), ids.cast(pa.large_string())
    # Ids exceed int64 only if their type is uint64; a value outside of the common type is in no table.
    wide = pa.uint64() if ids.type == pa.uint64() else pa.int64()
    if column.type == pa.uint64() and wide == pa.int64():
        column = compute.if_else(compute.greater(column, pa.scalar(2**63 - 1, pa.uint64())), None, column)
    if wide == pa.uint64() and column.type != wide:
        column = compute.if_else(compute.less(column, pa.scalar(0, column.type)), None, column)
    return column.cast(wide), ids.cast(wide)


def _is_text(kind: "pa.DataType", pa: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _counts(ids: Array) -> bool:
    """Return whether ids are 0, 1, 2, …, so that they equal positions."""
    return ids.dtype.kind in "iu" and bool(np.array_equal(ids, np.arange(len(ids))))
