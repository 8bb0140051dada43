"""The Tanimoto kernel of fingerprints."""

from vectrick._typing import Array, Features
from vectrick.backends.arrays import namespace
from vectrick.kernels.base import Kernel
from vectrick.kernels.rows import dense_products, ones, squared_norms


class Tanimoto(Kernel):
    """``k(x, y) = xᵀ y / (xᵀ x + yᵀ y - xᵀ y)``: the share of bits that two sets have in common.

    Counts may replace bits, but negative numbers are not allowed. Two empty fingerprints are equal: their value is 1.

    Values between m and p vertices with r features take O(m p r).

    >>> import numpy as np, vectrick as vt
    >>> vt.Tanimoto()(np.array([[1.0, 1.0, 0.0]]), np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 1.0]])).round(3)
    array([[0.667, 0.   ]])
    """

    name = "tanimoto"

    def resolve(self, X: Features, positions: Array) -> "Tanimoto":
        """Return the kernel; raise on negative features."""
        refuse_negative(X, "Tanimoto")
        return self

    def _matrix(self, X: Features, Y: Features) -> Array:
        common = dense_products(X, Y)
        union = squared_norms(X)[:, None] + squared_norms(Y)[None, :] - common
        where, empty = namespace(common).where, union <= 0  # two rows of zeros
        return where(empty, 1.0, common / where(empty, 1.0, union))

    def diagonal(self, X: Features) -> Array:
        """Return ones."""
        return ones(X)


def refuse_negative(X: Features, name: str) -> None:
    """Raise on negative features, with the name of the kernel."""
    smallest = X.min() if X.shape[0] and X.shape[1] else 0.0
    if smallest < 0:
        raise ValueError(f"the {name} kernel takes features that are not negative, but there is {smallest}")
