"""``ScannedEdges``: edges in a lake that are read when needed, a partition at a time."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vectrick._typing import Array, New, RandomState, Table
from vectrick.backends.memory import available_memory, parse_bytes
from vectrick.data.edges import Edges
from vectrick.data.lake.counts import Counts
from vectrick.data.lake.ids import IdMap
from vectrick.data.lake.parts import Part
from vectrick.data.lake.reader import EdgeReader, as_numbers
from vectrick.data.lake.source import DaskSource, LakeError, ParquetSource
from vectrick.data.lake.store import BlockStore
from vectrick.data.named import named_table
from vectrick.data.settings import NEW
from vectrick.data.tables import VertexTable

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.fs as fs


MISSING = ("error", "drop")
_LARGEST, _PER_VERTEX, _PARTS = 1 << 23, 50, 8  # edges per partition, edges per vertex, and partitions to aim for
_SHARE = 2  # by default, a lake uses the free memory divided by this number


class ScannedEdges:
    """Edges in a lake that are read when needed; `scan_edges` creates them.

    Estimators take them instead of `Edges` and labels: ``model.fit(X)``. The first pass reads the lake and keeps its
    edges as sorted blocks (about eight bytes per edge) in memory. Blocks that exceed ``max_memory`` go to a file
    without a name in ``cache_dir``; the file is deleted together with the object.

    A pass takes O(n r) with r features; 8 bytes are kept for each edge.

    Attributes
    ----------
    start_table, end_table : VertexTable
        The vertices, with ``features`` and ``ids``; one object if both ends come from one vertex set.
    n_partitions : int
        The number of partitions.
    n_rows : int or None
        The number of rows of the source; None if it has to be read to count them.

    Examples
    --------
    >>> import tempfile, numpy as np, pandas as pd, vectrick as vt
    >>> folder = tempfile.mkdtemp()
    >>> pd.DataFrame({"start": [0, 1], "end": [1, 0], "label": [1.0, 2.0]}).to_parquet(folder + "/edges.parquet")
    >>> X = vt.scan_edges(folder, start_table=np.eye(2), end_table=np.eye(2))
    >>> X, X.count()
    (<2 edges between 2 start and 2 end vertices, not read yet: 1 partitions>, 2)
    """

    def __init__(
        self,
        reader: EdgeReader,
        start_table: VertexTable,
        end_table: VertexTable,
        max_memory: int | float | str | None = None,
        cache_dir: Path | str | None = None,
    ) -> None:
        self.reader, self.start_table, self.end_table = reader, start_table, end_table
        self.max_memory, self.cache_dir = max_memory, cache_dir
        self._store: BlockStore | None = None
        self.on_cluster: Any = None  # the client of a cluster, and its data of these edges
        self.features_on_cluster: Any = None  # a key of the features on the cluster, and their future
        self._counts: Counts | None = None

    @property
    def is_one_set(self) -> bool:
        """Whether both ends come from one vertex set."""
        return self.start_table is self.end_table

    @property
    def n_rows(self) -> int | None:
        """The number of rows of the source; None if it has to be read to count them."""
        n_rows: int | None = self.reader.source.n_rows
        return n_rows

    @property
    def n_partitions(self) -> int:
        """The number of partitions."""
        return len(self.reader.source.sizes)

    def count(self) -> int:
        """Return the number of edges, without dropped edges; the first call reads the lake."""
        return self.counts.n_edges

    def degrees(self) -> tuple[Array, Array]:
        """Return the number of edges of each start and of each end vertex; the first call reads the lake."""
        return self.counts.start, self.counts.end

    @property
    def counts(self) -> Counts:
        """The counts of the lake; the first access reads it, a partition at a time."""
        if self._counts is None:
            self.count_edges()
        assert self._counts is not None
        return self._counts

    def count_edges(self, progress: Any = None) -> None:
        """Read the lake, a partition at a time, and keep the counts; call ``progress`` with the finished partitions."""
        total = self._no_counts()
        for number in range(self.n_partitions):
            total.add(self.reader.read(number)[1])
            if progress is not None:
                progress(number + 1)
        self.keep_counts(total)

    def keep_counts(self, counts: Counts) -> None:
        """Keep the counts of the lake; raise an error if it has no edges."""
        if not counts.n_edges:
            n_dropped = counts.n_unknown + counts.n_unlabeled
            dropped = f" ({n_dropped} rows were dropped)" if n_dropped else ""
            raise LakeError(f"{self.reader.source.name} has no edges{dropped}, so there is nothing to train on")
        self._counts = counts

    def _no_counts(self) -> Counts:
        return Counts.nothing(len(self.start_table), len(self.end_table), self.reader.label is not None)

    @property
    def memory_limit(self) -> int:
        """The memory limit in bytes for edges, features and computations."""
        return available_memory() // _SHARE if self.max_memory is None else parse_bytes(self.max_memory)

    def blocks(self, room: int, progress: Any = None) -> BlockStore:
        """Return the blocks, at most ``room`` bytes of them in memory; the first call reads the lake."""
        self.reader.source.check()
        if self._store is None:
            store, total = BlockStore(room, self.cache_dir), self._no_counts()
            try:
                for number in range(self.n_partitions):
                    block, counts = self.reader.read(number)
                    total.add(counts)
                    if len(block):
                        store.add(block)
                    if progress is not None:
                        progress(number + 1, self.n_partitions)
                self.keep_counts(total)
            except BaseException:
                store.close()
                raise
            self._store = store
        return self._store

    def close(self) -> None:
        """Delete the blocks in memory, in the cache file and on a cluster; the next pass reads the lake again."""
        self.on_cluster = self.features_on_cluster = None
        if self._store is not None:
            self._store.close()
            self._store = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_store": None, "on_cluster": None, "features_on_cluster": None}

    def head(self, n: int = 5) -> Any:
        """Return the first edges as a pandas frame, with the columns of the lake."""
        import pandas as pd

        _check_count(n, "n")
        frames: list[Any] = []
        for number in range(self.n_partitions):
            for _, table in self.reader.source.read(number, self.reader.columns):
                frames.append(table.slice(0, n - sum(map(len, frames))).to_pandas())
                if sum(map(len, frames)) >= n:
                    return pd.concat(frames, ignore_index=True)
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=self.reader.columns)

    def edges(self, limit: int | None = None) -> tuple[Edges, Any, Any]:
        """Return edges, labels and weights in memory: all of them, or the first ``limit``."""
        if limit is not None:
            _check_count(limit, "limit")
        start, end, label, weight = self.reader.joined(range(self.n_partitions), limit=limit)
        return Edges._of(start, end, self.start_table, self.end_table), label, weight

    def split(
        self, new: New = "both", test_size: float = 0.25, random_state: RandomState = None
    ) -> tuple["ScannedEdges", "ScannedEdges"]:
        """Return training edges and test edges, divided by vertices; nothing is read.

        Parameters
        ----------
        new : "both", "start", "end" or "neither"
            Which vertices of a test edge are in no training edge, as for `VertexKFold`. Edges that join a training
            vertex to a test vertex are in neither part, unless the setting requires them.
        test_size : float
            The share of the vertices of each side that is held out; with "neither", of the edges.
        random_state : int, optional
            The seed.
        """
        from sklearn.utils import check_random_state

        if new not in NEW:
            raise ValueError(f"new is {new!r}, but it must be one of {', '.join(map(repr, NEW))}")
        if isinstance(test_size, bool) or not isinstance(test_size, float | int) or not 0 < test_size < 1:
            raise ValueError(f"test_size is {test_size!r}, but it must be a number between 0 and 1")
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        if new == "neither":
            train, test = ((test_size, 1.0), (0.0, test_size))
            return (
                self.only(Part(share=train, seed=seed, one_set=self.is_one_set)),
                self.only(Part(share=test, seed=seed, one_set=self.is_one_set)),
            )
        rng = np.random.default_rng(seed)
        start, end = (_held(len(table), test_size, rng) for table in (self.start_table, self.end_table))
        ends: Any = ((new in ("both", "start"), new in ("both", "end")),)
        if self.is_one_set:
            end = start
            ends = ends if new == "both" else ((True, False), (False, True))
        else:  # hold out vertices only on unseen sides
            start, end = (held if is_new else None for held, is_new in zip((start, end), ends[0], strict=True))
        return self.only(Part(start, end)), self.only(Part(start, end, ends))

    def settled(self) -> "ScannedEdges":
        """Return the same edges with the note that several models with different kernels need all columns."""
        first = self.start_table.settled()
        second = first if self.end_table is self.start_table else self.end_table.settled()
        return ScannedEdges(self.reader, first, second, self.max_memory, self.cache_dir)

    def only(self, part: Part) -> "ScannedEdges":
        """Return the edges that belong to a part; they are selected when they are read."""
        reader = replace(self.reader, parts=(*self.reader.parts, part))
        return ScannedEdges(reader, self.start_table, self.end_table, self.max_memory, self.cache_dir)

    def __repr__(self) -> str:
        rows = "an unknown number of" if self.n_rows is None else f"{self.n_rows:,}"
        side = "" if not self.reader.parts else "a part of "
        n_start, n_end = len(self.start_table), len(self.end_table)
        between = (
            f"{n_start:,} vertices of one set" if self.is_one_set else f"{n_start:,} start and {n_end:,} end vertices"
        )
        return f"<{side}{rows} edges between {between}, not read yet: {self.n_partitions} partitions>"


def _check_count(value: object, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise ValueError(f"{name} is {value!r}, but it must be an integer of at least 0")


def _held(n_vertices: int, share: float, rng: np.random.Generator) -> Any:
    """Return a mask of vertices to hold out, at least one."""
    return rng.permutation(n_vertices) < max(1, round(share * n_vertices))


def scan_edges(
    path: str | Path | Sequence[str | Path],
    *,
    start: str = "start",
    end: str = "end",
    label: str | None = "label",
    weight: str | None = None,
    start_table: Table,
    end_table: Table = None,
    start_id: str | None = None,
    end_id: str | None = None,
    filters: "pc.Expression" = None,
    missing: str = "error",
    filesystem: "fs.FileSystem | None" = None,
    partition_edges: int | None = None,
    max_memory: int | float | str | None = None,
    cache_dir: Path | str | None = None,
) -> ScannedEdges:
    """Return the edges of a lake without reading them; only the schema and the row counts are read.

    Parameters
    ----------
    path : path, address, list of them, or Dask DataFrame
        A Parquet file, a folder of them (also with partitions in the names of its folders, ``year=2024/``), an address
        of one of pyarrow's file systems such as ``s3://bucket/edges``, or a Dask DataFrame.
    start, end, label, weight : str
        The columns. ``label=None`` is for edges to predict.
    start_table, end_table, start_id, end_id
        The vertices, as for `Edges.from_frame`.
    filters : list or pyarrow expression, optional
        Which rows to read, such as ``[("year", ">", 2020)]``.
    missing : "error" or "drop"
        How to treat edges whose vertex is in no table, or whose label is missing; dropped edges are counted.
    filesystem : pyarrow FileSystem, optional
        The file system of the path, if the address does not contain it.
    partition_edges : int, optional
        The approximate number of edges in a partition; by default enough for fast passes. A worker reads and keeps
        whole partitions, and computes a partial sum for each. A row group of a file is never divided.
    max_memory : int or str, optional
        The memory limit for edges, features and computations ("1GB"); by default half of the free memory.
    cache_dir : path, optional
        Where to keep edges that do not fit; by default the folder for temporary files.

    Examples
    --------
    >>> import tempfile, numpy as np, pandas as pd, vectrick as vt
    >>> folder = tempfile.mkdtemp()
    >>> frame = pd.DataFrame({"user": ["ann", "bob", "bob"], "item": [0, 1, 2], "rating": [1.0, 5.0, 3.0]})
    >>> frame.to_parquet(f"{folder}/part-0.parquet")
    >>> users = pd.DataFrame({"age": [0.2, 0.9]}, index=["ann", "bob"])
    >>> X = vt.scan_edges(folder, start="user", end="item", label="rating", start_table=users, end_table=np.eye(3))
    >>> X.count(), X.degrees()[0]
    (3, array([1, 2]))
    >>> model = vt.KronRidge().fit(X)
    """
    for name, column in (("start", start), ("end", end), ("label", label), ("weight", weight)):
        if not (isinstance(column, str) and column) and (column is not None or name in ("start", "end")):
            raise ValueError(f"{name} is {column!r}, but it must be the name of a column")
    if missing not in MISSING:
        raise ValueError(f"missing is {missing!r}, but it must be one of {', '.join(map(repr, MISSING))}")
    if max_memory is not None:
        parse_bytes(max_memory)
    if cache_dir is not None and not (isinstance(cache_dir, str | Path) and Path(cache_dir).is_dir()):
        raise ValueError(f"cache_dir is {str(cache_dir)!r}, but there is no such folder")
    if partition_edges is not None and (
        isinstance(partition_edges, bool) or not isinstance(partition_edges, int | np.integer) or partition_edges < 1
    ):
        raise ValueError(f"partition_edges is {partition_edges!r}, but it must be a positive integer")
    first = _table(start_table, "start_table", start, start_id)
    same = end_table is None or end_table is start_table
    second = first if same else _table(end_table, "end_table", end, end_id)
    maps = IdMap(first, start), IdMap(second, end)
    columns = list(dict.fromkeys(filter(None, (start, end, label, weight))))
    if hasattr(path, "to_delayed"):
        source: Any = DaskSource(path, columns)
    else:
        source = ParquetSource(path, columns, filters, filesystem)
        total = source.n_rows_before_filters
        fewest = min(_LARGEST, _PER_VERTEX * min(len(first), len(second)))
        source.divide(partition_edges or min(max(-(-total // _PARTS), fewest), _LARGEST))
    for ids in maps:
        ids.check(source.schema.field(ids.column).type, source.name)
    for column in filter(None, (label, weight)):
        _check_numbers(source.schema.field(column).type, column, source.name)
    rows_are_start = len(first) <= len(second)
    reader = EdgeReader(source, *maps, label, weight, missing, rows_are_start)
    return ScannedEdges(reader, first, second, max_memory, cache_dir)


def _check_numbers(kind: object, column: str, where: str) -> None:
    import pyarrow as pa

    as_numbers(pa.chunked_array([], kind), column, where)


def _table(table: "pa.Table", name: str, column: str, id_column: str | None) -> VertexTable:
    if isinstance(table, VertexTable):
        return table
    return named_table(table, name, column, id_column, np.empty(0, object))
