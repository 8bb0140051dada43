"""Least squares for several columns of labels, by conjugate gradients of each column that share their products.

A product with several vectors loads the factors of the operator only once. The loss is the squared loss, optionally
with weights and an intercept. So the curvature is the same for all columns, and the gradient at the predictions F is
``H (F - Y)``.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vectrick._typing import Array
from vectrick.backends.arrays import like, namespace, to_host, zeros
from vectrick.losses import Centered, Curvature
from vectrick.objectives.degree_model import DegreeModel, curvature_of
from vectrick.objectives.degrees import Preconditioner
from vectrick.objectives.space import Dual, Element, Measured, Primal, Space
from vectrick.solvers.linear.cg import conjugate_gradients
from vectrick.solvers.solution import LIMIT, STALLED, TOLERANCE, Solution, finest

_LOOKS = 4  # maximum number of checks of the dual problem, each at a smaller residual
_CLOSER = 0.5  # times the residual that should suffice

# Called after each iteration with its number and the largest relative residual.
ColumnCallback = Callable[[int, float], None]


@dataclass
class _Column:
    """The progress of the iterations of one column."""

    reason: str = LIMIT
    n_iter: int = 0
    residuals: list[float] = field(default_factory=list)


class LeastSquares:
    """``½ ‖H^½ (f - y)‖² + ½ α ‖f‖²`` over a space, for each column of Y."""

    def __init__(self, space: Space, curvature: Curvature, Y: Array, alpha: float, rhs: Array | None = None) -> None:
        self.space, self.curvature, self.Y, self.alpha = space, curvature, Y, alpha
        self.rhs = space.lift(self.curved(Y)) if rhs is None else rhs
        self.first = self.measured(self.rhs)
        self.scale = np.sqrt(np.maximum(to_host(self.first.square), 0.0))

    def curved(self, F: Array) -> Array:
        """Return ``H F``."""
        h = curvature_of(self.curvature)
        if isinstance(self.curvature, Centered):
            F = F - h @ F / h.sum()
        return h[:, None] * F

    def gradient(self, x: Element) -> Array:
        """Return the coefficients of the gradient; one product in primal form."""
        return self.space.lift(self.curved(x.f - self.Y)) + self.alpha * x.c

    def relative(self, square: Array, which: Array | slice = slice(None)) -> NDArray[Any]:
        """Return the norms of columns relative to the norms of the gradient at zero, on the host."""
        norms, scale = np.sqrt(np.maximum(to_host(square), 0.0)), self.scale[which]
        result: NDArray[Any] = norms / np.where(scale > 0, scale, 1.0)
        return result

    def measured(self, r: Array, preconditioner: Preconditioner | None = None) -> Measured:
        """Return a residual with its norms; one product in dual form."""
        if isinstance(self.space, Dual):
            f = self.space.predict(r)
            square = (r * f).sum(0)
            return Measured(r, square, square, f)
        square = (r * r).sum(0)
        if preconditioner is None:
            return Measured(r, square, square)
        z = preconditioner.times(r)
        return Measured(z, (r * z).sum(0), square)

    def looked_at(self, c: Array) -> tuple[Element, NDArray[Any]]:
        """Return functions with recomputed predictions, and the relative norms of their gradients; two products."""
        x = self.space.element(c)
        return x, self.relative(self.measured(self.gradient(x)).square)

    def zero(self) -> Element:
        """Return the zero function for each column."""
        k = self.Y.shape[1]
        return Element(zeros((self.space.size, k), self.Y), zeros((self.space.n_edges, k), self.Y))

    def descend(
        self,
        x: Element,
        tol: NDArray[Any],
        max_iter: int,
        columns: list[_Column],
        preconditioner: Preconditioner | None = None,
        callback: ColumnCallback | None = None,
    ) -> None:
        """Minimize from x in place, each column to its own tolerance; an iteration is one product with all columns."""
        before = max(column.n_iter for column in columns)
        r = -self.gradient(x) if before else self.rhs + 0.0
        known = None if before or preconditioner is not None else self.first
        system = _ColumnSystem(self, x, tol, columns, preconditioner, callback)
        reason, _ = conjugate_gradients(system, system, r, max_iter, known, before)
        if reason == STALLED:
            for number in system.which:
                columns[number].reason = STALLED


class _ColumnSystem:
    """The systems of all columns; columns that have reached their tolerance are left out of further products."""

    measures_last = True

    def __init__(
        self,
        problem: LeastSquares,
        x: Element,
        tol: NDArray[Any],
        columns: list[_Column],
        preconditioner: Preconditioner | None,
        callback: ColumnCallback | None,
    ) -> None:
        self.problem, self.x, self.tol, self.columns = problem, x, tol, columns
        self.preconditioner, self.callback = preconditioner, callback
        self.which = np.arange(len(columns))  # the active columns

    def add(self, step: Array, p: Element) -> None:
        """Update the active columns."""
        taken = slice(None) if len(self.which) == len(self.columns) else like(self.which, p.c)
        self.x.c[:, taken] += step * p.c
        self.x.f[:, taken] += step * p.f

    def measured(self, r: Array) -> Measured:
        """Return preconditioned residuals."""
        return self.problem.measured(r, self.preconditioner)

    def next_direction(self, z: Measured, beta: Array | None, p: Element | None) -> Element:
        """Return the next directions."""
        c = z.c + 0.0 if beta is None or p is None else z.c + beta * p.c
        if z.f is None:
            return self.problem.space.element(c)
        return Element(c, z.f if beta is None or p is None else z.f + beta * p.f)

    def curved(self, p: Element) -> tuple[Array, Array]:
        """Return ``H predict(p)``, and the curvature along each direction."""
        hp = self.problem.curved(p.f)
        other = p.f if isinstance(self.problem.space, Dual) else p.c
        return hp, (p.f * hp).sum(0) + self.problem.alpha * (p.c * other).sum(0)

    def image(self, made: Array, p: Element) -> Array:
        """Return ``(B + α) p``."""
        return self.problem.space.lift(made) + self.problem.alpha * p.c

    def reached(self, k: int, x: Any, z: Measured | None) -> Any:
        """Return a reason to stop, the columns that remain active if some have finished, or None."""
        assert z is not None
        relative = self.problem.relative(z.square, self.which)
        on = relative > self.tol[self.which]
        for residual, number, goes_on in zip(relative, self.which, on, strict=True):
            column = self.columns[number]
            column.residuals.append(float(residual))
            column.reason, column.n_iter = LIMIT if goes_on else TOLERANCE, k
        if self.callback is not None:
            self.callback(k, float(relative.max()))
        if not on.any():
            return TOLERANCE
        if on.all():
            return None
        self.which = self.which[on]
        return like(np.flatnonzero(on), z.c)


def minimise_columns(
    space: Space,
    curvature: Curvature,
    Y: Array,
    alpha: float,
    *,
    max_iter: int,
    tol: float,
    model: DegreeModel | None = None,
    callback: ColumnCallback | None = None,
) -> list[Solution]:
    """Minimize the squared loss for every column of Y; each solution reports its own convergence.

    ``n_products`` counts products with several vectors as one.
    """
    tol = max(tol, finest(Y))
    problem = LeastSquares(space, curvature, Y, alpha)
    columns = [_Column() for _ in range(Y.shape[1])]
    if model is None:
        x = problem.zero()
        problem.descend(x, np.full(len(columns), tol), max_iter, columns, callback=callback)
        x, relative = problem.looked_at(x.c)
    else:
        x, relative = _with_model(problem, model, columns, max_iter, tol, callback)
    n_products = space.n_products + (0 if model is None or model.space is space else model.space.n_products)
    solutions = []
    for j, column in enumerate(columns):
        converged = bool(relative[j] <= tol or (column.reason == TOLERANCE and relative[j] <= 10 * tol))
        report = converged, column.reason, column.n_iter, n_products, [*column.residuals, float(relative[j])]
        used = "none" if model is None else "kronecker"
        solutions.append(Solution(_column(x.c, j), _column(x.f, j), *report, preconditioner=used))
    return solutions


def solve_columns(
    space: Primal, curvature: Curvature, C: Array, alpha: float, preconditioner: Preconditioner, tol: float,
    max_iter: int = 1000,
) -> Array:  # fmt: skip
    """Solve ``(Zᵀ H Z + α I) X = C`` in primal form for every column of C, by preconditioned conjugate gradients."""
    Y = zeros((space.n_edges, C.shape[1]), C)
    problem = LeastSquares(space, curvature, Y, alpha, C)
    x, columns = problem.zero(), [_Column() for _ in range(C.shape[1])]
    problem.descend(x, np.full(len(columns), tol), max_iter, columns, preconditioner)
    return x.c


def _with_model(
    problem: LeastSquares,
    model: DegreeModel,
    columns: list[_Column],
    max_iter: int,
    tol: float,
    callback: ColumnCallback | None,
) -> tuple[Element, NDArray[Any]]:
    """Minimize with the features of a degree model; return functions of the space, and their relative gradients.

    Dual coefficients follow from the gradient. The residual is reduced until ``A a`` shows that they solve the dual
    problem.
    """
    space, alpha = problem.space, problem.alpha
    inside = LeastSquares(model.space, problem.curvature, problem.Y, alpha)
    preconditioner = model.preconditioner(problem.curvature, alpha, as_made=True)
    x, tols = inside.zero(), np.full(len(columns), tol)
    for _ in range(_LOOKS):
        inside.descend(x, tols, max_iter, columns, preconditioner, callback)
        if not isinstance(space, Dual):
            turned = [model.to_features(_column(x.c, j)) for j in range(len(columns))]
            return problem.looked_at(namespace(x.c).stack(turned, -1))
        outer, relative = problem.looked_at(problem.curved(problem.Y - x.f) / alpha)
        reached = np.array([column.residuals[-1] for column in columns])
        tols = np.where(relative <= tol, reached, reached * _CLOSER * tol / np.maximum(relative, tol))
        if (relative <= tol).all() or tols.min() < finest(x.f) or max(column.n_iter for column in columns) >= max_iter:
            break
    return outer, relative


def _column(X: Array, j: int) -> Array:
    return X[:, j] + 0.0
