"""Numba kernels for one thread that count the pairs with the same order in two rankings.

SciPy also counts them for Kendall's tau, but for one list at a time: a call takes 0.3 ms even for a short list, and
there may be a million lists (the pairs of vertices of `interaction_differences`). The kernels are plain loops over
bounds, because Numba needs 6 s instead of 1 s to compile slices and sorting.
"""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def _inversions(values, scratch, low, high):  # type: ignore[no-untyped-def]
    """Return the number of pairs i < j in [low, high) with ``values[i] > values[j]``; sort the values."""
    width, count = 1, 0
    while width < high - low:
        left = low
        while left < high:
            middle, right = min(left + width, high), min(left + 2 * width, high)
            i, j = left, middle
            for k in range(left, right):
                if i < middle and (j >= right or values[i] <= values[j]):
                    scratch[k] = values[i]
                    i += 1
                else:
                    scratch[k] = values[j]
                    count += middle - i
                    j += 1
            left = right
        for k in range(low, high):
            values[k] = scratch[k]
        width *= 2
    return count


@njit(nogil=True, cache=True)
def _tied_pairs(values, low, high):  # type: ignore[no-untyped-def]
    """Return the number of pairs of equal values in a sorted part."""
    total, run = 0, 1
    for i in range(low + 1, high + 1):
        if i < high and values[i] == values[i - 1]:
            run += 1
        else:
            total += run * (run - 1) // 2
            run = 1
    return total


@njit(nogil=True, cache=True)
def _difference(y, score, scratch, start, stop):  # type: ignore[no-untyped-def]
    """Return concordant minus discordant pairs in [start, stop), and pairs with different y.

    The part must be sorted by y. The function sorts score.
    """
    n = stop - start
    tied_in_both, low = 0, start
    for i in range(start + 1, stop + 1):
        if i == stop or y[i] != y[low]:
            _inversions(score, scratch, low, i)  # after sorting, a run of equal y has no inversions
            tied_in_both += _tied_pairs(score, low, i)
            low = i
    comparable = n * (n - 1) // 2 - _tied_pairs(y, start, stop)
    discordant = _inversions(score, scratch, start, stop)
    tied_in_score = _tied_pairs(score, start, stop) - tied_in_both  # among the comparable pairs
    return comparable - 2 * discordant - tied_in_score, comparable


@njit(nogil=True, cache=True)
def order_differences(y, score, bounds, out):  # type: ignore[no-untyped-def]
    """Write concordant minus discordant pairs, and pairs with different y, of every group.

    Group g has the places ``bounds[g]`` to ``bounds[g + 1]`` and must be sorted by y. The function changes score.
    """
    scratch = np.empty(len(y), score.dtype)
    for g in range(len(bounds) - 1):
        out[g, 0], out[g, 1] = _difference(y, score, scratch, bounds[g], bounds[g + 1])


@njit(nogil=True, cache=True)
def _sort_pairs(y, score, n):  # type: ignore[no-untyped-def]
    """Sort the first n pairs by y with a heap, without extra memory."""
    for end in range(n - 1, -1, -1):  # build the heap; the next loop moves its root to the end
        _sift(y, score, end, n)
    for end in range(n - 1, 0, -1):
        y[0], y[end] = y[end], y[0]
        score[0], score[end] = score[end], score[0]
        _sift(y, score, 0, end)


@njit(nogil=True, cache=True)
def _sift(y, score, root, n):  # type: ignore[no-untyped-def]
    """Move a pair down until none below it is larger."""
    while 2 * root + 1 < n:
        child = 2 * root + 1
        after = child + 1
        if after < n and y[after] > y[child]:
            child = after
        if y[root] >= y[child]:
            return
        y[root], y[child] = y[child], y[root]
        score[root], score[child] = score[child], score[root]
        root = child


@njit(nogil=True, cache=True)
def interaction_differences(bounds, ends, y, score, y_unit, score_unit, first, last):  # type: ignore[no-untyped-def]
    """Return the sums of `order_differences` over pairs of start vertices, the first of a pair in [first, last).

    Start vertex d has the edges ``bounds[d]`` to ``bounds[d + 1]`` sorted by end vertex. For two start vertices,
    the lists are the differences of labels and of scores at common end vertices. They are rounded to multiples of a
    unit, because equal differences may have different rounding errors.
    """
    difference, comparable = 0, 0
    longest = 0
    for d in range(len(bounds) - 1):
        longest = max(longest, bounds[d + 1] - bounds[d])
    of_y, of_score, scratch = np.empty(longest), np.empty(longest), np.empty(longest)
    for d in range(first, last):
        for other in range(d):
            i, j, n = bounds[d], bounds[other], 0
            while i < bounds[d + 1] and j < bounds[other + 1]:
                if ends[i] < ends[j]:
                    i += 1
                elif ends[j] < ends[i]:
                    j += 1
                else:
                    of_y[n] = np.rint((y[i] - y[j]) / y_unit)
                    of_score[n] = np.rint((score[i] - score[j]) / score_unit)
                    n, i, j = n + 1, i + 1, j + 1
            if n > 1:
                _sort_pairs(of_y, of_score, n)
                own = _difference(of_y, of_score, scratch, 0, n)
                difference += own[0]
                comparable += own[1]
    return difference, comparable
