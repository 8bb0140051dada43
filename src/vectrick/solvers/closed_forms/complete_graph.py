"""Ridge regression on a complete graph for any alpha, from one eigendecomposition of each kernel."""

from collections.abc import Sequence

import numpy as np

from vectrick._typing import Array
from vectrick.backends.arrays import namespace
from vectrick.solvers.quadratic import LinearCallback, LinearResult, LinearSystem, QuadraticSolver


class Eigen(QuadraticSolver):
    """The closed form of ridge regression on a complete graph; `KronRidge` computes it from the vertex kernels."""

    name = "eigen"
    is_general = False

    def solve(self, system: LinearSystem, tol: float, max_iter: int, callback: LinearCallback | None) -> LinearResult:
        """Raise ValueError, because the closed form needs the vertex kernels."""
        raise ValueError(
            "solver is 'eigen', which is for ridge regression in dual form on a complete graph without weights and "
            "early stopping; use 'auto'"
        )


class CompleteGraph:
    """Ridge regression on a complete graph for any labels, from eigendecompositions of both kernels, O(m³ + q³).

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> graph = vt.solvers.CompleteGraph(np.eye(2), np.eye(3))
    >>> type(graph).__name__
    'CompleteGraph'
    """

    def __init__(self, K: Array, G: Array) -> None:
        xp = namespace(K)
        k, self.U = xp.linalg.eigh(K)
        g, self.V = xp.linalg.eigh(G)
        self.products = xp.clip(k, 0.0, None)[:, None] * xp.clip(g, 0.0, None)
        size = max(self.products.shape)
        self.seen = self.products > size * np.finfo(float).eps * float(self.products.max())
        self.ones = self.U.sum(0)[:, None] * self.V.sum(0)

    def solve(self, Y: Array, alphas: Sequence[float], fit_intercept: bool = False) -> list[tuple[Array, float]]:
        """Solve ``K A G + α A + b = Y`` for every alpha; return dual coefficients A and intercepts b.

        Y has a row for each start vertex and a column for each end vertex. It takes O(m² q + m q²) for each alpha. The
        coefficients are the smallest ones with these predictions: components that the kernels map to zero are left
        out, because rounding would make them matter for a small alpha.

        >>> import numpy as np
        >>> CompleteGraph(np.array([[2.0]]), np.array([[3.0]])).solve(np.array([[7.0]]), [1.0])[0][0]
        array([[1.]])
        """
        rotated, ones = self.U.T @ Y @ self.V, self.ones
        solutions = []
        for alpha in alphas:
            inverse = 1.0 / (self.products + alpha)
            b = float((ones * inverse * rotated).sum() / (ones * inverse * ones).sum()) if fit_intercept else 0.0
            solutions.append((self.U @ (self.seen * inverse * (rotated - b * ones)) @ self.V.T, b))
        return solutions


def solve_two_step(K: Array, G: Array, Y: Array, alphas: Sequence[tuple[float, float]]) -> list[tuple[Array, float]]:
    """Return ``(K + λ I)⁻¹ Y (G + μ I)⁻¹`` for every pair of λ and μ, each with an intercept of zero.

    >>> import numpy as np
    >>> solve_two_step(np.array([[2.0]]), np.array([[3.0]]), np.array([[12.0]]), [(1.0, 1.0)])[0][0]
    array([[1.]])
    """
    xp = namespace(K)
    k, U = xp.linalg.eigh(K)
    g, V = xp.linalg.eigh(G)
    rotated = U.T @ Y @ V
    k, g = xp.clip(k, 0.0, None)[:, None], xp.clip(g, 0.0, None)
    return [(U @ (rotated / ((k + first) * (g + second))) @ V.T, 0.0) for first, second in alphas]
