"""Support vector machines: labels, support edges, the paper's setting, and models taken from LIBSVM."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

import vectrick as vt
from tests.estimators.problems import graph

X, VALUES, SIGNS, FEATURES, KERNEL = graph()


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (False, True), ("active", "inert"), (2.5, 7.0)])
@pytest.mark.parametrize("kind", [vt.KronSVM, vt.KronLogistic])
def test_labels_of_any_two_values(labels, kind):
    y = np.array(labels)[(SIGNS > 0).astype(int)]
    model = kind().fit(X, y)
    assert_array_equal(model.classes_, labels)
    assert set(model.predict(X)) <= set(y)
    reference = kind().fit(X, SIGNS)
    assert_allclose(model.decision_function(X), reference.decision_function(X))
    assert np.mean(model.predict(X) == y) == reference.score(X, SIGNS) > 0.7


@pytest.mark.parametrize("kind", [vt.KronSVM, vt.KronLogistic])
def test_classes_that_are_too_few(kind):
    with pytest.raises(ValueError, match="y has one class only, 1"):
        kind().fit(X, np.ones(len(X), int))
    with pytest.raises(ValueError, match="validation has the class 5"):
        kind().fit(X, SIGNS, validation=(X, np.where(SIGNS > 0, 1, 5)))
    with pytest.raises(ValueError, match="validation has one class only"):
        kind().fit(X, SIGNS, validation=(X, np.ones(len(X), int)))


def test_support_edges():
    model = vt.KronSVM(form="dual", alpha=0.05).fit(X, SIGNS)
    margin = SIGNS * model.decision_function(X)
    assert_array_equal(
        np.flatnonzero(margin < 1 - 1e-6), np.intersect1d(model.support_, np.flatnonzero(margin < 1 - 1e-6))
    )
    assert len(model.support_) < len(X)
    assert len(model.predictor_.coefficients) == len(model.support_)
    assert (model.dual_coef_[margin > 1 + 1e-6] == 0).all()


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_support_edges_of_both_forms(loss, fit_intercept):
    weight = np.ones(len(X))
    weight[:20] = 0
    dual, primal = (
        vt.KronSVM(form=form, loss=loss, alpha=0.05, fit_intercept=fit_intercept, tol=1e-9).fit(X, SIGNS, weight)
        for form in ("dual", "primal")
    )
    margin = SIGNS * dual.decision_function(X)
    clear = np.flatnonzero((np.abs(margin - 1) > 1e-4) & (weight > 0))
    assert_array_equal(np.intersect1d(dual.support_, clear), np.intersect1d(primal.support_, clear))
    assert len(np.intersect1d(primal.support_, clear)) > 20


def test_bad_loss():
    with pytest.raises(ValueError, match="loss is 'log', but it must be one of 'squared_hinge', 'hinge'"):
        vt.KronSVM(loss="log").fit(X, SIGNS)
    with pytest.raises(ValueError, match="groups is 'edge', but it must be one of None, 'start', 'end'"):
        vt.KronRanker(groups="edge").fit(X, VALUES)
    with pytest.raises(ValueError, match="needs a smooth loss, but the loss is Hinge"):
        vt.KronSVM(loss="hinge", solver="newton").fit(X, SIGNS)


def test_the_papers_setting_learns_the_checkerboard():
    train, y = vt.datasets.make_checkerboard(500, noise=0.0, random_state=0)
    test, y_test = vt.datasets.make_checkerboard(500, noise=0.0, random_state=1)
    g = vt.Gaussian(gamma=1.0)
    with pytest.warns(ConvergenceWarning):
        paper = vt.KronSVM(g, g, alpha=1e-4, solver="newton-qmr", max_iter=10, inner_iter=10, step=1.0).fit(train, y)
    assert roc_auc_score(y_test, paper.decision_function(test)) > 0.7
    with pytest.warns(ConvergenceWarning):
        ridge = vt.KronRidge(g, g, alpha=1e-4, solver="minres", max_iter=40).fit(train, y)
    assert roc_auc_score(y_test, ridge.predict(test)) > 0.7


def test_early_stopping_is_better_than_convergence():
    train, y = vt.datasets.make_checkerboard(300, random_state=0)
    test, y_test = vt.datasets.make_checkerboard(300, random_state=1)
    validation = vt.datasets.make_checkerboard(300, random_state=2)
    g = vt.Gaussian(gamma=1.0)
    stopped = vt.KronRidge(g, g, alpha=1e-4).fit(train, y, validation=validation)
    with pytest.warns(ConvergenceWarning):
        further = vt.KronRidge(g, g, alpha=1e-4, max_iter=10 * stopped.n_iter_).fit(train, y)
    auc, later = (roc_auc_score(y_test, model.predict(test)) for model in (stopped, further))
    assert auc > later > 0.5


@pytest.mark.parametrize("gamma", [0.4, "scale"])
def test_libsvm_models_through_the_vec_trick(gamma):
    rows = np.hstack([X.start_table.features[X.start], X.end_table.features[X.end]])
    labels = np.where(SIGNS > 0, "yes", "no")
    svc = SVC(C=3.0, gamma=gamma).fit(rows, labels)
    model = vt.from_svc(svc, n_start_features=4)
    new, *_ = graph(seed=3)
    new_rows = np.hstack([new.start_table.features[new.start], new.end_table.features[new.end]])
    expected = svc.decision_function(new_rows)
    assert np.abs(model.decision_function(new) - expected).max() < 1e-8
    assert np.abs(model.decision_function(new_rows) - expected).max() < 1e-8
    assert_array_equal(model.predict(new), svc.predict(new_rows))
    grid = model.predict_grid(new.start_table.features, new.end_table.features)
    assert_allclose(grid[new.start, new.end], expected, atol=1e-8)


def test_libsvm_models_that_are_refused():
    with pytest.raises(TypeError, match="svc is of type LinearRegression"):
        vt.from_svc(LinearRegression(), 1)
    with pytest.raises(ValueError, match="kernel 'linear', but only 'rbf'"):
        vt.from_svc(SVC(kernel="linear").fit(FEATURES, SIGNS), 1)
    with pytest.raises(ValueError, match="svc has 3 classes"):
        vt.from_svc(SVC().fit(FEATURES, np.arange(len(X)) % 3), 1)
    model = vt.from_svc(SVC(gamma=1.0).fit(FEATURES, SIGNS), 3)
    assert model.dual_coef_.shape == (len(X),)
    assert model.solution_.converged
    with pytest.raises(ValueError, match=r"n_start_features is 1\.0, but"):
        vt.from_svc(SVC().fit(FEATURES, SIGNS), 1.0)
    with pytest.raises(ValueError, match="n_start_features is 12, but it must be from 1 to 11"):
        vt.from_svc(SVC().fit(FEATURES, SIGNS), 12)


@pytest.mark.parametrize("seed", range(12))
def test_features_far_from_zero_converge_as_far_as_rounding_allows(seed):
    # The kernel's norm of a gradient that is nearly orthogonal to the kernel's one direction is mostly rounding.
    rng = np.random.default_rng(seed)
    X, y = rng.normal(100, 1, (80, 2)), rng.integers(0, 2, 80)
    model = vt.KronSVM(n_start_features=1).fit(X, y)
    assert model.solution_.converged
