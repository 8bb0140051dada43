"""Minimization by passes over blocks of edges, of a lake or of arrays: risk, preconditioner, and solvers."""

from dataclasses import replace
from functools import cached_property

import numpy as np

from vectrick._typing import Array
from vectrick.backends.arrays import numpy_dtype, zeros
from vectrick.losses import Loss, Pointwise, RankRLS, Squared, WithIntercept
from vectrick.objectives.degrees import DegreeSpectrum
from vectrick.objectives.risks import Point, PointwiseRisk, QuadraticRisk, Sides
from vectrick.passes.engine import Engine
from vectrick.passes.tasks import Coding
from vectrick.solvers import Solution
from vectrick.solvers.solution import INTERRUPTED, Callback, finest
from vectrick.solvers.streamed import refined_ridge, streamed_newton, streamed_ridge
from vectrick.training.fitted import Trainable
from vectrick.training.monitor import Monitor

_STEPS, _NEWTON_STEPS = 1000, 100  # iterations at most
_DRIFT = 10.0  # factor for the rounding that a sum over many edges adds to one product
_RARE = 1e-6  # the smallest share of a class that the first intercept is computed from
_INEXACT = 10.0  # the true residual may be this many times the tolerance


class PassFit:
    """The risk of an estimator, computed by passes over edges, and its minimum for any alpha.

    Results that do not depend on alpha are computed once.

    Parameters
    ----------
    model : KronEstimator
        Its tolerance, numbers of iterations, precision and groups are used.
    engine : Engine
        Runs the passes.
    features : Sides
        The features of the vertices of both sides.
    degrees : (array, array)
        The sums of the weights at start and end vertices.
    loss : type of Loss
        A sum over edges, or RankRLS.
    coding : Coding
        How labels are converted for the loss.
    with_intercept : bool
        Whether there is an intercept.
    mean : float, optional
        The mean label, converted for the loss, if it is available without a pass; training starts from it.
    """

    def __init__(
        self,
        model: Trainable,
        engine: Engine,
        features: Sides,
        degrees: tuple[Array, Array],
        loss: type[Loss],
        coding: Coding,
        with_intercept: bool,
        mean: float | None = None,
    ) -> None:
        self.model, self.engine, self.features, self.degrees = model, engine, features, degrees
        self.loss, self.coding, self.with_intercept, self.mean_label = loss, coding, with_intercept, mean
        self.is_quadratic = issubclass(loss, Squared | RankRLS)

    @property
    def tol(self) -> float:
        """The tolerance, or the smallest one that the dtype allows."""
        return max(self.model.tol, finest(self.features.start[:1]))

    @property
    def max_iter(self) -> int:
        """The maximum number of iterations."""
        return int(self.model.max_iter or (_STEPS if self.is_quadratic else _NEWTON_STEPS))

    @property
    def centred(self) -> str | None:
        """The edges that are centered together: "all", or each group of "start" or "end"; None without centering."""
        if self.loss is RankRLS:
            return str(getattr(self.model, "groups", None) or "all")
        return "all" if self.with_intercept else None

    @cached_property
    def quadratic(self) -> QuadraticRisk:
        """The risk of a quadratic loss."""
        return QuadraticRisk(self.engine, self.features, self.degrees, self.centred, self.coding)

    @cached_property
    def pointwise(self) -> PointwiseRisk:
        """The risk of a loss that is not quadratic."""
        assert issubclass(self.loss, Pointwise)
        return PointwiseRisk(self.engine, self.features, self.loss, self.coding, self.with_intercept)

    @cached_property
    def zero(self) -> Point:
        """The function with zero coefficients, with its derivatives for losses that are not quadratic."""
        return self.pointwise.at(zeros(self.features.size, self.features.start, np.float64), self._first_constant())

    @cached_property
    def spectrum(self) -> DegreeSpectrum:
        """The degree model."""
        if not self.is_quadratic:
            return DegreeSpectrum.of(self.features, self.degrees)
        return DegreeSpectrum.of(self.features, self._curvatures(), self.centred)

    def _curvatures(self) -> tuple[Array, Array]:
        """Return the sum of curvatures at each vertex; the side without groups has sums proportional to degrees."""
        start, end = self.degrees
        if self.centred not in ("start", "end"):
            return start, end
        total = self.quadratic.total
        own, other = (start, end) if self.centred == "start" else (end, start)
        own, other = own**2 * (total / (own**2).sum()), other * (total / other.sum())
        return (own, other) if self.centred == "start" else (other, own)

    def solve(self, alpha: float, callback: Callback | None = None, start: Solution | None = None) -> Solution:
        """Minimize by passes, optionally from the solution for another alpha."""
        is_mixed = self.model.precision == "mixed"
        if self.is_quadratic:
            inverse = self.spectrum.inverse(alpha, centred=self.centred == "all")
            solve = refined_ridge if is_mixed else streamed_ridge
            solution = solve(
                self.quadratic, alpha, inverse, tol=self.tol, max_iter=self.max_iter,
                start=None if start is None else start.x, callback=callback,
            )  # fmt: skip
            return replace(solution, intercept=0.0) if self.loss is RankRLS else solution
        return streamed_newton(
            self.pointwise, alpha, self.spectrum, zero=self.zero, start=start,
            tol=self.tol, max_iter=self.max_iter, inner_iter=self.model.inner_iter, callback=callback,
            is_mixed=is_mixed,
        )  # fmt: skip

    def watched(self, alpha: float, monitor: Monitor) -> Solution:
        """Minimize with a monitor; if interrupted, return the last iterate that the monitor has kept, if any."""
        try:
            return self._checked(alpha, self.solve(alpha, monitor))
        except KeyboardInterrupt:
            last = monitor.last
            if last is None:
                raise
            n_products = 2 * self.engine.n_passes
            return Solution(last.x, None, False, INTERRUPTED, last.n_iter, n_products, [], last.intercept)

    def _checked(self, alpha: float, solution: Solution) -> Solution:
        """Return a solution with the true residual of its coefficients, after further iterations if it is too large.

        Iterations update their residual, so it drifts by rounding. If that could matter, one more pass computes it.
        """
        if not (self.is_quadratic and solution.converged and solution.scale) or solution.n_corrections:
            return solution
        risk, x = self.quadratic, solution.x
        largest = float(self.spectrum.spectrum.max()) + alpha
        drift = _DRIFT * solution.n_iter * self._rounding * largest * float(x @ x) ** 0.5 / solution.scale
        if drift <= self.tol:
            return solution
        rest = risk.rhs - risk.times(x) - alpha * x
        relative = float(rest @ rest) ** 0.5 / solution.scale
        if relative > _INEXACT * self.tol:
            again = self.solve(alpha, start=solution)
            return replace(again, n_iter=solution.n_iter + again.n_iter, scale=solution.scale)
        return replace(solution, residuals=[*solution.residuals, relative])

    @property
    def _rounding(self) -> float:
        return float(np.finfo(numpy_dtype(self.features.start)).eps)

    def _first_constant(self) -> float:
        """Return the intercept to start from: the best constant prediction, or zero without the mean label."""
        if not self.with_intercept or self.mean_label is None:
            return 0.0
        if not self.loss.of_classes:
            return self.mean_label
        assert issubclass(self.loss, Pointwise)
        share = min(max(0.5 * (1.0 + self.mean_label), _RARE), 1 - _RARE)
        loss = self.loss(np.array([1.0, -1.0]), np.array([share, 1.0 - share]))
        return WithIntercept(loss).intercept(np.zeros(2))
