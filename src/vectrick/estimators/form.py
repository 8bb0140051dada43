"""Dual or primal: the space to train in, and the way from its coefficients to a predictor."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from vectrick._arrays import cast, like
from vectrick.backends.torch.device import free_memory
from vectrick.estimators.edge_kernel import EdgeKernel, identity
from vectrick.estimators.inputs import Graph
from vectrick.estimators.pairwise_predictor import PairwisePredictor
from vectrick.estimators.predictor import Predictor
from vectrick.estimators.product_predictor import DualPredictor, PrimalPredictor
from vectrick.estimators.side import Side, check_finite, check_matrices, check_memory
from vectrick.kernels import FeatureMap
from vectrick.kernels.pairwise import VertexFactors
from vectrick.operators import LowRank, Plan, kron, kron_sum, plan_kron
from vectrick.solvers import Dual, Primal, Space

Array = Any  # of NumPy or torch

Maps = tuple[FeatureMap | None, FeatureMap | None]

FORMS = ("auto", "dual", "primal")

# A factor by pivoted Cholesky is looked for where a side has this many vertices, and pays below this share of them.
WORTH_FACTORING = 800
WORTH_RANK = 0.4
WORTH_EDGES = 16  # for each vertex, for a sum of pairwise kernels


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
    kernel: EdgeKernel | None = None  # of the edges, where it is more than one Kronecker product

    def predictor(self, coefficients: Array, n_threads: int | None) -> Predictor:
        """Return what predicts with the coefficients."""
        if self.kernel is not None:
            return PairwisePredictor(self.kernel, self.graph, coefficients, n_threads)
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
    primal, reason = form == "primal", "asked for"
    if form == "auto":
        primal, reason = _compare(both, maps, graph, start, end, dtype, n_threads)
    if both is not None and primal:
        S, E = _cast(both[0].train, dtype, start), _cast(both[1].train, dtype, end)
        where = _backend(start.device)
        features = kron(E, S, n_threads=n_threads, max_memory=_share(start.device), **where)[graph.pair, :]
        _ = features.T.plan  # sorted now, before there are vectors beside it
        return Form("primal", Primal(features), features.plan, reason + _thin(maps), graph, start, end, both)
    where = _backend(start.device)
    A = kron(*_dual_factors(maps, start, end, dtype), n_threads=n_threads, **where)[graph.pair, graph.pair]
    return Form("dual", Dual(A), A.plan, reason + _thin(maps), graph, start, end, None)


def _backend(device: Any) -> dict[str, Any]:
    """Return where operators compute, also where a factor had to stay on the host."""
    return {} if device is None else {"backend": "torch", "device": device}


def _share(device: Any) -> int | None:
    """Return the memory that each of two operators may have on a device, so that vectors have room beside them."""
    return None if device is None else free_memory(device) // 3


def _compare(
    both: tuple[FeatureMap, FeatureMap] | None,
    maps: Maps,
    graph: Graph,
    start: Side,
    end: Side,
    dtype: np.dtype[Any],
    n_threads: int | None,
) -> tuple[bool, str]:
    """Return whether the primal form is the one to take, and why or why not."""
    if both is None:
        return False, "there are no thin factors of both kernels"
    n_edges, n_coefficients = len(graph.start), both[0].rank * both[1].rank
    if n_coefficients > n_edges:
        return False, f"{n_edges} coefficients, in primal form {n_coefficients}"
    S, E = _cast(both[0].train, dtype, start), _cast(both[1].train, dtype, end)
    try:
        factors = _dual_factors(maps, start, end, dtype)
    except MemoryError:
        return True, "the kernel matrices do not fit into memory"
    edges, everything = graph.pair, slice(None)
    if start.device is not None and any(isinstance(factor, np.ndarray) for factor in factors):
        return True, f"the kernel matrices do not fit on {start.device}"
    dual = plan_kron(*factors, edges, edges, n_threads=n_threads).seconds
    primal = plan_kron(E, S, edges, everything, n_threads=n_threads).seconds
    primal += plan_kron(E.T, S.T, everything, edges, n_threads=n_threads).seconds
    # On a device the time to pass over vectors counts, and in dual form there are twice as many as long as the edges.
    allowed = dual if start.device is None else 1.25 * dual
    return primal <= allowed, f"a step takes about {dual:.2g} s in dual and {primal:.2g} s in primal form"


def pairwise_form(
    kernel: EdgeKernel, graph: Graph, *, dtype: np.dtype[Any], tolerance: float, n_threads: int | None
) -> Form:
    """Return the dual form of a kernel of edges that is a sum of pairwise kernels."""
    sides = kernel.used_sides
    maps = {id(side): _worth_factoring(side, tolerance, len(graph.start)) for side in sides}
    check_matrices(side for side in sides if not _is_thin(maps[id(side)], side))
    terms = kernel.terms(lambda side: _training_factors(maps[id(side)], side, dtype))
    pair, device = (graph.start, graph.end), kernel.starts[0].device
    A = kron_sum(terms, pair, pair, n_threads=n_threads, device=device)
    reason = "a sum of pairwise kernels has a coefficient for each edge"
    return Form("dual", Dual(A), A.plan, reason, graph, kernel.starts[0], kernel.ends[0], None, kernel)


def _worth_factoring(side: Side, tolerance: float, n_edges: int) -> FeatureMap | None:
    """Return the thin factor of a side of a sum of pairwise kernels, where it is worth having.

    Where a vertex has few edges, looking for a thin factor takes longer than all the products that it would serve.
    """
    worth = n_edges >= WORTH_EDGES * side.vertices.shape[0]
    return _factor(side, "dual", tolerance if worth else 0.0)


def _training_factors(found: FeatureMap | None, side: Side, dtype: np.dtype[Any]) -> VertexFactors:
    """Return the matrices of the training vertices of a side, as thin as they come."""
    return VertexFactors(_thin_factor(found, side, dtype), partial(identity, side.vertices.shape[0], dtype))


def dual_form(graph: Graph, start: Side, end: Side, dtype: np.dtype[Any], n_threads: int | None) -> Form:
    """Return the dual form with whole kernel matrices, for solvers that need no products."""
    check_matrices((start, end))
    K, G = (cast(side.matrix, dtype) for side in (start, end))
    A = kron(G, K, n_threads=n_threads, **_backend(start.device))[graph.pair, graph.pair]
    return Form("dual", Dual(A), A.plan, "the closed form of a complete graph", graph, start, end, None)


def _factor(side: Side, form: str, tolerance: float) -> FeatureMap | None:
    """Return the thin factor of a side where it has one that is worth having."""
    m = side.vertices.shape[0]
    if form == "primal":
        return side.factor(tolerance)
    exact = side.kernel.features(side.vertices[:1])
    if exact is not None:
        return side.factor(tolerance, exact.shape[1])
    worth = m >= WORTH_FACTORING and tolerance > 0
    return side.factor(tolerance, int(WORTH_RANK * m)) if worth else None


def _dual_factors(maps: Maps, start: Side, end: Side, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return G and K, as thin as they come."""
    check_matrices(side for found, side in zip(maps, (start, end), strict=True) if not _is_thin(found, side))
    return _thin_factor(maps[1], end, dtype), _thin_factor(maps[0], start, dtype)


def _is_thin(found: FeatureMap | None, side: Side) -> bool:
    return found is not None and not issparse(found.train) and found.rank < side.vertices.shape[0]


def _thin_factor(found: FeatureMap | None, side: Side, dtype: np.dtype[Any]) -> Any:
    """Return the kernel matrix of a side, by its features where they are few."""
    if found is not None and _is_thin(found, side):
        return LowRank(_cast(found.train, dtype, side))
    return _cast(side.matrix, dtype, side)


def _cast(values: Any, dtype: np.dtype[Any], side: Side) -> Any:
    """Return kernel values or features where and in the dtype in which to compute, which they have to fit into."""
    if issparse(values) and side.device is not None:  # a device of torch has dense factors only
        check_memory(f"the table of {side.name} features", values.shape[0], values.shape[1], side.device)
        values = like(values.toarray(), side.used)
    elif side.device is not None and side.fits:
        values = like(values, side.used)
    with np.errstate(over="ignore"):
        made = cast(values, dtype)
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
