"""``kron(M, N)[rows, cols]``: a submatrix of a Kronecker product as an operator that is never formed."""

import threading
import weakref
from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.backends import Backend
from vectrick.backends.arrays import placed
from vectrick.backends.memory import Workspace, format_bytes
from vectrick.backends.product_path import Pair, ProductPath
from vectrick.backends.threads import count_threads
from vectrick.operators.base import Operator, as_mask
from vectrick.operators.factors import (
    Factor,
    describe,
    dtype_of,
    in_dtype,
    is_held,
    moved,
    n_bytes,
    transpose,
)
from vectrick.operators.indices import as_pair, cut, is_same, pair_on
from vectrick.operators.kron_options import KronOptions
from vectrick.operators.plan import Plan, can_take, choose, memory_limit, zero_plan
from vectrick.operators.problem import Problem
from vectrick.operators.row_blocks import RowBlocks, divide, rows_of
from vectrick.operators.streaming import smaller_moved, stream

_VECTORS_AT_ONCE = 8  # columns of a block that are multiplied together: the doubles in a cache line
_MUCH_FASTER = 1.5  # speedup from which rows are divided for a path that does not fit as a whole


class KronOperator(Operator):
    """The operator ``R (M ⊗ N) Cᵀ``, created by `kron` and indexing.

    It is a `scipy.sparse.linalg.LinearOperator`: ``op @ v`` for vectors and blocks, ``op.T``, ``op + op``,
    ``2.0 * op``, and all of SciPy's iterative solvers. Several Python threads may use one operator at the same time.

    A product takes O((m + q) n) or O(m q (m + q)), or less with low-rank or sparse factors; the plan shows the path.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> op = vt.kron(np.eye(2), np.full((3, 3), 2.0))[([0, 1], [0, 2]), :]
    >>> op.shape, op @ np.ones(6)
    ((2, 6), array([6., 6.]))
    """

    def __init__(self, M: Factor, N: Factor, rows: Pair | None, cols: Pair | None, options: KronOptions) -> None:
        n_rows = M.shape[0] * N.shape[0] if rows is None else len(rows[0])
        n_cols = M.shape[1] * N.shape[1] if cols is None else len(cols[0])
        super().__init__((n_rows, n_cols), np.result_type(dtype_of(M), dtype_of(N)))
        self.backend = options.backend
        self.M, self.N, self.rows, self.cols = M, N, rows, cols
        self._options = options
        self._problem: Problem | None = None
        self._path: ProductPath | None = None
        self._plan: Plan | None = None
        self._blocks: RowBlocks | None = None  # if the whole product does not fit
        self._streamed: Any = None  # if a factor stays on the host
        self._spaces: deque[Any] = deque()
        self._transpose_made: KronOperator | None = None
        self._origin: weakref.ref[KronOperator] | None = None  # this operator is its transpose
        self._shares: dict[Any, Any] | None = None  # edge data shared with the transpose and with other dtypes
        self._lock = threading.Lock()

    def __getitem__(self, key: object) -> "KronOperator":
        """Return the operator of the given rows and columns, prepared for products."""
        if not isinstance(key, tuple) or len(key) != 2:
            raise TypeError("index an operator with rows and columns, as in kron(M, N)[(p, q), (r, t)] or [(p, q), :]")
        (a, b), (c, d) = self.M.shape, self.N.shape
        rows = as_pair(key[0], (a, c), ("p", "q"), "rows")
        cols = as_pair(key[1], (b, d), ("r", "t"), "columns")
        for new, old, what in ((rows, self.rows, "rows"), (cols, self.cols, "cols")):
            if new is not None and old is not None:
                raise TypeError(
                    f"the {what} of this operator are edges already; use restrict({what}=mask) for a subset"
                )
        if rows is not None and cols is not None and is_same(key[0], key[1]):
            cols = rows  # one graph: its index arrays can be shared
        one_graph, rows = cols is rows, pair_on(rows, self.backend)
        cols = rows if one_graph else pair_on(cols, self.backend)
        picked = KronOperator(
            self.M, self.N, self.rows if rows is None else rows, self.cols if cols is None else cols, self._options
        )
        picked._prepare()
        return picked

    @property
    def plan(self) -> Plan:
        """The chosen path, its estimated time and memory, and the reason."""
        self._prepare()
        assert self._plan is not None
        return self._plan

    def restrict(self, rows: Array | None = None, cols: Array | None = None) -> "KronOperator":
        """Return the operator of the rows and columns that boolean masks select; None keeps all.

        It takes O(e + f) and does not sort again, so a solver can use it in every iteration. (On a torch device,
        unsorted edges are sorted again, at little cost.)

        >>> import numpy as np, vectrick as vt
        >>> op = vt.kron(np.eye(2), np.ones((2, 2)))[([0, 1], [0, 1]), ([0, 1], [0, 1])]
        >>> op.restrict(cols=np.array([True, False])) @ np.array([5.0])
        array([5., 0.])
        """
        row_mask, col_mask = as_mask(rows, self.shape[0], "rows"), as_mask(cols, self.shape[1], "cols")
        row_mask, col_mask = _masks_on(self.backend, row_mask, col_mask)
        if (row_mask is not None and self.rows is None) or (col_mask is not None and self.cols is None):
            raise TypeError("only rows and columns that are edges can be restricted; index the operator first")
        self._prepare()
        if self._problem is None:  # empty, streamed, or divided into row blocks
            restricted = KronOperator(self.M, self.N, cut(self.rows, row_mask), cut(self.cols, col_mask), self._options)
            restricted._prepare()
            return restricted
        if self._problem.not_finite:  # the handling of NaN and infinity depends on the vertices that occur
            whole = KronOperator(self.M, self.N, None, None, self._options)
            return whole[_index(cut(self.rows, row_mask)), _index(cut(self.cols, col_mask))]
        problem = self._problem.restrict(row_mask, col_mask)
        # If no vertex was left out, the problem has the caller's numbering, so the edges need not be cut twice.
        row_edges = problem.rows if is_same(self._problem.rows, self.rows) else cut(self.rows, row_mask)
        col_edges = problem.cols if is_same(self._problem.cols, self.cols) else cut(self.cols, col_mask)
        part = KronOperator(self.M, self.N, row_edges, col_edges, self._options)
        part._problem = problem
        part._prepare(self, row_mask, col_mask)
        return part

    def _transposed(self) -> "KronOperator":
        origin = None if self._origin is None else self._origin()
        if origin is not None:
            return origin
        if self._transpose_made is None:
            options = self._options.transposed
            self._transpose_made = KronOperator(transpose(self.M), transpose(self.N), self.cols, self.rows, options)
            self._transpose_made._origin = weakref.ref(self)  # a strong reference would keep both alive
            self._transpose_made._shares = None if self._problem is None else self._problem.sharing
        return self._transpose_made

    def _prepare(
        self, parent: "KronOperator | None" = None, rows: Array | None = None, cols: Array | None = None
    ) -> None:
        """Plan once, then sort, group and copy the data that the chosen path needs."""
        with self._lock:
            if self._plan is None:
                self._build(parent, rows, cols)

    def _build(self, parent: "KronOperator | None", rows: Array | None, cols: Array | None) -> None:
        path, max_memory = self._options.path, self._options.max_memory
        if 0 in self.shape:
            self._plan = zero_plan(self.shape[0], self.dtype, memory_limit(max_memory, self.backend), self._title())
            return
        if not (is_held(self.M, self.backend) and is_held(self.N, self.backend)):
            limit = memory_limit(max_memory, self.backend)
            found = (
                None
                if path != "auto"
                else stream(self.M, self.N, self.rows, self.cols, self.dtype, self.backend, limit)
            )
            if found is None:
                self.M, self.N = smaller_moved(self.M, self.N, self.dtype, self.backend, limit)
                self._divide(limit, None)
            else:
                self._streamed, self._plan = found[0], replace(found[1], title=self._title())
            return
        if self._problem is None:
            threads = count_threads(self._options.n_threads)
            place = (self.backend, self._options.fast)
            self._problem = Problem.of(self.M, self.N, self.rows, self.cols, self.dtype, threads, *place)
            self._problem.once = self._options.once
            self._problem.share(self._shares)
        if parent is not None and parent._plan is not None:
            limit = parent._plan.max_memory
        else:
            limit = memory_limit(max_memory, self.backend)
        if self._problem.is_zero:
            self._plan = zero_plan(self.shape[0], self.dtype, limit, self._title())
            return
        ready = parent._path if parent is not None else None
        if not self._options.must and path != "auto" and not can_take(self._problem, path):
            path = "auto"
        try:
            chosen, plan = choose(self._problem, path, limit, self._title(), keep=ready.name if ready else None)
        except MemoryError as error:
            if not self.backend.divides_rows or self._options.path != "auto":
                raise
            self._divide(limit, error)
            return
        if self.backend.divides_rows and self._options.path == "auto" and self._divide_if_faster(limit, plan):
            return
        for number, stage in enumerate(chosen.stages):
            if ready is not None and ready.name == chosen.name:
                stage.adopt(ready.stages[number], rows, cols)
            else:
                stage.prepare()
        self._path, self._plan = chosen, plan

    def _divide(self, limit: int, error: MemoryError | None) -> None:
        """Divide the rows into blocks that fit; each block is built when it is multiplied."""

        def plan_of(M: Factor, N: Factor, rows: Pair | None) -> Plan:
            copied = sum(n_bytes(factor, self.dtype) for factor in (M, N) if not is_held(factor, self.backend))
            if copied >= limit:
                raise MemoryError(f"factors need {format_bytes(copied)}, but max_memory is {format_bytes(limit)}")
            M, N = moved(M, self.backend, self.dtype), moved(N, self.backend, self.dtype)
            threads = count_threads(self._options.n_threads)
            problem = Problem.of(M, N, rows, self.cols, self.dtype, threads, self.backend, self._options.fast)
            if problem.is_zero:
                return zero_plan(problem.shape[0], problem.dtype, limit, self._title())
            return choose(problem, "auto", limit - copied, self._title())[1]

        self._problem = None
        self._blocks = divide(self.M, self.N, self.rows, plan_of, error)
        self._plan = self._blocks.plan

    def _divide_if_faster(self, limit: int, whole: Plan) -> bool:
        """Divide the rows if a faster path fits only block by block; return whether they were divided."""
        if whole.seconds <= _MUCH_FASTER * whole.estimates[0].seconds:
            return False
        problem = self._problem
        try:
            self._divide(limit, MemoryError("the faster path does not fit"))
        except MemoryError:
            self._problem = problem
            return False
        assert self._blocks is not None
        if _MUCH_FASTER * len(self._blocks.parts) * self._blocks.plan.seconds < whole.seconds:
            return True
        self._problem, self._blocks, self._plan = problem, None, None
        return False

    def _run_blocks(self, block: Array, out: Array) -> None:
        assert self._blocks is not None
        for part in self._blocks.parts:
            M, N = (
                moved(rows_of(factor, rows), self.backend, self.dtype)
                for factor, rows in ((self.M, part.of_m), (self.N, part.of_n))
            )
            operator = KronOperator(M, N, part.rows, self.cols, self._options)
            out[part.places] = operator._product(block)

    def _check_memory(self, n_vectors: int) -> None:
        plan = self.plan
        n_buffered = min(n_vectors, _VECTORS_AT_ONCE) if n_vectors > 1 else 0
        more = self.dtype.itemsize * (self.shape[0] * (n_vectors - 1) + sum(self.shape) * n_buffered)
        if n_vectors > 1 and plan.memory + more > plan.max_memory:
            raise MemoryError(
                f"a block of {n_vectors} vectors needs {format_bytes(plan.memory + more)}, but max_memory is "
                f"{format_bytes(plan.max_memory)}. What helps: fewer vectors at a time, or a larger max_memory"
            )

    def _as_dtype(self, dtype: np.dtype[Any]) -> "KronOperator":
        return KronOperator(in_dtype(self.M, dtype), in_dtype(self.N, dtype), self.rows, self.cols, self._options)

    def lowered(self) -> "KronOperator":
        """Return the same operator in float32 (TF32 on a GPU that supports it)."""
        dtype = np.dtype(np.float32)
        return self.with_factors(in_dtype(self.M, dtype), in_dtype(self.N, dtype), replace(self._options, fast=True))

    def with_factors(self, M: Factor, N: Factor, options: KronOptions | None = None) -> "KronOperator":
        """Return the operator of the same rows and columns with other factors; the prepared edge data is shared."""
        operator = KronOperator(M, N, self.rows, self.cols, options or self._options)
        operator._shares = None if self._problem is None else self._problem.sharing
        operator._prepare()
        return operator

    def _multiply(self, block: Array, out: Array) -> None:
        self._prepare()
        if self._streamed is not None:
            self._streamed.run(block, out)
            return
        if self._blocks is not None:
            self._run_blocks(block, out)
            return
        if self._path is None:
            out[:] = 0
            return
        try:
            space = self._spaces.pop()
        except IndexError:
            space = self.backend.workspace()
            if isinstance(space, Workspace) and self._plan is not None:
                space.room = self._plan.max_memory - self._plan.memory
        if block.shape[1] == 1:
            self._run(block[:, 0], out[:, 0], space)
        else:
            done = self._run_together(block, out, space)
            for start in range(done, block.shape[1], _VECTORS_AT_ONCE):
                part = slice(start, start + _VECTORS_AT_ONCE)
                self.backend.run_columns(self._run, block[:, part], out[:, part], space)
        self._spaces.append(space)

    def _run_together(self, block: Array, out: Array, space: Any) -> int:
        """Apply the block stage of the path; return the number of processed columns, zero if it does not pay or fit."""
        assert self._path is not None
        assert self._plan is not None
        together, done = self._path.block, 0
        if together is None or self._plan.memory + together.n_bytes() > self._plan.max_memory:
            return 0
        while block.shape[1] - done >= together.least:
            part = slice(done, done + together.width)
            together.run(block[:, part], out[:, part], space)
            done = min(part.stop, block.shape[1])
        return done

    def _run(self, x: Array, target: Array, space: Any) -> None:
        """Apply the stages to one contiguous vector."""
        assert self._path is not None
        for stage in self._path.stages:
            x = stage.run(x, space, target)

    def _title(self) -> str:
        M, N = (describe(factor) for factor in (self.M, self.N))
        sampled = [f"{len(pair[0])} {what}" for pair, what in ((self.rows, "rows"), (self.cols, "columns")) if pair]
        where = " and ".join(sampled) + " of " if sampled else ""
        place = self.backend.describe(count_threads(self._options.n_threads))
        return f"{where}M ⊗ N, M {M}, N {N}, {self.dtype}, {place}"

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy in another process is planned and sorted again.
        return KronOperator, (self.M, self.N, self.rows, self.cols, self._options)

    def __repr__(self) -> str:
        return f"<{self.shape[0]} × {self.shape[1]} KronOperator: {self._title()}>"


def _masks_on(backend: Backend, rows: Array | None, cols: Array | None) -> tuple[Any, Any]:
    """Return the masks on the backend; one mask for both stays one object."""
    there = [None if mask is None else placed(mask, backend) for mask in (rows, cols)]
    return there[0], there[0] if cols is rows else there[1]


def _index(pair: Pair | None) -> Pair | slice:
    return slice(None) if pair is None else pair
