"""Functions for solvers: coefficients and predictions, with the inner product of the kernel.

A function is given by its coefficients c and its predictions f for the training edges. In dual form ``c = a`` and
``f = A a`` with the edge kernel matrix A; in primal form ``c = w`` and ``f = Φ w`` with the edge features Φ. The inner
product ``aᵀ A a'`` or ``wᵀ w'`` belongs to the regularizer ``‖f‖²``. So a method makes the same sequence of functions
in both forms. Several functions can be predicted and lifted together, as the columns of a matrix.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

from vectrick._typing import Array
from vectrick.backends.arrays import copy_of, pieces, zeros
from vectrick.losses import Curvature
from vectrick.operators import Operator


@dataclass
class Element:
    """A function: coefficients c, and predictions f for the training edges (None if no longer needed).

    ``u`` holds its inner products with further functions, in spaces that have these.
    """

    c: Array
    f: Any
    u: Any = None

    def add(self, t: float, other: "Element") -> None:
        """Add t times another function in place."""
        _add(self.c, t, other.c)
        if self.f is not None:
            _add(self.f, t, other.f)
        if self.u is not None:
            _add(self.u, t, other.u)

    def copy(self) -> "Element":
        """Return a copy that can be changed."""
        return Element(copy_of(self.c), copy_of(self.f), None if self.u is None else copy_of(self.u))

    def times(self, t: float) -> "Element":
        """Return t times the function."""
        return Element(t * self.c, t * self.f, None if self.u is None else t * self.u)

    def only(self, columns: Array) -> "Element":
        """Return the functions of some columns."""
        return Element(self.c[:, columns], self.f[:, columns])

    def negate(self) -> None:
        """Negate the function in place."""
        self.c *= -1
        self.f *= -1
        if self.u is not None:
            self.u *= -1


def _add(x: Array, t: float, y: Array) -> None:
    """Add t y to x in pieces, so that no long temporary array is needed."""
    for piece in pieces(x):
        x[piece] += t * y[piece]


class Inverse(Protocol):
    """A preconditioner: an inverse for some functions, and a number for all functions orthogonal to them."""

    @property
    def outside(self) -> float:
        """The inverse for orthogonal functions."""

    def times(self, c: Array) -> Array:
        """Return the inverse times the inner products with these functions."""


@dataclass
class Measured:
    """A preconditioned residual r: coefficients c, their inner product with r, and the squared norm of r.

    Without a preconditioner, c is r. The predictions f, and inner products u with further functions, are given if the
    space computes them anyway. For several columns, ``along`` and ``square`` have a number for each column.
    """

    c: Array
    along: Any
    square: Any
    f: Array | None = None
    u: Array | None = None

    @property
    def norm(self) -> float:
        """The norm of the residual; zero if rounding made its square negative, and NaN if the square is NaN."""
        return float(self.square**0.5) if not self.square <= 0 else 0.0

    def only(self, columns: Array) -> "Measured":
        """Return the residuals of some columns."""
        f = None if self.f is None else self.f[:, columns]
        return Measured(self.c[:, columns], self.along[columns], self.square[columns], f)


class Space(ABC):
    """The space of functions that a solver works in.

    The cost of a step depends on the subclass: one or two products, and O(n).

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> isinstance(vt.solvers.Dual(vt.kron(np.eye(2), np.eye(2))), vt.solvers.Space)
    True
    """

    def __init__(self, n_edges: int, size: int) -> None:
        self.n_edges, self.size = n_edges, size
        self.n_products = 0

    @abstractmethod
    def predict(self, c: Array) -> Array:
        """Return the predictions of coefficients; one product."""

    @abstractmethod
    def lift(self, g: Array) -> Array:
        """Return the coefficients of the function whose inner product with any f is ``g · f``."""

    @abstractmethod
    def inner(self, u: Element, v: Element) -> float:
        """Return the inner product of two functions."""

    @abstractmethod
    def measured(self, r: Array, inverse: Inverse | None = None) -> Measured:
        """Return a residual with its norm, optionally preconditioned; with predictions if computed anyway."""

    @abstractmethod
    def next_direction(self, z: Measured, beta: float = 0.0, p: Element | None = None) -> Element:
        """Return ``z + β p`` with its predictions; one product if z has none. p must not be used afterwards."""

    @abstractmethod
    def lowered(self) -> "Space":
        """Return the same functions with products in float32."""

    @abstractmethod
    def subspace(self, active: Array | None, coefficients: Array | None = None) -> "Subspace":
        """Return the space of a Newton system with curvature only at active edges; it contains the coefficients."""

    def element(self, c: Array) -> Element:
        """Return the function with given coefficients; one product."""
        return Element(c, self.predict(c))

    def zero(self, like: Array) -> Element:
        """Return the zero function; ``like`` is an array with the backend and dtype to use."""
        return Element(zeros(self.size, like), zeros(self.n_edges, like))


class Dual(Space):
    """Functions with coefficients a and predictions ``A a``, for a symmetric operator A.

    A step takes one product with A, and O(n).

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> space = vt.solvers.Dual(vt.kron(np.eye(2), np.eye(2)))
    >>> space.predict(np.ones(4))
    array([1., 1., 1., 1.])
    """

    def __init__(self, A: Operator) -> None:
        super().__init__(A.shape[0], A.shape[1])
        self.A = A

    def predict(self, c: Array) -> Array:
        """Return ``A a``."""
        self.n_products += 1
        return self.A @ c

    def lift(self, g: Array) -> Array:
        """Return g itself."""
        return g

    def inner(self, u: Element, v: Element) -> float:
        """Return ``aᵀ A a'``."""
        return float(u.c @ v.f)

    def measured(self, r: Array, inverse: Inverse | None = None) -> Measured:
        """Return ``rᵀ A r`` and ``A r``; preconditioners are not supported."""
        assert inverse is None
        f = self.predict(r)
        square = float(r @ f)
        return Measured(r, square, square, f)

    def next_direction(self, z: Measured, beta: float = 0.0, p: Element | None = None) -> Element:
        """Return ``z + β p``; its predictions follow from the predictions of both."""
        assert z.f is not None
        if p is None:
            return Element(z.c + 0.0, z.f + 0.0)
        return Element(z.c + beta * p.c, z.f + beta * p.f)

    def lowered(self) -> "Dual":
        """Return the same functions with products in float32."""
        return Dual(self.A.lowered())

    def subspace(self, active: Array | None, coefficients: Array | None = None) -> "Subspace":
        """Return the space of the edges that are active or have a coefficient."""
        if active is None:
            return Subspace(self, self)
        keep = active if coefficients is None else active | (coefficients != 0)
        if float(keep.sum()) > self.A.worth_restricting * self.n_edges:
            return Subspace(self, self)
        return Subspace(self, Dual(self.A.restrict(rows=keep, cols=keep)), keep)


