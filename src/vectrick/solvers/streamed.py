"""Minimising by passes: conjugate gradients and Newton's method that never hold a vector as long as the edges.

An iteration gives a vector of coefficients to a pass over the edges and takes one back. In exact arithmetic the
iterates of ridge regression are those of `preconditioned_gradients` in primal form.
"""

from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.passes.risks import Point, PointwiseRisk, QuadraticRisk, Sides
from vectrick.solvers.degree_model import Basis, Preconditioner
from vectrick.solvers.one_pass import filtered
from vectrick.solvers.solution import (
    CALLBACK,
    LIMIT,
    ROUNDING,
    TOLERANCE,
    Callback,
    Iterate,
    Solution,
    why_stalled,
)

_WHY = "passes over the edges are few with it"
_USED: dict[str, Any] = {"preconditioner": "kronecker", "preconditioner_reason": _WHY}
_FLAT = 0.1  # the slope along a step, relative to the first one, at which it is long enough
_TRIES = 12  # steps along a direction
_HIDDEN = 1e-13  # of the risk, that rounding may add


@dataclass(frozen=True)
class DegreeSpectrum:
    """The degree model of both sides: bases in which it is diagonal, and the mean feature of an edge in it.

    >>> features = np.array([[1.0, 0.0], [1.0, 2.0]])
    >>> model = DegreeSpectrum.of(Sides(features, features), (np.ones(2), np.ones(2)))
    >>> model.inverse(1.0).times(np.array([1.0, 0.0, 0.0, 0.0])).round(3)
    array([ 0.544, -0.175, -0.175,  0.035])
    """

    start: Basis
    end: Basis
    total: float
    mean: Array
    dtype: Any

    @classmethod
    def of(cls, sides: Sides, degrees: tuple[Array, Array], centred: str | None = None) -> "DegreeSpectrum":
        """Return the model of degrees; the features of the side opposite to groups are centred."""
        bases = []
        for features, degree, centre in zip((sides.start, sides.end), degrees, ("end", "start"), strict=True):
            used = degree > 0
            own = features if used.all() else features[used]
            basis = Basis.of_features(own.astype(np.float64, copy=False), degree[used], centred == centre)
            bases.append(replace(basis, features=basis.features[:0]))  # which is as large as the table
        sums = [degree @ features for features, degree in zip((sides.start, sides.end), degrees, strict=True)]
        mean = (sums[1][:, None] * sums[0]).reshape(-1) / float(degrees[0].sum() * degrees[1].sum())
        return cls(bases[0], bases[1], float(degrees[0].sum()), mean, sides.start.dtype)

    @property
    def spectrum(self) -> Array:
        """The sizes of the model, a row for each end direction and a column for each start direction."""
        return self.end.spectrum[:, None] * self.start.spectrum / self.total

    def inverse(self, alpha: float, scale: float = 1.0, centred: bool = False) -> Preconditioner:
        """Return the inverse of ``scale`` times the model plus alpha, perhaps with a constant minimised out."""
        turns = self.end.turn, self.start.turn
        plain = Preconditioner(1.0 / (scale * self.spectrum + alpha), turns)
        if not centred:
            return plain
        total = scale * self.total
        moved = plain.times(self.mean)
        rest = 1.0 - total * float(self.mean @ moved)
        return plain if not rest > 0 else Preconditioner(plain.inverse, turns, moved, total / rest)

    def filtered(self, alpha: float, spectral_filter: str, filter_iter: int) -> Preconditioner:
        """Return what a filter makes of the inverse."""
        inverse = filtered(self.spectrum, alpha, spectral_filter, filter_iter)
        return Preconditioner(inverse, (self.end.turn, self.start.turn))


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
    first = float(risk.rhs @ risk.rhs) ** 0.5
    x = np.zeros_like(risk.rhs) if start is None else start + 0.0
    r = risk.rhs + 0.0 if start is None else risk.rhs - risk.times(x) - alpha * x
    p: Any = None
    residuals, along = [_relative(r, first)], 0.0

    def ended(reason: str, k: int) -> Solution:
        converged = reason in (TOLERANCE, ROUNDING)
        n_products = 2 * risk.engine.n_passes
        constant = risk.intercept(x)
        return Solution(x, None, converged, reason, k, n_products, residuals, constant, scale=first, **_USED)

    for k in range(max_iter + 1):
        if residuals[-1] <= tol:
            return ended(TOLERANCE, k)
        if k == max_iter:
            return ended(LIMIT, k)
        z = inverse.times(r)
        before, along = along, float(r @ z)
        p = z if p is None else z + (along / before) * p
        q = risk.times(p) + alpha * p
        curve = float(p @ q)
        if not 0 < curve < inf or not isfinite(along):
            return ended(why_stalled(x, residuals[-1]), k)
        x += (along / curve) * p
        r -= (along / curve) * q
        residuals.append(_relative(r, first))
        if callback is not None:
            told = Iterate(
                k + 1, 2 * risk.engine.n_passes, x, None, risk.value(x, r, alpha), residuals[-1], risk.intercept(x)
            )
            if callback(told):
                return ended(CALLBACK, k + 1)
    raise AssertionError("unreachable: the last iteration returns")


