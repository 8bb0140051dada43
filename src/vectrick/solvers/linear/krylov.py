"""A Krylov basis of a quadratic problem: one run gives the iterates of CG or MINRES for every alpha and iteration."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_banded

from vectrick._typing import Array
from vectrick.backends.arrays import empty, namespace
from vectrick.losses import Curvature
from vectrick.objectives.space import Element, Space

_BROKEN = 1e-14  # a next vector this small, relative to the first, is rounding error: the space is exhausted


@dataclass(frozen=True)
class KrylovBasis:
    """Orthonormal functions ``v₁ … v_k`` in which ``B = lift ∘ H ∘ predict`` is a tridiagonal matrix T.

    Iterate k of conjugate gradients for ``(B + α I) x = b`` is ``Σ zᵢ vᵢ`` with ``(T_k + α I) z = ‖b‖ e₁``. Iterate k
    of MINRES minimizes ``‖(T̄_k + α Ī) z - ‖b‖ e₁‖``, where T̄ has one more row. So each alpha and iteration
    takes a small system in O(k), and O(n k) to compute its coefficients. (The solvers in `cg` and `minres` keep no
    basis. They update the iterates of several alphas, in O(n) for each alpha and iteration.)
    """

    vectors: Array  # the coefficients of vᵢ in row i
    diagonal: NDArray[Any]
    beside: NDArray[Any]  # the entry of row i + 1 in column i
    length: float  # ‖b‖
    minimal_residual: bool

    @property
    def size(self) -> int:
        """The number of vectors."""
        return len(self.diagonal)

    def weights(self, alphas: NDArray[Any], k: int) -> NDArray[Any]:
        """Return z for each alpha: a column with the weights of the first k vectors in iterate k."""
        rhs = np.zeros((k + 1, len(alphas)))
        rhs[0] = self.length
        if k == 0:
            return rhs[:0]
        if self.minimal_residual:
            return self._least_squares(alphas, rhs)
        bands = np.zeros((3, k))
        bands[0, 1:], bands[2, :-1] = self.beside[: k - 1], self.beside[: k - 1]
        z = np.empty((k, len(alphas)))
        for i, alpha in enumerate(alphas):
            bands[1] = self.diagonal[:k] + alpha
            z[:, i] = solve_banded((1, 1), bands, rhs[:k, i])
        return z

    def _least_squares(self, alphas: NDArray[Any], rhs: NDArray[Any]) -> NDArray[Any]:
        """Return z by Givens rotations, as MINRES does, for all alphas together."""
        k = len(rhs) - 1
        diagonal, beside = self.diagonal[:k, None] + alphas, np.append(self.beside[:k], 0.0)
        upper = np.zeros((3, k, len(alphas)))  # the triangular factor: its diagonal and the two above
        here, right = diagonal[0], np.full(len(alphas), beside[0])  # the row that the next rotation turns
        for i in range(k):
            r = np.maximum(np.hypot(here, beside[i]), 1e-300)
            c, s = here / r, beside[i] / r
            upper[0, i] = r
            rhs[i], rhs[i + 1] = c * rhs[i], -s * rhs[i]
            if i + 1 < k:
                upper[1, i], upper[2, i] = c * right + s * diagonal[i + 1], s * beside[i + 1]
                here, right = c * diagonal[i + 1] - s * right, c * beside[i + 1]
        z = np.zeros((k + 2, len(alphas)))
        for i in range(k - 1, -1, -1):
            z[i] = (rhs[i] - upper[1, i] * z[i + 1] - upper[2, i] * z[i + 2]) / upper[0, i]
        return z[:k]

    def residual(self, alpha: float, z: NDArray[Any]) -> float:
        """Return the norm of ``b - (B + α I) x``, relative to the norm of b, for the weights z of x."""
        k = len(z)
        if k == 0:
            return 0.0
        rest = np.zeros(k + 1)
        rest[0] = -self.length
        rest[:k] += (self.diagonal[:k] + alpha) * z
        rest[1:] += self.beside[:k] * z
        rest[: k - 1] += self.beside[: k - 1] * z[1:]
        return float(np.linalg.norm(rest)) / self.length if self.length else 0.0


def krylov_basis(
    space: Space,
    curvature: Curvature,
    rhs: Array,
    *,
    max_iter: int,
    minimal_residual: bool = False,
    on_vector: Callable[[Element], None] | None = None,
) -> KrylovBasis:
    """Make at most ``max_iter`` vectors by the Lanczos process; each takes a product (two in primal form) and O(n).

    The process uses the inner product of the space, as conjugate gradients does. With ``minimal_residual`` it uses the
    plain one, as MINRES does (for the squared loss without weights, because B must be symmetric). ``on_vector`` is
    called with each vector and its predictions.
    """
    vectors = empty((max_iter, rhs.shape[0]), rhs)
    diagonal: list[float] = []
    beside: list[float] = []
    before, length = namespace(rhs).zeros_like(rhs), 0.0
    rest = rhs
    for k in range(max_iter):
        if minimal_residual:
            size, element = float(rest @ rest) ** 0.5, None
        else:
            measured = space.measured(rest)
            size, element = measured.norm, measured
        if k == 0:
            length = size
        else:
            beside.append(size)
        if not size > _BROKEN * length:
            break
        if element is None:
            v = space.element(rest / size)
        else:
            direction = space.next_direction(element)
            v = Element(direction.c / size, direction.f / size)
        if on_vector is not None:
            on_vector(v)
        vectors[k, :] = v.c
        image = space.lift(curvature.times(v.f))
        diagonal.append(float(image @ v.c) if minimal_residual else space.inner(Element(image, None), v))
        rest = image - diagonal[-1] * v.c
        if k:
            rest -= size * before
        before = v.c
    else:
        beside.append(float(rest @ rest) ** 0.5 if minimal_residual else space.measured(rest).norm)
    return KrylovBasis(vectors[: len(diagonal)], np.array(diagonal), np.array(beside), length, minimal_residual)
