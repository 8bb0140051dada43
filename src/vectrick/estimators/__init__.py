"""Kronecker kernel machines with the interface of scikit-learn; higher layers import only the names listed here."""

from vectrick.estimators.along_alpha import PathStep, fit_along
from vectrick.estimators.base import KronEstimator
from vectrick.estimators.callbacks import FitStep
from vectrick.estimators.files import load, register_estimator
from vectrick.estimators.libsvm import from_svc
from vectrick.estimators.logistic import KronLogistic
from vectrick.estimators.parameters import LATER, check_parameters
from vectrick.estimators.ranker import KronRanker
from vectrick.estimators.ridge import KronRidge
from vectrick.estimators.svm import KronSVM
from vectrick.estimators.validate import as_edges, as_real_labels
from vectrick.models.files.container import ModelFileError

for _kind in (KronLogistic, KronRanker, KronRidge, KronSVM):
    register_estimator(_kind)

__all__ = [
    "LATER",
    "FitStep",
    "KronEstimator",
    "KronLogistic",
    "KronRanker",
    "KronRidge",
    "KronSVM",
    "ModelFileError",
    "PathStep",
    "as_edges",
    "as_real_labels",
    "check_parameters",
    "fit_along",
    "from_svc",
    "load",
]
