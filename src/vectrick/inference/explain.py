"""Explanations of predictions: the contributions of training edges, vertices or features."""

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
from scipy.sparse import csr_array, issparse

from vectrick._typing import Array, ExplainBy, Frame
from vectrick.backends import HOST
from vectrick.backends.arrays import to_host
from vectrick.data import Edges, EdgesLike, Graph, VertexTable
from vectrick.data.censored import split_bounds
from vectrick.inference.by_view import by_views
from vectrick.inference.fitted_kernel import diagonal_of
from vectrick.inference.recommend import names_of
from vectrick.inference.uncertainty import (
    cached_with_fit,
    numbers_of,
    on_host,
)
from vectrick.inference.without import each_without, trained_edges
from vectrick.kernels.text import format_kernel
from vectrick.models.edge_kernel import EdgeKernel
from vectrick.models.limits import checked_features
from vectrick.models.pairwise import PairwisePredictor
from vectrick.models.product import DualPredictor
from vectrick.training.fitted import Fitted, Machine
from vectrick.training.update import source_of

BY = get_args(ExplainBy)
_LOOKED_AT, _FAR = 1000, 0.1  # edges to check, and the largest relative error of their predictions


def explain(model: Fitted, X: EdgesLike, k: int, by: ExplainBy, influence: bool) -> Frame:
    """Return a frame of the contributions to the prediction for one edge; see `FittedModel.explain`."""
    if by not in BY:
        raise ValueError(f"by is {by!r}, but it must be one of {', '.join(map(repr, BY))}")
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ValueError(f"k is {k!r}, but it must be a positive integer")
    if influence and by != "edge":
        raise ValueError(
            f"influence is True and by is {by!r}, but influence requires by='edge'; "
            "model.predict_without(X, start=...) leaves out a vertex"
        )
    if model._machines:
        raise ValueError(model._why_one_machine())
    edges, coefficients = on_host(model, X), _coefficients(model)
    if len(edges) != 1:
        raise ValueError(f"X has {len(edges)} edges, but one edge is explained at a time: X[i:i+1]")
    prediction = float(to_host(model._decide(edges))[0])
    if by == "features":
        frame, total = _by_features(model, edges, coefficients, k)
    elif by == "view":
        frame, total = by_views(model, edges, coefficients, k)
    else:
        frame, total = _by_edges(model, edges, coefficients, k, by)
    if influence:
        frame["without"] = each_without(model, edges, frame, prediction)
    frame = _with_rest(frame.drop(columns="row", errors="ignore"), total, float(model.intercept_), prediction)
    frame.attrs["prediction"] = prediction
    return frame


def _with_rest(frame: Frame, total: float, intercept: float, prediction: float) -> Any:
    """Add the sum of the other contributions, the intercept, and the residual of the solver."""
    import pandas as pd

    rest = {
        "the rest": total - frame["contribution"].sum(),
        "intercept": intercept,
        "left by the solver": prediction - intercept - total,
    }
    more = pd.DataFrame({"what": list(rest), "contribution": list(rest.values())}).reindex(columns=frame.columns)
    ids = {name: object for name in ("start", "end") if name in frame}  # ids stay integers next to empty cells
    counts = {"edges": "Int64"} if "edges" in frame else {}
    both = [part.astype({**ids, **counts}) for part in (frame, more)]
    joined = pd.concat([part.dropna(axis=1, how="all") for part in both], ignore_index=True)
    return joined.reindex(columns=list(frame.columns))  # a model of zeros has no listed contributions


# Contributions


def _coefficients(model: Fitted) -> list[Array]:
    """Return the coefficients of the training edges, for each part of a model."""
    found: list[Array] = cached_with_fit(model, "dual", lambda: [_dual(part, model) for _, part in model._parts])
    return found


def _dual(part: Machine, owner: Fitted) -> Array:
    """Return the dual coefficients of all edges that were given to a fit.

    At the minimum they are ``aᵢ = -L'(pᵢ) / alpha``. If the kernel matrix is singular, other coefficients give the
    same function, and a solver may return any of them. Therefore the solver's coefficients are used only if it stopped
    before the minimum, if the loss has no gradient, or if the kernel is two-step.
    """
    edges, source = source_of(owner)
    a = np.zeros(len(edges))
    predictor = part.predictor_.on(HOST)
    is_minimum = part.solution_.converged and part._loss_type.is_smooth and not predictor.kernel.is_two_step
    known = getattr(part, "dual_coef_", part.__dict__.get("_dual_of_primal"))
    if not is_minimum and known is not None:
        dual = np.asarray(to_host(known), np.float64)
        a[: len(dual)] = dual
        return a
    if not part._loss_type.is_smooth:
        raise ValueError(
            f"the loss {part._loss_type.name!r} has no gradient, and the model keeps no dual coefficients: it was "
            "stopped early in primal form, or saved by an earlier version; fit it again with form='dual'"
        )
    kept = trained_edges(part, owner)
    weight = None if source.weight is None else np.asarray(to_host(source.weight), np.float64)
    trained = edges[kept]
    values, bounds = split_bounds(np.asarray(to_host(source.labels))[kept])
    labels = _as_numbers(owner, values)
    loss = part._make_loss(part._loss_type, labels, None if weight is None else weight[kept], trained, bounds)
    f = predictor.predict(trained).astype(np.float64)
    a[kept] = -loss.gradient(f + part.intercept_) / part.alpha
    if not is_minimum:
        _check_explains(part, trained, a[kept], f)
    return a


