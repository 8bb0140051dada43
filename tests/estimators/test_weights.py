"""Several kernels: weights that are given, aligned with the labels, and validated."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV

import vectrick as vt
from tests.kernels.formulas import edges_of_one_set, gaussian
from vectrick.backends import HOST
from vectrick.data import Graph
from vectrick.models.edge_kernel import EdgeKernel
from vectrick.models.kernel_spec import KernelSpec
from vectrick.training.holding_out import hold_out_some
from vectrick.training.kernel_weights import Alignment, aligned_weights, nonnegative_minimum, normalised

STARTS = [vt.Gaussian(0.3), "linear"]
ENDS = ["linear", vt.Gaussian(0.1), vt.Gaussian(1.0)]


def problem(n=90, seed=0):
    rng = np.random.default_rng(seed)
    S, E = rng.standard_normal((15, 4)), rng.standard_normal((12, 3))
    X = vt.Edges(rng.integers(0, 15, n), rng.integers(0, 12, n), S, E)
    return X, S[X.start, 0] * E[X.end, 1] + 0.1 * rng.standard_normal(n)


def settled(model, X):
    spec = KernelSpec.of(model)
    graph = Graph.of(X, spec.one_set)
    return EdgeKernel.settled(spec, X, graph, HOST), graph


def explicit(alignment):
    """Return the kernel matrices of the components."""
    n = len(alignment.y)
    return [vt.kron_sum(terms, alignment.pair, alignment.pair) @ np.eye(n) for terms in alignment.terms]


@pytest.mark.parametrize(
    "model",
    [
        vt.KronRidge(STARTS, ENDS, kernel_weights="alignment"),
        vt.KronRidge(STARTS, ENDS, pairwise=["kronecker", "linear", "poly2d", "cartesian"], kernel_weights="alignment"),
    ],
)
def test_alignment_equals_the_direct_solution(model):
    X, y = problem()
    kernel, graph = settled(model, X)
    alignment = Alignment(kernel, graph, y)
    matrices, n = explicit(alignment), len(y)
    centring = np.eye(n) - 1 / n
    centred = [centring @ A @ centring for A in matrices]
    M, a = alignment.matrices()
    expected = np.array([[np.sum(A * B) for B in centred] for A in centred])
    assert_allclose(M, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    assert_allclose(a, [y @ A @ y for A in centred], rtol=0, atol=1e-12 * np.abs(a).max())
    assert_allclose(alignment.mean_diagonals(), [np.trace(A) / n for A in matrices])
    found = aligned_weights(kernel, graph, y)
    M = M + 0.25 * len(a) * np.diag(np.diag(M))  # kernels that are much alike share the weight
    scale = np.sqrt(np.diag(M))
    direct = minimize(
        lambda x: x @ (M / np.outer(scale, scale)) @ x - 2 * (a / scale) @ x, np.full(len(a), 1e-3),
        jac=lambda x: 2 * (M / np.outer(scale, scale)) @ x - 2 * a / scale, bounds=[(0, None)] * len(a),
        options={"maxiter": 100_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-10},
    ).x / scale  # fmt: skip
    risk = [float(w @ M @ w - 2 * a @ w) for w in (nonnegative_minimum(M, a), direct)]
    assert risk[0] <= risk[1] + 1e-9 * abs(risk[1])
    assert_allclose(risk[0], risk[1], rtol=1e-4)
    assert_allclose(found, normalised(direct, alignment.mean_diagonals()), atol=1e-4 * found.max())
    fitted = clone(model).fit(X, y)
    assert_allclose(fitted.kernel_weights_, found)
    assert_allclose(fitted.kernel_weights_ @ alignment.mean_diagonals(), 1.0)


def test_alignment_finds_the_kernel_that_made_the_labels():
    rng = np.random.default_rng(0)
    S, E = rng.standard_normal((40, 3)), rng.standard_normal((40, 3))
    X = vt.Edges.grid(S, E)
    y = (S[:, :1] @ E[:, :1].T).ravel()  # of two linear kernels
    kernels = ["linear", vt.Gaussian(5.0)]
    model = vt.KronRidge(kernels, kernels, kernel_weights="alignment").fit(X, y)
    share = model.kernel_weights_ * Alignment(*settled(model, X), y).mean_diagonals()
    assert np.argmax(share) == 0
    assert share[0] > 0.5
    assert model.components_[0] == "kronecker: linear, linear"


@pytest.mark.parametrize("pairwise", ["symmetric", "antisymmetric"])
def test_alignment_on_one_vertex_set_is_that_of_both_directions(pairwise):
    rng = np.random.default_rng(0)
    S = rng.standard_normal((15, 3))
    start, end = edges_of_one_set(rng, 15, 120, loops=False)
    X, y = vt.Edges(start, end, S), rng.standard_normal(len(start))
    sign = 1 if pairwise == "symmetric" else -1
    model = vt.KronRidge([vt.Gaussian(0.3), "linear"], pairwise=pairwise, kernel_weights="alignment").fit(X, y)
    both = np.concatenate([start, end]), np.concatenate([end, start])
    twice, n = np.concatenate([y, sign * y]), 2 * len(y)
    matrices = [K[np.ix_(both[0], both[0])] * K[np.ix_(both[1], both[1])] for K in (gaussian(S), S @ S.T)]
    centring = np.eye(n) - 1 / n
    centred = [centring @ A @ centring for A in matrices]
    M = np.array([[np.sum(A * B) for B in centred] for A in centred])
    expected = nonnegative_minimum(M + 0.5 * np.diag(np.diag(M)), np.array([twice @ A @ twice for A in centred]))
    own = [
        np.mean(K[start, start] * K[end, end] + sign * K[start, end] ** 2) for K in (gaussian(S), S @ S.T)
    ]  # of the kernel that is trained with
    assert_allclose(model.kernel_weights_, normalised(expected, np.array(own)), atol=1e-12)
    grid = model.predict_grid(S)
    assert_array_equal(grid, sign * grid.T)


def test_alignment_refuses_traces_that_do_not_factor():
    rng = np.random.default_rng(0)
    X = vt.Edges(*edges_of_one_set(rng, 9, 60, loops=False), rng.standard_normal((9, 3)))
    y = rng.standard_normal(len(X))
    with pytest.raises(ValueError, match=r"kernel_weights cannot be learned for these kernels of edges, mlpk"):
        vt.KronRidge(["linear", "gaussian"], pairwise="mlpk", kernel_weights="alignment").fit(X, y)


@pytest.mark.filterwarnings("ignore:y is constant")
def test_no_kernel_is_aligned():
    X, _ = problem()
    with pytest.warns(vt.KernelWarning, match="no kernel is aligned with the labels"):
        model = vt.KronRidge(STARTS, ENDS, kernel_weights="alignment").fit(X, np.ones(len(X)))
    assert (model.kernel_weights_ > 0).all()


def test_validation_is_not_worse_than_alignment_on_the_held_out_vertices():
    X, y = problem(180)
    model = vt.KronRidge(STARTS, ENDS, kernel_weights="validation", random_state=0, alpha=0.1, fit_intercept=False)
    weights = model.fit(X, y).kernel_weights_
    train, test = hold_out_some(model, X, y, None)
    risks = {}
    for name, given in (("alignment", "alignment"), ("validation", weights), ("equal", None)):
        some = clone(model).set_params(kernel_weights=given).fit(X[train], y[train])
        risks[name] = np.mean((some.predict(X[test]) - y[test]) ** 2)
    assert risks["validation"] <= risks["alignment"] + 1e-12
    again = clone(model).fit(X, y)
    assert_array_equal(again.kernel_weights_, weights)


@pytest.mark.parametrize("given", [None, [1.0, 0.0, 2.0, 0.0, 1.0, 0.5], [[1.0, 0.0, 2.0], [0.0, 1.0, 0.5]]])
def test_given_weights_train_predict_and_go_to_a_file(given, tmp_path):
    X, y = problem()
    S, E = X.start_table.features, X.end_table.features
    model = vt.KronRidge(STARTS, ENDS, kernel_weights=given, alpha=0.1, tol=1e-11, fit_intercept=False).fit(X, y)
    weights = np.full((2, 3), 1 / 6) if given is None else np.reshape(given, (2, 3))
    assert_array_equal(model.kernel_weights_, weights.ravel())
    starts, ends = [gaussian(S), S @ S.T], [E @ E.T, gaussian(E, gamma=0.1), gaussian(E, gamma=1.0)]
    A = sum(
        weights[i, j] * starts[i][np.ix_(X.start, X.start)] * ends[j][np.ix_(X.end, X.end)]
        for i in range(2)
        for j in range(3)
    )
    theirs = KernelRidge(alpha=0.1, kernel="precomputed").fit(A, y)
    assert_allclose(model.predict(X), theirs.predict(A), atol=1e-8)
    assert_allclose(model.predict_grid(S, E)[X.start, X.end], theirs.predict(A), atol=1e-8)
    model.save(tmp_path / "model.vt")
    same = vt.load(tmp_path / "model.vt")
    assert_array_equal(same.predict(X), model.predict(X))
    assert_array_equal(same.kernel_weights_, model.kernel_weights_)
    assert same.get_params()["kernel_weights"] == given


def test_a_damaged_weight_in_a_file_is_refused(tmp_path, monkeypatch):
    X, y = problem()
    model = vt.KronRidge(STARTS, ENDS).fit(X, y)
    model.predictor_.kernel.weights[0] = -1.0
    with pytest.raises(ValueError, match="weights must be finite numbers that are not negative"):
        model.save(tmp_path / "model.vt")
    with monkeypatch.context() as patch:
        patch.setattr("vectrick.persistence.models.made_again", lambda *_: None)
        model.save(tmp_path / "model.vt")
    with pytest.raises(vt.ModelFileError, match="weights must be finite numbers that are not negative"):
        vt.load(tmp_path / "model.vt")


def test_parameters_in_lists():
    X, y = problem()
    model = vt.KronRidge([vt.Gaussian(0.3), vt.Linear()], [vt.Gaussian(1.0)], pairwise=[(vt.pairwise.Gaussian(), 1.0)])
    found = model.get_params()
    assert found["start_kernel__0__gamma"] == 0.3
    assert found["pairwise__0__gamma"] == "scale"
    copy = clone(model).set_params(start_kernel__0__gamma=0.7, alpha=2.0)
    assert (copy.start_kernel[0].gamma, copy.alpha, model.start_kernel[0].gamma) == (0.7, 2.0, 0.3)
    with pytest.raises(ValueError, match="which has no kernel 5"):
        model.set_params(start_kernel__5__gamma=1.0)
    with pytest.raises(ValueError, match="Invalid parameter 'gamma' for estimator Linear"):
        vt.KronRidge("linear", ["linear"]).set_params(end_kernel__0__gamma=1.0)
    named = vt.KronRidge("gaussian", ["linear", "rbf"], pairwise="gaussian")
    named.set_params(start_kernel__gamma=2.0, end_kernel__1__gamma=3.0, pairwise__gamma=4.0)
    assert (named.start_kernel.gamma, named.end_kernel[1].gamma, named.pairwise.gamma) == (2.0, 3.0, 4.0)
    search = GridSearchCV(
        vt.KronRidge([vt.Gaussian(0.3), "linear"], "linear"),
        {"start_kernel__0__gamma": [0.1, 1.0], "kernel_weights": [None, "alignment", [1.0, 0.2]]},
        cv=vt.VertexKFold(2, random_state=0),
    )
    assert len(search.fit(X, y).cv_results_["params"]) == 6


def test_plain_parameters_are_set_before_those_in_lists():
    model = vt.KronRidge("linear", "linear")
    model.set_params(start_kernel__0__gamma=9.0, start_kernel=[vt.Gaussian(5.0), vt.Gaussian(6.0)])
    assert [kernel.gamma for kernel in model.start_kernel] == [9.0, 6.0]


def test_one_object_twice_has_two_weights():
    X, y = problem()
    k, g = vt.pairwise.Kronecker(), vt.Gaussian(0.3)
    found = vt.KronRidge(g, g, pairwise=[(k, 0.3), (k, 0.7)]).fit(X, y)
    assert_array_equal(found.kernel_weights_, [0.3, 0.7])
    found = vt.KronRidge([g, g], ["linear", "linear"], kernel_weights=[[1.0, 2.0], [3.0, 4.0]]).fit(X, y)
    assert_array_equal(found.kernel_weights_, [1.0, 2.0, 3.0, 4.0])


def test_learned_weights_with_classes_and_early_stopping():
    X, values = problem(200)
    y = values > 0
    model = vt.KronSVM(STARTS, ENDS, kernel_weights="alignment", early_stopping=True, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.7
    assert model.kernel_weights_.sum() > 0


def test_a_kernel_that_is_the_same_for_all_edges_gets_no_weight():
    """Its centred kernel is nothing but rounding, which must not decide."""
    X, y = vt.datasets.make_checkerboard(30, noise=0.0, density=0.5, random_state=0)
    kernels = [vt.Gaussian(gamma=1.0), vt.Constant()]
    both = vt.KronRidge(kernels, kernels, kernel_weights="alignment").fit(X, y)
    assert both.kernel_weights_[-1] == 0
    assert both.kernel_weights_[0] > 0


@pytest.mark.parametrize("mean", [0.0, 1000.0, 2015.0])
def test_a_kernel_that_varies_little_beside_its_mean_keeps_its_weight(mean):
    rng = np.random.default_rng(0)
    years = mean + 3.0 * rng.standard_normal((40, 1))
    X = vt.Edges.grid(years, np.eye(5))
    y = (years[X.start, 0] - mean) + 0.01 * rng.standard_normal(len(X))
    model = vt.KronRidge(["linear", vt.Gaussian(gamma=100.0)], "constant", kernel_weights="alignment").fit(X, y)
    assert model.kernel_weights_[0] > 0


def test_weights_beyond_doubles_are_refused():
    X = vt.Edges.grid(np.eye(3), np.eye(3))
    with pytest.raises(ValueError, match=r"kernel_weights is .*, but it must hold numbers"):
        vt.KronRidge(["linear", "gaussian"], "linear", kernel_weights=[10**400, 1]).fit(X, np.arange(9.0))
