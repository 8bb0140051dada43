"""Labeled bipartite graphs: edges, vertex tables, and which edges a split of the vertices keeps."""

from vectrick.data.edges import Edges
from vectrick.data.splits import hold_out_vertices
from vectrick.data.tables import VertexTable

__all__ = ["Edges", "VertexTable", "hold_out_vertices"]
