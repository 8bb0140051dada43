"""Engines: they keep edges as blocks, of a lake or of arrays in memory, and run tasks over all of them in order."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.backends import HOST, Backend
from vectrick.data.lake.blocks import EdgeBlock
from vectrick.data.lake.counts import Counts
from vectrick.data.lake.scan import ScannedEdges
from vectrick.passes.host import HostPasses
from vectrick.passes.places import passes_on
from vectrick.passes.tasks import Partial, Task, add_up

Progress = Callable[[str, int, int], None]  # what is done, how many partitions of it, of how many


class Engine(ABC):
    """Passes over blocks of edges. ``n_passes`` counts them.

    Parameters
    ----------
    rows_are_start : bool
        Whether the rows of blocks are start vertices.
    shape : (int, int)
        The numbers of vertices of rows and columns.
    """

    def __init__(self, rows_are_start: bool, shape: tuple[int, int]) -> None:
        self.rows_are_start, self.shape = rows_are_start, shape
        self.n_passes = 0

    @abstractmethod
    def set_features(self, start: Array, end: Array) -> None:
        """Give both sides their features, a row for each vertex of the table."""

    @abstractmethod
    def answers(self, task: Task) -> Iterator[Any]:
        """Yield what the blocks answer, in their order; this is a pass."""

    def total(self, task: Task) -> Partial:
        """Return the sums over all blocks."""
        self.n_passes += 1
        return add_up(self.answers(task))


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
        """Keep the features."""
        self._passes = HostPasses(*((start, end) if self.rows_are_start else (end, start)))

    def answers(self, task: Task) -> Iterator[Any]:
        """Run a task on the block."""
        yield task.run(self._passes, self._block, self.n_threads)

    def predictions(self, core: Array) -> Array:
        """Return the predictions of a core for all edges, in their own order."""
        self.n_passes += 1
        return self._passes.predictions(self._block, core, self.n_threads)[self._places]


class LakeEngine(Engine):
    """Passes over the edges of a lake."""

    def __init__(self, edges: ScannedEdges, progress: Progress | None = None) -> None:
        super().__init__(edges.reader.rows_are_start, edges.reader.shape)
        self.edges, self.progress = edges, progress

    @abstractmethod
    def read(self, room: int) -> Counts:
        """Read the lake, unless that was done, and return what was found; ``room`` bytes of edges stay in memory."""

    def told(self, what: str, done: int, total: int) -> None:
        """Report progress."""
        if self.progress is not None:
            self.progress(what, done, total)


class LocalEngine(LakeEngine):
    """Passes in this process, with threads inside each block; blocks beyond the memory limit are read ahead."""

    def __init__(
        self, edges: ScannedEdges, n_threads: int, progress: Progress | None = None, backend: Backend = HOST
    ) -> None:
        super().__init__(edges, progress)
        self.n_threads, self.backend = n_threads, backend
        self._passes: Any = None
        self._store: Any = None

    def read(self, room: int) -> Counts:
        """Read the lake into blocks."""
        self._store = self.edges.blocks(room, lambda done, total: self.told("reading", done, total))
        return self.edges.counts

    def set_features(self, start: Array, end: Array) -> None:
        """Keep the features."""
        host = HostPasses(*((start, end) if self.rows_are_start else (end, start)))
        self._passes = passes_on(host, self.backend)

    def answers(self, task: Task) -> Iterator[Any]:
        """Run a task on one block after the other."""
        for block in self._store:
            with np.errstate(over="ignore", invalid="ignore"):
                yield task.run(self._passes, block, self.n_threads)
