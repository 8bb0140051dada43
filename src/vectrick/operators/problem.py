"""The input of all paths: edges, and factors cut to the vertices that occur; copies are made once, when needed."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from vectrick._cached import cached_property
from vectrick._typing import Array
from vectrick.backends import HOST, Backend
from vectrick.backends.cpu.matrix import HostMatrix
from vectrick.backends.product_path import Matrix, Name, Pair
from vectrick.operators.factors import Factor, LowRank, is_finite, take
from vectrick.operators.indices import cut, is_same, renumber, used_vertices

# Leaving out vertices without edges costs a copy of the factor and saves a share of every product.
_WORTH_CUTTING = 0.8


@dataclass(frozen=True)
class FactorForms:
    """The forms of a factor: a dense matrix (made when needed), and its low-rank or sparse form if it has one."""

    name: Name
    dense: Matrix
    thin: tuple[Matrix, Matrix] | csr_array | None  # A and B of A Bᵀ, or a sparse matrix
    size: tuple[int, int]  # of the factor, without the zeros that a backend may pad it with

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the factor."""
        return self.dense.shape

    @cached_property
    def is_identity(self) -> bool:
        """Whether it is a sparse identity matrix."""
        if not isinstance(self.thin, csr_array) or self.shape[0] != self.shape[1] or self.thin.nnz != self.shape[0]:
            return False
        numbers = np.arange(self.shape[0])
        rows_in_order = np.array_equal(self.thin.indptr[:-1], numbers)
        return rows_in_order and np.array_equal(self.thin.indices, numbers) and bool((self.thin.data == 1).all())

    @classmethod
    def of(
        cls, name: Name, factor: Factor, dtype: np.dtype[Any], rows: Array | None, cols: Array | None, backend: Backend
    ) -> "FactorForms":
        """Cut a factor to the given rows and columns, and convert it to the dtype of the product."""
        size = (factor.shape[0] if rows is None else len(rows), factor.shape[1] if cols is None else len(cols))
        if isinstance(factor, LowRank):
            A = backend.matrix(f"{name}.A", factor.A, dtype, rows)
            B = backend.matrix(f"{name}.B", factor.B, dtype, cols)
            return cls(name, backend.product_of(f"{name}, expanded", A, B, dtype), (A, B), size)
        if not isinstance(factor, csr_array):
            return cls(name, backend.matrix(f"{name}, as needed", factor, dtype, rows, cols), None, size)
        entries = csr_array(take(factor, rows, cols), dtype=dtype)
        return cls(name, HostMatrix(f"{name}, expanded", entries.shape, dtype, entries.toarray, None), entries, size)


