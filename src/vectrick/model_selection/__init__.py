"""Evaluation and tuning: splits by vertices, scorers, searches, paths over alpha, comparisons, calibration."""

from vectrick.estimators import register_estimator
from vectrick.model_selection.alpha_paths import AlphaPath, alpha_path
from vectrick.model_selection.baselines.comparison import compare
from vectrick.model_selection.baselines.models import baselines
from vectrick.model_selection.calibration.calibrated import Calibrated
from vectrick.model_selection.calibration.conformal import ConformalKron
from vectrick.model_selection.kernel_comparison import KernelComparison, compare_kernels
from vectrick.model_selection.leave_out import leave_out_predictions
from vectrick.model_selection.nested import NestedScore, nested_score
from vectrick.model_selection.scorers import get_scorer
from vectrick.model_selection.search import vertex_search
from vectrick.model_selection.splitting.clusters import ClusterKFold
from vectrick.model_selection.splitting.parts import PartKFold
from vectrick.model_selection.splitting.split import VertexSplit, vertex_split
from vectrick.model_selection.splitting.splitters import VertexKFold

for _kind in (Calibrated, ConformalKron):
    register_estimator(_kind)

__all__ = [
    "AlphaPath",
    "Calibrated",
    "ClusterKFold",
    "ConformalKron",
    "KernelComparison",
    "NestedScore",
    "PartKFold",
    "VertexKFold",
    "VertexSplit",
    "alpha_path",
    "baselines",
    "compare",
    "compare_kernels",
    "get_scorer",
    "leave_out_predictions",
    "nested_score",
    "vertex_search",
    "vertex_split",
]
