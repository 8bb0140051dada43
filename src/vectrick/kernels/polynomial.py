"""The polynomial kernel."""

from vectrick._typing import Array, Features
from vectrick.kernels.base import Kernel
from vectrick.kernels.rows import dense_products, settle_gamma, squared_norms


class Polynomial(Kernel):
    """``k(x, y) = (γ xᵀ y + c)^d``.

    Values between m and p vertices with r features take O(m p r).

    Parameters
    ----------
    degree : int
        The power d.
    gamma : float or str
        The factor γ, or "scale" or "auto" as for `Gaussian`.
    coef0 : float
        The constant c, not negative.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> vt.Polynomial(degree=2, gamma=1.0)(np.ones((1, 2)), np.ones((1, 2)))
    array([[9.]])
    """

    name = "polynomial"
    aliases = ("poly",)

    def __init__(self, degree: int = 3, gamma: float | str = "scale", coef0: float = 1.0) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def resolve(self, X: Features, positions: Array) -> "Polynomial":
        """Return the kernel with a number for gamma, after a check of its parameters."""
        if self.degree != int(self.degree) or self.degree < 1:
            raise ValueError(f"degree is {self.degree!r}, but it must be a positive integer")
        if not self.coef0 >= 0:
            raise ValueError(f"coef0 is {self.coef0!r}, but it must not be negative")
        return self.with_parameters(gamma=settle_gamma(self.gamma, X))

    def _matrix(self, X: Features, Y: Features) -> Array:
        gamma = settle_gamma(self.gamma, X)
        return (gamma * dense_products(X, Y) + self.coef0) ** self.degree

    def diagonal(self, X: Features) -> Array:
        """Return the kernel values of the rows of X with themselves."""
        return (settle_gamma(self.gamma, X) * squared_norms(X) + self.coef0) ** self.degree
