"""Leave-one-out predictions of ridge regression on complete graphs, without training again."""

import numpy as np

from vectrick._typing import Array, ArrayLike
from vectrick.backends.arrays import to_host
from vectrick.data import Edges, EdgesLike
from vectrick.estimators import KronRidge
from vectrick.kernels import as_kernel
from vectrick.losses import Squared
from vectrick.solvers.closed_forms.leave_out import LEAVE, leave_out
from vectrick.training.prepare import prepare


def leave_out_predictions(estimator: KronRidge, X: EdgesLike, y: ArrayLike, leave: str = "both") -> Array:
    """Return, for every edge of a complete graph, the prediction of a model that was trained without it.

    The closed form takes one eigendecomposition of each kernel. For "both", it takes an eigendecomposition for each
    vertex of the smaller side. Training again would take a model for every edge or vertex.

    Parameters
    ----------
    estimator : KronRidge
        The estimator, without intercept (``fit_intercept="auto"`` means none here). Its kernels and its alpha are used;
        it is not changed. What kernels learn from the features of vertices (``gamma="scale"``, the scales of
        `Standardized`, transformers in `On`) is computed once, from all vertices.
    X, y : Edges or array, array
        A complete graph, with every pair of a start and an end vertex once, and its labels.
    leave : str
        The edges left out to predict an edge: "edge" means the edge itself, "start" all edges of its start vertex,
        "end" all edges of its end vertex, "both" all edges of either vertex (the zero-shot setting).

    Returns
    -------
    array
        A prediction for each edge, in the order of X.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> rng = np.random.default_rng(0)
    >>> X = vt.Edges.grid(rng.standard_normal((20, 3)), rng.standard_normal((15, 2)))
    >>> y = rng.standard_normal(300)
    >>> ridge, without = vt.KronRidge(vt.Gaussian(0.5), vt.Gaussian(0.5), alpha=0.1, fit_intercept=False), X.start != 7
    >>> predicted = vt.leave_out_predictions(ridge, X, y, leave="start")
    >>> bool(np.allclose(predicted[~without], ridge.fit(X[without], y[without]).predict(X[~without])))
    True
    """
    if not isinstance(estimator, KronRidge):
        raise TypeError(f"estimator is of type {type(estimator).__name__}, but it must be a KronRidge")
    if estimator._loss_type is not Squared:
        raise ValueError(f"loss is {estimator.loss!r}, but the closed form is for the squared loss")
    if leave not in LEAVE:
        raise ValueError(f"leave is {leave!r}, but it must be one of {', '.join(map(repr, LEAVE))}")
    kernels = [as_kernel(getattr(estimator, f"{side}_kernel"), f"{side}_kernel") for side in ("start", "end")]
    if any(kernel.needs_labels for kernel in kernels):
        raise ValueError("a Profile kernel is made of labels, including the labels to leave out; use cross_val_predict")
    if estimator.fit_intercept is True:
        raise ValueError("fit_intercept is True, but the closed form is for models without intercept")
    ridge = KronRidge(**estimator.get_params(deep=False))
    ridge.set_params(early_stopping=False, backend="cpu", device=None, precision="full")  # decompositions on the host
    on_host = X.on(None) if isinstance(X, Edges) else to_host(X)
    training = prepare(ridge, on_host, to_host(y), None, None)
    if not training.kernel.is_product or training.given.spec.two_step is not None:
        raise ValueError(
            f"pairwise is {estimator.pairwise!r}, but the closed form is for one Kronecker product, 'kronecker'; use "
            "cross_val_predict with vt.VertexKFold(...)"
        )
    graph, start, end = training.graph, training.kernel.start, training.kernel.end
    if training.given.edges.is_one_set and leave != "edge":
        raise ValueError(
            f"leave is {leave!r} and both ends come from one vertex set, but a vertex that is left out on one side "
            "would stay on the other; only leave='edge' has a closed form here"
        )
    m, q = len(graph.used_start), len(graph.used_end)
    if not graph.is_complete:
        raise ValueError(
            f"X has {len(graph.start)} edges between {m} start and {q} end vertices, but the closed form is for "
            f"complete graphs, where each of the {m * q} pairs is an edge once; use cross_val_predict with "
            "vt.VertexKFold(...)"
        )
    for side, count in (("start", m), ("end", q)):
        if leave in ("both", side) and count < 2:
            raise ValueError(f"leave is {leave!r}, but there is only one {side} vertex")
    for vertex_kernel in (start, end):
        K, vertices = vertex_kernel.matrix, vertex_kernel.vertices
        if not np.allclose(K, vertex_kernel.kernel(vertices, vertices), atol=1e-6 * np.abs(K).max()):
            raise ValueError(
                f"{vertex_kernel.name}_kernel is not symmetric and positive semi-definite; it was repaired with all "
                "vertices, including those left out, so the closed form would differ from training again"
            )
    Y = np.empty((m, q))
    Y[graph.start, graph.end] = training.loss.y
    predicted = leave_out(start.matrix, end.matrix, Y, float(estimator.alpha), leave)
    return np.asarray(predicted[graph.start, graph.end])
