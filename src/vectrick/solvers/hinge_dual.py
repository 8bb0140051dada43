"""The hinge loss in dual form: a quadratic function over a box, minimized by projected conjugate gradients.

With ``p = A a``, minimizing ``Σ sᵢ max(0, 1 - yᵢ pᵢ) + ½ α aᵀ A a`` means minimizing ``½ aᵀ A a - yᵀ a`` under
``0 ≤ yᵢ aᵢ ≤ sᵢ / α``. The method is MPRGP (Dostál, "Optimal Quadratic Programming Algorithms", 2009): conjugate
gradients inside a face of the box, and projected gradient steps to change the face. Its rate of convergence is proven.
The duality gap bounds the distance to the minimum; ``tol`` limits this gap.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.backends.arrays import like, namespace, numpy_dtype
from vectrick.losses import Hinge, Loss
from vectrick.objectives.space import Space
from vectrick.solvers.base import Limits, Solver
from vectrick.solvers.solution import CALLBACK, LIMIT, STALLED, TOLERANCE, Callback, Iterate, Solution

_POWER_STEPS = 12  # power iterations for a bound on the largest eigenvalue
_STEP = 1.8  # times the inverse of a lower bound on the largest eigenvalue; convergence allows at most 2
_BALANCE = 1.0  # limit of the gain by leaving the face, relative to the gain inside it


class Box(Solver):
    """Projected conjugate gradients on the dual of the hinge loss, with a duality gap."""

    name = "box"
    needs = ("is_hinge",)
    max_iter = 20000
    verified = ""  # the duality gap is a better measure than a subgradient

    def minimise(self, space: Space, loss: Loss, alpha: float, limits: Limits) -> Solution:
        """Return the minimum."""
        assert isinstance(loss, Hinge)
        how: dict[str, Any] = {"fit_intercept": limits.fit_intercept, "start": limits.start}
        how["callback"] = limits.callback
        return hinge_dual(space, loss, alpha, tol=limits.tol, max_iter=limits.max_iter, **how)


def hinge_dual(
    space: Space,
    loss: Hinge,
    alpha: float,
    *,
    fit_intercept: bool = False,
    tol: float,
    max_iter: int,
    start: Array | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Minimize the hinge risk until the duality gap is ``tol`` times the risk; one or two products per iteration.

    The intercept is the multiplier of ``Σ aᵢ = 0``; the iterations find it by the augmented Lagrangian method.
    """
    problem = _BoxProblem.of(space, loss, alpha, fit_intercept, start)
    gaps: list[float] = []
    best, best_risk = problem.a, float("inf")
    direction = problem.free_gradient()
    for k in range(max_iter):
        direction = _advance(problem, direction)
        risk, gap = problem.risk_and_gap()
        gaps.append(gap / max(abs(risk), 1e-300))
        if risk < best_risk:
            best, best_risk = problem.a, risk  # never changed in place
        moved = problem.update_intercept(gaps[-1])
        if moved:
            direction = problem.free_gradient()
        coefficients = problem.coefficients() if callback is not None else None
        state = Iterate(k + 1, space.n_products, coefficients, problem.f, risk, gaps[-1], problem.b)
        if callback is not None and callback(state):
            return problem.solution(False, CALLBACK, k + 1, gaps)
        if gaps[-1] <= tol and problem.is_balanced(tol):
            return problem.solution(True, TOLERANCE, k + 1, gaps)
        if not direction.any() and not problem.chopped_gradient().any() and not moved:
            return problem.at(best).solution(False, STALLED, k + 1, gaps)
    return problem.at(best).solution(False, LIMIT, max_iter, gaps)


