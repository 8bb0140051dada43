"""One hold-out of vertices: the training edges, and the test edges of each setting."""

import itertools
from dataclasses import dataclass
from numbers import Real

import numpy as np

from vectrick._typing import Array
from vectrick.data import Edges
from vectrick.data.splits import hold_out_labeled


@dataclass(frozen=True)
class Holdout:
    """The positions of the training edges, and of the held-out edges of each setting."""

    train: Array
    tests: dict[str, Array]  # positions for "both", "start" and "end"; one vertex set has no "end"

    @property
    def n_left_out(self) -> int:
        """The number of edges with one held-out vertex."""
        return sum(len(rows) for new, rows in self.tests.items() if new != "both")


def hold_out(X: Edges, y: Array, fraction: float = 0.25, seed: int = 0, n_labels: int = 2) -> Holdout:
    """Hold out a share of the vertices of each side, so that both parts have edges with different labels.

    Parameters
    ----------
    X, y : Edges, array
        Edges and labels.
    fraction : float
        The share of the vertices, between 0 and 1.
    seed : int
        The seed of the division.
    n_labels : int
        The least number of different labels of the training edges, and of the edges with two new vertices.

    Examples
    --------
    >>> import vectrick as vt
    >>> X, y = vt.datasets.make_checkerboard(40, random_state=0)
    >>> held = hold_out(X, y)
    >>> sorted(held.tests), len(held.train) + held.n_left_out + len(held.tests["both"]) == len(X)
    (['both', 'end', 'start'], True)
    """
    if isinstance(fraction, bool) or not isinstance(fraction, Real) or not 0 < fraction < 1:
        raise ValueError(f"fraction is {fraction!r}, but it must be between 0 and 1")
    generators = (np.random.default_rng([seed, attempt]) for attempt in itertools.count())
    train, both = hold_out_labeled(X, y, fraction, generators, n_labels)
    rest = ~train & ~both
    tests = {new: both if new == "both" else rest & mask for new, mask in by_setting(X, train).items()}
    del tests["neither"]
    return Holdout(np.flatnonzero(train), {new: np.flatnonzero(mask) for new, mask in tests.items()})


def by_setting(X: Edges, train: Array) -> dict[str, Array]:
    """Return a mask of all edges for each setting, given the training edges; one vertex set has no "end".

    >>> import numpy as np, vectrick as vt
    >>> X = vt.Edges([0, 0, 1, 1], [0, 1, 0, 1], np.eye(2), np.eye(2))
    >>> {new: np.flatnonzero(mask).tolist() for new, mask in by_setting(X, np.arange(4) == 0).items()}
    {'both': [3], 'start': [2], 'end': [1], 'neither': [0]}
    """
    known_start, known_end = (
        np.isin(np.arange(len(table)), vertices[train])
        for table, vertices in ((X.start_table, X.start), (X.end_table, X.end))
    )
    if X.is_one_set:
        known_start = known_end = known_start | known_end
    start, end = ~known_start[X.start], ~known_end[X.end]
    # In one vertex set, edges with a new start or a new end vertex have the same setting.
    one = {"start": start ^ end} if X.is_one_set else {"start": start & ~end, "end": end & ~start}
    return {"both": start & end, **one, "neither": ~start & ~end}
