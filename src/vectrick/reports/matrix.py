"""The matrix of predictions: a part of it for a heat map, and the best pairs that are not known edges."""

from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage

from vectrick._typing import Array
from vectrick.backends import HOST
from vectrick.data import Edges
from vectrick.estimators import KronEstimator

_CELLS = 250_000  # cells of a heat map
_CLUSTERED = 2000  # maximum number of vertices to cluster
_PAIRS = 100_000_000  # maximum number of pairs to search for the best


@dataclass(frozen=True)
class MatrixExcerpt:
    """A part of the matrix of predictions, with similar vertices side by side."""

    starts: Array  # rows of the start table
    ends: Array
    scores: Array
    is_all: bool


def shown_part(model: KronEstimator, X: Edges) -> MatrixExcerpt:
    """Return the predictions for all vertices or, if there are too many, for the vertices with the most edges."""
    tables = X.start_table, X.end_table
    sizes = _sizes(len(tables[0]), len(tables[1]))
    rows = [
        np.argsort(-np.bincount(vertices, minlength=len(table)), kind="stable")[:size]
        for vertices, table, size in zip((X.start, X.end), tables, sizes, strict=True)
    ]
    scores = model.predict_grid(tables[0].take(rows[0]), tables[1].take(rows[1]))
    first, second = _order(scores), _order(scores.T)
    is_all = sizes == (len(tables[0]), len(tables[1]))
    return MatrixExcerpt(rows[0][first], rows[1][second], scores[first][:, second], is_all)


def _sizes(m: int, q: int) -> tuple[int, int]:
    """Return how many start and end vertices to show."""
    if m * q <= _CELLS:
        return m, q
    side = int(_CELLS**0.5)
    if min(m, q) <= side:
        return (m, _CELLS // m) if m <= q else (_CELLS // q, q)
    return side, side


def _order(scores: Array) -> Array:
    """Return an order of the rows in which similar rows are neighbors."""
    if len(scores) < 3 or np.ptp(scores) == 0:
        return np.arange(len(scores))
    if len(scores) > _CLUSTERED:
        return np.argsort(scores.mean(axis=1), kind="stable")
    return np.asarray(leaves_list(linkage(scores, "average")))


def best_new(model: KronEstimator, X: Edges, count: int, per_vertex: int = 0) -> tuple[Array, Array, Array]:
    """Return the start vertices, end vertices and scores of the best pairs that are not edges of X.

    With ``per_vertex``, the result also has that many of the best partners of every start and of every end vertex. In
    one vertex set, a vertex is not paired with itself. If the kernel is symmetric, each pair occurs once; if it
    is symmetric or antisymmetric, the reverse of an edge is not new. If there are too many pairs to search, only
    the start vertices with the most edges are searched.
    """
    tables = X.start_table, X.end_table
    symmetry = model.predictor_.kernel.symmetry
    if symmetry:
        X = Edges._of(np.concatenate([X.start, X.end]), np.concatenate([X.end, X.start]), *tables)
    n_start = min(len(tables[0]), max(1, _PAIRS // max(1, len(tables[1]))))
    taken = np.sort(np.argsort(-np.bincount(X.start, minlength=len(tables[0])), kind="stable")[:n_start])
    place = np.full(len(tables[0]), -1)
    place[taken] = np.arange(n_start)
    known = place[X.start] >= 0
    start, end = place[X.start][known], X.end[known]
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    best = np.empty((0, 3))
    of_start, of_end = _Best(n_start, per_vertex), _Best(len(tables[1]), per_vertex)
    for rows, cols, block in model.iter_grid(tables[0].take(taken), tables[1]):
        part = slice(*np.searchsorted(start, [rows.start, rows.stop]))
        inside = (end[part] >= cols.start) & (end[part] < cols.stop)
        block[start[part][inside] - rows.start, end[part][inside] - cols.start] = -np.inf
        if X.is_one_set:
            vertices = taken[rows][:, None]
            others = np.arange(cols.start, cols.stop)
            twice = (vertices > others) & np.isin(others, taken) if symmetry > 0 else False
            block[(vertices == others) | twice] = -np.inf
        if per_vertex:
            of_start.take_in(rows, cols, block)
            of_end.take_in(cols, rows, block.T)
        flat = block.ravel()
        top = np.argpartition(flat, -count)[-count:] if len(flat) > count else np.arange(len(flat))
        i, j = np.divmod(top, block.shape[1])
        block_best = np.column_stack([taken[rows.start + i], cols.start + j, flat[top]])
        best = np.vstack([best, block_best[np.isfinite(block_best[:, 2])]])
        best = best[np.argsort(-best[:, 2], kind="stable")[:count]]
    if per_vertex:
        starts, ends = of_start.pairs(), of_end.pairs()[:, [1, 0, 2]]
        both = np.vstack([starts, ends])
        both[:, 0] = taken[both[:, 0].astype(int)]
        best = np.vstack([best, both])
        _, once = np.unique(best[:, 0] * len(tables[1]) + best[:, 1], return_index=True)
        best = best[np.sort(once)]
        best = best[np.argsort(-best[:, 2], kind="stable")]
    return best[:, 0].astype(int), best[:, 1].astype(int), best[:, 2]


class _Best:
    """The best columns of every row of a grid that is computed in blocks."""

    def __init__(self, n_rows: int, k: int) -> None:
        self.which, self.scores = np.full((n_rows, k), -1, np.int64), np.full((n_rows, k), -np.inf)

    def take_in(self, rows: slice, cols: slice, block: Array) -> None:
        """Update the best columns with one more block."""
        self.which[rows], self.scores[rows] = HOST.best_of(self.which[rows], self.scores[rows], cols, block)

    def pairs(self) -> Array:
        """Return rows, columns and scores."""
        rows, ranks = np.nonzero(np.isfinite(self.scores))
        return np.column_stack([rows, self.which[rows, ranks], self.scores[rows, ranks]])
