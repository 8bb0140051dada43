"""Kronecker kernel machines with the interface of scikit-learn; higher layers import only the names listed here."""

from vectrick.estimators.along_alpha import PathStep, fit_along
from vectrick.estimators.base import KronEstimator
from vectrick.estimators.callbacks import FitStep
from vectrick.estimators.composite_files import frame_header, read_frame
from vectrick.estimators.data_warnings import warn_of_data
from vectrick.estimators.files import load, register_estimator, save_model
from vectrick.estimators.fit_parameters import FitParameters
from vectrick.estimators.fitted import FittedModel
from vectrick.estimators.holding_out import vertices_only_in
from vectrick.estimators.intercepts import has_intercept
from vectrick.estimators.lake_fit import engine_of
from vectrick.estimators.lake_scores import score_lake
from vectrick.estimators.libsvm import from_svc
from vectrick.estimators.logistic import KronLogistic
from vectrick.estimators.parameters import LATER, check_parameters
from vectrick.estimators.ranker import KronRanker
from vectrick.estimators.refit import with_iterations
from vectrick.estimators.ridge import KronRidge
from vectrick.estimators.several_classes import SeveralClassesError
from vectrick.estimators.streamed import fit_lake_along
from vectrick.estimators.suggestions import suggest
from vectrick.estimators.svm import KronSVM
from vectrick.estimators.training import SourceEdges
from vectrick.estimators.uncertainty import N_SAMPLES, label_scale, novelty_of, with_uncertainty
from vectrick.estimators.update import joined_source
from vectrick.estimators.validate import as_classes, as_edges, as_real_labels, as_weights, labels_on
from vectrick.models.files.container import ModelFileError

for _kind in (KronLogistic, KronRanker, KronRidge, KronSVM):
    register_estimator(_kind)

__all__ = [
    "LATER",
    "N_SAMPLES",
    "FitParameters",
    "FitStep",
    "FittedModel",
    "KronEstimator",
    "KronLogistic",
    "KronRanker",
    "KronRidge",
    "KronSVM",
    "ModelFileError",
    "PathStep",
    "SeveralClassesError",
    "SourceEdges",
    "as_classes",
    "as_edges",
    "as_real_labels",
    "as_weights",
    "check_parameters",
    "engine_of",
    "fit_along",
    "fit_lake_along",
    "frame_header",
    "from_svc",
    "has_intercept",
    "joined_source",
    "label_scale",
    "labels_on",
    "load",
    "novelty_of",
    "read_frame",
    "register_estimator",
    "save_model",
    "score_lake",
    "suggest",
    "vertices_only_in",
    "warn_of_data",
    "with_iterations",
    "with_uncertainty",
]
