"""The risk of a function by passes over the edges: its value, and its derivatives by the primal coefficients.

A vector of coefficients starts with the coefficients of the first end feature, in the order of ``vec``. Blocks use a
matrix of coefficients, a core, with a row for each feature of their rows. Features are float64 or float32, sums over
blocks are float64.
"""

import copy
from dataclasses import dataclass
from typing import Self

import numpy as np

from vectrick._typing import Array
from vectrick.backends.arrays import cast, contiguous, copy_of, numpy_dtype
from vectrick.losses import Pointwise
from vectrick.passes.engine import Engine
from vectrick.passes.tasks import (
    Coding,
    ColumnSums,
    CurvatureProduct,
    LabelSums,
    LossGradient,
    NormalProduct,
    RowSums,
    VertexSums,
)


@dataclass(frozen=True)
class Sides:
    """The features of all vertices of both tables, in the dtype of the computation."""

    start: Array
    end: Array

    @property
    def size(self) -> int:
        """The number of coefficients."""
        return int(self.start.shape[1] * self.end.shape[1])

    def core(self, w: Array, rows_are_start: bool) -> Array:
        """Return a copy of coefficients as a core of blocks, because solvers change coefficients in place."""
        W = cast(w.reshape(self.end.shape[1], self.start.shape[1]), numpy_dtype(self.start))
        return contiguous(copy_of(W.T if rows_are_start else W))

    def vector(self, core: Array, rows_are_start: bool) -> Array:
        """Return a core of blocks as coefficients."""
        return cast(contiguous(core.T if rows_are_start else core), np.float64).reshape(-1)


class _Risk:
    """A risk with products in full or in low precision."""

    engine: Engine
    is_low = False

    def lowered(self) -> Self:
        """Return the same risk with products of low precision; everything else stays."""
        low = copy.copy(self)
        low.engine, low.is_low = self.engine.lowered(), True
        return low

    def _scale(self, w: Array) -> float:
        """Return a divisor for a direction whose norm float32 may not represent."""
        return (float(w @ w) ** 0.5 or 1.0) if self.is_low else 1.0


class QuadraticRisk(_Risk):
    """``½ Σ h (p - y)²``, optionally with an intercept of all edges, or of each vertex, minimized out.

    Its Hessian is ``B = Φᵀ H Φ - Σ_g H_g (φ_g ⊗ μ_g) (φ_g ⊗ μ_g)ᵀ`` with the mean features μ_g of the edges of a
    vertex g. Only ``Φᵀ H Φ`` takes a pass, and edges can be in any order.

    Parameters
    ----------
    engine : Engine
        An engine over edges that were read.
    sides : Sides
        The features.
    degrees : (array, array)
        The sums of the weights at start and end vertices.
    centred : None, "all", "start" or "end"
        Which edges share an intercept.
    coding : Coding
        The coding of the labels.
    """

    def __init__(
        self, engine: Engine, sides: Sides, degrees: tuple[Array, Array], centred: str | None, coding: Coding
    ) -> None:
        self.engine, self.sides, self.centred = engine, sides, centred
        self.rows_are_start = engine.rows_are_start
        self.total = float(degrees[0].sum())
        self.mean: Array | None = None  # the mean features of all edges
        self._groups: _Groups | None = None
        if centred in ("start", "end"):
            self._groups = _Groups(self, centred)
            return
        engine.set_features(sides.start, sides.end)
        *cores, numbers = engine.total(LabelSums(coding, centred == "all"))
        self.rhs, self.constant, self.square = self._vector(cores[0]), 0.0, float(numbers[2])
        if centred == "all":
            self.mean, self.constant = self._vector(cores[1]) / self.total, float(numbers[1]) / self.total
            self.rhs -= float(numbers[1]) * self.mean
            self.square -= float(numbers[1]) * self.constant

    def _core(self, w: Array) -> Array:
        return self.sides.core(w, self.rows_are_start)

    def _vector(self, core: Array) -> Array:
        return self.sides.vector(core, self.rows_are_start)

    def times(self, w: Array) -> Array:
        """Return ``B w``; one pass."""
        scale = self._scale(w)
        product = scale * self._vector(self.engine.total(NormalProduct(self._core(w / scale)))[0])
        if self.mean is not None:
            product -= (self.total * float(self.mean @ w)) * self.mean
        return product if self._groups is None else product - self._groups.correction(w)

    def intercept(self, w: Array) -> float:
        """Return the best intercept for coefficients; zero without an intercept."""
        return self.constant - (0.0 if self.mean is None else float(self.mean @ w))

    def value(self, w: Array, rest: Array, alpha: float) -> float:
        """Return the regularized risk of coefficients, given the residual ``b - (B + α) w`` of the equations."""
        return 0.5 * (self.square - float(w @ (self.rhs + rest)))


