"""Ridge regression in closed form: on complete graphs, and by one pass over the edges of any graph."""

import time
from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.backends.arrays import cast, namespace, zeros
from vectrick.losses import WithIntercept
from vectrick.losses.curvature import Centered, Diagonal, Identity
from vectrick.models.forms import dual_form
from vectrick.models.preconditioning import Preconditioning, primal_form, thin_maps
from vectrick.models.vertex_kernel import check_matrices
from vectrick.objectives.degree_model import NoDegreeModelError
from vectrick.objectives.degrees import FILTERS, Preconditioner, filtered
from vectrick.solvers import CompleteGraph, OnePass, Solution, as_solver, solve_two_step
from vectrick.solvers.linear.cg import solve_system
from vectrick.solvers.solution import EXACT, finest
from vectrick.training.checks import check_not_zero
from vectrick.training.fitted import SpectralRidge, Trainable
from vectrick.training.monitor import Validation
from vectrick.training.problem import Training

ONE_PASS = "one pass over the edges, as asked for"
Solved = tuple[Solution, float]  # and the intercept
_AT_ONCE = 1 << 24  # coefficients of several alphas in one block of predictions


def check_one_pass(estimator: SpectralRidge) -> None:
    """Reject parameters that do not apply to one pass."""
    if estimator.spectral_filter not in FILTERS:
        names = ", ".join(map(repr, FILTERS))
        raise ValueError(f"spectral_filter is {estimator.spectral_filter!r}, but it must be one of {names}")
    for name, least in (("filter_iter", 1), ("refine", 0)):
        value = getattr(estimator, name)
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"{name} is {value!r}, but it must be an integer of at least {least}")
    if not isinstance(as_solver(estimator.solver), OnePass):
        return
    wrong = (
        ("form", estimator.form == "dual", "has coefficients of features; use form='primal' or 'auto'"),
        ("preconditioner", estimator.preconditioner == "none", "is the preconditioner itself; leave it out"),
        ("precision", estimator.precision == "mixed", "makes one product only; use precision='full'"),
    )
    for name, is_wrong, why in wrong:
        if is_wrong:
            value = getattr(estimator, name)
            raise ValueError(f"{name} is {value!r} and solver is 'one-pass', but one pass {why}")


class OnePassFit:
    """The degree model of a training set, and the product ``Zᵀ y`` that all alphas and filters share."""

    def __init__(self, lead: SpectralRidge, training: Training) -> None:
        self.lead, self.training, self.begin = lead, training, time.perf_counter()
        kernel, graph = training.kernel, training.graph
        if not kernel.is_product:
            raise ValueError(
                f"solver is 'one-pass', but pairwise is {kernel.words}; one pass is for one Kronecker product"
            )
        self.loss: Any = lead._with_intercept(training)
        thin = thin_maps(kernel, lead.factor_tol)
        try:
            sides = Preconditioning(kernel, graph, thin, self.loss, training.dtype, lead.n_threads)
            self.model = sides.model()
        except NoDegreeModelError as error:
            raise ValueError(f"solver is 'one-pass', but {error}; use solver='auto'") from error
        self.form = primal_form(kernel, graph, thin, self.model)
        zero = zeros(len(graph.start), self.loss.y)
        curvature = self.loss.curvature(zero)
        assert isinstance(curvature, Centered | Diagonal | Identity)  # those of squared losses
        self.curvature = curvature
        self.total = float(curvature.h.sum())
        self.constant: float = self.loss.intercept(zero) if isinstance(self.loss, WithIntercept) else 0.0
        self.spectrum = self.model.spectrum(self.total)

    def _one_pass(self, losses: Sequence[Any]) -> tuple[list[Array], Array | None]:
        """Return ``Zᵀ y`` of each loss and, with an intercept, the mean features of an edge, from one product."""
        zero = zeros(len(self.loss.y), self.loss.y)
        columns = [-loss.gradient(zero) for loss in losses]
        has_intercept = isinstance(self.loss, WithIntercept)
        if has_intercept:
            columns.append(cast(zero + self.curvature.h, self.training.dtype))
        lifted = self.model.space.lift(namespace(zero).stack(columns, -1))
        rhs = [lifted[:, j] + 0.0 for j in range(len(losses))]
        return rhs, lifted[:, -1] / self.total if has_intercept else None

    @cached_property
    def _own_pass(self) -> tuple[Array, Array | None]:
        (rhs,), mean = self._one_pass([self.loss])
        return rhs, mean

    @property
    def rhs(self) -> Array:
        """The sum of the features of the edges times their labels, ``Zᵀ y``."""
        return self._own_pass[0]

    def of_each(self, trainings: Sequence[Training]) -> list["OnePassFit"]:
        """Return the same for other labels of the same edges, from one product with all of them."""
        losses = [self.lead._with_intercept(training) for training in trainings]
        zero = zeros(len(self.loss.y), self.loss.y)
        rhs, mean = self._one_pass(losses)
        fits = []
        for j, (training, loss) in enumerate(zip(trainings, losses, strict=True)):
            fit = copy(self)
            fit.training, fit.loss = training, loss
            fit.__dict__["_own_pass"] = rhs[j], mean
            fit.constant = loss.intercept(zero) if isinstance(loss, WithIntercept) else 0.0
            fits.append(fit)
        return fits

    def coefficients(self, alpha: float) -> Array:
        """Return the coefficients for one alpha, in the basis of the degree model."""
        lead = self.lead
        if lead.spectral_filter == "ridge":
            return self.model.preconditioner(self.curvature, alpha, as_made=True).times(self.rhs)
        inverse = filtered(self.spectrum, alpha, lead.spectral_filter, lead.filter_iter)
        return Preconditioner(cast(inverse, self.training.dtype)).times(self.rhs)

    def intercept(self, w: Array) -> float:
        """Return the best intercept: the mean label less the mean prediction."""
        mean = self._own_pass[1]
        return self.constant - (0.0 if mean is None else float(mean @ w))

    def solved(self, alpha: float) -> Solved:
        """Return the solution for one alpha, refined if requested, and the intercept."""
        w, space, lead = self.coefficients(alpha), self.model.space, self.lead
        used: dict[str, Any] = {
            "preconditioner": "kronecker",
            "preconditioner_reason": "one pass is its first direction",
        }
        if lead.refine == 0:
            solution = Solution(self.model.to_features(w), None, False, ONE_PASS, 1, space.n_products, [], **used)
            return solution, self.intercept(w)
        x, scale = space.element(w), float(self.rhs @ self.rhs) ** 0.5
        rest = space.measured(space.lift(-self.loss.gradient(x.f)) - alpha * x.c)
        inverse = self.model.preconditioner(self.curvature, alpha, as_made=True)
        tol = max(lead.tol, finest(w)) * (scale / rest.norm if rest.norm > 0 else 1.0)
        found = solve_system(space, self.curvature, rest, [alpha], inverse, tol=tol, max_iter=lead.refine)
        x.add(1.0, found.x[0])
        residual = space.measured(space.lift(self.loss.gradient(x.f)) + alpha * x.c).norm / (scale or 1.0)
        converged = residual <= max(lead.tol, finest(w))
        reason = f"{ONE_PASS}, and {found.n_iter} iterations"
        residuals = [value * rest.norm / (scale or 1.0) for value in found.residuals] + [residual]
        counts = 1 + found.n_iter, space.n_products
        solution = Solution(self.model.to_features(x.c), x.f, converged, reason, *counts, residuals, **used)
        constant = self.loss.intercept(x.f) if isinstance(self.loss, WithIntercept) else 0.0
        return solution, constant

    def keep(self, model: Trainable, alpha: float) -> None:
        """Fit a model for one alpha."""
        self.keep_solved(model, alpha, self.solved(alpha))

    def keep_solved(self, model: Trainable, alpha: float, solved: Solved, score: float | None = None) -> None:
        """Set the fitted attributes from the solution for one alpha."""
        solution, constant = solved
        history: dict[str, list[Any]] = {
            "iteration": [solution.n_iter],
            "risk": [self._risk(alpha, solution, constant)],
            "seconds": [time.perf_counter() - self.begin],
        }
        if score is not None:
            history["score"] = [score]
        model._keep(self.form, self.training, solution, constant, solution.n_iter, history)

    def _risk(self, alpha: float, solution: Solution, constant: float) -> float:
        if solution.predictions is None:
            return float("nan")  # it would take another pass
        return self.training.loss.value(solution.predictions + constant) + 0.5 * alpha * float(solution.x @ solution.x)


