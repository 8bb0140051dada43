"""Solvers of quadratic losses: one linear system, ``(B + α I) x = -gradient at zero``, for one alpha or several."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from vectrick._typing import Array
from vectrick.losses import Curvature, Diagonal, Loss
from vectrick.objectives.degrees import Preconditioner
from vectrick.objectives.space import Dual, Element, Space
from vectrick.solvers.base import Accept, Limits, Solver
from vectrick.solvers.solution import TOLERANCE, Iterate, Solution


@dataclass
class LinearResult:
    """The functions that solve a linear system for each shift, and the progress of the solver."""

    x: list[Element]
    reason: str
    n_iter: int
    residuals: list[float] = field(default_factory=list)  # relative, of the smallest shift
    converged: bool = False
    scale: float | None = None  # the norm of b

    def __post_init__(self) -> None:
        self.converged = self.converged or self.reason == TOLERANCE


# Called after each iteration with its number, the functions and the relative residual; returning True stops.
LinearCallback = Callable[[int, list[Element], float], bool | None]


@dataclass(frozen=True)
class LinearSystem:
    """``(B + α I) x = b`` with ``B x = lift(H predict(x))``, for every alpha."""

    space: Space
    curvature: Curvature
    rhs: Array
    alphas: Sequence[float]
    preconditioner: Preconditioner | None = None  # for one alpha
    accept: Accept | None = None


class QuadraticSolver(Solver):
    """Solves ``(B + α I) x = b`` with ``B x = lift(H predict(x))``; a subclass defines `solve`."""

    needs = ("is_smooth", "is_quadratic")
    needs_symmetric = False  # whether B must be symmetric, as it is for the squared loss without weights and intercept
    solves_paths = False  # whether several alphas cost about as much as the smallest
    krylov: bool | None = None  # whether iterates lie in a Krylov space: True if they minimize the residual, else False

    @abstractmethod
    def solve(self, system: LinearSystem, tol: float, max_iter: int, callback: LinearCallback | None) -> LinearResult:
        """Return the solution for each alpha."""

    def check_curvature(self, space: Space, curvature: Curvature) -> None:
        """Raise ValueError if the method needs a symmetric matrix and the problem has none."""
        if self.needs_symmetric and not (isinstance(curvature, Diagonal) and bool((curvature.h == 1).all())):
            form = "dual" if isinstance(space, Dual) else "primal"
            raise ValueError(
                f"solver is {self.label!r}, which solves (A + αI) x = y for the squared loss without weights and "
                f"intercept, but the {form} problem is not of this kind; use 'cg'"
            )

    def minimise(self, space: Space, loss: Loss, alpha: float, limits: Limits) -> Solution:
        """Return the minimum."""
        return self.minimise_all(space, loss, [alpha], limits)[0]

    def minimise_all(self, space: Space, loss: Loss, alphas: Sequence[float], limits: Limits) -> list[Solution]:
        """Return the minimum for every alpha; with a start, the system is solved for the change."""
        start, callback = limits.start, limits.callback
        base = space.zero(loss.y) if start is None else space.element(start)
        curvature = loss.curvature(base.f)
        self.check_curvature(space, curvature)
        rhs = space.lift(-loss.gradient(base.f))
        tol, scale = limits.tol, None
        if start is not None:
            rhs = rhs - alphas[0] * base.c
            left, scale = space.measured(rhs).norm, gradient_at_zero(space, loss)
            tol *= scale / left if left > 0 else 1.0  # a nearby start needs fewer digits

        def moved(x: Element) -> Element:
            if start is None:
                return x
            whole = base.copy()
            whole.add(1.0, x)
            return whole

        def on_iterate(k: int, functions: list[Element], residual: float) -> bool | None:
            assert callback is not None
            x = moved(functions[0])
            risk = loss.value(x.f) + 0.5 * alphas[0] * space.inner(x, x)
            return callback(Iterate(k, space.n_products, x.c, x.f, risk, residual))

        def accepted(x: Element, residual: float) -> float | None:
            assert limits.accept is not None
            return limits.accept(moved(x), residual)

        system = LinearSystem(space, curvature, rhs, alphas)
        if limits.model is not None:
            preconditioner = limits.model.preconditioner(curvature, alphas[0], as_made=True)
            accept = None if limits.accept is None else accepted
            system = replace(system, preconditioner=preconditioner, accept=accept)
        result = self.solve(system, tol, limits.max_iter, None if callback is None else on_iterate)
        reached = result.converged, result.reason, result.n_iter, space.n_products, result.residuals
        scale = result.scale if start is None else scale
        return [Solution(x.c, x.f, *reached, scale=scale) for x in map(moved, result.x)]


def gradient_at_zero(space: Space, loss: Loss) -> float:
    """Return the norm of the gradient at the zero function."""
    return space.measured(space.lift(loss.gradient(space.zero(loss.y).f))).norm
