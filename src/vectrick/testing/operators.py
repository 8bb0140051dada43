"""The contract of operators."""

from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal, assert_raises, assert_raises_regex
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from vectrick._typing import Array, DTypeLike
from vectrick.operators import Operator

TOLERANCE = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-5}


def assert_close(actual: Any, expected: Any, dtype: DTypeLike) -> None:
    """Assert equality relative to the largest entry: 1e-12 in float64, 1e-5 in float32.

    Examples
    --------
    >>> from vectrick.testing import assert_close
    >>> assert_close([1.0, 1e6], [1.0 + 1e-9, 1e6], "float64")
    """
    expected = np.asarray(expected)
    scale = np.abs(expected).max(initial=0.0)
    assert_allclose(actual, expected, rtol=0, atol=TOLERANCE[np.dtype(dtype)] * max(scale, np.finfo(dtype).tiny))


def dot_test(operator: Operator, rng: np.random.Generator) -> None:
    """Assert that ``op`` and ``op.T`` are adjoint: ``⟨u, op v⟩ = ⟨op.T u, v⟩``.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> from vectrick.testing import dot_test
    >>> dot_test(vt.kron(np.ones((2, 3)), np.eye(2)), np.random.default_rng(0))
    """
    u, v = (rng.standard_normal(n).astype(operator.dtype) for n in operator.shape)
    forth, back = operator @ v, operator.T @ u
    scale = float(np.abs(u) @ np.abs(forth) + np.abs(back) @ np.abs(v))
    assert abs(float(u @ forth) - float(back @ v)) <= 10 * TOLERANCE[operator.dtype] * scale


class OperatorContract:
    """Contract tests for operators. ``make(rng)`` returns an operator and the same matrix in float64.

    The tests multiply by small dense matrices, O(n²) for n rows.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> from vectrick.testing import OperatorContract
    >>> class TestMine(OperatorContract):
    ...     def make(self, rng):
    ...         M, N = rng.random((4, 4)), rng.random((3, 3))
    ...         return vt.kron(M, N), np.kron(M, N)
    >>> TestMine().test_is_a_scipy_operator()
    """

    can_restrict = True

    def make(self, rng: np.random.Generator) -> tuple[Operator, Array]:
        """Return an operator and its dense matrix."""
        raise NotImplementedError

    def _made(self, seed: int = 0) -> tuple[Operator, Array, np.random.Generator]:
        rng = np.random.default_rng(seed)
        return *self.make(rng), rng

    def test_is_a_scipy_operator(self) -> None:
        """It has the shape of its matrix and a supported dtype, and SciPy accepts it unchanged."""
        op, matrix, _ = self._made()
        assert isinstance(op, LinearOperator)
        assert aslinearoperator(op) is op
        assert op.shape == matrix.shape
        assert op.dtype in TOLERANCE

    def test_times_vector(self) -> None:
        """A product equals the product with the matrix."""
        op, matrix, rng = self._made()
        v = rng.standard_normal(op.shape[1]).astype(op.dtype)
        product = op @ v
        assert product.shape == (op.shape[0],)
        assert product.dtype == op.dtype
        assert_close(product, matrix @ v.astype(np.float64), op.dtype)
        assert_close(op.matvec(v), product, op.dtype)

    def test_times_block(self) -> None:
        """The product with a block equals the products with its columns, and does not depend on the memory order."""
        op, _, rng = self._made()
        V = rng.standard_normal((op.shape[1], 11)).astype(op.dtype)
        product = op @ V
        assert product.shape == (op.shape[0], 11)
        for column in range(11):
            assert_close(product[:, column], op @ V[:, column], op.dtype)
        assert_array_equal(op @ np.asfortranarray(V), product)
        assert_array_equal(op.matmat(V), product)
        assert (op @ V[:, :0]).shape == (op.shape[0], 0)
        assert_close(op @ V[:, :1], product[:, :1], op.dtype)

    def test_adjoint(self) -> None:
        """The transpose is the adjoint, and its transpose is the operator again."""
        op, matrix, rng = self._made()
        assert op.T.shape == matrix.T.shape
        dot_test(op, rng)
        u = rng.standard_normal(op.shape[0]).astype(op.dtype)
        assert_close(op.T @ u, matrix.T @ u.astype(np.float64), op.dtype)
        assert_close(op.rmatvec(u), op.T @ u, op.dtype)
        v = rng.standard_normal(op.shape[1]).astype(op.dtype)
        assert_array_equal(op.T.T @ v, op @ v)

    def test_sums_and_scaling(self) -> None:
        """Sums, differences and multiples are operators of the same kind."""
        op, matrix, rng = self._made()
        v = rng.standard_normal(op.shape[1]).astype(op.dtype)
        u = rng.standard_normal(op.shape[0]).astype(op.dtype)
        expected = matrix @ v.astype(np.float64)
        assert_close((op + op) @ v, 2 * expected, op.dtype)
        assert_close((3.0 * op - op) @ v, 2 * expected, op.dtype)
        assert_close((op * 0.5) @ v, 0.5 * expected, op.dtype)
        assert_close((-op / 4) @ v, -expected / 4, op.dtype)
        assert_close((op + 2 * op).T @ u, 3 * (matrix.T @ u.astype(np.float64)), op.dtype)
        assert isinstance(op + op, Operator)
        assert isinstance(2.0 * op, Operator)

    def test_repeats_to_the_bit(self) -> None:
        """The same product twice gives the same bits, and does not change its input."""
        op, _, rng = self._made()
        v = rng.standard_normal(op.shape[1]).astype(op.dtype)
        before = v.copy()
        assert_array_equal(op @ v, op @ v)
        assert_array_equal(v, before)

    def test_restrict(self) -> None:
        """A restriction equals the rows and columns of the matrix, also if repeated or empty."""
        op, matrix, rng = self._made()
        rows, cols = (rng.random(n) < 0.5 for n in op.shape)
        if not self.can_restrict:
            assert_raises((TypeError, NotImplementedError), op.restrict, rows, cols)
            return
        v = rng.standard_normal(int(cols.sum())).astype(op.dtype)
        part = op.restrict(rows=rows, cols=cols)
        assert_close(part @ v, matrix[np.ix_(rows, cols)] @ v, op.dtype)
        again = rng.random(len(v)) < 0.5
        assert_close(part.restrict(cols=again) @ v[again], matrix[rows][:, cols][:, again] @ v[again], op.dtype)
        assert_close(op.restrict(rows=rows).T @ np.ones(int(rows.sum()), op.dtype), matrix[rows].sum(0), op.dtype)
        nothing = np.zeros(op.shape[1], bool)
        assert_array_equal(op.restrict(cols=nothing) @ np.zeros(0), np.zeros(op.shape[0]))

    def test_bad_vectors(self) -> None:
        """Vectors of a wrong shape or dtype raise errors that name them."""
        op, _, _ = self._made()
        n = op.shape[1]
        assert_raises_regex(ValueError, f"v has length {n + 1}", op.__matmul__, np.ones(n + 1))
        assert_raises_regex(ValueError, "v has shape", op.__matmul__, np.ones((n, 2, 2)))
        assert_raises_regex(TypeError, "v has dtype complex128", op.__matmul__, np.ones(n, complex))
        assert_raises_regex(TypeError, "v has dtype object", op.__matmul__, np.array([None] * n, object))
        assert_raises_regex(TypeError, "v has dtype <U", op.__matmul__, np.array(["a"] * n))
        assert_array_equal(op @ np.ones(n, int), op @ np.ones(n))
