"""The constant kernel: added to a kernel, it gives a model of edges the main effects of the other side's vertices."""

from numbers import Real

import numpy as np

from vectrick._typing import Array, Features
from vectrick.kernels.base import Kernel
from vectrick.kernels.rows import ones


class Constant(Kernel):
    """``k(x, y) = c``.

    The product of kernels ``(k + c) (g + c)`` is ``k g + c k + c g + c²``: interactions, the effects of the start and
    of the end vertices alone, and a constant. Without it, a product of vertex kernels has interactions only.

    It reads no features: values between m and p vertices take O(m p).

    Parameters
    ----------
    value : float
        The constant c, not negative.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> (vt.Linear() + vt.Constant(0.5))(np.ones((1, 2)), np.zeros((2, 2)))
    array([[0.5, 0.5]])
    """

    name = "constant"
    reads = "any"
    is_light = True

    def __init__(self, value: float = 1.0) -> None:
        self.value = value

    def _matrix(self, X: Features, Y: Features) -> Array:
        return self._checked() * ones(X)[:, None] * ones(Y)

    def plus(self, K: Array, X: Features, Y: Features, weight: float = 1.0) -> Array:
        """Return kernel values of other kernels plus the constant."""
        return K + weight * self._checked()

    def diagonal(self, X: Features) -> Array:
        """Return the constant for each row."""
        return self._checked() * ones(X)

    def features(self, X: Features) -> Features | None:
        """Return the root of the constant for each row."""
        return self._checked() ** 0.5 * ones(X)[:, None]

    def _checked(self) -> float:
        if isinstance(self.value, bool) or not isinstance(self.value, Real) or not 0 <= self.value < np.inf:
            raise ValueError(f"value is {self.value!r}, but it must be a number that is not negative")
        return float(self.value)
