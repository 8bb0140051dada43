"""Baselines for the products: Algorithm 1 of the paper, SciPy sparse, dense BLAS, RLScore."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array

Array = NDArray[Any]
Product = Callable[[Array], Array]


@njit(nogil=True, cache=True)
def _algorithm_1(M, N, v, p, q, r, t, m_first):  # type: ignore[no-untyped-def]
    """Algorithm 1 of the paper, loop by loop."""
    a, b = M.shape
    c, d = N.shape
    u = np.zeros(len(p), v.dtype)
    if m_first:
        T = np.zeros((d, a), v.dtype)
        for h in range(len(r)):
            i, j = r[h], t[h]
            for k in range(a):
                T[j, k] += v[h] * M[k, i]
        for h in range(len(p)):
            i, j = p[h], q[h]
            for k in range(d):
                u[h] += N[j, k] * T[k, i]
    else:
        S = np.zeros((c, b), v.dtype)
        for h in range(len(r)):
            i, j = r[h], t[h]
            for k in range(c):
                S[k, i] += v[h] * N[k, j]
        for h in range(len(p)):
            i, j = p[h], q[h]
            for k in range(b):
                u[h] += S[j, k] * M[i, k]
    return u


def algorithm_1(M: Array, N: Array, p: Array, q: Array) -> Product:
    """Return the product by the paper's algorithm, compiled, with the paper's choice of the branch."""
    m_first = M.shape[0] + N.shape[1] < N.shape[0] + M.shape[1]
    return lambda v: _algorithm_1(M, N, v, p, q, p, q, m_first)


def scipy_sparse(M: Array, N: Array, p: Array, q: Array) -> Product:
    """Return the product by SciPy's sparse times dense product, BLAS, and a gather."""
    order = np.lexsort((p, q))
    pattern = csr_array((np.ones(len(p), M.dtype), (q, p)), shape=(len(N), len(M)))
    Mt = np.ascontiguousarray(M.T)

    def product(v: Array) -> Array:
        pattern.data = v[order]
        return np.asarray((N @ (pattern @ Mt))[q, p])

    return product


def dense_blas(M: Array, N: Array, p: Array, q: Array) -> Product:
    """Return the product by a scatter, two BLAS products and a gather."""

    def product(v: Array) -> Array:
        V = np.zeros((len(N), len(M)), M.dtype)
        V[q, p] = v
        return np.asarray((N @ V @ M.T)[q, p])

    return product


def rlscore(M: Array, N: Array, p: Array, q: Array) -> Product | None:
    """Return the product by RLScore, the authors' library, or None if it is not installed."""
    try:
        from rlscore.utilities.sampled_kronecker_products import sampled_vec_trick
    except ImportError:
        return None
    rows, cols = p.astype(np.int32), q.astype(np.int32)
    return lambda v: np.asarray(sampled_vec_trick(v, N, M, cols, rows, cols, rows))


BASELINES: dict[str, Callable[[Array, Array, Array, Array], Product | None]] = {
    "Algorithm 1": algorithm_1,
    "SciPy sparse": scipy_sparse,
    "dense BLAS": dense_blas,
    "RLScore": rlscore,
}
