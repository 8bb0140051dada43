"""The first steps of every fit in memory: check the input, hold out edges, build the kernel of the training edges."""

from dataclasses import replace

from vectrick._typing import ArrayLike
from vectrick.backends import HOST, settle_backend
from vectrick.backends.arrays import cast, placed
from vectrick.data import Graph, TrainedEdges
from vectrick.data.signs import check_signs
from vectrick.data.source import AnyEdges
from vectrick.models.edge_kernel import EdgeKernel
from vectrick.models.vertex_kernel import aligned_edges
from vectrick.solvers import as_solver
from vectrick.solvers.minimise import check_precision, check_preconditioner
from vectrick.training.checks import check_range, warn_of_constant, warn_of_data
from vectrick.training.fitted import HeldEdges, Trainable
from vectrick.training.holding_out import hold_out_some, vertices_only_in
from vectrick.training.kernel_weights import learned_weights
from vectrick.training.parameters import check_in_memory, check_parameters, has_intercept
from vectrick.training.problem import FitInput, SourceEdges, Training
from vectrick.training.validate import as_edges, as_weights, labels_on, with_bounds


def prepare(
    model: Trainable, X: AnyEdges, y: ArrayLike | None, sample_weight: ArrayLike | None, validation: HeldEdges | None
) -> Training:
    """Validate the input, hold out edges, and build the kernel."""
    given = checked(model, X, y, sample_weight, validation)
    return with_kernel(model, held_out(model, given, validation).ordered())


def checked(
    model: Trainable, X: AnyEdges, y: ArrayLike | None, sample_weight: ArrayLike | None, validation: HeldEdges | None
) -> FitInput:
    """Check the parameters and the input, and move the input to the backend."""
    spec, loss_type, solver = check_parameters(model, validation), model._loss_type, as_solver(model.solver)
    check_in_memory(model)
    if solver is not None:
        solver.check(loss_type)
    model._check_combination(loss_type)
    check_precision(model.precision, solver, loss_type, model.early_stopping or validation is not None)
    check_preconditioner(model.preconditioner, solver, loss_type)
    edges = given = as_edges(model, X, reset=True)
    constant = has_intercept(model, spec, loss_type)
    spec.check(edges, form=model.form, fit_intercept=constant)
    home, backend = edges.backend, settle_backend(model.backend, model.device, edges.backend)
    edges = edges.on(backend)
    values, bounds = with_bounds(y, loss_type, backend)
    labels = placed(model._encode(labels_on(values, backend), len(edges)), backend)
    weight = as_weights(sample_weight, len(edges), backend)
    if spec.symmetry < 0:
        signs = labels if model._labels_have_signs else None
        check_signs(edges, signs, weight, spec.components[0].pairwise.name)
    warn_of_data(given, labels, spec)
    if not constant:
        warn_of_constant(given, labels, spec, loss_type)
    what = spec, loss_type, solver, constant, backend, home
    source = SourceEdges.of(given, y, sample_weight) if model.keep_edges else None
    return FitInput(*what, edges, labels, weight, TrainedEdges(len(edges)), source, bounds)


def held_out(model: Trainable, given: FitInput, validation: HeldEdges | None) -> FitInput:
    """Return the training edges, and the validation edges if they are given or held out."""
    rows = None if given.weight is None else given.weight > 0  # edges of weight zero do not count
    model.__dict__.pop("validation_vertices_", None)
    if validation is not None:
        held = as_edges(model, validation[0], reset=False)
        values, bounds = with_bounds(validation[1])
        labels = placed(model._encode_validation(labels_on(values, HOST), len(held)), given.backend)
        given = replace(given, held=held.on(given.backend), held_labels=labels, held_bounds=bounds)
    elif model.early_stopping:
        rows, test = hold_out_some(model, given.edges, given.labels, rows)
        model.validation_vertices_ = vertices_only_in(given.edges[test], given.edges[rows])
        bounds = None if given.bounds is None else given.bounds[test]
        given = replace(given, held=given.edges[test], held_labels=given.labels[test], held_bounds=bounds)
    if rows is not None:
        model._check_labels(given.labels[rows])
    return given.only(rows)


def with_kernel(model: Trainable, given: FitInput) -> Training:
    """Return the loss of the training edges and the kernel, resolved for their vertices."""
    edges, dtype = given.edges, model._compute_dtype(given.edges)
    tables = edges.start_table, edges.end_table
    if given.spec.tables(*tables) != tables:
        edges = edges.with_tables(*given.spec.tables(*tables)).on(given.backend)
        given = replace(given, edges=edges)
    check_range(given.labels, dtype)
    weight = None if given.weight is None else cast(given.weight, dtype)
    given = replace(given, labels=cast(given.labels, dtype))  # labels in the other dtype would stay in memory
    loss = model._make_loss(given.loss_type, given.labels, weight, edges, given.bounds)
    graph = Graph.of(edges, given.spec.one_set)
    kernel = EdgeKernel.settled(given.spec, edges, graph, given.backend, given.labels)
    if given.spec.weights is None:
        kernel = replace(kernel, weights=learned_weights(model, kernel, given, graph, loss))
    if given.held is not None:
        held = aligned_edges(given.held, kernel.start, kernel.end).on(given.backend)
        kernel.start.check(held.start_table)
        kernel.end.check(held.end_table)
        given = replace(given, held=held)
    return Training(given, graph, loss, kernel)
