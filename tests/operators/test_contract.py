"""The operator contract for every way to make one."""

import numpy as np
import pytest

import vectrick as vt
from tests.operators.factories import index, kron_matrix, make_edges, make_factor
from vectrick.operators.base import ScaledOperator, SumOperator
from vectrick.testing import OperatorContract


class Kron(OperatorContract):
    """A submatrix of M ⊗ N; subclasses change what is special."""

    shapes = (12, 17, 9, 70)
    kinds = ("C", "C")
    dtypes = (np.float64, np.float64)
    edges = (90, 130)
    path = "auto"
    where = {}  # noqa: RUF012 - the backend, and the device

    def make(self, rng):
        a, b, c, d = self.shapes
        M = make_factor(rng, a, b, self.kinds[0], self.dtypes[0])
        N = make_factor(rng, c, d, self.kinds[1], self.dtypes[1])
        rows = None if self.edges[0] is None else make_edges(rng, self.edges[0], a, c)
        cols = None if self.edges[1] is None else make_edges(rng, self.edges[1], b, d)
        return vt.kron(M, N, path=self.path, **self.where)[index(rows), index(cols)], kron_matrix(M, N, rows, cols)


class TestAuto(Kron):
    pass


class TestSparseM(Kron):
    path = "sparse:M"


class TestSparseN(Kron):
    path = "sparse:N"


class TestSparseDense(Kron):
    path = "sparse-dense"


class TestDenseSparse(Kron):
    path = "dense-sparse"


class TestDense(Kron):
    path = "dense"


class TestFloat32(Kron):
    dtypes = (np.float32, np.float32)
    path = "sparse"


class TestMixedDtypes(Kron):
    dtypes = (np.float32, np.float64)
    path = "sparse"


class TestFortranOrder(Kron):
    kinds = ("F", "strided")
    path = "sparse"


class TestThin(Kron):
    kinds = ("low-rank", "low-rank")
    path = "thin"


class TestThinSparse(Kron):
    kinds = ("low-rank", "C")
    path = "thin-sparse"


class TestThinExpanded(Kron):
    kinds = ("low-rank", "sparse")
    path = "sparse"


class TestSparseFactors(Kron):
    kinds = ("sparse", "sparse")
    path = "thin"


class TestOneSparseFactor(Kron):
    kinds = ("C", "sparse")
    path = "thin"


class TestOneVertex(Kron):
    shapes = (1, 1, 1, 1)
    path = "sparse"


class TestAllRows(Kron):
    edges = (None, 130)
    can_restrict = False


class TestAllColumns(Kron):
    edges = (90, None)
    can_restrict = False


class TestWhole(Kron):
    edges = (None, None)
    can_restrict = False


class TestWholeThin(Kron):
    edges = (None, None)
    kinds = ("low-rank", "sparse")
    path = "thin"
    can_restrict = False


class TestMoreVerticesThanTheBlocks(Kron):
    """Several strips, panels, chunks and blocks, none of them full."""

    shapes = (150, 1300, 140, 700)
    edges = (2000, 3000)
    path = "sparse"

    def make(self, rng):
        a, b, c, d = self.shapes
        M, N = rng.standard_normal((a, b)), rng.standard_normal((c, d))
        rows, cols = make_edges(rng, self.edges[0], a, c), make_edges(rng, self.edges[1], b, d)
        matrix = M[np.ix_(rows[0], cols[0])] * N[np.ix_(rows[1], cols[1])]
        return vt.kron(M, N, path=self.path, **self.where)[rows, cols], matrix


class TestResultsThatPassTheCache(TestMoreVerticesThanTheBlocks):
    """Large intermediate matrices are written straight to memory."""

    @pytest.fixture(autouse=True)
    def small_cache(self, monkeypatch):
        monkeypatch.setattr("vectrick.backends.cpu.products._CACHED", 0)


class TestManySparseDense(TestMoreVerticesThanTheBlocks):
    path = "sparse-dense:N"


class TestManyDenseSparse(TestMoreVerticesThanTheBlocks):
    path = "dense-sparse:M"


class TestSum(OperatorContract):
    def make(self, rng):
        rows, cols = make_edges(rng, 30, 5, 6), make_edges(rng, 40, 7, 8)
        factors = [(make_factor(rng, 5, 7, "C"), make_factor(rng, 6, 8, kind)) for kind in ("C", "low-rank")]
        terms = [vt.kron(M, N)[rows, cols] for M, N in factors]
        return SumOperator(*terms), sum(kron_matrix(M, N, rows, cols) for M, N in factors)


class TestScaled(OperatorContract):
    def make(self, rng):
        M, N = make_factor(rng, 5, 7, "C"), make_factor(rng, 6, 8, "F", np.float32)
        rows, cols = make_edges(rng, 30, 5, 6), make_edges(rng, 40, 7, 8)
        return ScaledOperator(-2.5, vt.kron(M, N)[rows, cols]), -2.5 * kron_matrix(M, N, rows, cols)


def test_sum_of_different_shapes_is_refused():
    one, other = vt.kron(np.eye(2), np.eye(2)), vt.kron(np.eye(2), np.eye(3))
    with pytest.raises(ValueError, match=r"shapes \(4, 4\), \(6, 6\)"):
        one + other


@pytest.mark.parametrize("factor", [1j, 2 + 0j, np.complex64(2), "a"])
def test_scaling_by_anything_but_a_real_number_is_refused(factor):
    op = vt.kron(np.eye(2), np.eye(2))
    for scale in (op.__mul__, op.__rmul__, op.__truediv__, op.dot):
        with pytest.raises(TypeError, match="scaled by"):
            scale(factor)


def test_sums_as_python_writes_them():
    op = vt.kron(np.eye(2), np.eye(2))
    assert (sum([op, op, op]) @ np.ones(4)).tolist() == [3] * 4
    assert isinstance(op.dot(2.0), ScaledOperator)


def test_a_sum_of_two_dtypes_has_the_accuracy_of_the_wider():
    rng = np.random.default_rng(0)
    single, double = rng.random((5, 5), np.float32), rng.random((5, 5))
    total = 2 * vt.kron(single, single) + vt.kron(double, double)
    assert total.dtype == np.float64
    matrix = 2 * np.kron(single.astype(float), single.astype(float)) + np.kron(double, double)
    v = rng.standard_normal(25)
    np.testing.assert_allclose(total @ v, matrix @ v, rtol=0, atol=1e-12)
