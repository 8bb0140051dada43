"""A preconditioner that knows the largest directions of a kernel only, beside the functions of the kernel itself."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

import vectrick as vt
from vectrick.models import preconditioning
from vectrick.models.preconditioning import Preconditioning
from vectrick.objectives.degrees import Basis
from vectrick.objectives.extended import Extended
from vectrick.operators import kron

RNG = np.random.default_rng(5)
STARTS, ENDS = RNG.standard_normal((50, 6)), RNG.standard_normal((40, 5))
PLACES = RNG.permutation(50 * 40)[:1200]
X = vt.Edges(PLACES // 40, PLACES % 40, STARTS, ENDS)
Y = np.tanh(STARTS[X.start, 0] * ENDS[X.end, 1]) + 0.3 * RNG.standard_normal(1200)
K, G = vt.Gaussian(gamma=0.2), vt.Gaussian(gamma=0.2)
KS, GS = K(STARTS, STARTS), G(ENDS, ENDS)


def test_the_largest_directions_are_orthonormal_functions():
    degrees = np.bincount(X.start, minlength=50).astype(float)
    basis = Basis.largest(KS, degrees, 12)
    C = np.linalg.solve(KS, basis.features)
    assert_allclose(C.T @ KS @ C, np.eye(12), atol=1e-8)
    whole = Basis.of_matrix(KS, degrees)
    assert_allclose(basis.spectrum[-6:], whole.spectrum[-6:], rtol=1e-3)  # the largest ones are found
    everything = Basis.largest(KS, degrees, 50)
    assert_allclose(everything.features @ everything.features.T, KS, atol=1e-8)


def test_the_space_is_that_of_all_functions():
    """Inner products, predictions and the preconditioner, against the matrix of all functions."""
    edges = X.end, X.start
    S = Basis.largest(KS, np.bincount(X.start, minlength=50).astype(float), 7).features
    E = Basis.of_matrix(GS, np.bincount(X.end, minlength=40).astype(float)).features
    features = kron(E, S)[edges, :]
    space = Extended(kron(GS, KS)[edges, edges], features, features.T)
    A = KS[np.ix_(X.start, X.start)] * GS[np.ix_(X.end, X.end)]
    Z = np.einsum("ei,ej->eij", E[X.end], S[X.start]).reshape(1200, -1)
    gram = np.block([[A, Z], [Z.T, np.eye(Z.shape[1])]])
    c, d = RNG.standard_normal((2, space.size))
    u, v = space.element(c), space.element(d)
    assert_allclose(u.f, (gram @ c)[:1200], atol=1e-9)
    assert space.inner(u, v) == pytest.approx(c @ gram @ d)
    assert space.measured(c).square == pytest.approx(c @ gram @ c)

    class Inverse:
        outside = 0.25

        def times(self, t):
            return 0.1 * t

    found = space.measured(c, Inverse())
    expected = 0.25 * c
    expected[1200:] += (0.1 - 0.25) * (gram @ c)[1200:]
    assert_allclose(found.c, expected, atol=1e-9)
    assert_allclose(np.concatenate([found.f, found.u]), gram @ expected, atol=1e-7)
    assert found.along == pytest.approx(c @ gram @ expected)
    assert found.square == pytest.approx(c @ gram @ c)
    z = space.next_direction(found, 2.0, u)
    assert space.inner(z, z) == pytest.approx((expected + 2 * c) @ gram @ (expected + 2 * c))


@pytest.fixture
def shortened(monkeypatch):
    """Let fits take some directions only."""
    monkeypatch.setattr(Preconditioning, "best_ranks", lambda *args: (9, 11))


LOSSES = {
    "ridge": (vt.KronRidge, {}),
    "svm": (vt.KronSVM, {}),
    "logistic": (vt.KronLogistic, {}),
    "ranker": (vt.KronRanker, {"alpha": 300.0}),  # its curvature is the number of edges
    "intercept": (vt.KronRidge, {"fit_intercept": True}),
    "svm with intercept": (vt.KronSVM, {"fit_intercept": True}),
    "mixed": (vt.KronRidge, {"precision": "mixed"}),
    "torch": (vt.KronLogistic, {"backend": "torch"}),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("weight", [None, RNG.uniform(0.5, 2, 1200)], ids=["", "weights"])
@pytest.mark.usefixtures("shortened")
def test_solutions_are_those_without(name, weight):
    if name == "torch":
        pytest.importorskip("torch")
    weight = None if name == "ranker" else weight  # which has none
    kind, parameters = LOSSES[name]
    labels = np.where(Y > 0, 1, -1) if kind in (vt.KronSVM, vt.KronLogistic) else Y
    models = []
    for preconditioner in ("kronecker", "none"):
        how = {"alpha": 0.3, "tol": 1e-9, "preconditioner": preconditioner, "form": "dual", **parameters}
        models.append(kind(K, G, **how).fit(X, labels, weight))
    short, plain = models
    assert short.solution_.converged
    assert short.solution_.preconditioner == "kronecker"
    assert "the largest 9 start directions and 11 end directions" in short.solution_.preconditioner_reason
    grid = short.predict_grid(STARTS, ENDS)
    assert_allclose(grid, plain.predict_grid(STARTS, ENDS), atol=2e-6 * np.abs(grid).max())


@pytest.mark.usefixtures("shortened")
def test_starts_updates_and_several_labels():
    how = {"alpha": 0.3, "tol": 1e-9, "preconditioner": "kronecker", "form": "dual"}
    part = vt.KronRidge(K, G, **how).fit(X[:1000], Y[:1000]).update(X[1000:], Y[1000:])
    whole = vt.KronRidge(K, G, **how).fit(X, Y)
    assert_allclose(part.predict(X), whole.predict(X), atol=1e-6)
    several = vt.KronRidge(K, G, **how).fit(X, np.stack([Y, Y**2], -1))
    assert several.solution_.converged
    assert_allclose(several.predict(X)[:, 0], whole.predict(X), atol=1e-6)
    seen = []
    vt.KronRidge(K, G, **how).fit(X, Y, callback=lambda step: seen.append(step.risk))
    assert all(later <= sooner * (1 + 1e-12) for sooner, later in itertools.pairwise(seen))


def test_auto_takes_the_largest_directions_of_a_large_kernel():
    """A kernel without thin factors, many edges: less time by forecast, the same model."""
    rng = np.random.default_rng(0)
    tables = [rng.standard_normal((m, 25)) + 2 * rng.standard_normal((8, 25))[rng.integers(8, size=m)]
              for m in (1000, 60)]  # fmt: skip
    places = rng.permutation(60_000)[:45_000]
    edges = vt.Edges(places // 60, places % 60, *tables)
    y = rng.standard_normal(45_000)
    kernels = vt.Gaussian(gamma=0.02), vt.Gaussian(gamma=0.02)
    model = vt.KronRidge(*kernels, alpha=1.0, preconditioner="kronecker").fit(edges, y)
    assert "start directions" in model.solution_.preconditioner_reason
    assert model.solution_.converged
    plain = vt.KronRidge(*kernels, alpha=1.0, preconditioner="none").fit(edges, y)
    assert model.n_iter_ < 0.5 * plain.n_iter_
    assert_allclose(model.predict(edges), plain.predict(edges), atol=1e-3)


def test_a_forecast_says_which_directions():
    assert preconditioning.words_of((None, None)) == ""
    assert preconditioning.words_of((7, None)) == "; it has the largest 7 start directions"
