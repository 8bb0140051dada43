"""The base of all estimators: parameters, fit, predictions."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from vectrick._typing import Array, ArrayLike, RandomState
from vectrick.backends import HOST, Backend, release, settle_backend
from vectrick.backends.arrays import cast, numpy_dtype, placed, true_places, zeros
from vectrick.data import Edges, EdgesLike, Graph, Kept
from vectrick.data.lake.scan import ScannedEdges
from vectrick.data.signs import check_signs
from vectrick.data.source import is_lake
from vectrick.estimators.on_lakes import OnLakes
from vectrick.estimators.parameters import ATTRIBUTES, PARAMETERS
from vectrick.losses import Loss, Pointwise, WithIntercept
from vectrick.models.edge_kernel import EdgeKernel
from vectrick.models.forms import Form, choose_form
from vectrick.models.kernel_spec import PairwiseKernels, VertexKernels
from vectrick.models.preconditioning import Choice, choose_preconditioner
from vectrick.models.product import PrimalPredictor
from vectrick.models.vertex_kernel import aligned_edges
from vectrick.operators import Plan
from vectrick.solvers import Solution, Solver, as_solver, minimise
from vectrick.solvers.minimise import check_precision, check_preconditioner, choose_solver
from vectrick.solvers.solution import LIMIT
from vectrick.streaming.fit import fit_lake
from vectrick.training.by_passes import Way, choose_way, fit_by_passes, limits_iterations
from vectrick.training.checks import check_not_zero, check_range, warn_of_constant, warn_of_data
from vectrick.training.holding_out import hold_out_some, train_on_all, vertices_only_in
from vectrick.training.kernel_weights import learned_weights
from vectrick.training.monitor import FitStep, Monitor, Validation, Watch, check_watch
from vectrick.training.parameters import check_in_memory, check_parameters, has_intercept
from vectrick.training.problem import Given, SourceEdges, Training
from vectrick.training.validate import as_edges, as_weights, labels_on, with_bounds


class KronEstimator(OnLakes):
    """A kernel machine on the Kronecker product kernel ``k(d, d') · g(t, t')`` of edges (d, t).

    It minimises ``L(p) + ½ alpha ‖f‖²``. Subclasses define the loss L and the labels. In their docstrings,
    ``<shared parameters>`` and ``<shared attributes>`` stand for the text that all of them share.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        doc = cls.__doc__ or ""
        cls.__doc__ = doc.replace("    <shared parameters>", PARAMETERS).replace("    <shared attributes>", ATTRIBUTES)

    def __init__(
        self,
        start_kernel: VertexKernels = "linear",
        end_kernel: VertexKernels = "linear",
        *,
        alpha: float = 1.0,
        pairwise: PairwiseKernels = "kronecker",
        kernel_weights: Any = None,
        form: str = "auto",
        solver: str | Solver = "auto",
        preconditioner: str = "auto",
        max_iter: int | None = None,
        inner_iter: int = 100,
        step: float | None = None,
        tol: float = 1e-6,
        fit_intercept: bool | str = "auto",
        early_stopping: bool = False,
        refit: bool = False,
        validation_fraction: float = 0.25,
        n_iter_no_change: int = 5,
        scoring: str = "auto",
        factor_tol: float = 1e-12,
        n_components: int | None = None,
        landmarks: str = "cholesky",
        backend: str | Backend = "cpu",
        device: str | None = None,
        precision: str = "full",
        keep_edges: bool = True,
        dtype: str | None = None,
        n_threads: int | None = None,
        verbose: int = 0,
        random_state: RandomState = None,
        n_start_features: int | None = None,
    ) -> None:
        self.start_kernel = start_kernel
        self.end_kernel = end_kernel
        self.alpha = alpha
        self.pairwise = pairwise
        self.kernel_weights = kernel_weights
        self.form = form
        self.solver = solver
        self.preconditioner = preconditioner
        self.max_iter = max_iter
        self.inner_iter = inner_iter
        self.step = step
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.early_stopping = early_stopping
        self.refit = refit
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.scoring = scoring
        self.factor_tol = factor_tol
        self.n_components = n_components
        self.landmarks = landmarks
        self.backend = backend
        self.device = device
        self.precision = precision
        self.keep_edges = keep_edges
        self.dtype = dtype
        self.n_threads = n_threads
        self.verbose = verbose
        self.random_state = random_state
        self.n_start_features = n_start_features

    # What a subclass defines.

    _labels_have_signs = True  # an antisymmetric kernel then needs opposite labels for an edge and its reverse
    _has_two_step = False

    @property
    @abstractmethod
    def _loss_type(self) -> type[Loss]:
        """The loss, before there are labels."""

    @abstractmethod
    def _encode(self, y: Any, n_edges: int) -> Array:
        """Check labels for training and return them as numbers, setting ``classes_`` where there are classes."""

    @abstractmethod
    def _encode_validation(self, y: Any, n_edges: int) -> Array:
        """Check labels for validation and return them as numbers."""

    @abstractmethod
    def _auto_scoring(self, y: Array) -> str:
        """Return the score that "auto" stands for."""

    def _make_loss(
        self, kind: type[Loss], y: Array, weight: Array | None, edges: Edges, bounds: Array | None = None
    ) -> Loss:
        return kind(y, weight) if bounds is None else kind(y, weight, bounds=bounds)  # type: ignore[call-arg]

    def _with_intercept(self, training: Training) -> Loss:
        """Return the loss with the intercept minimised out, unless the solver finds the intercept itself."""
        loss = training.loss
        if training.given.has_intercept and isinstance(loss, Pointwise) and loss.is_smooth:
            return WithIntercept(loss)
        return loss

    def _check_intercept(self, kind: type[Loss]) -> None:
        """Refuse an intercept that nobody would find."""
        if self.fit_intercept is True and kind.is_smooth and not issubclass(kind, Pointwise):
            raise ValueError(
                f"fit_intercept is True, but the loss {kind.__name__} is not a sum over edges (Pointwise), so there is "
                "no best constant to add; leave it out"
            )

    def _groups_of(self, edges: Edges) -> Array | None:
        """Return the group of each edge if only edges of one group are compared, else None."""
        return None

    # Fitting

    def fit(
        self,
        X: EdgesLike | ScannedEdges,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        validation: tuple[EdgesLike, ArrayLike] | ScannedEdges | None = None,
        callback: Callable[[FitStep], bool | None] | None = None,
        keep_interrupted: bool = False,
        resume: FitStep | None = None,
    ) -> Self:
        """Train on edges X with labels y.

        Parameters
        ----------
        X : Edges, ScannedEdges or array
            One row for each edge; see ``n_start_features`` for plain arrays. Edges of a lake (`vt.scan_edges`) have
            their labels and weights with them.
        y : array
            A label for each edge; for `KronRidge` also a matrix with a row for each edge.
        sample_weight : array, optional
            A weight for each edge.
        validation : (X, y), optional
            Edges and labels for early stopping, instead of a held-out part of X; they turn early stopping on.
        callback : callable, optional
            Called with a `FitStep` after each iteration; training stops if it returns True. A closed form makes no
            iterations.
        keep_interrupted : bool
            Whether Ctrl-C ends training with the best model so far (without early stopping, the last one) instead of
            an exception; ``solution_.reason`` then says "interrupted".
        resume : FitStep, optional
            The step to continue from. A callback received it in an earlier fit to the same edges with the same
            parameters. Newton's method continues as if it had never stopped; "cg" and similar solvers begin a new
            Krylov space there.

        Returns
        -------
        self
        """
        check_watch(callback, resume)
        return self._fit(X, y, sample_weight, validation, watch=Watch(callback, keep_interrupted, resume))

    def _fit(self, X: Any, y: Any, sample_weight: Any, validation: Any, **how: Any) -> Self:
        """Train; ``how`` are fields of `Training`."""
        before = dict(self.__dict__)
        try:
            if is_lake(X):
                return fit_lake(self, X, y, sample_weight, validation, how.get("watch", Watch()))
            with np.errstate(over="ignore", invalid="ignore"):  # the result is checked at the end
                training = self._prepare(X, y, sample_weight, validation)
                self._finish(replace(training, **how))
                if self.refit and training.given.held is not None and validation is None:
                    train_on_all(self, lambda fixed: fixed.fit(X, y, sample_weight))
        except BaseException as error:  # whatever the error, an earlier model stays intact
            self.__dict__ = before
            training = None
            release(self.backend, error)
            raise
        return self

    def _prepare(self, X: Any, y: Any, sample_weight: Any, validation: tuple[Any, Any] | None) -> Training:
        """Validate what was given, hold out edges, and build the kernel."""
        given = self._validate(X, y, sample_weight, validation)
        return self._build_kernel(self._hold_out_some(given, validation).ordered())

    def _validate(self, X: Any, y: Any, sample_weight: Any, validation: tuple[Any, Any] | None) -> Given:
        """Check the parameters and the input, and move the input to the backend."""
        spec, loss_type, solver = check_parameters(self, validation), self._loss_type, as_solver(self.solver)
        check_in_memory(self)
        if solver is not None:
            solver.check(loss_type)
        self._check_intercept(loss_type)
        check_precision(self.precision, solver, loss_type, self.early_stopping or validation is not None)
        check_preconditioner(self.preconditioner, solver, loss_type)
        edges = given = as_edges(self, X, reset=True)
        constant = has_intercept(self, spec, loss_type)
        spec.check(edges, form=self.form, fit_intercept=constant)
        home, backend = edges.backend, settle_backend(self.backend, self.device, edges.backend)
        edges = edges.on(backend)
        values, bounds = with_bounds(y, loss_type, backend)
        labels = placed(self._encode(labels_on(values, backend), len(edges)), backend)
        weight = as_weights(sample_weight, len(edges), backend)
        if spec.symmetry < 0:
            signs = labels if self._labels_have_signs else None
            check_signs(edges, signs, weight, spec.components[0].pairwise.name)
        warn_of_data(given, labels, spec)
        if not constant:
            warn_of_constant(given, labels, spec, loss_type)
        what = spec, loss_type, solver, constant, backend, home
        source = SourceEdges.of(given, y, sample_weight) if self.keep_edges else None
        return Given(*what, edges, labels, weight, Kept(len(edges)), source, bounds)

    def _hold_out_some(self, given: Given, validation: tuple[Any, Any] | None) -> Given:
        """Return the training edges and the validation edges, which are given, held out, or absent."""
        rows = None if given.weight is None else given.weight > 0  # edges of weight zero do not count
        self.__dict__.pop("validation_vertices_", None)
        if validation is not None:
            held = as_edges(self, validation[0], reset=False)
            values, bounds = with_bounds(validation[1])
            labels = placed(self._encode_validation(labels_on(values, HOST), len(held)), given.backend)
            given = replace(given, held=held.on(given.backend), held_labels=labels, held_bounds=bounds)
        elif self.early_stopping:
            rows, test = hold_out_some(self, given.edges, given.labels, rows)
            self.validation_vertices_ = vertices_only_in(given.edges[test], given.edges[rows])
            bounds = None if given.bounds is None else given.bounds[test]
            given = replace(given, held=given.edges[test], held_labels=given.labels[test], held_bounds=bounds)
        if rows is not None:
            self._check_labels(given.labels[rows])
        return given.only(rows)

    def _build_kernel(self, given: Given) -> Training:
        """Return the loss of the training edges and the kernel, settled on their vertices."""
        edges, dtype = given.edges, self._compute_dtype(given.edges)
        check_range(given.labels, dtype)
        weight = None if given.weight is None else cast(given.weight, dtype)
        given = replace(given, labels=cast(given.labels, dtype))  # those of another dtype would stay in memory
        loss = self._make_loss(given.loss_type, given.labels, weight, edges, given.bounds)
        graph = Graph.of(edges, given.spec.one_set)
        kernel = EdgeKernel.settled(given.spec, edges, graph, given.backend, given.labels)
        if given.spec.weights is None:
            kernel = replace(kernel, weights=learned_weights(self, kernel, given, graph, loss))
        if given.held is not None:
            held = aligned_edges(given.held, kernel.start, kernel.end)
            kernel.start.check(held.start_table)
            kernel.end.check(held.end_table)
            given = replace(given, held=held)
        return Training(given, graph, loss, kernel)

    def _choose_form(self, training: Training, way: Way = Way()) -> Form:  # noqa: B008 (it is frozen)
        """Choose dual or primal form and make its operator."""
        how: dict[str, Any] = {"tolerance": self.factor_tol, "n_threads": self.n_threads, "dtype": training.dtype}
        return choose_form(self.form, training.kernel, training.graph, maps=way.maps, is_primal=way.is_primal, **how)

    def _plan(self, X: Any, y: Any, sample_weight: Any) -> Plan:
        """Return the plan of a fit to edges in memory."""
        trial = clone(self)
        training = trial._prepare(X, y, sample_weight, None)
        with training.backend.own_threads():
            return trial._plan_of(training)

    def _plan_of(self, training: Training) -> Plan:
        way = choose_way(self, training)
        return way.plan or self._choose_form(training, way).plan

    def _finish(self, training: Training) -> None:
        """Choose the form, minimise, and keep the result."""
        with training.backend.own_threads():
            if (form := fit_by_passes(self, training)) is None:
                return
            start = None if training.warm is None else training.warm(form, training)
            solution = self._minimise(training, form, start=start)
            check_not_zero(training, form.space, solution, self.intercept_)

    def _minimise(
        self, training: Training, form: Form, validation: Validation | None = None, start: Array | None = None
    ) -> Solution:
        """Minimise, keep and return the result; use ``validation`` and ``start`` if they are given."""
        loss, watch = self._with_intercept(training), training.watch
        intercept = loss.intercept if isinstance(loss, WithIntercept) else None
        validation = validation or self._validation(form, training)
        iterative = validation is not None or self.preconditioner == "kronecker"
        solver = training.given.solver or choose_solver(form.space, loss, iterative)
        max_iter = solver.max_iter if self.max_iter is None else self.max_iter
        outward = training.given.kept.outward if form.name == "dual" else None
        how = intercept, watch, max_iter, outward
        monitor = Monitor(type(self).__name__, self.verbose, validation, self.n_iter_no_change, *how)
        if watch.resume is not None:
            start = watch.resume.coefficients(form.space.size)
            max_iter -= watch.resume.iteration
        if start is not None:
            start = training.inward(start, form.name)
        if monitor.best is not None:
            monitor.best = training.inward(monitor.best, form.name)
        try:
            solution = self._solve(training, form, loss, solver, max_iter, start, monitor, validation)
        except KeyboardInterrupt:
            reached = monitor.interrupted(form.space)
            if reached is None:
                raise
            solution, intercept = reached, None
        solution = replace(solution, n_iter=solution.n_iter + monitor.before)
        monitor.finish(solution)
        constant, n_iter = intercept(solution.predictions) if intercept else solution.intercept, solution.n_iter
        if monitor.best is not None:
            solution = monitor.restored(solution, form.space)
            constant, n_iter = monitor.best_intercept, monitor.best_iteration
        self._keep(form, training, solution, constant, n_iter, monitor.history)
        if form.name == "primal" and training.loss.may_be_flat:
            dual, kept = solution.dual, training.given.kept
            inside = training.loss.gradient(solution.predictions + constant) != 0 if dual is None else dual != 0
            self.support_ = training.outward(kept.named(inside))
            if dual is not None and not training.loss.is_smooth:  # its gradient does not determine them
                self._dual_of_primal = training.outward(kept.spread(dual))
        return solution

    def _solve(
        self,
        training: Training,
        form: Form,
        loss: Loss,
        solver: Solver,
        max_iter: int,
        start: Array | None,
        monitor: Monitor,
        validation: Validation | None,
    ) -> Solution:
        """Run the solver and return its solution."""
        if max_iter < 1 and start is not None:  # it resumes after its last iteration
            return Solution(start, form.space.predict(start), False, LIMIT, 0, form.space.n_products)
        chosen = self._precondition(form, loss, solver, validation)
        solution = minimise(
            form.space,
            loss,
            float(self.alpha),  # a NumPy number would widen float32
            solver=solver,
            max_iter=max_iter,
            inner_iter=self.inner_iter,
            step=self.step,
            tol=self.tol,
            start=start,
            fit_intercept=training.given.has_intercept,
            precision=self.precision,
            callback=monitor,
            model=chosen.model,
            patience=chosen.patience,
            warm=training.warm is not None,
        )
        return replace(solution, preconditioner_reason=chosen.why(solution.preconditioner))

    def _precondition(self, form: Form, loss: Loss, solver: Solver, validation: Validation | None) -> Choice:
        """Return the preconditioner, or None, and why."""
        if self.preconditioner == "auto" and not solver.has_preconditioner:
            return Choice(None, f"solver {solver.label!r} has none")
        few = limits_iterations(self, solver)
        if self.preconditioner == "auto" and (validation is not None or few or self.step is not None):
            what = "early stopping" if validation is not None else "max_iter" if few else "step"
            return Choice(None, f"with {what} the path of the iterates is part of the regularizer")
        how = float(self.alpha), self.tol, numpy_dtype(loss.y), self.n_threads
        return choose_preconditioner(self.preconditioner, form, loss, *how)

    def _validation(self, form: Form, training: Training) -> Validation | None:
        """Return the `Validation` of the held-out edges, or None if there are none."""
        held, labels = training.given.held, training.given.held_labels
        if held is None or labels is None:
            return None
        scoring = self._auto_scoring(labels) if self.scoring == "auto" else self.scoring
        everything = form.predictor(zeros(form.space.size, training.loss.y) + 1, self.n_threads)
        return Validation(everything, held, labels, scoring, self._groups_of(held), training.given.held_bounds)

    def _keep(
        self,
        form: Form,
        training: Training,
        solution: Solution,
        intercept: float,
        n_iter: int,
        history: dict[str, list[Any]],
    ) -> None:
        """Set the fitted attributes."""
        x, kept, outward = solution.x, training.given.kept, training.outward
        in_order = kept.outward(x) if form.name == "dual" else x  # predictions are easy to compute again
        found = replace(solution, x=outward(in_order), predictions=None, dual=None, intercept=float(intercept))
        predictor = form.predictor(x, self.n_threads)
        self._set_fitted(predictor, found, (form.name, form.reason), n_iter, history, training.given.source)
        self.plan_ = form.plan
        if not form.kernel.is_product:
            self.components_, self.kernel_weights_ = form.kernel.labels, form.kernel.weights
        if isinstance(predictor, PrimalPredictor):
            self.coef_ = outward(predictor.core)
            return
        self.dual_coef_ = outward(kept.spread(x))  # edges that were left out have no coefficient
        self.support_ = true_places(self.dual_coef_ != 0)

    def _check_labels(self, labels: Array) -> None:
        """Refuse training labels from which nothing can be learned."""

    def _compute_dtype(self, edges: Edges) -> np.dtype[Any]:
        if self.dtype is not None or self.precision == "mixed":  # which has results of float64
            return np.dtype(self.dtype or np.float64)
        return np.result_type(numpy_dtype(edges.start_table.features), numpy_dtype(edges.end_table.features))
