"""Fits along a path of alphas: all alphas and iterations from one Krylov basis, or one alpha after the other."""

import copy
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from vectrick._progress import Progress
from vectrick._typing import Array, ArrayLike
from vectrick.backends import HOST
from vectrick.backends.arrays import like, to_host
from vectrick.backends.threads import count_threads, run_tasks
from vectrick.data.source import AnyEdges, is_lake
from vectrick.estimators.base import KronEstimator
from vectrick.losses import WithIntercept
from vectrick.models.forms import Form
from vectrick.models.kernel_spec import KernelSpec
from vectrick.models.limits import check_memory
from vectrick.objectives.space import Dual, Element
from vectrick.solvers import OnePass, Solution, as_solver, iterative_solver
from vectrick.solvers.closed_forms.complete_graph import Eigen
from vectrick.solvers.linear.krylov import KrylovBasis, krylov_basis
from vectrick.solvers.minimise import check_path_precision
from vectrick.solvers.quadratic import QuadraticSolver
from vectrick.solvers.solution import LIMIT, TOLERANCE, finest
from vectrick.streaming.fit import fit_lake_along
from vectrick.training.closed_forms import OnePassFit, scores_of
from vectrick.training.monitor import Validation
from vectrick.training.prepare import prepare
from vectrick.training.problem import Training
from vectrick.training.validate import as_edges, labels_on

_MAX_ITER = 100  # of a Krylov path: predictions are best after tens of iterations
_N_SCORED = 9  # iterations that are scored by default: each takes a sort for every alpha


@dataclass(frozen=True)
class PathStep:
    """The result for one alpha: the scores of the iterations, and the model of the best one."""

    alpha: float
    iterations: Array
    scores: Array
    risks: Array
    model: KronEstimator

    @property
    def best(self) -> int:
        """The iteration with the highest score."""
        return int(self.iterations[np.nanargmax(self.scores)])

    @property
    def best_score(self) -> float:
        """The highest score."""
        return float(np.nanmax(self.scores))


def fit_along(
    estimator: KronEstimator,
    X: AnyEdges,
    y: ArrayLike | None,
    alphas: Sequence[float],
    validation: Any = None,
    *,
    iterations: Sequence[int] | str | None = None,
    warm_start: bool = True,
) -> list[PathStep]:
    """Fit for every alpha, and score iterations on the validation edges; see `alpha_path`."""
    lead = clone(estimator).set_params(alpha=float(alphas[0]), early_stopping=validation is None)
    solver = as_solver(lead.solver)
    if isinstance(solver, Eigen):
        raise ValueError("solver is 'eigen', but it makes no iterations to choose from; use 'auto', 'cg' or 'minres'")
    check_path_precision(lead.precision)
    if is_lake(X):
        lead.set_params(early_stopping=False)
        return [
            PathStep(model.alpha, np.array([solution.n_iter]), np.array([score]), np.array([np.nan]), model)
            for model, solution, score in fit_lake_along(lead, X, alphas, validation)
        ]
    if KernelSpec.of(lead).two_step is not None:
        return _closed_forms(lead, X, y, alphas, validation)
    training = prepare(lead, X, y, None, validation)
    with training.backend.own_threads():
        if isinstance(solver, OnePass):
            return _in_one_pass(lead, training, alphas)
        form = lead._choose_form(training)
        in_krylov_space = solver is None or getattr(solver, "krylov", None) is not None
        if training.loss.is_quadratic and in_krylov_space:
            return _KrylovPath(lead, training, form, iterations, len(alphas)).steps(np.asarray(alphas, np.float64))
        return _one_by_one(lead, training, form, alphas, warm_start)


def _closed_forms(
    lead: Any, X: AnyEdges, y: ArrayLike | None, alphas: Sequence[float], validation: Any
) -> list[PathStep]:
    """Fit in closed form for every alpha; each fit counts as one iteration."""
    if validation is None:
        raise ValueError("pairwise='two_step' holds out no vertices; give validation=(X, y)")
    models = lead.fit_path(X, y, alphas)
    held = as_edges(lead, validation[0], reset=False)
    labels = lead._encode_validation(labels_on(validation[1], HOST), len(held))
    scoring = lead._auto_scoring(labels) if lead.scoring == "auto" else lead.scoring
    judge = Validation(models[0].predictor_, held, labels, scoring, lead._groups_of(held))
    steps = []
    for model in models:
        score = judge.score_of(model._decide(held))
        steps.append(PathStep(model.alpha, np.array([1]), np.array([score]), np.array([np.nan]), model))
    return steps