@dataclass
class _BoxProblem:
    """The quadratic function over the box, and the current point."""

    xp: Any  # the namespace of the arrays
    space: Space
    loss: Hinge
    alpha: float
    low: Array
    high: Array
    a: Array
    f: Array  # A a
    step: float  # a safe length of a projected gradient step
    penalty: float  # of the augmented Lagrangian; 0 without intercept
    gradient: Array
    b: float = 0.0

    @classmethod
    def of(cls, space: Space, loss: Hinge, alpha: float, fit_intercept: bool, start: Array | None) -> "_BoxProblem":
        xp, y = namespace(loss.y), loss.y
        bound, nothing = (xp.ones_like(y) if loss.weight is None else loss.weight) / float(alpha), xp.zeros_like(y)
        low, high = xp.where(y > 0, nothing, -bound), xp.where(y > 0, bound, nothing)
        a = nothing if start is None else xp.clip(start, low, high)
        norm = _largest_eigenvalue(space, y)
        penalty = (norm or 1.0) / len(y) if fit_intercept else 0.0
        norm += penalty * len(y)
        step = _STEP / norm if norm else 1.0
        problem = cls(xp, space, loss, alpha, low, high, a, xp.zeros_like(y), step, penalty, -y)
        if start is not None:
            problem.f = problem.kernel(a)
            problem.refresh()
        return problem

    def kernel(self, v: Array) -> Array:
        return self.space.predict(self.space.lift(v))

    def at(self, a: Array) -> "_BoxProblem":
        """Go back to earlier coefficients with their best intercept, because the risk does not fall in every step."""
        if a is not self.a:
            self.a, self.f = a, self.kernel(a)
        self.b = self.best_constant() if self.penalty else 0.0
        return self

    def refresh(self) -> None:
        """Recompute the gradient."""
        self.gradient = self.f - self.loss.y
        if self.penalty:
            self.gradient += self.penalty * self.a.sum() + self.b

    def free_gradient(self) -> Array:
        inside = (self.a > self.low) & (self.a < self.high)
        result: Array = self.xp.where(inside, self.gradient, self.xp.zeros_like(self.a))
        return result

    def chopped_gradient(self) -> Array:
        g, where, nothing = self.gradient, self.xp.where, self.xp.zeros_like(self.a)
        leaving = where(self.a >= self.high, self.xp.clip(g, 0, None), nothing)
        entering = where(self.a <= self.low, self.xp.clip(g, None, 0), leaving)
        result: Array = where(self.low < self.high, entering, nothing)
        return result

    def is_proportional(self) -> bool:
        """Return whether moving inside the face gains more than leaving it."""
        free, chopped = self.free_gradient(), self.chopped_gradient()
        xp = self.xp
        room = xp.where(free > 0, (self.a - self.low) / self.step, (self.a - self.high) / self.step)
        reduced = xp.where(free > 0, xp.minimum(room, free), xp.maximum(room, free))
        return bool(chopped @ chopped <= _BALANCE**2 * (reduced @ free))

    def longest_step(self, d: Array) -> float:
        """Return the largest t for which ``a - t d`` stays in the box."""
        down, up = d > 0, d < 0
        room = [
            float(((self.a - bound)[side] / d[side]).min()) if bool(side.any()) else np.inf
            for side, bound in ((down, self.low), (up, self.high))
        ]
        return min(room)

    def move(self, t: float, d: Array, kernel_d: Array) -> None:
        self.a = self.xp.clip(self.a - float(t) * d, self.low, self.high)
        self.f -= float(t) * kernel_d
        self.refresh()

    def risk_and_gap(self) -> tuple[float, float]:
        """Return the risk of the current coefficients, and the duality gap."""
        quadratic = self.alpha * float(self.a @ self.f)
        loss = self.loss.value(self.f + self.b) if self.penalty else self.loss.value(self.f)
        # With an intercept, the bound requires Σ a = 0; `is_balanced` checks this.
        return loss + 0.5 * quadratic, loss + quadratic - self.alpha * float((self.loss.y - self.b) @ self.a)

    def update_intercept(self, gap: float) -> bool:
        """Update the multiplier once the problem with the current one is nearly solved; return whether it changed."""
        if not self.penalty:
            return False
        free, chopped = self.free_gradient(), self.chopped_gradient()
        rest = float(free @ free + chopped @ chopped) ** 0.5
        excess = self.penalty * float(self.a.sum())
        if rest > 0.1 * abs(excess) * len(self.a) ** 0.5:
            return False
        # If all coefficients are at their bounds, a small step changes nothing; the best intercept frees some.
        best = self.best_constant()
        self.b = best if rest == 0 and (best - self.b) * excess > 0 else self.b + excess
        self.refresh()
        return excess != 0

    def best_constant(self) -> float:
        """Return an intercept b that minimizes the hinge loss of ``f + b``: a weighted quantile of ``y - f``."""
        y = self.loss.y
        weight = self.xp.ones_like(y) if self.loss.weight is None else self.loss.weight
        order = self.xp.argsort(y - self.f)
        reached = self.xp.searchsorted(weight[order].cumsum(0), weight[y > 0].sum())
        return float((y - self.f)[order[min(int(reached), len(y) - 1)]])

    def is_balanced(self, tol: float) -> bool:
        return not self.penalty or abs(float(self.a.sum())) <= tol * max(float(abs(self.a).sum()), 1e-300)

    def coefficients(self) -> Array:
        return self.space.lift(self.a)

    def solution(self, converged: bool, reason: str, n_iter: int, gaps: list[float]) -> Solution:
        x, n = self.coefficients(), self.space.n_products
        return Solution(x, self.f, converged, reason, n_iter, n, gaps, self.b if self.penalty else 0.0, self.a)


def _advance(problem: _BoxProblem, direction: Array) -> Array:
    """Make one step of MPRGP and return the next conjugate direction."""
    if not problem.is_proportional():
        d = problem.chopped_gradient()
        kernel_d, curve = _curve(problem, d)
        best = float(problem.gradient @ d) / curve if curve > 0 else np.inf
        problem.move(min(best, problem.longest_step(d)), d, kernel_d)
        return problem.free_gradient()
    if not direction.any():
        return direction
    kernel_d, curve = _curve(problem, direction)
    best = float(problem.gradient @ direction) / curve if curve > 0 else np.inf
    longest = problem.longest_step(direction)
    if best <= longest:
        problem.move(best, direction, kernel_d)
        free = problem.free_gradient()
        Ad = kernel_d + problem.penalty * direction.sum()
        return free - direction * (float(free @ Ad) / curve)
    if np.isfinite(longest):
        problem.move(longest, direction, kernel_d)
    projected = problem.xp.clip(problem.a - problem.step * problem.free_gradient(), problem.low, problem.high)
    change = problem.a - projected
    kernel_change, curve = _curve(problem, change)
    if 0.5 * curve > float(problem.gradient @ change):  # the function would rise: the eigenvalue was underestimated
        problem.step *= 0.5
    else:
        problem.move(1.0, change, kernel_change)
    return problem.free_gradient()


def _curve(problem: _BoxProblem, d: Array) -> tuple[Array, float]:
    kernel_d = problem.kernel(d)
    return kernel_d, float(d @ kernel_d) + problem.penalty * float(d.sum()) ** 2


def _largest_eigenvalue(space: Space, y: Array) -> float:
    """Return an estimate of the largest eigenvalue of the kernel matrix, at most a few percent too small."""
    xp, v = namespace(y), like(np.random.default_rng(0).standard_normal(len(y)), y, numpy_dtype(y))
    v /= float(xp.linalg.norm(v))
    value = 0.0
    for _ in range(_POWER_STEPS):
        v = space.predict(space.lift(v))
        value = float(xp.linalg.norm(v))
        if value == 0:
            break
        v /= value
    return value
