"""Ridge regression on a complete graph: one eigendecomposition of each kernel, and every alpha follows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

Array = NDArray[Any]


def solve_complete(
    K: Array, G: Array, Y: Array, alphas: Sequence[float], fit_intercept: bool = False
) -> list[tuple[Array, float]]:
    """Solve ``K A G + α A + b = Y`` for every alpha; return dual coefficients A and intercepts b.

    Y has a row for each start vertex and a column for each end vertex. It takes O(m³ + q³) once and O(m² q + m q²) for
    each alpha. With an intercept the coefficients sum to zero.

    >>> import numpy as np
    >>> K, G, Y = np.array([[2.0]]), np.array([[3.0]]), np.array([[7.0]])
    >>> solve_complete(K, G, Y, [1.0])[0][0]
    array([[1.]])
    """
    k, U = eigh(K)
    g, V = eigh(G)
    rotated = U.T @ Y @ V
    ones = np.outer(U.sum(axis=0), V.sum(axis=0)) if fit_intercept else None
    products = np.maximum(np.outer(k, g), 0.0)
    found = []
    for alpha in alphas:
        b = 0.0
        if ones is not None:
            inverse = 1.0 / (products + alpha)
            b = float((ones * inverse * rotated).sum() / (ones * inverse * ones).sum())
        right = rotated if ones is None else rotated - b * ones
        found.append((U @ (right / (products + alpha)) @ V.T, b))
    return found
