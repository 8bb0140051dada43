"""Kronecker ridge regression."""

from collections.abc import Sequence
from typing import Any, Literal, Self, overload

from sklearn.base import RegressorMixin, clone
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

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
    SpectralFilter,
    Table,
)
from vectrick.backends import Backend
from vectrick.backends.arrays import namespace, to_host, unmasked
from vectrick.data import EdgesLike
from vectrick.data.censored import within_bounds
from vectrick.data.source import AnyEdges, is_lake
from vectrick.estimators.regressor import KronRegressor
from vectrick.inference.uncertainty import N_SAMPLES, grid_std, samples_of, with_uncertainty
from vectrick.losses import Loss, Squared, WithIntercept, as_loss
from vectrick.models.kernel_spec import PairwiseKernels, VertexKernels
from vectrick.operators import Plan
from vectrick.solvers import OnePass, Solver, minimise_path
from vectrick.solvers.closed_forms.complete_graph import Eigen
from vectrick.solvers.minimise import check_path_precision
from vectrick.streaming.scores import score_lake
from vectrick.training.closed_forms import ClosedForm, OnePassFit, check_one_pass
from vectrick.training.columns import as_targets, fit_targets
from vectrick.training.monitor import FitControls
from vectrick.training.parameters import check_parameters, sees_products_only
from vectrick.training.prepare import prepare
from vectrick.training.problem import Training
from vectrick.training.validate import as_edges


