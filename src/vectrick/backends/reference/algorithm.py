"""Algorithm 1 of the paper in plain NumPy, line by line: the reference in the tests of every fast path."""

import numpy as np

from vectrick._typing import Array


def generalized_vec_trick(
    M: Array, N: Array, v: Array, p: Array, q: Array, r: Array, t: Array, branch: str | None = None
) -> Array:
    """Return ``R (M ⊗ N) Cᵀ v`` by Algorithm 1 in O(min(a·e + d·f, c·e + b·f)) time.

    ``M`` is a × b and ``N`` is c × d; ``p, q`` (length f) are the rows of ``M`` and ``N`` of each row edge, and
    ``r, t`` (length e) the columns of each column edge. ``branch`` is ``"M"`` (``M`` first), ``"N"``, or None for the
    paper's rule.

    >>> import numpy as np
    >>> M, N = np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])
    >>> generalized_vec_trick(M, N, np.ones(1), np.array([0]), np.array([0]), np.array([1]), np.array([0]))
    array([6.])
    """
    (a, b), (c, d) = M.shape, N.shape
    e, f = len(r), len(p)
    if branch is None:
        branch = "M" if a * e + d * f < c * e + b * f else "N"
    u = np.zeros(f, np.result_type(M, N, v))
    if branch == "M":
        T = np.zeros((d, a), u.dtype)
        for h in range(e):
            i, j = r[h], t[h]
            T[j, :] += v[h] * M[:, i]
        for h in range(f):
            i, j = p[h], q[h]
            u[h] = N[j, :] @ T[:, i]
    else:
        S = np.zeros((c, b), u.dtype)
        for h in range(e):
            i, j = r[h], t[h]
            S[:, i] += v[h] * N[:, j]
        for h in range(f):
            i, j = p[h], q[h]
            u[h] = S[j, :] @ M[i, :]
    return u
