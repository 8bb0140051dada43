"""The interface of ``kron``: indexing, errors, special values, sizes, and SciPy's solvers on top."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import cg, eigsh, minres

import vectrick as vt
from tests.operators.factories import dense, index, kron_matrix, make_edges, make_factor, path_names
from vectrick.testing import assert_close


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def test_design_example(rng):
    M, N = rng.random((4, 5)), rng.random((3, 6))
    p, q, r, t = (rng.integers(n, size=size) for n, size in ((4, 9), (3, 9), (5, 11), (6, 11)))
    op = vt.kron(M, N)[(p, q), (r, t)]
    v = rng.random(11)
    np.testing.assert_allclose(op @ v, np.kron(M, N)[np.ix_(p * 3 + q, r * 6 + t)] @ v)


@pytest.mark.parametrize("rows", [True, False])
@pytest.mark.parametrize("cols", [True, False])
def test_rows_and_columns_in_one_step_or_two(rng, rows, cols):
    M, N = rng.random((4, 5)), rng.random((3, 6))
    pairs = make_edges(rng, 9, 4, 3) if rows else None, make_edges(rng, 11, 5, 6) if cols else None
    matrix = kron_matrix(M, N, *pairs)
    v = rng.random(matrix.shape[1])
    for op in (
        vt.kron(M, N)[index(pairs[0]), index(pairs[1])],
        vt.kron(M, N)[index(pairs[0]), :][:, index(pairs[1])],
        vt.kron(M, N)[:, index(pairs[1])][index(pairs[0]), :],
    ):
        assert_close(op @ v, matrix @ v, np.float64)


def test_index_vectors_of_any_integer_type(rng):
    M, N = rng.random((4, 5)), rng.random((3, 6))
    p, q = [0, 3, 1], (2, 2, 0)
    expected = vt.kron(M, N)[(np.array(p), np.array(q)), :] @ np.ones(30)
    for dtype in (np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64):
        op = vt.kron(M, N)[(np.array(p, dtype), np.array(q, dtype)), :]
        np.testing.assert_array_equal(op @ np.ones(30), expected)
    np.testing.assert_array_equal(vt.kron(M, N)[[p, q], :] @ np.ones(30), expected)
    np.testing.assert_array_equal(vt.kron(M, N)[np.array([p, q]), :] @ np.ones(30), expected)


def test_small_unsigned_indices_do_not_overflow(rng):
    M, N = rng.random((200, 200)), rng.random((200, 200))
    p, q = make_edges(rng, 3000, 200, 200)
    v = rng.random(3000)
    for path in path_names(M, N, (p, q), (p, q)):
        small = (p.astype(np.uint8), q.astype(np.uint8))
        op = vt.kron(M, N, path=path)[small, small]
        assert_close(op @ v, (M[np.ix_(p, p)] * N[np.ix_(q, q)]) @ v, np.float64)


def test_factors_of_other_types(rng):
    whole = rng.integers(-3, 4, (4, 5))
    for M in (whole, whole.astype(np.int8), whole > 0, whole.astype(np.float16), whole.tolist()):
        op = vt.kron(M, np.eye(2, dtype=np.float32))
        expected = np.float32 if getattr(M, "dtype", None) == np.float16 else np.float64
        assert op.dtype == expected
        assert_close(op @ np.ones(10), np.kron(np.asarray(M, float), np.eye(2)) @ np.ones(10), op.dtype)
    assert vt.kron(np.eye(2, dtype=">f8"), np.eye(2)) @ np.ones(4) == pytest.approx(np.ones(4))


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csc_array, sp.coo_array, sp.lil_matrix, sp.dok_array])
def test_sparse_factors_of_any_format(rng, container):
    M, N = container(make_factor(rng, 6, 7, "sparse")), container(make_factor(rng, 5, 8, "sparse"))
    cols = make_edges(rng, 50, 7, 8)
    assert_close(vt.kron(M, N)[:, cols] @ np.ones(50), kron_matrix(M, N, None, cols) @ np.ones(50), np.float64)


def test_sparse_factor_with_repeated_entries_is_not_changed():
    M = sp.coo_array(([1.0, 2.0, 4.0], ([0, 0, 1], [0, 0, 1])), shape=(2, 2))
    csr = sp.csr_array((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2, 2])), shape=(2, 2))
    assert (vt.kron(M, np.eye(1)) @ np.ones(2)).tolist() == [3, 4]
    assert (vt.kron(csr, np.eye(1)) @ np.ones(2)).tolist() == [3, 0]
    assert csr.nnz == 2


def test_nothing_to_do():
    M, N = np.ones((3, 4)), np.ones((2, 5))
    none = (np.empty(0, int), np.empty(0, int))
    some = ([0, 2], [1, 1])
    assert (vt.kron(M, N)[some, ([], [])] @ np.empty(0)).tolist() == [0, 0]
    assert (vt.kron(M, N)[none, ([0], [0])] @ np.ones(1)).shape == (0,)
    assert (vt.kron(M, N)[none, none] @ np.empty((0, 3))).shape == (0, 3)
    assert (vt.kron(np.ones((3, 0)), N) @ np.empty(0)).tolist() == [0] * 6
    assert (vt.kron(np.ones((0, 3)), N) @ np.ones(15)).shape == (0,)
    assert (vt.kron(vt.LowRank(np.ones((3, 0))), N)[some, :] @ np.ones(15)).tolist() == [0, 0]
    assert (vt.kron(sp.csr_array((3, 4)), N)[some, :] @ np.ones(20)).tolist() == [0, 0]
    plan = vt.kron(M, N)[some, none].plan
    assert "zero or empty" in str(plan)
    assert (plan.path, plan.seconds, plan.memory) == ("zero", 0, 16)


def test_more_cells_than_32_bits(rng):
    n = 50_000
    tall, wide = rng.random((n, 3)), rng.random((3, n))
    p, q = make_edges(rng, 4000, n, n)
    p[:2], q[:2] = n - 1, n - 1
    v = rng.random(9)
    expected = (tall[p][:, :, None] * tall[q][:, None, :]).reshape(-1, 9) @ v
    for path in path_names(tall, tall, (p, q), None):
        assert_close(vt.kron(tall, tall, path=path)[(p, q), :] @ v, expected, np.float64)
    u = rng.random(4000)
    for path in path_names(wide, wide, None, (p, q)):
        op = vt.kron(wide, wide, path=path)[:, (p, q)]
        pairs = (wide.T[p][:, :, None] * wide.T[q][:, None, :]).reshape(-1, 9)
        assert_close(op @ u, pairs.T @ u, np.float64)
    assert vt.kron(tall, tall).shape == (n * n, 9)


def test_more_dense_cells_than_32_bits(rng):
    """Vertices that all occur cannot be cut away: the cell numbers themselves pass 2³¹."""
    n = 47_000
    M = N = vt.LowRank(rng.random((n, 2)))
    every = np.arange(n)
    op = vt.kron(M, N)[(every, every[::-1]), (every, every)]
    v = rng.random(n)
    A, B = M.A, N.A
    middle = (A.T * v) @ B
    assert_close(op @ v, np.einsum("ij,jk,ik->i", A, middle, B[::-1]), np.float64)


def test_one_graph_shares_its_index(rng):
    K, G = make_factor(rng, 60, 60, "C"), make_factor(rng, 50, 50, "C")
    p, q = make_edges(rng, 700, 60, 50)
    v = rng.random(700)
    expected = kron_matrix(K, G, (p, q), (p, q)) @ v
    edges = (p, q)
    for path in path_names(K, G, edges, edges):
        for op in (vt.kron(K, G, path=path)[edges, edges], vt.kron(K, G, path=path)[(p, q), (p.copy(), q)]):
            assert_close(op @ v, expected, np.float64)


def test_rows_and_columns_of_one_graph_cut_differently(rng):
    """The same edges index factors whose rows and columns are different vertices."""
    M, N = rng.random((9, 40)), rng.random((8, 30))
    p, q = make_edges(rng, 50, 9, 8)
    assert_close(vt.kron(M, N)[(p, q), (p, q)] @ np.ones(50), kron_matrix(M, N, (p, q), (p, q)) @ np.ones(50), float)


class TestSpecialValues:
    """NaN and infinity reach exactly the rows that NumPy lets them reach."""

    def expected(self, M, N, rows, cols, v):
        with np.errstate(invalid="ignore"):
            return (M[np.ix_(rows[0], cols[0])] * N[np.ix_(rows[1], cols[1])]) @ v

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("which", ["M", "N"])
    @pytest.mark.parametrize("used", [True, False])
    def test_in_a_factor(self, rng, value, which, used):
        M, N = rng.random((6, 7)) + 0.1, rng.random((5, 8)) + 0.1
        rows, cols = make_edges(rng, 40, 6, 5), make_edges(rng, 30, 6, 7)
        (M if which == "M" else N)[2, 3 if used else -1] = value
        v = rng.random(30)
        with np.errstate(invalid="ignore"):
            found = vt.kron(M, N)[rows, cols] @ v
        np.testing.assert_allclose(found, self.expected(M, N, rows, cols, v), rtol=1e-12)

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_in_a_vector(self, rng, value):
        M, N = rng.random((6, 7)) + 0.1, rng.random((5, 8)) + 0.1
        rows, cols = make_edges(rng, 40, 6, 5), make_edges(rng, 30, 7, 8)
        v = rng.random(30)
        v[4] = value
        for path in path_names(M, N, rows, cols):
            with np.errstate(invalid="ignore"):
                found = vt.kron(M, N, path=path)[rows, cols] @ v
            np.testing.assert_allclose(found, self.expected(M, N, rows, cols, v), rtol=1e-12, err_msg=path)

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_when_nothing_is_sampled(self, rng, value):
        M, N = rng.random((6, 7)) + 0.1, rng.random((5, 8)) + 0.1
        N[1, 1] = value
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(vt.kron(M, N) @ np.ones(56), np.kron(M, N) @ np.ones(56), rtol=1e-12)

    @pytest.mark.parametrize("kind", ["low-rank", "sparse"])
    def test_in_a_column_of_a_thin_factor_without_edges(self, rng, kind):
        M, N = make_factor(rng, 6, 7, kind), make_factor(rng, 5, 8, "C")
        rows, cols = make_edges(rng, 40, 6, 5), make_edges(rng, 30, 6, 8)
        expected = vt.kron(M, N)[rows, cols] @ np.ones(30)
        if kind == "low-rank":
            M.B[6] = np.nan
        else:
            M = sp.csr_array(np.where(np.arange(7) == 6, np.nan, M.toarray()))
        for path in ["auto", *path_names(M, N, rows, cols)]:
            np.testing.assert_allclose(vt.kron(M, N, path=path)[rows, cols] @ np.ones(30), expected, err_msg=path)

    def test_a_restriction_leaves_them_out(self, rng):
        M, N = rng.standard_normal((5, 5)), rng.standard_normal((5, 5))
        M[0, 0], N[:, 4] = np.inf, np.nan
        rows, cols = (rng.integers(1, 5, 9), rng.integers(5, size=9)), (rng.integers(1, 5, 20), np.arange(20) % 5)
        mask = cols[1] != 4
        op = vt.kron(M, N)[rows, cols]
        assert np.isnan(op @ np.ones(20)).all()
        assert np.isfinite(op.restrict(cols=mask) @ np.ones(mask.sum())).all()

    def test_the_factor_with_infinity_comes_first(self):
        with np.errstate(invalid="ignore"):
            assert np.isnan(vt.kron([[1.0, -1.0]], [[np.inf]]) @ np.array([2.0, 1.0]))
            assert np.isnan(vt.kron([[np.inf]], [[1.0, -1.0]]) @ np.array([2.0, 1.0]))

    def test_a_large_finite_factor_is_not_taken_for_infinite(self):
        M = np.full((3, 3), 1e308)
        op = vt.kron(M, np.eye(2))[([0], [0]), ([0, 1], [0, 0])]
        assert len(op.plan.estimates) > 0
        assert "NaN" not in op.plan.reason


class TestBadInput:
    M, N = np.ones((4, 5)), np.ones((3, 6))

    @pytest.mark.parametrize(
        ("rows", "error", "message"),
        [
            (([0, 4], [0, 0]), IndexError, r"p\[1\] is 4, but M has 4 rows"),
            (([0, -1], [0, 0]), IndexError, r"p\[1\] is -1, but M has 4 rows"),
            (([0], [3]), IndexError, r"q\[0\] is 3, but N has 3 rows"),
            (([0, 1], [0]), ValueError, "p has length 2 and q has length 1"),
            (([0.0], [0]), TypeError, "p has dtype float64, but indices must be integers"),
            (([True], [0]), TypeError, "p has dtype bool"),
            (([[0]], [[0]]), ValueError, r"p has shape \(1, 1\)"),
            (([[0], [0, 1]], [0]), ValueError, "p is not an array"),
            ((3, 4), TypeError, "p is of type int"),
            (([0], [0], [0]), TypeError, r"the rows must be ':' or a pair \(p, q\)"),
            (3, TypeError, "the rows must be"),
            (slice(0, 2), TypeError, "a slice must be ':'"),
        ],
    )
    def test_rows(self, rows, error, message):
        with pytest.raises(error, match=message):
            vt.kron(self.M, self.N)[rows, :]

    def test_columns(self):
        with pytest.raises(IndexError, match=r"r\[0\] is 5, but M has 5 columns"):
            vt.kron(self.M, self.N)[:, ([5], [0])]
        with pytest.raises(IndexError, match=r"t\[0\] is 6, but N has 6 columns"):
            vt.kron(self.M, self.N)[:, ([0], [6])]
        with pytest.raises(IndexError, match=r"t\[1\] is 18446744073709551615"):
            vt.kron(self.M, self.N)[:, ([0, 0], np.array([0, 2**64 - 1], np.uint64))]

    def test_index_itself(self):
        op = vt.kron(self.M, self.N)
        for key in (0, ([0], [0]), (slice(None),) * 3):
            with pytest.raises(TypeError):
                op[key]
        with pytest.raises(TypeError, match="rows of this operator are edges already"):
            op[([0], [0]), :][([0], [0]), :]

    @pytest.mark.parametrize(
        ("factor", "error", "message"),
        [
            (np.ones(3), ValueError, r"M has shape \(3,\)"),
            (np.ones((2, 2, 2)), ValueError, r"M has shape \(2, 2, 2\)"),
            (np.ones((2, 2), complex), TypeError, "M has dtype complex128"),
            (np.ones((2, 2), object), TypeError, "M has dtype object"),
            (np.array([["a"]]), TypeError, "M has dtype <U1"),
            (np.ones((2, 2), np.longdouble), TypeError, "M has dtype"),
            (None, TypeError, "M is of type NoneType"),
            ([[1.0], [1.0, 2.0]], ValueError, "M is not an array"),
            (sp.csr_array(np.ones((2, 2), complex)), TypeError, "M has dtype complex128"),
        ],
    )
    def test_factors(self, factor, error, message):
        with pytest.raises(error, match=message):
            vt.kron(factor, self.N)

    def test_low_rank(self):
        with pytest.raises(ValueError, match="A has 2 columns and B has 3"):
            vt.LowRank(np.ones((4, 2)), np.ones((4, 3)))
        with pytest.raises(TypeError, match="A is a sparse matrix"):
            vt.LowRank(sp.eye_array(3))
        with pytest.raises(TypeError, match="B has dtype complex128"):
            vt.LowRank(np.ones((4, 2)), np.ones((4, 2), complex))
        assert "rank 2" in repr(vt.LowRank(np.ones((4, 2))))

    def test_options(self):
        for path in ("fast", "sparse:X", "", None, 3):
            with pytest.raises(ValueError, match="path is"):
                vt.kron(self.M, self.N, path=path)
        with pytest.raises(ValueError, match="n_threads is 0"):
            vt.kron(self.M, self.N, n_threads=0)
        with pytest.raises(TypeError, match=r"n_threads is 1\.5"):
            vt.kron(self.M, self.N, n_threads=1.5)
        for size in ("much", -1, "2 GX", "", True, "0GB"):
            with pytest.raises(ValueError, match="max_memory is"):
                vt.kron(self.M, self.N, max_memory=size)

    def test_paths_that_do_not_apply(self):
        with pytest.raises(ValueError, match=r"path is 'vec', but this product can only be computed by dense-sparse:M"):
            vt.kron(self.M, self.N, path="vec")[([0], [0]), :]
        with pytest.raises(ValueError, match="path is 'thin'"):
            vt.kron(self.M, self.N, path="thin")[([0], [0]), :]
        with pytest.raises(ValueError, match="path is 'sparse'"):
            vt.kron(self.M, self.N, path="sparse") @ np.ones(30)

    def test_masks(self):
        op = vt.kron(self.M, self.N)[([0, 1], [0, 1]), ([0], [0])]
        with pytest.raises(TypeError, match="rows has dtype int64"):
            op.restrict(rows=[0, 1])
        with pytest.raises(ValueError, match=r"cols has shape \(2,\)"):
            op.restrict(cols=[True, True])
        with pytest.raises(TypeError, match="index the operator first"):
            vt.kron(self.M, self.N).restrict(rows=np.ones(12, bool))

    def test_vectors(self):
        op = vt.kron(self.M, self.N)
        with pytest.raises(TypeError, match="sparse matrix"):
            op @ sp.csr_array(np.ones((30, 1)))
        with pytest.raises(ValueError, match="matvec takes one vector"):
            op.matvec(np.ones((30, 2)))
        with pytest.raises(ValueError, match="matmat takes a block"):
            op.matmat(np.ones(30))


class TestSolvers:
    """SciPy's own solvers accept the operator."""

    @pytest.fixture
    def system(self, rng):
        x, z = rng.random((30, 1)), rng.random((25, 1))
        K, G = np.exp(-((x - x.T) ** 2)), np.exp(-((z - z.T) ** 2))
        cells = rng.choice(750, 300, replace=False)
        edges = (cells % 25, cells // 25)
        op = vt.kron(G, K)[edges, edges]
        return op, kron_matrix(G, K, edges, edges), rng.standard_normal(300)

    @pytest.mark.parametrize("solver", [cg, minres])
    def test_linear_system(self, system, solver):
        op, matrix, y = system
        shift = vt.kron(np.eye(300), np.eye(1))
        found, info = solver(op + 0.1 * shift, y, rtol=1e-10)
        assert info == 0
        np.testing.assert_allclose(found, np.linalg.solve(matrix + 0.1 * np.eye(300), y), rtol=1e-5, atol=1e-6)

    def test_eigenvalues(self, system):
        op, matrix, _ = system
        np.testing.assert_allclose(np.sort(eigsh(op, 3)[0]), np.linalg.eigvalsh(matrix)[-3:], rtol=1e-9)

    def test_composition_with_scipy_operators(self, system):
        op, matrix, y = system
        np.testing.assert_allclose((op @ op) @ y, matrix @ (matrix @ y), rtol=1e-9)


def test_the_operator_owns_its_edges(rng):
    M, N = rng.random((50, 50)), rng.random((40, 40))
    p, q = make_edges(rng, 400, 50, 40)
    expected = kron_matrix(M, N, (p, q), (p, q))
    op = vt.kron(M, N)[(p, q), (p, q)]
    p[:], q[:] = 0, 10**9
    v, everything = rng.random(400), np.ones(400, bool)
    assert_close(op @ v, expected @ v, np.float64)
    assert_close(op.T @ v, expected.T @ v, np.float64)
    assert_close(op.restrict(everything, everything) @ v, expected @ v, np.float64)


def test_a_forced_path_without_a_mirror_image(rng):
    """The transpose falls back to any path, and so do its restriction and its copy."""
    M, N = make_factor(rng, 20, 20, "C"), make_factor(rng, 30, 30, "sparse")
    edges = make_edges(rng, 50, 20, 30)
    expected = kron_matrix(M, N, edges, edges).T @ np.ones(50)
    for path in path_names(M, N, edges, edges):
        transpose = vt.kron(M, N, path=path)[edges, edges].T
        for op in (transpose, transpose.restrict(rows=np.ones(50, bool)), pickle.loads(pickle.dumps(transpose))):
            assert_close(op @ np.ones(50), expected, np.float64)


def test_a_block_that_does_not_fit_is_refused(rng):
    edges = make_edges(rng, 5000, 50, 40)
    op = vt.kron(rng.random((50, 50)), rng.random((40, 40)), max_memory="3MB")[edges, edges]
    op @ np.ones((5000, 2))
    with pytest.raises(MemoryError, match=r"a block of 1000 vectors needs 4.* MB, but max_memory is 3 MB"):
        op @ np.ones((5000, 1000))


def test_an_operator_can_be_pickled(rng):
    M, N = rng.random((4, 5)), make_factor(rng, 3, 6, "low-rank")
    op = vt.kron(M, N, path="thin", n_threads=1)[make_edges(rng, 9, 4, 3), make_edges(rng, 11, 5, 6)]
    again = pickle.loads(pickle.dumps(op))
    np.testing.assert_array_equal(again @ np.ones(11), op @ np.ones(11))
    assert again.plan.path == op.plan.path


def test_low_rank_equals_its_matrix(rng):
    K = vt.LowRank(rng.random((5, 2)), rng.random((6, 2)))
    np.testing.assert_allclose(dense(K), K.A @ K.B.T)
    assert K.T.shape == (6, 5)
    assert vt.LowRank(np.ones((3, 1), np.float32), np.ones((3, 1))).dtype == np.float64