class KronRidge(RegressorMixin, KronRegressor):
    """Ridge regression for labeled edges.

    It minimizes ``½ Σ (pᵢ - yᵢ)² + ½ alpha ‖f‖²``: in dual form it solves ``(A + alpha I) a = y`` with the edge kernel
    matrix ``A = R (G ⊗ K) Rᵀ``, but never forms A. An iteration takes O((m + q) n) for m start vertices, q end
    vertices and n edges. For a complete graph (every pair is an edge, no weights) it uses the closed form by
    eigendecomposition in O(m³ + q³); ``solver="eigen"`` requests it.

    ``solver="one-pass"`` reads the edges once: it computes ``M⁻¹ Zᵀ y`` with the edge features Z and the degree model
    ``M ≈ Zᵀ Z + alpha I``. The model assumes an edge of weight ``deg(d) deg(t) / n`` between any d and t. Every alpha
    and filter then has a closed form. The result is exact on a complete graph, and nearly as good as the minimum if
    the pattern of edges looks random given the degrees. It fails if the pattern has more structure: some blocks are
    dense and others empty, or one vertex has most of the edges. ``solution_.converged`` is False unless ``refine``
    found the minimum. The guide on the preconditioner has measurements, including a failure.

    Labels may also be a matrix: `fit` then trains a model for each column (``machines_``), predictions have a column
    for each label, and ``dual_coef_``, ``coef_`` and ``intercept_`` have the columns along their first axis. The
    columns share the kernels, the preconditioner and the products with the edges (``n_products`` counts products with
    all columns), if ``solver`` is "auto", "cg", "one-pass" or "eigen". If fits differ in more than labels (early
    stopping, callbacks, learned kernel weights, mixed precision, antisymmetric kernels), each column has its own fit.

    Parameters
    ----------
    loss : str or Loss class
        "squared"; "censored", if some labels are bounds (`vt.censored`): a prediction beyond a bound costs nothing; or
        the class or the registered name of another loss for real-valued labels. Closed forms, "cg" and similar solvers
        are for quadratic losses.
    spectral_filter : str
        With ``solver="one-pass"``, the share that is kept of a direction in which the degree model has the size s:
        "ridge" (``s / (s + alpha)``), "iterated" (``1 - (alpha / (s + alpha))ᵏ``) or "cut-off" (all of it if s is
        above alpha, else nothing).
    filter_iter : int
        The k of the filter "iterated".
    refine : int
        With ``solver="one-pass"``, the number of preconditioned iterations that follow; each takes another pass.
    <shared parameters>

    Attributes
    ----------
    <shared attributes>

    Examples
    --------
    >>> import vectrick as vt
    >>> X, y = vt.datasets.make_checkerboard(200, random_state=0)
    >>> ridge = vt.KronRidge(vt.Gaussian(gamma=1.0), vt.Gaussian(gamma=1.0), alpha=0.1).fit(X, y)
    >>> X_new, _ = vt.datasets.make_checkerboard(50, random_state=1)
    >>> ridge.predict(X_new).shape, ridge.score(X, y) > 0.5
    ((625,), True)
    """

    _has_two_step = True

    def __init__(
        self,
        start_kernel: VertexKernels = "linear",
        end_kernel: VertexKernels = "linear",
        *,
        loss: str | type[Loss] = "squared",
        alpha: float = 1.0,
        pairwise: PairwiseKernels = "kronecker",
        kernel_weights: KernelWeights = None,
        form: FormName = "auto",
        solver: str | Solver = "auto",
        spectral_filter: SpectralFilter = "ridge",
        filter_iter: int = 2,
        refine: int = 0,
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
        super().__init__(
            start_kernel,
            end_kernel,
            alpha=alpha,
            pairwise=pairwise,
            kernel_weights=kernel_weights,
            form=form,
            solver=solver,
            preconditioner=preconditioner,
            max_iter=max_iter,
            inner_iter=inner_iter,
            step=step,
            tol=tol,
            fit_intercept=fit_intercept,
            early_stopping=early_stopping,
            refit=refit,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            scoring=scoring,
            factor_tol=factor_tol,
            n_components=n_components,
            landmarks=landmarks,
            backend=backend,
            device=device,
            precision=precision,
            keep_edges=keep_edges,
            dtype=dtype,
            n_threads=n_threads,
            verbose=verbose,
            random_state=random_state,
            n_start_features=n_start_features,
        )
        self.loss = loss
        self.spectral_filter = spectral_filter
        self.filter_iter = filter_iter
        self.refine = refine

    @property
    def _loss_type(self) -> type[Loss]:
        return as_loss(self.loss, of_classes=False)

    @property
    def _takes_bounds(self) -> bool:
        return self._loss_type.takes_bounds

    def _check_combination(self, kind: type[Loss]) -> None:
        check_one_pass(self)
        super()._check_combination(kind)

    def _fit(
        self,
        X: AnyEdges,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        validation: Any,
        **how: Any,
    ) -> Self:
        targets = as_targets(y)
        if targets is None:
            return super()._fit(X, y, sample_weight, validation, **how)
        fit_targets(self, X, targets, sample_weight, validation, how.get("watch", FitControls()))
        return self

    @overload
    def predict(
        self, X: AnyEdges, return_std: Literal[False] = ..., return_cov: Literal[False] = ..., *, n_samples: int = ...
    ) -> Array: ...
    @overload
    def predict(
        self, X: AnyEdges, return_std: bool = ..., return_cov: bool = ..., *, n_samples: int = ...
    ) -> Array | tuple[Array, Array]: ...
    def predict(
        self,
        X: AnyEdges,
        return_std: bool = False,
        return_cov: bool = False,
        *,
        n_samples: int = N_SAMPLES,
    ) -> Array | tuple[Array, Array]:
        """Return the prediction for each edge, optionally with its uncertainty.

        Parameters
        ----------
        X : Edges or array
            The edges.
        return_std : bool
            Whether to return standard deviations of the function, too, like scikit-learn's
            ``GaussianProcessRegressor``. They do not include the noise of labels, ``alpha`` relative to the kernel;
            the scale is estimated from the residuals. See `posterior` for exact cases and errors.
        return_cov : bool
            Whether to return covariances instead, for at most 4000 edges.
        n_samples : int
            The number of samples if variances are estimated.
        """
        if not (return_std or return_cov):
            return super().predict(X)
        check_is_fitted(self)
        X = as_edges(self, X, reset=False)
        return with_uncertainty(self, X, super().predict(X), return_std, return_cov, n_samples)

    def sample(self, X: EdgesLike, n: int = 1, random_state: RandomState = None) -> Array:
        """Draw n functions from the posterior; return a row for each, with its values at edges X (at most 4000)."""
        return samples_of(self, X, super().predict(X), n, random_state)

    @overload
    def predict_grid(
        self,
        start_features: Table,
        end_features: Table = ...,
        *,
        return_std: Literal[False] = ...,
        n_samples: int = ...,
    ) -> Array: ...
    @overload
    def predict_grid(
        self, start_features: Table, end_features: Table = ..., *, return_std: bool, n_samples: int = ...
    ) -> Array | tuple[Array, Array]: ...
    def predict_grid(
        self, start_features: Table, end_features: Table = None, *, return_std: bool = False, n_samples: int = N_SAMPLES
    ) -> Array | tuple[Array, Array]:
        """Return the predictions for every pair of a start and an end vertex, like `FittedModel.predict_grid`.

        With several labels for each edge, their grids are stacked along the last axis. With ``return_std``, the grid
        of standard deviations is returned as well.
        """
        if return_std:
            mean = super().predict_grid(start_features, end_features)
            return mean, grid_std(self, mean, start_features, end_features, n_samples)
        if not self._machines:
            return super().predict_grid(start_features, end_features)
        grids = [machine.predict_grid(start_features, end_features) for machine in self._place_machines()]
        return namespace(grids[0]).stack(grids, -1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = sees_products_only(self)
        return tags

    def score(self, X: AnyEdges, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the coefficient of determination R² of the predictions; predictions beyond a bound have no error."""
        if is_lake(X):
            return score_lake(self, X, "r2")
        labels, predictions = within_bounds(unmasked(to_host(y), "y"), to_host(self.predict(X)))
        return float(r2_score(labels, predictions, sample_weight=unmasked(sample_weight, "sample_weight")))

    def fit_path(self, X: EdgesLike, y: ArrayLike, alphas: Sequence[float]) -> list["KronRidge"]:
        """Return an estimator for every alpha, at about the cost of the smallest alpha.

        A complete graph takes one eigendecomposition; otherwise all alphas share one Krylov space (``solver="cg"`` or
        "minres") or one pass over the edges ("one-pass"). Early stopping does not apply.

        >>> import vectrick as vt
        >>> X, y = vt.datasets.make_checkerboard(40, random_state=0)
        >>> [model.alpha for model in vt.KronRidge().fit_path(X, y, [0.1, 1.0, 10.0])]
        [0.1, 1.0, 10.0]
        """
        alphas = [float(alpha) for alpha in alphas]
        models = [clone(self).set_params(alpha=alpha, early_stopping=False) for alpha in alphas]
        if not models:
            raise ValueError("alphas is empty, but there must be at least one")
        check_path_precision(self.precision)
        for model in models:
            check_parameters(model, None)
        training = prepare(models[-1], X, y, None, None)
        if isinstance(training.given.solver, OnePass):
            with training.backend.own_threads():
                shared = OnePassFit(self, training)
                for model in models:
                    shared.keep(_named_like(models[-1], model), model.alpha)
            return models
        if self._wants_closed_form(training):
            closed = ClosedForm(self, training)
            fitted = [(closed.form, solution) for solution in closed.solved(training, alphas)]
        else:
            max_iter = 1000 if self.max_iter is None else self.max_iter
            with training.backend.own_threads():
                form, loss = self._choose_form(training), self._with_intercept(training)
                solutions = minimise_path(form.space, loss, alphas, solver=self.solver, max_iter=max_iter, tol=self.tol)
            fitted = [(form, solution) for solution in solutions]
        last = models[-1]
        for model, (form, solution) in zip(models, fitted, strict=True):
            loss = self._with_intercept(training)
            constant = loss.intercept(solution.predictions) if isinstance(loss, WithIntercept) else 0.0
            _named_like(last, model)._keep(form, training, solution, constant, solution.n_iter, {})
        return models

    def _finish(self, training: Training) -> None:
        self.__dict__.pop("machines_", None)
        if isinstance(training.given.solver, OnePass):
            if training.given.held is not None:
                raise ValueError(
                    "solver is 'one-pass', but it makes no iterations to stop at; leave out early_stopping and "
                    "validation, or choose alpha by vt.alpha_path(..., solver='one-pass')"
                )
            with training.backend.own_threads():
                OnePassFit(self, training).keep(self, float(self.alpha))
            return
        if not self._wants_closed_form(training):
            super()._finish(training)
            return
        ClosedForm(self, training).keep(self, training)

    def _plan(self, X: AnyEdges, y: ArrayLike | None, sample_weight: ArrayLike | None) -> Plan:
        targets = as_targets(y)
        if targets is None:
            return super()._plan(X, y, sample_weight)
        of_column = super()._plan(X, targets[:, 0], sample_weight)
        if of_column.path != "tiles":
            return of_column
        training = prepare(trial := clone(self), X, targets[:, 0], sample_weight, None)
        result: Plan = trial._choose_form(training).plan  # columns share their products
        return result

    def _plan_of(self, training: Training) -> Plan:
        if isinstance(training.given.solver, OnePass):
            return OnePassFit(self, training).form.plan
        return ClosedForm(self, training).form.plan if self._wants_closed_form(training) else super()._plan_of(training)

    def _wants_closed_form(self, training: Training) -> bool:
        """Return whether the graph is complete, the closed form is possible, and it was requested or is cheap."""
        m, q = len(training.graph.used_start), len(training.graph.used_end)
        two_step = training.given.spec.two_step is not None
        if two_step and (training.loss.weight is not None or not training.graph.is_complete):
            raise ValueError(
                f"pairwise='two_step' is for complete graphs without weights, but X has "
                f"{len(training.given.edges)} edges for the {m * q} pairs of {m} start and {q} end vertices; use "
                "pairwise='kronecker'"
            )
        if not training.kernel.is_product or type(training.loss) is not Squared:
            return False
        cheap = 10 * (m**3 + q**3) <= 200 * m * q * (m + q)
        solver = training.given.solver
        cheap = cheap and self.form == "auto" and self.preconditioner != "kronecker"
        wanted = isinstance(solver, Eigen) or (solver is None and cheap)
        possible = self.form != "primal" and training.given.held is None and training.loss.weight is None
        possible = possible and training.kernel.start.fits and training.kernel.end.fits
        return two_step or (wanted and possible and training.graph.is_complete)


def _named_like(fitted: KronRidge, model: KronRidge) -> KronRidge:
    """Give a model the feature names of a fitted model, and return it."""
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(fitted, name):
            setattr(model, name, getattr(fitted, name))
    return model
