"""Functions of a kernel and some orthonormal functions of its space, for a preconditioner that uses only the latter.

Computing all eigenvectors of a large kernel matrix takes longer than a fit. The largest ones are found fast, and a
preconditioner needs only these: eigenvalues of orthogonal directions are at most about alpha. The solution still
contains the other directions. So functions are ``Σ aₑ k(e, ·) + Σ wᵢ φᵢ`` with both kinds of coefficients. The matrix
of their inner products is ``[[A, Z], [Zᵀ, I]]`` with the values Z of the orthonormal functions at the edges.
"""

from typing import Any

from vectrick._typing import Array
from vectrick.backends.arrays import namespace, zeros
from vectrick.objectives.space import Element, Inverse, Measured, Space, Subspace
from vectrick.operators import Operator


class Extended(Space):
    """Coefficients of the edges, followed by coefficients of the orthonormal functions."""

    def __init__(self, A: Operator, features: Operator, transposed: Operator) -> None:
        super().__init__(A.shape[0], A.shape[0] + features.shape[1])
        self.A, self.features, self.transposed = A, features, transposed

    def _parts(self, c: Array) -> tuple[Array, Array]:
        return c[: self.n_edges], c[self.n_edges :]

    def predict(self, c: Array) -> Array:
        """Return ``A a + Z w``."""
        a, w = self._parts(c)
        self.n_products += 2
        result: Array = self.A @ a + self.features @ w
        return result

    def lift(self, g: Array) -> Array:
        """Return g as coefficients of the edges."""
        return namespace(g).concatenate([g, zeros(self.size - self.n_edges, g)])

    def element(self, c: Array) -> Element:
        """Return the function with given coefficients; three products."""
        a, w = self._parts(c)
        self.n_products += 1
        return Element(c, self.predict(c), self.transposed @ a + w)

    def zero(self, like: Array) -> Element:
        """Return the zero function."""
        element = super().zero(like)
        element.u = zeros(self.size - self.n_edges, like)
        return element

    def inner(self, u: Element, v: Element) -> float:
        """Return the inner product of two functions."""
        a, w = self._parts(u.c)
        return float(a @ v.f) + float(w @ v.u)

    def measured(self, r: Array, inverse: Inverse | None = None) -> Measured:
        """Return a residual with its predictions, optionally preconditioned; three products."""
        a, w = self._parts(r)
        self.n_products += 3
        f, t = self.A @ a, self.transposed @ a
        u = t + w
        square = float(a @ f) + 2 * float(w @ t) + float(w @ w)
        if inverse is None:
            return Measured(r, square, square, f + self.features @ w, u)
        more = inverse.times(u) - inverse.outside * u
        along = inverse.outside * square + float(u @ more)
        v = inverse.outside * w + more
        f = inverse.outside * f + self.features @ v
        c = namespace(a).concatenate([inverse.outside * a, v])
        return Measured(c, along, square, f, inverse.outside * t + v)

    def next_direction(self, z: Measured, beta: float = 0.0, p: Element | None = None) -> Element:
        """Return ``z + β p``."""
        new = Element(z.c, z.f, z.u).copy()
        if p is not None:
            new.add(beta, p)
        return new

    def lowered(self) -> "Extended":
        """Return the same functions with products in float32."""
        return Extended(self.A.lowered(), self.features.lowered(), self.transposed.lowered())

    def subspace(self, active: Any, coefficients: Array | None = None) -> Subspace:
        """Return the whole space."""
        return Subspace(self, self)
