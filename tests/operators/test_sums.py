"""Sums of Kronecker terms: against explicit matrices, and what terms share."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal

import vectrick as vt
from tests.kernels.formulas import ONE_SET, SIGNS, SUMS, edge_kernel, edges_of_one_set, kernel_matrix, terms_of
from vectrick.kernels.pairwise import PAIRWISE
from vectrick.operators.kron_terms import share
from vectrick.testing import OperatorContract
from vectrick.testing.operators import assert_close


class Sum(OperatorContract):
    """A sum of terms that makes a pairwise kernel, of other rows than columns."""

    name = "kronecker"
    dtype = np.float64

    def make(self, rng):
        m = 9
        K, G = kernel_matrix(rng, m, self.dtype), kernel_matrix(rng, m, self.dtype)
        rows, cols = edges_of_one_set(rng, m, 40), edges_of_one_set(rng, m, 30)
        op = vt.kron_sum(terms_of(self.name, K, G), rows, cols)
        return op, edge_kernel(self.name, K.astype(float), G.astype(float), rows, cols)


for _name in SUMS:
    _title = f"Test{_name.title().replace('_', '')}"
    globals()[_title] = type(_title, (Sum,), {"name": _name, "__module__": __name__})
    globals()[f"{_title}InFloat32"] = type(
        f"{_title}InFloat32", (Sum,), {"name": _name, "dtype": np.float32, "__module__": __name__}
    )


@pytest.mark.parametrize("name", SUMS)
@given(seed=st.integers(0, 2**32 - 1), m=st.integers(1, 12), n=st.integers(1, 60), data=st.data())
def test_equals_the_explicit_matrix(name, seed, m, n, data):
    rng = np.random.default_rng(seed)
    K = kernel_matrix(rng, m)
    q = m if name in ONE_SET else data.draw(st.integers(1, 12))
    G = kernel_matrix(rng, q)
    edges = rng.integers(0, m, n), rng.integers(0, q, n)
    op = vt.kron_sum(terms_of(name, K, G), edges, edges)
    matrix = edge_kernel(name, K, G, edges, edges)
    v = rng.standard_normal(n)
    scale = np.abs(matrix) @ np.abs(v) + 1e-300
    # The terms of the metric learning kernel cancel: what counts is their size.
    if name in ("mlpk", "ranking", "antisymmetric"):
        scale = (4 * np.abs(K).max()) ** 2 * np.abs(v).sum()
    assert (np.abs(op @ v - matrix @ v) <= 1e-12 * scale).all()


@pytest.mark.parametrize("name", SUMS)
def test_is_positive_semi_definite(name):
    rng = np.random.default_rng(3)
    K, G = kernel_matrix(rng, 8), kernel_matrix(rng, 8)
    edges = edges_of_one_set(rng, 8, 60)
    op = vt.kron_sum(terms_of(name, K, G), edges, edges)
    values = np.linalg.eigvalsh(op @ np.eye(60))
    assert values[0] > -1e-11 * values[-1]


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("path", ["dense", "thin"])
def test_factors_of_low_rank(name, path):
    rng = np.random.default_rng(4)
    A = rng.standard_normal((40, 3))
    thin, edges = vt.LowRank(A), edges_of_one_set(rng, 40, 100)
    K = A @ A.T
    factor = thin if path == "thin" else K
    kernel = PAIRWISE[name]()
    found = kernel.terms(*_sides(factor, kernel.one_set))
    v = rng.standard_normal(100)
    assert_close(vt.kron_sum(found, edges, edges) @ v, edge_kernel(name, K, K, edges, edges) @ v, np.float64)


def _sides(factor, one_set):
    from scipy.sparse import eye_array

    from vectrick.kernels.pairwise import VertexFactors

    start = VertexFactors(factor, lambda: eye_array(factor.shape[0], format="csr"))
    return start, start if one_set else VertexFactors(factor, lambda: start.same)


@pytest.mark.parametrize(
    ("name", "n_products", "n_sums"),
    [("kronecker", 1, 0), ("linear", 0, 2), ("poly2d", 1, 2), ("cartesian", 2, 0), ("symmetric", 1, 0),
     ("antisymmetric", 1, 0), ("mlpk", 1, 0), ("ranking", 0, 1)],
)  # fmt: skip
def test_terms_share_products(name, n_products, n_sums):
    rng = np.random.default_rng(0)
    K, G = kernel_matrix(rng, 5), kernel_matrix(rng, 5)
    products, sums = share(terms_of(name, K, G))
    assert (len(products), len(sums)) == (n_products, n_sums)
    edges = edges_of_one_set(rng, 5, 12)
    plan = vt.kron_sum(terms_of(name, K, G), edges, edges).plan
    words = [f"{n} {what}" for n, what in ((n_products, "Kronecker product"), (n_sums, "group sum")) if n]
    assert all(word in plan.reason for word in words)
    assert f"{len(terms_of(name, K, G))} term" in str(plan)
    assert plan.seconds == pytest.approx(sum(estimate.seconds for estimate in plan.estimates[1:]))


def test_terms_with_a_common_factor_become_one():
    rng = np.random.default_rng(1)
    K = [kernel_matrix(rng, 6) for _ in range(2)]
    G = [kernel_matrix(rng, 7) for _ in range(3)]
    weights = rng.random((2, 3))
    terms = [vt.Term(weights[i, j], K[i], G[j]) for i in range(2) for j in range(3)]
    products, _ = share(terms)
    assert len(products) == 2  # one for each of the fewer factors
    edges = rng.integers(0, 6, 30), rng.integers(0, 7, 30)
    total = sum(weights[i, j] * edge_kernel("kronecker", K[i], G[j], edges, edges) for i in range(2) for j in range(3))
    v = rng.standard_normal(30)
    assert_close(vt.kron_sum(terms, edges, edges) @ v, total @ v, np.float64)
    sums = [vt.Term(w, k, vt.ONES) for w, k in zip(weights[:, 0], K, strict=True)]
    sums += [vt.Term(w, vt.ONES, g) for w, g in zip(weights[0], G, strict=True)]
    assert len(share(sums)[1]) == 2
    expected = sum(w * edge_kernel("linear", k, 0 * G[0], edges, edges) for w, k in zip(weights[:, 0], K, strict=True))
    expected = expected + sum(
        w * edge_kernel("linear", 0 * K[0], g, edges, edges) for w, g in zip(weights[0], G, strict=True)
    )
    assert_close(vt.kron_sum(sums, edges, edges) @ v, expected @ v, np.float64)


def test_thin_factors_stay_thin_when_they_are_added():
    rng = np.random.default_rng(2)
    K = kernel_matrix(rng, 20)
    thin = [vt.LowRank(rng.standard_normal((20, 2))) for _ in range(2)]
    (product,), _ = share([vt.Term(0.5, K, thin[0]), vt.Term(2.0, K, thin[1])])
    assert product.second.rank == 4
    np.testing.assert_allclose(product.second.toarray(), 0.5 * thin[0].toarray() + 2 * thin[1].toarray())


def test_constant_terms():
    rng = np.random.default_rng(0)
    edges = edges_of_one_set(rng, 4, 10)
    v = rng.standard_normal(10)
    found = vt.kron_sum([vt.Term(3.0, vt.ONES, vt.ONES), vt.Term(1.0, np.eye(4), vt.ONES)], edges, edges) @ v
    expected = 3 * v.sum() + edge_kernel("linear", np.eye(4), np.zeros((4, 4)), edges, edges) @ v
    assert_close(found, expected, np.float64)


@pytest.mark.parametrize("name", ["linear", "symmetric", "mlpk", "cartesian"])
def test_any_number_of_threads_gives_the_same_bits(name):
    rng = np.random.default_rng(0)
    K = kernel_matrix(rng, 300)
    edges, v = edges_of_one_set(rng, 300, 90_000), rng.standard_normal(90_000)
    one, two = (vt.kron_sum(terms_of(name, K, K), edges, edges, n_threads=n) @ v for n in (1, 2))
    if name in ("symmetric", "mlpk", "cartesian"):  # "auto" may take another path for another number
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9 * np.abs(one).max())
    else:
        assert_array_equal(one, two)


@pytest.mark.parametrize("name", ["symmetric", "antisymmetric", "mlpk", "ranking"])
def test_turned_edges_have_the_symmetry(name):
    rng = np.random.default_rng(0)
    K = kernel_matrix(rng, 6)
    rows, cols = edges_of_one_set(rng, 6, 20), edges_of_one_set(rng, 6, 15)
    v = rng.standard_normal(15)
    here, there = (vt.kron_sum(terms_of(name, K, K), pair, cols) @ v for pair in (rows, rows[::-1]))
    np.testing.assert_allclose(here, SIGNS[name] * there, atol=1e-11 * np.abs(here).max())


def test_wrong_terms_are_refused():
    K, edges = np.eye(3), ([0, 1], [1, 2])
    with pytest.raises(ValueError, match="terms is empty"):
        vt.kron_sum([], edges, edges)
    with pytest.raises(ValueError, match=r"terms\[1\] has a factor with 4 rows at index 0, but an earlier term"):
        vt.kron_sum([vt.Term(1.0, K, K), vt.Term(1.0, np.eye(4), K)], edges, edges)
    with pytest.raises(TypeError, match=r"terms\[0\].second has dtype"):
        vt.kron_sum([vt.Term(1.0, K, 1j * K)], edges, edges)
    with pytest.raises(IndexError, match=r"rows\[1\]\[1\] is 3"):
        vt.kron_sum([vt.Term(1.0, K, K)], ([0, 1], [1, 3]), edges)
    with pytest.raises(TypeError, match=r"terms\[0\] is of type tuple, but it must be a vt.Term"):
        vt.kron_sum([(1.0, K, K)], edges, edges)
    with pytest.raises(ValueError, match=r"terms\[0\].rows is \(1, 2\)"):
        vt.kron_sum([vt.Term(1.0, K, K, rows=(1, 2))], edges, edges)
    with pytest.raises(TypeError, match="must be pairs of index vectors"):
        vt.kron_sum([vt.Term(1.0, K, K)], slice(None), edges)


@pytest.mark.parametrize("name", ["mlpk", "linear"])
def test_a_copy_in_another_process_is_the_same(name):
    import pickle

    rng = np.random.default_rng(0)
    K, edges = kernel_matrix(rng, 6), edges_of_one_set(rng, 6, 20)
    op = vt.kron_sum(terms_of(name, K, K), edges, edges)
    v = rng.standard_normal(20)
    assert_array_equal(pickle.loads(pickle.dumps(op)) @ v, op @ v)


class Matched(OperatorContract):
    """A product with an identity, by the edges that share a vertex."""

    path, dtype = "matched", np.float64
    first = "M"

    def make(self, rng):
        from scipy.sparse import eye_array

        K, eye = kernel_matrix(rng, 9, self.dtype), eye_array(7, format="csr", dtype=self.dtype)
        factors = (K, eye) if self.first == "M" else (eye, K)
        sizes = (9, 7) if self.first == "M" else (7, 9)
        rows, cols = ([rng.integers(0, size, n) for size in sizes] for n in (60, 50))
        op = vt.kron(*factors, path=self.path)[rows, cols]
        assert op.plan.path == f"{self.path}:{self.first}"
        dense = [np.asarray(f.toarray() if hasattr(f, "toarray") else f, np.float64) for f in factors]
        return op, dense[0][np.ix_(rows[0], cols[0])] * dense[1][np.ix_(rows[1], cols[1])]


class TestMatched(Matched):
    pass


class TestMatchedInFloat32(Matched):
    dtype = np.float32


class TestMatchedFromTheOtherSide(Matched):
    first = "N"


class TestGatheredWithoutMultiplication(Matched):
    path = "thin-sparse-dense"


def test_only_an_identity_is_matched():
    from scipy.sparse import csr_array, eye_array

    edges = [0, 1, 2], [2, 1, 0]
    for other in (2 * eye_array(3, format="csr"), csr_array(np.eye(3)[::-1]), csr_array(np.diag([1.0, 0.0, 1.0]))):
        with pytest.raises(ValueError, match="can only be computed by"):
            vt.kron(np.eye(3), other, path="matched")[edges, edges]
    sparse_graph = vt.kron(np.ones((500, 500)), eye_array(500, format="csr"))
    edges = np.arange(500), np.arange(500)
    assert sparse_graph[edges, edges].plan.path == "matched:M"