def _relative(r: Array, first: float) -> float:
    return float(r @ r) ** 0.5 / first if first else 0.0


def streamed_newton(
    risk: PointwiseRisk,
    alpha: float,
    model: DegreeSpectrum,
    *,
    start: tuple[Array, float],
    tol: float,
    max_iter: int,
    inner_iter: int,
    callback: Callback | None = None,
) -> Solution:
    """Minimise a loss by Newton's method; systems are solved by preconditioned conjugate gradients.

    A pass gives the loss and its gradient at a trial step, which serves the next iteration if the step is taken. So the
    search along a direction asks only that the slope be small, and costs no pass where Newton's own step is good.
    """
    point = risk.at(*start)
    first = _norm(risk, point, alpha)
    residuals = [1.0 if first > 0 else 0.0]

    def ended(reason: str, k: int) -> Solution:
        converged = reason in (TOLERANCE, ROUNDING)
        n_products = 2 * risk.engine.n_passes
        return Solution(point.w, None, converged, reason, k, n_products, residuals, point.b, scale=first, **_USED)

    for k in range(max_iter + 1):
        if residuals[-1] <= tol:
            return ended(TOLERANCE, k)
        if k == max_iter:
            return ended(LIMIT, k)
        direction = _direction(risk, point, alpha, model, _forcing(residuals[-1], tol), inner_iter)
        new = _search(risk, point, alpha, *direction)
        if new is None:
            return ended(why_stalled(point.w, residuals[-1]), k)
        point = new
        residuals.append(_norm(risk, point, alpha) / first)
        if callback is not None:
            n_products, value = 2 * risk.engine.n_passes, _value(point, alpha)
            if callback(Iterate(k + 1, n_products, point.w, None, value, residuals[-1], point.b)):
                return ended(CALLBACK, k + 1)
    raise AssertionError("unreachable: the last iteration returns")


def _value(point: Point, alpha: float) -> float:
    return point.value + 0.5 * alpha * float(point.w @ point.w)


def _rest(risk: PointwiseRisk, point: Point, alpha: float) -> Array:
    """Return the gradient of the regularized risk after the intercept was minimised out to first order."""
    gradient = point.gradient + alpha * point.w
    if risk.with_constant and point.curvature > 0:
        gradient -= point.mean * (point.slope / point.curvature)
    return gradient


def _norm(risk: PointwiseRisk, point: Point, alpha: float) -> float:
    rest = _rest(risk, point, alpha)
    # The slope of the intercept counts on the scale of the coefficients: through what it would change there.
    constant = point.slope**2 / point.curvature if risk.with_constant and point.curvature > 0 else 0.0
    return float(rest @ rest + constant) ** 0.5


def _forcing(residual: float, tol: float) -> float:
    """Return how exactly to solve a Newton system: roughly far from the minimum, more and more exactly near it."""
    return float(max(min(0.1, residual**0.5), 0.3 * tol / residual, 1e-10))


def _direction(
    risk: PointwiseRisk, point: Point, alpha: float, model: DegreeSpectrum, tol: float, max_iter: int
) -> tuple[Array, float]:
    """Return the Newton step of the coefficients and of the intercept."""
    has_constant = risk.with_constant and point.curvature > 0
    inverse = model.inverse(alpha, point.curvature / model.total, has_constant)
    r = -_rest(risk, point, alpha)
    first = float(r @ r) ** 0.5
    d, p, along = np.zeros_like(r), None, 0.0
    for _ in range(max_iter):
        if float(r @ r) ** 0.5 <= tol * first:
            break
        z = inverse.times(r)
        before, along = along, float(r @ z)
        p = z if p is None else z + (along / before) * p
        q = risk.times(point, p) + alpha * p
        curve = float(p @ q)
        if not 0 < curve < inf:
            break
        d += (along / curve) * p
        r -= (along / curve) * q
    constant = -(point.slope + float(point.mean @ d)) / point.curvature if has_constant else 0.0
    return d, constant


def _search(risk: PointwiseRisk, point: Point, alpha: float, d: Array, db: float) -> Point | None:
    """Return a point along a direction whose slope is small and whose risk is lower; None if there is none.

    Steps are those where a cubic through values and slopes at both ends of a bracket is least.
    """

    def slope(at: Point) -> float:
        return float(d @ at.gradient + alpha * (d @ at.w)) + db * at.slope

    first = _value(point, alpha), slope(point)
    if not first[1] < 0:
        return None
    # Near the minimum, rounding hides that the risk falls, but not that the slope vanishes.
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
    """Return where a cubic between two points is least, well inside of them."""
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
