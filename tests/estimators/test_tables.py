"""What estimators make of the names and ids in vertex tables, and of kernels that are none."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

import vectrick as vt
from tests.estimators.problems import graph

X, VALUES, SIGNS, _, _ = graph()
DRUGS = pd.DataFrame(X.start_table.features, columns=list("abcd")).assign(drug=[f"d{i}" for i in range(18)])
TARGETS = pd.DataFrame(X.end_table.features, columns=list("xyz"))
EDGES = pd.DataFrame({"drug": [f"d{i}" for i in X.start], "target": X.end})


def fitted(**parameters):
    edges = vt.Edges.from_frame(EDGES, start="drug", end="target", start_table=DRUGS, end_table=TARGETS)
    return vt.KronRidge(**parameters).fit(edges, VALUES), edges


def test_tables_with_their_id_column_are_taken_everywhere():
    model, edges = fitted()
    grid = model.predict_grid(DRUGS, TARGETS)
    assert_allclose(grid[X.start, X.end], model.predict(edges))
    assert_allclose(model.predict_grid(DRUGS.drop(columns="drug"), TARGETS), grid)
    assert model.top_k(DRUGS, TARGETS, 2)[0].shape == (18, 2)


def test_columns_are_taken_by_their_names():
    model, edges = fitted()
    turned = TARGETS[["z", "y", "x"]].assign(unknown=1.0)
    expected = model.predict_grid(DRUGS, TARGETS)
    assert_array_equal(model.predict_grid(DRUGS, turned), expected)
    other = vt.Edges.from_frame(
        EDGES, start="drug", end="target", start_table=DRUGS, end_table=turned.set_index(TARGETS.index)
    )
    assert_array_equal(model.predict(other), model.predict(edges))
    with pytest.raises(ValueError, match="end_features lacks 1 of the 3 columns that the model was trained with: 'x'"):
        model.predict_grid(DRUGS, TARGETS[["z", "y"]])
    stopped = vt.KronRidge(max_iter=20).fit(edges, VALUES, validation=(other, VALUES))
    assert (
        stopped.history_["score"]
        == vt.KronRidge(max_iter=20).fit(edges, VALUES, validation=(edges, VALUES)).history_["score"]
    )


def test_kernel_matrices_whose_columns_are_not_those_of_the_rows_are_refused():
    names = [f"d{i}" for i in range(18)]
    K = pd.DataFrame(X.start_table.features @ X.start_table.features.T, index=names, columns=names)
    shuffled = K.sample(frac=1, random_state=0)
    for table, error in ((K, None), (shuffled, "columns are not in the order of its rows")):
        edges = vt.Edges.from_frame(EDGES, start="drug", end="target", start_table=table, end_table=TARGETS)
        model = vt.KronRidge("precomputed", "linear")
        if error is None:
            assert_allclose(model.fit(edges, VALUES).predict(edges), fitted()[0].predict(X), atol=1e-6)
        else:
            with pytest.raises(ValueError, match=error):
                model.fit(edges, VALUES)


def test_a_matrix_is_no_kernel():
    with pytest.raises(ValueError, match=r"start_kernel is a matrix of shape \(3, 3\).*precomputed"):
        vt.KronRidge(np.eye(3)).fit(X, VALUES)


def test_frames_in_place_of_edges():
    with pytest.raises(ValueError, match=r"X is of type DataFrame, but n_start_features is None: .*from_frame"):
        vt.KronRidge().fit(EDGES, VALUES)
    model = vt.KronRidge(n_start_features=4).fit(X, VALUES)
    rows = np.hstack([X.start_table.features[X.start], X.end_table.features[X.end]])
    assert_allclose(model.predict(rows), model.predict(X))


def test_asymmetric_kernels_give_one_model_in_both_forms():
    rng = np.random.default_rng(0)
    B = rng.standard_normal((18, 18))
    K = B @ B.T + 5 * np.eye(18) + 0.1 * np.triu(rng.standard_normal((18, 18)), 1)
    edges = vt.Edges(X.start, X.end, K, X.end_table.features)
    found = []
    for form in ("dual", "primal"):
        with pytest.warns(vt.KernelWarning, match="start_kernel is not symmetric"):
            found.append(vt.KronRidge("precomputed", "linear", form=form, tol=1e-10).fit(edges, VALUES).predict(edges))
    assert_allclose(found[0], found[1], atol=1e-4)


def test_kernel_values_that_do_not_fit():
    large = vt.Edges(X.start, X.end, 1e4 * X.start_table.features, X.end_table.features)
    kernel = vt.Polynomial(degree=9, gamma=1.0)
    with pytest.raises(ValueError, match="start_kernel has values that are NaN or too large for float32"):
        vt.KronSVM(kernel, "linear", dtype="float32").fit(large, SIGNS)


def test_models_do_not_carry_the_kernel_matrix():
    model = vt.KronRidge("gaussian", "gaussian", form="dual").fit(X, VALUES)
    again = pickle.loads(pickle.dumps(model))
    assert "matrix" in vars(model.predictor_.start)
    assert "matrix" not in vars(again.predictor_.start)
    assert_allclose(again.predict(X), model.predict(X))


def test_early_stopping_leaves_out_edges_without_weight():
    board, y = vt.datasets.make_checkerboard(60, random_state=0)
    wrong = np.random.default_rng(0).random(len(y)) < 0.5
    model = vt.KronRidge("gaussian", "gaussian", early_stopping=True, random_state=0)
    with_weights = model.fit(board, np.where(wrong, 1e6, y), np.where(wrong, 0.0, 1.0)).history_["score"]
    assert_allclose(with_weights, model.fit(board[~wrong], y[~wrong]).history_["score"])
    with pytest.raises(ValueError, match="one class"):
        vt.KronSVM().fit(board, y, (y > 0).astype(float))


def test_two_labels_of_one_sign_are_two_classes():
    board, y = vt.datasets.make_checkerboard(60, random_state=0)
    model = vt.KronRidge("gaussian", "gaussian", early_stopping=True, random_state=0)
    centred, shifted = (model.fit(board, labels).history_["score"] for labels in (y, y + 3))
    assert np.isfinite(shifted).all()
    assert len(centred) > 1
    with pytest.raises(ValueError, match="scoring is 'auc', but the validation labels have"):
        vt.KronRidge(scoring="auc").fit(X, VALUES, validation=(X, VALUES))
    with pytest.raises(ValueError, match="validation labels are all the same"):
        vt.KronRidge().fit(X, VALUES, validation=(X, np.ones(len(X))))


def test_ranking_within_groups_is_judged_within_groups():
    model = vt.KronRanker(groups="start", alpha=0.1).fit(X, VALUES + 100 * X.start)
    scores = model.predict(X)
    within = [vt.concordance_index(VALUES[X.start == s], scores[X.start == s]) for s in range(18)]
    pairs = [np.sum(X.start == s) * (np.sum(X.start == s) - 1) for s in range(18)]
    assert model.score(X, VALUES + 100 * X.start) == pytest.approx(np.average(within, weights=pairs))


def test_warnings_point_to_the_users_line():
    with pytest.warns(ConvergenceWarning) as caught:
        vt.KronRidge(solver="cg", max_iter=1).fit(X, VALUES)
    with pytest.warns(ConvergenceWarning) as also:
        vt.KronRidge(solver="cg", max_iter=1).fit_path(X, VALUES, [1.0])
    with pytest.warns(UserWarning, match="y is constant") as constant:
        vt.KronRidge().fit(X, np.ones(len(X)))
    assert {warning.filename for warning in [*caught, *also, *constant]} == {__file__}


def test_small_problems_in_float32_are_solved_in_float64():
    rng = np.random.default_rng(0)
    edges = vt.Edges(*rng.integers(0, 40, (2, 400)), *rng.standard_normal((2, 40, 2)))
    y = rng.standard_normal(400)
    k = vt.Gaussian(gamma=0.1)
    wide, narrow = (
        vt.KronRidge(k, k, alpha=1.0, form="dual", dtype=dtype).fit(edges, y) for dtype in ("float64", "float32")
    )
    assert narrow.dual_coef_.dtype == np.float32
    assert_allclose(narrow.predict(edges), wide.predict(edges), atol=1e-3)


def test_a_kernel_of_zeros():
    zeros = vt.Edges(X.start, X.end, np.zeros((18, 18)), X.end_table.features)
    for form in ("dual", "primal"):
        model = vt.KronRidge("precomputed", "linear", form=form, fit_intercept=True).fit(zeros, VALUES)
        assert_allclose(model.predict(zeros), VALUES.mean())


def test_hinge_that_does_not_converge_returns_its_best():
    rng = np.random.default_rng(0)
    D, T = 30 * (rng.standard_normal((20, 3)) + 3), rng.standard_normal((20, 2)) + 3
    edges = vt.Edges(*rng.integers(0, 20, (2, 150)), D, T)
    score = D[edges.start, 0] * T[edges.end, 0] + 15 * rng.standard_normal(150)
    y = np.where(score > np.quantile(score, 0.9), 1.0, -1.0)
    with pytest.warns(ConvergenceWarning):
        model = vt.KronSVM(loss="hinge", alpha=0.1, fit_intercept=True, form="dual", max_iter=200).fit(edges, y)
    norm = model.dual_coef_ @ (model.decision_function(edges) - model.intercept_)
    risk = np.maximum(0, 1 - y * model.decision_function(edges)).sum() + 0.05 * norm
    assert risk <= min(model.history_["risk"]) * (1 + 1e-9)


def test_libsvm_models_keep_the_names_of_columns():
    rows = pd.DataFrame(
        np.hstack([X.start_table.features[X.start], X.end_table.features[X.end]]), columns=list("abcdxyz")
    )
    model = vt.from_svc(SVC(gamma=0.1).fit(rows, SIGNS), 4)
    assert model.decision_function(rows).shape == (len(X),)
    with pytest.raises(ValueError, match="feature names"):
        model.decision_function(rows[list("zyxdcba")])
