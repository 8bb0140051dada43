"""Our estimators against scikit-learn's on explicit features and kernel matrices, by predictions or by objective."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC

import vectrick as vt
from tests.estimators.problems import graph

X, VALUES, SIGNS, FEATURES, KERNEL = graph()
NEW, _, _, NEW_FEATURES, _ = graph(seed=1)
FORMS = ["auto", "dual", "primal"]
WEIGHT = np.random.default_rng(2).random(len(SIGNS)) + 0.2


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("solver", ["auto", "cg", "minres", "qmr", "lbfgs"])
def test_ridge_is_kernel_ridge(form, solver):
    theirs = KernelRidge(alpha=0.7, kernel="precomputed").fit(KERNEL, VALUES)
    ours = vt.KronRidge(alpha=0.7, form=form, solver=solver, tol=1e-10, fit_intercept=False).fit(X, VALUES)
    assert_allclose(ours.predict(X), theirs.predict(KERNEL), atol=1e-6)
    assert_allclose(ours.predict(NEW), theirs.predict(NEW_FEATURES @ FEATURES.T), atol=1e-6)


def test_ridge_with_gaussian_kernels():
    D, T = X.start_table.features[X.start], X.end_table.features[X.end]
    K = rbf_kernel(np.hstack([D, T]), gamma=0.3)
    theirs = KernelRidge(alpha=0.7, kernel="precomputed").fit(K, VALUES)
    for form in FORMS:
        ours = vt.KronRidge(
            vt.Gaussian(gamma=0.3), vt.Gaussian(gamma=0.3), alpha=0.7, form=form, fit_intercept=False
        ).fit(X, VALUES)
        assert_allclose(ours.predict(X), theirs.predict(K), atol=1e-8)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("solver", ["auto", "cg"])
def test_ridge_with_weights_and_intercept(form, solver):
    theirs = Ridge(alpha=0.7).fit(FEATURES, VALUES + 5, sample_weight=WEIGHT)
    ours = vt.KronRidge(alpha=0.7, form=form, solver=solver, fit_intercept=True, tol=1e-10)
    ours.fit(X, VALUES + 5, sample_weight=WEIGHT)
    assert_allclose(ours.predict(NEW), theirs.predict(NEW_FEATURES), atol=1e-6)
    assert ours.intercept_ == pytest.approx(theirs.intercept_)


def objective(loss, alpha, w, b=0.0):
    margin = 1 - SIGNS * (FEATURES @ w + b)
    error = np.maximum(margin, 0)
    return {"hinge": error, "squared_hinge": 0.5 * error**2}[loss].sum() + 0.5 * alpha * w @ w


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("alpha", [0.05, 1.0])
def test_svm_is_linear_svc(loss, form, alpha):
    # LinearSVC minimises ½ ‖w‖² + C Σ loss, without the half of our squared hinge.
    C = 1 / alpha if loss == "hinge" else 0.5 / alpha
    theirs = LinearSVC(loss=loss, C=C, fit_intercept=False, tol=1e-9, max_iter=1_000_000, random_state=0)
    theirs.fit(FEATURES, SIGNS)
    ours = vt.KronSVM(loss=loss, alpha=alpha, form=form, tol=1e-8, fit_intercept=False).fit(X, SIGNS)
    w = FEATURES.T @ ours.dual_coef_ if form == "dual" else ours.coef_.ravel()
    best = objective(loss, alpha, theirs.coef_[0])
    assert objective(loss, alpha, w) <= best * (1 + 1e-7)
    assert objective(loss, alpha, w) >= best * (1 - 1e-4)


def test_hinge_svm_with_intercept_is_svc():
    theirs = SVC(kernel="precomputed", C=2.0, tol=1e-8).fit(KERNEL, SIGNS)
    ours = vt.KronSVM(loss="hinge", alpha=0.5, fit_intercept=True, tol=1e-8).fit(X, SIGNS)
    assert_allclose(ours.decision_function(X), theirs.decision_function(KERNEL), atol=1e-3)
    assert ours.intercept_ == pytest.approx(theirs.intercept_[0], abs=1e-3)
    assert set(theirs.support_) == set(np.flatnonzero(np.abs(ours.dual_coef_) > 1e-6))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("solver", ["auto", "newton", "newton-qmr", "lbfgs"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_logistic_is_logistic_regression(form, solver, fit_intercept):
    theirs = LogisticRegression(C=1 / 0.7, fit_intercept=fit_intercept, tol=1e-10, max_iter=10_000)
    theirs.fit(FEATURES, SIGNS, sample_weight=WEIGHT)
    ours = vt.KronLogistic(alpha=0.7, form=form, solver=solver, fit_intercept=fit_intercept, tol=1e-9)
    ours.fit(X, SIGNS, sample_weight=WEIGHT)
    assert_allclose(ours.predict_proba(NEW), theirs.predict_proba(NEW_FEATURES), atol=1e-5)
    assert_allclose(np.exp(ours.predict_log_proba(NEW)), ours.predict_proba(NEW))


@pytest.mark.parametrize("groups", [None, "start", "end"])
@pytest.mark.parametrize("form", FORMS)
def test_ranker_is_ridge_on_differences(groups, form):
    of = {None: np.zeros(len(X)), "start": X.start, "end": X.end}[groups]
    first, second = np.nonzero((of[:, None] == of[None, :]) & (np.arange(len(X))[:, None] < np.arange(len(X))))
    compared = (of[:, None] == of[None, :]).sum() / len(X)  # edges, on average
    theirs = Ridge(alpha=0.7 * 2 * compared, fit_intercept=False, tol=1e-12)
    # The sum over ordered pairs has every pair twice, with a quarter: a half for each unordered pair.
    theirs.fit(np.sqrt(2) * (FEATURES[first] - FEATURES[second]), np.sqrt(2) * (VALUES[first] - VALUES[second]))
    ours = vt.KronRanker(alpha=0.7, groups=groups, form=form, tol=1e-10).fit(X, VALUES)
    assert_allclose(ours.predict(NEW), NEW_FEATURES @ theirs.coef_, atol=1e-6)
    assert ours.score(X, VALUES) == vt.concordance_index(VALUES, ours.predict(X), None if groups is None else of)
