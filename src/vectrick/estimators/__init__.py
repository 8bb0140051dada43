"""Kronecker kernel machines with the interface of scikit-learn."""

from vectrick.estimators.container import ModelFileError
from vectrick.estimators.libsvm import from_svc
from vectrick.estimators.loading import load
from vectrick.estimators.logistic import KronLogistic
from vectrick.estimators.ranker import KronRanker
from vectrick.estimators.ridge import KronRidge
from vectrick.estimators.svm import KronSVM

__all__ = ["KronLogistic", "KronRanker", "KronRidge", "KronSVM", "ModelFileError", "from_svc", "load"]
