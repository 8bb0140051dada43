"""Factors of a Kronecker product: dense, SciPy sparse, or of low rank; checked once, copied only if needed."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import csr_array, issparse, sparray

from vectrick._typing import Array, ArrayLike
from vectrick.backends import Backend, backend_of
from vectrick.backends.arrays import cast, given_array, namespace, numpy_dtype, placed
from vectrick.backends.product_path import taken

# A factor as users give it: an array, a SciPy sparse matrix, a tensor or a `LowRank`.
FactorLike: TypeAlias = "ArrayLike | sparray | LowRank"


class LowRank:
    """The matrix ``A Bᵀ``, stored as its two low-rank factors; ``LowRank(A)`` is ``A Aᵀ``.

    A product with it costs O(r) instead of O(n) for each edge, where r is the number of columns of ``A`` and ``B``.

    >>> import numpy as np, vectrick as vt
    >>> K = vt.LowRank(np.array([[1.0], [2.0]]))
    >>> K.shape, K.rank
    ((2, 2), 1)
    >>> vt.kron(K, np.eye(1)) @ np.ones(2)
    array([3., 6.])
    """

    def __init__(self, A: FactorLike, B: FactorLike = None) -> None:
        self.A = as_real_matrix(A, "A")
        self.B = self.A if B is None else as_real_matrix(B, "B")
        if self.A.shape[1] != self.B.shape[1]:
            raise ValueError(
                f"A has {self.A.shape[1]} columns and B has {self.B.shape[1]}, but A @ B.T needs equal numbers"
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
        return np.result_type(numpy_dtype(self.A), numpy_dtype(self.B))

    @property
    def T(self) -> "LowRank":
        """The transpose, ``B Aᵀ``."""
        return LowRank(self.B, self.A)

    def astype(self, dtype: DTypeLike) -> "LowRank":
        """Return the same matrix with factors of another dtype."""
        return LowRank(cast(self.A, dtype), cast(self.B, dtype))

    def toarray(self) -> Any:
        """Return the dense matrix."""
        return self.A @ self.B.T

    def __repr__(self) -> str:
        return f"LowRank({self.shape[0]} × {self.shape[1]}, rank {self.rank}, {self.dtype})"


Factor: TypeAlias = Array | csr_array | LowRank


def as_array(value: Any, name: str) -> Array:
    """Return a user's value as an array of its backend; raise an error with the name if it is not an array."""
    try:
        array = given_array(value, name)
    except ValueError as error:
        if isinstance(value, np.ma.MaskedArray):
            raise
        raise ValueError(f"{name} is not an array: {error}") from None
    if array.ndim == 0:
        raise TypeError(f"{name} is of type {type(value).__name__}, but it must be an array")
    return array


def as_real_matrix(value: Any, name: str) -> Any:
    """Return a dense matrix of float32 or float64, without a copy if it is one already; a tensor stays a tensor."""
    if issparse(value):
        raise TypeError(f"{name} is a sparse matrix, but it must be dense; convert it with toarray()")
    array = as_array(value, name)
    if array.ndim != 2:
        raise ValueError(f"{name} has shape {tuple(array.shape)}, but it must be a matrix")
    return cast(array, _real(numpy_dtype(array), name))


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


def is_held(factor: Factor, backend: Backend) -> bool:
    """Whether a backend can multiply with a factor without converting it."""
    sides = [factor.A, factor.B] if isinstance(factor, LowRank) else [factor]
    return all(backend.holds(side) for side in sides)


def dtype_of(factor: Factor) -> np.dtype[Any]:
    """Return the NumPy dtype of a factor."""
    return factor.dtype if isinstance(factor, LowRank) else numpy_dtype(factor)


def n_bytes(factor: Factor, dtype: DTypeLike) -> int:
    """Return the bytes of a factor on a torch device; a sparse factor counts as dense."""
    sides = [factor.A, factor.B] if isinstance(factor, LowRank) else [factor]
    return int(sum(int(side.shape[0]) * int(side.shape[1]) for side in sides) * np.dtype(dtype).itemsize)


def in_dtype(factor: Factor, dtype: DTypeLike) -> Any:
    """Return a factor in another dtype."""
    return factor.astype(dtype) if isinstance(factor, LowRank) else cast(factor, dtype)


def moved(factor: Any, backend: Backend, dtype: DTypeLike | None = None) -> Any:
    """Return a factor on a backend; a sparse factor becomes dense if the backend requires that."""
    if isinstance(factor, LowRank):
        A = placed(factor.A, backend, dtype)
        return LowRank(A, A if factor.B is factor.A else placed(factor.B, backend, dtype))
    if issparse(factor):
        return (
            in_dtype(factor, dtype or factor.dtype)
            if backend.holds(factor)
            else placed(factor.toarray(), backend, dtype)
        )
    return placed(factor, backend, dtype)


def transpose(factor: Factor) -> Factor:
    """Return the transposed factor."""
    return csr_array(factor.T) if isinstance(factor, csr_array) else factor.T


def take(factor: Factor, rows: Array | None, cols: Array | None) -> Factor:
    """Return the given rows and columns of a factor; None for all."""
    if isinstance(factor, LowRank):
        A = factor.A if rows is None else factor.A[rows]
        return LowRank(A, factor.B if cols is None else factor.B[cols])
    return taken(factor, rows, cols)


def add_factors(weighted: Sequence[tuple[float, Factor]]) -> Factor:
    """Return the weighted sum of factors of one shape: `LowRank` if all of them are and their total rank is small."""
    factors = [factor for _, factor in weighted]
    thin = [factor for factor in factors if isinstance(factor, LowRank)]
    if len(thin) == len(factors) and sum(factor.rank for factor in thin) < min(thin[0].shape):
        xp, weights = namespace(thin[0].A), [weight for weight, _ in weighted]
        scaled = [weight * factor.A for weight, factor in zip(weights, thin, strict=True)]
        return LowRank(xp.hstack(scaled), xp.hstack([factor.B for factor in thin]))
    total: Any = 0
    for weight, factor in weighted:
        total = weight * (factor.toarray() if isinstance(factor, LowRank) else factor) + total
    return csr_array(total) if issparse(total) else total


def is_finite(factor: Factor) -> bool:
    """Whether all entries are finite."""
    if isinstance(factor, LowRank):
        return is_finite(factor.A) and is_finite(factor.B)
    entries: Any = factor.data if issparse(factor) else factor
    return backend_of(entries).is_finite(entries)


def describe(factor: Factor) -> str:
    """Return a short description of a factor for the plan."""
    n_rows, n_cols = factor.shape
    if isinstance(factor, LowRank):
        return f"{n_rows} × {n_cols} of rank {factor.rank}"
    if isinstance(factor, csr_array):
        return f"{n_rows} × {n_cols} sparse ({factor.nnz} entries)"
    return f"{n_rows} × {n_cols}"
