"""Engines: they read the partitions of a lake, keep them as blocks, and run tasks over all of them in order."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.backends import HOST, Backend
from vectrick.data.lake.counts import Counts
from vectrick.data.lake.scan import ScannedEdges
from vectrick.passes.host import HostPasses
from vectrick.passes.places import passes_on
from vectrick.passes.tasks import Partial, Task, add_up

Progress = Callable[[str, int, int], None]  # what is done, how many partitions of it, of how many


class Engine(ABC):
    """Passes over the edges of a lake. ``n_passes`` counts them."""

    def __init__(self, edges: ScannedEdges, progress: Progress | None = None) -> None:
        self.edges, self.progress = edges, progress
        self.n_passes = 0

    @property
    def rows_are_start(self) -> bool:
        """Whether the rows of blocks are start vertices."""
        return self.edges.reader.rows_are_start

    @abstractmethod
    def read(self, room: int) -> Counts:
        """Read the lake, unless that was done, and return what was found; ``room`` bytes of edges stay in memory."""

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

    def told(self, what: str, done: int, total: int) -> None:
        """Report progress."""
        if self.progress is not None:
            self.progress(what, done, total)


class LocalEngine(Engine):
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
