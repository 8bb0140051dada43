"""Functions of an array namespace for single numbers, called by the compiled formulas of losses."""

import math

from numba import njit


@njit(nogil=True)
def exp(x):  # type: ignore[no-untyped-def]
    """Return the exponential."""
    return math.exp(x)


@njit(nogil=True)
def log1p(x):  # type: ignore[no-untyped-def]
    """Return ``log(1 + x)``."""
    return math.log1p(x)


@njit(nogil=True)
def abs(x):  # type: ignore[no-untyped-def]
    """Return the absolute value."""
    return math.fabs(x)


@njit(nogil=True)
def where(condition, x, y):  # type: ignore[no-untyped-def]
    """Return one of two numbers."""
    return x if condition else y


@njit(nogil=True)
def zeros_like(x):  # type: ignore[no-untyped-def]
    """Return zero."""
    return 0.0


@njit(nogil=True)
def ones_like(x):  # type: ignore[no-untyped-def]
    """Return one."""
    return 1.0
