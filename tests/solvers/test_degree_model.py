"""The degree model: its bases, its inverse against a dense one, and conjugate gradients with it."""

import numpy as np
import pytest

from vectrick.backends import HOST
from vectrick.losses import Centered, Diagonal
from vectrick.models.iterations import CountedEigenvalues, pattern_iterations, plain_iterations
from vectrick.objectives.degree_model import DegreeModel, NoDegreeModelError, centred_side, curvature_of, degrees_of
from vectrick.objectives.degrees import Basis, filtered
from vectrick.objectives.space import Measured, Mirrored
from vectrick.solvers.linear.cg import solve_system
from vectrick.solvers.linear.preconditioned import Patience

M, Q = 7, 5


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def graph(rng, n=24):
    start, end = rng.integers(M, size=n), rng.integers(Q, size=n)
    start[:M], end[:Q] = np.arange(M), np.arange(Q)  # every vertex has an edge
    return start, end


def kernels(rng):
    return [X @ X.T + 0.1 * np.eye(len(X)) for X in (rng.standard_normal((M, 3)), rng.standard_normal((Q, 4)))]


def model_of(rng, start_kernel, end_kernel, edges, h, grouped="", symmetry=0):
    degrees = degrees_of(edges, h, (len(start_kernel), len(end_kernel)), symmetry)
    start = Basis.of_matrix(start_kernel, degrees[0], centred=grouped == "start")
    end = start if symmetry else Basis.of_matrix(end_kernel, degrees[1], centred=grouped == "end")
    how = {"dtype": np.dtype(np.float64), "backend": HOST, "n_threads": 1, "symmetry": symmetry}
    return DegreeModel(start, end, edges, grouped=bool(grouped), **how)


def dense_model(model, h, centred):
    """The matrix of the degree model by its definition: every pair is an edge, of weight deg deg / s."""
    Z = np.kron(model.end.features, model.start.features)
    start, end = model.degrees(h)
    weight = np.kron(end, start) / h.sum()
    B = Z.T @ (weight[:, None] * Z)
    if centred:
        mean = weight @ Z / weight.sum()
        B -= weight.sum() * np.outer(mean, mean)
    return B


@pytest.mark.parametrize("centred", [False, True])
def test_a_basis_has_the_kernel_and_diagonal_moments(rng, centred):
    K, degrees = kernels(rng)[0], rng.integers(1, 6, size=M) * 1.0
    features = np.linalg.cholesky(K)
    for basis in (Basis.of_matrix(K, degrees, centred), Basis.of_features(features, degrees, centred)):
        np.testing.assert_allclose(basis.features @ basis.features.T, K, atol=1e-12)
        moment = basis.features.T @ (degrees[:, None] * basis.features)
        if centred:
            mean = degrees @ basis.features / degrees.sum()
            moment -= degrees.sum() * np.outer(mean, mean)
        np.testing.assert_allclose(moment, np.diag(basis.spectrum), atol=1e-10)


def test_the_basis_of_more_features_than_vertices_has_a_column_for_each_vertex(rng):
    features, degrees = rng.standard_normal((M, 30)), np.ones(M)
    basis = Basis.of_features(features, degrees)
    assert basis.rank == M
    np.testing.assert_allclose(features @ basis.turn, basis.features, atol=1e-12)
    np.testing.assert_allclose(basis.turn.T @ basis.turn, np.eye(M), atol=1e-12)
    np.testing.assert_allclose(basis.features @ basis.features.T, features @ features.T, atol=1e-12)


def test_features_of_a_matrix_follow_from_kernel_values(rng):
    K = kernels(rng)[0]
    basis = Basis.of_matrix(K, np.ones(M))
    np.testing.assert_allclose(K @ basis.inverse, basis.features, atol=1e-11)


