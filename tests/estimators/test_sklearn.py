"""scikit-learn's own checks of every estimator, in the plain-array form, and its tools on both forms."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import vectrick as vt

ESTIMATORS = [
    vt.KronRidge(n_start_features=1),
    vt.KronRidge("gaussian", "gaussian", n_start_features=1, form="dual", fit_intercept=True),
    vt.KronSVM(n_start_features=1),
    vt.KronSVM(n_start_features=1, loss="hinge", tol=1e-9),
    vt.KronLogistic(n_start_features=1),
    vt.KronLogistic(n_start_features=1, fit_intercept=True, form="primal"),
    vt.KronRanker(n_start_features=1),
    vt.KronRanker(n_start_features=1, groups="start"),
]
SEARCHES = [
    vt.AutoKron(n_start_features=1, loss=loss, start_kernel="gaussian", alpha=1.0, random_state=0, n_best=2)
    for loss in ("ridge", "logistic")
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::vectrick.automatic.find.SearchWarning")  # of data with too few vertices for folds
@parametrize_with_checks(SEARCHES)
def test_scikit_learn_check_of_searches(estimator, check):
    check(estimator)


def graph():
    X, y = vt.datasets.make_checkerboard(40, density=0.5, noise=0.0, random_state=0)
    return X, y


def test_grid_search_reaches_the_kernels():
    X, y = graph()
    model = vt.KronSVM(vt.Gaussian(), vt.Gaussian())
    search = GridSearchCV(model, {"start_kernel__gamma": [0.01, 1.0], "alpha": [0.1, 1.0]}, cv=3, scoring="roc_auc")
    search.fit(X, y)
    assert search.best_estimator_.start_kernel.gamma in (0.01, 1.0)
    assert model.start_kernel.gamma == "scale"
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_cross_validation_of_edges():
    X, y = graph()
    scores = cross_val_score(vt.KronLogistic("gaussian", "gaussian"), X, y, groups=X.start, cv=GroupKFold(4))
    assert scores.shape == (4,)
    predictions = cross_val_predict(vt.KronRidge("gaussian", "gaussian"), X, y, cv=3)
    assert predictions.shape == y.shape
    probabilities = cross_val_predict(vt.KronLogistic("gaussian", "gaussian"), X, y, cv=3, method="predict_proba")
    assert probabilities.shape == (len(y), 2)


def test_pipelines():
    X, y = graph()
    rows = np.hstack([X.start_table.features[X.start], X.end_table.features[X.end]])
    model = make_pipeline(StandardScaler(), vt.KronSVM("gaussian", "gaussian", n_start_features=1))
    model.set_output(transform="pandas")
    assert model.fit(rows, y).predict(rows).shape == y.shape
    assert_columns = model[-1].feature_names_in_
    assert len(assert_columns) == 2


def test_an_interrupted_fit_leaves_the_old_model():
    X, y = graph()
    model = vt.KronSVM("gaussian", "gaussian").fit(X, y)
    before = model.decision_function(X)

    def interrupt(A, B):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.set_params(start_kernel=interrupt).fit(X, y)
    assert (model.decision_function(X) == before).all()
    assert pickle.loads(pickle.dumps(clone(model.set_params(start_kernel="gaussian")))).alpha == 1.0


def test_estimators_can_be_subclassed():
    class Plain(vt.KronRidge):
        pass

    class Own(Plain):
        def __init__(self, start_kernel="linear", end_kernel="linear", *, alpha=2.0):
            super().__init__(start_kernel, end_kernel, alpha=alpha)

    class Further(Own):
        pass

    X, y = vt.datasets.make_checkerboard(20, random_state=0)
    assert Plain(alpha=3.0).fit(X, y).get_params()["alpha"] == 3.0
    assert Further().fit(X, y).alpha == 2.0
    assert repr(clone(Further(alpha=4.0))) == "Further(alpha=4.0)"
