"""The Gaussian kernel of dense tables on the CPU: by differences for few features, otherwise by a matrix product."""

import numpy as np

from vectrick._typing import Array

# Up to this many features, differences are faster than a matrix product, and free of cancellation.
VERY_FEW, FEW = 3, 16
_LARGEST = 700.0  # exponents beyond this underflow in float64
_SMALLEST = np.exp(np.full(8, -_LARGEST))[0]  # as the vectorized exponential computes it
_BLOCK = 1 << 14  # kernel values in one block


def gaussian(X: Array, Y: Array, gamma: float) -> Array:
    """Return ``exp(-γ ‖x - y‖²)`` for the rows of two tables."""
    return _by_differences(X, Y, gamma) if X.shape[1] <= FEW else _by_product(X, Y, gamma)


def squared_norms(X: Array) -> Array:
    """Return the squared length of every row."""
    return np.asarray(np.einsum("ij,ij->i", X, X))


def _exp_of_minus(x: Array) -> None:
    """Replace x by ``exp(-x)``, and values below 1e-304 by zero.

    The fast path of the vectorized exponential is eight times as fast, but only if no result underflows.
    """
    np.minimum(x, _LARGEST, out=x)
    np.negative(x, out=x)
    np.exp(x, out=x)
    x -= _SMALLEST


def _by_product(X: Array, Y: Array, gamma: float) -> Array:
    centre = Y.mean(axis=0)  # without it, differences of large features would lose their digits
    X, Y = X - centre, Y - centre
    out = X @ Y.T
    out *= -2
    out += squared_norms(X)[:, None]
    out += squared_norms(Y)[None, :]
    np.maximum(out, 0, out=out)
    out *= gamma
    _exp_of_minus(out)
    return np.asarray(out)


def _by_differences(X: Array, Y: Array, gamma: float) -> Array:
    """Return the kernel matrix, without the cancellation of `_by_product`, in blocks that stay in the cache.

    For few features it is faster than scikit-learn, above all for the single columns that pivoted Cholesky computes.
    """
    from scipy.spatial.distance import cdist  # not needed for products, and takes 50 ms to load

    X, Y = X * np.sqrt(gamma), Y * np.sqrt(gamma)
    out = np.empty((len(X), len(Y)))
    height = max(1, _BLOCK // max(1, len(Y)))
    for top in range(0, len(X), height):
        block, rows = out[top : top + height], X[top : top + height]
        if X.shape[1] > VERY_FEW:
            cdist(rows, Y, "sqeuclidean", out=block)
        else:
            np.subtract.outer(rows[:, 0], Y[:, 0], out=block)
            np.square(block, out=block)
            for x, y in zip(rows.T[1:], Y.T[1:], strict=True):
                block += np.subtract.outer(x, y) ** 2
        _exp_of_minus(block)
    return out
