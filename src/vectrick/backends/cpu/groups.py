"""Sums of edge values by vertex, and addition of vertex values to edges, as Numba kernels; O(n + m) each.

NumPy's ``bincount`` and ``take`` do the same on one thread, for one index at a time and in float64 only. For the group
sums of a quarter of a million edges they take twice as long as the product with the kernel matrix between them.
"""

from collections.abc import Sequence

import numpy as np
from numba import njit

from vectrick._typing import Array
from vectrick.backends.threads import even_parts, run_tasks

_WORTH, _PARTS = 1 << 15, 8  # minimum number of edges for several parts; number of parts, each with its own sums


@njit(nogil=True, cache=True)
def _add_up(values, groups, sums, start, stop):  # type: ignore[no-untyped-def]
    for h in range(start, stop):
        sums[np.uint32(groups[h])] += values[h]


@njit(nogil=True, cache=True)
def _add_back(sums, groups, out, start, stop):  # type: ignore[no-untyped-def]
    for h in range(start, stop):
        out[h] += sums[np.uint32(groups[h])]


@njit(nogil=True, cache=True)
def _add_up_twice(values, groups, others, sums, other_sums, start, stop):  # type: ignore[no-untyped-def]
    for h in range(start, stop):
        x = values[h]
        sums[np.uint32(groups[h])] += x
        other_sums[np.uint32(others[h])] += x


@njit(nogil=True, cache=True)
def _add_back_twice(sums, groups, other_sums, others, out, start, stop):  # type: ignore[no-untyped-def]
    for h in range(start, stop):
        out[h] += sums[np.uint32(groups[h])] + other_sums[np.uint32(others[h])]


def _parts(n_edges: int) -> list[tuple[int, int]]:
    return even_parts(n_edges, _PARTS if n_edges >= _WORTH else 1)


def sums_by_group(values: Array, groupings: Sequence[tuple[Array, int]], n_threads: int) -> list[Array]:
    """Return the sums of the values of each group; a grouping is the group of every value and the number of groups.

    The parts depend only on the number of values, so any number of threads gives the same bits.
    """
    parts = _parts(len(values))
    sums = [np.zeros((max(1, len(parts)), n_groups), values.dtype) for _, n_groups in groupings]

    def task(number: int) -> None:
        if len(groupings) == 2:  # start and end vertices of the edges, in one pass
            parts_of_sum = sums[0][number], sums[1][number]
            _add_up_twice(values, groupings[0][0], groupings[1][0], *parts_of_sum, *parts[number])
            return
        for (groups, _), each in zip(groupings, sums, strict=True):
            _add_up(values, groups, each[number], *parts[number])

    run_tasks(task, len(parts), n_threads)
    return [parts_of_sum[0] if len(parts_of_sum) == 1 else parts_of_sum.sum(axis=0) for parts_of_sum in sums]


def add_by_group(spread: Sequence[tuple[Array, Array]], out: Array, n_threads: int) -> None:
    """Add the value of its group to every element of ``out``, for each pair of values and groups."""
    parts = _parts(len(out))

    def task(number: int) -> None:
        if len(spread) == 2:
            _add_back_twice(*spread[0], *spread[1], out, *parts[number])
            return
        for values, groups in spread:
            _add_back(values, groups, out, *parts[number])

    run_tasks(task, len(parts), n_threads)