def _in_one_pass(lead: KronEstimator, training: Training, alphas: Sequence[float]) -> list[PathStep]:
    """Read the edges once, and score the closed form of every alpha."""
    shared = OnePassFit(lead, training)
    validation = lead._validation(shared.form, training)
    assert validation is not None
    steps, all_solved = [], [shared.solved(float(alpha)) for alpha in alphas]
    for alpha, solved, score in zip(alphas, all_solved, scores_of(validation, all_solved), strict=True):
        model: Any = copy.copy(lead)
        model.alpha = float(alpha)
        shared.keep_solved(model, model.alpha, solved, score)
        iterations, risks = np.array([model.n_iter_]), np.array(model.history_["risk"])
        steps.append(PathStep(model.alpha, iterations, np.array([score]), risks, model))
    return steps


def _one_by_one(
    lead: KronEstimator, training: Training, form: Form, alphas: Sequence[float], warm_start: bool
) -> list[PathStep]:
    """Fit from the largest alpha, the most regularized model, to the smallest; each starts from the last solution."""
    steps, start = [], None
    validation = lead._validation(form, training)
    assert validation is not None
    for alpha in sorted(alphas, reverse=True):
        model = copy.copy(lead)
        model.alpha = float(alpha)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a path stops at the best score on purpose
            model._minimise(training, form, validation, start)
        history = model.history_
        start = model.solution_.x
        if not history["iteration"]:  # the start was already the solution
            x = training.to_solver(start, form.name)
            f = form.space.element(x)
            risk = training.loss.value(f.f + model.intercept_) + 0.5 * model.alpha * form.space.inner(f, f)
            score = validation.score(x, model.intercept_)
            model.history_ = history = {"iteration": [1], "risk": [risk], "score": [score], "seconds": [0.0]}
        iterations, scores, risks = (np.array(history[name]) for name in ("iteration", "score", "risk"))
        steps.append(PathStep(model.alpha, iterations, scores, risks, model))
        start = start if warm_start else None
    return steps[::-1]


