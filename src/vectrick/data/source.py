"""The common interface of edges in memory and edges of a lake."""

from typing import Protocol, TypeAlias, TypeGuard, runtime_checkable

from vectrick._typing import Array
from vectrick.data.edges import EdgesLike
from vectrick.data.lake.scan import ScannedEdges
from vectrick.data.tables import VertexTable

# Whatever estimators take as X.
AnyEdges: TypeAlias = EdgesLike | ScannedEdges


@runtime_checkable
class EdgeSource(Protocol):
    """Edges for fits, predictions, scores and plans: `Edges` and `ScannedEdges`.

    >>> import numpy as np, vectrick as vt
    >>> X = vt.Edges([0, 1, 1], [2, 0, 1], np.eye(2), np.eye(3))
    >>> isinstance(X, EdgeSource), X.count(), X.degrees()[0]
    (True, 3, array([1, 2]))
    """

    start_table: VertexTable
    end_table: VertexTable

    @property
    def is_one_set(self) -> bool:
        """Whether both ends come from one vertex set."""

    def count(self) -> int:
        """Return the number of edges."""

    def degrees(self) -> tuple[Array, Array]:
        """Return the number of edges of each start and of each end vertex."""


def is_lake(X: object) -> TypeGuard[ScannedEdges]:
    """Return whether edges belong to a lake: they include labels and weights, and are read in passes."""
    return isinstance(X, ScannedEdges)
