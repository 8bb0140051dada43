"""Holding out vertices once: which edges train, and which are tested, by what is new about them."""

import itertools
from dataclasses import dataclass
from numbers import Real

import numpy as np

from vectrick._typing import Array
from vectrick.data import Edges
from vectrick.data.splits import hold_out_labeled


@dataclass(frozen=True)
class Holdout:
    """Which edges train, and which are held out, by what is new about them."""

    train: Array
    tests: dict[str, Array]  # "both", "start", "end": positions of edges that do not train; one vertex set has no "end"

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
        How many different labels both the training edges and those with two new vertices must have.

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
    """Return masks of all edges by which of their vertices no training edge has; one vertex set has no "end".

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
    # The edges of one vertex set have one new vertex or the other: one setting.
    one = {"start": start ^ end} if X.is_one_set else {"start": start & ~end, "end": end & ~start}
    return {"both": start & end, **one, "neither": ~start & ~end}
