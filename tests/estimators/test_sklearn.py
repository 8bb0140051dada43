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


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
