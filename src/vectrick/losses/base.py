"""The base of losses: a convex function of the predictions p, with gradient and Hessian."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from vectrick._registry import Registry
from vectrick._typing import Array, ArrayNamespace
from vectrick.backends.arrays import empty, namespace, pieces
from vectrick.losses.curvature import Curvature, Diagonal


class Loss(ABC):
    """A convex loss ``L(p)`` of the predictions p for edges; the object holds their labels.

    A subclass defines `value`, `gradient` and `curvature` (zero if it is not smooth). A loss that is a sum over edges
    is simpler to write as a `Pointwise`. An estimator with a parameter ``loss`` accepts the class, or its name if it is
    registered (``vt.register``). Labels and predictions are NumPy or torch arrays.

    Value, gradient and curvature take O(n) for n edges.

    Parameters
    ----------
    y : array
        Labels: real numbers, or -1 and +1 for losses of classes.
    sample_weight : array, optional
        A weight for each edge, not negative.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> loss = vt.losses.Squared(np.array([1.0, -1.0]))
    >>> loss.value(np.zeros(2)), loss.gradient(np.zeros(2))
    (1.0, array([-1.,  1.]))
    """

    name = ""  # its name in estimators, if it is registered
    of_classes = False  # whether its labels are -1 and +1
    is_quadratic = False  # its Hessian is the same everywhere
    is_smooth = True  # it has a gradient everywhere and a (generalized) Hessian
    is_hinge = False
    may_be_flat = False  # the gradient and the second derivative are zero for many edges
    takes_bounds = False  # its labels may be bounds, given as an argument

    def __init__(self, y: Array, sample_weight: Array | None = None) -> None:
        self.xp = namespace(y)
        self.y = y
        self.weight = sample_weight

    @abstractmethod
    def value(self, p: Array) -> float:
        """Return ``L(p)``."""

    @abstractmethod
    def gradient(self, p: Array) -> Array:
        """Return the gradient, or a subgradient if the loss is not differentiable."""

    @abstractmethod
    def curvature(self, p: Array) -> Curvature:
        """Return the Hessian, or a generalized Hessian, as an object that multiplies vectors."""

    def along(self, p: Array, d: Array, t: float) -> tuple[float, float]:
        """Return the first and second derivative of ``L(p + t d)`` by t."""
        q = p + t * d
        return float(d @ self.gradient(q)), float(d @ self.curvature(q).times(d))


LOSSES: Registry[Loss] = Registry("loss", Loss)


class Pointwise(Loss):
    """A sum over the edges; a subclass defines `values`, `slopes` and `curvatures` of edges with predictions p.

    They are called for slices of the edges that fit into the cache, so no long array is read more than once.

    Value, gradient and curvature take O(n) for n edges.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> class Quartic(vt.losses.Pointwise):
    ...     def values(self, p, y):
    ...         return (p - y) ** 4 / 12
    ...     def slopes(self, p, y):
    ...         return (p - y) ** 3 / 3
    ...     def curvatures(self, p, y):
    ...         return (p - y) ** 2
    >>> Quartic(np.array([1.0, 3.0])).gradient(np.zeros(2))
    array([-0.33333333, -9.        ])
    """

    @abstractmethod
    def values(self, p: Array, y: Array) -> Array:
        """Return the loss of each edge."""

    @abstractmethod
    def slopes(self, p: Array, y: Array) -> Array:
        """Return the derivative of each edge's loss with respect to its prediction."""

    @abstractmethod
    def curvatures(self, p: Array, y: Array) -> Array:
        """Return the second derivative of each edge's loss with respect to its prediction."""

    def part(self, piece: slice) -> Any:
        """Return the labels of some edges, as the argument of `values`, `slopes` and `curvatures`."""
        return self.y[piece]

    def value(self, p: Array) -> float:
        """Return the weighted sum."""
        return float(sum(float(self.xp.sum(part)) for _, part in self._pieces(self.values, p)))

    def gradient(self, p: Array) -> Array:
        """Return the weighted derivatives."""
        return self._joined(self.slopes, p)

    def curvature(self, p: Array) -> Diagonal:
        """Return the diagonal Hessian."""
        return Diagonal(self._joined(self.curvatures, p), self.may_be_flat)

    def along(self, p: Array, d: Array, t: float) -> tuple[float, float]:
        """Return the first and second derivative of ``L(p + t d)`` by t."""
        first = second = 0.0
        for piece in pieces(p):
            q, part, y = p[piece] + t * d[piece], d[piece], self.part(piece)
            first += float(part @ self._weighted(self.slopes(q, y), piece))
            second += float(part @ (self._weighted(self.curvatures(q, y), piece) * part))
        return first, second

    def _joined(self, function: Callable[[Array, Array], Array], p: Array) -> Array:
        out: Array | None = None
        for piece, part in self._pieces(function, p):
            if out is None:
                out = empty(self.y.shape[0], part)
            out[piece] = part
        assert out is not None
        return out

    def _pieces(self, function: Callable[[Array, Array], Array], p: Array) -> Iterator[tuple[slice, Array]]:
        for piece in pieces(p):
            yield piece, self._weighted(function(p[piece], self.part(piece)), piece)

    def _weighted(self, values: Array, piece: slice) -> Array:
        return values if self.weight is None else values * self.weight[piece]


class Formula(Pointwise):
    """A sum over the edges whose terms are formulas, written once for NumPy, torch and compiled passes.

    A subclass defines three static functions of a namespace, predictions and labels. The namespace has ``exp``,
    ``log1p``, ``abs``, ``where``, ``zeros_like`` and ``ones_like``. Compiled passes call the package's own formulas
    with single numbers; formulas of users are called with slices of the edges.

    Value, gradient and curvature take O(n) for n edges.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> class LogCosh(vt.losses.Formula):
    ...     @staticmethod
    ...     def value_of(xp, p, y):
    ...         return xp.abs(p - y) + xp.log1p(xp.exp(-2 * xp.abs(p - y)))
    ...     @staticmethod
    ...     def slope_of(xp, p, y):
    ...         return xp.tanh(p - y)
    ...     @staticmethod
    ...     def curvature_of(xp, p, y):
    ...         return 1 - xp.tanh(p - y) ** 2
    >>> LogCosh(np.array([1.0, 3.0])).gradient(np.ones(2)).round(3)
    array([ 0.   , -0.964])
    """

    @staticmethod
    @abstractmethod
    def value_of(xp: ArrayNamespace, p: Array, y: Array) -> Array:
        """Return the loss of each edge."""

    @staticmethod
    @abstractmethod
    def slope_of(xp: ArrayNamespace, p: Array, y: Array) -> Array:
        """Return its derivative with respect to the prediction."""

    @staticmethod
    @abstractmethod
    def curvature_of(xp: ArrayNamespace, p: Array, y: Array) -> Array:
        """Return its second derivative, as numbers or as a mask."""

    def values(self, p: Array, y: Array) -> Array:
        """Return the loss of each edge."""
        return self.value_of(self.xp, p, y)

    def slopes(self, p: Array, y: Array) -> Array:
        """Return the derivative of each edge's loss with respect to its prediction."""
        return self.slope_of(self.xp, p, y)

    def curvatures(self, p: Array, y: Array) -> Array:
        """Return the second derivative of each edge's loss with respect to its prediction."""
        return self.curvature_of(self.xp, p, y)
