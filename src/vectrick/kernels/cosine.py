"""The cosine kernel."""

from vectrick._typing import Array, Features
from vectrick.backends.arrays import cast, numpy_dtype
from vectrick.kernels.base import Kernel
from vectrick.kernels.rows import dense_products, squared_norms, unit_rows


class Cosine(Kernel):
    """``k(x, y) = xᵀ y / (‖x‖ ‖y‖)``, and zero if x or y is zero.

    Values between m and p vertices with r features take O(m p r).

    >>> import numpy as np, vectrick as vt
    >>> vt.Cosine()(np.array([[3.0, 4.0]]), np.array([[1.0, 0.0]]))
    array([[0.6]])
    """

    name = "cosine"

    def _matrix(self, X: Features, Y: Features) -> Array:
        return dense_products(unit_rows(X), unit_rows(Y))

    def diagonal(self, X: Features) -> Array:
        """Return ones, and zeros for rows of zeros."""
        return cast(squared_norms(X) > 0, numpy_dtype(X))

    def features(self, X: Features) -> Features | None:
        """Return the rows, scaled to length one."""
        return unit_rows(X)
