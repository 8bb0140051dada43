"""Estimators with pairwise kernels: against explicit kernel matrices, one vertex set, files, and bad input."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import vectrick as vt
from tests.kernels.formulas import ONE_SET, SIGNS, SUMS, TWO_SETS, edge_kernel, edges_of_one_set, gaussian
from vectrick.kernels.pairwise import PAIRWISE
from vectrick.persistence import container
from vectrick.training.holding_out import hold_out_some

M, Q = 14, 11


def graph(name, seed=0, n=80):
    """Return features of both ends, edges, and values; one vertex set has no loops and no edge in both directions."""
    rng = np.random.default_rng(seed)
    S, E = rng.standard_normal((M, 4)), rng.standard_normal((Q, 3))
    if name in ONE_SET:
        start, end = edges_of_one_set(rng, M, n, loops=False)
        X = vt.Edges(start, end, S)
    else:
        start, end = rng.integers(0, M, n), rng.integers(0, Q, n)
        X = vt.Edges(start, end, S, E)
    return S, E, X, rng.standard_normal(len(start))


def model_of(name, kind=vt.KronRidge, **more):
    """Return an estimator with Gaussian vertex kernels."""
    pairwise = vt.pairwise.Gaussian(0.3) if name == "gaussian" else name
    kernel = "linear" if name == "gaussian" else vt.Gaussian(0.3)
    return kind(kernel, kernel, pairwise=pairwise, **{"alpha": 0.1, "tol": 1e-11, "fit_intercept": False, **more})


def all_pairs(name, S, E):
    """Return every pair as edges, and their two index vectors."""
    q = M if name in ONE_SET else Q
    start, end = (part.ravel() for part in np.indices((M, q)))
    return (vt.Edges(start, end, S) if name in ONE_SET else vt.Edges(start, end, S, E)), (start, end)


def matrix_of(name, S, E, rows, cols):
    return edge_kernel(name, gaussian(S), gaussian(E), rows, cols)


@pytest.mark.parametrize("name", SUMS)
def test_ridge_equals_kernel_ridge_on_the_explicit_matrix(name):
    S, E, X, y = graph(name)
    model = model_of(name).fit(X, y)
    edges = X.start, X.end
    theirs = KernelRidge(alpha=0.1, kernel="precomputed").fit(matrix_of(name, S, E, edges, edges), y)
    pairs, both = all_pairs(name, S, E)
    expected = theirs.predict(matrix_of(name, S, E, both, edges))
    assert_allclose(model.predict(pairs), expected, atol=1e-9)
    assert_allclose(model.predict_grid(S, S if name in ONE_SET else E).ravel(), expected, atol=1e-9)


@pytest.mark.parametrize("name", ["poly2d", "symmetric", "mlpk"])
def test_svm_equals_libsvm_on_the_explicit_matrix(name):
    S, E, X, values = graph(name)
    y = np.where(values > 0, 1, -1)
    model = model_of(name, vt.KronSVM, loss="hinge", alpha=0.5, tol=1e-10, fit_intercept=True).fit(X, y)
    edges = X.start, X.end
    A = matrix_of(name, S, E, edges, edges)
    theirs = SVC(C=2.0, kernel="precomputed", tol=1e-10).fit(A, y)
    assert_allclose(model.decision_function(X), theirs.decision_function(A), atol=1e-4)


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("kind", [vt.KronSVM, vt.KronLogistic, vt.KronRanker])
def test_every_loss_takes_every_kernel(name, kind):
    S, E, X, values = graph(name)
    y = values if kind is vt.KronRanker else np.where(values > 0, 1, -1)
    model = model_of(name, kind, tol=1e-6).fit(X, y)
    assert model.solution_.converged
    found, expected = (model.predict if kind is vt.KronRanker else model.decision_function)(X), model.dual_coef_
    A = matrix_of(name, S, E, (X.start, X.end), (X.start, X.end))
    assert_allclose(found, A @ expected, atol=1e-6 * max(1, np.abs(found).max()))


@pytest.mark.parametrize("name", ONE_SET)
def test_predictions_have_the_symmetry_to_the_last_bit(name):
    rng = np.random.default_rng(1)
    S = rng.standard_normal((300, 4))
    start, end = edges_of_one_set(rng, 300, 3000, loops=False)
    X = vt.Edges(start, end, S)
    model = model_of(name, tol=1e-6).fit(X, rng.standard_normal(len(start)))
    new = rng.standard_normal((170, 4))
    for features in (S, new):
        for grid in (model.predict_grid(features), model.predict_grid(features, features.copy())):
            assert_array_equal(grid, SIGNS[name] * grid.T)
    n_pairs = 40_000
    edges = rng.integers(0, 170, n_pairs), rng.integers(0, 170, n_pairs)
    here, there = (model.predict(vt.Edges(*pair, new)) for pair in (edges, edges[::-1]))
    assert_array_equal(here, SIGNS[name] * there)
    if SIGNS[name] < 0:
        assert (model.predict(vt.Edges(np.arange(5), np.arange(5), S)) == 0).all()


@pytest.mark.parametrize("name", SUMS)
def test_new_vertices_in_tables_of_their_own(name):
    S, E, X, y = graph(name)
    model = model_of(name).fit(X, y)
    rng = np.random.default_rng(5)
    new_start, new_end = rng.standard_normal((6, 4)), rng.standard_normal((5, 4 if name in ONE_SET else 3))
    pairs = vt.Edges.grid(new_start, new_end)
    all_start, all_end = np.vstack([S, new_start, new_end if name in ONE_SET else new_start]), np.vstack([E, E])
    if name in ONE_SET:
        rows = pairs.start + M, pairs.end + M + 6
        kernels = gaussian(all_start), None
    else:
        all_end = np.vstack([E, new_end])
        rows = pairs.start + M, pairs.end + Q
        kernels = gaussian(all_start), gaussian(all_end)
    A = edge_kernel(name, *kernels, rows, (X.start, X.end))
    expected = A @ model.dual_coef_
    assert_allclose(model.predict(pairs), expected, atol=1e-9)
    assert_allclose(model.predict_grid(new_start, new_end).ravel(), expected, atol=1e-9)
    which, scores = model.top_k(new_start, new_end, 2)
    grid = model.predict_grid(new_start, new_end)
    assert_allclose(np.take_along_axis(grid, which, 1), scores)
    assert_allclose(scores[:, 0], grid.max(axis=1))


def test_a_cartesian_model_knows_its_vertices_by_features_and_ids():
    S, E, X, y = graph("cartesian")
    model = model_of("cartesian").fit(X, y)
    assert_allclose(model.predict(vt.Edges(X.start, X.end, S.copy(), E.copy())), model.predict(X))
    assert not model.predict(vt.Edges.grid(S + 1, E + 1)).any()  # it has nothing to say about two new vertices
    named = vt.Edges(X.start, X.end, S, E, start_ids=list("abcdefghijklmn"), end_ids=list("ABCDEFGHIJK"))
    model = model_of("cartesian").fit(named, y)
    others = vt.Edges(X.start, X.end, S, E, start_ids=list("opqrstuvwxyzÄÖ"), end_ids=list("LMNOPQRSTUV"))
    assert model.predict(named).any()
    assert not model.predict(others).any()


def test_vertices_with_equal_features_are_told_apart_by_their_places():
    rng = np.random.default_rng(0)
    S, E = np.repeat(rng.standard_normal((7, 3)), 2, axis=0), rng.standard_normal((Q, 3))
    X = vt.Edges(rng.integers(0, 14, 90), rng.integers(0, Q, 90), S, E)
    model = model_of("cartesian").fit(X, rng.standard_normal(90))
    expected = model.predict(X)
    assert_allclose(model.predict_grid(S, E)[X.start, X.end], expected, atol=1e-10)
    assert_allclose(pickle.loads(pickle.dumps(model)).predict(X), expected, atol=1e-10)
    some = vt.Edges(X.start, X.end, np.vstack([S, S[:1] + 1]), E)  # a table with one more
    with pytest.warns(vt.KernelWarning, match="their order in the table decides"):
        assert_allclose(model.predict(some), expected, atol=1e-10)
    sparse = model_of("cartesian").fit(vt.Edges(X.start, X.end, csr_array(S), csr_array(E)), expected)
    other = vt.Edges(X.start, X.end, csr_array(np.vstack([S, S[:1] + 1])), csr_array(E))
    same = sparse.predict(vt.Edges(X.start, X.end, csr_array(S), csr_array(E)))
    with pytest.warns(vt.KernelWarning, match="their order in the table decides"):
        assert_allclose(sparse.predict(other), same)


def test_positions_are_no_names():
    S, E, X, y = graph("cartesian")
    starts, ends = pd.DataFrame(S), pd.DataFrame(E)
    model = model_of("cartesian").fit(vt.Edges(X.start, X.end, starts, ends), y)
    later = starts.iloc[5:].reset_index(drop=True)
    kept = X.start >= 5
    found = model.predict(vt.Edges(X.start[kept] - 5, X.end[kept], later, ends))
    assert_allclose(found, model.predict(vt.Edges(X.start, X.end, starts, ends))[kept], atol=1e-10)


@pytest.mark.parametrize("name", SUMS)
def test_float32_is_float32_throughout(name):
    _, _, X, y = graph(name)
    model = model_of(name, dtype="float32", tol=1e-3).fit(X, y)
    assert model.dual_coef_.dtype == np.float32
    assert "float32" in model.plan_.title


@pytest.mark.parametrize(
    "changes",
    [
        {"components": [[{"name": "symmetric"}, 0, 0]]},
        {"components": [[{"name": "two_step", "start_alpha": None, "end_alpha": None}, 0, 0]]},
        {"components": [[{"name": "linear"}, 0, 5]]},
        {"weights": [1e308]},
        {"weights": [-1.0]},
        None,
    ],
)
def test_hostile_files_are_refused(changes, tmp_path):
    _, _, X, y = graph("linear")
    model_of("linear").fit(X, y).save(tmp_path / "model.vt")
    header, tensors = container.read_container(tmp_path / "model.vt", "model")
    for name in ("sha256", "kind", "format", "version"):
        header.pop(name, None)
    if changes is None:
        del header["edge_kernel"]
    else:
        header["edge_kernel"] |= changes
    container.write_container(tmp_path / "bad.vt", "model", header, tensors)
    with pytest.raises(vt.ModelFileError):
        vt.load(tmp_path / "bad.vt")


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("early_stopping", [False, True])
def test_a_model_goes_through_a_file_and_a_pickle(name, early_stopping, tmp_path):
    S, E, X, y = graph(name)
    model = model_of(name, early_stopping=early_stopping, random_state=0).fit(X, y)
    model.save(tmp_path / "model.vt")
    new, _ = all_pairs(name, S + 0.1, E + 0.1)
    for same in (vt.load(tmp_path / "model.vt"), pickle.loads(pickle.dumps(model))):
        assert_array_equal(same.predict(X), model.predict(X))
        assert_array_equal(same.predict(new), model.predict(new))
        assert repr(same.get_params()) == repr(model.get_params())
        assert getattr(same, "components_", None) == getattr(model, "components_", None)


def test_a_weighted_list_is_the_weighted_sum(tmp_path):
    S, E, X, y = graph("kronecker")
    edges = X.start, X.end
    parts = {"kronecker": 0.7, "linear": 0.3, "poly2d": 0.05}
    A = sum(weight * matrix_of(name, S, E, edges, edges) for name, weight in parts.items())
    theirs = KernelRidge(alpha=0.1, kernel="precomputed").fit(A, y)
    model = vt.KronRidge(
        vt.Gaussian(0.3), vt.Gaussian(0.3), pairwise=list(parts.items()), alpha=0.1, tol=1e-11, fit_intercept=False
    )
    assert_allclose(model.fit(X, y).predict(X), theirs.predict(A), atol=1e-9)
    assert_array_equal(model.kernel_weights_, [0.7, 0.3, 0.05])
    assert [word.partition(":")[0] for word in model.components_] == list(parts)
    model.save(tmp_path / "model.vt")
    assert vt.load(tmp_path / "model.vt").get_params()["pairwise"] == list(parts.items())


def test_one_kernel_of_weight_one_is_the_plain_model():
    _, _, X, y = graph("kronecker")
    plain = vt.KronRidge("gaussian", "gaussian").fit(X, y)
    for pairwise in (vt.pairwise.Kronecker(), ["kronecker"], [("kronecker", 1.0)]):
        same = vt.KronRidge("gaussian", "gaussian", pairwise=pairwise).fit(X, y)
        assert_array_equal(same.predict(X), plain.predict(X))


class Both(vt.pairwise.PairwiseKernel):
    """The kernel of one's own that docs/guide/pairwise.md shows, with vertices that are told apart besides."""

    name, formula = "both", "k g + k + [d = d'] g + 1/2"

    def terms(self, start, end):
        return [
            vt.Term(1.0, start.kernel, end.kernel),
            vt.Term(1.0, start.kernel, vt.ONES),
            vt.Term(1.0, start.same, end.kernel),
            vt.Term(0.5, vt.ONES, vt.ONES),
        ]