def _check_explains(part: Machine, trained: Edges, a: Array, f: Array) -> None:
    """Raise an error if the coefficients do not give the function of a fit that stopped before the minimum."""
    kernel = part.predictor_.on(HOST).kernel
    start, end = numbers_of(kernel.start)[trained.start], numbers_of(kernel.end)[trained.end]
    some = np.linspace(0, len(f) - 1, min(len(f), _LOOKED_AT)).astype(int)
    made = DualPredictor(kernel, Graph(start, end, kernel.start.used, kernel.end.used), a, part.n_threads)
    error = np.abs(made.predict(trained[some]) - f[some]).max()
    if error > _FAR * np.abs(f[some]).max():
        raise ValueError(
            f"the model is in primal form, and its fit ended before the minimum ({part.solution_.reason}), so it has "
            "no coefficients of training edges to explain it by; fit it with form='dual', or to convergence"
        )


def _as_numbers(owner: Fitted, labels: Array) -> Array:
    """Return labels as numbers for a loss; two classes become -1 and +1."""
    if hasattr(owner, "classes_"):
        result: Array = 2.0 * (labels == np.asarray(owner.classes_)[1]) - 1.0
        return result
    return labels.astype(np.float64)


def _kernel_values(kernel: EdgeKernel, x: Edges, edges: Edges, a: Array) -> tuple[Array, Array | None, Array | None]:
    """Return the kernel values between an edge and the training edges, and for a product also of both vertices."""
    places = numbers_of(kernel.start)[edges.start], numbers_of(kernel.end)[edges.end]
    if kernel.is_product:
        first, second = _ends(kernel, x)
        of_start, of_end = first[places[0]], second[places[1]]
        return of_start * of_end, of_start, of_end
    taken = np.flatnonzero(a)
    graph = Graph(places[0][taken], places[1][taken], kernel.start.used, kernel.end.used)
    values = np.zeros(len(edges))
    values[taken] = PairwisePredictor(kernel, graph, a[taken], 1).operator(x).T @ np.ones(1)
    return values, None, None


def _relative(kernel: EdgeKernel, x: Edges, edges: Edges, values: Sequence[Any]) -> list[Array]:
    """Return the kernel values of both vertices relative to the values of vertices with themselves, at most one."""
    graph, relative = Graph.of(x), []
    sides = (
        (kernel.start, x.start_table, graph.used_start, edges.start),
        (kernel.end, x.end_table, graph.used_end, edges.end),
    )
    for (side, table, used, vertices), some in zip(sides, values, strict=True):
        own, known = float(diagonal_of(side, table, used)[0]), side.matrix.diagonal()[numbers_of(side)[vertices]]
        relative.append(some / np.sqrt(np.maximum(own * known, 1e-300)))
    return relative


def _ends(kernel: EdgeKernel, x: Edges) -> tuple[Array, Array]:
    """Return the kernel values of both vertices of an edge with the training vertices of their side."""
    graph = Graph.of(x)
    first = kernel.start.rows(checked_features(x.start_table, graph.used_start))[0]
    return first, kernel.end.rows(checked_features(x.end_table, graph.used_end))[0]


