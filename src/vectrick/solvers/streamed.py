"""Minimization by passes: systems and Newton steps without vectors as long as the edges.

In an iteration, a pass over the edges takes a vector of coefficients and returns one. In exact arithmetic, the
iterates of ridge regression equal the iterates of `solve_system` in primal form.
"""

from dataclasses import replace
from math import inf, isfinite
from typing import Any

from vectrick._typing import Array
from vectrick.backends.arrays import zeros
from vectrick.objectives.degrees import DegreeSpectrum, Preconditioner
from vectrick.objectives.risks import Point, PointwiseRisk, QuadraticRisk
from vectrick.objectives.space import Element
from vectrick.solvers.base import Accept
from vectrick.solvers.linear.cg import ImageSystem, conjugate_gradients
from vectrick.solvers.mixed import ACCURACY, give_up
from vectrick.solvers.newton import minimise_by_newton
from vectrick.solvers.solution import (
    CALLBACK,
    LIMIT,
    ROUNDING,
    STALLED,
    TOLERANCE,
    Callback,
    Iterate,
    Solution,
    rounding,
    why_stalled,
)

_WHY = "passes over the edges are few with it"
_USED: dict[str, Any] = {"preconditioner": "kronecker", "preconditioner_reason": _WHY}
_PROGRESS = 0.5  # a correction of low precision has failed if it leaves more than this share of the residual
_FLAT = 0.1  # a step is accepted at this slope, relative to the first slope
_TRIES = 12  # maximum number of steps along a direction
_HIDDEN = 1e-13  # share of the risk that rounding may add