def test_a_kernel_of_ones_own(tmp_path):
    S, E, X, y = graph("kronecker")
    d, t = X.start, X.end
    K, G = gaussian(S), gaussian(E)
    k, g = K[np.ix_(d, d)], G[np.ix_(t, t)]
    A = k * g + k + np.equal.outer(d, d) * g + 0.5
    theirs = KernelRidge(alpha=0.1, kernel="precomputed").fit(A, y)
    model = vt.KronRidge(
        vt.Gaussian(0.3), vt.Gaussian(0.3), pairwise=Both(), alpha=0.1, tol=1e-11, fit_intercept=False
    ).fit(X, y)
    assert_allclose(model.predict(X), theirs.predict(A), atol=1e-9)
    assert_allclose(model.predict_grid(S, E)[d, t], theirs.predict(A), atol=1e-9)
    with pytest.raises(ValueError, match=r"pairwise is Both.*but a model file holds only"):
        model.save(tmp_path / "model.vt")
    assert not (tmp_path / "model.vt").exists()


def test_the_gaussian_kernel_is_that_of_the_features_side_by_side():
    S, E, X, y = graph("gaussian")
    rows = np.hstack([S[X.start], E[X.end]])
    theirs = KernelRidge(alpha=0.1, kernel="rbf", gamma=0.2).fit(rows, y)
    model = vt.KronRidge(pairwise=vt.pairwise.Gaussian(0.2), alpha=0.1, tol=1e-11, fit_intercept=False).fit(X, y)
    assert_allclose(model.predict(X), theirs.predict(rows), atol=1e-9)
    scaled = vt.KronRidge(
        vt.Standardized(vt.Linear()), vt.Standardized(vt.Linear()), pairwise="gaussian", fit_intercept=False
    ).fit(X, y)
    assert "Gaussian" in repr(scaled.predictor_.start.kernel)
    with pytest.raises(ValueError, match="start_kernel is Tanimoto"):
        vt.KronRidge("tanimoto", pairwise="gaussian", fit_intercept=False).fit(X, y)


