"""Updating a model equals a fit to all edges, whatever came with the new ones."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import DataConversionWarning

import vectrick as vt

G = vt.Gaussian(gamma=0.5)


def problem(seed=0, m=24, q=20, n=300):
    rng = np.random.default_rng(seed)
    cells = rng.choice(m * q, n, replace=False)
    start, end = cells // q, cells % q
    D, T = rng.standard_normal((m, 3)), rng.standard_normal((q, 3))
    values = np.sin(D[start, 0] * T[end, 0]) + 0.1 * rng.standard_normal(n)
    return start, end, D, T, values


def decided(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


@pytest.mark.parametrize("kind", [vt.KronRidge, vt.KronSVM, vt.KronLogistic, vt.KronRanker])
@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("kernel", [G, "linear"], ids=["gaussian", "linear"])
@pytest.mark.parametrize("preconditioner", ["kronecker", "none"])
def test_an_update_equals_a_fit_to_all_edges(kind, form, kernel, preconditioner):
    start, end, D, T, values = problem()
    y = values if kind in (vt.KronRidge, vt.KronRanker) else np.sign(values)
    X = vt.Edges(start, end, D, T)
    solver = "cg" if kind in (vt.KronRidge, vt.KronRanker) else "newton"
    how = {"form": form, "solver": solver, "tol": 1e-9, "preconditioner": preconditioner}
    model = kind(kernel, kernel, **how).fit(X[:260], y[:260])
    model.update(X[260:], y[260:])
    whole = kind(kernel, kernel, **how).fit(X, y)
    assert model.solution_.converged
    np.testing.assert_allclose(decided(model, X), decided(whole, X), atol=1e-6)
    if form == "dual" and kernel is G:  # a linear kernel maps some coefficients to zero
        size = np.abs(whole.dual_coef_).max()
        np.testing.assert_allclose(model.dual_coef_, whole.dual_coef_, atol=1e-5 * size)


@pytest.mark.parametrize("form", ["dual", "primal"])
def test_few_new_edges_take_fewer_products_than_a_fit(form):
    start, end, D, T, y = problem(m=60, q=50, n=1500)
    X = vt.Edges(start, end, D, T)
    how = {"form": form, "solver": "cg", "preconditioner": "none", "alpha": 0.1}
    whole = vt.KronRidge(G, G, **how).fit(X, y)
    model = vt.KronRidge(G, G, **how).fit(X[:-1], y[:-1]).update(X[-1:], y[-1:])
    assert model.n_iter_ < whole.n_iter_
    assert model.solution_.n_products < whole.solution_.n_products


@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("sparse", [True, False])
def test_new_vertices_come_in_tables_of_their_own(ids, form, sparse):
    start, end, D, T, y = problem()
    names = np.array([f"drug {i}" for i in range(len(D))]), np.array([f"target {j}" for j in range(len(T))])
    old = (start < 18) & (end < 16)
    table = csr_array if sparse else np.asarray

    def edges(rows, starts, ends):
        """Edges whose tables have these vertices only, in this order."""
        at = [np.argsort(np.argsort(vertices))[np.searchsorted(np.sort(vertices), which[rows])]
              for vertices, which in ((starts, start), (ends, end))]  # fmt: skip
        places = [np.argsort(vertices)[np.searchsorted(np.sort(vertices), which[rows])]
                  for vertices, which in ((starts, start), (ends, end))]  # fmt: skip
        assert len(at) == 2
        more = {"start_ids": names[0][starts], "end_ids": names[1][ends]} if ids else {}
        if ids:
            return vt.Edges(names[0][start[rows]], names[1][end[rows]], table(D[starts]), table(T[ends]), **more)
        return vt.Edges(places[0], places[1], table(D[starts]), table(T[ends]))

    rng = np.random.default_rng(1)
    first = edges(old, np.arange(18), np.arange(16))
    second = edges(~old, rng.permutation(len(D)), rng.permutation(len(T)))
    kernel = "linear" if sparse else G
    model = vt.KronRidge(kernel, kernel, form=form, tol=1e-9).fit(first, y[old])
    model.update(second, y[~old])
    both = np.concatenate([np.flatnonzero(old), np.flatnonzero(~old)])
    X = vt.Edges(start, end, table(D), table(T))[both]
    whole = vt.KronRidge(kernel, kernel, form=form, tol=1e-9).fit(X, y[both])
    np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-6)
    if ids:
        assert sorted(model.predictor_.start.known.ids.tolist()) == sorted(names[0].tolist())


def test_one_vertex_set_stays_one():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((20, 3))
    start, end = rng.integers(20, size=100), rng.integers(20, size=100)
    y = rng.standard_normal(100)
    X = vt.Edges(start, end, features)
    how = {"pairwise": "symmetric", "tol": 1e-9}
    model = vt.KronRidge(G, G, **how).fit(X[:70], y[:70]).update(X[70:], y[70:])
    np.testing.assert_allclose(model.predict(X), vt.KronRidge(G, G, **how).fit(X, y).predict(X), atol=1e-6)
    others = vt.Edges([0, 1], [1, 0], rng.standard_normal((2, 3)), rng.standard_normal((2, 3)))
    with pytest.raises(ValueError, match="edges of two vertex sets, but the model was trained on edges of one"):
        model.update(others, [0.0, 1.0])


def test_weights_classes_and_plain_arrays():
    start, end, D, T, values = problem()
    X, weight = vt.Edges(start, end, D, T), np.random.default_rng(2).random(300) + 0.5
    model = vt.KronRidge(G, G, tol=1e-9).fit(X[:200], values[:200], sample_weight=weight[:200])
    model.update(X[200:], values[200:], sample_weight=weight[200:])
    np.testing.assert_allclose(
        model.predict(X), vt.KronRidge(G, G, tol=1e-9).fit(X, values, weight).predict(X), atol=1e-6
    )
    names = np.array(["low", "middle", "high"])[np.digitize(values, [-0.3, 0.3])]
    svm = vt.KronSVM(G, G).fit(X[:200], names[:200])
    svm.update(X[200:], names[200:])
    assert (svm.predict(X) == vt.KronSVM(G, G).fit(X, names).predict(X)).mean() > 0.99
    two = vt.KronSVM(G, G).fit(X[:200], names[:200] == "high").update(X[200:], names[200:] == "high")
    assert two.classes_.tolist() == [False, True]
    rows = np.hstack([D[start], T[end]])
    plain = vt.KronRidge(G, G, n_start_features=3, tol=1e-9).fit(rows[:200], values[:200])
    plain.update(rows[200:], values[200:])
    whole = vt.KronRidge(G, G, n_start_features=3, tol=1e-9).fit(rows, values)
    np.testing.assert_allclose(plain.predict(rows), whole.predict(rows), atol=1e-6)


def test_closed_forms_one_pass_and_early_stopping_are_fitted_again():
    rng = np.random.default_rng(0)
    D, T = rng.standard_normal((12, 3)), rng.standard_normal((10, 3))
    X = vt.Edges.grid(D, T)
    y = rng.standard_normal(len(X))
    model = vt.KronRidge(G, G).fit(X[:-7], y[:-7]).update(X[-7:], y[-7:])
    assert model.solution_.reason == "solved exactly"
    for how in ({"solver": "one-pass"}, {"early_stopping": True, "random_state": 0}):
        model = vt.KronRidge(G, G, **how).fit(X[:-30], y[:-30]).update(X[-30:], y[-30:])
        np.testing.assert_allclose(model.predict(X), vt.KronRidge(G, G, **how).fit(X, y).predict(X), atol=1e-9)


def test_files_keep_the_edges(tmp_path):
    start, end, D, T, values = problem()
    X = vt.Edges(start, end, D, T)
    labels = np.where(values > 0, "yes", "no")
    for kind, y in ((vt.KronRidge, values), (vt.KronSVM, labels), (vt.KronSVM, np.digitize(values, [-0.3, 0.3]))):
        model = kind(G, G, tol=1e-9).fit(X[:250], y[:250], sample_weight=np.ones(250))
        model.save(tmp_path / "model.vt")
        again = vt.load(tmp_path / "model.vt").update(X[250:], y[250:])
        np.testing.assert_allclose(decided(again, X), decided(model.update(X[250:], y[250:]), X), atol=1e-6)
    bare = vt.KronRidge(G, G, keep_edges=False).fit(X, values)
    bare.save(tmp_path / "bare.vt")
    assert (tmp_path / "bare.vt").stat().st_size < (tmp_path / "model.vt").stat().st_size
    for model in (bare, vt.load(tmp_path / "bare.vt")):
        with pytest.raises(ValueError, match="the model does not keep the edges that it was trained on"):
            model.update(X, values)


def test_bad_input_leaves_the_model_as_it_was():
    start, end, D, T, y = problem()
    frame = pd.DataFrame(D, index=pd.Index([f"d{i}" for i in range(len(D))], name="drug"))
    X = vt.Edges(start, end, frame, T)
    model = vt.KronRidge(G, G).fit(X, y)
    before = model.predict(X)
    other = frame.copy()
    other.loc["d3"] += 1
    wrong = (
        (vt.Edges(["d3"], [0], other, T), [1.0], "d3.* of start_features has other features than in the model"),
        (vt.Edges([0], [0], D + 1, T), [1.0], "has ids and this one has none"),
        (vt.Edges([0], [0], frame, T[:, :2]), [1.0], "columns"),
        (X[:2], [1.0], r"y has shape \(1,\), but X has 2 edges"),
        (X[:1], [np.nan], "NaN"),
    )
    for more, labels, words in wrong:
        with pytest.raises(ValueError, match=words):
            model.update(more, labels)
        np.testing.assert_array_equal(model.predict(X), before)
    with pytest.raises(ValueError, match="keep_edges is 'yes'"):
        vt.KronRidge(keep_edges="yes").fit(X, y)


def test_precomputed_kernels_know_one_table():
    start, end, D, T, y = problem()
    K, H = G(D, D), G(T, T)
    X = vt.Edges(start, end, K, H)
    model = vt.KronRidge("precomputed", "precomputed", tol=1e-9).fit(X[:200], y[:200]).update(X[200:], y[200:])
    whole = vt.KronRidge("precomputed", "precomputed", tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-6)
    with pytest.raises(ValueError, match="start_kernel is precomputed for the vertices of one table"):
        model.update(vt.Edges([0], [0], K + 1, H), [1.0])


@pytest.mark.parametrize("preconditioner", ["kronecker", "none"])
@pytest.mark.parametrize("form", ["dual", "primal"])
def test_an_update_that_changes_nothing(preconditioner, form):
    start, end, D, T, y = problem()
    X = vt.Edges(start, end, D, T)
    model = vt.KronRidge(G, G, form=form, solver="cg", preconditioner=preconditioner).fit(X, y)
    before = model.predict(X)
    model.update(X[:1], y[:1], [0.0])
    np.testing.assert_allclose(model.predict(X), before, atol=1e-5)


def test_labels_and_weights_are_the_users_to_change():
    start, end, D, T, y = problem()
    X, weight = vt.Edges(start, end, D, T), np.ones(200)
    labels = y[:200].copy()
    model = vt.KronRidge(G, G, tol=1e-9).fit(X[:200], labels, weight)
    labels[:], weight[:] = 0, 5
    model.update(X[200:], y[200:])
    np.testing.assert_allclose(model.predict(X), vt.KronRidge(G, G, tol=1e-9).fit(X, y).predict(X), atol=1e-6)


def test_tensors_of_edges_are_the_users_to_change():
    torch = pytest.importorskip("torch")
    start, end, D, T, y = problem()
    pair = [torch.as_tensor(part[:200], dtype=torch.int32) for part in (start, end)]
    X = vt.Edges(*pair, torch.as_tensor(D), torch.as_tensor(T))
    model = vt.KronRidge(G, G, tol=1e-9, backend="torch", device="cpu").fit(X, torch.as_tensor(y[:200]))
    for part in pair:
        part.zero_()
    model.update(vt.Edges(start[200:], end[200:], D, T), y[200:])
    X = vt.Edges(start, end, D, T)
    np.testing.assert_allclose(model.predict(X), vt.KronRidge(G, G, tol=1e-9).fit(X, y).predict(X), atol=1e-6)


def test_a_further_class_and_the_columns_of_arrays():
    start, end, D, T, y = problem()
    X = vt.Edges(start, end, D, T)
    names = np.where(y > 0, "yes", "no")
    more = np.where(y[200:] > 0.3, "very", names[200:])
    model = vt.KronSVM(G, G).fit(X[:200], names[:200]).update(X[200:], more)
    assert model.classes_.tolist() == ["no", "very", "yes"]
    frame = pd.DataFrame(np.hstack([D[start], T[end]]), columns=list("abcdef"))
    plain = vt.KronRidge(G, G, n_start_features=3).fit(frame[:200], y[:200]).update(frame[200:], y[200:])
    assert plain.n_features_in_ == 6
    assert plain.feature_names_in_.tolist() == list("abcdef")


def test_tables_of_another_kind(tmp_path):
    start, end, D, T, y = problem()
    X = vt.Edges(start, end, D, T)
    new = vt.Edges([0], [0], csr_array(np.ones((1, 3))), T)
    model = vt.KronRidge(G, G).fit(X, y).update(new, [1.0])
    assert len(model.predictor_.start.known) == len(D) + 1
    with pytest.warns(DataConversionWarning):
        column = vt.KronRidge(G, G).fit(X, y[:, None])
    column.save(tmp_path / "column.vt")
    column.update(X[:1], y[:1])
    wide = csr_array(([1.0, 2.0], ([0, 1], [3, 1_999_999])), shape=(2, 2_000_000))
    sparse = vt.KronRidge("linear", "linear", form="dual").fit(vt.Edges([0, 1], [0, 1], wide, T), [1.0, 2.0])
    sparse.update(vt.Edges([0], [2], wide[1:], T), [0.5])  # rows are compared without making them dense
    assert len(sparse.predictor_.start.known) == 2


def test_what_an_update_refuses():
    start, end, D, T, y = problem()
    X = vt.Edges(start, end, D, T)
    model = vt.KronRidge(G, G).fit(X, y)
    for labels, weight, words in (
        ([np.inf], None, r"y\[0\] is inf"),
        (["a"], None, "y has labels of dtype"),
        ([1.0], 2.0, "sample_weight"),
        ([1.0], [[1.0]], "sample_weight"),
        ([1.0], [1.0, 2.0], "sample_weight"),
    ):
        with pytest.raises(ValueError, match=words):
            model.update(X[:1], labels, weight)
    numbered = vt.Edges([100], [0], D[:1], T, start_ids=[100])
    other = vt.KronRidge(G, G).fit(vt.Edges([7, 8], [0, 1], D[:2], T, start_ids=[7, 8]), [0.0, 1.0])
    other.update(numbered, [1.0])
    with pytest.raises(ValueError, match="the ids of start_features are text, but the ids of the model are numbers"):
        other.update(vt.Edges(["100"], [0], D[:1], T, start_ids=["100"]), [1.0])


def test_wide_sparse_tables_stay_sparse():
    import tracemalloc

    from scipy.sparse import random_array

    rng = np.random.default_rng(0)
    tables = [
        random_array((m, columns), density=min(1.0, 20 / columns), format="csr", rng=rng)
        for m, columns in ((60, 20_000), (40, 9))
    ]
    start, end = np.nonzero(rng.random((60, 40)) < 0.5)
    X, y = vt.Edges(start, end, *tables), rng.standard_normal(len(start))
    model = vt.KronRidge(form="primal", tol=1e-10).fit(X[:-100], y[:-100])
    tracemalloc.start()
    model.update(X[-100:], y[-100:])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6  # an identity matrix would take 3.2 GB
    np.testing.assert_allclose(model.predict(X), vt.KronRidge(form="primal", tol=1e-10).fit(X, y).predict(X), atol=1e-6)
