"""Dual or primal: the space to train in, and the way from its coefficients to a predictor."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from vectrick.estimators.inputs import Graph
from vectrick.estimators.predictor import DualPredictor, Predictor, PrimalPredictor
from vectrick.estimators.side import Side, check_finite
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
    both = (maps[0], maps[1]) if maps[0] is not None and maps[1] is not None else None
    if both is not None and form != "dual":
        S, E = _cast(both[0].train, dtype, start), _cast(both[1].train, dtype, end)
        reason: str | None = "asked for"
        if form == "auto":
            reason = _why_primal(S, E, maps, graph, start, end, n_threads)
        if reason is not None:
            features = kron(E, S, n_threads=n_threads)[graph.pair, :]
            _ = features.T.plan  # sorted now, before there are vectors beside it
            return Form("primal", Primal(features), features.plan, reason + _thin(maps), graph, start, end, both)
    A = kron(*_dual_factors(maps, start, end, dtype), n_threads=n_threads)[graph.pair, graph.pair]
    reason = "asked for" if form == "dual" else "the cheaper form"
    return Form("dual", Dual(A), A.plan, reason + _thin(maps), graph, start, end, None)


def _why_primal(S: Any, E: Any, maps: Maps, graph: Graph, start: Side, end: Side, n_threads: int | None) -> str | None:
    """Return why the primal form is the one to take, or None if it is not."""
    if S.shape[1] * E.shape[1] > len(graph.start):
        return None
    try:
        factors = _dual_factors(maps, start, end, S.dtype)
    except MemoryError:
        return "the kernel matrices do not fit into memory"
    edges, everything = graph.pair, slice(None)
    dual = plan_kron(*factors, edges, edges, n_threads=n_threads).seconds
    primal = plan_kron(E, S, edges, everything, n_threads=n_threads).seconds
    primal += plan_kron(E.T, S.T, everything, edges, n_threads=n_threads).seconds
    return f"a step takes about {primal:.2g} s, in dual form {dual:.2g} s" if primal <= dual else None


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
            made.append(LowRank(_cast(found.train, dtype, side)))
        else:
            made.append(_cast(side.matrix, dtype, side))
    return made[0], made[1]


def _cast(values: Any, dtype: np.dtype[Any], side: Side) -> Any:
    """Return kernel values or features in the dtype of the computation, which they have to fit into."""
    with np.errstate(over="ignore"):
        made = values.astype(dtype) if values.dtype != dtype else values
    check_finite(made, f"{side.name}_kernel")
    return made


def _thin(maps: Maps) -> str:
    """Say what is not exact."""
    approximate = [
        f"{side} kernel by pivoted Cholesky of rank {found.rank}, entries to {found.tolerance:.0e}"
        for side, found in zip(("start", "end"), maps, strict=True)
        if found is not None and found.tolerance > 0
    ]
    return "; " + ", ".join(approximate) if approximate else ""
