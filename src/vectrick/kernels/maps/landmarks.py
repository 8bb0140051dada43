"""Nyström features: kernel values with a few landmarks, for kernels without a low-rank factor of their own."""

from typing import Any, get_args

import numpy as np

from vectrick._typing import Array, Features, Landmarks
from vectrick.backends import HOST
from vectrick.kernels.base import Kernel
from vectrick.kernels.maps.factor import CholeskyMap, ComputedMatrix, pivoted_cholesky

LANDMARKS = get_args(Landmarks)
_SAMPLE = 20_000  # vertices that landmarks are chosen from
_JUDGED = 5_000  # vertices that the error is measured on
_TOLERANCE = 1e-12  # of the factor of the landmarks


def nystroem_map(kernel: Kernel, X: Features, n_components: int, landmarks: str) -> CholeskyMap:
    """Return features of rank at most ``n_components`` whose inner products approximate the kernel.

    "cholesky" selects landmarks by pivoted Cholesky, from vertices with the largest error; "kmeans" takes the vertices
    nearest to the centers of k-means. Both choose from at most 20 000 vertices. The features take O(m r) kernel values
    and O(m r²) for m vertices and rank r.

    >>> import numpy as np, vectrick as vt
    >>> X = np.random.default_rng(0).random((500, 2))
    >>> found = nystroem_map(vt.Gaussian(gamma=1.0), X, 30, "cholesky")
    >>> found.rank, bool(found.error < 1e-6)
    (30, True)
    """
    rng = np.random.default_rng(0)
    m = X.shape[0]
    some = np.sort(rng.choice(m, _SAMPLE, replace=False)) if m > _SAMPLE else np.arange(m)
    sample: Any = X if m <= _SAMPLE else X[some]
    pivots = _pivots(kernel, sample, n_components) if landmarks == "cholesky" else _centres(sample, n_components)
    corner, order = _factor(kernel, sample, pivots)
    found = CholeskyMap(kernel, X, np.broadcast_to(0.0, (0, len(order))), some[pivots[order]], 0.0, corner)
    judged = np.sort(rng.choice(m, min(m, _JUDGED), replace=False))
    diagonal = np.asarray(kernel.diagonal(X[judged]))
    explained = np.square(found.transform(X[judged])).sum(1)
    found.error = float(max(0.0, 1.0 - explained.sum() / max(diagonal.sum(), 1e-300)))
    return found


def _pivots(kernel: Kernel, X: Features, n: int) -> Array:
    """Return the pivots of Cholesky's method."""
    diagonal = np.asarray(kernel.diagonal(X), np.float64)
    found = pivoted_cholesky(ComputedMatrix(kernel, X, HOST), diagonal, _TOLERANCE, n, truncated=True)
    assert found is not None
    return found[1]


def _centres(X: Features, n: int) -> Array:
    """Return the vertices nearest to the centers of k-means, each once."""
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.metrics import pairwise_distances_argmin

    n = min(n, X.shape[0])
    fitted = MiniBatchKMeans(n, random_state=0, n_init=1, batch_size=max(1024, 4 * n)).fit(X)
    return np.unique(pairwise_distances_argmin(fitted.cluster_centers_, X))


def _factor(kernel: Kernel, X: Features, pivots: Array) -> tuple[Array, Array]:
    """Return the factor of the kernel matrix of landmarks, and the landmarks that it needs, in order."""
    K = np.asarray(kernel.columns(X[pivots], X, pivots), np.float64)
    found = pivoted_cholesky(K, np.diagonal(K), _TOLERANCE, len(K))
    assert found is not None
    return np.ascontiguousarray(found[0][found[1]]), found[1]
