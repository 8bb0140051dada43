"""Dual or primal: the space to train in, and the way from its coefficients to a predictor."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from vectrick.estimators.inputs import Graph
from vectrick.estimators.predictor import DualPredictor, Predictor, PrimalPredictor
from vectrick.estimators.side import Side
from vectrick.kernels import FeatureMap
from vectrick.operators import LowRank, Plan, kron, plan_kron
from vectrick.solvers import Dual, Primal, Space

Array = NDArray[Any]

Maps = tuple[FeatureMap | None, FeatureMap | None]

FORMS = ("auto", "dual", "primal")

# A factor by pivoted Cholesky is looked for where a side has this many vertices, and pays below this share of them.
_WORTH_FACTORING = 800
_WORTH_RANK = 0.4


@dataclass(frozen=True)
class Form:
    """The chosen form: its space, why it was chosen, and how predictions are made from its coefficients."""

    name: str
    space: Space
    plan: Plan
    reason: str
    graph: Graph
    start: Side
    end: Side
    maps: tuple[FeatureMap, FeatureMap] | None  # of the start and the end, in primal form

    def predictor(self, coefficients: Array, n_threads: int | None) -> Predictor:
        """Return what predicts with the coefficients."""
        if self.maps is not None:
            return PrimalPredictor(self.start, self.end, *self.maps, coefficients, n_threads)
        return DualPredictor(self.start, self.end, self.graph, coefficients, n_threads)


def choose_form(
    form: str, graph: Graph, start: Side, end: Side, *, dtype: np.dtype[Any], tolerance: float, n_threads: int | None
) -> Form:
    """Return the form that was asked for, or the cheaper one.

    Thin factors of both sides make the primal form possible: exact ones of linear kernels, and for smooth kernels those
    by pivoted Cholesky to ``tolerance``. Primal it is where a product with the features and one with their transpose
    take no longer than one with the kernel matrix, and there are not more coefficients than edges.
    """
    maps = _factor(start, form, tolerance), _factor(end, form, tolerance)
    factors = None if form == "primal" else _dual_factors(maps, start, end, dtype)
    if form != "dual" and maps[0] is not None and maps[1] is not None:
        both = maps[0], maps[1]
        S, E = (_cast(found.train, dtype) for found in both)
        plan, seconds = _primal_plan(S, E, graph, n_threads)
        reason = "asked for"
        if factors is not None:
            edges = graph.pair
            dual_seconds = plan_kron(*factors, edges, edges, n_threads=n_threads).seconds
            reason = f"a step takes about {seconds:.2g} s, in dual form {dual_seconds:.2g} s"
        few = both[0].rank * both[1].rank <= len(graph.start)
        if factors is None or (few and seconds <= dual_seconds):
            features = kron(E, S, n_threads=n_threads)[graph.pair, :]
            _ = features.T.plan  # sorted now, before there are vectors beside it
            space = Primal(features)
            return Form("primal", space, plan, reason + _thin(both), graph, start, end, both)
    assert factors is not None
    A = kron(*factors, n_threads=n_threads)[graph.pair, graph.pair]
    reason = "asked for" if form == "dual" else "the cheaper form"
    return Form("dual", Dual(A), A.plan, reason + _thin(maps), graph, start, end, None)


def dual_form(graph: Graph, start: Side, end: Side, dtype: np.dtype[Any], n_threads: int | None) -> Form:
    """Return the dual form with whole kernel matrices, for solvers that need no products."""
    K, G = (side.matrix.astype(dtype, copy=False) for side in (start, end))
    A = kron(G, K, n_threads=n_threads)[graph.pair, graph.pair]
    return Form("dual", Dual(A), A.plan, "the closed form of a complete graph", graph, start, end, None)


def _factor(side: Side, form: str, tolerance: float) -> FeatureMap | None:
    """Return the thin factor of a side where it has one that is worth having."""
    m = side.vertices.shape[0]
    if form == "primal":
        return side.factor(tolerance)
    exact = side.kernel.features(side.vertices[:1])
    if exact is not None:
        return side.factor(tolerance, exact.shape[1])
    worth = m >= _WORTH_FACTORING and tolerance > 0
    return side.factor(tolerance, int(_WORTH_RANK * m)) if worth else None


def _dual_factors(maps: Maps, start: Side, end: Side, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return G and K, as thin as they come."""
    made: list[Any] = []
    for found, side in ((maps[1], end), (maps[0], start)):
        if found is not None and not issparse(found.train) and found.rank < side.vertices.shape[0]:
            made.append(LowRank(_cast(found.train, dtype)))
        else:
            made.append(side.matrix.astype(dtype, copy=False))
    return made[0], made[1]


def _primal_plan(S: Any, E: Any, graph: Graph, n_threads: int | None) -> tuple[Plan, float]:
    """Return the plan of a product with the features, and the time of it and one with their transpose."""
    forward = plan_kron(E, S, graph.pair, slice(None), n_threads=n_threads)
    backward = plan_kron(E.T, S.T, slice(None), graph.pair, n_threads=n_threads)
    return forward, forward.seconds + backward.seconds


def _cast(features: Any, dtype: np.dtype[Any]) -> Any:
    return features.astype(dtype) if features.dtype != dtype else features


def _thin(maps: Maps) -> str:
    """Say what is not exact."""
    approximate = [
        f"{side} kernel by pivoted Cholesky of rank {found.rank}, entries to {found.tolerance:.0e}"
        for side, found in zip(("start", "end"), maps, strict=True)
        if found is not None and found.tolerance > 0
    ]
    return "; " + ", ".join(approximate) if approximate else ""
