"""Labeled bipartite graphs: edges, vertex tables, graphs of numbered vertices, and splits by vertices."""

from vectrick.data.complaints import DataWarning
from vectrick.data.edges import Edges, EdgesLike
from vectrick.data.graph import Graph, TrainedEdges
from vectrick.data.joined import join_edges
from vectrick.data.pairs import Pairs
from vectrick.data.splits import hold_out_vertices
from vectrick.data.tables import VertexTable

__all__ = [
    "DataWarning",
    "Edges",
    "EdgesLike",
    "Graph",
    "Pairs",
    "TrainedEdges",
    "VertexTable",
    "hold_out_vertices",
    "join_edges",
]