def test_two_step_regression_is_ridge_regression_with_its_kernel():
    rng = np.random.default_rng(0)
    S, E = rng.standard_normal((7, 3)), rng.standard_normal((6, 3))
    X, y = vt.Edges.grid(S, E), rng.standard_normal(42)
    K, G, eye = gaussian(S), gaussian(E), np.eye(42)
    for given, (first, second) in ((vt.pairwise.TwoStep(), (0.5, 0.5)), (vt.pairwise.TwoStep(0.2, 3.0), (0.2, 3.0))):
        below = first * second * eye + second * np.kron(K, np.eye(6)) + first * np.kron(np.eye(7), G)
        A = np.kron(K, G) @ np.linalg.inv(below)
        expected = KernelRidge(alpha=1.0, kernel="precomputed").fit(A, y).predict(A)
        model = vt.KronRidge(vt.Gaussian(0.3), vt.Gaussian(0.3), pairwise=given, alpha=0.5).fit(X, y)
        assert_allclose(model.predict(X), expected, atol=1e-10)
    by_steps = np.linalg.solve(K + 0.2 * np.eye(7), y.reshape(7, 6)) @ np.linalg.inv(G + 3 * np.eye(6))
    assert_allclose(model.predict(X), (K @ by_steps @ G).ravel(), atol=1e-10)


