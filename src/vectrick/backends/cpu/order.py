"""Counting pairs that two rankings put in the same order, as Numba kernels for one thread.

SciPy counts them too, within Kendall's tau, but for one list at a time: a call takes 0.3 ms however short the list is,
and there may be a million lists (the pairs of vertices of `interaction_differences`).
"""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def _inversions(values, scratch):  # type: ignore[no-untyped-def]
    """Return the number of pairs i < j with ``values[i] > values[j]``; sorts values, by merging in O(n log n)."""
    n, width, count = len(values), 1, 0
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            i, j, k = low, middle, low
            while i < middle and j < high:
                if values[j] < values[i]:
                    scratch[k] = values[j]
                    count += middle - i
                    j += 1
                else:
                    scratch[k] = values[i]
                    i += 1
                k += 1
            scratch[k : k + middle - i] = values[i:middle]
            scratch[k + middle - i : high] = values[j:high]
        values[:] = scratch[:n]
        width *= 2
    return count


@njit(nogil=True, cache=True)
def _tied_pairs(values):  # type: ignore[no-untyped-def]
    """Return the number of pairs of equal values in a sorted list."""
    total, run = 0, 1
    for i in range(1, len(values) + 1):
        if i < len(values) and values[i] == values[i - 1]:
            run += 1
        else:
            total += run * (run - 1) // 2
            run = 1
    return total


@njit(nogil=True, cache=True)
def _difference(y, score, scratch):  # type: ignore[no-untyped-def]
    """Return concordant minus discordant pairs, and pairs with different y, of lists sorted by y; sorts score."""
    n = len(y)
    tied_in_both, low = 0, 0
    for i in range(1, n + 1):
        if i == n or y[i] != y[low]:
            score[low:i].sort()  # so that a run of equal y has no inversions
            tied_in_both += _tied_pairs(score[low:i])
            low = i
    comparable = n * (n - 1) // 2 - _tied_pairs(y)
    discordant = _inversions(score, scratch)
    tied_in_score = _tied_pairs(score) - tied_in_both  # among the comparable pairs
    return comparable - 2 * discordant - tied_in_score, comparable


@njit(nogil=True, cache=True)
def order_differences(y, score, bounds, out):  # type: ignore[no-untyped-def]
    """Write concordant minus discordant pairs, and pairs with different y, of every group.

    The groups lie one after the other, ``bounds[g]`` to ``bounds[g + 1]``, each in the order of y. Changes score.
    """
    scratch = np.empty(len(y), score.dtype)
    for g in range(len(bounds) - 1):
        part = slice(bounds[g], bounds[g + 1])
        out[g, 0], out[g, 1] = _difference(y[part], score[part], scratch)


@njit(nogil=True, cache=True)
def interaction_differences(bounds, ends, y, score, y_unit, score_unit, first, last):  # type: ignore[no-untyped-def]
    """Return the sums of `order_differences` over pairs of start vertices, the first of a pair in [first, last).

    Start vertex d has the edges ``bounds[d]`` to ``bounds[d + 1]`` in the order of their ends. For two of them, the
    lists are the differences of labels and of scores at common ends, rounded to multiples of a unit: differences of
    equal numbers may differ by their rounding.
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
                order = np.argsort(of_y[:n])
                found = _difference(of_y[:n][order], of_score[:n][order], scratch)
                difference += found[0]
                comparable += found[1]
    return difference, comparable
