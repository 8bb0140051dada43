"""Honest evaluation: splits by vertices, scorers, paths over alpha, nested tuning, shortcuts, comparisons."""

from vectrick.model_selection.alpha_paths import AlphaPath, alpha_path
from vectrick.model_selection.baselines import baselines
from vectrick.model_selection.comparison import compare
from vectrick.model_selection.kernel_comparison import KernelComparison, compare_kernels
from vectrick.model_selection.leave_out import leave_out_predictions
from vectrick.model_selection.nested import NestedScore, nested_score
from vectrick.model_selection.scorers import get_scorer
from vectrick.model_selection.search import vertex_search
from vectrick.model_selection.split import VertexSplit, vertex_split
from vectrick.model_selection.splitters import VertexKFold

__all__ = [
    "AlphaPath",
    "KernelComparison",
    "NestedScore",
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