def test_two_step_regression_needs_a_complete_graph_and_ridge():
    _, _, X, y = graph("kronecker")
    with pytest.raises(ValueError, match=r"two_step.*complete graphs"):
        vt.KronRidge(pairwise="two_step").fit(X, y)
    with pytest.raises(ValueError, match="is for ridge regression, but this is KronSVM"):
        vt.KronSVM(pairwise="two_step").fit(X, y > 0)
    with pytest.raises(ValueError, match=r"two_step.*no intercept"):
        vt.KronRidge(pairwise="two_step", fit_intercept=True).fit(X, y)
    with pytest.raises(ValueError, match="start_alpha of pairwise is -1"):
        vt.KronRidge(pairwise=vt.pairwise.TwoStep(-1)).fit(X, y)
    for given in ({"pairwise": ["two_step", "kronecker"]}, {"pairwise": "two_step", "kernel_weights": [2.0]}):
        with pytest.raises(ValueError, match="cannot be one of several, and has no weights"):
            vt.KronRidge(**given).fit(X, y)
    grid = vt.Edges.grid(np.eye(4), np.eye(3))
    with pytest.raises(ValueError, match=r"two_step.*no early stopping"):
        vt.KronRidge(pairwise="two_step").fit(grid, np.arange(12.0), validation=(grid, np.arange(12.0)))


