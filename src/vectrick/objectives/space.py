"""Functions as solvers see them: coefficients beside predictions, in the inner product of the kernel.

A function is known by its coefficients c and its predictions f for the training edges. In dual form ``c = a`` and
``f = A a`` with the edge kernel matrix A; in primal form ``c = w`` and ``f = Φ w`` with the edge features Φ. The inner
product is the one that the regularizer ``‖f‖²`` belongs to, ``aᵀ A a'`` or ``wᵀ w'``. Written this way, a method does
the same in both forms: it makes the same functions, one after the other. Several functions can be predicted and lifted
at once, as the columns of a matrix.
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
    """A function: coefficients c, and predictions f for the training edges, or None once they are used up.

    ``u`` holds its inner products with further functions, in a space that has some.
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
        """Return some of several functions."""
        return Element(self.c[:, columns], self.f[:, columns])

    def negate(self) -> None:
        """Turn the function around in place."""
        self.c *= -1
        self.f *= -1
        if self.u is not None:
            self.u *= -1


def _add(x: Array, t: float, y: Array) -> None:
    """Add t y to x, piece by piece, so that no long temporary array is made."""
    for piece in pieces(x):
        x[piece] += t * y[piece]


class Inverse(Protocol):
    """A preconditioner: an inverse for some functions, and a number for all that are orthogonal to them."""

    @property
    def outside(self) -> float:
        """The number."""

    def times(self, c: Array) -> Array:
        """Return the inverse times the inner products with these functions."""


@dataclass
class Measured:
    """A residual r and what a preconditioner makes of it: coefficients, their product with r, and the norm of r.

    Without a preconditioner they are r itself. Their predictions, and inner products with further functions, are there
    if they come with it. For several columns, ``along`` and ``square`` have a number for each.
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
        """Return some of several residuals."""
        f = None if self.f is None else self.f[:, columns]
        return Measured(self.c[:, columns], self.along[columns], self.square[columns], f)


class Space(ABC):
    """The space of functions that a solver works in.

    What a step costs is told by its subclasses: one product, or two, and O(n).

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
        """Return a residual with its norm, perhaps preconditioned, and with predictions if they come with it."""

    @abstractmethod
    def next_direction(self, z: Measured, beta: float = 0.0, p: Element | None = None) -> Element:
        """Return ``z + β p`` with its predictions, and use up p; one product if z has none."""

    @abstractmethod
    def lowered(self) -> "Space":
        """Return the same functions with products in float32."""

    @abstractmethod
    def subspace(self, active: Array | None, coefficients: Array | None = None) -> "Subspace":
        """Return the space of a Newton system with curvature at active edges only, and the given coefficients in it."""

    def element(self, c: Array) -> Element:
        """Return the function of coefficients; one product."""
        return Element(c, self.predict(c))

    def zero(self, like: Array) -> Element:
        """Return the function zero; ``like`` is an array of the kind and dtype to use."""
        return Element(zeros(self.size, like), zeros(self.n_edges, like))


class Dual(Space):
    """Coefficients a, predictions ``A a`` with a symmetric operator A; a prediction takes one product.

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
        """Return ``rᵀ A r``, and ``A r``; preconditioners know other functions."""
        assert inverse is None
        f = self.predict(r)
        square = float(r @ f)
        return Measured(r, square, square, f)

    def next_direction(self, z: Measured, beta: float = 0.0, p: Element | None = None) -> Element:
        """Return ``z + β p``; its predictions follow from those of both."""
        assert z.f is not None
        if p is None:
            return Element(z.c + 0.0, z.f + 0.0)
        return Element(z.c + beta * p.c, z.f + beta * p.f)

    def lowered(self) -> "Dual":
        """Return the same functions with products in float32."""
        return Dual(self.A.lowered())

    def subspace(self, active: Array | None, coefficients: Array | None = None) -> "Subspace":
        """Return the space of the active edges and of those with a coefficient."""
        if active is None:
            return Subspace(self, self)
        keep = active if coefficients is None else active | (coefficients != 0)
        if float(keep.sum()) > self.A.worth_restricting * self.n_edges:
            return Subspace(self, self)
        return Subspace(self, Dual(self.A.restrict(rows=keep, cols=keep)), keep)


class Primal(Space):
    """Coefficients w, predictions ``Φ w``; a step takes a product with Φ and one with its transpose.

    A step takes two products, and O(n + size).

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
        """Return ``rᵀ r``, perhaps preconditioned; its predictions are not known yet."""
        square = float(r @ r)
        if inverse is None:
            return Measured(r, square, square)
        z = inverse.times(r)
        return Measured(z, float(r @ z), square)

    def next_direction(self, z: Measured, beta: float = 0.0, p: Element | None = None) -> Element:
        """Return ``z + β p``, and predict it."""
        if p is None:
            return self.element(z.c + 0.0)
        p.f = None  # as long as the edges, and not needed any more
        return self.element(z.c + beta * p.c)

    def lowered(self) -> "Primal":
        """Return the same functions with products in float32."""
        return self._of(self.features.lowered(), self.transposed.lowered())

    def _of(self, features: Operator, transposed: Operator) -> "Primal":
        """Return the space of other edges, or of another precision."""
        return Primal(features, transposed)

    def subspace(self, active: Array | None, coefficients: Array | None = None) -> "Subspace":
        """Return the space with the predictions of the active edges only."""
        if active is None or float(active.sum()) > self.features.worth_restricting * self.n_edges:
            return Subspace(self, self)
        active_only = self._of(self.features.restrict(rows=active), self.transposed.restrict(cols=active))
        return Subspace(self, active_only, active)


class Mirrored(Primal):
    """Functions of pairs of one vertex set with ``f(d, t) = ± f(t, d)``: coefficients are a symmetric matrix, or skew.

    The sign is that of ``symmetry``. Coefficients that are not of this kind count with their part that is.
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
    """A space over some of the edges, and the way back to all of them."""

    whole: Space
    space: Space
    keep: Array | None = None  # a mask of edges; None for all

    def take(self, c: Array) -> Array:
        """Return the coefficients that live in the part."""
        return c[self.keep] if self.keep is not None and isinstance(self.whole, Dual) else c

    def curvature(self, curvature: Curvature) -> Curvature:
        """Return the curvature of the part."""
        return curvature if self.keep is None else curvature.restrict(self.keep)

    def expand(self, x: Element) -> Element:
        """Return a function of the part with its predictions for all edges; one small product."""
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
