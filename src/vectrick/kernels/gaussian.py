"""The Gaussian kernel."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import rbf_kernel

from vectrick.kernels.base import Kernel, settle_gamma, squared_norms

Array = NDArray[Any]

_FEW = 16  # features, up to which differences are faster than a matrix product, and free of cancellation


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
        if issparse(X) or issparse(Y):
            return np.asarray(rbf_kernel(X, Y, gamma=gamma))
        # scikit-learn's checks take longer than the few values that pivoted Cholesky asks for at a time.
        squares = _squared_distances(X, Y)
        squares *= -gamma
        return np.exp(squares, out=squares)

    def diagonal(self, X: Any) -> Array:
        """Return ones."""
        return np.ones(X.shape[0], X.dtype)


def _squared_distances(X: Array, Y: Array) -> Array:
    if X.shape[1] <= _FEW:
        return np.asarray(cdist(X, Y, "sqeuclidean"))
    squares = X @ Y.T
    squares *= -2
    squares += squared_norms(X)[:, None]
    squares += squared_norms(Y)[None, :]
    return np.asarray(np.maximum(squares, 0, out=squares))
