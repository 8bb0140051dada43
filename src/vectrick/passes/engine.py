"""What an engine is: it keeps edges, of a lake or of arrays in memory, and runs tasks over all of them in order."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from vectrick._typing import Array
from vectrick.backends import HOST, Backend
from vectrick.data.lake.counts import Counts
from vectrick.data.lake.scan import ScannedEdges
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
    backend : Backend
        Where features, cores and sums are; the edges may be elsewhere.
    """

    def __init__(self, rows_are_start: bool, shape: tuple[int, int], backend: Backend = HOST) -> None:
        self.rows_are_start, self.shape, self.backend = rows_are_start, shape, backend
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
