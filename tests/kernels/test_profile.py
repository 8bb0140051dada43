"""Profiles of vertices: by hand, in files, for new vertices, and without leaks."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict

import vectrick as vt
from vectrick.kernels.profile import profiles_of

RNG = np.random.default_rng(0)
M, Q = 20, 15
X = vt.Edges.grid(RNG.standard_normal((M, 3)), RNG.standard_normal((Q, 2)))
Y = RNG.standard_normal((M, 2)) @ RNG.standard_normal((2, Q)) + RNG.standard_normal((M, 1)) + RNG.standard_normal(Q)
Y = Y.ravel() + 0.1 * RNG.standard_normal(M * Q)  # of hidden factors, which no feature tells
G = vt.Gaussian(0.3)


def test_profiles_by_hand():
    rows, columns, y = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), np.array([4.0, 0.0, 1.0, 3.0])
    values = np.array([[2.0, -2.0], [0.0, 0.0]])  # without the mean of all; two edges of one pair are one
    values[0] -= values[0].sum() / 4
    values[:, 0] -= np.array([2.0, 0.0]) / 3
    expected = np.array([[2 - 2 / 3, -2 + 0.5], [0.0, 0.5]])
    assert_allclose(profiles_of(rows, columns, y, (2, 2)), expected)


@pytest.mark.parametrize("inner", [None, vt.Gaussian(0.2)])
def test_the_kernel_is_that_of_the_profiles(inner):
    model = vt.KronRidge(vt.Profile(inner), G).fit(X, Y)
    profiles = profiles_of(X.start, X.end, Y, (M, Q))
    expected = (inner or vt.Cosine())(profiles)
    kernel = model.predictor_.start.kernel
    assert_allclose(kernel(X.start_table.features), expected, atol=1e-12)
    assert_allclose(kernel.diagonal(X.start_table.features), np.diagonal(expected), atol=1e-12)
    assert_allclose(kernel(np.ones((1, 3))), kernel(np.ones((1, 3)), 2 * np.ones((1, 3))))  # new ones have none


def test_a_new_vertex_has_the_profile_of_those_like_it():
    model = vt.KronRidge(vt.Profile(vt.Linear(), like=G, neighbours=3), G).fit(X, Y)
    kernel, profiles = model.predictor_.start.kernel, profiles_of(X.start, X.end, Y, (M, Q))
    new = RNG.standard_normal((4, 3))
    like = G(new, X.start_table.features)
    near = np.argsort(-like, axis=1)[:, :3]
    weights = np.take_along_axis(like, near, 1)
    own = ((weights / weights.sum(1, keepdims=True))[:, :, None] * profiles[near]).sum(1)
    assert_allclose(kernel(new, X.start_table.features), own @ profiles.T, atol=1e-12)


def test_what_profiles_know_helps_known_vertices():
    train = RNG.random(len(X)) < 0.7
    scores = [
        vt.KronRidge(kernel, G + vt.Constant(0.3), alpha=0.1).fit(X[train], Y[train]).score(X[~train], Y[~train])
        for kernel in (G + vt.Constant(0.3), G + vt.Constant(0.3) + vt.Profile())
    ]
    assert scores[1] > scores[0] + 0.1


@pytest.mark.parametrize("kernel", [G + vt.Profile(), vt.Profile(like=G) + vt.Constant(0.1)])
def test_no_label_of_a_test_edge_gets_in(kernel):
    model = vt.KronRidge(kernel, G + vt.Constant(0.5) * vt.Profile(), alpha=0.5, tol=1e-10)
    for new in ("both", "start", "end", "neither"):
        fold = vt.VertexKFold(3, 3, new, random_state=0).folds(X, Y)[1]
        other = np.full(len(Y), 1e6)
        other[fold.train] = Y[fold.train]
        predictions = [clone(model).fit(X[fold.train], y[fold.train]).predict(X[fold.test]) for y in (Y, other)]
        np.testing.assert_array_equal(*predictions)
        # The same through the functions that share kernels between folds.
        cv = vt.VertexKFold(3, 3, new, random_state=0, strict=False)
        whole = cross_val_predict(model, X, Y, cv=cv)
        alone = [clone(model).fit(X[f.train], Y[f.train]).predict(X[f.test]) for f in cv.folds(X, Y)]
        assert_allclose(whole[np.concatenate([f.test for f in cv.folds(X, Y)])], np.concatenate(alone), atol=1e-6)
    cv = vt.VertexKFold(3, 3, "neither", random_state=0)
    judge = lambda f: model.fit(X[f.train], Y[f.train]).score(X[f.test], Y[f.test])  # noqa: E731
    found = GridSearchCV(model, {"alpha": [0.5]}, cv=cv).fit(X, Y)
    assert_allclose(found.best_score_, np.mean([judge(fold) for fold in cv.folds(X, Y)]), atol=1e-6)


@pytest.mark.parametrize("new", ["start", "end", "neither"])
def test_a_search_makes_profiles_of_training_edges_only(new):
    big = vt.Edges.grid(RNG.standard_normal((24, 2)), RNG.standard_normal((18, 2)))
    noise = RNG.standard_normal(len(big))
    train = RNG.random(len(big)) < 0.7
    y, other = noise.copy(), np.where(train, noise, 1e6)
    models = [vt.AutoKron(new=new, random_state=0).fit(big[train], labels[train]) for labels in (y, other)]
    np.testing.assert_array_equal(*(model.predict(big) for model in models))
    # Labels are noise: profiles that knew the labels of inner test edges would score well.
    assert models[0].score_ < 0.2


def test_a_search_finds_profiles_where_they_help():
    big = vt.Edges.grid(RNG.standard_normal((40, 2)), RNG.standard_normal((30, 2)))
    hidden = RNG.standard_normal((40, 2)) @ RNG.standard_normal((2, 30))
    kept = RNG.random(len(big)) < 0.6
    y = hidden.ravel()[kept]
    model = vt.AutoKron(new="neither", random_state=0).fit(big[kept], y)
    assert any("profile" in name for name in model.search_["start_kernel"] + model.search_["end_kernel"])
    best = model.search_.iloc[0]
    assert "profile" in best["start_kernel"] + best["end_kernel"]


def test_files_and_tables_that_are_strings(tmp_path):
    words = ["MKTA", "MKTG", "GGGA", "AAAC", "CCCA"]
    graph = vt.Edges.grid(pd.Series(words, index=list("abcde")), RNG.standard_normal((6, 2)))
    y = RNG.standard_normal(len(graph))
    kernel = vt.Spectrum(2) + vt.Profile(like=vt.Spectrum(1), neighbours=2)
    model = vt.KronRidge(kernel, vt.Gaussian(0.2)).fit(graph, y)
    model.save(tmp_path / "model.vt")
    same = vt.load(tmp_path / "model.vt")
    np.testing.assert_array_equal(same.predict(graph), model.predict(graph))
    assert_allclose(same.predict_grid(["MKTC"], np.ones((2, 2))), model.predict_grid(["MKTC"], np.ones((2, 2))))


def test_where_there_are_no_labels_it_is_refused():
    with pytest.raises(ValueError, match="only after it was fitted"):
        vt.Profile()(np.eye(3))
    with pytest.raises(ValueError, match="learns from the labels"):
        vt.Profile().resolve(np.eye(3), np.arange(3))
    one = vt.Edges([0, 1, 2], [1, 2, 0], np.eye(3))
    with pytest.raises(ValueError, match="two vertex sets, but there is one"):
        vt.KronRidge(vt.Profile(), vt.Profile(), pairwise="symmetric").fit(one, np.arange(3.0))
    with pytest.raises(ValueError, match="a Profile kernel is made of labels"):
        vt.leave_out_predictions(vt.KronRidge(vt.Profile(), G, fit_intercept=False), X, Y)
    with pytest.raises(ValueError, match="neighbours is 0"):
        vt.KronRidge(vt.Profile(neighbours=0), G).fit(X, Y)
    with pytest.raises(ValueError, match="like is 'linear'"):
        vt.KronRidge(vt.Profile(like="linear"), G).fit(X, Y)
    with pytest.raises(ValueError, match="kernel is Profile"):
        vt.KronRidge(vt.Profile(kernel=vt.Profile()), G).fit(X, Y)


def test_copies_share_the_mean_of_their_profiles():
    features = np.repeat(np.eye(10), 2, axis=0)
    graph = vt.Edges.grid(features, np.eye(Q))
    model = vt.KronRidge(vt.Profile(vt.Linear()), "linear").fit(graph, Y)
    own = profiles_of(graph.start, graph.end, Y, (M, Q))
    mean = np.repeat(own.reshape(10, 2, Q).mean(axis=1), 2, axis=0)
    assert_allclose(model.predictor_.start.kernel(features), mean @ mean.T, atol=1e-12)


def test_where_it_cannot_stand_it_says_so():
    with pytest.raises(ValueError, match=r"not stand inside vt\.Standardized"):
        vt.KronRidge(vt.Standardized(G + vt.Profile()), G).fit(X, Y)
    with pytest.raises(ValueError, match="AutoKron tries profiles automatically"):
        vt.AutoKron(start_kernel=G + vt.Profile(), random_state=0).fit(X, Y)
    words = vt.Edges.grid(["MKTA", "GGGA"], np.eye(2))
    with pytest.raises(ValueError, match="are strings"):
        vt.KronRidge(vt.Profile(like=vt.Linear()), "linear").fit(words, np.arange(4.0))
    with pytest.raises(ValueError, match=r"kernel is linear \+ profile"):
        vt.KronRidge(vt.Linear() + vt.Profile(), "linear").fit(X, Y).explain(X[0], by="features")
