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
    if isinstance(space, Dual):
        A = np.stack([space.predict(column) for column in np.eye(space.size, dtype=rhs.dtype)], axis=1)
        matrix = np.stack([curvature.times(column) for column in A.T], axis=1)
        if np.abs(matrix).sum(axis=1).max() <= _SAFE * alpha:
            return space.element(np.linalg.solve(matrix + alpha * np.eye(space.size, dtype=rhs.dtype), rhs))
        values, vectors = np.linalg.eigh(0.5 * (A + A.T))
        seen = values > space.size * np.finfo(values.dtype).eps * values[-1]
        features = vectors[:, seen] * np.sqrt(values[seen])
        w = _solve_features(features, curvature, features.T @ rhs, alpha)
        return Element((vectors[:, seen] / np.sqrt(values[seen])) @ w, features @ w)
    features = np.stack([space.predict(column) for column in np.eye(space.size, dtype=rhs.dtype)], axis=1)
    w = _solve_features(features, curvature, rhs, alpha)
    return Element(w, features @ w)


def _solve_features(features: Array, curvature: Curvature, rhs: Array, alpha: float) -> Array:
    """Solve ``(Φᵀ H Φ + α I) w = b``, by least squares, which a singular matrix does not stop."""
    curved = np.stack([curvature.times(column) for column in features.T], axis=1)
    matrix = features.T @ curved + alpha * np.eye(features.shape[1], dtype=rhs.dtype)
    return np.linalg.lstsq(matrix, rhs, rcond=None)[0].astype(rhs.dtype, copy=False)
