"""Checks for antisymmetric kernels: labels must change their sign when an edge is reversed."""

import numpy as np

from vectrick._typing import Array
from vectrick.backends.arrays import to_host
from vectrick.data.edges import Edges


def check_signs(edges: Edges, labels: Array | None, weight: Array | None, name: str) -> None:
    """Raise an error for edges that contradict an antisymmetric kernel: loops, and reverses with the same sign.

    Edges with zero weight are ignored. ``labels`` is None if signs have no meaning. ``name`` is the kernel's name.
    """
    counts = np.ones(len(edges), bool) if weight is None else np.asarray(to_host(weight > 0))
    loops = np.flatnonzero(np.asarray(to_host(edges.start == edges.end)) & counts)
    if len(loops):
        at = int(loops[0])
        raise ValueError(
            f"edge {at} joins {edges.start_table.label(int(edges.start[at]))} to itself ({len(loops)} edges do), "
            f"but with pairwise={name!r} every prediction for such an edge is zero; leave them out"
        )
    if labels is not None:
        _check_reverse(edges, np.asarray(to_host(labels)), counts)


def _check_reverse(edges: Edges, labels: Array, counts: Array) -> None:
    """Raise an error if an edge and its reverse have labels of the same sign, on average over repeated edges."""
    start, end, y = (np.asarray(to_host(x))[counts] for x in (edges.start, edges.end, labels))
    size = len(edges.start_table)
    low, high = np.minimum(start, end).astype(np.int64), np.maximum(start, end)
    pairs, place = np.unique(low * size + high, return_inverse=True)
    turned = start > end
    times = [np.bincount(place[part], minlength=len(pairs)) for part in (turned, ~turned)]
    sums = [np.bincount(place[part], y[part], len(pairs)) for part in (turned, ~turned)]
    both = (times[0] > 0) & (times[1] > 0)
    means = [total[both] / count[both] for total, count in zip(sums, times, strict=True)]
    wrong = np.flatnonzero(means[0] * means[1] > 0)
    if len(wrong):
        i, j = divmod(int(pairs[both][wrong[0]]), size)
        names = edges.start_table.label(i), edges.start_table.label(j)
        raise ValueError(
            f"the edge from {names[0]} to {names[1]} has the label {means[1][wrong[0]]:.6g} and its reverse "
            f"{means[0][wrong[0]]:.6g} ({len(wrong)} edges are like that), but an antisymmetric kernel is for labels "
            "that change their sign when an edge is reversed. If these are several results of one pair, write all of "
            "them in one direction, and change the sign of the label of each edge that you reverse. For labels that do "
            "not depend on the direction, use pairwise='symmetric'"
        )
