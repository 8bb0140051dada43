"""The Gaussian kernel."""

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics.pairwise import rbf_kernel

from vectrick._typing import Array, Features
from vectrick.backends import backend_of
from vectrick.kernels.base import Kernel
from vectrick.kernels.rows import ones, settle_gamma


class Gaussian(Kernel):
    """``k(x, y) = exp(-γ ‖x - y‖²)``.

    Values between m and p vertices with r features take O(m p r).

    Parameters
    ----------
    gamma : float or str
        The number γ, or "scale" for 1 / (n_features * X.var()) of the training vertices, or "auto" for 1 / n_features.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> vt.Gaussian(gamma=0.5)(np.zeros((1, 1)), np.array([[0.0], [2.0]])).round(3)
    array([[1.   , 0.135]])
    """

    name = "gaussian"
    aliases = ("rbf",)

    def __init__(self, gamma: float | str = "scale") -> None:
        self.gamma = gamma

    def resolve(self, X: Features, positions: Array) -> "Gaussian":
        """Return the kernel with a number for gamma."""
        return self.with_parameters(gamma=settle_gamma(self.gamma, X))

    def _matrix(self, X: Features, Y: Features) -> Array:
        gamma = settle_gamma(self.gamma, X)
        if issparse(X) or issparse(Y):
            return np.asarray(rbf_kernel(X, Y, gamma=gamma))
        return backend_of(X).gaussian(X, Y, gamma)

    def diagonal(self, X: Features) -> Array:
        """Return ones."""
        return ones(X)
