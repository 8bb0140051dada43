"""Problems in data: repeated edges, labels without direction, copies of vertices, very different scales."""

import itertools
from typing import Any

import numpy as np
from scipy.sparse import issparse

from vectrick._typing import Array
from vectrick.data.edges import Edges
from vectrick.data.tables import VertexTable

_UNEVEN = 100  # ratio of the standard deviations of two columns from which on scales are very different


class DataWarning(UserWarning):
    """The data have a problem that harms models or scores, and that you can fix.

    Examples
    --------
    >>> import warnings, numpy as np, vectrick as vt
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     X = vt.Edges([0, 0, 1], [0, 0, 1], np.eye(2), np.eye(2))
    ...     model = vt.KronRidge().fit(X, [1.0, 1.0, 2.0])
    >>> caught[0].category.__name__
    'DataWarning'
    """


def reported_on(table: VertexTable) -> set[str]:
    """Return the set of warnings that were given about a table; callers add to it."""
    reported: set[str] = table.__dict__.setdefault("_told", set())
    return reported


def repeated_edges(X: Edges, y: Array) -> str | None:
    """Return a message with the number of repeated edges, and of repeated edges with other labels; None if none.

    >>> import numpy as np, vectrick as vt
    >>> repeated_edges(vt.Edges([0, 0, 1], [1, 1, 0], np.eye(2), np.eye(2)), np.array([1.0, -1.0, 1.0]))
    '1 edges repeat another one, 1 of them with another label'
    """
    key = X.start.astype(np.int64) * len(X.end_table) + X.end
    if not (np.diff(np.sort(key)) == 0).any():
        return None
    order = np.argsort(key, kind="stable")
    same = np.flatnonzero(np.diff(key[order]) == 0)
    other = int((y[order[same]] != y[order[same + 1]]).sum())
    return f"{len(same)} edges repeat another one, {other} of them with another label"


def reverse_labels(X: Edges, y: Array) -> str:
    """Return the relation between the labels of edges that occur in both directions.

    Returns
    -------
    str
        "equal", "opposite", "different", or "unknown" if no edge of the vertex set occurs in both directions.

    >>> import numpy as np, vectrick as vt
    >>> X = vt.Edges([0, 1, 2], [1, 0, 0], np.eye(3), None)
    >>> reverse_labels(X, np.array([1.0, 1.0, -1.0]))
    'equal'
    """
    size = len(X.end_table)
    forth, back = X.start.astype(np.int64) * size + X.end, X.end.astype(np.int64) * size + X.start
    order = np.argsort(forth, kind="stable")
    place = np.minimum(np.searchsorted(forth, back, sorter=order), len(forth) - 1)
    other = order[place]
    both = (forth[other] == back) & (X.start != X.end)
    if not both.any():
        return "unknown"
    first, second = y[both], y[other[both]]
    if np.allclose(first, second):
        return "equal"
    return "opposite" if np.allclose(first, -second) else "different"


def copies(table: VertexTable) -> str | None:
    """Return a message with the number of vertices that have the same features as an earlier one; None if none.

    >>> import numpy as np
    >>> copies(VertexTable(np.array([[1.0], [2.0], [1.0]]), "users"))
    '1 vertices of users have the same features as another one'
    """
    table = table.without_numbers()
    if issparse(table.features):
        bounds = table.features.indptr
        parts = table.features.indices, table.features.data
        rows = {tuple(part[low:high].tobytes() for part in parts) for low, high in itertools.pairwise(bounds)}
    else:
        rows = {row.tobytes() for row in np.asarray(table.features)}
    count = len(table) - len(rows)
    return f"{count} vertices of {table.name} have the same features as another one" if count else None


def uneven_scales(table: VertexTable) -> str | None:
    """Return a message about columns with very different scales; None if there are none.

    >>> import numpy as np
    >>> uneven_scales(VertexTable(np.array([[0.0, 0.0], [1.0, 1e4]]), "users"))
    'columns of users have very different scales (column 1 varies by 5e+03, column 0 by 0.5)'
    """
    table = table.without_numbers()
    features: Any = table.features
    if issparse(features) or not features.shape[1]:
        return None
    spread = features.std(axis=0)
    if not (spread > 0).any():
        return None
    spread = np.where(spread > 0, spread, np.nan)
    low, high = int(np.nanargmin(spread)), int(np.nanargmax(spread))
    if spread[high] < _UNEVEN * spread[low]:
        return None
    names = [f"column {at}" if table.columns is None else repr(table.columns[at]) for at in (high, low)]
    return (
        f"columns of {table.name} have very different scales ({names[0]} varies by {spread[high]:.3g}, {names[1]} by "
        f"{spread[low]:.3g})"
    )