def scores_of(validation: Validation, solved: Sequence[Solved]) -> list[float]:
    """Return the score of each solution; predictions for several solutions are computed together."""
    scores: list[float] = []
    at_once = max(1, _AT_ONCE // max(1, len(solved[0][0].x)))
    for low in range(0, len(solved), at_once):
        some = solved[low : low + at_once]
        rows = namespace(some[0][0].x).stack([solution.x for solution, _ in some])
        for (_, constant), predictions in zip(some, validation.predict_all(rows), strict=True):
            scores.append(validation.score_of(predictions + constant))
    return scores


class ClosedForm:
    """The closed form for the kernels of a training set; it also solves for other labels of the same edges."""

    def __init__(self, lead: SpectralRidge, training: Training) -> None:
        self.lead, self.begin = lead, time.perf_counter()
        kernel = training.kernel
        self.K, self.G = kernel.start, kernel.end
        check_matrices((kernel.start, kernel.end))
        self.form = dual_form(kernel, training.graph, training.dtype, lead.n_threads)
        two_step = training.given.spec.two_step
        self.complete = CompleteGraph(self.K.matrix, self.G.matrix) if two_step is None else None

    def solved(self, training: Training, alphas: Sequence[float]) -> list[Solution]:
        """Return the solution for each alpha."""
        graph, K, G = training.graph, self.K.matrix, self.G.matrix
        Y = zeros((len(graph.used_start), len(graph.used_end)), K)
        Y[graph.start, graph.end] = cast(training.loss.y, np.float64)
        if self.complete is not None:
            solved = self.complete.solve(Y, alphas, training.given.has_intercept)
        else:
            two_step = training.given.spec.two_step
            assert two_step is not None
            solved = solve_two_step(K, G, Y, two_step.alphas(alphas))
        solutions = []
        for A, b in solved:
            x = cast(A[graph.start, graph.end], training.dtype)
            predictions = cast((K @ A @ G)[graph.start, graph.end], training.dtype)
            solutions.append(Solution(x, predictions, True, EXACT, 1, 0, [0.0], b))
        return solutions

    def keep(self, model: Trainable, training: Training) -> None:
        """Fit a model with its alpha."""
        (solution,) = self.solved(training, [model.alpha])
        f = solution.predictions
        risk = training.loss.value(f + solution.intercept)
        if self.complete is not None:
            risk += 0.5 * model.alpha * float(solution.x @ f)
        else:  # ridge regression with alpha 1 and coefficients y - f of another kernel
            risk += 0.5 * float((training.loss.y - f) @ f)
        seconds = time.perf_counter() - self.begin
        history: dict[str, list[Any]] = {"iteration": [1], "risk": [risk], "seconds": [seconds]}
        model._keep(self.form, training, solution, solution.intercept, 1, history)
        check_not_zero(training, self.form.space, solution, solution.intercept)
