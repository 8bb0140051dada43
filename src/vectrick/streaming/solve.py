"""Minimization on a lake: the risk by passes, its preconditioner, and solutions for any alpha after one reading."""

from dataclasses import dataclass, replace
from typing import cast

from vectrick._progress import Progress
from vectrick._typing import Array
from vectrick.backends import settle_backend
from vectrick.backends.threads import count_threads
from vectrick.data.lake.counts import Counts
from vectrick.data.lake.scan import ScannedEdges
from vectrick.losses import Loss
from vectrick.models.kernel_spec import KernelSpec
from vectrick.objectives.risks import Sides
from vectrick.passes.engine import LakeEngine
from vectrick.passes.local import LocalEngine
from vectrick.passes.tasks import Coding
from vectrick.solvers import Solution, Solver
from vectrick.solvers.streamed import streamed_ridge
from vectrick.streaming.features import LakeSide
from vectrick.training.fitted import Machine, SpectralRidge, Trainable
from vectrick.training.pass_fit import PassFit

_ONE_PASS = "one pass over the edges, as asked for"


@dataclass(frozen=True)
class Lake:
    """The input of a fit to a lake: checked parameters, and the results of reading the edges."""

    edges: ScannedEdges
    engine: LakeEngine
    counts: Counts
    spec: KernelSpec
    loss: type[Loss]
    solver: Solver | None
    with_intercept: bool
    coding: Coding
    degrees: tuple[Array, Array]  # sums of weights
    sides: tuple[LakeSide, LakeSide]

    @property
    def features(self) -> Sides:
        """The features of both sides."""
        return Sides(self.sides[0].features, self.sides[1].features)


def engine_of(model: Machine, X: ScannedEdges) -> LakeEngine:
    """Return the engine that an estimator requires."""
    reading: list[Progress] = []

    def report(what: str, done: int, total: int) -> None:
        if not reading:
            reading.append(Progress(f"{type(model).__name__}: {what} partitions", total, model.verbose))
        reading[0].step()

    if model.backend == "dask":
        from vectrick.passes.cluster import DaskEngine  # Dask takes long to load

        return DaskEngine(X, report)
    backend = settle_backend(model.backend, model.device)
    return LocalEngine(X, count_threads(model.n_threads), report, backend)


class LakeFit(PassFit):
    """The risk of an estimator on a lake, and its minima."""

    def __init__(self, model: Trainable, lake: Lake) -> None:
        what = lake.engine, lake.features, lake.degrees, lake.loss, lake.coding, lake.with_intercept
        super().__init__(model, *what, mean=_mean_label(lake))
        self.lake = lake

    def one_pass(self, alpha: float) -> Solution:
        """Return ``M⁻¹ Φᵀ y`` with the degree model M, or a spectral filter of it, optionally refined."""
        model, risk = cast(SpectralRidge, self.model), self.quadratic
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


def _mean_label(lake: Lake) -> float | None:
    """Return the mean label in the coding of the loss; None if the counts of a reading do not determine it."""
    counts, positive = lake.counts, lake.coding.positive
    mean = counts.total / counts.n_edges
    if positive is None:
        return mean
    if counts.labels is None or len(counts.labels) != 2:
        return None
    share = (mean - counts.labels[0]) / (counts.labels[1] - counts.labels[0])
    return float(2 * share - 1 if positive == counts.labels[1] else 1 - 2 * share)