@dataclass
class Problem:
    """``R (M ⊗ N) Cᵀ`` with the rows ``(p, q)`` and the columns ``(r, t)``, or None for all of them."""

    M: FactorForms
    N: FactorForms
    shape: tuple[int, int]
    rows: Pair | None
    cols: Pair | None
    dtype: np.dtype[Any]
    n_threads: int
    backend: Backend = HOST
    fast: bool = False  # whether matrix products in float32 may use TF32
    not_finite: tuple[Name, ...] = ()  # factors with NaN or infinity
    renumbered: int = 0  # bytes of the renumbered edges
    once: bool = False  # whether it is used for one product only
    sharing: dict[Any, Any] = field(default_factory=dict)  # data shared by stages, also with the transpose

    @classmethod
    def of(
        cls,
        M: Factor,
        N: Factor,
        rows: Pair | None,
        cols: Pair | None,
        dtype: np.dtype[Any],
        n_threads: int,
        backend: Backend = HOST,
        fast: bool = False,
        numbered: bool = False,
    ) -> "Problem":
        """Cut the factors to the vertices that occur and number the edges accordingly.

        If edges are ``numbered``, all vertices occur and the numbers stay.
        """
        factors: tuple[tuple[Name, Factor], ...] = (("M", M), ("N", N))
        bad = tuple(name for name, factor in factors if not is_finite(factor))
        parts: list[FactorForms] = []
        new_rows: list[Array] = []
        new_cols: list[Array] = []
        for side, (name, factor) in enumerate(factors):
            kept: list[Array | None] = []
            for edges, axis, new in ((rows, 0, new_rows), (cols, 1, new_cols)):
                if edges is None or numbered:
                    kept.append(None)
                    if edges is not None:
                        new.append(edges[side])
                    continue
                size = factor.shape[axis]
                # NaN and infinity in a column without edges must not reach the result.
                share = 1.0 if name in bad and axis == 1 else _WORTH_CUTTING
                used = used_vertices(edges[side], size, share)
                new.append(renumber(edges[side], used, size))
                kept.append(used)
            parts.append(FactorForms.of(name, factor, dtype, kept[0], kept[1], backend))
        new_edges = new_rows + new_cols
        if is_same(rows, cols) and all(part.shape[0] == part.shape[1] for part in parts):
            new_cols = new_rows
        (a, b), (c, d) = M.shape, N.shape
        shape = (a * c if rows is None else len(rows[0]), b * d if cols is None else len(cols[0]))
        return cls(
            parts[0],
            parts[1],
            shape,
            None if rows is None else (new_rows[0], new_rows[1]),
            None if cols is None else (new_cols[0], new_cols[1]),
            dtype,
            n_threads,
            backend,
            fast,
            bad,
            sum(
                new.nbytes for new, old in zip(new_edges, [*(rows or ()), *(cols or ())], strict=True) if new is not old
            ),
        )

    def led_by(self, first: Name) -> tuple[FactorForms, FactorForms, Pair | None, Pair | None]:
        """Return the factor that is applied first, the other one, and the rows and columns as pairs in that order."""
        if first == "M":
            return self.M, self.N, self.rows, self.cols
        rows, cols = (None if pair is None else (pair[1], pair[0]) for pair in (self.rows, self.cols))
        return self.N, self.M, rows, cols

    @property
    def n_row_edges(self) -> int:
        """Rows of the operator."""
        return self.shape[0]

    @property
    def n_col_edges(self) -> int:
        """Columns of the operator."""
        return self.shape[1]

    @property
    def edge_bytes(self) -> int:
        """Bytes of the operator's own copy of the edges, and of renumbered edges; one graph counts once."""
        pairs = [self.rows] if is_same(self.rows, self.cols) else [self.rows, self.cols]
        return self.renumbered + sum(8 * len(pair[0]) for pair in pairs if pair is not None)

    @property
    def is_zero(self) -> bool:
        """Whether the product is zero or empty for every vector."""
        sizes = [self.n_row_edges, self.n_col_edges, *self.M.shape, *self.N.shape]
        for part in (self.M, self.N):
            if isinstance(part.thin, tuple):
                sizes.append(part.thin[0].shape[1])
            elif part.thin is not None:
                sizes.append(part.thin.nnz)
        return min(sizes) == 0

    def shared(self, key: object, make: Callable[[], Any]) -> Any:
        """Return data that stages of different paths share; it is made on the first call."""
        if key not in self.sharing:
            self.sharing[key] = make()
        return self.sharing[key]

    def share(self, sharing: dict[Any, Any] | None) -> None:
        """Share data with another problem of the same edges; keep the edges, since keys contain their ids."""
        if sharing is not None:
            self.sharing = sharing
        self.sharing.setdefault("edges", []).append((self.rows, self.cols))

    def restrict(self, rows: Array | None, cols: Array | None) -> "Problem":
        """Return the problem of the edges that the masks select; the factors and their copies are shared."""
        row_edges = cut(self.rows, rows)
        col_edges = row_edges if rows is cols and is_same(self.rows, self.cols) else cut(self.cols, cols)
        shape = (
            self.shape[0] if row_edges is None else len(row_edges[0]),
            self.shape[1] if col_edges is None else len(col_edges[0]),
        )
        part = replace(self, shape=shape, rows=row_edges, cols=col_edges, renumbered=0, once=False, sharing={})
        part.share(None)
        return part
