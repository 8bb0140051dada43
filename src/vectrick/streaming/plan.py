"""The plan of a fit to a lake: time and memory, from row counts and from rates measured on one partition."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from vectrick._html import html_block, html_note
from vectrick.backends.memory import format_bytes
from vectrick.backends.threads import count_threads
from vectrick.data.lake.scan import ScannedEdges
from vectrick.data.lake.source import LakeError
from vectrick.losses import RankRLS, Squared
from vectrick.operators.plan import format_seconds
from vectrick.passes.host import HostPasses
from vectrick.solvers import OnePass, as_solver
from vectrick.streaming.features import expected_rank
from vectrick.training.fitted import Trainable

_PASSES = {"one-pass": 1, "quadratic": 8, "other": 40}  # of a usual fit; docs/guide/scale.md has measurements
_ROUND_TRIP = 0.04  # seconds of overhead for a pass on a cluster
_WORKERS = (1, 2, 4, 8, 16, 32, 64, 128)  # numbers of workers that a plan lists


@dataclass(frozen=True)
class LakePlan:
    """The estimated time and memory of a fit to a lake.

    Attributes
    ----------
    n_edges, n_partitions : int
        The numbers of edges and partitions; edges are extrapolated from the first partition that has any.
    bytes_per_edge, edge_bytes : float, int
        Bytes of one sorted edge, and of all edges.
    ranks : (int, int)
        The numbers of features of start and end vertices.
    passes : int
        The expected number of passes over the edges.
    feature_bytes : int
        Bytes of the features of all vertices and the workspace of a pass; every worker needs them.
    spilled_bytes : int
        Bytes of the edges that a single machine will keep in a file.
    reading_seconds, pass_seconds : float
        Seconds to read the whole lake, and of one pass, on this machine.
    partition_seconds : float
        Seconds of a pass over one partition by one thread.
    """

    n_edges: int
    n_partitions: int
    bytes_per_edge: float
    edge_bytes: int
    ranks: tuple[int, int]
    passes: int
    feature_bytes: int
    spilled_bytes: int
    reading_seconds: float
    pass_seconds: float
    partition_seconds: float

    @property
    def seconds(self) -> float:
        """The seconds of the whole fit on this machine."""
        return self.reading_seconds + self.passes * self.pass_seconds

    def with_workers(self, n_workers: int) -> dict[str, float]:
        """Return the seconds of a pass and of the fit, and the bytes of a worker, for workers of one thread."""
        own = -(-self.n_partitions // n_workers)
        a_pass = own * self.partition_seconds + _ROUND_TRIP
        reading = self.reading_seconds * own / self.n_partitions * count_threads()
        return {
            "workers": n_workers,
            "pass_seconds": a_pass,
            "seconds": reading + self.passes * a_pass,
            "bytes": self.feature_bytes + own * self.edge_bytes / self.n_partitions,
        }

    def _repr_html_(self) -> str:
        first, *rest = str(self).splitlines()
        return html_block(first, *map(html_note, rest))

    def __str__(self) -> str:
        spilled = f", {format_bytes(self.spilled_bytes)} of them in a file" if self.spilled_bytes else ""
        lines = [
            f"{self.n_edges:,} edges in {self.n_partitions} partitions, {self.bytes_per_edge:.1f} bytes each, "
            f"{format_bytes(self.edge_bytes)} together{spilled}",
            f"{self.ranks[0]} × {self.ranks[1]} coefficients, features and work {format_bytes(self.feature_bytes)}",
            f"reading {format_seconds(self.reading_seconds)}, then about {self.passes} passes of "
            f"{format_seconds(self.pass_seconds)}: {format_seconds(self.seconds)} on this machine",
        ]
        for n_workers in _WORKERS:
            if 1 < n_workers <= self.n_partitions:
                estimate = self.with_workers(n_workers)
                lines.append(
                    f"{n_workers} workers of one thread: {format_seconds(estimate['pass_seconds'])} a pass, "
                    f"{format_seconds(estimate['seconds'])} in all, {format_bytes(estimate['bytes'])} each"
                )
        return "\n".join(lines)


def _first_block(X: ScannedEdges) -> tuple[Any, int | None, float]:
    """Return the first block with edges, the number of source rows up to it (None if unknown), and the time."""
    n_rows: int | None = 0
    begin = time.perf_counter()
    for number, size in enumerate(X.reader.source.sizes):
        n_rows = None if size is None or n_rows is None else n_rows + size
        block, _ = X.reader.read(number)
        if len(block):
            return block, n_rows, time.perf_counter() - begin
    raise LakeError(f"{X.reader.source.name} has no edges, so there is nothing to train on")


def plan_lake(model: Trainable, X: ScannedEdges) -> LakePlan:
    """Return the plan of a fit of an estimator to a lake; it reads one partition and makes a pass over it."""
    from vectrick.streaming.fit import check_lake_fit, needed_bytes

    spec, dtype = check_lake_fit(model, X)[0], model._compute_dtype(X)
    tables, kernels = (X.start_table, X.end_table), (spec.start_kernels[0], spec.end_kernels[0])
    ranks = [expected_rank(kernel, table, model.n_components) for kernel, table in zip(kernels, tables, strict=True)]
    block, n_rows, read_seconds = _first_block(X)
    sizes = X.reader.source.sizes
    # Filters, splits and missing values are assumed to be the same in all partitions.
    n_edges = len(block) * len(sizes) if n_rows is None else round(sum(map(int, sizes)) * len(block) / n_rows)
    share = len(block) / max(1, n_edges)
    rng = np.random.default_rng(0)
    sides = [rng.random((len(table), rank)).astype(dtype) for table, rank in zip(tables, ranks, strict=True)]
    rows, cols = sides if X.reader.rows_are_start else sides[::-1]
    passes = HostPasses(rows, cols)
    n_threads = count_threads(model.n_threads)
    times = []
    for threads in (n_threads, n_threads, 1):  # the first one also compiles
        core = rng.random((rows.shape[1], cols.shape[1])).astype(dtype)
        begin = time.perf_counter()
        passes.quadratic(block, core, threads)
        times.append(time.perf_counter() - begin)
    quadratic = issubclass(model._loss_type, Squared | RankRLS)
    factor = 1.0 if quadratic else 2.0  # other losses predict, then sum
    kind = "one-pass" if isinstance(as_solver(model.solver), OnePass) else "quadratic" if quadratic else "other"
    bytes_per_edge = block.n_bytes / max(1, len(block))
    needed, edge_bytes = needed_bytes(model, X, spec, dtype), int(bytes_per_edge * n_edges)
    return LakePlan(
        n_edges=n_edges,
        n_partitions=len(sizes),
        bytes_per_edge=bytes_per_edge,
        edge_bytes=edge_bytes,
        ranks=(ranks[0], ranks[1]),
        passes=model.max_iter + 1 if model.max_iter else _PASSES[kind],
        feature_bytes=needed,
        spilled_bytes=max(0, edge_bytes - max(0, X.memory_limit - needed)),
        reading_seconds=read_seconds / max(share, 1e-12),
        pass_seconds=factor * times[1] / max(share, 1e-12),
        partition_seconds=factor * times[2],
    )
