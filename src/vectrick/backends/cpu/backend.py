"""The CPU backend: NumPy arrays, our own Numba kernels, BLAS, and our own threads.

`vectrick.backends.base` documents the methods. Imports inside methods load Numba, psutil, SciPy's linear algebra and
scikit-learn only when they are needed.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, cast

import numpy as np
from scipy.sparse import csr_array, issparse

from vectrick._typing import Array, ArrayNamespace, DTypeLike, Features, Shape
from vectrick.backends import memory
from vectrick.backends.base import Backend
from vectrick.backends.cpu.gaussian import FEW, gaussian, squared_norms
from vectrick.backends.cpu.matrix import HostMatrix
from vectrick.backends.cpu.product_paths import HostStages
from vectrick.backends.cpu.rates import known_rates, machine_rates
from vectrick.backends.memory import Workspace
from vectrick.backends.product_path import Matrix, ProblemLike, ProductPath, compose_paths
from vectrick.backends.rates import Rates
from vectrick.backends.threads import count_threads, even_parts, run_tasks, single_threaded_blas, threaded_blas

_LOOKED_THROUGH = 4096  # largest number of vertices for which a matrix is checked for symmetry
_DENSE = 0.05  # the share of entries above which a scattered matrix is dense


class NumpyBackend(Backend):
    """NumPy arrays, and all objects that belong to no other backend, such as lists and sparse matrices.

    Sparse paths run at the speed of the L2 cache, and dense paths at the speed of BLAS; a plan takes O(n).

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> vt.backends.backend_of(np.ones(2))
    <backend cpu>
    """

    name = "cpu"
    xp: ArrayNamespace = cast(Any, np)
    passes_over_blocks = True

    def owns(self, x: object) -> bool:
        return isinstance(x, np.ndarray)

    def asarray(self, values: object, dtype: DTypeLike | None = None) -> Array:
        array = np.asarray(values)
        return array if dtype is None else array.astype(dtype, copy=False)

    def to_host(self, x: Array) -> Any:
        return x

    def plain(self, x: Array, name: str) -> Array:
        return np.asarray(x)

    def refuse_others(self, x: Any, name: str, what: str) -> None:
        if getattr(getattr(x, "device", None), "type", "cpu") != "cpu":  # a tensor on a GPU
            raise ValueError(f"{name} is on {x.device}, but {what} arrays on the host; move one of them with .to()")

    def dtype_of(self, x: Array) -> np.dtype[Any]:
        dtype: np.dtype[Any] = x.dtype
        return dtype

    def cast(self, x: Array, dtype: DTypeLike) -> Array:
        return x if x.dtype == dtype else x.astype(dtype)

    def copy(self, x: Array) -> Array:
        return x.copy()

    def zeros(self, shape: Shape, dtype: DTypeLike) -> Array:
        return np.zeros(shape, dtype)

    def empty(self, shape: Shape, dtype: DTypeLike) -> Array:
        return np.empty(shape, dtype)

    def arange(self, n: int, dtype: DTypeLike) -> Array:
        return np.arange(n, dtype=dtype)

    def contiguous(self, x: Array, dtype: DTypeLike | None = None) -> Array:
        return np.ascontiguousarray(x, dtype)

    def owned(self, x: Array, dtype: DTypeLike) -> Array:
        return x.astype(dtype, copy=x.flags.writeable)

    def read_only(self, x: Array) -> Array:
        view = x.view()
        view.flags.writeable = False
        return view

    # Primitives

    def true_places(self, mask: Array) -> Array:
        return np.flatnonzero(mask)

    def sorted_values(self, x: Array) -> Array:
        return np.sort(x)

    def distinct(self, x: Array) -> Array:
        return np.unique(x)

    def group_sums(self, groups: Array, values: Array, n_groups: int) -> Array:
        return np.bincount(groups, values, n_groups)

    def scattered(self, values: Array, rows: Array, cols: Array, shape: tuple[int, int]) -> Any:
        entries = csr_array((values, (rows, cols)), shape)
        return entries.toarray() if entries.nnz > _DENSE * shape[0] * shape[1] else entries

    def scattered_all(self, values: Array, rows: Array, cols: Array, shape: tuple[int, int]) -> Array:
        matrices = np.zeros((len(values), shape[0] * shape[1]), values.dtype)
        places = rows.astype(np.int64) * shape[1] + cols
        for matrix, row in zip(matrices, values, strict=True):
            np.add.at(matrix, places, row)
        return matrices.reshape(-1, *shape)

    def is_finite(self, x: Array) -> bool:
        if 0 in x.strides:  # one copy of a repeated number is enough
            x = x[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in x.strides)]
        with np.errstate(over="ignore", invalid="ignore"):  # a sum needs no temporary array
            return bool(np.isfinite(x.sum()) or np.isfinite(x).all())

    def is_definite(self, K: Array) -> bool:
        from scipy.linalg import LinAlgError, cholesky

        try:
            cholesky(K, check_finite=False)
        except LinAlgError:
            return False
        return True

    def solve_triangular(self, L: Array, B: Array) -> Array:
        from scipy.linalg import solve_triangular

        return np.asarray(solve_triangular(L, B, lower=True))

    def squared_norms(self, X: Array) -> Array:
        return squared_norms(X)

    def unit_rows(self, X: Array) -> Array:
        from sklearn.preprocessing import normalize

        result: Array = normalize(X)
        return result

    def variance(self, X: Array) -> float:
        return float(X.var())

    def gaussian(self, X: Array, Y: Array, gamma: float) -> Array:
        return gaussian(X, Y, gamma)

    def sigmoid(self, x: Array) -> Array:
        from scipy.special import expit

        result: Array = expit(x)
        return result

    def log_sigmoid(self, x: Array) -> Array:
        from scipy.special import log_expit

        result: Array = log_expit(x)
        return result

    def best_of(self, which: Array, best: Array, cols: slice, block: Array) -> tuple[Array, Array]:
        k = best.shape[1]
        scores = np.hstack([best, block])
        names = np.hstack([which, np.broadcast_to(np.arange(cols.start, cols.stop), block.shape)])
        if scores.shape[1] > 4 * k:  # sort only the best scores; keep all ties at the bound
            bound = np.partition(scores, -k, axis=1)[:, -k]
            width = int((scores >= bound[:, None]).sum(axis=1).max())
            order = np.argsort(scores < bound[:, None], axis=1, kind="stable")[:, :width]
            scores, names = np.take_along_axis(scores, order, 1), np.take_along_axis(names, order, 1)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(names, order, 1), np.take_along_axis(scores, order, 1)

    # Products

    def matrix(
        self, name: str, array: Array, dtype: np.dtype[Any], rows: Array | None = None, cols: Array | None = None
    ) -> Matrix:
        return HostMatrix.of(name, array, dtype, rows, cols)

    def product_of(self, name: str, A: Matrix, B: Matrix, dtype: np.dtype[Any]) -> Matrix:
        return HostMatrix(name, (A.shape[0], B.shape[0]), dtype, lambda: A.array() @ B.array().T, None)

    def holds(self, factor: Features) -> bool:
        return isinstance(factor, np.ndarray) or issparse(factor)

    def product_paths(self, problem: ProblemLike) -> Iterator[ProductPath]:
        return compose_paths(problem, HostStages)

    def workspace(self) -> memory.Workspace:
        return memory.Workspace()

    def run_columns(self, run: Callable[[Array, Array, Any], None], block: Array, out: Array, space: Workspace) -> None:
        vectors = space.get("vectors", block.size, block.dtype).reshape(block.shape[::-1])
        results = space.get("results", out.size, out.dtype).reshape(out.shape[::-1])
        _copy_transposed(block, vectors)
        for x, target in zip(vectors, results, strict=True):
            run(x, target, space)
        _copy_transposed(results, out)

    def sums_by_vertex(self, values: Array, groupings: Sequence[tuple[Array, int]], n_threads: int) -> list[Array]:
        from vectrick.backends.cpu.groups import sums_by_group

        return sums_by_group(values, groupings, n_threads)

    def add_by_vertex(self, spread: Sequence[tuple[Array, Array]], out: Array, n_threads: int) -> None:
        from vectrick.backends.cpu.groups import add_by_group

        add_by_group(spread, out, n_threads)

    def multiply_all(
        self, matrices: Sequence[Any], vectors: Sequence[Array], symmetric: bool, fast: bool, n_threads: int
    ) -> list[Array]:
        if not symmetric:
            return [_times(matrix, vector, n_threads) for matrix, vector in zip(matrices, vectors, strict=True)]
        from scipy.linalg import blas

        products: list[Any] = [None] * len(matrices)

        def task(number: int) -> None:
            symv = blas.ssymv if matrices[number].dtype == np.float32 else blas.dsymv
            products[number] = symv(1.0, matrices[number].T, vectors[number])

        with single_threaded_blas():
            run_tasks(task, len(matrices), n_threads)
        return products

    def is_symmetric(self, factor: Features) -> bool:
        if not isinstance(factor, np.ndarray) or factor.shape[0] != factor.shape[1] or len(factor) > _LOOKED_THROUGH:
            return False
        return factor.flags.c_contiguous and np.array_equal(factor, factor.T)

    def in_parallel(self, task: Callable[[int], None], n_tasks: int, n_threads: int | None) -> None:
        with single_threaded_blas():
            run_tasks(task, n_tasks, count_threads(n_threads))

    def own_threads(self) -> AbstractContextManager[None]:
        # After an inner product, BLAS threads keep spinning and halve the speed of our own threads.
        return single_threaded_blas()

    def library_threads(self, n_threads: int | None) -> AbstractContextManager[None]:
        return threaded_blas(n_threads)

    def makes_at_once(self, m: int, n_features: int) -> bool:
        # Every single column reads all features again, but a matrix product reads them from the cache.
        return n_features > FEW and 32 * m * m <= self.free_memory()

    # Rates and memory

    def rates(self, dtype: np.dtype[Any], n_threads: int, fast: bool, measured: bool) -> Rates:
        return machine_rates(dtype, n_threads) if measured else known_rates(dtype, n_threads)

    def free_memory(self) -> int:
        return memory.available_memory()


def _times(matrix: Array, vector: Array, n_threads: int) -> Array:
    """Return a matrix times a vector, in blocks that depend only on the shape."""
    if not isinstance(matrix, np.ndarray):
        return matrix @ vector
    out = np.empty(matrix.shape[0], vector.dtype)
    parts = even_parts(len(out), 2 * max(1, matrix.size >> 19))  # an even number, for equal shares

    def task(number: int) -> None:
        part = slice(*parts[number])
        with np.errstate(invalid="ignore"):  # as in `dense_product`
            np.matmul(matrix[part], vector, out=out[part])

    with single_threaded_blas():
        run_tasks(task, len(parts), n_threads)
    return out


def _copy_transposed(source: Array, target: Array) -> None:
    """Copy ``source.T`` to ``target`` in blocks of the long side that fit into the cache."""
    length = max(source.shape)
    for start in range(0, length, 4096):
        part = slice(start, start + 4096)
        if source.shape[0] == length:
            target[:, part] = source[part].T
        else:
            target[part] = source[:, part].T


HOST = NumpyBackend()
