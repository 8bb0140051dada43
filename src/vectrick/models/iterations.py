"""How many iterations conjugate gradients takes, from a spectrum that is known in part: simulated, not computed."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST = 1000  # iterations, after which most solvers give up
_RANDOM = 160  # coefficients of the random pattern that stands for the graph
_BINS = 200  # in each decade of the spectrum
_HARDER = 1.5  # more iterations than the bound for a matrix without structure says


def plain_iterations(s: NDArray[Any], alpha: float, tol: float, max_iter: int) -> int:
    """Return how many iterations conjugate gradients takes on a spectrum, with a right-hand side like random labels.

    >>> import numpy as np
    >>> plain_iterations(np.array([1.0]), 1.0, 1e-6, 100)
    1
    """
    s = s[s > 1e-12 * s.max()]
    bins = np.floor(_BINS * np.log10(s)).astype(np.int64)
    bins -= bins.min()
    weight, squares = np.bincount(bins, s), np.bincount(bins, s * s)
    filled = weight > 0
    weight, centre = weight[filled], squares[filled] / weight[filled]
    return _iterations(centre + alpha, np.sqrt(weight), np.ones(len(weight)), tol, max_iter)


def pattern_iterations(s: NDArray[Any], size: int, n_edges: int, alpha: float, tol: float) -> int:
    """Return how many preconditioned iterations a random pattern takes that is like the graph, only smaller."""
    ordered = np.sort(s)
    p = min(_RANDOM, len(ordered))
    some = ordered[((np.arange(p) + 0.5) / p * len(ordered)).astype(int)]
    rows = max(1, min(round(n_edges * p / size), 8 * p))
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((rows, p)) * (some / rows) ** 0.5
    b = rng.standard_normal(p) * some**0.5
    return _iterations(Z.T @ Z + alpha * np.eye(p), b, 1.0 / (some + alpha), tol, MOST)


def _iterations(matrix: NDArray[Any], b: NDArray[Any], inverse: NDArray[Any], tol: float, max_iter: int) -> int:
    """Return the iterations of preconditioned conjugate gradients with a matrix, or with a diagonal one."""
    r, z = b.copy(), inverse * b
    p, along, first = z, float(r @ z), float(np.linalg.norm(b))
    for k in range(1, max_iter + 1):
        q = matrix @ p if matrix.ndim == 2 else matrix * p
        r = r - along / float(p @ q) * q
        if not float(np.linalg.norm(r)) > tol * first:
            return k
        z = inverse * r
        before, along = along, float(r @ z)
        p = z + along / before * p
    return max_iter


def n_larger(sampled: NDArray[Any], threshold: float, most: int) -> int:
    """Return about how many eigenvalues are larger, from those of a sample, which has too few small ones.

    Beyond a third of the sample, they are taken to fall as they did before, by a power of their number.

    >>> import numpy as np
    >>> n_larger(1.0 / np.arange(1, 101.0) ** 2, 1e-2, 1000), n_larger(1.0 / np.arange(1, 101.0) ** 2, 1e-4, 1000)
    (9, 100)
    """
    known = max(2, len(sampled) // 3)
    if sampled[known - 1] <= threshold:
        return int(np.count_nonzero(sampled > threshold))
    low = max(1, known // 3)
    fall = np.log(sampled[low - 1] / sampled[known - 1]) / np.log(known / low)
    if fall <= 0:
        return most
    return int(min(most, round(known * (sampled[known - 1] / threshold) ** (1.0 / fall))))


def more_iterations(left_out: float, tol: float) -> float:
    """Return how many more iterations it takes if directions of this size over alpha are left out."""
    return float(_HARDER * 0.5 * ((1 + left_out) ** 0.5 - 1) * np.log(2 / tol))
