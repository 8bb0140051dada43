"""Explanations by view: which kernel in a sum of kernels of a side carried a prediction."""

from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.backends import HOST
from vectrick.backends.arrays import to_host
from vectrick.data import Edges, Graph, VertexTable
from vectrick.inference.uncertainty import numbers_of
from vectrick.kernels import Kernel, Scaled, Sum
from vectrick.kernels.text import format_kernel
from vectrick.models.edge_kernel import EdgeKernel
from vectrick.models.limits import checked_features
from vectrick.models.vertex_kernel import VertexKernel
from vectrick.training.fitted import Fitted
from vectrick.training.update import source_of


def by_views(model: Fitted, x: Edges, coefficients: list[Array], k: int) -> tuple[Any, float]:
    """Return a frame of pairs of views, a summand of each side's kernel, and the sum of their contributions.

    The kernel of edges is a product of sums, so it is the sum over all pairs of a start view and an end view.
    """
    import pandas as pd

    edges, _ = source_of(model)
    rows: dict[tuple[str, str], float] = {}
    for (weight, part), a in zip(model._parts, coefficients, strict=True):
        kernel: EdgeKernel = part.predictor_.on(HOST).kernel
        if not kernel.is_product or kernel.start.projection is not None or kernel.end.projection is not None:
            raise ValueError(
                f"by is 'view', but this requires one product of positive semi-definite kernels, and the kernel is "
                f"{kernel.words}; use by='edge', 'start' or 'end'"
            )
        graph = Graph.of(x)
        starts = _values(kernel.start, x.start_table, graph.used_start, edges.start)
        ends = _values(kernel.end, x.end_table, graph.used_end, edges.end)
        for first, of_start in starts.items():
            for second, of_end in ends.items():
                value = weight * float(a @ (of_start * of_end))
                rows[first, second] = rows.get((first, second), 0.0) + value
    order = sorted(rows, key=lambda pair: -abs(rows[pair]))[:k]
    columns = {
        "what": "views",
        "start": [first for first, _ in order],
        "end": [second for _, second in order],
        "contribution": [rows[pair] for pair in order],
    }
    return pd.DataFrame(columns), float(sum(rows.values()))


def _values(side: VertexKernel, table: VertexTable, used: Array, vertices: Array) -> dict[str, Array]:
    """Return the values of each view between a vertex and the vertices of the training edges."""
    features = checked_features(table, used)
    places = numbers_of(side)[vertices]
    found: dict[str, Array] = {}
    for view, weight in _views(side.kernel, 1.0):
        values = weight * np.asarray(to_host(view(features, side.vertices)))[0][places]
        name = format_kernel(view)
        found[name] = found[name] + values if name in found else values
    return found


def _views(kernel: Kernel, weight: float) -> list[tuple[Kernel, float]]:
    """Return the summands of a kernel with their weights."""
    if isinstance(kernel, Sum):
        return _views(kernel.first, weight) + _views(kernel.second, weight)
    if isinstance(kernel, Scaled):
        return _views(kernel.kernel, weight * kernel.weight)
    return [(kernel, weight)]
