"""What an engine is: it keeps edges, of a lake or of arrays in memory, and runs tasks over all of them in order."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Self

from vectrick._typing import Array
from vectrick.backends import HOST, Backend
from vectrick.data.lake.counts import Counts
from vectrick.data.lake.scan import ScannedEdges
from vectrick.passes.tasks import Partial, Task, add_up

PassProgress = Callable[[str, int, int], None]  # what is done, how many partitions of it, of how many


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
        self._counter = [0]  # shared with engines of lower precision
        self._passes: Any = None

    @property
    def n_passes(self) -> int:
        """The number of passes so far."""
        return self._counter[0]

    @n_passes.setter
    def n_passes(self, number: int) -> None:
        self._counter[0] = number

    def lowered(self) -> Self:
        """Return an engine over the same edges with products in float32, by TF32 on a GPU that has it."""
        low = copy.copy(self)
        low._passes = self._passes.lowered()
        return low

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

    def __init__(self, edges: ScannedEdges, progress: PassProgress | None = None) -> None:
        super().__init__(edges.reader.rows_are_start, edges.reader.shape)
        self.edges, self.progress = edges, progress

    @abstractmethod
    def read(self, room: int) -> Counts:
        """Read the lake, unless that was done, and return what was found; ``room`` bytes of edges stay in memory."""

    def told(self, what: str, done: int, total: int) -> None:
        """Report progress."""
        if self.progress is not None:
            self.progress(what, done, total)
