"""Dual and primal form: the space to train in, and the predictor with its coefficients."""

from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

import numpy as np
from scipy.sparse import issparse

from vectrick._typing import Array, FormName
from vectrick.backends.arrays import cast, placed
from vectrick.data import Graph
from vectrick.kernels import FeatureMap
from vectrick.kernels.pairwise import VertexFactors
from vectrick.models.edge_kernel import EdgeKernel, identity
from vectrick.models.limits import check_finite, check_memory
from vectrick.models.pairwise import PairwisePredictor
from vectrick.models.predictor import Predictor
from vectrick.models.product import DualPredictor, PrimalPredictor
from vectrick.models.vertex_kernel import VertexKernel, check_matrices
from vectrick.operators import LowRank, Plan, kron, kron_sum, plan_kron
from vectrick.solvers import Dual, Primal

Maps = tuple[FeatureMap | None, FeatureMap | None]

_NO_TIME, _FAR_FEWER = 1e-3, 10  # primal form is chosen for shorter steps with this many times fewer coefficients
FORMS = get_args(FormName)

# Pivoted Cholesky is tried if a side has at least this many vertices; it pays for a rank below this share of them.
WORTH_FACTORING = 800
WORTH_RANK = 0.4  # share of the vertices; a larger factor does not pay
WORTH_EDGES = 16  # per vertex, at least, to try it for a sum of pairwise kernels


@dataclass(frozen=True)
class Form:
    """The chosen form: its space, why it was chosen, and how predictions are made from its coefficients."""

    name: str
    space: Any  # a Space; None after a fit by passes
    plan: Plan
    reason: str
    graph: Graph
    kernel: EdgeKernel
    maps: tuple[FeatureMap, FeatureMap] | None = None  # of the start and the end, in primal form
    thin: Maps = (None, None)  # low-rank factors of both sides, if they are used

    def predictor(self, coefficients: Array, n_threads: int | None) -> Predictor:
        """Return the predictor with these coefficients."""
        if not self.kernel.is_product:
            return PairwisePredictor(self.kernel, self.graph, coefficients, n_threads)
        if self.maps is not None:
            return PrimalPredictor(self.kernel, *self.maps, coefficients, n_threads)
        return DualPredictor(self.kernel, self.graph, coefficients, n_threads)


def choose_form(
    form: str,
    kernel: EdgeKernel,
    graph: Graph,
    *,
    dtype: np.dtype[Any],
    tolerance: float,
    n_threads: int | None,
    maps: Maps | None = None,
    is_primal: bool = False,
) -> Form:
    """Return the requested form, or the cheaper one; a sum of pairwise kernels has the dual form only.

    Low-rank factors of both sides make the primal form possible: exact factors for linear kernels, and factors by
    pivoted Cholesky to ``tolerance`` for smooth kernels. "auto" chooses the primal form if a product with the features
    and one with their transpose take no longer than one with the kernel matrix, and if there are no more coefficients
    than edges. ``maps`` are these factors, if they exist already. ``is_primal`` means that they are thin enough for
    the primal form without a comparison.
    """
    if not kernel.is_product:
        return _form_of_sum(kernel, graph, dtype, tolerance, n_threads)
    start, end = kernel.start, kernel.end
    if maps is None:
        maps = find_factor(start, form, tolerance), find_factor(end, form, tolerance)
    both = (maps[0], maps[1]) if maps[0] is not None and maps[1] is not None else None
    primal, reason = form == "primal", "asked for"
    if form == "auto" and is_primal:
        primal, reason = True, "the features of both sides are thin"
    elif form == "auto":
        primal, reason = _compare(both, maps, graph, kernel, dtype, n_threads)
    where: dict[str, Any] = {"n_threads": n_threads, "backend": start.backend}
    if both is not None and primal:
        S, E = _cast(both[0].train, dtype, start), _cast(both[1].train, dtype, end)
        features = kron(E, S, max_memory=start.backend.operator_memory(), **where)[graph.pair, :]
        _ = features.T.plan  # sort now, before there are vectors in memory
        return Form("primal", Primal(features), features.plan, reason + _thin(maps), graph, kernel, both, both)
    A = kron(*_dual_factors(maps, start, end, dtype), **where)[graph.pair, graph.pair]
    thin = [features if _is_thin(features, side) else None for features, side in zip(maps, (start, end), strict=True)]
    return Form("dual", Dual(A), A.plan, reason + _thin(maps), graph, kernel, thin=(thin[0], thin[1]))


def _compare(
    both: tuple[FeatureMap, FeatureMap] | None,
    maps: Maps,
    graph: Graph,
    kernel: EdgeKernel,
    dtype: np.dtype[Any],
    n_threads: int | None,
) -> tuple[bool, str]:
    """Return whether to choose the primal form, and why or why not."""
    if both is None:
        return False, "there are no thin factors of both kernels"
    start, end = kernel.start, kernel.end
    n_edges, n_coefficients = len(graph.start), both[0].rank * both[1].rank
    if n_coefficients > n_edges:
        return False, f"{n_edges} coefficients, in primal form {n_coefficients}"
    S, E = _cast(both[0].train, dtype, start), _cast(both[1].train, dtype, end)
    try:
        factors = _dual_factors(maps, start, end, dtype)
    except MemoryError:
        return True, "the kernel matrices do not fit into memory"
    edges, everything = graph.pair, slice(None)
    if not all(isinstance(factor, LowRank) or start.backend.holds(factor) for factor in factors):
        return True, f"the kernel matrices do not fit on {start.backend}"
    where: dict[str, Any] = {"n_threads": n_threads, "backend": start.backend}
    dual = plan_kron(*factors, edges, edges, **where).seconds
    primal = (
        plan_kron(E, S, edges, everything, **where).seconds + plan_kron(E.T, S.T, everything, edges, **where).seconds
    )
    if dtype == np.float32 and max(dual, primal) < _NO_TIME and _FAR_FEWER * n_coefficients <= n_edges:
        return True, f"{n_coefficients} coefficients, in dual form {n_edges}, whose rounding errors are larger"
    cheaper = primal <= start.backend.allowance * dual
    return cheaper, f"a step takes about {dual:.2g} s in dual and {primal:.2g} s in primal form"


