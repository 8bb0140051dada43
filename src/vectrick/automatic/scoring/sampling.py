"""A sample of the vertices of a large graph, small enough for the eigenvectors of its kernels."""

import numpy as np

from vectrick._typing import Array
from vectrick.data import Edges

MOST = 2500  # vertices of a side, for solutions
FEW, ENOUGH_EDGES = 900, 30_000  # vertices of a side for the first scores, if at least so many edges remain


def sampled(X: Edges, rng: np.random.Generator, most: int = MOST) -> Array | None:
    """Return the edges between at most ``most`` vertices of each side; None if no sampling is needed.

    Vertices are drawn with probabilities proportional to their number of edges, so that many edges remain.

    >>> import vectrick as vt
    >>> X, _ = vt.datasets.make_checkerboard(100, random_state=0)
    >>> rows = sampled(X, np.random.default_rng(0), 50)
    >>> len(np.unique(X.start[rows])), sampled(X, np.random.default_rng(0)) is None
    (50, True)
    """
    kept = np.ones(len(X), bool)
    if X.is_one_set:
        chosen = _drawn(np.concatenate([X.start, X.end]), rng, most)
        if chosen is None:
            return None
        kept = chosen[X.start] & chosen[X.end]
        return np.flatnonzero(kept)
    for vertices in (X.start, X.end):
        chosen = _drawn(vertices, rng, most)
        if chosen is not None:
            kept &= chosen[vertices]
    return None if kept.all() else np.flatnonzero(kept)


def _drawn(vertices: Array, rng: np.random.Generator, most: int) -> Array | None:
    """Return a mask of drawn vertices; None if no sampling is needed."""
    degrees = np.bincount(vertices).astype(np.float64)
    if np.count_nonzero(degrees) <= most:
        return None
    mask = np.zeros(len(degrees), bool)
    mask[rng.choice(len(degrees), most, replace=False, p=degrees / degrees.sum())] = True
    return mask
