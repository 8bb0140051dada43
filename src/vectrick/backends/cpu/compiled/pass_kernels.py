"""Numba kernels for one thread that compute predictions and sums of features in one pass over sorted edges.

Edges are stored by tile; ``row`` and ``col`` are places in a tile. ``L`` has a row of coefficients for each row
vertex, ``C`` the features of the column vertices, ``S`` a row of sums for each row vertex; rows of ``L`` and ``S``
begin at ``low``. A row of ``S`` adds its edges in their order, for any division among threads.
"""

import numpy as np
from numba import njit

# NaN must stay NaN: no "nnan", no "ninf".
_FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


@njit(nogil=True, cache=True, fastmath=_FASTMATH)
def _dots(x, C, a, b, c, d):  # type: ignore[no-untyped-def]
    """Return the products of x with four rows of C."""
    p = q = r = s = C.dtype.type(0)
    for k in range(C.shape[1]):
        p += x[k] * C[a, k]
        q += x[k] * C[b, k]
        r += x[k] * C[c, k]
        s += x[k] * C[d, k]
    return p, q, r, s


@njit(nogil=True, cache=True, fastmath=_FASTMATH)
def _add(x, C, a, b, c, d, p, q, r, s):  # type: ignore[no-untyped-def]
    """Add multiples of four rows of C to x."""
    for k in range(C.shape[1]):
        x[k] += (p * C[a, k] + q * C[b, k]) + (r * C[c, k] + s * C[d, k])


@njit(nogil=True, cache=True, fastmath=_FASTMATH)
def quadratic(L, C, S, row, col, weight, with_weight, low, row0, col0, first, stop):  # type: ignore[no-untyped-def]
    """Add ``h p ψ`` to the sums of the row of each edge, with ``p = L · ψ``.

    Four edges of a row share the loads of ``L`` and ``S``: with 64 features or more, this takes 0.65 to 0.8 of the
    time of one edge after the other. (The loops of losses would gain a tenth at most, because computing the loss takes
    as long as the features.)
    """
    rank = C.shape[1]
    h = first
    while h < stop:
        end = h + 1
        while end < stop and row[end] == row[h]:
            end += 1
        i = row0 + np.int64(row[h]) - low
        here, sums = L[i], S[i]
        while h + 4 <= end:
            a, b = col0 + np.int64(col[h]), col0 + np.int64(col[h + 1])
            c, d = col0 + np.int64(col[h + 2]), col0 + np.int64(col[h + 3])
            p, q, r, s = _dots(here, C, a, b, c, d)
            if with_weight:
                p, q = p * C.dtype.type(weight[h]), q * C.dtype.type(weight[h + 1])
                r, s = r * C.dtype.type(weight[h + 2]), s * C.dtype.type(weight[h + 3])
            _add(sums, C, a, b, c, d, p, q, r, s)
            h += 4
        while h < end:
            j, p = col0 + np.int64(col[h]), C.dtype.type(0)
            for k in range(rank):
                p += here[k] * C[j, k]
            if with_weight:
                p *= C.dtype.type(weight[h])
            for k in range(rank):
                sums[k] += p * C[j, k]
            h += 1


@njit(nogil=True, cache=True, fastmath=_FASTMATH)
def predictions(L, C, row, col, low, row0, col0, first, stop, out):  # type: ignore[no-untyped-def]
    """Write ``L · ψ`` of the edges from ``first`` on."""
    rank = C.shape[1]
    for h in range(first, stop):
        i, j = row0 + np.int64(row[h]) - low, col0 + np.int64(col[h])
        p = C.dtype.type(0)
        for k in range(rank):
            p += L[i, k] * C[j, k]
        out[h - first] = p


@njit(nogil=True, cache=True, fastmath=_FASTMATH)
def row_sums(C, S, row, col, value, low, row0, col0, first, stop):  # type: ignore[no-untyped-def]
    """Add ``value ψ`` to the sums of the row of each edge; ``value[0]`` belongs to edge ``first``."""
    rank = C.shape[1]
    sums = np.empty(rank, C.dtype)
    last = -1
    for h in range(first, stop):
        i, j = row0 + np.int64(row[h]) - low, col0 + np.int64(col[h])
        if i != last:
            if last >= 0:
                for k in range(rank):
                    S[last, k] += sums[k]
            for k in range(rank):
                sums[k] = 0
            last = i
        g = value[h - first]
        for k in range(rank):
            sums[k] += g * C[j, k]
    if last >= 0:
        for k in range(rank):
            S[last, k] += sums[k]


@njit(nogil=True, cache=True, fastmath=_FASTMATH)
def two_row_sums(C, S, T, row, col, value, other, low, row0, col0, first, stop):  # type: ignore[no-untyped-def]
    """Add ``value ψ`` and ``other ψ`` to two sums of the row of each edge, reading ψ once."""
    rank = C.shape[1]
    sums, more = np.empty(rank, C.dtype), np.empty(rank, C.dtype)
    last = -1
    for h in range(first, stop):
        i, j = row0 + np.int64(row[h]) - low, col0 + np.int64(col[h])
        if i != last:
            if last >= 0:
                for k in range(rank):
                    S[last, k] += sums[k]
                    T[last, k] += more[k]
            for k in range(rank):
                sums[k] = 0
                more[k] = 0
            last = i
        g, f = value[h - first], other[h - first]
        for k in range(rank):
            sums[k] += g * C[j, k]
            more[k] += f * C[j, k]
    if last >= 0:
        for k in range(rank):
            S[last, k] += sums[k]
            T[last, k] += more[k]