def _form_of_sum(
    kernel: EdgeKernel, graph: Graph, dtype: np.dtype[Any], tolerance: float, n_threads: int | None
) -> Form:
    """Return the dual form of a kernel of edges that is a sum of pairwise kernels."""
    maps = {id(used): _worth_factoring(used, tolerance, len(graph.start)) for used in kernel.used}
    check_matrices(used for used in kernel.used if not _is_thin(maps[id(used)], used))
    terms = kernel.terms(lambda used: _training_factors(maps[id(used)], used, dtype))
    pair = (graph.start, graph.end)
    A = kron_sum(terms, pair, pair, n_threads=n_threads, device=kernel.start.backend)
    reason = "a sum of pairwise kernels has a coefficient for each edge"
    thin = [maps.get(id(side)) for side in (kernel.start, kernel.end)]
    return Form("dual", Dual(A), A.plan, reason, graph, kernel, thin=(thin[0], thin[1]))


def _worth_factoring(side: VertexKernel, tolerance: float, n_edges: int) -> FeatureMap | None:
    """Return the low-rank factor of a side of a sum of pairwise kernels, or None if it does not pay.

    If vertices have few edges, computing a low-rank factor takes longer than all products that would use it.
    """
    worth = n_edges >= WORTH_EDGES * side.vertices.shape[0]
    return find_factor(side, "dual", tolerance if worth else 0.0)


def _training_factors(features: FeatureMap | None, side: VertexKernel, dtype: np.dtype[Any]) -> VertexFactors:
    """Return the matrices of the training vertices of a side, as low-rank factors if possible."""
    return VertexFactors(_thin_factor(features, side, dtype), partial(identity, side.vertices.shape[0], dtype))


def dual_form(kernel: EdgeKernel, graph: Graph, dtype: np.dtype[Any], n_threads: int | None) -> Form:
    """Return the dual form with whole kernel matrices, for solvers that need no products."""
    check_matrices((kernel.start, kernel.end))
    K, G = (cast(vertex_kernel.matrix, dtype) for vertex_kernel in (kernel.start, kernel.end))
    A = kron(G, K, n_threads=n_threads, backend=kernel.start.backend)[graph.pair, graph.pair]
    return Form("dual", Dual(A), A.plan, "the closed form of a complete graph", graph, kernel)


def find_factor(side: VertexKernel, form: str, tolerance: float) -> FeatureMap | None:
    """Return the low-rank factor of a side, or None if there is none that pays."""
    m = side.vertices.shape[0]
    if form == "primal":
        return side.factor(tolerance)
    exact = side.kernel.features(side.vertices[:1])
    if exact is not None:
        return side.factor(tolerance, exact.shape[1])
    worth = m >= WORTH_FACTORING and tolerance > 0
    return side.factor(tolerance, int(WORTH_RANK * m)) if worth else None


def _dual_factors(maps: Maps, start: VertexKernel, end: VertexKernel, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return G and K, as low-rank factors if possible."""
    check_matrices(side for features, side in zip(maps, (start, end), strict=True) if not _is_thin(features, side))
    return _thin_factor(maps[1], end, dtype), _thin_factor(maps[0], start, dtype)


def _is_thin(features: FeatureMap | None, side: VertexKernel) -> bool:
    return features is not None and not issparse(features.train) and features.rank < side.vertices.shape[0]


def _thin_factor(features: FeatureMap | None, side: VertexKernel, dtype: np.dtype[Any]) -> Any:
    """Return the kernel matrix of a side, as a product of its features if they are few."""
    if features is not None and _is_thin(features, side):
        return LowRank(_cast(features.train, dtype, side))
    return _cast(side.matrix, dtype, side)


def _cast(values: Any, dtype: np.dtype[Any], side: VertexKernel) -> Any:
    """Return kernel values or features on the backend and in the dtype of the computation; raise if they do not fit."""
    backend = side.backend
    if issparse(values) and not backend.holds(values):
        check_memory(f"the table of {side.name} features", values.shape[0], values.shape[1], backend)
        values = placed(values.toarray(), backend)
    elif not issparse(values) and side.fits:
        values = placed(values, backend)
    with np.errstate(over="ignore"):
        values = cast(values, dtype)
    check_finite(values, f"{side.name}_kernel")
    return values


def _thin(maps: Maps) -> str:
    """Describe the factors that are not exact."""
    approximate = [
        f"{side} kernel by pivoted Cholesky of rank {features.rank}, entries to {features.tolerance:.0e}"
        for side, features in zip(("start", "end"), maps, strict=True)
        if features is not None and features.tolerance > 0
    ]
    return "; " + ", ".join(approximate) if approximate else ""
