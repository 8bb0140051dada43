"""Engines of this process: over edges in memory, and over the blocks of a lake."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.backends import HOST, Backend
from vectrick.data.lake.blocks import EdgeBlock
from vectrick.data.lake.counts import Counts
from vectrick.data.lake.scan import ScannedEdges
from vectrick.passes.engine import Engine, LakeEngine, PassProgress
from vectrick.passes.host import HostPasses
from vectrick.passes.places import passes_on
from vectrick.passes.tasks import Task


class ArrayEngine(Engine):
    """Passes over edges in memory, sorted into one block."""

    def __init__(
        self, start: Array, end: Array, label: Array, weight: Array | None, sizes: tuple[int, int], n_threads: int
    ) -> None:
        rows_are_start = sizes[0] <= sizes[1]
        super().__init__(rows_are_start, sizes if rows_are_start else sizes[::-1])
        rows, cols = (start, end) if rows_are_start else (end, start)
        self.n_threads = n_threads
        self._block, self._places = EdgeBlock.placed(rows, cols, label, weight, self.shape)

    def set_features(self, start: Array, end: Array) -> None:
        """Set the features."""
        self._passes = HostPasses(*((start, end) if self.rows_are_start else (end, start)), keeps=True)

    def answers(self, task: Task) -> Iterator[Any]:
        """Run a task on the block."""
        yield task.run(self._passes, self._block, self.n_threads)

    def predictions(self, core: Array) -> Array:
        """Return the predictions of a core for all edges, in their original order."""
        self.n_passes += 1
        result: Array = self._passes.predictions(self._block, core, self.n_threads)[self._places]
        return result


class LocalEngine(LakeEngine):
    """Passes in this process, with threads inside each block; blocks beyond the memory limit are read ahead."""

    def __init__(
        self, edges: ScannedEdges, n_threads: int, progress: PassProgress | None = None, backend: Backend = HOST
    ) -> None:
        super().__init__(edges, progress)
        self.n_threads, self._maker = n_threads, backend
        self._store: Any = None

    def read(self, room: int) -> Counts:
        """Read the lake into blocks."""
        self._store = self.edges.blocks(room, lambda done, total: self.report("reading", done, total))
        return self.edges.counts

    def set_features(self, start: Array, end: Array) -> None:
        """Set the features."""
        host = HostPasses(*((start, end) if self.rows_are_start else (end, start)))
        self._passes = passes_on(host, self._maker)

    def answers(self, task: Task) -> Iterator[Any]:
        """Run a task on one block after the other."""
        for block in self._store:
            with np.errstate(over="ignore", invalid="ignore"):
                yield task.run(self._passes, block, self.n_threads)
