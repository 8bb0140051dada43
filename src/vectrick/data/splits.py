"""Which edges a split of the vertices keeps: the parts share no vertex, and edges between them are left out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vectrick.data.edges import Edges

Array = NDArray[Any]


def hold_out_vertices(edges: Edges, fraction: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return masks of the edges to train on and of those to test on, which join held-out vertices only.

    ``fraction`` of the vertices that occur on each side is held out, at least one; of one vertex set, a vertex is held
    out wherever it appears. Edges that join a held-out vertex to another are in neither mask.

    >>> import numpy as np, vectrick as vt
    >>> X = vt.Edges.grid(np.eye(4), np.eye(4))
    >>> train, test = hold_out_vertices(X, 0.5, np.random.default_rng(0))
    >>> train.sum(), test.sum()
    (np.int64(4), np.int64(4))
    """
    if edges.is_one_set:
        held = _draw(np.concatenate([edges.start, edges.end]), len(edges.start_table), fraction, rng)
        new_start, new_end = held[edges.start], held[edges.end]
    else:
        new_start = _draw(edges.start, len(edges.start_table), fraction, rng)[edges.start]
        new_end = _draw(edges.end, len(edges.end_table), fraction, rng)[edges.end]
    return ~new_start & ~new_end, new_start & new_end


def _draw(vertices: Array, size: int, fraction: float, rng: np.random.Generator) -> Array:
    used = np.unique(vertices)
    held = np.zeros(size, bool)
    held[rng.choice(used, max(1, round(fraction * len(used))), replace=False)] = True
    return held
