"""The monitor of a fit: history, progress reports, and early stopping after each iteration."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from vectrick._cached import cached_property
from vectrick._messages import Teller
from vectrick._typing import Array
from vectrick.backends.arrays import cast, copy_of, distinct, to_host
from vectrick.data import Edges
from vectrick.data.censored import censored, within_bounds
from vectrick.metrics import auc
from vectrick.metrics.scores import OF_CLASSES, SCORES
from vectrick.models.predictor import Predictor
from vectrick.objectives.space import Space
from vectrick.solvers import Iterate, Solution
from vectrick.solvers.solution import CALLBACK, INTERRUPTED


def why_ended(solution: Solution) -> str:
    """Return why a fit ended, as text for the user; a stop by the callback means early stopping."""
    return "the validation score rose no more" if solution.reason == CALLBACK else solution.reason


@dataclass(frozen=True)
class FitStep:
    """The state of a fit after an iteration, for a callback to inspect and for a later fit to resume from.

    Attributes
    ----------
    iteration, max_iter : int
        The number of iterations so far, and the maximum.
    risk : float
        The regularized risk.
    history : dict of lists
        As ``history_``, up to this iteration.
    x : array
        The coefficients. The solver changes them later: copy them to keep them.
    best : array, optional
        With early stopping, the coefficients of the best iteration so far. ``best_iteration`` is its number and
        ``best_intercept`` its intercept.
    best_score : float
        The score of the best iteration.
    """

    iteration: int
    max_iter: int
    risk: float
    history: dict[str, list[Any]]
    x: Array
    best: Array | None = None
    best_iteration: int = 0
    best_intercept: float = 0.0
    best_score: float = -np.inf

    def coefficients(self, size: int) -> Array:
        """Return the coefficients to continue from, in a model with ``size`` coefficients."""
        if self.x.shape != (size,):
            raise ValueError(
                f"resume has {self.x.shape[0]} coefficients, but the model has {size}: it is a step of another fit, "
                "or of another form"
            )
        return np.array(to_host(self.x))


@dataclass(frozen=True)
class FitControls:
    """The callback of a fit, whether to keep the model if it is interrupted, and the step to resume from."""

    callback: Callable[[FitStep], bool | None] | None = None
    keep_interrupted: bool = False
    resume: FitStep | None = None


def check_controls(callback: Callable[[FitStep], bool | None] | None, resume: FitStep | None) -> None:
    """Reject a callback that cannot be called, and a step that is not a `FitStep`."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback is of type {type(callback).__name__}, but it must be a function of a FitStep")
    if resume is not None and not isinstance(resume, FitStep):
        raise TypeError(
            f"resume is of type {type(resume).__name__}, but it must be a FitStep that the callback of a fit received"
        )


class Validation:
    """Held-out edges: a predictor, and a score of its predictions."""

    def __init__(
        self,
        predictor: Predictor,
        edges: Edges,
        y: Array,
        scoring: str,
        groups: Array | None = None,
        bounds: Array | None = None,
    ) -> None:
        self.predictor, self.edges, self.scoring, self.groups, self.bounds = predictor, edges, scoring, groups, bounds
        values = distinct(y)
        if scoring in OF_CLASSES and len(values) != 2:
            raise ValueError(
                f"scoring is {scoring!r}, but the validation labels have {len(values)} values instead of two"
            )
        if len(values) < 2:
            raise ValueError("the validation labels are all the same, but a score needs different ones")
        self.y = 2.0 * cast(y == float(values[1]), np.float64) - 1.0 if scoring in OF_CLASSES else y

    @cached_property
    def operator(self) -> Any:
        """The operator that makes predictions from coefficients, for many vectors one after the other."""
        return self.predictor.operator(self.edges)

    def predict_all(self, coefficients: Array) -> Array:
        """Return the predictions of each row of coefficients."""
        return self.predictor.predict_all(self.edges, coefficients)

    def score(self, coefficients: Array, intercept: float) -> float:
        """Return the score of coefficients, from one prediction."""
        return self.score_of(self.operator @ coefficients + intercept)

    def score_of(self, predictions: Array) -> float:
        """Return the score of predictions."""
        if self.scoring == "auc":  # it can be computed on the device of the predictions
            return auc(self.y, predictions)
        labels, shown = to_host(self.y), to_host(predictions)
        if self.bounds is not None:  # a prediction beyond a bound is as good as the bound
            labels, shown = within_bounds(censored(labels, to_host(self.bounds)), shown)
        return float(SCORES[self.scoring](labels, shown, to_host(self.groups)))


class Judge(Protocol):
    """The interface that early stopping needs: the score of a function."""

    scoring: str

    def score(self, coefficients: Array, intercept: float, /) -> float:
        """Return the score of coefficients, the larger the better."""


