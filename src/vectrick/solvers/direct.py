"""A dense solve, for systems so small that nothing else is worth it."""

from typing import Any

import numpy as np

from vectrick.losses import Curvature
from vectrick.solvers.space import Element, Space

Array = Any

MAX_SIZE = 500


def solve_directly(space: Space, curvature: Curvature, rhs: Array, alpha: float) -> Element:
    """Solve ``(B + α I) x = b`` with ``B x = lift(H predict(x))`` by forming the matrix; O(size³)."""
    identity = np.eye(space.size, dtype=rhs.dtype)
    columns = [space.lift(curvature.times(space.predict(column))) for column in identity]
    matrix = np.stack(columns, axis=1) + alpha * identity
    return space.element(np.linalg.solve(matrix, rhs))
