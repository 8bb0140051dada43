"""Checks before a computation: finite features and kernel values, and enough memory for a matrix."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from vectrick._typing import Array
from vectrick.backends import HOST, Backend
from vectrick.backends.arrays import cast, to_host
from vectrick.backends.memory import format_bytes
from vectrick.data import VertexTable
from vectrick.operators.factors import is_finite

SMALL_BYTES = 1 << 22  # arrays up to this size are not checked: a check takes longer than making them
_SHOWN = 5  # vertices named in an error


def check_finite(K: Array, name: str) -> None:
    """Reject kernel values or features of a kernel that are NaN or too large for their type."""
    if not is_finite(K):
        raise ValueError(f"{name} has values that are NaN or too large for {K.dtype}; scale the features")


def check_memory(what: str, n_rows: int, n_cols: int, backend: Backend = HOST) -> None:
    """Reject a matrix of doubles that does not fit into the memory of a backend, before it is computed."""
    n_bytes = 8 * n_rows * n_cols
    if n_bytes <= SMALL_BYTES:
        return
    free = backend.free_memory()
    if n_bytes > free:
        raise MemoryError(
            f"{what}, {n_rows} × {n_cols}, takes {format_bytes(n_bytes)}, but there are only {format_bytes(free)}; use "
            "fewer vertices at a time, or form='primal' for kernels of few features"
        )


def checked_features(table: VertexTable, used: Array) -> Any:
    """Return the features of some vertices in float64; raise if any of them are not finite."""
    rows_of = to_host(used) if issparse(table.features) else used
    taken: Any = cast(table.features[rows_of], np.float64)
    if not is_finite(taken):
        finite = np.isfinite(taken.data if issparse(taken) else to_host(taken))
        rows = taken.tocoo().coords[0][~finite] if issparse(taken) else np.flatnonzero(~finite.all(axis=1))
        wrong = [table.label(int(used[row])) for row in np.unique(rows)]
        shown = ", ".join(wrong[:_SHOWN]) + (", …" if len(wrong) > _SHOWN else "")
        raise ValueError(f"{table.name} contains NaN or infinity for {len(wrong)} vertices that edges use: {shown}")
    return taken
