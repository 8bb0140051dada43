"""The cosine kernel."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.preprocessing import normalize

from vectrick.kernels.base import Kernel, squared_norms

Array = NDArray[Any]


class Cosine(Kernel):
    """``k(x, y) = xᵀ y / (‖x‖ ‖y‖)``, and zero where one of them is zero.

    >>> import numpy as np, vectrick as vt
    >>> vt.Cosine()(np.array([[3.0, 4.0]]), np.array([[1.0, 0.0]]))
    array([[0.6]])
    """

    def _matrix(self, X: Any, Y: Any) -> Array:
        product = normalize(X) @ normalize(Y).T
        return np.asarray(product.toarray() if issparse(product) else product)

    def diagonal(self, X: Any) -> Array:
        """Return ones, and zeros for rows of zeros."""
        return (squared_norms(X) > 0).astype(X.dtype)

    def features(self, X: Any) -> Any:
        """Return the rows, scaled to length one."""
        return normalize(X)
