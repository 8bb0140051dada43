"""The Gaussian kernel."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import rbf_kernel

from vectrick._arrays import is_tensor, zeros
from vectrick.kernels.base import Kernel, ones, settle_gamma, squared_norms

Array = Any  # of NumPy or torch

# Up to so many features, differences are faster than a matrix product, and free of cancellation.
_VERY_FEW, _FEW = 3, 16
_LARGEST = 700.0
_SMALLEST = np.exp(np.full(8, -_LARGEST))[0]  # as the vectorized exponential computes it
_BLOCK = 1 << 14  # kernel values at a time


class Gaussian(Kernel):
    """``k(x, y) = exp(-γ ‖x - y‖²)``.

    Parameters
    ----------
    gamma : float or str
        The width, or "scale" for 1 / (n_features * X.var()) of the training vertices, or "auto" for 1 / n_features.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> vt.Gaussian(gamma=0.5)(np.zeros((1, 1)), np.array([[0.0], [2.0]])).round(3)
    array([[1.   , 0.135]])
    """

    def __init__(self, gamma: float | str = "scale") -> None:
        self.gamma = gamma

    def resolve(self, X: Any, positions: Array) -> "Gaussian":
        """Return the kernel with a number for gamma."""
        return Gaussian(settle_gamma(self.gamma, X))

    def _matrix(self, X: Any, Y: Any) -> Array:
        gamma = settle_gamma(self.gamma, X)
        if is_tensor(X):
            return _on_device(X, Y, gamma)
        if issparse(X) or issparse(Y):
            return np.asarray(rbf_kernel(X, Y, gamma=gamma))
        return _by_differences(X, Y, gamma) if X.shape[1] <= _FEW else _by_product(X, Y, gamma)

    def diagonal(self, X: Any) -> Array:
        """Return ones."""
        return ones(X)


def _exp_of_minus(x: Array) -> None:
    """Replace x by ``exp(-x)``, and by zero where that is below 1e-304.

    The vectorized exponential leaves its fast path, which is eight times as fast, where a result underflows.
    """
    np.minimum(x, _LARGEST, out=x)
    np.negative(x, out=x)
    np.exp(x, out=x)
    x -= _SMALLEST


def _on_device(X: Any, Y: Any, gamma: float) -> Any:
    """Return the kernel matrix of tensors: by differences where there are few features, else by a matrix product."""
    if X.shape[1] > _FEW:
        centre = Y.mean(0)
        X, Y = X - centre, Y - centre
        out = X @ Y.T
        out.mul_(-2.0).add_(squared_norms(X)[:, None]).add_(squared_norms(Y)).clamp_(min=0.0)
    else:
        out = zeros((X.shape[0], Y.shape[0]), X)
        for x, y in zip(X.T, Y.T, strict=True):
            out.add_((x[:, None] - y).square_())
    return out.mul_(-gamma).exp_()


def _by_product(X: Array, Y: Array, gamma: float) -> Array:
    centre = Y.mean(axis=0)  # without which large features would leave no digits for their differences
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
    """Return the kernel matrix, without the cancellation of the other way, in blocks that stay in the cache.

    For few features it is faster than scikit-learn's, above all for the single columns that pivoted Cholesky asks for.
    """
    X, Y = X * np.sqrt(gamma), Y * np.sqrt(gamma)
    out = np.empty((len(X), len(Y)))
    height = max(1, _BLOCK // max(1, len(Y)))
    for top in range(0, len(X), height):
        block, some = out[top : top + height], X[top : top + height]
        if X.shape[1] > _VERY_FEW:
            cdist(some, Y, "sqeuclidean", out=block)
        else:
            np.subtract.outer(some[:, 0], Y[:, 0], out=block)
            np.square(block, out=block)
            for x, y in zip(some.T[1:], Y.T[1:], strict=True):
                block += np.subtract.outer(x, y) ** 2
        _exp_of_minus(block)
    return out
