"""Minimising on a lake: the risk as passes, its preconditioner, and solutions for any alpha from one reading."""

from dataclasses import dataclass, replace
from typing import Any

from vectrick._typing import Array
from vectrick.data.lake.counts import Counts
from vectrick.data.lake.scan import ScannedEdges
from vectrick.estimators.pass_fit import PassFit
from vectrick.losses import Loss
from vectrick.models.kernel_spec import KernelSpec
from vectrick.models.lake_features import LakeSide
from vectrick.passes.engine import LakeEngine
from vectrick.passes.risks import Sides
from vectrick.passes.tasks import Coding
from vectrick.solvers import Solution, Solver
from vectrick.solvers.streamed import streamed_ridge

_ONE_PASS = "one pass over the edges, as asked for"


@dataclass(frozen=True)
class Lake:
    """What a fit to a lake starts from: parameters that were checked, and what a reading of the edges found."""

    edges: ScannedEdges
    engine: LakeEngine
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


class LakeFit(PassFit):
    """The risk of an estimator on a lake, and its minima."""

    def __init__(self, model: Any, lake: Lake) -> None:
        what = lake.engine, lake.features, lake.degrees, lake.loss, lake.coding, lake.with_constant
        super().__init__(model, *what)
        self.lake = lake

    def first_constant(self) -> float:
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
        return self.best_constant(share if positive == labels[1] else 1.0 - share)

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