def _by_edges(model: Fitted, x: Edges, coefficients: list[Array], k: int, by: ExplainBy) -> tuple[Any, float]:
    """Return a frame of training edges, or of the training vertices of a side, and the sum of all contributions."""
    import pandas as pd

    edges, source = source_of(model)
    total = np.zeros(len(edges))
    weights = np.array([abs(weight) for weight, _ in model._parts])
    shares = weights / max(weights.sum(), 1e-300)
    ends: Sequence[Any] = (0.0, 0.0)
    for (weight, part), a, share in zip(model._parts, coefficients, shares, strict=True):
        kernel = part.predictor_.on(HOST).kernel
        values, *both_ends = _kernel_values(kernel, x, edges, a)
        of_ends: Sequence[Any] = both_ends
        total += weight * a * values
        if len(shares) > 1 and of_ends[0] is not None:  # kernels of different models have different scales
            of_ends = _relative(kernel, x, edges, of_ends)
        ends = [
            None if old is None or new is None else old + share * new for old, new in zip(ends, of_ends, strict=True)
        ]
    labels = split_bounds(np.asarray(to_host(source.labels)))[0]
    names = (names_of(edges.start_table), names_of(edges.end_table))
    both = {"start": (edges.start, names[0], ends[0]), "end": (edges.end, names[1], ends[1])}
    if by == "edge":
        best = _largest(total, k)
        columns = {"what": "edge", "row": best, "start": names[0][edges.start[best]], "end": names[1][edges.end[best]]}
        columns["label"] = labels[best]
        for side, (_, _, values) in both.items():
            if values is not None:
                columns[f"{side}_kernel"] = values[best]
        return pd.DataFrame({**columns, "contribution": total[best]}), float(total.sum())
    vertices, ids, values = both[by]
    sums: Array = np.bincount(vertices, total, len(ids))
    counts = np.bincount(vertices, coefficients[0] != 0 if len(coefficients) == 1 else None, len(ids)).astype(np.int64)
    if model.predictor_.kernel.symmetry:  # edges have no direction, so each vertex gets half
        other = edges.end if by == "start" else edges.start
        sums = 0.5 * (sums + np.bincount(other, total, len(ids)))
        counts += np.bincount(other, coefficients[0] != 0, len(ids)).astype(np.int64)
    best = _largest(sums, k)
    best = best[counts[best] > 0]
    columns = {"what": f"{by} vertex", by: ids[best], "edges": counts[best]}
    if values is not None:
        at = np.zeros(len(ids))
        at[vertices] = values
        columns["kernel"] = at[best]
    return pd.DataFrame({**columns, "contribution": sums[best]}), float(total.sum())


def _largest(values: Array, k: int) -> Array:
    """Return the places of the k largest absolute values, the largest first."""
    sizes = np.abs(values)
    some = np.argpartition(-sizes, min(k, len(sizes)) - 1)[:k] if len(sizes) else np.zeros(0, np.int64)
    return some[np.argsort(-sizes[some], kind="stable")]


def _by_features(model: Fitted, x: Edges, coefficients: list[Array], k: int) -> tuple[Any, float]:
    """Return a frame of pairs of features, for kernels that are linear in them."""
    import pandas as pd

    edges, _ = source_of(model)
    for table in (x.start_table, x.end_table):
        if table.text is not None:
            raise ValueError(
                f"by is 'features', but the vertices of {table.name} are strings; use by='edge', 'start' or 'end'"
            )
    shape = x.start_table.n_features, x.end_table.n_features
    contributions = np.zeros(shape)
    for (weight, part), a in zip(model._parts, coefficients, strict=True):
        kernel = part.predictor_.on(HOST).kernel
        sides = [_features_of(kernel, side, x) for side in ("start", "end")]
        (first, own_first), (second, own_second) = sides
        places = numbers_of(kernel.start)[edges.start], numbers_of(kernel.end)[edges.end]
        taken = np.flatnonzero(a)
        core = csr_array((a[taken], (places[0][taken], places[1][taken])), (first.shape[0], second.shape[0]))
        contributions += weight * own_first[:, None] * (first.T @ (core @ second)) * own_second
    best = _largest(contributions.ravel(), k)
    i, j = np.unravel_index(best, shape)
    graph = Graph.of(x)
    values = [_dense(checked_features(table, used))[0]
              for table, used in ((x.start_table, graph.used_start), (x.end_table, graph.used_end))]  # fmt: skip
    columns = {
        "what": "features", "start": _columns(x.start_table)[i], "end": _columns(x.end_table)[j],
        "start_value": values[0][i], "end_value": values[1][j], "contribution": contributions[i, j],
    }  # fmt: skip
    return pd.DataFrame(columns), float(contributions.sum())


def _features_of(kernel: EdgeKernel, side: str, x: Edges) -> tuple[Array, Array]:
    """Return the features of the training vertices of a side, and of the vertex of an edge."""
    own, graph = getattr(kernel, side), Graph.of(x)
    table, used = getattr(x, f"{side}_table"), getattr(graph, f"used_{side}")
    known = own.kernel.features(checked_features(own.known, own.used)) if kernel.is_product else None
    if known is None or known.shape[1] != table.n_features:
        words = format_kernel(own.kernel) if kernel.is_product else kernel.words
        raise ValueError(
            f"by is 'features', but this requires kernels that are linear in the columns of the tables, and the {side} "
            f"kernel is {words}; use by='edge', 'start' or 'end'"
        )
    return _dense(known), _dense(own.kernel.features(checked_features(table, used)))[0]


def _dense(values: Any) -> Array:
    return np.asarray(values.toarray() if issparse(values) else values, np.float64)


def _columns(table: VertexTable) -> Array:
    return np.arange(table.n_features) if table.columns is None else np.asarray(table.columns, object)
