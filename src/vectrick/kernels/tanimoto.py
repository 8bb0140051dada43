"""The Tanimoto kernel of fingerprints."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from vectrick.kernels.base import Kernel, squared_norms

Array = NDArray[Any]


class Tanimoto(Kernel):
    """``k(x, y) = xᵀ y / (xᵀ x + yᵀ y - xᵀ y)``: of two sets of bits, the share of common ones.

    Counts may be given in place of bits, but no negative numbers. Two empty fingerprints are equal: their value is 1.

    >>> import numpy as np, vectrick as vt
    >>> vt.Tanimoto()(np.array([[1.0, 1.0, 0.0]]), np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 1.0]])).round(3)
    array([[0.667, 0.   ]])
    """

    def resolve(self, X: Any, positions: Array) -> "Tanimoto":
        """Return the kernel, or say that there are negative features."""
        smallest = X.min() if X.shape[0] and X.shape[1] else 0.0
        if smallest < 0:
            raise ValueError(f"the Tanimoto kernel takes features that are not negative, but there is {smallest}")
        return self

    def _matrix(self, X: Any, Y: Any) -> Array:
        product = X @ Y.T
        common = np.asarray(product.toarray() if issparse(product) else product)
        union = squared_norms(X)[:, None] + squared_norms(Y)[None, :] - common
        return np.asarray(np.divide(common, union, out=np.ones_like(common), where=union > 0))

    def diagonal(self, X: Any) -> Array:
        """Return ones."""
        return np.ones(X.shape[0], X.dtype)
