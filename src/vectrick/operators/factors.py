"""Factors of a Kronecker product: dense, SciPy sparse, or of low rank; checked once, copied only where needed."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array, issparse

Array = NDArray[Any]


class LowRank:
    """The matrix ``A Bᵀ``, kept as its two thin factors; ``LowRank(A)`` is ``A Aᵀ``.

    A product with it costs O(r) instead of O(n) for each edge, where r is the number of columns of ``A`` and ``B``.

    >>> import numpy as np, vectrick as vt
    >>> K = vt.LowRank(np.array([[1.0], [2.0]]))
    >>> K.shape, K.rank
    ((2, 2), 1)
    >>> vt.kron(K, np.eye(1)) @ np.ones(2)
    array([3., 6.])
    """

    def __init__(self, A: Any, B: Any = None) -> None:
        self.A = as_real_matrix(A, "A")
        self.B = self.A if B is None else as_real_matrix(B, "B")
        if self.A.shape[1] != self.B.shape[1]:
            raise ValueError(
                f"A has {self.A.shape[1]} columns and B has {self.B.shape[1]}, but A @ B.T needs as many of both"
            )

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of ``A @ B.T``."""
        return self.A.shape[0], self.B.shape[0]

    @property
    def rank(self) -> int:
        """The number of columns of ``A`` and ``B``, a bound on the rank."""
        return int(self.A.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The wider of the two dtypes."""
        return np.result_type(self.A, self.B)

    @property
    def T(self) -> "LowRank":
        """The transpose, ``B Aᵀ``."""
        return LowRank(self.B, self.A)

    def astype(self, dtype: DTypeLike) -> "LowRank":
        """Return the same matrix with factors of another dtype."""
        return LowRank(self.A.astype(dtype, copy=False), self.B.astype(dtype, copy=False))

    def toarray(self) -> Array:
        """Return the dense matrix."""
        return np.asarray(self.A @ self.B.T)

    def __repr__(self) -> str:
        return f"LowRank({self.shape[0]} × {self.shape[1]}, rank {self.rank}, {self.dtype})"


Factor: TypeAlias = Array | csr_array | LowRank


def as_array(value: Any, name: str) -> Array:
    """Return ``np.asarray(value)``, or say which argument is no array."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} is not an array: {error}") from None
    if array.ndim == 0:
        raise TypeError(f"{name} is of type {type(value).__name__}, but it must be an array")
    return array


def as_real_matrix(value: Any, name: str) -> Array:
    """Return a dense matrix of float32 or float64, without a copy where it is one already."""
    if issparse(value):
        raise TypeError(f"{name} is a sparse matrix, but it must be dense; convert it with toarray()")
    array = as_array(value, name)
    if array.ndim != 2:
        raise ValueError(f"{name} has shape {array.shape}, but it must be a matrix")
    return array.astype(_real(array.dtype, name), copy=False)


def as_factor(value: Any, name: str) -> Factor:
    """Return a factor as a float32 or float64 array, a CSR array, or `LowRank`."""
    if isinstance(value, LowRank):
        return value
    if issparse(value):
        if value.ndim != 2:
            raise ValueError(f"{name} has shape {value.shape}, but it must be a matrix")
        return csr_array(value, dtype=_real(value.dtype, name))
    return as_real_matrix(value, name)


def _real(dtype: np.dtype[Any], name: str) -> np.dtype[Any]:
    if dtype.kind in "biu":
        return np.dtype(np.float64)
    if dtype.kind == "f" and dtype.itemsize <= 8:
        return np.dtype(np.float32 if dtype.itemsize < 8 else np.float64)
    raise TypeError(f"{name} has dtype {dtype}, but a factor must hold real numbers: float32, float64 or integers")


def transpose(factor: Factor) -> Factor:
    """Return the transposed factor."""
    return csr_array(factor.T) if isinstance(factor, csr_array) else factor.T


def take(factor: Factor, rows: Array | None, cols: Array | None) -> Factor:
    """Return the rows and columns of a factor that are named; None for all."""
    if isinstance(factor, LowRank):
        A = factor.A if rows is None else factor.A[rows]
        return LowRank(A, factor.B if cols is None else factor.B[cols])
    if rows is not None and cols is not None and isinstance(factor, np.ndarray):
        return factor[np.ix_(rows, cols)]
    factor = factor if rows is None else factor[rows]
    return factor if cols is None else factor[:, cols]


def is_finite(factor: Factor) -> bool:
    """Whether all entries are finite; a sum finds out in one pass, without a temporary array."""
    if isinstance(factor, LowRank):
        return is_finite(factor.A) and is_finite(factor.B)
    entries = factor if isinstance(factor, np.ndarray) else factor.data
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(entries.sum()) or np.isfinite(entries).all())


def describe(factor: Factor) -> str:
    """Return a factor in a few words, for the plan."""
    n_rows, n_cols = factor.shape
    if isinstance(factor, LowRank):
        return f"{n_rows} × {n_cols} of rank {factor.rank}"
    if isinstance(factor, csr_array):
        return f"{n_rows} × {n_cols} sparse ({factor.nnz} entries)"
    return f"{n_rows} × {n_cols}"
