"""Parts of a split of a lake: training or test edges, selected when they are read."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vectrick._typing import Array


@dataclass(frozen=True)
class Part:
    """The edges of a lake that belong to one part of a split.

    Attributes
    ----------
    held_start, held_end : array, optional
        Masks of the held-out vertices of each side; None if no vertex is held out.
    ends : tuple of pairs
        Pairs of "start is held out" and "end is held out"; an edge of the part matches one of the pairs.
    share : (float, float)
        The interval in [0, 1) of the hashes of edges in the part; copies of an edge have the same hash.
    one_set : bool
        Whether both ends come from one vertex set. If so, an edge and its reverse stay together, too.
    seed : int
        The seed of the hash.
    """

    held_start: Array | None = None
    held_end: Array | None = None
    ends: tuple[tuple[bool, bool], ...] = ((False, False),)
    share: tuple[float, float] = (0.0, 1.0)
    seed: int = 0
    one_set: bool = False

    def mask(self, start: Array, end: Array) -> Array:
        """Return a mask of the edges that belong to the part."""
        new_start: Any = False if self.held_start is None else self.held_start[start]
        new_end: Any = False if self.held_end is None else self.held_end[end]
        kept = np.zeros(len(start), bool)
        for of_start, of_end in self.ends:
            kept |= (new_start == of_start) & (new_end == of_end)
        if self.share != (0.0, 1.0):
            if self.one_set:
                start, end = np.minimum(start, end), np.maximum(start, end)
            place = _hashed(start, end, self.seed)
            kept &= (place >= self.share[0]) & (place < self.share[1])
        return kept


def _hashed(start: Array, end: Array, seed: int) -> Array:
    """Return a pseudorandom number in [0, 1) for each pair (the finalizer of SplitMix64)."""
    with np.errstate(over="ignore"):
        x = (start.astype(np.uint64) << np.uint64(32)) | end.astype(np.uint64)
        x += np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    return (x >> np.uint64(11)).astype(np.float64) / 2.0**53
