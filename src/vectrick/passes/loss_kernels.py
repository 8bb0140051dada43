"""Passes over sorted edges with the losses of the package, as Numba kernels for one thread.

Losses of users are Python code, so threads cannot run them in parallel; the formulas of the package are compiled.
`vectrick.backends.cpu.compiled.pass_kernels` explains the arguments.
"""

from typing import Any

import numpy as np
from numba import njit

from vectrick.backends.cpu.compiled import scalars
from vectrick.losses import COMPILED, Formula

_FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


def _compiled(loss: type[Formula]) -> Any:
    """Return a function that returns the loss of a prediction, and its first and second derivative."""
    value, slope, curvature = (njit(nogil=True)(f) for f in (loss.value_of, loss.slope_of, loss.curvature_of))

    @njit(nogil=True)
    def parts(p, y):  # type: ignore[no-untyped-def]
        return value(scalars, p, y), slope(scalars, p, y), 1.0 * curvature(scalars, p, y)

    return parts


_first, _second, _third = map(_compiled, COMPILED)


@njit(nogil=True, cache=True)
def _parts(kind, p, y):  # type: ignore[no-untyped-def]
    """Return the loss of a prediction, and its derivatives; ``kind`` is the index of the loss in `COMPILED`."""
    if kind == 0:
        return _first(p, y)
    if kind == 1:
        return _second(p, y)
    return _third(p, y)


@njit(nogil=True, cache=True, fastmath=_FASTMATH)
def loss_sums(  # type: ignore[no-untyped-def]
    L, C, S, T, row, col, label, weight, with_weight, positive, is_class, constant, kind, curves, keeps, low, row0,
    col0, first, stop, numbers,
):  # fmt: skip
    """Add ``L' ψ`` and ``L'' ψ`` to two sums of the row of each edge; add value, slope and curvature to numbers.

    If ``keeps`` is true, write the curvatures of all edges to ``curves``.
    """
    rank = C.shape[1]
    here, sums, more = np.empty(rank, C.dtype), np.empty(rank, C.dtype), np.empty(rank, C.dtype)
    last = -1
    for h in range(first, stop):
        i, j = row0 + np.int64(row[h]) - low, col0 + np.int64(col[h])
        if i != last:
            if last >= 0:
                for k in range(rank):
                    S[last, k] += sums[k]
                    T[last, k] += more[k]
            for k in range(rank):
                here[k] = L[i, k]
                sums[k] = 0
                more[k] = 0
            last = i
        p = C.dtype.type(0)
        for k in range(rank):
            p += here[k] * C[j, k]
        y = float(label[h])
        if is_class:
            y = 1.0 if y == positive else -1.0
        value, slope, curve = _parts(kind, np.float64(p) + constant, y)
        if with_weight:
            value, slope, curve = value * weight[h], slope * weight[h], curve * weight[h]
        numbers[0] += value
        numbers[1] += slope
        numbers[2] += curve
        if keeps:
            curves[h] = curve
        g, f = C.dtype.type(slope), C.dtype.type(curve)
        for k in range(rank):
            sums[k] += g * C[j, k]
            more[k] += f * C[j, k]
    if last >= 0:
        for k in range(rank):
            S[last, k] += sums[k]
            T[last, k] += more[k]


@njit(nogil=True, cache=True, fastmath=_FASTMATH)
def label_sums(  # type: ignore[no-untyped-def]
    C, S, T, with_mean, row, col, label, weight, with_weight, positive, is_class, low, row0, col0, first, stop, numbers
):  # fmt: skip
    """Add ``h y ψ`` and, with means, ``h ψ`` to two sums of the row of each edge; add h, h y and h y² to numbers."""
    rank = C.shape[1]
    sums, more = np.empty(rank, C.dtype), np.empty(rank, C.dtype)
    last = -1
    for e in range(first, stop):
        i, j = row0 + np.int64(row[e]) - low, col0 + np.int64(col[e])
        if i != last:
            if last >= 0:
                for k in range(rank):
                    S[last, k] += sums[k]
                if with_mean:
                    for k in range(rank):
                        T[last, k] += more[k]
            for k in range(rank):
                sums[k] = 0
                more[k] = 0
            last = i
        y = float(label[e])
        if is_class:
            y = 1.0 if y == positive else -1.0
        h = float(weight[e]) if with_weight else 1.0
        numbers[0] += h
        numbers[1] += h * y
        numbers[2] += h * y * y
        g, f = C.dtype.type(h * y), C.dtype.type(h)
        for k in range(rank):
            sums[k] += g * C[j, k]
        if with_mean:
            for k in range(rank):
                more[k] += f * C[j, k]
    if last >= 0:
        for k in range(rank):
            S[last, k] += sums[k]
        if with_mean:
            for k in range(rank):
                T[last, k] += more[k]


@njit(nogil=True, cache=True, fastmath=_FASTMATH)
def curvature_sums(  # type: ignore[no-untyped-def]
    L, D, C, S, row, col, label, weight, with_weight, positive, is_class, constant, kind, low, row0, col0, first, stop
):  # fmt: skip
    """Add ``L'' d ψ`` to the sums of the row of each edge, with the predictions ``d = D · ψ`` of a direction."""
    rank = C.shape[1]
    here, there, sums = np.empty(rank, C.dtype), np.empty(rank, C.dtype), np.empty(rank, C.dtype)
    last = -1
    for h in range(first, stop):
        i, j = row0 + np.int64(row[h]) - low, col0 + np.int64(col[h])
        if i != last:
            if last >= 0:
                for k in range(rank):
                    S[last, k] += sums[k]
            for k in range(rank):
                here[k] = L[i, k]
                there[k] = D[i, k]
                sums[k] = 0
            last = i
        p, d = C.dtype.type(0), C.dtype.type(0)
        for k in range(rank):
            p += here[k] * C[j, k]
            d += there[k] * C[j, k]
        y = float(label[h])
        if is_class:
            y = 1.0 if y == positive else -1.0
        curve = _parts(kind, np.float64(p) + constant, y)[2] * d
        if with_weight:
            curve *= weight[h]
        g = C.dtype.type(curve)
        for k in range(rank):
            sums[k] += g * C[j, k]
    if last >= 0:
        for k in range(rank):
            S[last, k] += sums[k]
