"""A dense solve, for systems so small that nothing else is worth it."""

from typing import Any

import numpy as np

from vectrick.losses import Curvature
from vectrick.solvers.space import Dual, Element, Space

Array = Any

MAX_SIZE = 500
_SAFE = 1e8  # the largest eigenvalue over alpha up to which elimination loses nothing that matters


def solve_directly(space: Space, curvature: Curvature, rhs: Array, alpha: float) -> Element:
    """Solve ``(B + α I) x = b`` with ``B x = lift(H predict(x))`` by forming the matrix; O(size³).

    Where B is much larger than α, dual coefficients that the kernel maps to zero would be large, and rounding would
    make predictions of them. There the solution is sought among the eigenvectors that the kernel does see.
    """
    columns = [space.predict(column) for column in np.eye(space.size, dtype=rhs.dtype)]
    if not columns:
        return space.zero(rhs)
    predictions, b = np.stack(columns, axis=1).astype(np.float64), rhs.astype(np.float64)
    if isinstance(space, Dual):
        c, f = _solve_dual(predictions, curvature, b, alpha, float(np.finfo(rhs.dtype).eps))
    else:
        c = _solve_features(predictions, curvature, b, alpha)
        f = predictions @ c
    return Element(c.astype(rhs.dtype, copy=False), f.astype(rhs.dtype, copy=False))


def _solve_dual(A: Array, curvature: Curvature, b: Array, alpha: float, eps: float) -> tuple[Array, Array]:
    """Return the coefficients and their predictions."""
    matrix = np.stack([curvature.times(column) for column in A.T], axis=1)
    if np.abs(matrix).sum(axis=1).max() <= _SAFE * alpha:
        a = np.linalg.solve(matrix + alpha * np.eye(len(A)), b)
        return a, A @ a
    values, vectors = np.linalg.eigh(0.5 * (A + A.T))
    seen = values > len(A) * eps * values[-1]
    features, inverse = vectors[:, seen] * np.sqrt(values[seen]), vectors[:, seen] / np.sqrt(values[seen])
    w = _solve_features(features, curvature, features.T @ b, alpha)
    return inverse @ w, features @ w


def _solve_features(features: Array, curvature: Curvature, b: Array, alpha: float) -> Array:
    """Solve ``(Φᵀ H Φ + α I) w = b``, by least squares, which a singular matrix does not stop."""
    curved = np.stack([curvature.times(column) for column in features.T], axis=1)
    return np.linalg.lstsq(features.T @ curved + alpha * np.eye(features.shape[1]), b, rcond=None)[0]
