"""A graph with features on both sides, and the same edges as explicit features and kernel matrix."""

import numpy as np

import vectrick as vt


def graph(m=18, q=14, d=4, r=3, n=150, seed=0):
    """Return edges, values, signs, explicit Kronecker features of the edges and the explicit edge kernel matrix."""
    rng = np.random.default_rng(seed)
    D, T = rng.standard_normal((m, d)), rng.standard_normal((q, r))
    cells = rng.choice(m * q, n, replace=False)
    X = vt.Edges(cells // q, cells % q, D, T)
    features = np.einsum("ni,nj->nij", D[X.start], T[X.end]).reshape(n, -1)
    values = features @ rng.standard_normal(d * r) + rng.standard_normal(n)
    return X, values, np.where(values > 0, 1, -1), features, features @ features.T
