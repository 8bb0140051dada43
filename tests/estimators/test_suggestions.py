"""Batches of edges to label next are those of a greedy choice by the whole covariance matrix."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import vectrick as vt
from vectrick.inference import pool, suggest as suggestions

KERNEL = vt.Gaussian(gamma=0.5)


def problem(n=120, m=16, q=14, seed=0):
    rng = np.random.default_rng(seed)
    X = vt.Edges.grid(rng.random((m, 2)) * 3, rng.random((q, 2)) * 3)
    order = rng.permutation(len(X))
    return X, rng.standard_normal(len(X)), order[:n], order[n:]


def fitted(constant=True, **more):
    X, y, known, rest = problem(**more)
    model = vt.KronRidge(KERNEL, KERNEL, alpha=0.4, tol=1e-10, fit_intercept=constant).fit(X[known], y[known])
    return model, X[rest]


def greedy(model, pool, n, gain):
    """Choose one edge after the other by the covariances of all edges."""
    V, scale = model.predict(pool, return_cov=True)[1].copy(), model.posterior().scale
    chosen = []
    for _ in range(n):
        values = gain(V, scale)
        values[chosen] = -np.inf
        i = int(np.argmax(values))
        chosen.append(i)
        V -= np.outer(V[:, i], V[:, i]) / (V[i, i] + scale * model.alpha)
    return chosen


@pytest.mark.parametrize("constant", [False, True])
def test_a_batch_reduces_the_variance_of_the_pool_most(constant):
    model, pool = fitted(constant)
    expected = greedy(model, pool, 12, lambda V, scale: (V**2).sum(0) / (V.diagonal() + scale * model.alpha))
    found = vt.suggest(model, pool, 12)
    assert found["row"].tolist() == expected
    assert found["gain"].is_monotonic_decreasing
    std = model.predict(pool[expected], return_std=True)[1]
    np.testing.assert_allclose(found["std"], std, rtol=1e-6)
    np.testing.assert_allclose(found["score"], model.predict(pool[expected]), rtol=1e-6)


def test_a_batch_reduces_the_variance_of_its_aims_most():
    model, pool = fitted()
    rng = np.random.default_rng(3)
    aims = vt.Edges.grid(rng.random((4, 2)) * 3, rng.random((5, 2)) * 3)  # of new vertices
    n, scale = len(pool), model.posterior().scale
    V = scale * model.posterior().relative_covariance(pool, aims)
    expected = []
    for _ in range(6):
        gain = (V[n:, :n] ** 2).sum(0) / (V.diagonal()[:n] + scale * model.alpha)
        gain[expected] = -np.inf
        i = int(np.argmax(gain))
        expected.append(i)
        V -= np.outer(V[:, i], V[:, i]) / (V[i, i] + scale * model.alpha)
    assert vt.suggest(model, pool, 6, X_aim=aims)["row"].tolist() == expected
    with pytest.raises(ValueError, match="X_aim is given, but by is 'diverse'"):
        vt.suggest(model, pool, 6, by="diverse", X_aim=aims)
    with pytest.raises(ValueError, match="X_aim is empty"):
        vt.suggest(model, pool, 6, X_aim=aims[:0])


@pytest.mark.parametrize("constant", [False, True])
def test_kernels_that_are_known_by_their_matrix(constant):
    rng = np.random.default_rng(0)
    features = [rng.random((12, 2)) * 3, rng.random((11, 2)) * 3]
    pairs = rng.permutation(132)
    start, end = pairs // 11, pairs % 11
    known = (start < 8) & (end < 7)  # the other vertices are in the tables, but in no training edge
    y = rng.standard_normal(132)
    matrices = [KERNEL(part, part) for part in features]
    of_matrix, of_features = vt.Precomputed(), KERNEL
    if constant:
        of_matrix, of_features = of_matrix + vt.Constant(), of_features + vt.Constant()
    found = []
    for tables, kernel in ((matrices, of_matrix), (features, of_features)):
        X = vt.Edges(start, end, *tables)
        model = vt.KronRidge(kernel, kernel, alpha=0.4, tol=1e-10, fit_intercept=True).fit(X[known], y[known])
        rest = X[~known]
        found.append([vt.suggest(model, rest, 8, by=by)["row"].tolist() for by in ("variance", "diverse")])
        found[-1] += [model.novelty(rest).round(6).tolist(), model.posterior().std(rest).round(6).tolist()]
    assert found[0] == found[1]


@pytest.mark.parametrize("active", [1, 20, 1000])
def test_other_rules_follow_the_most_promising_edges_only(active, monkeypatch):
    monkeypatch.setattr(suggestions, "ACTIVE", active)
    model, pool = fitted(constant=False)
    mean, best = model.predict(pool), model.predict(model_edges(model)).max()

    def improvement(V, scale):
        std = np.sqrt(np.maximum(V.diagonal(), 1e-300))
        z = (mean - best) / std
        return (mean - best) * norm.cdf(z) + std * norm.pdf(z)

    wanted = greedy(model, pool, 3, improvement)
    assert vt.suggest(model, pool, 3, by="improvement")["row"].tolist() == wanted
    diverse = greedy(model, pool, 3, lambda V, scale: V.diagonal().copy())  # all prior variances are one
    assert vt.suggest(model, pool, 3, by="diverse")["row"].tolist() == diverse


def model_edges(model):
    source = model._source
    return vt.Edges(source.start, source.end, model.start_table_.features, model.end_table_.features)


@pytest.mark.parametrize("constant", [False, True])
def test_the_degree_model_gives_the_same_batch_on_complete_graphs(constant, monkeypatch):
    rng = np.random.default_rng(0)
    X = vt.Edges.grid(rng.random((12, 2)) * 3, rng.random((10, 2)) * 3)
    model = vt.KronRidge(KERNEL, KERNEL, alpha=0.4, fit_intercept=constant).fit(X, rng.standard_normal(len(X)))
    starts, ends = rng.random((8, 2)) * 4, rng.random((9, 2)) * 4
    pool = vt.Edges.grid(starts, ends)  # of new vertices, which the basis does not span
    exact = vt.suggest(model, pool, 10)
    monkeypatch.setattr(suggestions, "_DENSE", 0)
    monkeypatch.setattr("vectrick.inference.covariances._NOTHING", 0.0)
    assert vt.suggest(model, pool, 10)["row"].tolist() == exact["row"].tolist()
    of_grid = vt.suggest(model, (starts, ends), 10)
    pairs = sorted(zip(of_grid["start"], of_grid["end"], strict=True))
    assert pairs == sorted((row // 9, row % 9) for row in exact["row"])


def test_a_grid_in_pieces_leaves_out_known_edges(monkeypatch):
    X, y, known, rest = problem()
    model = vt.KronRidge(KERNEL, KERNEL, alpha=0.4).fit(X[known], y[known])
    whole = vt.suggest(model, n=9, by="diverse")
    assert "row" not in whole
    taken = {*zip(X.start[known].tolist(), X.end[known].tolist(), strict=True)}
    assert not taken & {*zip(whole["start"], whole["end"], strict=True)}
    listed = vt.suggest(model, X[np.sort(rest)], 9, by="diverse")
    pd.testing.assert_frame_equal(listed.drop(columns="row"), whole, check_dtype=False)
    monkeypatch.setattr(pool, "_BLOCK", 30)
    pd.testing.assert_frame_equal(vt.suggest(model, n=9, by="diverse"), whole)
    monkeypatch.setattr(pool, "_CANDIDATES", 20)
    few = vt.suggest(model, n=9, by="diverse")  # of the twenty most promising ones
    assert few["gain"].iloc[0] == whole["gain"].iloc[0]


@pytest.mark.parametrize("by", suggestions.BY)
def test_vertices_have_at_most_so_many_edges(by):
    model, pool = fitted()
    found = vt.suggest(model, pool, 20, by=by, per_start=2, per_end=3, random_state=0)
    assert found["start"].value_counts().max() <= 2
    assert found["end"].value_counts().max() <= 3
    assert found["row"].is_unique
    assert found["rank"].tolist() == list(range(1, 21))
    same = vt.suggest(model, pool, 20, by=by, per_start=2, per_end=3, random_state=0)
    pd.testing.assert_frame_equal(found, same)


def test_limits_are_kept_in_mind_where_not_all_edges_are_tried(monkeypatch):
    monkeypatch.setattr(suggestions, "_TRIED", 10)
    model, pool = fitted()
    rows = np.concatenate([np.repeat(np.flatnonzero(pool.start == pool.start[0]), 30), np.arange(len(pool))])
    found = vt.suggest(model, pool[rows], 8, per_start=1)  # most edges of this pool have one start vertex
    assert found["start"].nunique() == 8
    with pytest.raises(TypeError, match="model is 'x', but it must be a fitted estimator"):
        vt.suggest("x", pool, 3)


def test_thompson_draws_are_those_of_the_posterior():
    model, pool = fitted()
    from vectrick.inference.posterior import FeaturePosterior
    from vectrick.inference.uncertainty import on_host, trained_edges

    trained = trained_edges(model)[0]
    drawn = FeaturePosterior(trained, 0).draws(on_host(model, pool[:20]), 1000, 0)
    covariance = model.predict(pool[:20], return_cov=True)[1] / model.posterior().scale
    spread = np.sqrt(np.outer(covariance.diagonal(), covariance.diagonal()))
    assert np.abs(np.cov(drawn) - covariance).max() < 0.15 * spread.max()
    first = vt.suggest(model, pool, 15, by="thompson", random_state=0)
    other = vt.suggest(model, pool, 15, by="thompson", random_state=1)
    assert first["row"].tolist() != other["row"].tolist()


def test_every_loss_and_means_of_models():
    X, y, known, rest = problem()
    labels = np.where(y > 0, "yes", "no")
    for model in (vt.KronSVM(KERNEL, KERNEL), vt.KronLogistic(KERNEL, KERNEL), vt.AutoKron(random_state=0)):
        model.fit(X[known], labels[known])
        found = vt.suggest(model, X[rest], 5)
        assert found["std"].isna().all()
        with pytest.raises(ValueError, match="has no posterior variance"):
            vt.suggest(model, X[rest], 5, by="improvement")
    mean = vt.AutoKron(random_state=0).fit(X[known], y[known])
    assert len(vt.suggest(mean, X[rest], 5, by="improvement")) == 5


def test_new_labels_make_a_model_less_unsure_where_they_were_asked_for():
    model, pool = fitted()
    before = model.predict(pool, return_std=True)[1]
    found = vt.suggest(model, pool, 20)
    picked, random = found["row"].to_numpy(), np.random.default_rng(0).permutation(len(pool))[:20]
    scale = model.posterior().scale

    def left(rows):
        again = vt.KronRidge(KERNEL, KERNEL, alpha=0.4, tol=1e-10, fit_intercept=True)
        source = model._source
        joined = np.concatenate([source.labels, np.zeros(len(rows))])
        both = vt.Edges(np.concatenate([source.start, pool.start[rows]]), np.concatenate([source.end, pool.end[rows]]),
                        model.start_table_.features, model.end_table_.features)  # fmt: skip
        posterior = again.fit(both, joined).posterior()
        return np.mean(posterior.std(pool) ** 2 / posterior.scale)

    assert left(picked) < left(random) < np.mean(before**2) / scale


def test_bad_input_is_refused_before_work():
    model, pool = fitted()
    with pytest.raises(ValueError, match="X_pool is empty, but n is 5"):
        vt.suggest(model, pool[:0], 5)
    with pytest.raises(ValueError, match="X_pool has 4 edges to choose from, but n is 5"):
        vt.suggest(model, pool[:4], 5)
    for n in (0, -1, 1.5, True, "many"):
        with pytest.raises(ValueError, match=r"n is .*, but it must be a positive integer"):
            vt.suggest(model, pool, n)
    with pytest.raises(ValueError, match="by is 'luck', but it must be one of 'variance', 'improvement'"):
        vt.suggest(model, pool, 5, by="luck")
    with pytest.raises(ValueError, match="per_start is 0, but it must be a positive integer"):
        vt.suggest(model, pool, 5, per_start=0)
    with pytest.raises(ValueError, match=r"only 16 of n = 20 edges can be chosen with per_start=1 and per_end=None"):
        vt.suggest(model, pool, 20, per_start=1)
    with pytest.raises(ValueError, match="X_pool is a tuple of 3, but it must be two tables"):
        vt.suggest(model, (1, 2, 3), 5)
    X, y, known, _ = problem()
    forgetful = vt.KronRidge(KERNEL, KERNEL, keep_edges=False).fit(X[known], y[known])
    with pytest.raises(ValueError, match="does not keep the edges"):
        vt.suggest(forgetful, pool, 5)
    with pytest.raises(ValueError, match="a posterior requires 'kronecker'"):
        vt.suggest(vt.KronRidge(KERNEL, KERNEL, pairwise="linear").fit(X[known], y[known]), pool, 5)


@pytest.mark.parametrize("by", ["variance", "improvement", "diverse", "thompson"])
def test_std_of_suggestions_is_that_of_predictions(by):
    rng = np.random.default_rng(0)
    X = vt.Edges.grid(rng.standard_normal((12, 3)), rng.standard_normal((8, 2)))
    model = vt.KronRidge(vt.Gaussian(0.5), vt.Gaussian(0.5), fit_intercept=True).fit(X[:20], rng.standard_normal(20))
    plate = vt.suggest(model, X[20:], n=5, by=by)
    std = model.predict(X[20:][plate["row"].to_numpy()], return_std=True)[1]
    np.testing.assert_allclose(plate["std"], std, rtol=1e-6)
