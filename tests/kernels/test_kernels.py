"""Vertex kernels against scikit-learn and their formulas, and their factors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.metrics import pairwise
from sklearn.svm import SVC

import vectrick as vt
from vectrick import kernels
from vectrick.kernels import Precomputed, as_kernel, feature_map, pivoted_cholesky

RNG = np.random.default_rng(0)
X, Y = RNG.random((9, 5)), RNG.random((6, 5))
KERNELS = [
    (vt.Linear(), pairwise.linear_kernel),
    (vt.Gaussian(gamma=0.7), lambda X, Y: pairwise.rbf_kernel(X, Y, gamma=0.7)),
    (vt.Polynomial(degree=2, gamma=0.5, coef0=2.0), lambda X, Y: (0.5 * X @ Y.T + 2) ** 2),
    (vt.Cosine(), pairwise.cosine_similarity),
    (vt.Tanimoto(), lambda X, Y: X @ Y.T / ((X**2).sum(1)[:, None] + (Y**2).sum(1) - X @ Y.T)),
    (vt.MinMax(), lambda X, Y: np.minimum(X[:, None], Y).sum(2) / np.maximum(X[:, None], Y).sum(2)),
    (vt.Constant(0.3), lambda X, Y: np.full((X.shape[0], Y.shape[0]), 0.3)),
    (vt.Gaussian(gamma=0.7) + vt.Constant(2.0), lambda X, Y: pairwise.rbf_kernel(X, Y, gamma=0.7) + 2.0),
    (vt.Linear() + vt.Cosine(), lambda X, Y: X @ Y.T + pairwise.cosine_similarity(X, Y)),
    (vt.Gaussian(gamma=0.3) * vt.Linear(), lambda X, Y: pairwise.rbf_kernel(X, Y, gamma=0.3) * (X @ Y.T)),
    (vt.Function(lambda X, Y: np.exp(X @ Y.T)), lambda X, Y: np.exp(X @ Y.T)),
]


@pytest.mark.parametrize(("kernel", "formula"), KERNELS, ids=lambda value: type(value).__name__)
def test_formula(kernel, formula):
    assert_allclose(kernel(X, Y), formula(X, Y), rtol=1e-12)
    assert_allclose(kernel(X), formula(X, X), rtol=1e-12)
    assert_allclose(kernel.diagonal(X), np.diagonal(formula(X, X)), rtol=1e-12)
    assert_allclose(kernel.columns(Y, X, [2, 0]), formula(Y, X)[:, [2, 0]], rtol=1e-12)


@pytest.mark.parametrize(("kernel", "formula"), KERNELS[:10], ids=lambda value: type(value).__name__)
def test_sparse_tables(kernel, formula):
    assert_allclose(kernel(csr_array(X), csr_array(Y)), formula(X, Y), rtol=1e-9)
    assert_allclose(kernel.diagonal(csr_array(X)), np.diagonal(formula(X, X)), rtol=1e-9)


@pytest.mark.parametrize("n_features", [1, 3, 4, 16, 17, 100])
def test_gaussian_of_any_number_of_features(n_features):
    A, B = RNG.standard_normal((300, n_features)), RNG.standard_normal((200, n_features))
    assert_allclose(vt.Gaussian(gamma=0.1)(A, B), pairwise.rbf_kernel(A, B, gamma=0.1), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize(("kernel", "formula"), KERNELS, ids=lambda value: type(value).__name__)
def test_factor(kernel, formula):
    settled = kernel.resolve(X, np.arange(len(X)))
    found = feature_map(settled, X, 1e-12)
    assert_allclose(found.train @ found.train.T, formula(X, X), rtol=1e-9, atol=1e-11)
    assert_allclose(found.transform(X), found.train, atol=1e-5)
    assert_allclose(found.transform(Y) @ found.train.T, formula(Y, X), rtol=1e-5, atol=1e-5)


def test_factor_gives_up():
    assert feature_map(vt.Gaussian(gamma=100.0), X, 1e-12, max_rank=3) is None


def test_factor_of_a_smooth_kernel_is_thin():
    points = np.sort(RNG.uniform(0, 100, 1000))[:, None]
    found = feature_map(vt.Gaussian(gamma=1.0), points, 1e-12)
    assert 300 < found.rank < 400
    K = vt.Gaussian(gamma=1.0)(points)
    assert np.abs(found.train @ found.train.T - K).max() < 2e-12
    rougher = feature_map(vt.Gaussian(gamma=1.0), points, 1e-6)
    assert rougher.rank < found.rank
    assert np.abs(rougher.train @ rougher.train.T - K).max() <= 1.0001e-6


def test_pivoted_cholesky_of_low_rank():
    A = RNG.standard_normal((20, 4))
    K = A @ A.T
    L, pivots = pivoted_cholesky(K, np.diagonal(K), 1e-12, 20)
    assert L.shape == (20, 4)
    assert_allclose(L @ L.T, K, atol=1e-10)
    assert_allclose(L[pivots], np.tril(L[pivots]))


def test_gamma_is_scikit_learns():
    y = X[:, 0] > np.median(X[:, 0])
    for gamma in ("scale", "auto"):
        settled = vt.Gaussian(gamma=gamma).resolve(X, np.arange(len(X)))
        assert settled.gamma == pytest.approx(SVC(gamma=gamma).fit(X, y)._gamma)
        sparse = vt.Gaussian(gamma=gamma).resolve(csr_array(X), np.arange(len(X)))
        assert sparse.gamma == pytest.approx(settled.gamma)
    assert vt.Gaussian().resolve(np.ones((3, 2)), np.arange(3)).gamma == 1.0


def test_gamma_of_features_far_from_zero():
    Z = RNG.standard_normal((50, 1)) * 1e3 + 1.6e9
    for table in (Z, csr_array(Z)):
        assert vt.Gaussian().resolve(table, np.arange(50)).gamma == pytest.approx(1 / Z.var(), rel=1e-6)


def test_gaussian_of_features_far_from_zero():
    Z = RNG.standard_normal((6, 20))
    found, expected = (vt.Gaussian(gamma=0.025)(table) for table in (Z + 2.0**24, Z))
    assert_allclose(found, expected, rtol=1e-6)
    assert_allclose(np.diagonal(found), 1.0, rtol=1e-12)


def test_factor_without_tolerance_stops_at_rounding():
    points = np.linspace(0, 1, 60)[:, None]
    found = feature_map(vt.Gaussian(gamma=1.0), points, 0.0)
    assert found.rank < 20
    assert_allclose(found.transform(points), found.train, atol=1e-6)


def test_zero_vectors():
    zero = np.zeros((1, 3))
    ones = np.ones((1, 3))
    assert vt.Cosine()(zero, ones) == 0
    assert vt.Tanimoto()(zero, zero) == 1
    assert vt.Tanimoto()(zero, ones) == 0


def test_names():
    for name in kernels.KERNELS.plain_names():
        assert type(as_kernel(name, "start_kernel")) is kernels.KERNELS[name]
    with pytest.raises(ValueError, match="end_kernel is 3, but it must be one of 'linear'"):
        as_kernel(3, "end_kernel")
    with pytest.raises(ValueError, match="end_kernel is <class"):
        as_kernel(vt.Linear, "end_kernel")


def test_parameters():
    kernel = vt.Gaussian(gamma=2.0) + vt.Polynomial(degree=4)
    assert kernel.get_params()["second__degree"] == 4
    kernel.set_params(first__gamma=5.0)
    assert kernel.first.gamma == 5.0
    assert clone(kernel).first.gamma == 5.0


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (vt.Gaussian(gamma=0), "gamma is 0"),
        (vt.Gaussian(gamma="wide"), "gamma is 'wide'"),
        (vt.Polynomial(degree=0), "degree is 0"),
        (vt.Polynomial(degree=1.5), "degree is 1.5"),
        (vt.Polynomial(coef0=-1.0), "coef0 is -1.0"),
    ],
)
def test_bad_parameters(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel.resolve(X, np.arange(len(X)))


def test_what_is_refused():
    with pytest.raises(ValueError, match="not negative, but there is -1"):
        vt.Tanimoto().resolve(-np.ones((2, 2)), np.arange(2))
    with pytest.raises(ValueError, match=r"returned shape \(9,\)"):
        vt.Function(lambda X, Y: X[:, 0])(X, Y)
    with pytest.raises(ValueError, match="only after it was fitted"):
        Precomputed()(X)
    with pytest.raises(TypeError):
        vt.Linear() + 1


def test_the_old_name_of_the_registry_warns():
    with pytest.warns(DeprecationWarning, match="NAMES is now"):
        assert kernels.NAMES["rbf"] is vt.Gaussian
