"""Leave-one-out predictions of ridge regression on a complete graph, in closed form from eigendecompositions.

With ``K = U diag(k) Uᵀ`` and ``G = V diag(g) Vᵀ``, the residuals of the fit to all edges are
``Y - F = U (α / (kₐ g_b + α) ∘ Uᵀ Y V) Vᵀ``. The matrix M that makes them from the labels has a closed form.
Leaving out a set of edges R and predicting it gives the residuals ``M_RR⁻¹ (Y - F)_R``. For one edge, M_RR is a number.
For all edges of a start vertex it is diagonal in the basis V, and for all edges of an end vertex in the basis U.
"""

import numpy as np
from scipy.linalg import eigh

from vectrick._typing import Array
from vectrick.backends.threads import count_threads, run_tasks, single_threaded_blas

LEAVE = ("edge", "start", "end", "both")


def leave_out(K: Array, G: Array, Y: Array, alpha: float, leave: str) -> Array:
    """Return the prediction for each edge by a model that is trained without it and the edges left out with it.

    ``leave`` selects the edges to leave out when edge (i, j) is predicted: "edge" this edge, "start" all edges of start
    vertex i, "end" all edges of end vertex j, "both" all edges of either vertex. It takes O(m³ + q³ + m² q + m q²); for
    "both" an eigendecomposition for each vertex of the smaller side, O(min(m, q)⁴ + m² q²) in total.

    >>> import numpy as np
    >>> K, G, Y = np.eye(2) + 1.0, np.eye(1), np.array([[3.0], [7.0]])
    >>> leave_out(K, G, Y, 1.0, "start").round(3)  # 7 / 3 and 3 / 3
    array([[2.333],
           [1.   ]])
    """
    if leave == "both":
        return _without_both(K, G, Y, alpha) if len(K) <= len(G) else _without_both(G, K, Y.T, alpha).T
    k, U = eigh(K)
    g, V = eigh(G)
    kept = alpha / (np.outer(np.maximum(k, 0.0), np.maximum(g, 0.0)) + alpha)  # residual factors
    rotated = kept * (U.T @ Y @ V)
    if leave == "edge":
        return np.asarray(Y - (U @ rotated @ V.T) / ((U * U) @ kept @ (V * V).T))
    if leave == "start":
        return np.asarray(Y - ((U @ rotated) / ((U * U) @ kept)) @ V.T)
    return np.asarray(Y - U @ ((rotated @ V.T) / (kept @ (V * V).T)))


def _without_both(K: Array, G: Array, Y: Array, alpha: float) -> Array:
    """Return the predictions without either vertex, for one start vertex i after the other.

    Without i, the problem splits into one problem for each eigenvector of the kernel of the other start vertices: ridge
    regression with the kernel ``κₐ G`` and the labels ``uₐᵀ Y``. Its leave-one-out predictions have a closed form. They
    are the coordinates of the predictions for the other start vertices. The kernel extends these predictions to i.
    """
    g, V = eigh(G)
    g = np.maximum(g, 0.0)
    out = np.empty_like(Y, dtype=np.float64)

    def predict(i: int) -> None:
        others = np.delete(np.arange(len(K)), i)
        kappa, U = eigh(K[np.ix_(others, others)])
        seen = kappa > len(K) * np.finfo(float).eps * max(kappa[-1], 0.0)  # the kernel maps the rest to zero
        kappa, U = kappa[seen], U[:, seen]
        inverse = 1.0 / (np.outer(kappa, g) + alpha)
        labels = U.T @ Y[others]
        # [C z]ⱼ / Cⱼⱼ is the residual without j, for C = (κ G + α)⁻¹.
        predicted = labels - ((inverse * (labels @ V)) @ V.T) / (inverse @ (V * V).T)
        out[i] = (K[i, others] @ U / kappa) @ predicted

    with single_threaded_blas():  # many small problems, each in one thread
        run_tasks(predict, len(K), count_threads())
    return out
