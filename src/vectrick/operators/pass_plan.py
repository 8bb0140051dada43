"""The planner of passes: compute ``Φᵀ H Φ w`` in one pass over sorted tiles of edges, or by two products."""

from typing import Any

import numpy as np

from vectrick.backends import HOST
from vectrick.backends.product_path import Allocation
from vectrick.backends.rates import Rates
from vectrick.operators.factors import as_factor
from vectrick.operators.plan import Estimate, Plan, choose, memory_limit
from vectrick.operators.problem import Problem

Sizes = tuple[int, int]  # of the start and the end side

_PASSES = 10  # passes of a fit; the edges are sorted once
_SORTING = 1.5e-8  # seconds to sort an edge into tiles
_MANY = 1 << 22  # edges from which vectors exceed all caches: sorting for products takes three times as long,
_FAR = 4.0  # and gathering values takes this many times as long
_VECTORS = 6  # times that vectors of the length of the edges are read or written between two products
_OF_SPARSE = 0.42  # rate relative to a sparse product in the cache: a pass reads features, then adds to sums
_OF_MOVING = 2.5  # rate of reading features beyond the second-level cache relative to a plain pass over memory
_CACHE = 1 << 20  # bytes of features of a tile that stay in the cache of a core
_ROWS = 3  # rows that a run of edges reads or writes: coefficients and sums
_CLEAR = 2.0  # ratio of times from which typical rates suffice
TILE = 1 << 13  # columns of a tile, at least


def plan_pass(n_edges: int, sizes: Sizes, ranks: Sizes, dtype: np.dtype[Any], n_threads: int) -> Plan:
    """Return the plan of the passes of a fit to a graph on the CPU, computed from the numbers of vertices and features.

    >>> import numpy as np
    >>> plan_pass(10**7, (30_000, 30_000), (64, 64), np.dtype(np.float64), 2).path
    'tiles'
    """
    title = f"{n_edges} edges between {sizes[0]} and {sizes[1]} vertices, {ranks[0]} × {ranks[1]} features, {dtype}"
    limit = memory_limit(None)
    for measured in (False, True):
        rates = HOST.rates(dtype, n_threads, False, measured)
        estimates = (
            _tiles(n_edges, sizes, ranks, dtype, rates),
            _products(n_edges, sizes, ranks, dtype, n_threads, limit, rates),
        )
        sortings = _SORTING, HOST.sorting * (3.0 if n_edges >= _MANY else 1.0)
        totals = [
            estimate.seconds * _PASSES + sorting * n_edges
            for estimate, sorting in zip(estimates, sortings, strict=True)
        ]
        if max(totals) > _CLEAR * min(totals):
            break
    best = estimates[totals.index(min(totals))]
    reason = f"the fastest of {len(estimates)} for a fit of {_PASSES} passes, with the sorting of the edges"
    used = "rates of this machine" if rates.measured else "typical rates, since the choice is clear"
    return Plan(best.path, reason, tuple(sorted(estimates, key=lambda e: e.seconds)), limit, title, used)


def _tiles(n_edges: int, sizes: Sizes, ranks: Sizes, dtype: np.dtype[Any], rates: Rates) -> Estimate:
    """Return the estimate of a pass over sorted tiles: the slower of arithmetic and memory traffic."""
    (m, r), (q, s) = sorted(zip(sizes, ranks, strict=True))  # rows, columns
    size, n_tiles = dtype.itemsize, -(-q // TILE)
    runs = min(n_edges, m * n_tiles)
    far = n_edges * s * size if min(q, TILE) * s * size > _CACHE else 0
    moved = (far + _ROWS * runs * s * size) / (_OF_MOVING * rates.move)
    computed = 4.0 * n_edges * s / (_OF_SPARSE * rates.sparse_small) + 2 * n_edges / rates.take
    seconds = 4.0 * m * r * s / rates.gemm + max(computed, moved) + 3 * rates.dispatch
    arrays = (
        Allocation("edges", 12 * n_edges),
        Allocation("features", size * (m * r + q * s)),
        Allocation("coefficients and sums of rows", 2 * size * m * s),
    )
    return Estimate("tiles", "one reading of sorted tiles", seconds, sum(a.n_bytes for a in arrays), arrays)


def _products(
    n_edges: int, sizes: Sizes, ranks: Sizes, dtype: np.dtype[Any], n_threads: int, limit: int, rates: Rates
) -> Estimate:
    """Return the estimate of a product with the features of the edges and one with their transpose."""
    one = np.ones((), dtype)
    S, E = (np.broadcast_to(one, shape) for shape in zip(sizes, ranks, strict=True))
    pair = np.broadcast_to(np.int32(0), n_edges), np.broadcast_to(np.int32(0), n_edges)  # only their number matters
    plans = []
    for factors, rows, cols in (((E, S), pair, None), ((E.T, S.T), None, pair)):
        first, second = (as_factor(factor, name) for factor, name in zip(factors, "MN", strict=True))
        problem = Problem.of(first, second, rows, cols, dtype, n_threads, numbered=True)
        plans.append(choose(problem, "auto", limit, "")[1])
    seconds = sum(plan.seconds for plan in plans) + _VECTORS * n_edges * dtype.itemsize / rates.move
    if n_edges >= _MANY:
        seconds += 2 * _FAR * n_edges / rates.take
    label = f"two products: {plans[0].path}, then {plans[1].path}"
    arrays = tuple(array for plan in plans for array in plan.chosen.arrays)
    return Estimate("products", label, seconds, sum(plan.memory for plan in plans), arrays)
