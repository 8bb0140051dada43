"""Standard deviations are those of a Gaussian process whose mean is ridge regression; novelty is a share of them."""

import pickle
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

import vectrick as vt
from vectrick.inference import posterior as posteriors

KERNELS = [
    "linear",
    vt.Gaussian(gamma=0.4),
    vt.Polynomial(degree=2),
    vt.Tanimoto(),
    vt.Gaussian(gamma=1.0) + vt.Constant(),
]
ALPHA = 0.6


def problem(n=90, m=15, q=12, seed=0):
    rng = np.random.default_rng(seed)
    pairs = rng.choice(m * q, min(n, m * q), replace=False)
    X = vt.Edges(pairs // q, pairs % q, rng.random((m, 4)), rng.random((q, 3)))
    new = vt.Edges.grid(rng.random((6, 4)) + 0.2, rng.random((5, 3)))
    return X, rng.standard_normal(len(X)), rng.random(len(X)) + 0.5, new


def kernel_values(model, X, Y):
    """The kernel of edges, entry by entry of the Kronecker product."""
    sides = []
    for side in ("start", "end"):
        kernel = getattr(model.predictor_, side).kernel
        first, second = (getattr(edges, f"{side}_table").features for edges in (X, Y))
        sides.append(kernel(first, second))
    K, G = sides
    return np.kron(G, K)[np.ix_(X.end * len(K) + X.start, Y.end * K.shape[1] + Y.start)]


def expected(model, X, weight, new):
    """The posterior covariance of a Gaussian process, with a flat prior for the intercept if there is one."""
    S = kernel_values(model, X, X) + np.diag(model.alpha / (np.ones(len(X)) if weight is None else weight))
    C = kernel_values(model, new, X)
    covariance = kernel_values(model, new, new) - C @ np.linalg.solve(S, C.T)
    if model.fit_intercept:
        ones = np.linalg.solve(S, np.ones(len(X)))
        rest = 1 - C @ ones
        covariance += np.outer(rest, rest) / ones.sum()
    return covariance


def fitted(kernel, X, y, weight=None, **more):
    given = {"alpha": ALPHA, "fit_intercept": False, "tol": 1e-10, **more}
    return vt.KronRidge(kernel, kernel, **given).fit(X, y, weight)


@pytest.fixture
def by_features(monkeypatch):
    """Take the way of large graphs, with the features of the degree model."""
    monkeypatch.setattr(posteriors, "DENSE", 0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_exact_variances_equal_those_of_the_kronecker_product(kernel, constant, weighted):
    X, y, weight, new = problem()
    weight = weight if weighted else None
    model = fitted(kernel, X, y, weight, fit_intercept=constant)
    covariance = expected(model, X, weight, new)
    posterior = model.posterior()
    assert posterior.method.startswith("exact")
    assert np.allclose(posterior.std(new), np.sqrt(posterior.scale * covariance.diagonal()), rtol=1e-8)
    assert np.allclose(posterior.covariance(new), posterior.scale * covariance, rtol=1e-7, atol=1e-9)
    assert (posterior.std_error(new) == 0).all()


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_complete_graphs_have_a_closed_form(kernel, constant, by_features):
    X, y, _, new = problem(n=10_000)
    model = fitted(kernel, X, y, fit_intercept=constant)
    posterior, covariance = model.posterior(), expected(model, X, None, new)
    assert posterior.method == "exact, in closed form on a complete graph"
    assert np.allclose(posterior.std(new), np.sqrt(posterior.scale * covariance.diagonal()), rtol=1e-8)
    assert np.allclose(posterior.covariance(new), posterior.scale * covariance, rtol=1e-7, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_sampled_variances_are_near_and_unbiased(kernel, constant, weighted, by_features):
    X, y, weight, new = problem()
    weight = weight if weighted else None
    model = fitted(kernel, X, y, weight, fit_intercept=constant)
    variance = expected(model, X, weight, new).diagonal()
    deviations, n_seeds = np.zeros(len(new)), 6
    for seed in range(n_seeds):
        posterior = model.posterior(128, random_state=seed)
        assert posterior.method.startswith("from 128 samples")
        posterior._parts[0][1]._samples  # noqa: B018 (else so few edges are solved for)
        found = posterior.std(new) / np.sqrt(posterior.scale)
        assert np.sqrt(np.mean((found / np.sqrt(variance) - 1) ** 2)) < 0.05
        error = 2 * found * posterior.std_error(new) / np.sqrt(posterior.scale)
        deviations += (found**2 - variance) / error
    # Unbiased, and with errors as large as told: the mean over seeds falls with the root of their number.
    assert np.sqrt(np.mean((deviations / n_seeds**0.5) ** 2)) < 1.7


def test_few_edges_are_solved_for(by_features):
    X, y, weight, new = problem()
    model = fitted(vt.Gaussian(gamma=0.4), X, y, weight, fit_intercept=True)
    posterior = model.posterior()
    assert np.allclose(posterior.std(new) ** 2, posterior.scale * expected(model, X, weight, new).diagonal(), rtol=1e-8)


def test_it_is_the_gaussian_process_of_scikit_learn():
    X, y, _, new = problem()
    model = fitted(vt.Gaussian(gamma=0.5), X, y)
    rows, others = (
        np.hstack([edges.start_table.features[edges.start], edges.end_table.features[edges.end]]) for edges in (X, new)
    )
    process = GaussianProcessRegressor(RBF(1.0), alpha=ALPHA, optimizer=None).fit(rows, y)
    mean, std = process.predict(others, return_std=True)
    found, sure = model.predict(new, return_std=True)
    scale = model.posterior().scale
    assert np.allclose(found, mean, atol=1e-8)
    assert np.allclose(sure, np.sqrt(scale) * std, rtol=1e-8)
    assert np.allclose(
        model.predict(new, return_cov=True)[1], scale * process.predict(others, return_cov=True)[1], atol=1e-9
    )
    K = process.kernel_(rows) + ALPHA * np.eye(len(y))
    assert np.isclose(scale, y @ np.linalg.solve(K, y) / len(y))


def test_grids_and_samples():
    X, y, _, new = problem()
    model = fitted(vt.Gaussian(gamma=0.5), X, y)
    mean, std = model.predict_grid(new.start_table, new.end_table, return_std=True)
    assert np.allclose(mean.ravel(), model.predict(new))
    assert np.allclose(std.ravel(), model.predict(new, return_std=True)[1])
    drawn = model.sample(new, 4000, random_state=0)
    assert np.allclose(drawn.mean(0), mean.ravel(), atol=5 * std.max() / 60)
    assert np.allclose(np.cov(drawn.T), model.predict(new, return_cov=True)[1], atol=0.1 * std.max() ** 2)
    assert np.array_equal(model.sample(new, 2, random_state=1), model.sample(new, 2, random_state=1))


@pytest.mark.parametrize("dense", [True, False])
def test_precomputed_kernels(dense, monkeypatch):
    X, y, _, _ = problem()
    plain = fitted(vt.Gaussian(gamma=0.5), X, y)
    K, G = (vt.Gaussian(gamma=0.5)(table.features, table.features) for table in (X.start_table, X.end_table))
    if not dense:
        monkeypatch.setattr(posteriors, "DENSE", 0)
    model = fitted("precomputed", vt.Edges(X.start, X.end, K, G), y)
    every = vt.Edges.grid(K, G)
    _, std = model.predict(vt.Edges(every.start, every.end, K, G), return_std=True, n_samples=2000)
    grid = vt.Edges.grid(X.start_table.features, X.end_table.features)
    assert np.allclose(std, plain.predict(grid, return_std=True, n_samples=2000)[1], rtol=1e-6)


def test_frames_files_and_pickles(tmp_path):
    X, y, _, _ = problem()
    users = pd.DataFrame(X.start_table.features, index=[f"u{i}" for i in range(15)])
    items = pd.DataFrame(X.end_table.features, index=[f"i{i}" for i in range(12)])
    frame = pd.DataFrame({"start": users.index[X.start], "end": items.index[X.end]})
    edges = vt.Edges.from_frame(frame, start_table=users, end_table=items)
    model = fitted(vt.Gaussian(gamma=0.5), edges, y)
    mean, std = model.predict(edges[:7], return_std=True)
    model.save(tmp_path / "model.vt")
    for other in (vt.load(tmp_path / "model.vt"), pickle.loads(pickle.dumps(model))):
        again = other.predict(edges[:7], return_std=True)
        assert np.allclose(again[0], mean)
        assert np.allclose(again[1], std)
        assert np.allclose(other.novelty(edges), model.novelty(edges))


def test_a_new_fit_has_a_new_posterior():
    X, y, _, new = problem()
    model = fitted(vt.Gaussian(gamma=0.5), X, y)
    before = model.predict(new, return_std=True)[1]
    model.update(new, np.zeros(len(new)))
    assert (model.predict(new, return_std=True)[1] < before).all()


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_with_torch():
    import torch

    X, y, _, new = problem()
    model = fitted(vt.Gaussian(gamma=0.5), X, y)
    there = fitted(vt.Gaussian(gamma=0.5), X, y, backend="torch", device="cpu")
    assert np.allclose(there.predict(new, return_std=True)[1], model.predict(new, return_std=True)[1])
    tables = (torch.as_tensor(table.features) for table in (new.start_table, new.end_table))
    tensors = vt.Edges(torch.as_tensor(new.start), torch.as_tensor(new.end), *tables)
    mean, std = there.predict(tensors, return_std=True)
    assert isinstance(std, torch.Tensor)
    assert np.allclose(std.numpy(), model.predict(new, return_std=True)[1])
    assert mean.shape == std.shape


@pytest.mark.parametrize("kind", [vt.KronRidge, vt.KronSVM, vt.KronLogistic, vt.KronRanker])
def test_novelty_is_the_share_that_is_left_of_the_prior_variance(kind):
    X, y, _, new = problem(n=10_000)
    labels = y if kind in (vt.KronRidge, vt.KronRanker) else np.where(y > 0, 1, -1)
    model = kind(vt.Gaussian(gamma=0.4), vt.Gaussian(gamma=0.4), alpha=ALPHA).fit(X, labels)
    ridge = fitted(vt.Gaussian(gamma=0.4), X, y)
    share = expected(ridge, X, None, new).diagonal()  # of a prior variance of one
    novelty = model.novelty(new, parts=True)
    assert np.allclose(novelty["novelty"], share, atol=1e-9)
    assert ((novelty >= 0) & (novelty <= 1)).all().all()
    far = vt.Edges([0], [0], new.start_table.features[:1] + 1e3, new.end_table.features[:1])
    apart = model.novelty(far, parts=True).iloc[0]
    assert apart["novelty"] == 1
    assert apart["start"] == 1
    assert apart["end"] < 1


def test_parts_of_novelty_are_means_over_the_training_vertices_of_the_other_side():
    X, y, _, new = problem(n=10_000)
    model = fitted(vt.Polynomial(degree=2), X, y)
    start, end = new.start_table.features, new.end_table.features
    known_start, known_end = X.start_table.features, X.end_table.features
    parts = model.novelty(new, parts=True)
    for side, first, second in (("start", start, known_end), ("end", known_start, end)):
        edges = vt.Edges.grid(first, second)
        variance = expected(model, X, None, edges).diagonal().reshape(len(first), -1)
        prior = kernel_values(model, edges, edges).diagonal().reshape(len(first), -1)
        axis = 1 if side == "start" else 0
        expect = variance.mean(axis) / prior.mean(axis)
        assert np.allclose(parts[side], expect[new.start if side == "start" else new.end])


def test_an_edge_without_prior_variance_is_not_new():
    X, y, _, new = problem()
    model = fitted("linear", X, y)
    nothing = vt.Edges([0], [0], np.zeros((1, 4)), new.end_table.features[:1])
    assert model.novelty(nothing)[0] == 0
    assert model.predict(nothing, return_std=True)[1][0] == 0


def test_what_cannot_be_asked_is_told():
    X, y, _, new = problem()
    model = fitted("linear", X, y)
    with pytest.raises(ValueError, match="KronSVM with loss 'squared_hinge' has no posterior variance; use ridge"):
        vt.KronSVM().fit(X, np.where(y > 0, 1, -1)).posterior()
    with pytest.raises(ValueError, match="has no posterior variance"):
        vt.KronRanker().fit(X, y).posterior()
    with pytest.raises(ValueError, match="keep_edges=False"):
        fitted("linear", X, y, keep_edges=False).predict(new, return_std=True)
    with pytest.raises(ValueError, match="keep_edges=False"):
        fitted("linear", X, y, keep_edges=False).novelty(new)
    with pytest.raises(ValueError, match="n_samples is 1, but it must be an integer of at least 2"):
        model.predict(new, return_std=True, n_samples=1)
    with pytest.raises(ValueError, match="return_std and return_cov are both true"):
        model.predict(new, return_std=True, return_cov=True)
    with pytest.raises(ValueError, match="X has 4001 edges, but covariances are for at most 4000"):
        model.predict(X[np.zeros(4001, int)], return_cov=True)
    with pytest.raises(ValueError, match="n is 0, but it must be a positive integer"):
        model.sample(new, 0)
    with pytest.raises(ValueError, match="requires 'kronecker'"):
        fitted("linear", X, y, pairwise="cartesian").predict(X, return_std=True)
    with pytest.raises(ValueError, match="the model has 2 labels for each edge"):
        vt.KronRidge().fit(X, np.c_[y, y]).posterior()


def test_a_generator_makes_one_posterior():
    rng = np.random.RandomState(0)
    X = vt.Edges.grid(rng.standard_normal((12, 3)), rng.standard_normal((8, 2)))
    model = vt.KronRidge(vt.Gaussian(0.5), vt.Gaussian(0.5), random_state=rng).fit(X[:60], rng.standard_normal(60))
    first = model.predict(X, return_std=True)[1]
    for n_samples in range(16, 32):
        model.predict(X, return_std=True, n_samples=n_samples)
    np.testing.assert_array_equal(model.predict(X, return_std=True)[1], first)
    assert len(model._posterior[1]["posteriors"]) <= 4