class Primal(Space):
    """Functions with coefficients w and predictions ``Φ w``.

    A step takes two products, one with Φ and one with its transpose, and O(n + size).

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> space = vt.solvers.Primal(vt.kron(np.eye(2), np.ones((2, 1))))
    >>> space.size, space.predict(np.ones(2))
    (2, array([1., 1., 1., 1.]))
    """

    def __init__(self, features: Operator, transposed: Operator | None = None) -> None:
        super().__init__(*features.shape)
        self.features = features
        self.transposed: Operator = features.T if transposed is None else transposed

    def predict(self, c: Array) -> Array:
        """Return ``Φ w``."""
        self.n_products += 1
        return self.features @ c

    def lift(self, g: Array) -> Array:
        """Return ``Φᵀ g``."""
        self.n_products += 1
        return self.transposed @ g

    def predict_some(self, mask: Array, c: Array) -> Array:
        """Return the predictions of the edges in a mask; not counted as a product."""
        return self.features.restrict(rows=mask) @ c

    def inner(self, u: Element, v: Element) -> float:
        """Return ``wᵀ w'``."""
        return float(u.c @ v.c)

    def measured(self, r: Array, inverse: Inverse | None = None) -> Measured:
        """Return ``rᵀ r``, optionally preconditioned, without predictions."""
        square = float(r @ r)
        if inverse is None:
            return Measured(r, square, square)
        z = inverse.times(r)
        return Measured(z, float(r @ z), square)

    def next_direction(self, z: Measured, beta: float = 0.0, p: Element | None = None) -> Element:
        """Return ``z + β p``, and predict it."""
        if p is None:
            return self.element(z.c + 0.0)
        p.f = None  # as long as the edges, and no longer needed
        return self.element(z.c + beta * p.c)

    def lowered(self) -> "Primal":
        """Return the same functions with products in float32."""
        return self._of(self.features.lowered(), self.transposed.lowered())

    def _of(self, features: Operator, transposed: Operator) -> "Primal":
        """Return a space of the same kind with other operators."""
        return Primal(features, transposed)

    def subspace(self, active: Array | None, coefficients: Array | None = None) -> "Subspace":
        """Return the space with predictions only of the active edges."""
        if active is None or float(active.sum()) > self.features.worth_restricting * self.n_edges:
            return Subspace(self, self)
        active_only = self._of(self.features.restrict(rows=active), self.transposed.restrict(cols=active))
        return Subspace(self, active_only, active)


