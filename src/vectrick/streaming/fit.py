"""Fitting an estimator to a lake: passes over blocks of edges instead of products with edges in memory."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from vectrick._typing import Array, ArrayLike, DTypeLike
from vectrick.backends.memory import format_bytes
from vectrick.data.lake.counts import Counts
from vectrick.data.lake.scan import ScannedEdges
from vectrick.data.source import is_lake
from vectrick.losses import Loss, Pointwise, RankRLS
from vectrick.models.edge_kernel import EdgeKernel
from vectrick.models.kernel_spec import KernelSpec
from vectrick.models.product import PrimalPredictor
from vectrick.models.vertex_kernel import VertexKernel
from vectrick.objectives.risks import Sides
from vectrick.passes.tasks import Coding, VertexSums
from vectrick.solvers import OnePass, Solution, as_solver
from vectrick.solvers.solution import INTERRUPTED
from vectrick.streaming.features import expected_rank, features_of, lake_side
from vectrick.streaming.scores import LakeValidation, check_known_classes
from vectrick.streaming.solve import Lake, LakeFit, engine_of
from vectrick.training.fitted import Machine, Trainable
from vectrick.training.holding_out import train_on_all
from vectrick.training.monitor import FitControls, Monitor, why_ended
from vectrick.training.one_vs_rest import set_machines, stopping_all
from vectrick.training.parameters import check_parameters, has_intercept

SOLVERS = ("auto", "cg", "newton", "one-pass")
_COPIES = 3  # of the features of a side: of the table, of the training vertices, and in the dtype of the computation
_TRAINING_SHARE = 0.75  # of the memory, if validation edges are kept as well
_BUFFERS = 30  # bytes for each edge of a partition while it is read and sorted, or waits to be used


def fit_lake(
    model: Trainable,
    X: ScannedEdges,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None,
    validation: ScannedEdges | None,
    watch: FitControls,
) -> Any:
    """Train an estimator on the edges of a lake with the arguments of `fit`, and return it."""
    given = {"y": y, "sample_weight": sample_weight, "resume": watch.resume}
    for name, value in given.items():
        if value is not None:
            instead = "leave it out" if name == "resume" else "name their column in vt.scan_edges"
            raise ValueError(f"{name} is given, but X is a lake; {instead}")
    if validation is not None and not is_lake(validation):
        raise ValueError(
            f"validation is of type {type(validation).__name__}, but it must be a lake, for example from X.split()"
        )
    if validation is not None and validation.reader.label is None:
        raise ValueError("validation was scanned with label=None, but a score needs labels; name their column")
    fit_streamed(model, X, watch, validation)
    return model


def fit_lake_against_rest(
    model: Trainable,
    classes: Array,
    X: ScannedEdges,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None,
    validation: ScannedEdges | None,
    **watch: Any,
) -> None:
    """Train a one-vs-rest model for each class; all of them use the same blocks."""
    watch["callback"] = stopping_all(watch.get("callback"))
    parts = _parts(model, X, validation)
    machines = []
    try:
        for label in classes:
            machine = clone(model)
            _train(machine, *parts, FitControls(**watch), label)
            machines.append(machine)
    finally:
        _close(X, *parts)
    interrupted = any(machine.solution_.reason.startswith(INTERRUPTED) for machine in machines)
    if model.refit and parts[0] is not X and not interrupted:
        for machine, label in zip(machines, classes, strict=True):
            train_on_all(machine, lambda fixed, label=label: _train(fixed, X, None, FitControls(), label))  # type: ignore[misc]
    for machine in machines:
        machine.classes_ = np.array([False, True])
    set_machines(model, machines)
    model.classes_ = classes
    model._source = None


def fit_streamed(
    model: Trainable,
    X: ScannedEdges,
    watch: FitControls,
    held: ScannedEdges | None = None,
    positive: float | None = None,
) -> None:
    """Train an estimator on the edges of a lake; ``positive`` is the class of a one-vs-rest model.

    Early stopping scores each iteration on ``held``, or on held-out vertices of the lake.
    """
    train, held = parts = _parts(model, X, held)
    try:
        _train(model, *parts, watch, positive)
    finally:
        _close(X, *parts)
    if model.refit and train is not X:
        train_on_all(model, lambda fixed: _train(fixed, X, None, FitControls(), positive))


def _parts(model: Trainable, X: ScannedEdges, held: ScannedEdges | None) -> tuple[ScannedEdges, ScannedEdges | None]:
    """Return the edges to train on, and the edges for early stopping."""
    check_lake_fit(model, X)
    if held is None and model.early_stopping:
        return X.split("both", model.validation_fraction, model.random_state)
    return X, held


def _close(X: ScannedEdges, train: ScannedEdges, held: ScannedEdges | None) -> None:
    """Release the blocks of parts that were made here, before the whole lake is read."""
    if train is not X and held is not None:
        train.close()
        held.close()


def _train(model: Trainable, train: ScannedEdges, held: ScannedEdges | None, watch: FitControls, positive: Any) -> None:
    """Train on a part of a lake, and keep the best iteration."""
    spec, kind = check_lake_fit(model, train)
    lake = read_lake(model, train, spec, kind, positive, share=1.0 if held is None else _TRAINING_SHARE)
    if isinstance(lake.solver, OnePass):
        if held is not None:
            raise ValueError("solver is 'one-pass', but it makes no iterations to stop at; leave out early_stopping")
        _keep_one_pass(model, lake)
        return
    validation = None if held is None else _validation(model, lake, held)
    fit = LakeFit(model, lake)
    how: dict[str, Any] = {"watch": watch, "max_iter": fit.max_iter}
    monitor = Monitor(type(model).__name__, model.verbose, validation, model.n_iter_no_change, **how)
    solution = fit.watched(float(model.alpha), monitor)
    monitor.finish(solution)
    if solution.reason != INTERRUPTED:
        solution.warn("passes", model.tol)
    n_iter = solution.n_iter
    if monitor.best is not None:
        n_iter = monitor.best_iteration
        best: dict[str, Any] = {"x": monitor.best, "intercept": monitor.best_intercept}
        if n_iter != solution.n_iter:
            best |= {"converged": False, "reason": f"{why_ended(solution)}; the best was iteration {n_iter}"}
        solution = replace(solution, **best)
    keep(model, lake, solution, monitor.history, n_iter)


def fit_lake_along(
    model: Trainable, X: ScannedEdges, alphas: Sequence[float], validation: ScannedEdges | None = None
) -> list[tuple[Any, Solution, float]]:
    """Fit for every alpha after one reading of the lake; return the models, their solutions and validation scores.

    With ``solver="one-pass"``, one pass serves all alphas. Otherwise each fit starts from the solution of the next
    larger alpha.
    """
    spec, kind = check_lake_fit(model, X)
    train, held = (
        (X, validation) if validation is not None else X.split("both", model.validation_fraction, model.random_state)
    )
    lake = read_lake(model, train, spec, kind, share=_TRAINING_SHARE)
    fit, judge = LakeFit(model, lake), _validation(model, lake, held)
    found, before = [], None
    for alpha in sorted(alphas, reverse=True):
        own = clone(model).set_params(alpha=alpha)
        for name in ("classes_", "_has_two_labels"):
            if hasattr(model, name):
                setattr(own, name, getattr(model, name))
        before = fit.one_pass(alpha) if isinstance(lake.solver, OnePass) else fit.solve(alpha, start=before)
        keep(own, lake, before, {"iteration": [before.n_iter], "risk": [float("nan")], "seconds": [float("nan")]})
        found.append((own, before, judge.score(before.x, before.intercept)))
    return found[::-1]


def _validation(model: Machine, lake: Lake, held: ScannedEdges) -> LakeValidation:
    """Return held-out edges, with vertex features from the kernels and maps of the training edges."""
    engine = engine_of(model, held)
    counts = engine.read(int((1 - _TRAINING_SHARE) * _room(model, held, lake.spec, lake.sides[0].features.dtype)))
    features = [
        features_of(side.kernel, side.map, table, np.flatnonzero(degrees), side.features.dtype)
        for side, table, degrees in zip(
            lake.sides, (held.start_table, held.end_table), (counts.start, counts.end), strict=True
        )
    ]
    engine.set_features(*features)
    check_known_classes(model, counts)
    positive, labels = lake.coding.positive, counts.labels
    if positive is not None and labels is not None and (positive not in labels or len(labels) < 2):
        raise ValueError(
            f"the held-out edges have the label(s) {', '.join(f'{label:g}' for label in labels)} only, but a score "
            f"needs some with {positive:g} and some without; choose another validation_fraction or random_state"
        )
    scoring = model.scoring
    if scoring == "auto":
        scoring = model._lake_scoring(counts)
    return LakeValidation(engine, Sides(*features), scoring, lake.coding)


def check_lake_fit(model: Trainable, X: ScannedEdges) -> tuple[KernelSpec, type[Loss]]:
    """Raise an error for parameters that passes over a lake do not support; return the kernels and the loss."""
    spec, kind = check_parameters(model, None), model._loss_type
    if X.reader.label is None:
        raise ValueError("X was scanned with label=None, but training needs labels; name their column")
    solver = as_solver(model.solver)
    name = model.solver if isinstance(model.solver, str) else None
    wrong = (
        ("form", model.form == "dual", "a lake has the primal form only"),
        ("solver", name not in SOLVERS, f"for a lake it must be one of {', '.join(map(repr, SOLVERS))}"),
        (
            "pairwise",
            len(spec.components) == 1 and (not spec.is_product or spec.two_step is not None),
            "for a lake it must be 'kronecker'",
        ),
        ("preconditioner", model.preconditioner == "none", "passes over a lake are always preconditioned"),
        ("step", model.step is not None, "passes over a lake search for the step; leave it out"),
        ("loss", not kind.is_smooth, "a lake needs a smooth loss, such as 'squared_hinge'"),
    )
    if len(spec.components) > 1:
        raise ValueError(
            f"the kernel of edges is a sum of {len(spec.components)} pairwise kernels, but a lake takes one start "
            "kernel and one end kernel"
        )
    for parameter, is_wrong, why in wrong:
        if is_wrong:
            raise ValueError(f"{parameter} is {getattr(model, parameter)!r}, but {why}")
    if not (issubclass(kind, Pointwise) or kind is RankRLS):
        raise ValueError(f"the loss is {kind.__name__}, but a lake needs one that is a sum over edges (Pointwise)")
    if solver is not None:
        solver.check(kind)
    return spec, kind


def read_lake(
    model: Trainable,
    X: ScannedEdges,
    spec: KernelSpec,
    kind: type[Loss],
    positive: float | None = None,
    share: float = 1.0,
) -> Lake:
    """Read the edges into blocks, settle the kernels on the vertices with edges, and compute their features."""
    engine = engine_of(model, X)
    dtype = model._compute_dtype(X)
    counts = engine.read(int(share * _room(model, X, spec, dtype)))
    coding = _coding(model, X, counts, positive)
    degrees: Any = (counts.start.astype(np.float64), counts.end.astype(np.float64))
    if X.reader.weight is not None:
        sums = engine.total(VertexSums(X.reader.shape, with_labels=kind.of_classes))
        degrees = sums[:2] if engine.rows_are_start else sums[1::-1]
        _check_weights(X, counts, degrees[0].sum(), sums[2].sum() if kind.of_classes else None)
    sides = []
    kernels = zip((spec.start_kernels[0], spec.end_kernels[0]), ("start", "end"), degrees, strict=True)
    for (kernel, name, degree), table in zip(kernels, spec.tables(X.start_table, X.end_table), strict=True):
        settled = VertexKernel(kernel, name, table, np.flatnonzero(degree > 0))
        sides.append(lake_side(settled, model.n_components, model.landmarks, dtype))
    constant = has_intercept(model, spec, kind)
    solver = as_solver(model.solver)
    return Lake(X, engine, counts, spec, kind, solver, constant, coding, degrees, (sides[0], sides[1]))


def _check_weights(X: ScannedEdges, counts: Counts, total: float, labeled: float | None) -> None:
    """Raise an error if weights leave no edges or one class only; ``labeled`` is the sum of weights times labels."""
    name = X.reader.weight
    if not total > 0:
        raise ValueError(f"the weights in column {name!r} are all zero, so there is nothing to train on")
    if labeled is not None and counts.labels is not None and len(counts.labels) == 2:
        low, high = counts.labels
        share = (labeled / total - low) / (high - low)
        if not 1e-12 < share < 1 - 1e-12:
            raise ValueError(f"column {name!r} is zero for all edges of one class, but a classifier needs two")


def needed_bytes(model: Machine, X: ScannedEdges, spec: KernelSpec, dtype: DTypeLike) -> int:
    """Return the bytes of the features, the workspace of a pass, and partitions that are read or wait to be used."""
    tables = (X.start_table, X.end_table)
    kernels = (spec.start_kernels[0], spec.end_kernels[0])
    ranks = [expected_rank(kernel, table, model.n_components) for kernel, table in zip(kernels, tables, strict=True)]
    of_features = sum(_COPIES * len(table) * rank for table, rank in zip(tables, ranks, strict=True))
    of_pass = 2 * min(len(table) for table in tables) * max(ranks)
    largest = max((size or 0 for size in X.reader.source.sizes), default=0)
    return int(np.dtype(dtype).itemsize * (of_features + of_pass) + _BUFFERS * largest)


def _room(model: Machine, X: ScannedEdges, spec: KernelSpec, dtype: DTypeLike) -> int:
    """Return the bytes of memory that are left for edges."""
    needed, limit = needed_bytes(model, X, spec, dtype), X.memory_limit
    if needed > limit:
        sizes = len(X.start_table), len(X.end_table), max((size or 0 for size in X.reader.source.sizes), default=0)
        raise MemoryError(
            f"max_memory is {format_bytes(limit)}, but features of {sizes[0]} and {sizes[1]} vertices and partitions "
            f"of up to {sizes[2]} edges take {format_bytes(needed)}; raise it, or take fewer n_components, smaller "
            "partition_edges or dtype='float32'"
        )
    return limit - needed


def _coding(model: Trainable, X: ScannedEdges, counts: Counts, positive: float | None) -> Coding:
    """Check the labels; return their coding for the loss."""
    if positive is not None:
        return Coding(float(positive))
    model._check_lake_labels(counts, _label_type(X))
    return Coding(None if not model._loss_type.of_classes else float(model.classes_[1]))


def _label_type(X: ScannedEdges) -> Any:
    """Return the type of the labels in the lake."""
    kind = X.reader.source.schema.field(X.reader.label).type
    try:
        return np.dtype(kind.to_pandas_dtype())
    except (NotImplementedError, TypeError):
        return np.dtype(np.float64)


def _keep_one_pass(model: Trainable, lake: Lake) -> None:
    """Fit by one pass, and keep the result."""
    begin = time.perf_counter()
    solution = LakeFit(model, lake).one_pass(float(model.alpha))
    seconds = time.perf_counter() - begin
    keep(model, lake, solution, {"iteration": [solution.n_iter], "risk": [float("nan")], "seconds": [seconds]})


def keep(
    model: Trainable, lake: Lake, solution: Solution, history: dict[str, list[Any]], n_iter: int | None = None
) -> None:
    """Set the fitted attributes."""
    start, end = lake.sides
    dtype = start.features.dtype
    kernel = EdgeKernel.product(start.kernel, end.kernel, lake.spec.components[0].pairwise)
    predictor = PrimalPredictor(kernel, start.map, end.map, solution.x.astype(dtype), model.n_threads)
    reason = f"edges of a lake: {start.words}, {end.words}"
    model._set_fitted(predictor, solution, ("primal", reason), solution.n_iter if n_iter is None else n_iter, history)
    model.coef_ = predictor.core