def test_one_vertex_set_has_one_kernel():
    S, _, X, y = graph("symmetric")
    model = vt.KronRidge(vt.Gaussian(0.3), pairwise="symmetric", alpha=0.1).fit(X, y)  # for both ends
    same = vt.KronRidge(vt.Gaussian(0.3), vt.Gaussian(0.3), pairwise="symmetric", alpha=0.1).fit(X, y)
    assert_array_equal(model.predict(X), same.predict(X))
    with pytest.raises(ValueError, match=r"end_kernel is Gaussian.*has one kernel for both ends"):
        vt.KronRidge(vt.Gaussian(0.3), vt.Gaussian(0.4), pairwise="symmetric").fit(X, y)
    with pytest.raises(ValueError, match="pairwise='mlpk' needs one vertex set for both ends"):
        vt.KronRidge(pairwise="mlpk").fit(vt.Edges(X.start, X.end, S, S), y)
    two = vt.KronRidge().fit(graph("kronecker")[2], graph("kronecker")[3])
    with pytest.raises(ValueError, match="end_features is None, but the model was trained with two"):
        two.predict_grid(S)


def test_a_precomputed_kernel_of_one_vertex_set():
    S, _, X, y = graph("symmetric")
    K = gaussian(S)
    given = (
        model_of("symmetric", tol=1e-6)
        .set_params(start_kernel="precomputed", end_kernel="linear")
        .fit(vt.Edges(X.start, X.end, K), y)
    )
    own = model_of("symmetric", tol=1e-6).fit(X, y)
    assert_allclose(given.predict(vt.Edges(X.start, X.end, K)), own.predict(X), atol=1e-6)