class Mirrored(Primal):
    """Functions of pairs of one vertex set with ``f(d, t) = ± f(t, d)`` and symmetric or skew coefficients.

    The sign is ``symmetry``. Of other coefficients, only the symmetric or skew part counts.
    """

    def __init__(self, features: Operator, symmetry: int, transposed: Operator | None = None) -> None:
        super().__init__(features, transposed)
        self.symmetry = symmetry

    def predict(self, c: Array) -> Array:
        """Return ``Φ w``."""
        return super().predict(self._mirrored(c))

    def lift(self, g: Array) -> Array:
        """Return ``Φᵀ g``."""
        return self._mirrored(super().lift(g))

    def predict_some(self, mask: Array, c: Array) -> Array:
        """Return the predictions of the edges in a mask."""
        return super().predict_some(mask, self._mirrored(c))

    def _mirrored(self, c: Array) -> Array:
        rank = round(self.size**0.5)
        w = c.reshape(rank, rank, *c.shape[1:])
        result: Array = (0.5 * (w + self.symmetry * w.swapaxes(0, 1))).reshape(c.shape)
        return result

    def _of(self, features: Operator, transposed: Operator) -> "Mirrored":
        return Mirrored(features, self.symmetry, transposed)


@dataclass
class Subspace:
    """A space over some of the edges, and the conversion of its functions to all edges."""

    whole: Space
    space: Space
    keep: Array | None = None  # a mask of edges; None for all

    def take(self, c: Array) -> Array:
        """Return the coefficients of the subspace."""
        return c[self.keep] if self.keep is not None and isinstance(self.whole, Dual) else c

    def curvature(self, curvature: Curvature) -> Curvature:
        """Return the curvature of the subspace."""
        return curvature if self.keep is None else curvature.restrict(self.keep)

    def expand(self, x: Element) -> Element:
        """Return a function of the subspace with its predictions for all edges; one small product."""
        if self.keep is None:
            return x
        f = zeros(self.whole.n_edges, x.f)
        f[self.keep] = x.f
        others = ~self.keep
        c = x.c
        if isinstance(self.whole, Dual):
            f[others] = self.whole.A.restrict(rows=others, cols=self.keep) @ x.c
            c = zeros(self.whole.size, x.c)
            c[self.keep] = x.c
        elif isinstance(self.whole, Primal):
            f[others] = self.whole.predict_some(others, x.c)
        self.whole.n_products += self.space.n_products + 1
        return Element(c, f)
