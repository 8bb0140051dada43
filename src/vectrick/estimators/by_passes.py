"""Fits in memory by passes over one sorted block of edges, which need no vector as long as the edges.

A product with the features and one with their transpose sort the edges twice, and between them stand vectors of
predictions, gradients and curvatures. On 2 million edges a fit by passes takes a fourth of the time.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from vectrick._typing import Array
from vectrick.backends import HOST
from vectrick.backends.arrays import cast
from vectrick.backends.threads import count_threads
from vectrick.estimators.callbacks import Monitor
from vectrick.estimators.pass_fit import PassFit
from vectrick.estimators.training import Training
from vectrick.kernels import FeatureMap
from vectrick.losses import RankRLS
from vectrick.models.forms import Form, Maps, find_factor
from vectrick.models.limits import check_finite
from vectrick.operators.plan import pass_plan
from vectrick.passes.engine import ArrayEngine
from vectrick.passes.host import HostPasses
from vectrick.passes.risks import Sides
from vectrick.passes.tasks import Coding
from vectrick.solvers import iterative_solver
from vectrick.solvers.solution import INTERRUPTED

MANY_EDGES = 1 << 17  # from which sorting them into a block pays
_NARROW = 128  # features of a vertex whose rows stay in the cache; with more, two products take less time
_THIN = 2  # vertices for each feature, at least


def limits_iterations(estimator: Any, solver: Any) -> bool:
    """Whether ``max_iter`` is below the usual limit of a solver: then the iterates are part of the regularizer.

    >>> import vectrick as vt
    >>> cg = vt.solvers.iterative_solver(vt.losses.Squared)
    >>> [limits_iterations(vt.KronRidge(max_iter=n), cg) for n in (None, 40, 3000)]
    [False, True, False]
    """
    return estimator.max_iter is not None and int(estimator.max_iter) < int(solver.max_iter)


def fit_by_passes(model: Any, training: Training) -> tuple[bool, Maps | None]:
    """Fit a model by passes if it can be, and if that is faster; return whether it was, and thin factors if known."""
    if not _is_possible(model, training):
        return False, None
    kernel = training.kernel
    start, end = (find_factor(side, model.form, model.factor_tol) for side in (kernel.start, kernel.end))
    if start is None or end is None or not _are_narrow(start, end, training):
        return False, (start, end)
    return _fit(model, training, (start, end)), (start, end)


def _is_possible(model: Any, training: Training) -> bool:
    """Whether a fit runs to convergence on the CPU, with a loss that has compiled loops, and there are many edges."""
    given, kernel = training.given, training.kernel
    converges = given.solver is None and given.held is None and model.step is None
    return bool(
        len(training.graph.start) >= MANY_EDGES
        and converges
        and given.backend == HOST
        and kernel.is_product
        and not kernel.is_two_step
        and given.bounds is None
        and (isinstance(training.loss, RankRLS) or HostPasses.knows(type(training.loss)))
        and not limits_iterations(model, iterative_solver(training.loss))
        and model.form != "dual"
        and model.preconditioner != "none"
        and model.precision == "full"
        and training.warm is None
        and training.watch.resume is None
    )


def _are_narrow(start: FeatureMap, end: FeatureMap, training: Training) -> bool:
    """Whether a pass with these features takes less time than two products with them."""
    graph = training.graph
    sizes, ranks = (len(graph.used_start), len(graph.used_end)), (start.rank, end.rank)
    of_columns = ranks[1] if sizes[0] <= sizes[1] else ranks[0]
    thin = all(_THIN * rank <= size for rank, size in zip(ranks, sizes, strict=True))
    few = _THIN * ranks[0] * ranks[1] <= len(graph.start)
    return (
        min(ranks) > 0 and thin and few and of_columns <= _NARROW and not (issparse(start.train) or issparse(end.train))
    )


def _fit(model: Any, training: Training, maps: tuple[FeatureMap, FeatureMap]) -> bool:
    """Fit a model by passes; return False if the solution is zero or features too large: the usual way says why."""
    graph, loss, kernel = training.graph, training.loss, training.kernel
    sizes = len(graph.used_start), len(graph.used_end)
    weight: Any = getattr(loss, "weight", None)
    features = [np.ascontiguousarray(cast(found.train, training.dtype)) for found in maps]
    for values, name in zip(features, ("start", "end"), strict=True):
        check_finite(values, f"{name}_kernel")
    engine = ArrayEngine(graph.start, graph.end, loss.y, weight, sizes, count_threads(model.n_threads))
    degrees = tuple(
        np.bincount(vertices, weight, size).astype(np.float64)
        for vertices, size in zip((graph.start, graph.end), sizes, strict=True)
    )
    fit = _ArrayFit(
        model, engine, Sides(*features), (degrees[0], degrees[1]), type(loss), Coding(), training.given.has_intercept
    )
    fit.labels, fit.weight = loss.y, weight
    how: dict[str, Any] = {"watch": training.watch, "max_iter": fit.max_iter}
    monitor = Monitor(type(model).__name__, model.verbose, None, model.n_iter_no_change, **how)
    try:
        _ = fit.spectrum
    except np.linalg.LinAlgError:  # features are too large
        return False
    solution = fit.watched(float(model.alpha), monitor)
    if not solution.x.any():
        return False
    solution = replace(solution, x=cast(solution.x, training.dtype))
    if solution.reason != INTERRUPTED:
        solution.warn("cg" if fit.is_quadratic else "newton", fit.tol)
    monitor.finish(solution)
    ranks = maps[0].rank, maps[1].rank
    reason = f"an iteration is one pass over the sorted edges, with {ranks[0]} × {ranks[1]} features"
    plan = pass_plan(len(graph.start), sizes, ranks, training.dtype, reason)
    form = Form("primal", None, plan, reason, graph, kernel, maps, maps)
    model._keep(form, training, solution, solution.intercept, solution.n_iter, monitor.history)
    if loss.may_be_flat:
        core = fit.features.core(solution.x, engine.rows_are_start)
        slopes = loss.gradient(engine.predictions(core) + solution.intercept)
        model.support_ = training.outward(training.given.kept.named(slopes != 0))
    return True


class _ArrayFit(PassFit):
    """The risk of an estimator on edges in memory, and its minimum."""

    labels: Array
    weight: Array | None

    def first_constant(self) -> float:
        """Return the best constant prediction of labels -1 and 1."""
        if not self.with_constant:
            return 0.0
        return self.best_constant(float(np.average(self.labels > 0, weights=self.weight)))