def streamed_ridge(
    risk: QuadraticRisk,
    alpha: float,
    inverse: Preconditioner,
    *,
    tol: float,
    max_iter: int,
    start: Array | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Solve ``(B + α) w = b`` by preconditioned conjugate gradients; an iteration is one pass."""
    scale = float(risk.rhs @ risk.rhs) ** 0.5
    x = Element(zeros(len(risk.rhs), risk.rhs) if start is None else start + 0.0, None)
    r = risk.rhs + 0.0 if start is None else risk.rhs - risk.times(x.c) - alpha * x.c

    def on_iterate(k: int, w: Array, residual: float) -> bool:
        assert callback is not None
        n_products, constant = 2 * risk.engine.n_passes, risk.intercept(w)
        return bool(callback(Iterate(k, n_products, w, None, risk.value(w, r, alpha), residual, constant)))

    system = ImageSystem(risk.times, alpha, inverse, tol, scale, None if callback is None else on_iterate)
    reason, n_iter = conjugate_gradients(system, x, r, max_iter)
    if reason == STALLED:
        reason = why_stalled(x.c, system.residuals[-1])
    reached = reason in (TOLERANCE, ROUNDING), reason, n_iter, 2 * risk.engine.n_passes, system.residuals
    return Solution(x.c, None, *reached, risk.intercept(x.c), scale=scale, **_USED)


def refined_ridge(
    risk: QuadraticRisk,
    alpha: float,
    inverse: Preconditioner,
    *,
    tol: float,
    max_iter: int,
    start: Array | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Solve ``(B + α) w = b`` by iterative refinement.

    Corrections take passes of low precision, and residuals take passes of full precision. If corrections no longer
    help, the rest is done in full precision.
    """
    low = risk.lowered()
    x = zeros(len(risk.rhs), risk.rhs) if start is None else start + 0.0
    r = risk.rhs + 0.0 if start is None else risk.rhs - risk.times(x) - alpha * x
    scale, norm = float(risk.rhs @ risk.rhs) ** 0.5, float(r @ r) ** 0.5
    residuals, reason, n_iter, n_corrections = [norm / scale if scale else 0.0], LIMIT, 0, 0
    while residuals[-1] > tol and n_iter < max_iter and reason == LIMIT:
        d = Element(zeros(len(r), r), None)
        system = ImageSystem(low.times, alpha, inverse, max(ACCURACY, 0.3 * tol / residuals[-1]), norm)
        n_iter += conjugate_gradients(system, d, r + 0.0, max_iter - n_iter)[1]
        n_corrections += 1
        rest = risk.rhs - risk.times(x + d.c) - alpha * (x + d.c)
        if not float(rest @ rest) ** 0.5 <= _PROGRESS * norm:
            give_up(n_corrections, residuals[-1], tol)
            solution = streamed_ridge(
                risk, alpha, inverse, tol=tol, max_iter=max_iter - n_iter, start=x, callback=callback
            )
            residuals += solution.residuals
            return replace(solution, n_iter=n_iter + solution.n_iter, residuals=residuals, n_corrections=n_corrections)
        x, r, norm = x + d.c, rest, float(rest @ rest) ** 0.5
        residuals.append(norm / scale)
        n_products, constant = 2 * risk.engine.n_passes, risk.intercept(x)
        if callback is not None and callback(
            Iterate(n_iter, n_products, x, None, risk.value(x, r, alpha), residuals[-1], constant, n_corrections)
        ):
            reason = CALLBACK
    reason = TOLERANCE if residuals[-1] <= tol else reason
    reached = reason == TOLERANCE, reason, n_iter, 2 * risk.engine.n_passes, residuals
    return Solution(x, None, *reached, risk.intercept(x), n_corrections=n_corrections, scale=scale, **_USED)


def streamed_newton(
    risk: PointwiseRisk,
    alpha: float,
    model: DegreeSpectrum,
    *,
    zero: Point,
    start: Solution | None,
    tol: float,
    max_iter: int,
    inner_iter: int,
    callback: Callback | None = None,
    is_mixed: bool = False,
) -> Solution:
    """Minimize a loss by Newton's method; systems are solved by preconditioned conjugate gradients.

    ``zero`` is the point with zero coefficients; its gradient does not depend on alpha. With ``is_mixed``, systems use
    products of low precision.
    """
    point = zero if start is None else risk.at(start.x, start.intercept)
    problem = _PassProblem(risk, alpha, model, point, inner_iter, _norm(risk, zero, alpha), is_mixed)
    return minimise_by_newton(problem, tol, max_iter, callback)


class _PassProblem:
    """A regularized risk at a point, with gradients from passes.

    A pass computes the loss and its gradient at a trial step. The next iteration reuses the gradient if the step is
    taken. So the line search requires only a small slope, and takes no extra pass if the full Newton step is good.
    """

    measures_last = True
    forcing = 0.1, 0.3

    def __init__(
        self,
        risk: PointwiseRisk,
        alpha: float,
        model: DegreeSpectrum,
        point: Point,
        max_iter: int,
        scale: float,
        is_mixed: bool,
    ) -> None:
        self.risk, self.alpha, self.model, self.point = risk, alpha, model, point
        self.max_iter, self.scale = max_iter, scale
        self.low = risk.lowered() if is_mixed else None
        self.n_corrections = 0 if is_mixed else None

    def residual(self) -> float:
        """Return the relative norm of the gradient."""
        return _norm(self.risk, self.point, self.alpha) / self.scale if self.scale > 0 else 0.0

    def accept(self, accept: Accept, residual: float) -> float | None:
        """Return None, because the tolerance suffices."""
        return None

    def move(self, residual: float, tol: float, accuracy: float) -> str | None:
        """Make a Newton step; switch to full precision if a step of low precision makes no progress."""
        if self.low is not None and self.n_corrections is not None:
            self.n_corrections += 1
            new = _search(self.risk, self.point, self.alpha, *self._direction(self.low, max(accuracy, ACCURACY)))
            if new is None and residual > rounding(self.point.w):
                give_up(self.n_corrections, residual, tol)
                self.low = None
        if self.low is None:
            new = _search(self.risk, self.point, self.alpha, *self._direction(self.risk, accuracy))
        if new is None:
            return why_stalled(self.point.w, residual)
        self.point = new
        return None

    def _direction(self, risk: PointwiseRisk, tol: float) -> tuple[Array, float]:
        """Return the Newton step of the coefficients and of the intercept, computed by products of a risk."""
        point = self.point
        has_intercept = risk.with_intercept and point.curvature > 0
        inverse = self.model.inverse(self.alpha, point.curvature / self.model.total, has_intercept)
        r = -_rest(risk, point, self.alpha)
        d = Element(zeros(len(r), r), None)
        system = ImageSystem(lambda p: risk.times(point, p), self.alpha, inverse, tol, float(r @ r) ** 0.5)
        conjugate_gradients(system, d, r, self.max_iter)
        return d.c, -(point.slope + float(point.mean @ d.c)) / point.curvature if has_intercept else 0.0

    def iterate(self, n_iter: int, residual: float) -> Iterate:
        """Return the current point for callbacks."""
        point, n_products = self.point, 2 * self.risk.engine.n_passes
        value = _value(point, self.alpha)
        return Iterate(n_iter, n_products, point.w, None, value, residual, point.b, self.n_corrections)

    def solution(self, converged: bool, reason: str, n_iter: int, residuals: list[float]) -> Solution:
        """Return the current point as the result."""
        reached = converged, reason, n_iter, 2 * self.risk.engine.n_passes, residuals
        more: dict[str, Any] = {"n_corrections": self.n_corrections or 0, "scale": self.scale, **_USED}
        return Solution(self.point.w, None, *reached, self.point.b, **more)


def _value(point: Point, alpha: float) -> float:
    return point.value + 0.5 * alpha * float(point.w @ point.w)


def _rest(risk: PointwiseRisk, point: Point, alpha: float) -> Array:
    """Return the gradient of the regularized risk after the intercept was minimized out to first order."""
    gradient = point.gradient + alpha * point.w
    if risk.with_intercept and point.curvature > 0:
        gradient -= point.mean * (point.slope / point.curvature)
    return gradient


def _norm(risk: PointwiseRisk, point: Point, alpha: float) -> float:
    rest = _rest(risk, point, alpha)
    # The slope of the intercept is scaled by its curvature, to be comparable with the coefficients.
    constant = point.slope**2 / point.curvature if risk.with_intercept and point.curvature > 0 else 0.0
    result: float = float(rest @ rest + constant) ** 0.5
    return result


def _search(risk: PointwiseRisk, point: Point, alpha: float, d: Array, db: float) -> Point | None:
    """Return a point along a direction with a lower risk, if possible with a small slope; None if there is none.

    Inside a bracket, a step minimizes the cubic through the values and slopes at both ends.
    """

    def slope(at: Point) -> float:
        return float(d @ at.gradient + alpha * (d @ at.w)) + db * at.slope

    first = _value(point, alpha), slope(point)
    if not first[1] < 0:
        return None
    # Near the minimum, rounding hides the decrease of the risk, but not the vanishing slope.
    hidden = _HIDDEN * abs(first[0])
    low, of_low, high, of_high, t = 0.0, first, inf, (inf, inf), 1.0
    best, least = None, first[0]
    for _ in range(_TRIES):
        trial = risk.at(point.w + t * d, point.b + t * db)
        value, steep = _value(trial, alpha), slope(trial)
        if abs(steep) <= _FLAT * abs(first[1]) and value <= first[0] + hidden:
            return trial
        if value < least:
            best, least = trial, value
        if isfinite(value) and steep < 0:
            low, of_low = t, (value, steep)
        else:
            high, of_high = t, (value, steep)
        t = 2 * t if high == inf else _between(low, of_low, high, of_high)
        if high - low <= 1e-8 * high:
            break
    return best


def _between(low: float, of_low: tuple[float, float], high: float, of_high: tuple[float, float]) -> float:
    """Return the minimizer of a cubic between two points, away from both ends."""
    width = high - low
    middle = low + 0.5 * width
    if not (isfinite(of_high[0]) and isfinite(of_high[1])):
        return low + 0.1 * width
    a = of_low[1] + of_high[1] - 3 * (of_high[0] - of_low[0]) / width
    under = a * a - of_low[1] * of_high[1]
    if under < 0:
        return middle
    root = under**0.5
    t = high - width * (of_high[1] + root - a) / (of_high[1] - of_low[1] + 2 * root)
    return t if isfinite(t) and low + 0.05 * width < t < high - 0.05 * width else middle
