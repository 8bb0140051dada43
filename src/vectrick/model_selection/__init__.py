"""Honest evaluation: splits by vertices, scorers, paths over alpha, nested tuning, shortcuts, comparisons."""

from vectrick.model_selection.paths import AlphaPath, alpha_path
from vectrick.model_selection.splitters import VertexKFold, VertexSplit, vertex_split

__all__ = ["AlphaPath", "VertexKFold", "VertexSplit", "alpha_path", "vertex_split"]
