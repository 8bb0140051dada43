"""The linear kernel."""

from vectrick._typing import Array, Features
from vectrick.kernels.base import Kernel
from vectrick.kernels.rows import dense_products, squared_norms


class Linear(Kernel):
    """``k(x, y) = xᵀ y``; its features are the columns of the table.

    Values between m and p vertices with r features take O(m p r).

    >>> import numpy as np, vectrick as vt
    >>> vt.Linear()(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[11.]])
    """

    name = "linear"

    def _matrix(self, X: Features, Y: Features) -> Array:
        return dense_products(X, Y)

    def diagonal(self, X: Features) -> Array:
        """Return the squared lengths."""
        return squared_norms(X)

    def features(self, X: Features) -> Features | None:
        """Return the table itself."""
        return X
