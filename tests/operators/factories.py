"""Random factors and graphs of every kind, and the matrix that an operator stands for."""

from typing import Any

import numpy as np
import scipy.sparse as sp

import vectrick as vt
from vectrick.operators.problem import Problem

KINDS = ("C", "F", "strided", "sparse", "low-rank")


def make_factor(rng: np.random.Generator, n_rows: int, n_cols: int, kind: str, dtype: Any = np.float64) -> Any:
    if kind == "sparse":
        mask = rng.random((n_rows, n_cols)) < 0.4
        return sp.csr_array(np.where(mask, rng.standard_normal((n_rows, n_cols)), 0).astype(dtype))
    if kind == "low-rank":
        A, B = (rng.standard_normal((n, 3)).astype(dtype) for n in (n_rows, n_cols))
        return vt.LowRank(A, B)
    if kind == "strided":
        return rng.standard_normal((2 * n_rows, 3 * n_cols)).astype(dtype)[::2, ::3]
    return np.asarray(rng.standard_normal((n_rows, n_cols)), dtype, order=kind)  # type: ignore[call-overload]


def dense(factor: Any) -> Any:
    if isinstance(factor, np.ndarray):
        return factor.astype(np.float64)
    return factor.astype(np.float64).toarray()


def kron_matrix(M: Any, N: Any, rows: Any = None, cols: Any = None) -> Any:
    """The submatrix of ``np.kron`` that the operator stands for."""
    matrix = np.kron(dense(M), dense(N))
    if rows is not None:
        matrix = matrix[np.asarray(rows[0]) * N.shape[0] + np.asarray(rows[1])]
    if cols is not None:
        matrix = matrix[:, np.asarray(cols[0]) * N.shape[1] + np.asarray(cols[1])]
    return matrix


def make_edges(rng: np.random.Generator, n_edges: int, n_first: int, n_second: int) -> Any:
    """Edges in any order, with repetitions."""
    return rng.integers(n_first, size=n_edges), rng.integers(n_second, size=n_edges)


def path_names(M: Any, N: Any, rows: Any, cols: Any) -> list[str]:
    """Every path that can be forced for this product."""
    problem = Problem.of(M, N, rows, cols, np.result_type(M.dtype, N.dtype), 1)
    return [] if problem.is_zero else [path.name for path in problem.backend.product_paths(problem)]


def index(pair: Any) -> Any:
    return slice(None) if pair is None else pair
