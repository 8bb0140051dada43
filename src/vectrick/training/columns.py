"""Several labels for each edge: a ridge regression per column, sharing everything that depends only on the edges."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from vectrick._messages import Teller
from vectrick._typing import Array, ArrayLike
from vectrick.backends import release
from vectrick.backends.arrays import cast, given_array, like, namespace, placed, to_host, unmasked, zeros
from vectrick.data.source import AnyEdges
from vectrick.losses import Squared, WithIntercept
from vectrick.models.forms import Form
from vectrick.objectives.extended import Extended
from vectrick.solvers import OnePass, Solution, Solver, as_solver, minimise
from vectrick.solvers.closed_forms.complete_graph import Eigen
from vectrick.solvers.linear.cg import ConjugateGradients
from vectrick.solvers.linear.columns import minimise_columns
from vectrick.solvers.minimise import choose_solver
from vectrick.solvers.solution import INTERRUPTED
from vectrick.training.checks import check_not_zero, check_range
from vectrick.training.closed_forms import ClosedForm, OnePassFit
from vectrick.training.fitted import HeldEdges, Machine, Trainable
from vectrick.training.monitor import FitControls
from vectrick.training.one_vs_rest import set_machines, stopping_all
from vectrick.training.parameters import check_parameters
from vectrick.training.prepare import checked, held_out, with_kernel
from vectrick.training.problem import Training
from vectrick.training.validate import labels_on


def as_targets(y: Any) -> Any:
    """Return labels as a matrix if each edge has several of them, else None."""
    rows = isinstance(y, list | tuple) and len(y) > 0 and isinstance(y[0], list | tuple | np.ndarray)
    shape: tuple[int, ...] = tuple(np.shape(y) if rows else getattr(y, "shape", ()))
    if len(shape) < 2 or shape[1:] == (1,):
        return None
    if len(shape) > 2 or shape[1] == 0:
        raise ValueError(f"y has shape {shape}, but it must have a row for each edge and at least one column")
    return given_array(unmasked(y, "y"), "y")


def fit_targets(
    model: Trainable,
    X: AnyEdges,
    Y: Any,
    sample_weight: ArrayLike | None,
    validation: Any,
    watch: FitControls,
) -> None:
    """Train a copy of an estimator for each column of Y, together if possible, and set the fitted attributes."""
    if watch.resume is not None:
        raise ValueError(f"resume is given, but y has {Y.shape[1]} columns, each with its own fit; leave it out")
    before = dict(model.__dict__)
    try:
        if _can_share(model, validation, watch):
            machines = _fit_together(model, X, Y, sample_weight)
        else:
            machines = _fit_apart(model, X, Y, sample_weight, validation, watch)
    except BaseException as error:  # after any error, an earlier model stays intact
        model.__dict__ = before
        release(model.backend, error)
        raise
    source = machines[0]._source
    set_machines(model, machines)
    model._source = None if source is None else replace(source, labels=_copied(Y))


def _copied(Y: Array) -> Array:
    return np.array(to_host(Y), np.float64)


def _can_share(model: Trainable, validation: HeldEdges | None, watch: FitControls) -> bool:
    """Return whether the fits differ only in their labels."""
    spec, solver = check_parameters(model, validation), as_solver(model.solver)
    watched = watch.callback is not None or watch.keep_interrupted or model.early_stopping or validation is not None
    solvers = solver is None or isinstance(solver, ConjugateGradients | OnePass | Eigen)
    kernels = spec.weights is not None and spec.two_step is None and spec.symmetry >= 0
    return solvers and kernels and model._loss_type is Squared and model.precision == "full" and not watched


def _fit_apart(
    model: Trainable,
    X: AnyEdges,
    Y: Array,
    sample_weight: ArrayLike | None,
    validation: HeldEdges | None,
    watch: FitControls,
) -> list[Any]:
    """Return a separate fit for each column."""
    held: Any = None if validation is None else as_targets(validation[1])
    if validation is not None and (held is None or held.shape[1] != Y.shape[1]):
        raise ValueError(f"y has {Y.shape[1]} columns, but the labels of validation do not")
    controls = {"callback": stopping_all(watch.callback), "keep_interrupted": watch.keep_interrupted}
    machines = []
    for j in range(Y.shape[1]):
        other = None if validation is None else (validation[0], held[:, j])
        machine = clone(model).fit(X, Y[:, j], sample_weight, validation=other, **controls)
        if machine.solution_.reason.startswith(INTERRUPTED):
            raise KeyboardInterrupt  # a model without some of its columns is not usable
        machines.append(machine)
    return machines


def _fit_together(model: Machine, X: AnyEdges, Y: Array, sample_weight: ArrayLike | None) -> list[Any]:
    """Return a fit for each column; they share the kernels, the form, the preconditioner and the products."""
    machines = [clone(model) for _ in range(Y.shape[1])]
    lead = machines[0]
    with np.errstate(over="ignore", invalid="ignore"):  # the results are checked at the end
        trainings = _prepared(lead, X, Y, sample_weight)
        first, one_pass = trainings[0], isinstance(trainings[0].given.solver, OnePass)
        if not one_pass and lead._wants_closed_form(first):
            closed = ClosedForm(lead, first)
            for machine, training in zip(machines, trainings, strict=True):
                closed.keep(machine, training)
        else:
            with first.backend.own_threads():
                (_pass_together if one_pass else _minimise_together)(machines, trainings)
    for machine in machines[1:]:
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(lead, name):
                setattr(machine, name, getattr(lead, name))
    return machines


def _prepared(lead: Trainable, X: AnyEdges, Y: Array, sample_weight: ArrayLike | None) -> list[Training]:
    """Return a `Training` for each column, all with the same kernel."""
    given = checked(lead, X, Y[:, 0], sample_weight, None)
    backend, n_edges = given.backend, len(given.edges)
    others = [placed(lead._encode(labels_on(Y[:, j], backend), n_edges), backend) for j in range(1, Y.shape[1])]
    given = held_out(lead, given, None).ordered()
    first: Training = with_kernel(lead, given)
    trainings, places = [first], given.kept.places
    for column in others:
        labels = given.kept.in_training_order(column if places is None else column[like(places, column)])
        check_range(labels, first.dtype)
        loss = lead._make_loss(given.loss_type, cast(labels, first.dtype), first.loss.weight, given.edges)
        trainings.append(replace(first, given=replace(given, labels=labels), loss=loss))
    return trainings


def _pass_together(machines: list[Any], trainings: list[Training]) -> None:
    """Fit by one pass over the edges, with one product for all columns."""
    shared = OnePassFit(machines[0], trainings[0])
    for machine, one in zip(machines, shared.of_each(trainings), strict=True):
        one.keep(machine, float(machine.alpha))


def _minimise_together(machines: list[Any], trainings: list[Training]) -> None:
    """Minimize for all columns together, then one by one if they have not converged, and keep each result."""
    lead, training, begin = machines[0], trainings[0], time.perf_counter()
    form, losses = lead._choose_form(training), [lead._with_intercept(training) for training in trainings]
    solver: Solver = training.given.solver or choose_solver(form.space, losses[0], lead.preconditioner == "kronecker")
    if not isinstance(solver, ConjugateGradients):  # a small system is solved directly
        for machine, training in zip(machines, trainings, strict=True):
            check_not_zero(training, form.space, machine._minimise(training, form), machine.intercept_)
        return
    chosen = lead._precondition(form, losses[0], solver, None)
    max_iter = solver.max_iter if lead.max_iter is None else lead.max_iter
    Y = namespace(losses[0].y).stack([loss.y for loss in losses], -1)
    curvature = losses[0].curvature(zeros(len(Y), Y))
    limits: dict[str, Any] = {"max_iter": max_iter, "tol": lead.tol, "model": chosen.model}
    progress = _ColumnProgress(lead, len(machines), max_iter)
    alpha = float(lead.alpha)
    if chosen.model is not None and isinstance(chosen.model.space, Extended):  # it has no products with several columns
        solutions = [minimise(form.space, loss, alpha, solver=solver, **limits) for loss in losses]
    else:
        solutions = minimise_columns(form.space, curvature, Y, alpha, callback=progress, **limits)
    progress.finish(solutions)
    for machine, training, loss, found in zip(machines, trainings, losses, solutions, strict=True):
        solution, left = found, max_iter - found.n_iter
        if not found.converged and left > 0:
            how: dict[str, Any] = {**limits, "max_iter": left, "start": found.x, "solver": solver, "warm": True}
            solution = minimise(form.space, loss, alpha, **how)
            solution = replace(solution, n_iter=found.n_iter + solution.n_iter)
        elif not found.converged:
            found.warn(solver.label, lead.tol)
        solution = replace(solution, preconditioner_reason=chosen.why(solution.preconditioner))
        _keep(machine, form, training, loss, solution, time.perf_counter() - begin)


def _keep(machine: Any, form: Form, training: Training, loss: Any, solution: Solution, seconds: float) -> None:
    f = solution.predictions
    constant = loss.intercept(f) if isinstance(loss, WithIntercept) else 0.0
    square = float(solution.x @ (f if form.name == "dual" else solution.x))
    risk = loss.value(f) + 0.5 * float(machine.alpha) * square
    history: dict[str, list[Any]] = {"iteration": [solution.n_iter], "risk": [risk], "seconds": [seconds]}
    machine._keep(form, training, solution, constant, solution.n_iter, history)
    check_not_zero(training, form.space, solution, constant)


class _ColumnProgress:
    """Reports the progress of the iterations for all columns."""

    def __init__(self, model: Trainable, n_columns: int, max_iter: int) -> None:
        self.name, self.n_columns = type(model).__name__, n_columns
        self._begin, self._teller = time.perf_counter(), Teller(model.verbose, max_iter)

    def __call__(self, n_iter: int, residual: float) -> None:
        """Report an iteration."""
        what = f"iteration {n_iter} of {self.n_columns} columns, relative residual {residual:.1e}"
        self._teller.tell(lambda: self._line(what), n_iter)

    def finish(self, solutions: list[Solution]) -> None:
        """Report the result."""
        n_iter, converged = max(each.n_iter for each in solutions), all(each.converged for each in solutions)
        ended = "tolerance reached" if converged else "not all columns converged"
        self._teller.tell(lambda: self._line(f"{ended}, {n_iter} iterations of {self.n_columns} columns"), must=True)

    def _line(self, what: str) -> str:
        return f"{self.name}: {what}, {time.perf_counter() - self._begin:.2f} s"
