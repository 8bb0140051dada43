"""Kernel matrices live as long as what uses them, and no longer: no cycle waits for the garbage collector."""

import gc
import time
import weakref

import numpy as np
import pytest

import vectrick as vt

RNG = np.random.default_rng(0)
D, T = RNG.standard_normal((40, 5)), RNG.standard_normal((30, 5))
GRID = vt.Edges.grid(D, T)
KEPT = RNG.random(1200) < 0.3
X, Y = GRID[KEPT], RNG.standard_normal(int(KEPT.sum()))
G = vt.Gaussian(0.1)


@pytest.fixture
def matrices(monkeypatch):
    """Weak references to all kernel matrices that are made, without a garbage collector."""
    made = []
    plain = vt.Gaussian._matrix

    def watched(self, X, Y):
        K = plain(self, X, Y)
        made.append(weakref.ref(K))
        return K

    monkeypatch.setattr(vt.Gaussian, "_matrix", watched)
    gc.collect()
    gc.disable()
    yield made
    gc.enable()


def fit(kind, **parameters):
    model = kind(G, G, max_iter=5, tol=0.5, **parameters).fit(X, np.sign(Y))
    model.predict(X)
    model.predict_grid(D, T)


WORK = {
    "ridge": lambda: fit(vt.KronRidge, form="dual"),
    "svm": lambda: fit(vt.KronSVM, form="dual"),
    "hinge": lambda: fit(vt.KronSVM, form="dual", loss="hinge"),
    "logistic": lambda: fit(vt.KronLogistic, form="dual"),
    "ranker": lambda: fit(vt.KronRanker, form="dual"),
    "primal": lambda: fit(vt.KronRidge, form="primal"),
    "stopped": lambda: fit(vt.KronSVM, form="dual", early_stopping=True),
    "pairwise": lambda: fit(vt.KronRidge, pairwise=["kronecker", "cartesian", "linear"]),
    "closed form": lambda: vt.KronRidge(G, G).fit(GRID, np.arange(1200.0)),
    "path": lambda: vt.alpha_path(vt.KronRidge(G, G, max_iter=5), X, Y, [1.0, 10.0]),
}


def left(matrices):
    """Return the matrices that are still there; a thread of the pool may hold its last task for a moment longer."""
    limit = time.monotonic() + 5
    while (found := [one for one in matrices if one() is not None]) and time.monotonic() < limit:
        time.sleep(0.01)
    return found


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", WORK)
def test_fits_leave_no_kernel_matrix_behind(name, matrices):
    WORK[name]()
    assert matrices
    assert not left(matrices)


@pytest.mark.parametrize("path", ["auto", "sparse", "dense", "sparse-dense", "dense-sparse"])
def test_operators_leave_no_factor_behind(path, matrices):
    op = vt.kron(G(T), G(D), path=path)[(X.end, X.start), (X.end, X.start)]
    expected = op @ Y
    np.testing.assert_allclose(op.T @ Y, expected)
    op.restrict(rows=Y > 0, cols=Y > 0) @ Y[Y > 0]
    assert len([one for one in matrices if one() is not None]) == 2
    del op
    assert not left(matrices)
