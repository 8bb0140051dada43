"""The Gaussian kernel."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import rbf_kernel

from vectrick.kernels.base import Kernel, settle_gamma

Array = NDArray[Any]


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

    def __call__(self, X: Any, Y: Any) -> Array:
        return np.asarray(rbf_kernel(X, Y, gamma=settle_gamma(self.gamma, X)))

    def diagonal(self, X: Any) -> Array:
        """Return ones."""
        return np.ones(X.shape[0], X.dtype)