def test_antisymmetric_models_refuse_what_contradicts_them():
    S, _, X, y = graph("antisymmetric")
    loop = vt.Edges([0, 3, 2], [1, 3, 2], S)
    with pytest.raises(ValueError, match=r"edge 1 joins vertex 3 to itself \(2 edges do\)"):
        vt.KronRidge(pairwise="antisymmetric").fit(loop, [1.0, 2.0, 3.0])
    both = vt.Edges([0, 1, 4], [1, 0, 2], S)
    message = r"the edge from vertex 0 to vertex 1 has the label 1 and its reverse 1 \(1 edges are like that\)"
    with pytest.raises(ValueError, match=message):
        vt.KronSVM(pairwise="ranking").fit(both, [1, 1, -1])
    vt.KronSVM(pairwise="ranking").fit(both, [1, -1, -1])
    vt.KronRidge(pairwise="ranking").fit(both, [3.0, -2.0, -1.0])  # by another margin
    vt.KronRanker(pairwise="antisymmetric").fit(both, [1.0, 1.0, 2.0])  # of which only the order means something
    vt.KronRidge(pairwise="antisymmetric").fit(both, [1.0, 1.0, 2.0], [1.0, 0.0, 1.0])  # no weight is no edge
    vt.KronRidge(pairwise="antisymmetric").fit(loop, [1.0, 2.0, 3.0], [1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="fit_intercept is True, but pairwise='ranking'"):
        vt.KronRidge(pairwise="ranking", fit_intercept=True).fit(X, y)


@pytest.mark.parametrize("name", SUMS)
def test_the_operator_of_held_out_edges_predicts(name):
    _, _, X, y = graph(name, n=160)
    model = model_of(name, early_stopping=True, max_iter=30, tol=1e-6, random_state=0).fit(X, y)
    _, test = hold_out_some(model, X, y, None)
    held = X[test]
    operator, a = model.predictor_.operator(held), model.predictor_.coefficients
    assert_allclose(operator @ a, model.predict(held), atol=1e-10)
    assert_allclose(model.predictor_.predict_all(held, np.stack([a, 2 * a]))[1], 2 * model.predict(held), atol=1e-10)
    assert max(model.history_["score"]) == pytest.approx(model.score(held, y[test]), abs=1e-9)


def test_matches_between_players():
    """Results that follow from a strength of each player are learned, and hold for new players."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((80, 3))
    strength = features @ [2.0, -1.0, 0.5]
    start, end = edges_of_one_set(rng, 60, 600, loops=False)
    won = strength[start] > strength[end]
    model = vt.KronSVM(pairwise="ranking", alpha=0.01).fit(vt.Edges(start, end, features), won)
    new = np.arange(60, 80)
    grid = model.predict_grid(features[new])
    assert_array_equal(grid, -grid.T)
    assert np.mean((grid > 0) == (strength[new][:, None] > strength[new])) > 0.95


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pairwise": "kroneker"}, "pairwise is 'kroneker', but it must be one of 'kronecker', 'linear', 'poly2d'"),
        ({"pairwise": ["linear", "nothing"]}, r"pairwise\[1\] is 'nothing'"),
        ({"pairwise": []}, "pairwise is an empty list"),
        ({"pairwise": [("linear", 1.0), "kronecker"]}, "either each of its kernels has a weight, or none"),
        ({"pairwise": [("linear", -1.0)]}, r"pairwise weights\[0\] is -1"),
        ({"pairwise": [("linear", 0.0), ("kronecker", 0.0)]}, "pairwise weights are all zero"),
        ({"pairwise": [("linear", 1.0, 2.0)]}, r"pairwise\[0\] is .* but it must be a kernel and its weight"),
        ({"kernel_weights": [1.0, 2.0]}, r"kernel_weights has shape \(2,\), but there are 1 kernels"),
        ({"kernel_weights": [-1.0]}, r"kernel_weights\[0\] is -1"),
        ({"kernel_weights": [0.0]}, "kernel_weights are all zero"),
        ({"kernel_weights": [np.nan]}, r"kernel_weights\[0\] is nan"),
        ({"kernel_weights": "align"}, "kernel_weights is 'align', but it must be None, 'alignment'"),
        ({"kernel_weights": ["a"]}, "but it must hold numbers"),
        ({"start_kernel": []}, "start_kernel is an empty list"),
        ({"start_kernel": ["linear", "nothing"]}, r"start_kernel\[1\] is 'nothing'"),
        ({"pairwise": "linear", "form": "primal"}, "form is 'primal', but pairwise is linear"),
        ({"pairwise": [("linear", 1.0)], "kernel_weights": "alignment"}, "pairwise has weights already"),
    ],
)
def test_bad_kernels_are_refused(given, message):
    _, _, X, y = graph("kronecker")
    model = vt.KronRidge(**given)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "dual_coef_")


def test_grid_search_over_pairwise_kernels():
    _, _, X, y = graph("kronecker")
    grid = {"pairwise": ["kronecker", "linear", vt.pairwise.Poly2D()], "alpha": [0.1, 1.0]}
    search = GridSearchCV(vt.KronRidge("gaussian", "gaussian"), grid, cv=vt.VertexKFold(2, new="neither"))
    assert len(search.fit(X, y).cv_results_["params"]) == 6
    inner = GridSearchCV(vt.KronRidge(pairwise=vt.pairwise.Gaussian()), {"pairwise__gamma": [0.1, 1.0]},
                         cv=vt.VertexKFold(2, new="neither"))  # fmt: skip
    assert inner.fit(X, y).best_params_["pairwise__gamma"] in (0.1, 1.0)


def test_nested_search_and_paths_take_pairwise_kernels():
    S, _, X, y = graph("symmetric", n=200)
    ridge = vt.KronRidge(vt.Gaussian(0.3), pairwise="symmetric", fit_intercept=False)
    found = vt.nested_score(
        ridge, X, y, {"alpha": [0.1, 1.0], "pairwise": ["symmetric", "mlpk"]}, n_jobs=1,
        outer=vt.VertexKFold(2, random_state=0), inner=vt.VertexKFold(2, random_state=0),
    )  # fmt: skip
    assert np.isfinite(found.scores).all()
    path = ridge.fit_path(X, y, [0.1, 1.0])
    assert_allclose(path[0].predict(X), model_of("symmetric", tol=1e-8).fit(X, y).predict(X), atol=1e-4)
    with pytest.raises(ValueError, match="pairwise is 'symmetric', but the closed form is for one Kronecker product"):
        vt.leave_out_predictions(ridge, vt.Edges.grid(S), np.arange(M * M, dtype=float), leave="edge")


def test_float32_and_weights_of_edges():
    S, E, X, y = graph("poly2d")
    weight = np.random.default_rng(0).random(len(y))
    model = model_of("poly2d", dtype="float32", tol=1e-4).fit(X, y, weight)
    assert model.dual_coef_.dtype == np.float32
    edges = X.start, X.end
    A = matrix_of("poly2d", S, E, edges, edges)
    theirs = KernelRidge(alpha=0.1, kernel="precomputed").fit(A, y, sample_weight=weight)
    assert_allclose(model.predict(X), theirs.predict(A), atol=2e-2)


def test_all_kernels_have_names_and_formulas():
    for name, kind in PAIRWISE.items():
        assert kind.name == name
        assert kind.formula
        assert kind.__doc__
    assert set(TWO_SETS) | set(ONE_SET) | {"two_step"} == set(PAIRWISE)


def test_a_prediction_does_not_depend_on_what_else_is_asked():
    rng = np.random.default_rng(0)
    D, T = rng.standard_normal((12, 2)), rng.standard_normal((10, 2))
    D[7] = D[3]
    X = vt.Edges.grid(D, T)
    y = np.where(X.start == 7, 3.0, np.where(X.start == 3, -3.0, 0.0))
    model = vt.KronRidge(vt.Gaussian(1.0), vt.Gaussian(1.0), pairwise="cartesian", alpha=0.1).fit(X, y)
    more = vt.Edges([3, 7], [0, 0], np.vstack([D, [[9.0, 9.0]]]), T)
    expected = model.predict(X[[30, 70]])
    assert expected[0] < -2 < 2 < expected[1]
    unclear = "1 of the start vertices have the features of several training vertices"
    with pytest.warns(vt.KernelWarning, match=unclear):
        assert_allclose(model.predict(more), expected)
    with pytest.warns(vt.KernelWarning, match=unclear):
        assert_allclose(model.predict(more[1:]), expected[1:])
    with pytest.warns(vt.KernelWarning, match=unclear):
        assert_allclose(model.predict_grid(more.start_table, T)[[3, 7], 0], expected)
    with pytest.warns(vt.KernelWarning, match=unclear):
        model.predict_grid(D[[7, 3]], T)
    assert_allclose(model.predict_grid(X.start_table.take([7, 3]), T)[:, 0], expected[::-1])
    numbered = vt.Edges(X.start, X.end, D, T, start_ids=np.arange(12))  # ids that somebody gave are ids
    model = vt.KronRidge(vt.Gaussian(1.0), vt.Gaussian(1.0), pairwise="cartesian", alpha=0.1).fit(numbered, y)
    assert_allclose(model.predict(vt.Edges([7], [0], D[[7]], T, start_ids=[7])), expected[1:])
    named = vt.Edges(X.start, X.end, D, T, start_ids=[f"v{i}" for i in range(12)])
    model = vt.KronRidge(vt.Gaussian(1.0), vt.Gaussian(1.0), pairwise="cartesian", alpha=0.1).fit(named, y)
    assert_allclose(model.predict_grid(named.start_table.take([7]), T)[0, 0], expected[1])
    assert_allclose(model.predict_grid(named.start_table.take([7, 3]), T)[:, 0], expected[::-1])
