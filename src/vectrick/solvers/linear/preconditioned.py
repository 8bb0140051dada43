"""Minimization with the degree model as preconditioner, and conversion to dual or primal coefficients.

Iterations use the features that make the degree model diagonal, in both forms. Primal coefficients are transformed
back. Dual coefficients follow from the gradient, ``a = -L'(p) / α``. Their error is the error of the predictions p
divided by α, so iterations continue until ``A a`` shows that they also solve the dual problem.
"""

from dataclasses import dataclass, replace
from math import inf, log
from typing import Any

from vectrick._typing import Array
from vectrick.losses import Loss
from vectrick.objectives.degree_model import DegreeModel
from vectrick.objectives.space import Dual, Element, Space
from vectrick.solvers.base import Limits, Solver
from vectrick.solvers.quadratic import gradient_at_zero
from vectrick.solvers.solution import CALLBACK, TOLERANCE, Iterate, Solution, finest

_CLOSER = 0.5  # the next check of the dual problem is at this share of the residual that should suffice
_NEAR = 1e-4  # from this relative residual on, the last digits are found without the preconditioner
_HARD = 2  # systems of Newton's method without convergence after which the preconditioner is given up
_FIRST_LOOK, _EARLY = 5, 0.1  # iterations before patience can end: a number, and a share of the number allowed


class DualLook:
    """Checks whether the dual coefficients of predictions solve the dual problem, and keeps the last ones."""

    def __init__(self, space: Dual, loss: Loss, alpha: float, tol: float) -> None:
        self.space, self.loss, self.alpha, self.tol = space, loss, alpha, tol
        self.scale = 0.0  # the norm of the gradient at zero
        self.relative = inf
        self.a: Any = None  # the coefficients of the last check

    def __call__(self, x: Element, residual: float) -> float | None:
        """Return None if they do, or the residual at which to check again."""
        self.look(x.f)
        if self.relative <= self.tol:
            return None
        closer = residual * min(_CLOSER, _CLOSER * self.tol / self.relative)
        return closer if closer >= finest(x.f) else None

    def look(self, predictions: Array) -> None:
        """Set the dual coefficients ``a``, their predictions ``f``, and their ``relative`` residual."""
        a = self.loss.gradient(predictions) * (-1.0 / self.alpha)
        f = self.space.predict(a)
        rest = self.space.measured(self.loss.gradient(f) + self.alpha * a).norm
        self.relative = rest / self.scale if self.scale else 0.0
        self.a, self.f = a, f


@dataclass
class Patience:
    """The number of preconditioned iterations that take as long as a fit without the preconditioner.

    It costs O(1).

    Examples
    --------
    >>> import vectrick as vt
    >>> vt.solvers.Patience(iterations=40.0, residual=1e-6).iterations
    40.0
    """

    iterations: float
    residual: float  # the residual to reach

    def is_over(self, k: int, residual: float) -> bool:
        """Return whether the iterations still to come, extrapolated from the first k, are too many."""
        if k < max(_FIRST_LOOK, _EARLY * self.iterations):
            return False
        progress = log(residual) / log(self.residual) if 0 < residual < 1 else 0.0
        return k * (1 - progress) > self.iterations * progress


@dataclass
class _Doubt:
    """Decides whether the preconditioner is given up: for quadratic losses by patience, else by Newton's systems."""

    patience: Patience | None
    is_quadratic: bool
    inner_iter: int
    space: Space
    n_hard: int = 0  # systems that took all iterations that they may

    def __post_init__(self) -> None:
        self._before = self.space.n_products

    def gives_up(self, iterate: Iterate) -> bool:
        """Return whether to go on without the preconditioner."""
        if self.patience is None:
            return False
        if self.is_quadratic:
            return self.patience.is_over(iterate.n_iter, iterate.residual)
        self.n_hard += self.space.n_products - self._before >= 2 * self.inner_iter  # two products in an iteration
        self._before = self.space.n_products
        return self.n_hard >= _HARD


def minimise_preconditioned(
    space: Space,
    loss: Loss,
    alpha: float,
    solver: Solver,
    limits: Limits,
    model: DegreeModel,
    patience: Patience | None,
) -> Solution:
    """Minimize with the features of a degree model, and return the coefficients of a space of the same functions.

    In dual form, the result counts as converged only if its dual coefficients solve the dual problem. If rounding
    prevents this, the solver continues in dual form without the preconditioner. If the coefficients are far off, the
    solver starts again without it. It also starts again if patience ends: for quadratic losses, because their residual
    falls steadily, and for Newton's method if two of its systems take all iterations that they may.
    """
    inside = model.space
    look = DualLook(space, loss, alpha, limits.tol) if isinstance(space, Dual) else None
    slow = 0  # iterations after which patience ended
    doubt = _Doubt(patience, loss.is_quadratic, limits.inner_iter, inside)
    asked_for = getattr(limits.callback, "reads_coefficients", True)  # transforming them may take as long as a product

    def n_products() -> int:
        return inside.n_products + (0 if inside is space else space.n_products)

    def on_iterate(iterate: Iterate) -> bool | None:
        nonlocal slow
        stop = False
        if limits.callback is not None:
            x = None
            if asked_for:
                c, f = iterate.x, iterate.predictions
                x = model.to_features(c) if look is None else loss.gradient(f) * (-1.0 / alpha)
            stop = bool(limits.callback(replace(iterate, x=x, n_products=n_products())))
        if stop:
            return True
        slow = iterate.n_iter if doubt.gives_up(iterate) else 0
        return slow > 0

    def without(start: Array | None, before: Solution) -> Solution:
        """Continue without the preconditioner."""

        def shifted(iterate: Iterate) -> bool | None:
            assert limits.callback is not None
            counts = iterate.n_iter + before.n_iter, n_products()
            return limits.callback(replace(iterate, n_iter=counts[0], n_products=counts[1]))

        left = max(limits.max_iter - before.n_iter, 1)
        callback = None if limits.callback is None else shifted
        rest = solver.minimise(space, loss, alpha, replace(limits, start=start, max_iter=left, callback=callback))
        residuals = [*before.residuals, *rest.residuals]
        return replace(rest, n_iter=before.n_iter + rest.n_iter, n_products=n_products(), residuals=residuals)

    start = limits.start
    if start is not None:
        start = model.from_features(start) if look is None else inside.lift(start)
    if look is not None:
        look.scale = gradient_at_zero(inside, loss)
    within = replace(limits, start=start, callback=on_iterate, model=model, accept=look)
    solution = solver.minimise(inside, loss, alpha, within)
    if slow and solution.reason == CALLBACK:
        return replace(without(limits.start, solution), preconditioner="none")
    solution = replace(solution, preconditioner="kronecker")
    if look is None:
        return replace(solution, x=model.to_features(solution.x), n_products=n_products())
    if solution.reason != TOLERANCE or look.a is None:  # otherwise, this solution was checked last
        look.look(solution.predictions)
    if solution.converged and look.relative > limits.tol:
        # Rounding with the features limits the accuracy of the dual coefficients. They may be far off if the kernel
        # maps some of them to zero.
        if look.relative > _NEAR:
            return replace(without(limits.start, solution), preconditioner="none")
        return replace(without(look.a, solution), preconditioner="kronecker")
    residuals = [*solution.residuals, look.relative]
    return replace(solution, x=look.a, predictions=look.f, n_products=n_products(), residuals=residuals)
