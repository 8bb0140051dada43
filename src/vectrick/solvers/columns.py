"""Least squares for several columns of labels at once: each has its own conjugate gradients, and they share products.

A product with a block of vectors loads the factors of the operator once for all of them. The loss is the squared one,
with weights and an intercept if there are, so that the curvature is the same for all columns, and the gradient at the
predictions F is ``H (F - Y)``.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vectrick._typing import Array
from vectrick.backends.arrays import like, namespace, to_host, zeros
from vectrick.losses import Centered, Curvature
from vectrick.solvers.degree_model import DegreeModel, Preconditioner, curvature_of
from vectrick.solvers.solution import LIMIT, STALLED, TOLERANCE, Solution, finest
from vectrick.solvers.space import Dual, Element, Primal, Space

_LOOKS = 4  # at the dual problem at most, each to a smaller residual
_CLOSER = 0.5  # below the residual that should suffice

# Called after each iteration with its number and the largest relative residual.
ColumnCallback = Callable[[int, float], None]


@dataclass
class _Column:
    """How far the iterations of one column came."""

    reason: str = LIMIT
    n_iter: int = 0
    residuals: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class _Measured:
    """Residuals with the squared norm of each column, preconditioned, and with predictions in dual form."""

    r: Array
    square: Array
    z: Array
    along: Array  # the product of r and z
    f: Array | None = None  # the predictions of z

    def only(self, which: Array) -> "_Measured":
        f = None if self.f is None else self.f[:, which]
        return _Measured(self.r[:, which], self.square[which], self.z[:, which], self.along[which], f)


class LeastSquares:
    """``½ ‖H^½ (f - y)‖² + ½ α ‖f‖²`` over a space, for each column of Y."""

    def __init__(self, space: Space, curvature: Curvature, Y: Array, alpha: float, rhs: Array | None = None) -> None:
        self.space, self.curvature, self.Y, self.alpha = space, curvature, Y, alpha
        self.first = self.measured(space.lift(self.curved(Y)) if rhs is None else rhs)
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

    def relative(self, square: Array, which: Any = slice(None)) -> NDArray[Any]:
        """Return the norms of columns relative to those of the gradient at zero, on the host."""
        norms, scale = np.sqrt(np.maximum(to_host(square), 0.0)), self.scale[which]
        return norms / np.where(scale > 0, scale, 1.0)

    def measured(self, r: Array, preconditioner: Preconditioner | None = None) -> _Measured:
        """Return the norms of a residual; one product in dual form."""
        if isinstance(self.space, Dual):
            f = self.space.predict(r)
            square = (r * f).sum(0)
            return _Measured(r, square, r, square, f)
        square = (r * r).sum(0)
        if preconditioner is None:
            return _Measured(r, square, r, square)
        z = preconditioner.times(r)
        return _Measured(r, square, z, (r * z).sum(0))

    def looked_at(self, c: Array) -> tuple[Element, NDArray[Any]]:
        """Return functions with true predictions, and how large their gradients are; two products."""
        x = self.space.element(c)
        return x, self.relative(self.measured(self.gradient(x)).square)

    def zero(self) -> Element:
        """Return the function zero for each column."""
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
        """Minimise from x, in place, each column to its own tolerance; an iteration takes the products of one vector.

        A column that has reached its tolerance is left out of further products.
        """
        before = max(column.n_iter for column in columns)
        now = self.first
        if before or preconditioner is not None:
            now = self.measured(-self.gradient(x) if before else now.r, preconditioner)
        p, beta, which = Element(now.z, now.f), None, np.arange(len(columns))
        for k in range(before, max_iter + 1):
            relative = self.relative(now.square, which)
            on = relative > tol[which]
            for residual, number, goes_on in zip(relative, which, on, strict=True):
                columns[number].residuals.append(float(residual))
                columns[number].reason, columns[number].n_iter = LIMIT if goes_on else TOLERANCE, k
            if callback is not None:
                callback(k, float(relative.max()))
            if not on.any() or k == max_iter:
                return
            if not on.all():
                rest = like(np.flatnonzero(on), now.r)
                now, which, beta = now.only(rest), which[on], None if beta is None else beta[rest]
                p = Element(p.c[:, rest], None if p.f is None else p.f[:, rest])
            p = self._direction(now, beta, p)
            hp = self.curved(p.f)
            curve = (p.f * hp).sum(0) + self.alpha * self._inner(p)
            if not bool(((curve > 0) & (curve < inf)).all()):
                for number in which:
                    columns[number].reason = STALLED
                return
            step, along = now.along / curve, now.along
            taken = slice(None) if len(which) == len(columns) else like(which, now.r)
            x.c[:, taken] += step * p.c
            x.f[:, taken] += step * p.f
            now = self.measured(now.r - step * (self.space.lift(hp) + self.alpha * p.c), preconditioner)
            beta = now.along / along

    def _direction(self, now: _Measured, beta: Array | None, p: Element) -> Element:
        c = now.z if beta is None else now.z + beta * p.c
        if now.f is None:
            return self.space.element(c)
        return Element(c, now.f if beta is None else now.f + beta * p.f)

    def _inner(self, p: Element) -> Array:
        return (p.c * (p.f if isinstance(self.space, Dual) else p.c)).sum(0)


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
    """Minimise the squared loss for every column of Y; each solution says whether its own gradient is small.

    ``n_products`` counts products with blocks of vectors.
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
        told = converged, column.reason, column.n_iter, n_products, [*column.residuals, float(relative[j])]
        used = "none" if model is None else "kronecker"
        solutions.append(Solution(_column(x.c, j), _column(x.f, j), *told, preconditioner=used))
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
    """Minimise with the features of a degree model; return functions of the space, and their relative gradients.

    Dual coefficients are those of the gradient; until ``A a`` shows that they solve the dual problem, the residual is
    made smaller.
    """
    space, alpha = problem.space, problem.alpha
    inside = LeastSquares(model.space, problem.curvature, problem.Y, alpha)
    preconditioner = model.preconditioner(problem.curvature, alpha, as_made=True)
    x, tols = inside.zero(), np.full(len(columns), tol)
    for _ in range(_LOOKS):
        inside.descend(x, tols, max_iter, columns, preconditioner, callback)
        if not isinstance(space, Dual):
            turned = [model.outward(_column(x.c, j)) for j in range(len(columns))]
            return problem.looked_at(namespace(x.c).stack(turned, -1))
        outer, relative = problem.looked_at(problem.curved(problem.Y - x.f) / alpha)
        reached = np.array([column.residuals[-1] for column in columns])
        tols = np.where(relative <= tol, reached, reached * _CLOSER * tol / np.maximum(relative, tol))
        if (relative <= tol).all() or tols.min() < finest(x.f) or max(column.n_iter for column in columns) >= max_iter:
            break
    return outer, relative


def _column(X: Array, j: int) -> Array:
    return X[:, j] + 0.0
