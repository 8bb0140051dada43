"""The kernel that compares vertices themselves, beside kernels of their features."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone

import vectrick as vt

rng = np.random.default_rng(3)
D, T = rng.normal(size=(9, 3)), rng.normal(size=(7, 2))
D[4] = D[5]  # two vertices with the same features
X = vt.Edges([*range(9)] * 4, rng.integers(0, 7, 36), D, T)
Y = rng.normal(size=36)
KERNEL = vt.Linear() + 0.5 * vt.Identity()


def by_hand(alpha, rows):
    """Predictions of ridge regression between all training vertices, from the product of the matrices."""
    K, G = D @ D.T + 0.5 * np.eye(9), T @ T.T + 1.0
    A = np.kron(G, K)  # the entry of (d, t) and (d', t') is K[d, d'] G[t, t']
    at = X.end * 9 + X.start
    a = np.linalg.solve(A[np.ix_(at, at)] + alpha * np.eye(36), Y)
    return (A[:, at] @ a).reshape(7, 9).T[rows]


@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("convert", [np.asarray, csr_array, lambda rows: pd.DataFrame(rows, columns=list("abc"))])
def test_it_adds_to_the_diagonal(form, convert, tmp_path):
    edges = vt.Edges(X.start, X.end, convert(D), T, positions=True)
    model = vt.KronRidge(KERNEL, vt.Linear() + vt.Constant(), alpha=0.7, form=form, tol=1e-12, fit_intercept=False)
    model.fit(edges, Y)
    assert_allclose(model.predict_grid(convert(D), T), by_hand(0.7, slice(None)), atol=1e-6)
    new = convert(rng.normal(size=(2, 3)))
    without = clone(model).set_params(start_kernel="linear")
    assert not np.allclose(without.fit(edges, Y).predict_grid(convert(D), T), model.predict_grid(convert(D), T))
    assert model.predict_grid(new, T).shape == (2, 7)
    model.save(tmp_path / "model.vt")
    again = vt.load(tmp_path / "model.vt")
    assert_array_equal(again.predict_grid(convert(D), T), model.predict_grid(convert(D), T))
    some = vt.Edges([4, 1], [0, 1], convert(D), T, positions=True)
    assert_allclose(again.predict(some), by_hand(0.7, slice(None))[[4, 1], [0, 1]], atol=1e-6)


def test_vertices_are_known_by_their_ids():
    users = pd.DataFrame({"id": list("abcdefghi"), "same": 1.0})
    edges = vt.Edges(users["id"].to_numpy()[X.start], X.end, users, T)
    model = vt.KronRidge(vt.Identity(), "linear", alpha=1e-6).fit(edges, Y)
    grid = model.predict_grid(users, T)
    assert_allclose(model.predict_grid(users.iloc[::-1], T), grid[::-1])
    assert_allclose(model.predict_grid(users.iloc[[3]], T), grid[[3]])
    stranger = users[:1].assign(id="z")
    assert_allclose(model.predict_grid(stranger, T), np.full((1, 7), model.intercept_))
    assert len(np.unique(grid.round(6), axis=0)) == 9
    _, std = model.predict(vt.Edges(["a", "z"], [0, 0], pd.concat([users[:1], stranger]), T), return_std=True)
    assert std[1] > std[0]
    some = model.recommend(["c"], k=2, exclude_known=False)
    assert_allclose(some["score"], np.sort(grid[2])[::-1][:2])


def test_it_is_learned_anew_in_folds_updates_and_whole_fits():
    kernel = vt.Linear() + vt.Identity()
    first, second = X[:20], X[20:]
    model = vt.KronRidge(kernel, "linear", tol=1e-12).fit(first, Y[:20]).update(second, Y[20:])
    whole = vt.KronRidge(kernel, "linear", tol=1e-12).fit(X, Y)
    assert_allclose(model.predict(X), whole.predict(X), atol=1e-6)


def test_leaving_out_has_its_closed_form():
    every, y = vt.Edges.grid(D, T), rng.normal(size=63)
    ridge = vt.KronRidge(KERNEL, vt.Linear() + vt.Identity(), fit_intercept=False, tol=1e-12)
    predicted = vt.leave_out_predictions(ridge, every, y, leave="start")
    held = every.start == 4
    assert_allclose(predicted[held], ridge.fit(every[~held], y[~held]).predict(every[held]), atol=1e-6)


def test_lakes_take_small_tables(tmp_path):
    frame = pd.DataFrame({"start": X.start, "end": X.end, "label": Y})
    frame.to_parquet(tmp_path / "part.parquet", index=False)
    tables = [pd.DataFrame(rows, columns=list("abc")[: rows.shape[1]]).assign(id=range(len(rows))) for rows in (D, T)]
    lake = vt.scan_edges(
        str(tmp_path), start="start", end="end", label="label", start_table=tables[0], end_table=tables[1]
    )
    model = vt.KronRidge(KERNEL, "linear", tol=1e-12).fit(lake)
    expected = vt.KronRidge(KERNEL, "linear", tol=1e-12, form="primal").fit(X, Y)
    assert_allclose(model.predict_grid(*tables), expected.predict_grid(D, T), atol=1e-6)
    with pytest.raises(ValueError, match="a feature for each of the 9 vertices; a lake takes up to n_components=5"):
        vt.KronRidge(KERNEL, "linear", n_components=5).fit(lake)


def test_one_vertex_set_and_strings():
    people = pd.DataFrame({"id": range(5), "name": ["MKTA", "MKMK", "GGGG", "KTAM", "TTTA"]})
    edges = vt.Edges([0, 1, 2, 3], [1, 2, 3, 4], people)
    labels = [1.0, -1.0, 1.0, -1.0]
    model = vt.KronRidge(vt.Spectrum(2) + vt.Identity(), pairwise="symmetric", alpha=1e-3).fit(edges, labels)
    assert_allclose(model.predict(edges), labels, atol=0.1)
    turned = vt.Edges([1, 2], [0, 1], people)
    assert_allclose(model.predict(turned), model.predict(edges[:2]))


def test_lights_add_without_matrices_of_their_own():
    K = vt.Linear() + vt.Constant(2.0)
    assert_allclose(K(D), D @ D.T + 2.0)
    assert_allclose((vt.Constant(2.0) + vt.Linear())(D), D @ D.T + 2.0)
    assert_allclose((0.5 * vt.Constant(2.0) + vt.Linear())(D), D @ D.T + 1.0)
    numbered = np.column_stack([D, np.arange(1.0, 10.0)])
    assert_allclose(vt.Identity()(numbered), np.eye(9))
    assert_allclose(vt.Identity()(numbered[:3], numbered), np.eye(9)[:3])
