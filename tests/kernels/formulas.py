"""The pairwise kernels by their formulas, as explicit matrices between edges: what operators are compared with."""

import numpy as np

import vectrick as vt
from vectrick.kernels.pairwise import PAIRWISE, VertexFactors

SUMS = [name for name in PAIRWISE if name != "two_step"]  # those that are sums of terms
ONE_SET = [name for name in SUMS if PAIRWISE[name].one_set]
TWO_SETS = [name for name in SUMS if not PAIRWISE[name].one_set]
SIGNS = {"symmetric": 1, "mlpk": 1, "antisymmetric": -1, "ranking": -1}


def edge_kernel(name, K, G, rows, cols):
    """Return the matrix of kernel values between edges; ``rows`` and ``cols`` are pairs of start and end vertices.

    K and G hold kernel values between all vertices of a side; of one vertex set, K counts.
    """
    (d, t), (e, u) = rows, cols
    k = K[np.ix_(d, e)]
    if name in ONE_SET:
        across, back, ends = K[np.ix_(d, u)], K[np.ix_(t, e)], K[np.ix_(t, u)]
        return {
            "symmetric": k * ends + across * back,
            "antisymmetric": k * ends - across * back,
            "mlpk": (k - across - back + ends) ** 2,
            "ranking": k - across - back + ends,
        }[name]
    g = G[np.ix_(t, u)]
    same_start, same_end = np.equal.outer(d, e), np.equal.outer(t, u)
    return {
        "kronecker": k * g,
        "gaussian": k * g,
        "linear": k + g,
        "poly2d": (k + g) ** 2,
        "cartesian": k * same_end + same_start * g,
    }[name]


def terms_of(name, K, G):
    """Return the terms of a kernel with whole kernel matrices of both sides."""
    from scipy.sparse import eye_array

    kernel = PAIRWISE[name]()
    start = VertexFactors(K, lambda: eye_array(len(K), format="csr"))
    end = start if kernel.one_set else VertexFactors(G, lambda: eye_array(len(G), format="csr"))
    return kernel.terms(start, end)


def kernel_matrix(rng, m, dtype=np.float64):
    """Return a positive semi-definite matrix."""
    A = rng.standard_normal((m, m + 1))
    return (A @ A.T / m).astype(dtype)


def edges_of_one_set(rng, m, n, loops=True):
    """Return edges between m vertices; without loops also without any edge in both directions."""
    start, end = rng.integers(0, m, n), rng.integers(0, m, n)
    if loops:
        return start, end
    pairs = np.minimum(start, end) * m + np.maximum(start, end)
    _, first = np.unique(pairs, return_index=True)
    kept = np.sort(first[start[first] != end[first]])
    return start[kept], end[kept]


def gaussian(X, Y=None, gamma=0.3):
    """Return Gaussian kernel values."""
    return vt.Gaussian(gamma)(X, X if Y is None else Y)