@pytest.mark.parametrize("many", [False, True])  # features: turned for other degrees, or only sized anew
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("as_made", [False, True])
def test_the_preconditioner_inverts_the_degree_model(rng, monkeypatch, many, centred, as_made):
    monkeypatch.setattr("vectrick.objectives.degree_model._WORTH_TURNING", 0 if many else 99)
    edges = graph(rng)
    h = rng.random(len(edges[0])) + 0.5
    model = model_of(rng, *kernels(rng), edges, h if as_made else np.ones(len(h)))
    curvature = Centered(h) if centred else Diagonal(h)
    B = dense_model(model, h, centred=False)
    if many and not as_made:
        B = np.diag(np.diag(B))
    if centred:
        mean = model.mean(h)
        B -= h.sum() * np.outer(mean, mean)
    inverse = np.linalg.inv(B + 0.3 * np.eye(len(B)))
    found = model.preconditioner(curvature, 0.3, as_made=as_made)
    c = rng.standard_normal(len(B))
    np.testing.assert_allclose(found.times(c), inverse @ c, atol=1e-9)
    np.testing.assert_allclose(found.lowered().times(c.astype(np.float32)), inverse @ c, atol=1e-4)


@pytest.mark.parametrize("side", ["start", "end"])
def test_groups_centre_the_other_side(rng, side):
    edges = graph(rng)
    h = np.ones(len(edges[0]))
    groups = edges[0] if side == "start" else edges[1]
    other = "end" if side == "start" else "start"
    assert centred_side(Centered(h, 10 - groups), edges) == other  # whatever the numbers of the groups
    model = model_of(rng, *kernels(rng), edges, h, grouped=other)
    found = model.preconditioner(Centered(h, groups), 0.2, as_made=True)
    moments = []
    for name, basis, degrees in zip(("start", "end"), (model.start, model.end), model.degrees(h), strict=True):
        moment = basis.features.T @ (degrees[:, None] * basis.features)
        mean = degrees @ basis.features / degrees.sum()
        moments.append(moment - (degrees.sum() * np.outer(mean, mean) if name == other else 0))
    B = np.kron(moments[1], moments[0]) / h.sum()
    c = rng.standard_normal(len(B))
    np.testing.assert_allclose(found.times(c), np.linalg.solve(B + 0.2 * np.eye(len(B)), c), atol=1e-9)


def test_other_groups_and_curvatures_have_no_degree_model(rng):
    edges = graph(rng)
    with pytest.raises(NoDegreeModelError, match="groups other than the edges of a start or an end vertex"):
        centred_side(Centered(np.ones(24), np.arange(24) % 3), edges)
    with pytest.raises(NoDegreeModelError, match="not one number for each edge"):
        curvature_of(object())


def test_without_curvature_only_alpha_is_left(rng):
    edges = graph(rng)
    model = model_of(rng, *kernels(rng), edges, np.ones(24))
    found = model.preconditioner(Diagonal(np.zeros(24), may_be_flat=True), 0.5)
    c = rng.standard_normal(model.space.size)
    np.testing.assert_allclose(found.times(c), c / 0.5)


def test_a_complete_graph_takes_one_iteration(rng):
    start, end = (vertices.ravel() for vertices in np.meshgrid(np.arange(M), np.arange(Q)))
    h = np.ones(M * Q)
    model = model_of(rng, *kernels(rng), (start, end), h)
    b = model.space.lift(rng.standard_normal(M * Q))
    found = model.preconditioner(Diagonal(h), 0.1, as_made=True)
    rest = Measured(b, float(b @ b), float(b @ b))
    result = solve_system(model.space, Diagonal(h), rest, [0.1], found, tol=1e-10, max_iter=10)
    assert result.n_iter == 1
    assert result.converged


