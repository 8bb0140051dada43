"""`vectrick.kron`: check factors and options, and plan or create the operator."""

from typing import Any

import numpy as np

from vectrick._typing import Device, Index
from vectrick.backends import Backend, common_backend, settle_backend
from vectrick.backends.threads import count_threads
from vectrick.operators.factors import (
    Factor,
    FactorLike,
    LowRank,
    as_factor,
    dtype_of,
    is_held,
    moved,
    n_bytes,
)
from vectrick.operators.indices import as_pair
from vectrick.operators.kron import KronOperator
from vectrick.operators.kron_options import KronOptions
from vectrick.operators.plan import Plan, check_path, choose, memory_limit, zero_plan
from vectrick.operators.problem import Problem


def kron(
    M: FactorLike,
    N: FactorLike,
    *,
    path: str = "auto",
    n_threads: int | None = None,
    max_memory: int | float | str | None = None,
    once: bool = False,
    backend: str | Backend | None = None,
    device: Device = None,
    fast: bool = False,
) -> KronOperator:
    """Return the Kronecker product ``M ⊗ N`` as an operator; index it for a submatrix ``R (M ⊗ N) Cᵀ``.

    ``kron(M, N)[(p, q), (r, t)]`` has a row for each edge ``(p[h], q[h])`` and a column for each edge ``(r[h], t[h])``;
    its entry is ``M[p, r] * N[q, t]``. A product costs O(min(a·e + d·f, c·e + b·f)), where M is a × b, N is c × d, and
    there are f row and e column edges, without forming either matrix (the generalized vec trick).

    Parameters
    ----------
    M, N : array, tensor, SciPy sparse matrix or LowRank
        The factors: float32 or float64 in any order; integers become float64, and the wider type is used. They are not
        copied unless the chosen path needs them in another order or type, so do not change them afterwards.
    path : str
        "auto", or one of "sparse" (Algorithm 1 of the paper), "dense" (scatter, two BLAS products,
        gather), "sparse-dense", "dense-sparse", "vec" (nothing sampled), "thin" (for LowRank and sparse factors);
        a suffix ":M" or ":N" names the factor that comes first.
    n_threads : int, optional
        Default: the environment variable VECTRICK_NUM_THREADS, then the CPUs that this process may use. A path
        returns bit-identical results for any number, but "auto" may choose another path for another number.
    max_memory : int or str, optional
        Memory limit of the operator in bytes, or text such as "2GB"; its transpose may use the same amount again.
        Default: the free memory of the machine.
    once : bool
        Whether the operator is used for one product only. If so, "auto" includes the time to sort the edges.
    backend : str, optional
        "cpu", "torch", or "auto" for torch if a GPU is available. Default: torch if the factors are tensors. Vectors
        may be arrays or tensors with every backend, and the product has the same type.
    device : str, optional
        With torch: "cuda", "cuda:1", "cpu", or "auto". Default: the device of the factors. Sparse factors become dense.
    fast : bool
        Whether products of float32 matrices may use TF32 (11 bits) on a GPU that supports it. Otherwise they use
        24 bits, regardless of the settings of the process.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> M, N = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> op = vt.kron(M, N)[([0, 1, 1], [1, 0, 1]), ([0, 1], [1, 1])]
    >>> op.shape
    (3, 2)
    >>> op @ np.array([1.0, 10.0])
    array([21.,  0., 43.])
    """
    check_path(path)
    count_threads(n_threads)
    if max_memory is not None:
        memory_limit(max_memory)
    factors = as_factor(M, "M"), as_factor(N, "N")
    place = _backend(factors, backend, device)
    options = KronOptions(path, n_threads, max_memory, once=once, backend=place, fast=fast)
    return KronOperator(*_placed(factors, options), None, None, options)


def _backend(factors: tuple[Factor, Factor], backend: str | Backend | None, device: str | None) -> Backend:
    """Return the requested backend, or the backend of the factors."""
    arrays = {
        name: factor.A if isinstance(factor, LowRank) else factor for name, factor in zip("MN", factors, strict=True)
    }
    advice = "the factors are on different devices: {}, but both must be on one; move one of them with .to()"
    home = common_backend(arrays, advice)
    if backend is None and device is None:
        return home
    return settle_backend("torch" if backend is None else backend, device, home)


def _placed(factors: tuple[Factor, Factor], options: KronOptions) -> tuple[Any, Any]:
    """Return the factors on the backend, in the dtype of the product; factors that do not fit stay on the host."""
    backend = options.backend
    if not backend.divides_rows:
        return moved(factors[0], backend), moved(factors[1], backend)
    dtype = np.result_type(*(dtype_of(factor) for factor in factors))
    sizes = [0 if is_held(factor, backend) else n_bytes(factor, dtype) for factor in factors]
    room = memory_limit(options.max_memory, backend) - sum(sizes)
    # If the factors do not fit into memory, they stay on the host until the edges are given.
    stay = [sizes[i] > 0 and room < 0 for i in range(2)]
    return tuple(  # type: ignore[return-value]
        factor if wait else moved(factor, backend, dtype) for factor, wait in zip(factors, stay, strict=True)
    )


def plan_kron(
    M: FactorLike,
    N: FactorLike,
    rows: Index,
    cols: Index,
    *,
    n_threads: int | None = None,
    backend: Backend | None = None,
) -> Plan:
    """Return the plan of ``kron(M, N)[rows, cols]`` without preparing it; ``rows is cols`` means one graph."""
    factors = as_factor(M, "M"), as_factor(N, "N")
    backend = _backend(factors, backend, None)
    (a, b), (c, d) = (factor.shape for factor in factors)
    row_edges = as_pair(rows, (a, c), ("p", "q"), "rows")
    col_edges = row_edges if rows is cols else as_pair(cols, (b, d), ("r", "t"), "columns")
    dtype = np.result_type(*(dtype_of(factor) for factor in factors))
    problem = Problem.of(*factors, row_edges, col_edges, dtype, count_threads(n_threads), backend)
    limit = memory_limit(None, backend)
    if problem.is_zero:
        return zero_plan(problem.shape[0], dtype, limit, "an estimate")
    return choose(problem, "auto", limit, "an estimate")[1]
