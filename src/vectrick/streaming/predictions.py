"""Predictions for the edges of a lake, written to one file for each partition."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from vectrick._files import replacing_folder
from vectrick._progress import Progress
from vectrick._typing import Array
from vectrick.backends.arrays import to_host
from vectrick.backends.memory import format_bytes
from vectrick.backends.threads import count_threads, even_parts, run_tasks
from vectrick.data import Edges
from vectrick.data.lake.reader import EdgeReader
from vectrick.data.lake.scan import ScannedEdges
from vectrick.models.product import PrimalPredictor
from vectrick.passes.host import HostPasses
from vectrick.streaming.features import features_of
from vectrick.training.fitted import Fitted

Columns = Callable[[Array], dict[str, Any]]  # the columns of a table, from the decision values of a model


class LakeDecisions:
    """The decision values of a fitted model for pairs of vertices of two tables, one block of edges at a time.

    For a model in primal form, the features of all vertices are computed once. Other models predict each block as edges
    in memory.
    """

    def __init__(self, model: Fitted, X: ScannedEdges) -> None:
        self.model, self.n_threads = model, count_threads(getattr(model, "n_threads", None))
        self.tables = X.start_table, X.end_table
        self._passes: HostPasses | None = None
        self._core: Array | None = None
        predictor = model.predictor_
        if isinstance(predictor, PrimalPredictor) and not model._machines:
            empty = predictor.aligned(Edges._of(np.empty(0, np.int32), np.empty(0, np.int32), *self.tables))
            predictor.check(empty.start_table, empty.end_table)
            sides = [
                features_of(kernel, found, table, np.arange(len(table)), predictor.w.dtype)
                for kernel, found, table in (
                    (predictor.start, predictor.start_map, empty.start_table),
                    (predictor.end, predictor.end_map, empty.end_table),
                )
            ]
            self._passes, self._core = HostPasses(*sides), np.ascontiguousarray(predictor.core)

    def __call__(self, start: Array, end: Array) -> Array:
        """Return the decision values for pairs of positions."""
        model: Fitted = self.model
        if self._passes is None or self._core is None:
            decisions: Array = model._decide(Edges._of(start, end, *self.tables))
            return decisions
        from vectrick.backends.cpu.compiled.pass_kernels import predictions

        L = self._passes.left(self._core, self.n_threads)
        out, C = np.empty(len(start), L.dtype), self._passes.C
        parts = even_parts(len(start), self.n_threads)

        def task(number: int) -> None:
            low, high = parts[number]
            predictions(L, C, start, end, 0, 0, 0, low, high, out[low:high])

        run_tasks(task, len(parts), self.n_threads)
        return out + model.intercept_


def decide_lake(model: Fitted, X: ScannedEdges) -> Array:
    """Return the decision values for all edges of a lake in the order of its rows; raise MemoryError for too many."""
    decisions, made, n_bytes = LakeDecisions(model, X), [], 0
    X.reader.source.check()
    progress = Progress("predicting partitions", X.n_partitions, getattr(model, "verbose", 0))
    for number in range(X.n_partitions):
        for _, start, end in X.reader.kept_rows(number):
            made.append(to_host(decisions(start, end)))
            n_bytes += made[-1].nbytes
        if 2 * n_bytes > X.memory_limit:  # they are joined at the end
            raise MemoryError(
                f"the predictions of {number + 1} of {X.n_partitions} partitions take {format_bytes(n_bytes)}, but all "
                f"must fit twice into max_memory={format_bytes(X.memory_limit)}; use model.predict_lake(X, folder)"
            )
        progress.step()
    return np.concatenate(made) if made else decisions(*np.empty((2, 0), np.int32))


def predict_lake(model: Fitted, X: ScannedEdges, path: Path | str, columns: Columns, overwrite: bool = False) -> int:
    """Write predictions for the edges of a lake to a folder of Parquet files; return their number.

    Each partition becomes a file, with the ids and the label of the source and the ``columns``. The folder appears
    when it is complete.
    """
    target = Path(path)
    _check_target(target, X, overwrite)
    decisions = LakeDecisions(model, X)
    made = set(columns(decisions(np.zeros(1, np.int32), np.zeros(1, np.int32))))
    for name in (X.reader.start.column, X.reader.end.column):
        if name in made:
            raise ValueError(f"the column of ids {name!r} has the name of a column of predictions; rename it")
    X.reader.source.check()
    progress = Progress("predicting partitions", X.n_partitions, getattr(model, "verbose", 0))
    n_edges = 0
    with replacing_folder(target) as folder:
        for number in range(X.n_partitions):
            n_edges += _write(X.reader, number, decisions, columns, folder / f"part-{number:05d}.parquet")
            progress.step()
    return n_edges


_OWN = re.compile(r"part-\d{5,}\.parquet")


def _check_target(target: Path, X: ScannedEdges, overwrite: bool) -> None:
    """Raise an error if a folder must not be replaced: it holds files other than predictions, or the lake itself."""
    if target.is_file():
        raise NotADirectoryError(f"{target} is a file, but predictions of a lake are a folder of files")
    real = target.resolve()
    for file in getattr(X.reader.source, "files", ()):
        source = Path(file.path).resolve()
        if real == source.parent or real in source.parents or source.parent in real.parents:
            raise ValueError(f"{target} is a folder that the lake is read from, or lies in it; choose another path")
    if not target.exists():
        return
    if not overwrite:
        raise FileExistsError(f"{target} exists already; choose another path, or overwrite it on purpose")
    others = [entry.name for entry in target.iterdir() if not _OWN.fullmatch(entry.name)]
    if others:
        raise FileExistsError(f"{target} holds {others[0]!r}, not only files of predictions, so it is not replaced")


def _write(reader: EdgeReader, number: int, decisions: LakeDecisions, columns: Columns, path: Path) -> int:
    """Write the predictions of a partition to a file; none if it has no edges."""
    import pyarrow as pa
    from pyarrow import parquet

    n_edges, writer = 0, None
    try:
        for table, start, end in reader.kept_rows(number):
            made = columns(decisions(start, end))
            kept = {name: table.column(name) for name in table.column_names if name not in made}
            whole = pa.table({**kept, **{name: pa.array(values) for name, values in made.items()}})
            writer = parquet.ParquetWriter(path, whole.schema) if writer is None else writer
            writer.write_table(whole)
            n_edges += len(whole)
    finally:
        if writer is not None:
            writer.close()
    return n_edges
