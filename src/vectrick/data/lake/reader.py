"""The reader of partitions: it converts ids to positions, checks missing values and sorts edges into a block."""

import contextlib
import ctypes
import itertools
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from vectrick._typing import Array
from vectrick.data.lake.blocks import EdgeBlock
from vectrick.data.lake.counts import Counts
from vectrick.data.lake.ids import IdMap
from vectrick.data.lake.parts import Part
from vectrick.data.lake.source import LakeError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class EdgeReader:
    """A reader of partitions, also for workers: the source, the columns, the ids and the rule for missing values."""

    source: Any
    start: IdMap
    end: IdMap
    label: str | None
    weight: str | None
    missing: str
    rows_are_start: bool
    parts: tuple[Part, ...] = ()

    @property
    def columns(self) -> list[str]:
        """The columns to read."""
        return list(dict.fromkeys(filter(None, (self.start.column, self.end.column, self.label, self.weight))))

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of vertices of rows and columns."""
        sizes = self.start.n_vertices, self.end.n_vertices
        return sizes if self.rows_are_start else sizes[::-1]

    def read(self, number: int) -> tuple[EdgeBlock, Counts]:
        """Return a partition as a block, and its counts."""
        counts = Counts.nothing(self.start.n_vertices, self.end.n_vertices, self.label is not None)
        start, end, label, weight = self.joined((number,), counts)
        rows, cols = (start, end) if self.rows_are_start else (end, start)
        del start, end
        block = EdgeBlock.of(rows, cols, label, weight, self.shape)
        del rows, cols, label, weight
        release_unused()
        return block, counts

    def joined(
        self, numbers: Iterable[int], counts: Counts | None = None, limit: int | None = None
    ) -> tuple[Array, Array, Any, Any]:
        """Return start, end, label and weight of all edges of some partitions, or of the first ``limit`` edges."""
        columns: list[list[Any]] = [[], [], [], []]
        n_edges = 0
        for arrays in itertools.chain.from_iterable(self.tables(number, counts) for number in numbers):
            for column, array in zip(columns, arrays, strict=True):
                column.append(array)
            n_edges += len(arrays[0])
            if limit is not None and n_edges >= limit:
                break
        start, end, label, weight = (_joined(column, limit) for column in columns)
        return start, end, label, weight

    def tables(self, number: int, counts: Counts | None = None) -> Iterator[tuple[Array, Array, Any, Any]]:
        """Yield start, end, label and weight of the edges of a partition without dropped edges, in several parts."""
        for where, table, start, end in self._placed(number):
            label, weight, kept = self._checked(where, table, start, end, counts)
            columns: list[Any] = [start, end, label, weight]
            if not kept.all():
                columns = [None if values is None else values[kept] for values in columns]
            if counts is not None:
                counts.add_edges(*columns[:3])
            yield columns[0], columns[1], columns[2], columns[3]

    def kept_rows(self, number: int) -> Iterator[tuple[Any, Array, Array]]:
        """Yield tables of the rows of a partition with known vertices, and their positions; labels may be missing."""
        unlabeled = replace(self, label=None, weight=None)
        for where, table, start, end in self._placed(number):
            kept = unlabeled._checked(where, table, start, end, None)[2]
            yield table.filter(pa_mask(kept)), start[kept], end[kept]

    def _placed(self, number: int) -> Iterator[tuple[str, Any, Array, Array]]:
        """Yield the tables of a partition and the positions of their vertices, -1 for vertices that are in no table."""
        with ThreadPoolExecutor(2) as pool:
            for where, table in self.source.read(number, self.columns):
                # Both columns in parallel, because looking up ids takes longer than reading them.
                sides = [(ids, table.column(ids.column)) for ids in (self.start, self.end)]
                start, end = pool.map(lambda side: side[0].positions(side[1]), sides)
                yield where, table, start, end

    def _checked(
        self, where: str, table: "pa.Table", start: Array, end: Array, counts: Counts | None
    ) -> tuple[Any, Any, Array]:
        """Return labels and weights of a table, and a mask of the rows to keep."""
        kept = (start >= 0) & (end >= 0)
        n_unknown = len(kept) - int(kept.sum())
        if n_unknown and self.missing == "error":
            for ids, found in ((self.start, start), (self.end, end)):
                unknown = ids.without_skipped(table.column(ids.column).filter(pa_mask(found < 0)))
                if len(unknown):
                    raise LakeError(
                        f"{where}: column {ids.column!r} has {len(unknown)} edges whose vertex is not in {ids.name}: "
                        f"{ids.describe(unknown)}; missing='drop' leaves such edges out"
                    )
        label = None if self.label is None else as_numbers(table.column(self.label), self.label, where)
        weight = None if self.weight is None else as_numbers(table.column(self.weight), self.weight, where)
        if weight is not None and not ((weight[kept] >= 0) & np.isfinite(weight[kept])).all():
            raise LakeError(f"{where}: column {self.weight!r} has weights that are negative, infinite or missing")
        n_unlabeled = 0
        if label is not None:
            labeled = np.isfinite(label)
            n_unlabeled = int((kept & ~labeled).sum())
            if n_unlabeled and self.missing == "error":
                raise LakeError(
                    f"{where}: column {self.label!r} is missing or not finite for {n_unlabeled} edges; missing='drop' "
                    "leaves such edges out"
                )
            kept &= labeled
        for part in self.parts:
            kept[kept] = part.mask(start[kept], end[kept])
        if counts is not None:
            counts.n_unknown += n_unknown
            counts.n_unlabeled += n_unlabeled
        return label, weight, kept


def release_unused() -> None:
    """Release memory that Arrow and the C library keep for reuse, because it is not needed after a partition."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    with contextlib.suppress(OSError, AttributeError):  # malloc_trim exists only in glibc
        ctypes.CDLL(None).malloc_trim(0)


def pa_mask(mask: Array) -> Any:
    """Return a mask as an Arrow array."""
    import pyarrow as pa

    return pa.array(mask)


def _joined(arrays: list[Any], limit: int | None) -> Any:
    """Return the concatenated arrays; the list is empty afterwards."""
    if not arrays:
        return np.empty(0, np.int32)
    if arrays[0] is None:
        return None
    joined = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
    arrays.clear()
    return joined[:limit]


def as_numbers(column: "pa.Array", name: str, where: str) -> Array:
    """Return a column of numbers or truth values; null becomes NaN."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise LakeError(f"{where}: column {name!r} has type {kind}, but it must hold numbers")
    if pa.types.is_decimal(kind) or pa.types.is_float16(kind):
        column = column.cast(pa.float64())
    values = column.to_numpy()
    result: Array = values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)
    return result
