"""The base of losses: a convex function of the predictions p, with gradient and Hessian."""

from abc import ABC, abstractmethod
from typing import Any

from array_api_compat import array_namespace

from vectrick.losses.curvature import Curvature, Diagonal

Array = Any  # NumPy arrays, or those of another library with the same interface


class Loss(ABC):
    """A convex loss ``L(p)`` of the predictions for edges whose labels it holds.

    A subclass writes `value`, `gradient` and, where it is smooth, `curvature`. Labels and predictions are arrays of any
    library that follows the array API standard.

    Parameters
    ----------
    y : array
        Labels: real numbers, or -1 and +1 for losses of classes.
    sample_weight : array, optional
        A weight for each edge, not negative.
    """

    is_quadratic = False  # its Hessian is the same everywhere
    is_smooth = True  # it has a gradient everywhere and a (generalized) Hessian

    def __init__(self, y: Array, sample_weight: Array | None = None) -> None:
        self.xp = array_namespace(y)
        self.y = y
        self.weight = sample_weight

    @abstractmethod
    def value(self, p: Array) -> float:
        """Return ``L(p)``."""

    @abstractmethod
    def gradient(self, p: Array) -> Array:
        """Return the gradient, or a subgradient where there are several."""

    @abstractmethod
    def curvature(self, p: Array) -> Curvature:
        """Return the Hessian, or a generalized Hessian, as an object that multiplies vectors."""


class Pointwise(Loss):
    """A sum over the edges; a subclass writes `values`, `slopes` and `curvatures` of single edges."""

    @abstractmethod
    def values(self, p: Array) -> Array:
        """Return the loss of each edge."""

    @abstractmethod
    def slopes(self, p: Array) -> Array:
        """Return its derivative by the prediction."""

    @abstractmethod
    def curvatures(self, p: Array) -> Array:
        """Return its second derivative by the prediction."""

    def value(self, p: Array) -> float:
        """Return the weighted sum."""
        return float(self.xp.sum(self._weighted(self.values(p))))

    def gradient(self, p: Array) -> Array:
        """Return the weighted derivatives."""
        return self._weighted(self.slopes(p))

    def curvature(self, p: Array) -> Diagonal:
        """Return the diagonal Hessian."""
        return Diagonal(self._weighted(self.curvatures(p)), self.may_be_flat)

    may_be_flat = False  # whether the second derivative of many edges is zero

    def _weighted(self, values: Array) -> Array:
        return values if self.weight is None else values * self.weight