class _Groups:
    """An intercept for each vertex of one side: mean labels and mean features of its edges."""

    def __init__(self, risk: QuadraticRisk, side: str) -> None:
        engine, sides = risk.engine, risk.sides
        self.of_start = side == "start"
        own, other = (sides.start, sides.end) if self.of_start else (sides.end, sides.start)
        engine.set_features(sides.start, sides.end)
        sums = engine.total(VertexSums(engine.shape, with_labels=True))
        is_rows = self.of_start == risk.rows_are_start
        W, Wy, Wyy = sums[0::2] if is_rows else sums[1::2]
        safe = np.where(W > 0, W, 1.0)
        scale = float(W.sum() / (W**2).sum())  # keeps the total weight: Σ H = Σ W
        self.own, self.H = own.astype(np.float64), scale * W**2
        self.M = np.zeros((len(own), other.shape[1]))
        for first, part in engine.answers(RowSums() if is_rows else ColumnSums()):
            self.M[first : first + len(part)] += part
        self.M /= safe[:, None]
        engine.n_passes += 1
        # An edge of group g has the weight ``scale W_g``. The sum with the labels takes it as a factor of the features.
        # Products take its square root, because they use the features twice.
        weights = scale * W
        scaled = (own * weights[:, None]).astype(own.dtype)
        engine.set_features(*((scaled, sides.end) if self.of_start else (sides.start, scaled)))
        core = engine.total(LabelSums(Coding(), False))[0]
        risk.rhs = risk._vector(core) - self._lifted(self.H * Wy / safe)
        risk.constant, risk.square = 0.0, float((weights * (Wyy - Wy**2 / safe)).sum())
        rooted = (own * np.sqrt(weights)[:, None]).astype(own.dtype)
        engine.set_features(*((rooted, sides.end) if self.of_start else (sides.start, rooted)))
        risk.total = float(self.H.sum())

    def _lifted(self, values: Array) -> Array:
        """Return ``Σ_g v_g φ_g ⊗ μ_g``."""
        core = self.own.T @ (values[:, None] * self.M)
        return np.ascontiguousarray(core.T if self.of_start else core).reshape(-1)

    def correction(self, w: Array) -> Array:
        """Return ``Σ_g H_g (φ_g ⊗ μ_g) (φ_g ⊗ μ_g)ᵀ w``."""
        shape = self.own.shape[1], self.M.shape[1]
        core = w.reshape(shape[::-1]).T if self.of_start else w.reshape(shape)
        means = ((self.own @ core) * self.M).sum(1)
        return self._lifted(self.H * means)


@dataclass(frozen=True)
class Point:
    """A function, and the derivatives of the loss by its coefficients and by its intercept."""

    w: Array
    b: float
    value: float
    gradient: Array
    slope: float
    mean: Array  # Σ h φ ⊗ ψ
    curvature: float  # Σ h


class PointwiseRisk(_Risk):
    """A loss that is a sum over edges, with or without an intercept."""

    def __init__(self, engine: Engine, sides: Sides, kind: type[Pointwise], coding: Coding, constant: bool) -> None:
        self.engine, self.sides, self.kind, self.coding, self.with_intercept = engine, sides, kind, coding, constant
        engine.set_features(sides.start, sides.end)

    def at(self, w: Array, b: float) -> Point:
        """Return the loss and its derivatives at a function; one pass."""
        rows_are_start = self.engine.rows_are_start
        task = LossGradient(self.sides.core(w, rows_are_start), b, self.kind, self.coding)
        gradient, mean, numbers = self.engine.total(task)
        vectors = self.sides.vector(gradient, rows_are_start), self.sides.vector(mean, rows_are_start)
        value, slope, curvature = (float(number) for number in numbers)
        return Point(w, b, value, vectors[0], slope, vectors[1], curvature)

    def times(self, point: Point, d: Array) -> Array:
        """Return the Hessian at a point times coefficients, after the intercept was minimized out; one pass."""
        rows_are_start = self.engine.rows_are_start
        scale = self._scale(d)
        cores = self.sides.core(point.w, rows_are_start), self.sides.core(d / scale, rows_are_start)
        core = self.engine.total(CurvatureProduct(*cores, point.b, self.kind, self.coding))[0]
        product: Array = scale * self.sides.vector(core, rows_are_start)
        if self.with_intercept and point.curvature > 0:
            product -= point.mean * (float(point.mean @ d) / point.curvature)
        return product
