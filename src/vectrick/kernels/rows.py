"""Products, norms and scales of the rows of feature tables: arrays, sparse matrices or tensors."""

import sys
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.preprocessing import normalize

from vectrick._typing import Array, Features
from vectrick.backends import backend_of
from vectrick.backends.arrays import namespace

_DENSE_SPEED = 200  # a dense multiplication is so many times as fast as a sparse one
_FEW_ROWS = 4  # rows that are multiplied one by one
_DENSE_BYTES = 1 << 29  # of the dense rows


def squared_norms(X: Any) -> Array:
    """Return the squared length of every row."""
    return np.asarray(X.multiply(X).sum(axis=1)).ravel() if issparse(X) else backend_of(X).squared_norms(X)


def ones(X: Features) -> Array:
    """Return a one for each row, on the device of the rows."""
    xp = np if issparse(X) else namespace(X)
    return xp.ones(X.shape[0], dtype=X.dtype, device="cpu" if issparse(X) else X.device)


def dense_products(X: Any, Y: Any) -> Array:
    """Return the inner products of the rows of X and of Y as a dense matrix."""
    if issparse(X) and issparse(Y):
        return _sparse_products(csr_array(X), csr_array(Y))
    product = X @ Y.T
    result: Array = product.toarray() if issparse(product) else product
    return result


def _sparse_products(X: csr_array, Y: csr_array) -> Array:
    """Return the inner products of sparse rows; if they share few columns, use dense rows, because this is faster."""
    n_columns = X.shape[1]
    if 0 < X.shape[0] <= _FEW_ROWS:
        return np.stack([Y @ X[[row]].toarray().ravel() for row in range(X.shape[0])])
    counts = [np.bincount(Z.indices, minlength=n_columns).astype(np.float64) for Z in (X, Y)]
    shared = np.flatnonzero((counts[0] > 0) & (counts[1] > 0))
    n_products = float(counts[0] @ counts[1])
    n_dense = float(X.shape[0]) * Y.shape[0] * len(shared)
    small = 8 * (X.shape[0] + Y.shape[0]) * len(shared) <= _DENSE_BYTES
    if small and n_dense <= _DENSE_SPEED * n_products:
        first = X[:, shared].toarray()
        result: Array = first @ (first if Y is X else Y[:, shared].toarray()).T
    else:
        result = (X @ Y.T).toarray()
    return result


def unit_rows(X: Features) -> Any:
    """Return the rows, scaled to length one; rows of zeros stay zero."""
    return normalize(X) if issparse(X) else backend_of(X).unit_rows(X)


def _variance(X: Any) -> float:
    """Return the variance of all entries, including zeros that a sparse table does not store."""
    if not issparse(X):
        return backend_of(X).variance(X)
    size, mean = int(X.shape[0] * X.shape[1]), float(X.mean())
    squares = float(((X.data - mean) ** 2).sum())
    return (squares + (size - len(X.data)) * mean * mean) / size


def settle_gamma(gamma: float | str, X: Features) -> float:
    """Return ``gamma`` as a number: "scale" is 1 / (n_features * X.var()), "auto" is 1 / n_features."""
    n_features: int = max(1, X.shape[1])
    if isinstance(gamma, str):
        if gamma == "auto":
            return 1.0 / n_features
        if gamma == "scale":
            variance = _variance(X)
            return 1.0 / (n_features * variance) if variance > 0 else 1.0
    elif isinstance(gamma, Real) and 0 < gamma <= sys.float_info.max:
        return float(gamma)
    raise ValueError(f"gamma is {gamma!r}, but it must be a positive number, 'scale' or 'auto'")
