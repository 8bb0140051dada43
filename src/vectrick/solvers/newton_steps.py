"""Newton's method in a space of functions, in dual and primal form: Algorithms 2 and 3 of the paper."""

from dataclasses import dataclass, replace
from typing import TypeAlias

from vectrick._typing import Array
from vectrick.losses import Curvature, Loss
from vectrick.objectives.degree_model import DegreeModel
from vectrick.objectives.degrees import Preconditioner
from vectrick.objectives.space import Dual, Element, Measured, Space
from vectrick.solvers.base import Accept, Limits, Solver
from vectrick.solvers.line_search import exact_step
from vectrick.solvers.linear.cg import solve_system
from vectrick.solvers.linear.direct import solve_directly
from vectrick.solvers.linear.qmr import quasi_minimal_residuals
from vectrick.solvers.mixed import LowPrecision, give_up
from vectrick.solvers.newton import minimise_by_newton
from vectrick.solvers.quadratic import LinearResult
from vectrick.solvers.solution import LIMIT, ROUNDING, TOLERANCE, Iterate, Solution, finest, rounding, why_stalled

_Step: TypeAlias = tuple[Element, float]  # a function, and its risk


@dataclass(frozen=True)
class Inner:
    """How to solve a Newton system: the method, the number of iterations, and the step length."""

    method: str = "cg"
    max_iter: int = 100
    step: float | None = None  # None for the exact line search; the paper uses 1
    mixed: bool = False  # whether directions are found with products in float32, or TF32
    budget: int | None = None  # the maximum number of iterations of all systems in low precision together
    model: DegreeModel | None = None  # the preconditioner


class Newton(Solver):
    """Truncated Newton method, with systems solved by conjugate gradients in the kernel's inner product."""

    name = "newton"
    method = "cg"
    max_iter = 100
    has_mixed = True
    has_preconditioner = True

    def minimise(self, space: Space, loss: Loss, alpha: float, limits: Limits) -> Solution:
        """Return the minimum."""
        inner = Inner(self.method, limits.inner_iter, limits.step, limits.mixed, limits.budget, limits.model)
        problem = _SpaceProblem(space, loss, alpha, inner, limits.start)
        return minimise_by_newton(problem, limits.tol, limits.max_iter, limits.callback, limits.accept)


class NewtonQMR(Newton):
    """The truncated Newton method of the paper, with systems solved by quasi-minimal residuals."""

    name = "newton-qmr"
    method = "qmr"
    has_mixed = False
    has_preconditioner = False


class NewtonDirect(Newton):
    """Newton's method with systems solved exactly, for small problems."""

    name = "newton-direct"
    method = "direct"
    has_mixed = False
    has_preconditioner = False
    verified = "always"

    def minimise(self, space: Space, loss: Loss, alpha: float, limits: Limits) -> Solution:
        """Return the minimum with a tighter tolerance: one more step is cheap and doubles the correct digits."""
        return super().minimise(space, loss, alpha, replace(limits, tol=min(limits.tol, 1e-9)))