class _KrylovPath:
    """One Krylov basis, its predictions for the validation edges, and the results for every alpha and iteration."""

    def __init__(self, lead: KronEstimator, training: Training, form: Form, iterations: Any, n_alphas: int) -> None:
        self.lead, self.training, self.form = lead, training, form
        self.begin = time.perf_counter()
        validation = lead._validation(form, training)
        assert validation is not None
        self.validation: Validation = validation
        loss = lead._with_intercept(training)
        intercept = loss.intercept if isinstance(loss, WithIntercept) else None
        space, zero = form.space, form.space.zero(loss.y)
        max_iter = _MAX_ITER if lead.max_iter is None else lead.max_iter
        if not (iterations is None or isinstance(iterations, str)):
            max_iter = int(max(iterations))
        solver = training.given.solver or iterative_solver(loss)
        assert isinstance(solver, QuadraticSolver)
        curvature = loss.curvature(zero.f)
        solver.check_curvature(space, curvature)
        # A model keeps its coefficients (in dual form, a second time for all edges) and the positions of its support.
        check_memory("the Krylov basis, with the models", max_iter + 3 * n_alphas, space.size)
        check_memory("its predictions for the validation edges", max_iter, len(validation.y))
        self.constant = 0.0 if intercept is None else intercept(zero.f)
        shifts: list[float] = []  # by how much each vector lowers the intercept
        progress = Progress(f"{type(lead).__name__} path, iteration", max_iter, lead.verbose)

        def on_vector(v: Element) -> None:
            shifts.append(0.0 if intercept is None else self.constant - intercept(v.f))
            progress.step()

        self.at_zero = loss.value(zero.f)
        self.basis: KrylovBasis = krylov_basis(
            space,
            curvature,
            space.lift(-loss.gradient(zero.f)),
            max_iter=max_iter,
            minimal_residual=bool(solver.krylov),
            on_vector=on_vector,
        )
        self.shifts = np.array(shifts)
        self.predictions = to_host(validation.predict_all(self.basis.vectors))
        self.iterations = _scored_iterations(iterations, max(1, self.basis.size))

    def steps(self, alphas: Array) -> list[PathStep]:
        """Score every alpha and iteration, and make the model of the best iteration of each alpha."""
        weights = np.zeros((len(alphas), len(self.iterations), self.basis.size))
        for at, k in enumerate(self.iterations):
            weights[:, at, :k] = self.basis.weights(alphas, min(k, self.basis.size)).T
        scores = np.empty(weights.shape[:2])

        def score(i: int) -> None:
            constants = self.constant - weights[i] @ self.shifts
            predicted = weights[i].astype(self.predictions.dtype) @ self.predictions + constants[:, None]
            scores[i] = [self.validation.score_of(predictions) for predictions in predicted]

        run_tasks(score, len(alphas), count_threads(self.lead.n_threads))
        best = np.argmax(np.where(np.isnan(scores), -np.inf, scores), axis=1)
        chosen = weights[np.arange(len(alphas)), best]
        coefficients = like(chosen, self.basis.vectors, self.training.dtype) @ self.basis.vectors
        seconds = time.perf_counter() - self.begin
        steps = []
        for i, alpha in enumerate(alphas.tolist()):
            risks = np.array([self._risk(alpha, z[:k]) for z, k in zip(weights[i], self.iterations, strict=True)])
            model = self._model(alpha, scores[i], risks, int(best[i]), coefficients[i], chosen[i], seconds)
            steps.append(PathStep(alpha, self.iterations, scores[i], risks, model))
        return steps

    def _risk(self, alpha: float, z: Array) -> float:
        """Return ``L(p) + ½ α ‖f‖²`` of the weights z, from the small matrix alone."""
        k, T = len(z), self.basis
        if k == 0:  # the kernel cannot explain the labels
            return self.at_zero
        Tz = T.diagonal[:k] * z
        Tz[1:] += T.beside[: k - 1] * z[:-1]
        Tz[:-1] += T.beside[: k - 1] * z[1:]
        if not (T.minimal_residual and isinstance(self.form.space, Dual)):
            return self.at_zero - T.length * float(z[0]) + 0.5 * float(z @ Tz) + 0.5 * alpha * float(z @ z)
        rest = np.append(Tz, T.beside[k - 1] * z[-1])  # the vectors are orthonormal in the plain inner product
        rest[0] -= T.length
        return 0.5 * float(rest @ rest) + 0.5 * alpha * float(z @ Tz)

    def _model(
        self, alpha: float, scores: Array, risks: Array, best: int, x: Array, z: Array, seconds: float
    ) -> KronEstimator:
        """Return the fitted model with coefficients x."""
        k = int(self.iterations[best])
        residual = self.basis.residual(alpha, z[:k])
        converged = residual <= max(self.lead.tol, finest(x))
        reason = TOLERANCE if converged else f"{LIMIT}: iteration {k} of a path"
        solution = Solution(x, None, converged, reason, k, self.form.space.n_products, [residual])
        model = copy.copy(self.lead)
        model.alpha = alpha
        history: dict[str, list[Any]] = {
            "iteration": self.iterations.tolist(),
            "risk": risks.tolist(),
            "score": scores.tolist(),
            "seconds": [seconds] * len(scores),  # all iterations are computed together
        }
        constant = float(self.constant - self.shifts @ z)
        model._keep(self.form, self.training, solution, constant, k, history)
        return model


def _scored_iterations(given: Sequence[int] | str | None, last: int) -> Array:
    """Return the iterations to score: all, the given ones, or some with growing distances."""
    if isinstance(given, str):
        return np.arange(1, last + 1)
    if given is not None:
        return np.unique(np.minimum(given, last))  # an exhausted space has no further iterates
    return np.unique(np.rint(np.geomspace(1, last, _N_SCORED)).astype(int))
