"""A kernel that is given as a function."""

from collections.abc import Callable
from typing import Any

import numpy as np

from vectrick._typing import Array, Features
from vectrick.backends.arrays import like, to_host
from vectrick.kernels.base import Kernel


class Function(Kernel):
    """A kernel whose ``function(X, Y)`` returns the matrix of kernel values between the rows of two NumPy arrays.

    The cost is that of the function, called once for the training vertices and once for new ones.

    >>> import numpy as np, vectrick as vt
    >>> vt.Function(lambda X, Y: np.minimum(X, Y.T))(np.array([[1.0], [2.0]]), np.array([[3.0]]))
    array([[1.],
           [2.]])
    """

    is_psd = False  # not guaranteed

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.function = function

    def _matrix(self, X: Features, Y: Features) -> Array:
        values = np.asarray(self.function(to_host(X), to_host(Y)))
        if values.shape != (X.shape[0], Y.shape[0]):
            raise ValueError(
                f"the kernel function returned shape {values.shape} for {X.shape[0]} and {Y.shape[0]} vertices, "
                f"but it must return ({X.shape[0]}, {Y.shape[0]})"
            )
        return like(values, X)

    def diagonal(self, X: Features) -> Array:
        """Return the kernel values of the rows of X with themselves."""
        return like(np.array([float(self(X[[i]], X[[i]])[0, 0]) for i in range(X.shape[0])]), X)
