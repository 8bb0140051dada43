"""Kronecker kernel machines with the interface of scikit-learn; higher layers import only the names listed here."""

from vectrick.estimators.base import KronEstimator
from vectrick.estimators.fit_parameters import FitParameters
from vectrick.estimators.fitted import FittedModel
from vectrick.estimators.libsvm import from_svc
from vectrick.estimators.logistic import KronLogistic
from vectrick.estimators.paths import PathStep, fit_along
from vectrick.estimators.ranker import KronRanker
from vectrick.estimators.ridge import KronRidge
from vectrick.estimators.svm import KronSVM
from vectrick.inference.suggest import suggest
from vectrick.inference.uncertainty import N_SAMPLES, label_scale, novelty_of, with_uncertainty
from vectrick.persistence.composites import frame_header, read_frame
from vectrick.persistence.container import ModelFileError
from vectrick.persistence.models import save_model
from vectrick.persistence.reading import load, register_estimator
from vectrick.streaming.fit import fit_lake_along
from vectrick.streaming.scores import score_lake
from vectrick.streaming.solve import engine_of
from vectrick.training.checks import warn_of_data
from vectrick.training.holding_out import vertices_only_in, with_iterations
from vectrick.training.monitor import FitStep
from vectrick.training.one_vs_rest import SeveralClassesError
from vectrick.training.parameters import DEFAULTS_OF_OLDER_FILES, check_parameters, has_intercept
from vectrick.training.problem import SourceEdges
from vectrick.training.update import joined_source, source_of
from vectrick.training.validate import as_classes, as_edges, as_real_labels, as_weights, labels_on

for _kind in (KronLogistic, KronRanker, KronRidge, KronSVM):
    register_estimator(_kind)

__all__ = [
    "DEFAULTS_OF_OLDER_FILES",
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
    "source_of",
    "suggest",
    "vertices_only_in",
    "warn_of_data",
    "with_iterations",
    "with_uncertainty",
]
