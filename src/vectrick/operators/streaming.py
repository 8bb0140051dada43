"""Products whose larger factor stays on the host and is copied to the backend in panels, once for each product."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from vectrick.backends import Backend
from vectrick.backends.memory import format_bytes
from vectrick.backends.product_path import Allocation, Pair
from vectrick.operators.factors import Factor, FactorLike, LowRank, is_finite, is_held, moved, n_bytes
from vectrick.operators.plan import Estimate, Plan


def stream(
    M: Factor, N: Factor, rows: Pair | None, cols: Pair | None, dtype: np.dtype[Any], backend: Backend, limit: int
) -> tuple[Any, Plan] | None:
    """Return the streamed product and its plan, or None; only dense factors and edges can be streamed.

    NaN and infinity in a column without edges would reach the result, so factors with such entries are not streamed.
    """
    if rows is None or cols is None or any(isinstance(factor, LowRank) or issparse(factor) for factor in (M, N)):
        return None
    sides: list[tuple[Any, int]] = [(M, 0), (N, 1)]
    on_host = [side for side in sides if not is_held(side[0], backend)]
    S, of_s = max(on_host, key=lambda side: int(np.prod(side[0].shape)))
    F, of_f = sides[1 - of_s]
    if not (is_finite(S) and is_finite(F)):
        return None
    row_edges, col_edges = (rows[of_f], rows[of_s]), (cols[of_f], cols[of_s])
    try:
        streamed = backend.streamed(F, S, row_edges, col_edges, dtype, limit)
    except MemoryError:
        return None
    if streamed is None:
        return None
    arrays = (Allocation("result", len(rows[0]) * dtype.itemsize), *streamed.arrays)
    seconds = streamed.seconds(backend.rates(dtype, 1, False, measured=False))  # measuring would exceed the limit
    estimate = Estimate("streamed", streamed.label, seconds, sum(array.n_bytes for array in arrays), arrays)
    reason = f"{'MN'[of_s]} stays on the host, since both factors do not fit into {format_bytes(limit)}"
    return streamed, Plan("streamed", reason, (estimate,), limit, "", "the rate of copies was measured")


def smaller_moved(M: FactorLike, N: FactorLike, dtype: np.dtype[Any], backend: Backend, limit: int) -> tuple[Any, Any]:
    """Move the smaller factor to the backend if it leaves room for the rest; return both factors."""
    sizes = [n_bytes(factor, dtype) for factor in (M, N)]
    if min(sizes) > limit // 2:
        return M, N
    if sizes[0] <= sizes[1]:
        return moved(M, backend, dtype), N
    return M, moved(N, backend, dtype)
