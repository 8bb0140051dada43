"""The base of all operators: a SciPy ``LinearOperator`` with exact types, clear errors, sums, scaling, restriction."""

from abc import abstractmethod
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator

from vectrick._typing import Array, ArrayLike, Features
from vectrick.backends import HOST, Backend, backend_of
from vectrick.backends.arrays import empty, given_array, numpy_dtype, placed
from vectrick.operators.factors import as_array


class Operator(LinearOperator):
    """A real matrix that is defined by its products with vectors.

    A subclass defines two methods, `_multiply` and `_transposed`, and may define `restrict`. Everything that SciPy does
    with a ``LinearOperator`` works. A product runs in the operator's dtype, float32 or float64, and returns that dtype.

    The cost of a product is that of `_multiply`.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> class Twice(vt.Operator):
    ...     def _multiply(self, block, out):
    ...         out[:] = 2.0 * block
    ...     def _transposed(self):
    ...         return self
    >>> Twice((3, 3), np.dtype(float)) @ np.ones(3)
    array([2., 2., 2.])
    """

    dtype: np.dtype[Any]
    shape: tuple[int, int]
    backend: Backend = HOST  # computes the products

    @property
    def device(self) -> Any:
        """The torch device that computes the products; None for the host."""
        return self.backend.device

    @property
    def worth_restricting(self) -> float:
        """The share of the edges up to which a restricted operator saves more than it costs."""
        return self.backend.worth_restricting

    def __init__(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        super().__init__(dtype, shape)

    @abstractmethod
    def _multiply(self, block: Array, out: Array) -> None:
        """Write the product with a C-contiguous (columns, k) block of the operator's dtype to ``out``, (rows, k)."""

    @abstractmethod
    def _transposed(self) -> "Operator":
        """Return the transpose as an operator."""

    def restrict(self, rows: Array | None = None, cols: Array | None = None) -> "Operator":
        """Return the operator of a subset of rows and columns, each given by a boolean mask or None for all."""
        raise NotImplementedError(f"{type(self).__name__} cannot be restricted")

    # SciPy routes every product through these; overriding them all keeps one check and one error message.

    def dot(self, x: Array) -> Any:
        """Return the product with a vector, a block of vectors, a number or another operator."""
        if isinstance(x, LinearOperator):
            return super().dot(x)
        return self._scaled(x) if np.isscalar(x) else self._product(x)

    def matvec(self, x: Array) -> Array:
        """Return the product with one vector, (n,) or (n, 1)."""
        if np.ndim(x) == 2 and np.shape(x)[1] != 1:
            raise ValueError(f"x has shape {np.shape(x)}, but matvec takes one vector of length {self.shape[1]}")
        return self._product(x)

    def matmat(self, X: Array) -> Array:
        """Return the product with a block of vectors, (n, k)."""
        if np.ndim(X) != 2:
            raise ValueError(f"X has shape {np.shape(X)}, but matmat takes a block ({self.shape[1]}, k)")
        return self._product(X)

    def rmatvec(self, x: Array) -> Array:
        """Return the product of the transpose with one vector."""
        return self._transposed().matvec(x)

    def rmatmat(self, X: Array) -> Array:
        """Return the product of the transpose with a block of vectors."""
        return self._transposed().matmat(X)

    def _product(self, x: Array) -> Array:
        block = as_block(x, self.shape[1], self.dtype, self.backend)
        self._check_memory(block.shape[1])
        out = empty((self.shape[0], block.shape[1]), block)
        self._multiply(block, out)
        out = out[:, 0] if np.ndim(x) == 1 else out
        return placed(out, backend_of(x))

    def _check_memory(self, n_vectors: int) -> None:
        """Raise MemoryError if the result and the workspace of a block would not fit."""

    def _as_dtype(self, dtype: np.dtype[Any]) -> "Operator":
        """Return the same operator computing in another dtype."""
        raise NotImplementedError(f"{type(self).__name__} of {self.dtype} cannot be computed in {dtype}")

    def lowered(self) -> "Operator":
        """Return the same operator in float32 (TF32 on a GPU that supports it), for search directions only."""
        return self._as_dtype(np.dtype(np.float32))

    def _matvec(self, x: Array) -> Array:
        return self._product(x)

    def _matmat(self, X: Array) -> Array:
        return self._product(X)

    def _transpose(self) -> "Operator":
        return self._transposed()

    def _adjoint(self) -> "Operator":
        return self._transposed()

    def __add__(self, other: object) -> Any:
        if isinstance(other, Operator):
            return SumOperator(self, other)
        return super().__add__(other)

    def __radd__(self, other: object) -> Any:
        return self if np.isscalar(other) and other == 0 else NotImplemented  # sum() starts with 0

    def __sub__(self, other: LinearOperator) -> Any:
        return self + (-other)

    def __neg__(self) -> "Operator":
        return ScaledOperator(-1.0, self)

    def __mul__(self, x: Array) -> Any:
        return self.dot(x)

    def __rmul__(self, x: Array) -> Any:
        return self._scaled(x) if np.isscalar(x) else super().__rmul__(x)

    def __truediv__(self, x: Array) -> Any:
        return self._scaled(1 / real_number(x))

    def _scaled(self, factor: Features) -> "Operator":
        return ScaledOperator(real_number(factor), self)


class SumOperator(Operator):
    """The sum of operators of one shape."""

    def __init__(self, *terms: Operator) -> None:
        shapes = sorted({term.shape for term in terms})
        if len(shapes) != 1:
            raise ValueError(f"the terms of a sum have shapes {', '.join(map(str, shapes))}, but they must be equal")
        if len({term.backend for term in terms}) != 1:
            places = ", ".join(sorted({str(term.device) for term in terms}))
            raise ValueError(f"the terms of a sum are on different devices: {places}")
        dtype = np.result_type(*(term.dtype for term in terms))
        super().__init__(shapes[0], dtype)
        self.backend = terms[0].backend
        self.terms = tuple(term if term.dtype == dtype else term._as_dtype(dtype) for term in terms)

    def _as_dtype(self, dtype: np.dtype[Any]) -> "SumOperator":
        return SumOperator(*(term._as_dtype(dtype) for term in self.terms))

    def _multiply(self, block: Array, out: Array) -> None:
        out[:] = self.terms[0].matmat(block)
        for term in self.terms[1:]:
            out += term.matmat(block)

    def _transposed(self) -> "SumOperator":
        return SumOperator(*(term._transposed() for term in self.terms))

    def restrict(self, rows: Array | None = None, cols: Array | None = None) -> "SumOperator":
        """Return the sum of the restricted terms."""
        return SumOperator(*(term.restrict(rows, cols) for term in self.terms))


class ScaledOperator(Operator):
    """A number times an operator."""

    def __init__(self, factor: float, operator: Operator) -> None:
        super().__init__(operator.shape, operator.dtype)
        self.factor, self.operator, self.backend = factor, operator, operator.backend

    def _check_memory(self, n_vectors: int) -> None:
        self.operator._check_memory(n_vectors)

    def _as_dtype(self, dtype: np.dtype[Any]) -> "ScaledOperator":
        return ScaledOperator(self.factor, self.operator._as_dtype(dtype))

    def _multiply(self, block: Array, out: Array) -> None:
        self.operator._multiply(block, out)
        out *= self.factor

    def _transposed(self) -> "ScaledOperator":
        return ScaledOperator(self.factor, self.operator._transposed())

    def restrict(self, rows: Array | None = None, cols: Array | None = None) -> "ScaledOperator":
        """Return the number times the restricted operator."""
        return ScaledOperator(self.factor, self.operator.restrict(rows, cols))


def real_number(x: Array) -> float:
    """Return the number as a float; raise TypeError if it is not real."""
    if not isinstance(x, Real):
        raise TypeError(f"the operator was scaled by {x!r}, but it takes a real number")
    return float(x)


def as_block(x: ArrayLike, length: int, dtype: np.dtype[Any], backend: Backend = HOST) -> Any:
    """Return a vector or block as a C-contiguous (length, k) array of a backend, or raise an error.

    Arrays move between the host and a device automatically. An array on another device raises an error.
    """
    if issparse(x):
        raise TypeError("v is a sparse matrix, but a product takes a dense vector or block; convert it with toarray()")
    array = as_array(x, "v")
    if HOST not in (backend, backend_of(array)):
        backend.refuse_others(array, "v", "the operator is")
    if numpy_dtype(array).kind not in "biuf":
        raise TypeError(f"v has dtype {array.dtype}, but a product takes real numbers")
    if array.ndim not in (1, 2):
        raise ValueError(f"v has shape {tuple(array.shape)}, but a product takes ({length},) or ({length}, k)")
    if array.shape[0] != length:
        raise ValueError(f"v has length {array.shape[0]}, but the operator has {length} columns")
    block = array[:, None] if array.ndim == 1 else array
    return backend.contiguous(placed(block, backend), dtype)


def as_mask(mask: Array | None, length: int, name: str) -> Array | None:
    """Return a boolean mask over ``length`` edges, or None for all edges."""
    if mask is None:
        return None
    array = given_array(mask, name)
    if numpy_dtype(array).kind != "b":
        raise TypeError(f"{name} has dtype {array.dtype}, but restrict takes a boolean mask or None")
    if array.shape != (length,):
        raise ValueError(f"{name} has shape {tuple(array.shape)}, but the operator has {length} {name}")
    return array
