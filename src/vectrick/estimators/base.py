"""The base of all estimators: parameters, fit, predictions."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import clone

from vectrick._typing import (
    Array,
    ArrayLike,
    FloatName,
    FormName,
    KernelWeights,
    Landmarks,
    Precision,
    PreconditionerName,
    RandomState,
)
from vectrick.backends import Backend, release
from vectrick.backends.arrays import numpy_dtype, true_places, zeros
from vectrick.data import Edges, EdgesLike
from vectrick.data.lake.scan import ScannedEdges
from vectrick.data.source import AnyEdges, is_lake
from vectrick.estimators.on_lakes import OnLakes
from vectrick.estimators.parameters import ATTRIBUTES, PARAMETERS
from vectrick.losses import Loss, Pointwise, WithIntercept
from vectrick.models.forms import Form, choose_form
from vectrick.models.kernel_spec import PairwiseKernels, VertexKernels
from vectrick.models.preconditioning import ChosenPreconditioner, choose_preconditioner
from vectrick.models.product import PrimalPredictor
from vectrick.operators import Plan
from vectrick.solvers import Solution, Solver, minimise
from vectrick.solvers.minimise import choose_solver
from vectrick.solvers.solution import LIMIT
from vectrick.streaming.fit import fit_lake
from vectrick.training.by_passes import Route, choose_route, fit_by_passes, limits_iterations
from vectrick.training.checks import check_not_zero
from vectrick.training.holding_out import train_on_all
from vectrick.training.monitor import FitControls, FitStep, Monitor, Validation, check_controls
from vectrick.training.prepare import prepare
from vectrick.training.problem import Training


class KronEstimator(OnLakes):
    """A kernel machine on the Kronecker product kernel ``k(d, d') · g(t, t')`` of edges (d, t).

    It minimizes ``L(p) + ½ alpha ‖f‖²``. Subclasses define the loss L and the labels. In their docstrings,
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
        kernel_weights: KernelWeights = None,
        form: FormName = "auto",
        solver: str | Solver = "auto",
        preconditioner: PreconditionerName = "auto",
        max_iter: int | None = None,
        inner_iter: int = 100,
        step: float | None = None,
        tol: float = 1e-6,
        fit_intercept: bool | Literal["auto"] = "auto",
        early_stopping: bool = False,
        refit: bool = False,
        validation_fraction: float = 0.25,
        n_iter_no_change: int = 5,
        scoring: str = "auto",
        factor_tol: float = 1e-12,
        n_components: int | None = None,
        landmarks: Landmarks = "cholesky",
        backend: str | Backend = "cpu",
        device: str | None = None,
        precision: Precision = "full",
        keep_edges: bool = True,
        dtype: FloatName | None = None,
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

    # Defined by subclasses.

    _labels_have_signs = True  # an antisymmetric kernel then needs opposite labels for an edge and its reverse
    _has_two_step = False

    @property
    @abstractmethod
    def _loss_type(self) -> type[Loss]:
        """The class of the loss."""

    @abstractmethod
    def _encode(self, y: ArrayLike, n_edges: int) -> Array:
        """Check labels for training and return them as numbers; set ``classes_`` if there are classes."""

    @abstractmethod
    def _encode_validation(self, y: ArrayLike, n_edges: int) -> Array:
        """Check labels for validation and return them as numbers."""

    @abstractmethod
    def _auto_scoring(self, y: Array) -> str:
        """Return the score that "auto" stands for."""

    def _make_loss(
        self, kind: type[Loss], y: Array, weight: Array | None, edges: Edges, bounds: Array | None = None
    ) -> Loss:
        return kind(y, weight) if bounds is None else kind(y, weight, bounds=bounds)  # type: ignore[call-arg]

    def _with_intercept(self, training: Training) -> Loss:
        """Return the loss with the intercept minimized out, unless the solver finds the intercept itself."""
        loss = training.loss
        if training.given.has_intercept and isinstance(loss, Pointwise) and loss.is_smooth:
            return WithIntercept(loss)
        return loss

    def _check_combination(self, kind: type[Loss]) -> None:
        """Raise if parameters contradict each other or the loss."""
        if self.fit_intercept is True and kind.is_smooth and not issubclass(kind, Pointwise):
            raise ValueError(
                f"fit_intercept is True, but the loss {kind.__name__} is not a sum over edges (Pointwise), so there is "
                "no best intercept; leave it out"
            )

    def _groups_of(self, edges: Edges) -> Array | None:
        """Return the group of each edge if only edges of one group are compared, else None."""
        return None

    # Fitting

    def fit(
        self,
        X: AnyEdges,
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
            One row for each edge; see ``n_start_features`` for plain arrays. Edges of a lake (`vt.scan_edges`)
            include their labels and weights.
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
            an exception; ``solution_.reason`` then starts with "interrupted".
        resume : FitStep, optional
            The step to continue from. A callback received it in an earlier fit to the same edges with the same
            parameters. Newton's method continues as if it had never stopped; "cg" and similar solvers begin a new
            Krylov space there.

        Returns
        -------
        self
        """
        check_controls(callback, resume)
        return self._fit(X, y, sample_weight, validation, watch=FitControls(callback, keep_interrupted, resume))

    def _fit(
        self,
        X: AnyEdges,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        validation: Any,
        **how: Any,
    ) -> Self:
        """Train; ``how`` are fields of `Training`."""
        before = dict(self.__dict__)
        try:
            if is_lake(X):
                result: Self = fit_lake(self, X, y, sample_weight, validation, how.get("watch", FitControls()))
                return result
            with np.errstate(over="ignore", invalid="ignore"):  # the result is checked at the end
                training = prepare(self, X, y, sample_weight, validation)
                self._finish(replace(training, **how))
                if self.refit and training.given.held is not None and validation is None:
                    train_on_all(self, lambda fixed: fixed.fit(X, y, sample_weight))
        except BaseException as error:  # after any error, an earlier model stays intact
            self.__dict__ = before
            training = None
            release(self.backend, error)
            raise
        return self

    def _choose_form(self, training: Training, way: Route = Route()) -> Form:  # noqa: B008 (it is frozen)
        """Choose dual or primal form and make its operator."""
        how: dict[str, Any] = {"tolerance": self.factor_tol, "n_threads": self.n_threads, "dtype": training.dtype}
        return choose_form(self.form, training.kernel, training.graph, maps=way.maps, is_primal=way.is_primal, **how)

    def _plan(self, X: AnyEdges, y: ArrayLike | None, sample_weight: ArrayLike | None) -> Plan:
        """Return the plan of a fit to edges in memory."""
        trial = clone(self)
        training = prepare(trial, X, y, sample_weight, None)
        with training.backend.own_threads():
            result: Plan = trial._plan_of(training)
            return result

    def _plan_of(self, training: Training) -> Plan:
        way = choose_route(self, training)
        return way.plan or self._choose_form(training, way).plan

    def _finish(self, training: Training) -> None:
        """Choose the form, minimize, and keep the result."""
        with training.backend.own_threads():
            if (form := fit_by_passes(self, training)) is None:
                return
            start = None if training.warm is None else training.warm(form, training)
            solution = self._minimise(training, form, start=start)
            check_not_zero(training, form.space, solution, self.intercept_)

    def _minimise(
        self, training: Training, form: Form, validation: Validation | None = None, start: Array | None = None
    ) -> Solution:
        """Minimize, keep and return the result; use ``validation`` and ``start`` if they are given."""
        loss, watch = self._with_intercept(training), training.watch
        intercept = loss.intercept if isinstance(loss, WithIntercept) else None
        validation = validation or self._validation(form, training)
        iterative = validation is not None or self.preconditioner == "kronecker"
        solver = training.given.solver or choose_solver(form.space, loss, iterative)
        max_iter = solver.max_iter if self.max_iter is None else self.max_iter
        in_user_order = training.given.kept.in_user_order if form.name == "dual" else None
        how = intercept, watch, max_iter, in_user_order
        monitor = Monitor(type(self).__name__, self.verbose, validation, self.n_iter_no_change, *how)
        if watch.resume is not None:
            start = watch.resume.coefficients(form.space.size)
            max_iter -= watch.resume.iteration
        if start is not None:
            start = training.to_solver(start, form.name)
        if monitor.best is not None:
            monitor.best = training.to_solver(monitor.best, form.name)
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
            self.support_ = training.to_user(kept.named(inside))
            if dual is not None and not training.loss.is_smooth:  # its gradient does not determine them
                self._dual_of_primal = training.to_user(kept.spread(dual))
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
        if max_iter < 1 and start is not None:  # a fit that resumes after its last iteration
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

    def _precondition(
        self, form: Form, loss: Loss, solver: Solver, validation: Validation | None
    ) -> ChosenPreconditioner:
        """Return the preconditioner or None, and the reason."""
        if self.preconditioner == "auto" and not solver.has_preconditioner:
            return ChosenPreconditioner(None, f"solver {solver.label!r} has none")
        few = limits_iterations(self, solver)
        if self.preconditioner == "auto" and (validation is not None or few or self.step is not None):
            what = "early stopping" if validation is not None else "max_iter" if few else "step"
            return ChosenPreconditioner(None, f"with {what} the path of the iterates is part of the regularizer")
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
        x, kept, to_user = solution.x, training.given.kept, training.to_user
        in_order = kept.in_user_order(x) if form.name == "dual" else x  # predictions are easy to compute again
        found = replace(solution, x=to_user(in_order), predictions=None, dual=None, intercept=float(intercept))
        predictor = form.predictor(x, self.n_threads)
        self._set_fitted(predictor, found, (form.name, form.reason), n_iter, history, training.given.source)
        self.plan_ = form.plan
        if not form.kernel.is_product:
            self.components_, self.kernel_weights_ = form.kernel.labels, form.kernel.weights
        if isinstance(predictor, PrimalPredictor):
            self.coef_ = to_user(predictor.core)
            return
        self.dual_coef_ = to_user(kept.spread(x))  # edges that were left out have no coefficient
        self.support_ = true_places(self.dual_coef_ != 0)

    def _check_labels(self, labels: Array) -> None:
        """Reject training labels from which nothing can be learned."""

    def _compute_dtype(self, edges: Edges | ScannedEdges) -> np.dtype[Any]:
        if self.dtype is not None or self.precision == "mixed":  # mixed precision has results in float64
            return np.dtype(self.dtype or np.float64)
        return np.result_type(numpy_dtype(edges.start_table.features), numpy_dtype(edges.end_table.features))
