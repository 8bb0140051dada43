"""Graphs large enough for thin factors, the choice of form, and predictions in blocks."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

import vectrick as vt
from vectrick.backends import NumpyBackend
from vectrick.models import product

G = vt.Gaussian(gamma=1.0)


@pytest.fixture(scope="module")
def board():
    return vt.datasets.make_checkerboard(1200, 900, density=0.1, random_state=0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_thin_factors_are_used_and_told(board):
    X, y = board
    thin = vt.KronRidge(G, G, alpha=1e-2, max_iter=20).fit(X, y)
    assert "pivoted Cholesky of rank" in thin.form_reason_
    assert "1e-12" in thin.form_reason_
    whole = vt.KronRidge(G, G, alpha=1e-2, max_iter=20, factor_tol=0.0, form="dual").fit(X, y)
    assert "Cholesky" not in whole.form_reason_
    assert_allclose(thin.predict(X), whole.predict(X), atol=1e-5)
    test, _ = vt.datasets.make_checkerboard(300, random_state=1)
    assert_allclose(thin.predict(test), whole.predict(test), atol=1e-4)


def test_linear_kernels_of_few_features_are_primal():
    rng = np.random.default_rng(0)
    X = vt.Edges(*rng.integers(0, 300, (2, 20_000)), rng.standard_normal((300, 5)), rng.standard_normal((300, 6)))
    model = vt.KronLogistic().fit(X, rng.random(20_000) < 0.5)
    assert model.form_ == "primal"
    assert model.coef_.shape == (5, 6)


def test_linear_kernels_of_many_features_are_dual():
    rng = np.random.default_rng(0)
    X = vt.Edges(*rng.integers(0, 50, (2, 600)), rng.standard_normal((50, 400)), rng.standard_normal((50, 400)))
    assert vt.KronRidge(solver="cg", alpha=1e3).fit(X, rng.standard_normal(600)).form_ == "dual"


@pytest.mark.parametrize("form", ["dual", "primal"])
def test_grids_in_blocks(form, monkeypatch):
    X, y = vt.datasets.make_checkerboard(60, 50, random_state=0)
    model = vt.KronRidge(G, G, form=form).fit(X, y)
    starts, ends = np.random.default_rng(1).uniform(0, 100, (70, 1)), np.random.default_rng(2).uniform(0, 100, (90, 1))
    ends[40:60] = ends[:20]  # ties
    whole, top = model.predict_grid(starts, ends), model.top_k(starts, ends, 7)
    assert_array_equal(top[0], np.argsort(-whole, axis=1, kind="stable")[:, :7])
    monkeypatch.setattr(NumpyBackend, "grid_bytes", 8 * 60 * 11)
    assert_allclose(model.predict_grid(starts, ends), whole, rtol=1e-9, atol=1e-12)
    which, scores = model.top_k(starts, ends, 7)
    assert_allclose(scores, top[1], rtol=1e-9)
    assert_allclose(np.take_along_axis(whole, which, 1), top[1], rtol=1e-9)


def test_grid_that_does_not_fit(monkeypatch):
    X, y = vt.datasets.make_checkerboard(20, random_state=0)
    model = vt.KronRidge().fit(X, y)
    monkeypatch.setattr(NumpyBackend, "free_memory", lambda self: 1000)
    with pytest.raises(MemoryError, match="the grid of 50 × 60 predictions takes 24 KB"):
        model.predict_grid(np.ones((50, 1)), np.ones((60, 1)))


def test_small_and_large_predictions_agree(monkeypatch):
    X, y = vt.datasets.make_checkerboard(60, 50, random_state=0)
    for form in ("dual", "primal"):
        model = vt.KronRidge(G, G, form=form).fit(X, y)
        small = model.predict(X)
        monkeypatch.setattr(product, "_SMALL_GRID", 0)
        assert_allclose(model.predict(X), small, atol=1e-12)
        monkeypatch.undo()


def test_more_edges_than_memory(monkeypatch):
    X, y = vt.datasets.make_checkerboard(60, random_state=0)
    monkeypatch.setattr(sys.modules["vectrick.operators.kron"], "memory_limit", lambda *_: 5000)
    with pytest.raises(MemoryError, match=r"needs .* largest array"):
        vt.KronRidge(G, G).fit(X, y)


@pytest.mark.parametrize("kind", [vt.KronRidge, vt.KronSVM])
def test_threads_give_the_same_bits(board, kind):
    X, y = board
    found = []
    for n_threads in (1, 2, 3):
        with pytest.warns(ConvergenceWarning):
            model = kind(G, G, alpha=1e-2, max_iter=3, inner_iter=5, form="dual", n_threads=n_threads).fit(X, y)
        found.append((model.plan_.path, model.dual_coef_))
    for path, coefficients in found[1:]:
        if path == found[0][0]:
            assert_array_equal(coefficients, found[0][1])