class _SpaceProblem:
    """``L(p) + ½ α ‖f‖²`` at a function of a space.

    Each iteration takes the exact step along its direction, so the risk never rises (except with a fixed step). If the
    loss is flat at many edges, the products use the other edges only.

    With ``inner.mixed`` the systems are solved in low precision, but gradients, steps and risks are computed in full
    precision; for a quadratic loss this is iterative refinement. Once a direction no longer descends, the rest is done
    in full precision. With ``inner.model`` the systems are preconditioned; its degrees are updated in each iteration.
    """

    measures_last = False
    forcing = 0.05, 0.1

    def __init__(self, space: Space, loss: Loss, alpha: float, inner: Inner, start: Array | None) -> None:
        self.space, self.loss, self.alpha, self.inner = space, loss, alpha, inner
        self.low = LowPrecision(space, loss, alpha, inner.max_iter, inner.budget) if inner.mixed else None
        self._mixed = self.low  # counts corrections, even after `low` was set to None
        self.x = space.zero(loss.y) if start is None else space.element(start)
        self.risk = self._risk(self.x)
        self._at_zero: Measured | None = space.measured(space.lift(loss.gradient(0 * self.x.f)))
        self.scale = self._at_zero.norm
        self._is_at_zero = start is None
        self._near = False  # whether the last system was solved to the requested accuracy

    def residual(self) -> float:
        """Return the relative norm of the gradient, and prepare the system of the next step."""
        space, loss, x = self.space, self.loss, self.x
        self.curvature = loss.curvature(x.f)
        known, self._at_zero = self._at_zero if self._is_at_zero else None, None
        self.gradient = space.lift(loss.gradient(x.f)) + self.alpha * x.c if known is None else known.c
        self.sub = space.subspace(self.curvature.active if self.low is None else None, self.gradient)
        self.rest = self._rest() if known is None or self.sub.keep is not None else known
        return self.rest.norm / self.scale if self.scale else 0.0

    def _rest(self) -> Measured:
        return self.sub.space.measured(self.sub.take(self.gradient))

    def accept(self, accept: Accept, residual: float) -> float | None:
        """Return None if the function is accepted, or a smaller tolerance."""
        return accept(self.x, residual)

    def move(self, residual: float, tol: float, accuracy: float) -> str | None:
        """Make a step: in low precision if that helps, to a nearby sparse minimum, or along a Newton direction."""
        if self.low is not None and self.low.is_spent(residual):
            return LIMIT
        inverse = None
        if self.inner.model is not None:
            inverse = self.inner.model.preconditioner(self.curvature, self.alpha, as_made=self.loss.is_quadratic)
        new = None if self.low is None else self._low_step(residual, tol, accuracy, inverse)
        is_minimum = False  # whether the expected decrease of the risk is within rounding error
        if new is None and self._near and self.inner.step is None:
            new = self._sparse_step(accuracy * self.rest.norm)
        if new is None:
            result = self._solve(self.sub.space, self.sub.curvature(self.curvature), self.rest, accuracy, inverse)
            self._near = result.converged
            descent = self.sub.expand(result.x[0])
            descent.negate()
            new = self._step(descent, self.inner.step)
            if self._near and not new[1] < self.risk:
                is_minimum = self._expected_decrease(descent) <= _hidden(self.x.f, self.risk)
            del result, descent  # as long as the edges; the next iteration needs the memory
        if not new[1] < self.risk and self.inner.step is None and self.low is None:
            return ROUNDING if is_minimum else why_stalled(self.x.f, residual)
        self.x, self.risk = new
        self._is_at_zero = False
        return None

    def _low_step(self, residual: float, tol: float, accuracy: float, inverse: Preconditioner | None) -> _Step | None:
        """Return a step along a low-precision direction; switch to full precision and return None if that fails."""
        assert self.low is not None
        # A quadratic loss has one system, so solve it as exactly as low precision allows.
        wanted = 0.3 * tol / residual if self.loss.is_quadratic else accuracy
        direction = self.low.direction(self.curvature, self.rest, residual, wanted, tol, inverse)
        if direction is not None:
            new = self._step(direction, self.inner.step)
            # Near the minimum of a quadratic loss, rounding hides the decrease of the risk; the gradient shows it.
            hidden = _hidden(self.x.f, self.risk) if self.loss.is_quadratic else 0.0
            if new[1] < self.risk + hidden or not residual > rounding(self.x.f):
                return new
            give_up(self.low.n_corrections, residual, tol)
        self.low, self.sub = None, self.space.subspace(self.curvature.active, self.gradient)
        self.rest = self._rest()
        return None

    def _solve(
        self, space: Space, curvature: Curvature, rest: Measured, tol: float, inverse: Preconditioner | None = None
    ) -> LinearResult:
        alpha, method, max_iter = self.alpha, self.inner.method, self.inner.max_iter
        if inverse is None and method == "direct":
            return LinearResult([solve_directly(space, curvature, rest.c, alpha)], TOLERANCE, 1)
        if inverse is None and method == "qmr":
            return quasi_minimal_residuals(space, curvature, rest.c, alpha, tol=tol, max_iter=max_iter)
        return solve_system(space, curvature, rest, [alpha], inverse, tol=tol, max_iter=max_iter)

    def _step(self, descent: Element, step: float | None) -> _Step:
        """Take a step along a direction; return the new function and its risk."""
        if step is None:
            inner = self.space.inner
            squares = inner(self.x, descent), inner(descent, descent)
            step = exact_step(self.loss, self.x.f, descent.f, self.alpha, *squares)
        new = self.x.copy()
        new.add(step, descent)
        return new, self._risk(new)

    def _risk(self, x: Element) -> float:
        return self.loss.value(x.f) + 0.5 * self.alpha * self.space.inner(x, x)

    def _expected_decrease(self, descent: Element) -> float:
        """Return the decrease of the risk that the quadratic model of a Newton step predicts: half the slope."""
        slope = float((self.loss.gradient(self.x.f) * descent.f).sum())
        return 0.5 * abs(slope + self.alpha * self.space.inner(self.x, descent))

    def _sparse_step(self, accuracy: float) -> _Step | None:
        """Make a Newton step that removes coefficients of edges outside the margin; None if it does not descend.

        For edges without curvature, the system is ``α δ = g + α a``. Beyond the margin g is zero, so the step removes
        the whole coefficient. A system of only the active edges remains. Far from the minimum this is a bad
        direction; near the minimum it is the exact one, and the step is 1.
        """
        space, curvature, alpha = self.space, self.curvature, self.alpha
        if not isinstance(space, Dual) or curvature.active is None:
            return None
        c = self.gradient * ~curvature.active / alpha
        outside = c != 0
        gone = space.zero(self.x.c)
        if bool(outside.any()):
            space.n_products += 1
            gone = Element(c, space.A.restrict(cols=outside) @ c[outside])
        sub = space.subspace(curvature.active)
        rest = sub.space.measured(sub.take(self.gradient - curvature.times(gone.f) - alpha * c))
        if rest.norm > 0:
            result = self._solve(sub.space, sub.curvature(curvature), rest, min(0.5, accuracy / rest.norm))
            if not result.converged:
                return None
            gone.add(1.0, sub.expand(result.x[0]))
        gone.negate()
        best, whole = self._step(gone, None), self._step(gone, 1.0)
        whole[0].c[outside & (self.loss.gradient(self.x.f) == 0)] = 0.0  # remove rounding errors
        enough = whole[1] <= self.risk - 0.5 * (self.risk - best[1])
        return (whole if enough else best) if best[1] < self.risk else None

    @property
    def _n_corrections(self) -> int | None:
        return None if self._mixed is None else self._mixed.n_corrections

    def iterate(self, n_iter: int, residual: float) -> Iterate:
        """Return the current function for callbacks."""
        counts = n_iter, self.space.n_products
        return Iterate(*counts, self.x.c, self.x.f, self.risk, residual, n_corrections=self._n_corrections)

    def solution(self, converged: bool, reason: str, n_iter: int, residuals: list[float]) -> Solution:
        """Return the current function as the result."""
        reached = converged, reason, n_iter, self.space.n_products, residuals
        return Solution(self.x.c, self.x.f, *reached, scale=self.scale, n_corrections=self._n_corrections or 0)


def _hidden(like: Array, risk: float) -> float:
    """Return a decrease of the risk that rounding hides: four units in its last place."""
    return 4e-3 * finest(like) * abs(risk)
