"""The base class of engines: they keep edges, of a lake or in memory, and run tasks on all blocks in order."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Self

from vectrick._typing import Array
from vectrick.backends import HOST, Backend
from vectrick.data.lake.counts import Counts
from vectrick.data.lake.scan import ScannedEdges
from vectrick.passes.tasks import Partial, Task, add_up

PassProgress = Callable[[str, int, int], None]  # the work, the partitions done, and their total number


class Engine(ABC):
    """Passes over blocks of edges. ``n_passes`` counts them.

    Parameters
    ----------
    rows_are_start : bool
        Whether the rows of blocks are start vertices.
    shape : (int, int)
        The numbers of vertices of rows and columns.
    backend : Backend
        The backend of features, cores and sums; the edges may be elsewhere.
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
        """Set the features of both sides, a row for each vertex of the table."""

    @abstractmethod
    def answers(self, task: Task) -> Iterator[Any]:
        """Yield the results of the blocks, in their order; this is a pass."""

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
        """Read the lake if necessary, and return its counts; ``room`` bytes of edges stay in memory."""

    def report(self, what: str, done: int, total: int) -> None:
        """Report progress."""
        if self.progress is not None:
            self.progress(what, done, total)