@pytest.mark.parametrize("symmetry", [1, -1])
def test_mirrored_features_have_the_kernel(rng, symmetry):
    """``Z P Zᵀ`` is half of ``K ⊗ K`` plus or minus its mirror image."""
    K = kernels(rng)[0]
    start, end = rng.integers(M, size=20), rng.integers(M, size=20)
    start[:M] = np.arange(M)
    model = model_of(rng, K, K, (start, end), np.ones(20), symmetry=symmetry)
    assert isinstance(model.space, Mirrored)
    Z = np.stack([model.space.predict(row) for row in np.eye(model.space.size)], axis=1)
    A = 0.5 * (K[start][:, start] * K[end][:, end] + symmetry * K[start][:, end] * K[end][:, start])
    np.testing.assert_allclose(Z @ Z.T, A, atol=1e-10)
    g = rng.standard_normal(20)
    np.testing.assert_allclose(model.space.lift(g), Z.T @ g, atol=1e-10)
    mask = rng.random(20) < 0.5
    some = model.space._of(model.space.features.restrict(rows=mask), model.space.transposed.restrict(cols=mask))
    c = rng.standard_normal(model.space.size)
    np.testing.assert_allclose(some.predict(c), (Z @ c)[mask], atol=1e-10)
    np.testing.assert_allclose(model.space.predict_some(mask, c), (Z @ c)[mask], atol=1e-10)


@pytest.mark.parametrize("spectral_filter", ["ridge", "iterated", "cut-off"])
def test_filters(spectral_filter):
    s = np.array([0.0, 1e-12, 0.3, 1.0, 1e6])
    kept = s * filtered(s, 0.5, spectral_filter, 3)
    expected = {
        "ridge": s / (s + 0.5),
        "iterated": 1 - (0.5 / (s + 0.5)) ** 3,
        "cut-off": np.array([0, 0, 0, 1, 1]),
    }[spectral_filter]
    np.testing.assert_allclose(kept, expected, atol=1e-15)
    assert np.isfinite(filtered(s, 0.5, spectral_filter, 3)).all()


def test_forecasts_of_iterations():
    """On a diagonal matrix the forecast is what conjugate gradients takes."""
    s = CountedEigenvalues(np.linspace(1e4, 1, 5000), np.ones(5000))
    assert plain_iterations(s, 1e3, 1e-6, 1000) < plain_iterations(s, 1.0, 1e-6, 1000) < 1000
    few = pattern_iterations(s, 500_000, 1.0, 1e-6)
    many = pattern_iterations(s, 8_000, 1.0, 1e-6)
    assert 1 < few < many
    twice, counted = (
        CountedEigenvalues(np.repeat(s.values, 2), np.ones(10_000)),
        CountedEigenvalues(s.values, np.full(5000, 2.0)),
    )
    for iterations in (plain_iterations, lambda *what: pattern_iterations(what[0], 8_000, *what[1:3])):
        both = [iterations(spectrum, 1.0, 1e-6, 1000) for spectrum in (twice, counted)]
        assert abs(both[0] - both[1]) <= 1  # sums of the same numbers in another order
    assert pattern_iterations(s, 8_000, 1e9, 1e-6) == 1


@pytest.mark.parametrize("power", [0.7, 1.5, 3.0])
def test_spectra_of_samples_have_the_sum_and_the_number_of_all(power):
    whole = np.arange(1, 2001.0) ** -power
    sampled = whole[:160].copy()
    sampled[53:] *= whole[53:].sum() / sampled[53:].sum()  # what a sample makes of the small ones
    found = CountedEigenvalues.of_sample(sampled, 2000)
    assert found.counts.sum() == pytest.approx(2000)
    assert found.values @ found.counts == pytest.approx(whole.sum(), rel=0.02)
    for threshold in (whole[20], whole[100], whole[700]):
        assert found.n_larger(threshold) == pytest.approx(np.count_nonzero(whole > threshold), rel=0.15, abs=1)
    assert (CountedEigenvalues.of_sample(sampled, 50).values == sampled[:50]).all()
    assert found.beyond(1000) == pytest.approx(whole[1000:].sum(), rel=0.3)
    assert (found.beyond(0), found.beyond(2000)) == pytest.approx((found.values @ found.counts, 0.0))


def test_patience_ends_where_progress_is_slower_than_allowed():
    patience = Patience(100, 1e-6)
    assert not patience.is_over(4, 0.9)  # too early to say
    assert not patience.is_over(20, 1e-3)  # half of the way in a fifth of the iterations
    assert patience.is_over(20, 0.9)
    assert not patience.is_over(80, 1e-4)  # 120 in all, but only 40 of them are still to come
