"""Kronecker ridge regression."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin, clone
from sklearn.metrics import r2_score

from vectrick._typing import ArrayLike, RandomState
from vectrick.backends import Backend
from vectrick.backends.arrays import cast, to_host, unmasked, zeros
from vectrick.data import EdgesLike
from vectrick.estimators.one_pass import OnePassFit, check_one_pass
from vectrick.estimators.parameters import check_parameters
from vectrick.estimators.regressor import KronRegressor
from vectrick.estimators.soundness import check_not_zero
from vectrick.estimators.training import Given, Training
from vectrick.losses import Loss, Squared, WithIntercept, as_loss
from vectrick.models.forms import Form, dual_form
from vectrick.models.kernel_spec import PairwiseKernels, VertexKernels
from vectrick.models.vertex_kernel import check_matrices
from vectrick.solvers import OnePass, Solution, Solver, minimise_path, solve_complete, solve_two_step
from vectrick.solvers.complete_graph import Eigen
from vectrick.solvers.minimise import check_path_precision
from vectrick.solvers.solution import EXACT


class KronRidge(RegressorMixin, KronRegressor):
    """Ridge regression for labeled edges.

    It minimises ``½ Σ (pᵢ - yᵢ)² + ½ alpha ‖f‖²``: in dual form it solves ``(A + alpha I) a = y`` with the edge kernel
    matrix ``A = R (G ⊗ K) Rᵀ``, which is never formed. An iteration takes O((m + q) n) for m start vertices, q end
    vertices and n edges. For a complete graph (every pair is an edge, no weights) it uses the closed form by
    eigendecomposition in O(m³ + q³); ``solver="eigen"`` requests it.

    ``solver="one-pass"`` reads the edges once: it computes ``M⁻¹ Zᵀ y`` with the edge features Z and the degree model
    ``M ≈ Zᵀ Z + alpha I``, in which any d and t share an edge of weight ``deg(d) deg(t) / n``. Every alpha and filter
    then has a closed form. It is exact on a complete graph, and nearly as good as the minimum where the pattern of
    edges is like chance given the degrees. It fails where the pattern has structure of its own: blocks that are dense
    while others are empty, or one vertex with most of the edges. ``solution_.converged`` is False unless ``refine``
    found the minimum. docs/preconditioner.md has measurements, also of a failure.

    Parameters
    ----------
    loss : str or Loss class
        "squared"; or the class or the registered name of another loss for real-valued labels. Closed forms, "cg" and
        similar solvers are for quadratic losses.
    spectral_filter : str
        With ``solver="one-pass"``, what is made of a direction in which the degree model has the size s: "ridge"
        (``s / (s + alpha)`` of it is kept), "iterated" (``1 - (alpha / (s + alpha))ᵏ``) or "cut-off" (all of it if s is
        above alpha, else nothing).
    filter_iter : int
        The k of the filter "iterated".
    refine : int
        With ``solver="one-pass"``, how many preconditioned iterations follow; each takes another pass.
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
        kernel_weights: Any = None,
        form: str = "auto",
        solver: str | Solver = "auto",
        spectral_filter: str = "ridge",
        filter_iter: int = 2,
        refine: int = 0,
        preconditioner: str = "auto",
        max_iter: int | None = None,
        inner_iter: int = 100,
        step: float | None = None,
        tol: float = 1e-6,
        fit_intercept: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.25,
        n_iter_no_change: int = 5,
        scoring: str = "auto",
        factor_tol: float = 1e-12,
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
        own = ("self", "loss", "spectral_filter", "filter_iter", "refine", "__class__")
        super().__init__(**{name: value for name, value in locals().items() if name not in (*own, "own")})
        self.loss = loss
        self.spectral_filter = spectral_filter
        self.filter_iter = filter_iter
        self.refine = refine

    @property
    def _loss_type(self) -> type[Loss]:
        return as_loss(self.loss, of_classes=False)

    def _validate(self, X: Any, y: Any, sample_weight: Any, validation: tuple[Any, Any] | None) -> Given:
        check_one_pass(self)
        return super()._validate(X, y, sample_weight, validation)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = self._sees_products_only
        return tags

    def score(self, X: EdgesLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the coefficient of determination R² of the predictions."""
        return float(
            r2_score(
                unmasked(to_host(y), "y"),
                to_host(self.predict(X)),
                sample_weight=unmasked(sample_weight, "sample_weight"),
            )
        )

    def fit_path(self, X: EdgesLike, y: ArrayLike, alphas: Sequence[float]) -> list["KronRidge"]:
        """Return an estimator for every alpha, for about the price of the smallest one.

        A complete graph takes one eigendecomposition; else one Krylov space serves all of them (``solver="cg"`` or
        "minres"), or one pass over the edges ("one-pass"). Early stopping does not apply.

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
        training = models[-1]._prepare(X, y, None, None)
        if isinstance(training.given.solver, OnePass):
            with training.backend.own_threads():
                shared = OnePassFit(self, training)
                for model in models:
                    shared.keep(_named_like(models[-1], model), model.alpha)
            return models
        if self._wants_closed_form(training):
            fitted = self._closed_form(training, alphas)
        else:
            max_iter = 1000 if self.max_iter is None else self.max_iter
            with training.backend.own_threads():
                form, loss = self._choose_form(training), self._with_intercept(training.loss)
                solutions = minimise_path(form.space, loss, alphas, solver=self.solver, max_iter=max_iter, tol=self.tol)
            fitted = [(form, solution) for solution in solutions]
        last = models[-1]
        for model, (form, solution) in zip(models, fitted, strict=True):
            loss = self._with_intercept(training.loss)
            constant = loss.intercept(solution.predictions) if isinstance(loss, WithIntercept) else 0.0
            _named_like(last, model)._keep(form, training, solution, constant, solution.n_iter, {})
        return models

    def _finish(self, training: Training) -> None:
        if isinstance(training.given.solver, OnePass):
            if training.given.held is not None:
                raise ValueError(
                    "solver is 'one-pass', which makes no iterations to stop at; leave out early_stopping and "
                    "validation, or choose alpha by vt.alpha_path(..., solver='one-pass')"
                )
            with training.backend.own_threads():
                OnePassFit(self, training).keep(self, float(self.alpha))
            return
        if not self._wants_closed_form(training):
            super()._finish(training)
            return
        begin = time.perf_counter()
        ((form, solution),) = self._closed_form(training, [self.alpha])
        f = solution.predictions
        risk = training.loss.value(f + solution.intercept)
        if training.given.spec.two_step is None:
            risk += 0.5 * self.alpha * float(solution.x @ f)
        else:  # ridge regression with alpha 1 and coefficients y - f of another kernel
            risk += 0.5 * float((training.loss.y - f) @ f)
        history: dict[str, list[Any]] = {"iteration": [1], "risk": [risk], "seconds": [time.perf_counter() - begin]}
        self._keep(form, training, solution, solution.intercept, 1, history)
        check_not_zero(training, form.space, solution, solution.intercept)

    def _wants_closed_form(self, training: Training) -> bool:
        """Whether the graph is complete, the closed form is possible, and it was requested or is cheap."""
        m, q = len(training.graph.used_start), len(training.graph.used_end)
        two_step = training.given.spec.two_step is not None
        if two_step and (training.loss.weight is not None or not training.graph.is_complete):
            raise ValueError(
                f"pairwise is 'two_step', which is for complete graphs without weights, but X has "
                f"{len(training.given.edges)} edges between {m} start and {q} end vertices, which have {m * q} pairs; "
                "use pairwise='kronecker'"
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

    def _closed_form(self, training: Training, alphas: Sequence[float]) -> list[tuple[Form, Solution]]:
        graph, start, end = training.graph, training.kernel.start, training.kernel.end
        check_matrices((start, end))
        Y = zeros((len(graph.used_start), len(graph.used_end)), start.matrix)
        Y[graph.start, graph.end] = cast(training.loss.y, np.float64)
        form = dual_form(training.kernel, graph, training.dtype, self.n_threads)
        fitted = []
        two_step = training.given.spec.two_step
        if two_step is None:
            solved = solve_complete(start.matrix, end.matrix, Y, alphas, self.fit_intercept)
        else:
            solved = solve_two_step(start.matrix, end.matrix, Y, two_step.alphas(alphas))
        for A, b in solved:
            x = cast(A[graph.start, graph.end], training.dtype)
            predictions = cast((start.matrix @ A @ end.matrix)[graph.start, graph.end], training.dtype)
            fitted.append((form, Solution(x, predictions, True, EXACT, 1, 0, [0.0], b)))
        return fitted


def _named_like(fitted: KronRidge, model: KronRidge) -> KronRidge:
    """Return a model after it was given the names of features that another one was fitted with."""
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(fitted, name):
            setattr(model, name, getattr(fitted, name))
    return model
