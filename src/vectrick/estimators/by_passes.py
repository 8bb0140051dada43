"""Fits in memory by passes, as those of lakes are: in primal form, preconditioned, and to convergence.

A pass goes over one sorted block of edges, or it is two products, with the features of the edges and with their
transpose. Products sort the edges twice, and between them stand vectors of predictions, gradients and curvatures: on 2
million edges and two cores, passes over a block take a fourth of the time.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse

from vectrick._typing import Array
from vectrick.backends.arrays import cast, contiguous, group_sums, placed
from vectrick.backends.threads import count_threads
from vectrick.estimators.callbacks import Monitor
from vectrick.estimators.pass_fit import PassFit
from vectrick.estimators.training import Training
from vectrick.kernels import FeatureMap
from vectrick.losses import Loss, Pointwise, RankRLS
from vectrick.models.forms import Form, Maps, find_factor
from vectrick.models.limits import check_finite
from vectrick.operators.plan import pass_plan
from vectrick.passes.host import HostPasses
from vectrick.passes.local import ArrayEngine
from vectrick.passes.products import EdgeProducts, ProductEngine
from vectrick.passes.risks import Sides
from vectrick.passes.tasks import Coding
from vectrick.solvers import Primal, Solution, iterative_solver
from vectrick.solvers.degrees import DegreeSpectrum
from vectrick.solvers.minimise import choose_solver
from vectrick.solvers.solution import INTERRUPTED, Callback, Iterate

MANY_EDGES = 1 << 17  # from which sorting them into a block pays
_NARROW = 128  # features of a vertex whose rows stay in the cache; with more, two products take less time
_THIN = 2  # vertices for each feature, at least
_EIGEN = 12.0  # flops of an eigendecomposition over n³, at the speed of a matrix product
_SAVED = 20  # iterations that the degree model saves at least, where a fit runs to convergence


def limits_iterations(estimator: Any, solver: Any) -> bool:
    """Whether ``max_iter`` is below the usual limit of a solver: then the iterates are part of the regularizer.

    >>> import vectrick as vt
    >>> cg = vt.solvers.iterative_solver(vt.losses.Squared)
    >>> [limits_iterations(vt.KronRidge(max_iter=n), cg) for n in (None, 40, 3000)]
    [False, True, False]
    """
    return estimator.max_iter is not None and int(estimator.max_iter) < int(solver.max_iter)


def fit_over_block(model: Any, training: Training) -> tuple[bool, Maps | None]:
    """Fit a model by passes over a sorted block if it can be, and if that is faster.

    Return whether it was, and thin factors of both sides if they are known.
    """
    graph, loss, kernel = training.graph, training.loss, training.kernel
    has_loops = isinstance(loss, RankRLS) or HostPasses.has_sums(type(loss))
    if not (
        has_loops
        and len(graph.start) >= MANY_EDGES
        and training.backend.passes_over_blocks
        and kernel.is_product
        and not kernel.is_two_step
        and model.form != "dual"
        and goes_to_convergence(model, training)
    ):
        return False, None
    start, end = (find_factor(side, model.form, model.factor_tol) for side in (kernel.start, kernel.end))
    if start is None or end is None or not _are_narrow(start, end, training):
        return False, (start, end)
    sizes, ranks = (len(graph.used_start), len(graph.used_end)), (start.rank, end.rank)
    weight: Any = getattr(loss, "weight", None)
    engine = ArrayEngine(graph.start, graph.end, loss.y, weight, sizes, count_threads(model.n_threads))
    reason = f"an iteration is one pass over the sorted edges, with {ranks[0]} × {ranks[1]} features"
    plan = pass_plan(len(graph.start), sizes, ranks, training.dtype, reason)
    form = Form("primal", None, plan, reason, graph, kernel, (start, end), (start, end))
    sides, degrees = _features(training, form)
    fit = PassFit(model, engine, sides, degrees, *_risk(training))

    def predict(w: Array) -> Array:
        return engine.predictions(sides.core(w, engine.rows_are_start))

    return _finish(model, training, form, fit, predict), (start, end)


def fit_by_products(model: Any, training: Training, form: Form) -> bool:
    """Fit a model in primal form by passes that are two products, if it can be; return whether it was."""
    if form.maps is None or form.name != "primal" or not isinstance(form.space, Primal):
        return False
    loss = training.loss
    sums = (isinstance(loss, Pointwise) and loss.is_smooth) or (isinstance(loss, RankRLS) and loss.groups is None)
    is_small = choose_solver(form.space, loss, model.preconditioner == "kronecker").name not in ("cg", "newton")
    if is_small or not (sums and goes_to_convergence(model, training) and _has_cheap_degrees(model, form)):
        return False
    sides, degrees = _features(training, form)
    try:
        model_of_degrees = DegreeSpectrum.of(sides, degrees)
    except np.linalg.LinAlgError:  # features are too large
        return False
    turned = model_of_degrees.turned(sides)
    features = form.space.features.with_factors(turned.end, turned.start)
    shape = turned.end.shape[1], turned.start.shape[1]
    edges = EdgeProducts(features, features.T, shape, loss.y, getattr(loss, "weight", None))
    engine = ProductEngine(edges, (len(sides.end), len(sides.start)), training.backend)
    fit = TurnedFit(model, engine, turned, degrees, *_risk(training))
    fit.before = model_of_degrees
    return _finish(model, training, form, fit, form.space.predict)


class TurnedFit(PassFit):
    """A fit with features that were turned, so that the degree model is diagonal; its solution is turned back.

    Turning coefficients in each iteration may take as long as the products.
    """

    before: DegreeSpectrum  # of the features before

    @cached_property
    def spectrum(self) -> DegreeSpectrum:
        """The degree model."""
        return self.before.of_turned(self.features, self.degrees)

    def solve(self, alpha: float, callback: Callback | None = None, start: Solution | None = None) -> Solution:
        """Minimise, and turn back what a callback sees."""
        if callback is None:
            return super().solve(alpha, None, start)
        asked_for = getattr(callback, "reads_coefficients", True)

        def told(iterate: Iterate) -> bool | None:
            return callback(replace(iterate, x=self.before.outward(iterate.x) if asked_for else None))

        return super().solve(alpha, told, start)

    def watched(self, alpha: float, monitor: Monitor) -> Solution:
        """Minimise, and turn the result back; that of an interrupted fit was seen by its monitor."""
        solution = super().watched(alpha, monitor)
        return solution if solution.reason == INTERRUPTED else replace(solution, x=self.before.outward(solution.x))


def goes_to_convergence(model: Any, training: Training) -> bool:
    """Whether a fit is to find the minimum, in whatever way; else its iterates are part of the regularizer."""
    given = training.given
    return bool(
        given.solver is None
        and given.held is None
        and given.bounds is None
        and model.step is None
        and model.preconditioner != "none"
        and model.precision == "full"
        and training.warm is None
        and training.watch.resume is None
        and not limits_iterations(model, iterative_solver(training.loss))
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


def _has_cheap_degrees(model: Any, form: Form) -> bool:
    """Whether the degree model of a form takes less time than the iterations that it saves."""
    assert form.maps is not None
    start, end = form.maps
    if model.preconditioner == "kronecker":
        return min(start.rank, end.rank) > 0 and not (issparse(start.train) or issparse(end.train))
    if min(start.rank, end.rank) == 0 or issparse(start.train) or issparse(end.train):
        return False
    products = form.space.features.plan.seconds + form.space.transposed.plan.seconds
    threads = count_threads(model.n_threads)
    rates = form.kernel.start.backend.rates(np.dtype(np.float64), threads, False, measured=False)
    return _EIGEN * (start.rank**3 + end.rank**3) / rates.gemm <= _SAVED * products


def _features(training: Training, form: Form) -> tuple[Sides, tuple[Array, Array]]:
    """Return the features of a form as passes take them, and the sums of the weights at the vertices."""
    assert form.maps is not None
    graph, ones = training.graph, _weights(training.loss)
    start, end = (contiguous(placed(cast(found.train, training.dtype), training.backend)) for found in form.maps)
    for values, name in ((start, "start"), (end, "end")):
        check_finite(values, f"{name}_kernel")
    degrees = [group_sums(*what) for what in ((graph.start, ones, len(start)), (graph.end, ones, len(end)))]
    return Sides(start, end), (cast(degrees[0], np.float64), cast(degrees[1], np.float64))


def _weights(loss: Loss) -> Array:
    weight: Array | None = getattr(loss, "weight", None)
    return loss.y * 0 + 1 if weight is None else weight


def _risk(training: Training) -> tuple[type[Loss], Coding, bool, float]:
    """Return what a `PassFit` asks of a loss."""
    loss, h = training.loss, _weights(training.loss)
    return type(loss), Coding(), training.given.has_intercept, float((loss.y * h).sum() / h.sum())


def _finish(model: Any, training: Training, form: Form, fit: PassFit, predict: Callable[[Array], Array]) -> bool:
    """Minimise and keep the result; return False if it is zero or features are too large: others say why."""
    how: dict[str, Any] = {"watch": training.watch, "max_iter": fit.max_iter}
    monitor = Monitor(type(model).__name__, model.verbose, None, model.n_iter_no_change, **how)
    try:
        solution = fit.watched(float(model.alpha), monitor)
    except np.linalg.LinAlgError:
        return False
    if not bool(solution.x.any()):
        return False
    solution = replace(solution, x=cast(solution.x, training.dtype))
    if solution.reason != INTERRUPTED:
        solution.warn("cg" if fit.is_quadratic else "newton", fit.tol)
    monitor.finish(solution)
    model._keep(form, training, solution, solution.intercept, solution.n_iter, monitor.history)
    if training.loss.may_be_flat:
        slopes = training.loss.gradient(predict(solution.x) + solution.intercept)
        model.support_ = training.outward(training.given.kept.named(slopes != 0))
    return True
