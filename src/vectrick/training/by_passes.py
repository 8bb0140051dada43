"""Fits in memory by passes, like fits of lakes: in primal form, preconditioned, and to convergence.

A pass reads one sorted block of edges, or makes two products: one with the features of the edges and one with their
transpose. Products sort the edges twice and need vectors of predictions, gradients and curvatures in between: on 2
million edges and two cores, passes over a block take a fourth of the time.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse

from vectrick._typing import Array
from vectrick.backends.arrays import cast, contiguous, group_sums, namespace, placed
from vectrick.backends.threads import count_threads
from vectrick.losses import Loss, Pointwise, RankRLS
from vectrick.models.forms import Form, Maps, find_factor
from vectrick.models.limits import check_finite
from vectrick.models.preconditioning import has_cheap_degrees
from vectrick.objectives.degrees import DegreeSpectrum
from vectrick.objectives.risks import Sides
from vectrick.operators import Plan
from vectrick.operators.pass_plan import plan_pass
from vectrick.passes.host import HostPasses
from vectrick.passes.local import ArrayEngine
from vectrick.passes.products import EdgeProducts, ProductEngine
from vectrick.passes.tasks import Coding
from vectrick.solvers import Primal, Solution, iterative_solver
from vectrick.solvers.linear.direct import MAX_SIZE
from vectrick.solvers.minimise import choose_solver
from vectrick.solvers.solution import INTERRUPTED, Callback, Iterate
from vectrick.training.fitted import Machine, Trainable
from vectrick.training.monitor import Monitor
from vectrick.training.pass_fit import PassFit
from vectrick.training.problem import Training

MANY_EDGES = 1 << 17  # from this number on, passes are faster than a dense solve, even with few coefficients
_THIN = 2  # minimum number of vertices per feature


def limits_iterations(estimator: Trainable, solver: Any) -> bool:
    """Return whether ``max_iter`` is below the solver's default, so that the iterates are part of the regularizer.

    >>> import vectrick as vt
    >>> cg = vt.solvers.iterative_solver(vt.losses.Squared)
    >>> [limits_iterations(vt.KronRidge(max_iter=n), cg) for n in (None, 40, 3000)]
    [False, True, False]
    """
    return estimator.max_iter is not None and int(estimator.max_iter) < int(solver.max_iter)


@dataclass(frozen=True)
class Route:
    """The method of a fit, as far as low-rank factors determine it.

    Attributes
    ----------
    maps : (FeatureMap, FeatureMap), optional
        Low-rank factors of both sides, each None if there is none; None if they were not computed.
    plan : Plan, optional
        The plan of passes over sorted tiles, if the fit uses them.
    is_primal : bool
        Whether the primal form is chosen without a comparison.
    """

    maps: Maps | None = None
    plan: Plan | None = None
    is_primal: bool = False


def fit_by_passes(model: Trainable, training: Training) -> Form | None:
    """Fit a model by passes if possible and return None; otherwise return the form for other solvers."""
    way = choose_route(model, training)
    if way.plan is not None and _fit_over_tiles(model, training, way):
        return None
    form: Form = model._choose_form(training, way)
    grouped = isinstance(training.loss, RankRLS) and training.loss.groups is not None
    if form.name == "primal" and not grouped and _may_pass(model, training) and _fit_by_products(model, training, form):
        return None
    return form


def _may_pass(model: Trainable, training: Training) -> bool:
    """Return whether a fit needs only the minimum of a loss that passes can sum."""
    loss = training.loss
    has_sums = isinstance(loss, RankRLS) or (isinstance(loss, Pointwise) and loss.is_smooth)
    return has_sums and goes_to_convergence(model, training)


def choose_route(model: Trainable, training: Training) -> Route:
    """Return the method of a fit: passes over sorted tiles, the primal form, or a comparison of both forms."""
    graph, kernel = training.graph, training.kernel
    is_product = kernel.is_product and not kernel.is_two_step
    if not (is_product and model.form != "dual" and _may_pass(model, training)):
        return Route()
    start, end = [find_factor(side, model.form, model.factor_tol) for side in (kernel.start, kernel.end)]
    if start is None or end is None or issparse(start.train) or issparse(end.train):
        return Route((start, end))
    n_edges, sizes, ranks = len(graph.start), (len(graph.used_start), len(graph.used_end)), (start.rank, end.rank)
    n_coefficients = ranks[0] * ranks[1]
    are_thin = all(_THIN * rank <= size for rank, size in zip(ranks, sizes, strict=True))
    is_small = n_coefficients <= MAX_SIZE and n_edges < MANY_EDGES
    if is_small or not (are_thin and 0 < _THIN * n_coefficients <= n_edges):
        return Route((start, end))
    has_loops = isinstance(training.loss, RankRLS) or HostPasses.has_sums(type(training.loss))
    if not (training.backend.passes_over_blocks and has_loops):
        return Route((start, end), is_primal=True)
    plan = plan_pass(n_edges, sizes, ranks, training.dtype, count_threads(model.n_threads))
    takes = plan.path == "tiles" and _may_precondition(model, training, ranks, plan.seconds)
    return Route((start, end), plan if takes else None, is_primal=True)


def _fit_over_tiles(model: Trainable, training: Training, way: Route) -> bool:
    """Fit a model by passes over a sorted block of edges; return whether that succeeded."""
    graph, loss, kernel = training.graph, training.loss, training.kernel
    assert way.maps is not None
    assert way.plan is not None
    start, end = way.maps
    assert start is not None
    assert end is not None
    weight: Any = getattr(loss, "weight", None)
    sizes = len(graph.used_start), len(graph.used_end)
    engine = ArrayEngine(graph.start, graph.end, loss.y, weight, sizes, count_threads(model.n_threads))
    reason = f"an iteration is one pass over the sorted edges, with {start.rank} × {end.rank} features"
    form = Form("primal", None, way.plan, reason, graph, kernel, (start, end), (start, end))
    sides, degrees = _features(training, form)
    fit = PassFit(model, engine, sides, degrees, *_risk(training))

    def predict(w: Array) -> Array:
        return engine.predictions(sides.core(w, engine.rows_are_start))

    return _finish(model, training, form, fit, predict)


def _fit_by_products(model: Trainable, training: Training, form: Form) -> bool:
    """Fit a model in primal form by passes of two products each; return whether that succeeded."""
    if form.maps is None or not isinstance(form.space, Primal):
        return False
    loss, (start, end) = training.loss, form.maps
    is_small = choose_solver(form.space, loss, model.preconditioner == "kronecker").name not in ("cg", "newton")
    if is_small or min(start.rank, end.rank) == 0 or issparse(start.train) or issparse(end.train):
        return False
    seconds = form.space.features.plan.seconds + form.space.transposed.plan.seconds
    if not _may_precondition(model, training, (start.rank, end.rank), seconds):
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
    """A fit with features transformed to make the degree model diagonal; its solution is transformed back.

    Transforming the coefficients in each iteration could take as long as the products.
    """

    before: DegreeSpectrum  # of the original features

    @cached_property
    def spectrum(self) -> DegreeSpectrum:
        """The degree model."""
        return self.before.of_turned(self.features, self.degrees)

    def solve(self, alpha: float, callback: Callback | None = None, start: Solution | None = None) -> Solution:
        """Minimize; a callback receives the coefficients of the original features."""
        if callback is None:
            return super().solve(alpha, None, start)
        asked_for = getattr(callback, "reads_coefficients", True)

        def on_iterate(iterate: Iterate) -> bool | None:
            return callback(replace(iterate, x=self.before.to_features(iterate.x) if asked_for else None))

        return super().solve(alpha, on_iterate, start)

    def watched(self, alpha: float, monitor: Monitor) -> Solution:
        """Minimize and transform the result back; the last iterate of an interrupted fit is transformed already."""
        solution = super().watched(alpha, monitor)
        return solution if solution.reason == INTERRUPTED else replace(solution, x=self.before.to_features(solution.x))


def goes_to_convergence(model: Trainable, training: Training) -> bool:
    """Return whether a fit needs only the minimum, by any method; otherwise its solver or its iterates matter."""
    given = training.given
    return bool(
        given.solver is None
        and given.held is None
        and given.bounds is None
        and model.step is None
        and model.preconditioner != "none"
        and training.warm is None
        and training.watch.resume is None
        and not limits_iterations(model, iterative_solver(training.loss))
    )


def _may_precondition(model: Machine, training: Training, ranks: tuple[int, int], seconds: float) -> bool:
    """Return whether the degree model was requested, or is cheap compared with iterations of ``seconds`` each."""
    return model.preconditioner == "kronecker" or has_cheap_degrees(ranks, seconds, training.backend, model.n_threads)


def _features(training: Training, form: Form) -> tuple[Sides, tuple[Array, Array]]:
    """Return the features of a form in the layout of passes, and the sum of the edge weights at each vertex."""
    assert form.maps is not None
    graph, weights = training.graph, _weights(training.loss)
    start, end = (contiguous(placed(cast(found.train, training.dtype), training.backend)) for found in form.maps)
    for values, name in ((start, "start"), (end, "end")):
        check_finite(values, f"{name}_kernel")
    degrees = [group_sums(*what) for what in ((graph.start, weights, len(start)), (graph.end, weights, len(end)))]
    return Sides(start, end), (cast(degrees[0], np.float64), cast(degrees[1], np.float64))


def _weights(loss: Loss) -> Array:
    """Return the weights of the edges; weights of one take no memory."""
    weight: Array | None = getattr(loss, "weight", None)
    return namespace(loss.y).broadcast_to(loss.y[:1] * 0 + 1, loss.y.shape) if weight is None else weight


def _risk(training: Training) -> tuple[type[Loss], Coding, bool, float]:
    """Return the arguments of `PassFit` that depend on the loss."""
    loss, h = training.loss, _weights(training.loss)
    return type(loss), Coding(), training.given.has_intercept, float(loss.y @ h) / float(h.sum())


def _finish(model: Trainable, training: Training, form: Form, fit: PassFit, predict: Callable[[Array], Array]) -> bool:
    """Minimize and keep the result; return False if it is zero or features are too large: other solvers raise then."""
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
        model.support_ = training.to_user(training.given.kept.named(slopes != 0))
    return True