class Monitor:
    """The callback of a fit: it records, reports, and stops after ``patience`` iterations without a better score."""

    def __init__(
        self,
        name: str,
        verbose: int,
        validation: Judge | None = None,
        patience: int = 5,
        intercept: Callable[[Array], float] | None = None,
        watch: FitControls | None = None,
        max_iter: int = 0,
        in_user_order: Callable[[Any], Any] | None = None,
    ) -> None:
        self.name, self.validation, self.patience = name, validation, patience
        self.intercept, self.watch, self.max_iter = intercept, watch or FitControls(), max_iter
        self.history: dict[str, list[Any]] = {"iteration": [], "risk": [], "seconds": []}
        if validation is not None:
            self.history["score"] = []
        self.in_user_order = in_user_order or (lambda x: x)  # brings coefficients into the user's order
        self.best: Array | None = None
        self.best_intercept = 0.0
        self.best_iteration = 0
        self.best_score = -np.inf
        self.before = 0  # iterations of the earlier fit that this one continues
        self.last: Iterate | None = None
        self._begin = time.perf_counter()
        self._teller = Teller(verbose, max_iter or None)
        if self.watch.resume is not None:
            self._resume(self.watch.resume)

    @property
    def reads_coefficients(self) -> bool:
        """Whether the coefficients of an iterate are used; otherwise a solver may leave them out."""
        return self.validation is not None or self.watch.keep_interrupted or self.watch.callback is not None

    def _resume(self, step: FitStep) -> None:
        self.before, self.history = step.iteration, {name: list(values) for name, values in step.history.items()}
        self.best, self.best_score = step.best, step.best_score
        self.best_iteration, self.best_intercept = step.best_iteration, step.best_intercept
        self._begin -= self.history["seconds"][-1]

    def __call__(self, iterate: Iterate) -> bool:
        """Record an iteration; return whether to stop."""
        iterate = replace(iterate, n_iter=iterate.n_iter + self.before)
        self.history["iteration"].append(iterate.n_iter)
        self.history["risk"].append(iterate.risk)
        if iterate.n_corrections is not None:
            self.history.setdefault("corrections", []).append(iterate.n_corrections)
        stop = False
        if self.validation is not None:
            stop = self._judge(self.validation, iterate)
        self.history["seconds"].append(time.perf_counter() - self._begin)
        self._teller.tell(lambda: self._line(iterate), iterate.n_iter)
        if self.watch.keep_interrupted:
            intercept = iterate.intercept if self.intercept is None else self.intercept(iterate.predictions)
            self.last = replace(iterate, x=copy_of(iterate.x), predictions=None, intercept=intercept)
        if self.watch.callback is not None:
            stop = bool(self.watch.callback(self._step(iterate))) or stop
        return stop

    def _step(self, iterate: Iterate) -> FitStep:
        best = to_host(self.in_user_order(self.best)), self.best_iteration, self.best_intercept, self.best_score
        return FitStep(
            iterate.n_iter, self.max_iter, iterate.risk, self.history, to_host(self.in_user_order(iterate.x)), *best
        )

    def interrupted(self, space: Space) -> Solution | None:
        """Return the last iterate of an interrupted solver, or None if none was kept."""
        last = self.last
        if last is None:
            return None
        n_kept = sum(number <= last.n_iter for number in self.history["iteration"])
        for values in self.history.values():  # the interrupt may have come while an iteration was recorded
            del values[n_kept:]
        predictions = space.predict(last.x)
        n_iter = last.n_iter - self.before
        return Solution(last.x, predictions, False, INTERRUPTED, n_iter, space.n_products, [], last.intercept)

    def restored(self, solution: Solution, space: Space) -> Solution:
        """Return the solution of the best iteration, in case the solver ended with another one."""
        if self.best is None or self.best_iteration == solution.n_iter:
            return solution
        reason = f"{why_ended(solution)}; the best was iteration {self.best_iteration}"
        predictions = space.predict(self.best)
        return replace(solution, x=self.best, predictions=predictions, converged=False, reason=reason, dual=None)

    def finish(self, solution: Solution) -> None:
        """Report the result."""
        best = f", the best at iteration {self.best_iteration}" if self.best is not None else ""
        work = f"{solution.n_iter} iterations, {solution.n_products} products"
        seconds = time.perf_counter() - self._begin
        self._teller.tell(lambda: f"{self.name}: {why_ended(solution)}, {work}{best}, {seconds:.2f} s", must=True)

    def _judge(self, validation: Judge, iterate: Iterate) -> bool:
        intercept = iterate.intercept if self.intercept is None else self.intercept(iterate.predictions)
        score = validation.score(iterate.x, intercept)
        self.history["score"].append(score)
        if score > self.best_score:
            self.best_score, self.best_iteration = score, iterate.n_iter
            self.best, self.best_intercept = copy_of(iterate.x), intercept
        return iterate.n_iter - self.best_iteration >= self.patience

    def _line(self, iterate: Iterate) -> str:
        score = ""
        if self.validation is not None:
            score = f", validation {self.validation.scoring} {self.history['score'][-1]:.4f}"
        seconds = self.history["seconds"][-1]
        return f"{self.name}: iteration {iterate.n_iter}, risk {iterate.risk:.6g}{score}, {seconds:.2f} s"
