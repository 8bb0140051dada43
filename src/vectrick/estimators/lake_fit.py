"""Minimising on a lake: the risk as passes, its preconditioner, and solutions for any alpha from one reading."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.data.lake.counts import Counts
from vectrick.data.lake.scan import ScannedEdges
from vectrick.losses import Loss, Pointwise, RankRLS, Squared, WithIntercept
from vectrick.models.kernel_spec import KernelSpec
from vectrick.models.lake_features import LakeSide
from vectrick.passes.engine import Engine
from vectrick.passes.risks import PointwiseRisk, QuadraticRisk, Sides
from vectrick.passes.tasks import Coding
from vectrick.solvers import Solution, Solver
from vectrick.solvers.solution import Callback, finest
from vectrick.solvers.streamed import DegreeSpectrum, streamed_newton, streamed_ridge

_ONE_PASS = "one pass over the edges, as asked for"
_STEPS, _NEWTON_STEPS = 1000, 100  # iterations at most


@dataclass(frozen=True)
class Lake:
    """What a fit to a lake starts from: parameters that were checked, and what a reading of the edges found."""

    edges: ScannedEdges
    engine: Engine
    counts: Counts
    spec: KernelSpec
    loss: type[Loss]
    solver: Solver | None
    with_constant: bool
    coding: Coding
    degrees: tuple[Array, Array]  # sums of weights
    sides: tuple[LakeSide, LakeSide]

    @property
    def features(self) -> Sides:
        """The features of both sides."""
        return Sides(self.sides[0].features, self.sides[1].features)


class LakeFit:
    """The risk of an estimator on a lake, and its minima; all alphas share what does not depend on them."""

    def __init__(self, model: Any, lake: Lake) -> None:
        self.model, self.lake, self.features = model, lake, lake.features
        self.is_quadratic = issubclass(lake.loss, Squared | RankRLS)

    @property
    def tol(self) -> float:
        """The tolerance, or the smallest one that means anything."""
        return max(self.model.tol, finest(self.features.start[:1]))

    @property
    def max_iter(self) -> int:
        """The largest number of iterations."""
        return int(self.model.max_iter or (_STEPS if self.is_quadratic else _NEWTON_STEPS))

    @property
    def centred(self) -> str | None:
        """Which edges share a constant."""
        if self.lake.loss is RankRLS:
            return str(getattr(self.model, "groups", None) or "all")
        return "all" if self.lake.with_constant else None

    @cached_property
    def quadratic(self) -> QuadraticRisk:
        """The risk of a quadratic loss."""
        lake = self.lake
        return QuadraticRisk(lake.engine, self.features, lake.degrees, self.centred, lake.coding)

    @cached_property
    def pointwise(self) -> PointwiseRisk:
        """The risk of another loss."""
        lake = self.lake
        assert issubclass(lake.loss, Pointwise)
        return PointwiseRisk(lake.engine, self.features, lake.loss, lake.coding, lake.with_constant)

    @cached_property
    def spectrum(self) -> DegreeSpectrum:
        """The degree model."""
        if not self.is_quadratic:
            return DegreeSpectrum.of(self.features, self.lake.degrees)
        return DegreeSpectrum.of(self.features, self._curvatures(), self.centred)

    def _curvatures(self) -> tuple[Array, Array]:
        """Return the sums of curvatures at the vertices; with groups, those of the other side go with the degrees."""
        start, end = self.lake.degrees
        if self.centred not in ("start", "end"):
            return start, end
        total = self.quadratic.total
        own, other = (start, end) if self.centred == "start" else (end, start)
        own, other = own**2 * (total / (own**2).sum()), other * (total / other.sum())
        return (own, other) if self.centred == "start" else (other, own)

    def solve(self, alpha: float, callback: Callback | None = None, start: Solution | None = None) -> Solution:
        """Minimise by passes, perhaps from the solution for another alpha."""
        model = self.model
        if self.is_quadratic:
            inverse = self.spectrum.inverse(alpha, centred=self.centred == "all")
            solution = streamed_ridge(
                self.quadratic, alpha, inverse, tol=self.tol, max_iter=self.max_iter,
                start=None if start is None else start.x, callback=callback,
            )  # fmt: skip
            return replace(solution, intercept=0.0) if self.lake.loss is RankRLS else solution
        zero = np.zeros(self.features.size), self._best_constant()
        return streamed_newton(
            self.pointwise, alpha, self.spectrum, start=zero if start is None else (start.x, start.intercept),
            tol=self.tol, max_iter=self.max_iter, inner_iter=model.inner_iter, callback=callback,
        )  # fmt: skip

    def _best_constant(self) -> float:
        """Return the best constant prediction, as far as the labels are known without another pass."""
        lake = self.lake
        if not lake.with_constant:
            return 0.0
        mean, labels, positive = lake.counts.total / lake.counts.n_edges, lake.counts.labels, lake.coding.positive
        if positive is None:
            return mean
        if labels is None or len(labels) != 2:
            return 0.0
        share = (mean - labels[0]) / (labels[1] - labels[0])
        share = share if positive == labels[1] else 1.0 - share
        assert issubclass(lake.loss, Pointwise)
        loss = lake.loss(np.array([1.0, -1.0]), np.array([share, 1.0 - share]))
        return WithIntercept(loss).intercept(np.zeros(2))

    def one_pass(self, alpha: float) -> Solution:
        """Return ``M⁻¹ Φᵀ y`` with the degree model M, or what a filter makes of it; perhaps refined."""
        model, risk = self.model, self.quadratic
        inverse = self.spectrum.inverse(alpha, centred=self.centred == "all")
        w = inverse.times(risk.rhs)
        if model.spectral_filter != "ridge":
            w = self.spectrum.filtered(alpha, model.spectral_filter, model.filter_iter).times(risk.rhs)
        if model.refine:
            solution = streamed_ridge(risk, alpha, inverse, tol=self.tol, max_iter=model.refine, start=w)
            reason = f"{_ONE_PASS}, and {solution.n_iter} iterations"
            return replace(solution, reason=reason, n_iter=1 + solution.n_iter)
        return Solution(
            w, None, False, _ONE_PASS, 1, risk.engine.n_passes, [], risk.intercept(w), preconditioner="kronecker",
            preconditioner_reason="one pass is its first direction",
        )  # fmt: skip
