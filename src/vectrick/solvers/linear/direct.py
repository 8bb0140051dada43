"""A dense solver for small systems."""

import numpy as np

from vectrick._typing import Array
from vectrick.backends.arrays import like, numpy_dtype, to_host
from vectrick.losses import Curvature
from vectrick.objectives.space import Dual, Element, Space
from vectrick.solvers.quadratic import LinearCallback, LinearResult, LinearSystem, QuadraticSolver
from vectrick.solvers.solution import EXACT

MAX_SIZE = 500  # equations up to which elimination is faster than iterations
_SAFE = 1e8  # up to this ratio of the largest eigenvalue to alpha, elimination is accurate enough


class Direct(QuadraticSolver):
    """A dense solver of the whole problem, for at most a few hundred coefficients."""

    name = "direct"
    solves_paths = True

    def solve(self, system: LinearSystem, tol: float, max_iter: int, callback: LinearCallback | None) -> LinearResult:
        """Return the solution for each alpha."""
        parts = system.space, system.curvature, system.rhs
        functions = [solve_directly(*parts, alpha) for alpha in system.alphas]
        if callback is not None:
            callback(1, functions, 0.0)
        return LinearResult(functions, EXACT, 1, [0.0], converged=True)


def solve_directly(space: Space, curvature: Curvature, rhs: Array, alpha: float) -> Element:
    """Solve ``(B + α I) x = b`` with ``B x = lift(H predict(x))`` by forming the matrix; O(size³).

    If B is much larger than α, dual coefficients that the kernel maps to zero would be large, and rounding would turn
    them into predictions. The solution is then restricted to eigenvectors that the kernel does not map to zero.
    """
    dtype = numpy_dtype(rhs)
    columns = [to_host(space.predict(column)) for column in like(np.eye(space.size, dtype=dtype), rhs)]
    if not columns:
        return space.zero(rhs)
    # Small matrices are solved on the CPU, even if products are computed on another device.
    predictions, b = np.stack(columns, axis=1).astype(np.float64), to_host(rhs).astype(np.float64)
    _check_finite(predictions)
    if isinstance(space, Dual):
        c, f = _solve_dual(predictions, curvature, b, alpha, rhs)
    else:
        c = _solve_features(predictions, curvature, b, alpha, rhs)
        f = predictions @ c
    return Element(like(c, rhs, dtype), like(f, rhs, dtype))


def _solve_dual(A: Array, curvature: Curvature, b: Array, alpha: float, at: Array) -> tuple[Array, Array]:
    """Return the coefficients and their predictions."""
    matrix = _curved(A, curvature, at)
    if np.abs(matrix).sum(axis=1).max() <= _SAFE * alpha:
        a = np.linalg.solve(matrix + alpha * np.eye(len(A)), b)
        return a, A @ a
    values, vectors = np.linalg.eigh(0.5 * (A + A.T))
    seen = values > len(A) * float(np.finfo(numpy_dtype(at)).eps) * values[-1]
    features, inverse = vectors[:, seen] * np.sqrt(values[seen]), vectors[:, seen] / np.sqrt(values[seen])
    w = _solve_features(features, curvature, features.T @ b, alpha, at)
    return inverse @ w, features @ w


def _solve_features(features: Array, curvature: Curvature, b: Array, alpha: float, at: Array) -> Array:
    """Solve ``(Φᵀ H Φ + α I) w = b`` by least squares, because the matrix may be singular."""
    curved = _curved(features, curvature, at)
    with np.errstate(over="ignore", invalid="ignore"):
        matrix = features.T @ curved
    _check_finite(matrix)
    return np.linalg.lstsq(matrix + alpha * np.eye(features.shape[1]), b, rcond=None)[0]


def _curved(matrix: Array, curvature: Curvature, at: Array) -> Array:
    """Return H times a matrix; H is on the backend of the array ``at``."""
    return np.stack([to_host(curvature.times(like(column, at))) for column in matrix.T], axis=1)


def _check_finite(matrix: Array) -> None:
    """Raise ValueError if a matrix is not finite, because LAPACK requires finite values."""
    if not np.isfinite(matrix).all():
        raise ValueError("kernel values between edges are NaN or too large for their dtype; scale the features")
