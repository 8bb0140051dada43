"""One product as the paths see it: edges, and factors cut to the vertices that occur; copies are made late and once."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array

from vectrick._arrays import cast, is_tensor, torch_dtype
from vectrick._cached import cached_property
from vectrick.backends.torch.device import exact_products
from vectrick.backends.torch.layout import padded
from vectrick.operators.factors import Factor, LowRank, is_finite, take
from vectrick.operators.indices import Pair, cut, is_same, renumber, used_vertices

Array = Any  # of NumPy or torch
Name = Literal["M", "N"]

# Leaving out vertices without edges costs a copy of the factor and saves a share of every product.
_WORTH_CUTTING = 0.8


class Matrix:
    """A dense matrix that may still have to be made: taken from a larger one, expanded, converted or reordered.

    It and its transpose share what has been made, and neither holds the other: a cycle would keep kernel matrices alive
    until the garbage collector comes by.
    """

    def __init__(
        self, name: str, shape: tuple[int, int], dtype: np.dtype[Any], make: Callable[[], Array], source: Any
    ) -> None:
        self.name, self.shape, self.dtype, self._make = name, shape, dtype, make
        self._whole = source  # the array itself where nothing needs to be made, else None
        self._made: dict[tuple[bool, bool], Array] = {}  # by whether it is transposed, and contiguous
        self._is_transposed = False

    @classmethod
    def of(
        cls, name: str, array: Array, dtype: np.dtype[Any], rows: Array | None = None, cols: Array | None = None
    ) -> "Matrix":
        """Wrap an array or a tensor, or the named rows and columns of it."""
        whole = rows is None and cols is None
        shape = (array.shape[0] if rows is None else len(rows), array.shape[1] if cols is None else len(cols))
        if is_tensor(array):
            shape = (padded(shape[0]), padded(shape[1]))
            ready = whole and array.dtype == torch_dtype(dtype) and _is_plain(array) and tuple(array.shape) == shape
            return TensorMatrix(name, shape, dtype, lambda: take(array, rows, cols), array if ready else None)
        source = array if whole and array.dtype == dtype and array.dtype.isnative else None

        def make() -> Array:
            return np.asarray(take(array, rows, cols)).astype(dtype, copy=False)

        return cls(name, shape, dtype, make, source)

    @property
    def T(self) -> "Matrix":
        """The transpose, sharing memory where it can."""
        turned = copy.copy(self)
        turned.shape, turned._is_transposed = self.shape[::-1], not self._is_transposed
        return turned

    @property
    def _source(self) -> Any:
        return self._whole.T if self._is_transposed and self._whole is not None else self._whole

    def copy_bytes(self, contiguous: bool) -> int:
        """Return the bytes that `array` will allocate."""
        flags = None if self._source is None else self._source.flags
        ready = flags is not None and (flags.c_contiguous or (flags.f_contiguous and not contiguous))
        return 0 if ready else self.shape[0] * self.shape[1] * self.dtype.itemsize

    def array(self, contiguous: bool = False) -> Array:
        """Return the matrix, C-contiguous if asked; made on the first call."""
        key = self._is_transposed, contiguous
        if key not in self._made:
            array = self._made.get((self._is_transposed, False), self._source)
            if array is None:
                array = self.T.array().T if self._is_transposed else self._make()
            if contiguous or not (array.flags.c_contiguous or array.flags.f_contiguous):
                array = np.ascontiguousarray(array)
            self._made[key] = array
            if array.flags.c_contiguous:
                self._made[self._is_transposed, True] = self._made[self._is_transposed, False] = array
        return self._made[key]


class TensorMatrix(Matrix):
    """A dense matrix on a device of torch, with zeros around it that make its sides multiples of eight.

    Without them, matrix products with an odd side take up to twice as long.
    """

    @property
    def T(self) -> "TensorMatrix":
        """The transpose, a view of the same memory; not kept, since each would keep the other alive."""
        source = None if self._whole is None else self._whole.T
        return TensorMatrix(self.name, self.shape[::-1], self.dtype, lambda: self.array().T, source)

    def copy_bytes(self, contiguous: bool) -> int:
        """Return the bytes that `array` will allocate."""
        ready = self._whole is not None and (self._whole.is_contiguous() or not contiguous)
        return 0 if ready else self.shape[0] * self.shape[1] * self.dtype.itemsize

    def array(self, contiguous: bool = False) -> Any:
        """Return the matrix, with contiguous rows if asked; made on the first call."""
        key, other = (False, contiguous), (False, not contiguous)
        if key not in self._made:
            tensor: Any = self._made.get(other, self._whole)
            if tensor is None:
                tensor = with_zeros(cast(self._make(), self.dtype), self.shape)
            self._made[key] = tensor.contiguous() if contiguous or not _is_plain(tensor) else tensor
        return self._made[key]


def _product(A: Matrix, B: Matrix) -> Any:
    """Return ``A Bᵀ`` with all the digits of its dtype."""
    left = A.array()
    with exact_products(left.device if is_tensor(left) else None):
        return left @ B.array().T


def _is_plain(tensor: Any) -> bool:
    """Whether a tensor, or its transpose, is contiguous."""
    return bool(tensor.is_contiguous() or tensor.T.is_contiguous())


def with_zeros(matrix: Any, shape: tuple[int, int]) -> Any:
    """Return a matrix with zeros behind its rows and columns, or itself where it has the shape already."""
    if tuple(matrix.shape) == shape:
        return matrix
    made = matrix.new_zeros(shape)
    made[: matrix.shape[0], : matrix.shape[1]] = matrix
    return made


@dataclass(frozen=True)
class Parts:
    """A factor as the paths use it: always a dense matrix (made when needed), and its thin form if it has one."""

    name: Name
    dense: Matrix
    thin: tuple[Matrix, Matrix] | csr_array | None  # A and B of A Bᵀ, or a sparse matrix
    size: tuple[int, int] = (0, 0)  # of the factor, without the zeros that a device of torch has around it

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
    def of(cls, name: Name, factor: Factor, dtype: np.dtype[Any], rows: Array | None, cols: Array | None) -> "Parts":
        """Cut a factor to the named rows and columns and give it the dtype of the product."""
        if isinstance(factor, np.ndarray) or is_tensor(factor):
            size = (factor.shape[0] if rows is None else len(rows), factor.shape[1] if cols is None else len(cols))
            return cls(name, Matrix.of(f"{name}, as needed", factor, dtype, rows, cols), None, size)
        if isinstance(factor, LowRank):
            A = Matrix.of(f"{name}.A", factor.A, dtype, rows)
            B = Matrix.of(f"{name}.B", factor.B, dtype, cols)
            shape = (A.shape[0], B.shape[0])
            size = (factor.shape[0] if rows is None else len(rows), factor.shape[1] if cols is None else len(cols))
            kind = TensorMatrix if is_tensor(factor.A) else Matrix
            dense = kind(f"{name}, expanded", shape, dtype, lambda: _product(A, B), None)
            return cls(name, dense, (A, B), size)
        entries = csr_array(take(factor, rows, cols), dtype=dtype)
        return cls(name, Matrix(f"{name}, expanded", entries.shape, dtype, entries.toarray, None), entries)


@dataclass
class Problem:
    """``R (M ⊗ N) Cᵀ`` with the rows ``(p, q)`` and the columns ``(r, t)``, or None for all of them."""

    M: Parts
    N: Parts
    shape: tuple[int, int]
    rows: Pair | None
    cols: Pair | None
    dtype: np.dtype[Any]
    n_threads: int
    device: Any = None  # of torch; None for the host
    fast: bool = False  # whether matrix products in float32 may be made in TF32
    not_finite: tuple[Name, ...] = ()  # factors with NaN or infinity
    renumbered: int = 0  # bytes of the edges that were numbered anew
    once: bool = False  # whether it serves one product only
    _cells: dict[Any, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        M: Factor,
        N: Factor,
        rows: Pair | None,
        cols: Pair | None,
        dtype: np.dtype[Any],
        n_threads: int,
        device: Any = None,
        fast: bool = False,
    ) -> "Problem":
        """Cut the factors to the vertices that occur and number the edges accordingly."""
        factors: tuple[tuple[Name, Factor], ...] = (("M", M), ("N", N))
        bad = tuple(name for name, factor in factors if not is_finite(factor))
        parts: list[Parts] = []
        new_rows: list[Array] = []
        new_cols: list[Array] = []
        for side, (name, factor) in enumerate(factors):
            kept: list[Array | None] = []
            for edges, axis, new in ((rows, 0, new_rows), (cols, 1, new_cols)):
                if edges is None:
                    kept.append(None)
                    continue
                size = factor.shape[axis]
                # NaN and infinity in a column without edges must not reach the result.
                share = 1.0 if name in bad and axis == 1 else _WORTH_CUTTING
                used = used_vertices(edges[side], size, share)
                new.append(renumber(edges[side], used, size))
                kept.append(used)
            parts.append(Parts.of(name, factor, dtype, kept[0], kept[1]))
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
            device,
            fast,
            bad,
            sum(
                new.nbytes for new, old in zip(new_edges, [*(rows or ()), *(cols or ())], strict=True) if new is not old
            ),
        )

    def led_by(self, first: Name) -> tuple[Parts, Parts, Pair | None, Pair | None]:
        """Return the factor that columns meet first and the other, and the rows and columns as pairs in that order."""
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
        """Bytes of the operator's own copy of the edges, and of what was numbered anew; one graph counts once."""
        pairs = [self.rows] if is_same(self.rows, self.cols) else [self.rows, self.cols]
        return self.renumbered + sum(8 * len(pair[0]) for pair in pairs if pair is not None)

    @property
    def is_zero(self) -> bool:
        """Whether the product is zero, or empty, whatever the vector."""
        sizes = [self.n_row_edges, self.n_col_edges, *self.M.shape, *self.N.shape]
        for part in (self.M, self.N):
            if isinstance(part.thin, tuple):
                sizes.append(part.thin[0].shape[1])
            elif part.thin is not None:
                sizes.append(part.thin.nnz)
        return min(sizes) == 0

    def cells(self, major: Array, minor: Array, n_minor: int) -> Array:
        """Return ``major * n_minor + minor``, shared by scatter and gather where they ask for the same."""
        key = (id(major), id(minor), n_minor, len(major))
        if key not in self._cells:
            self._cells[key] = major.astype(np.int64) * n_minor + minor
        return self._cells[key]

    def shared(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what steps of different paths prepare in the same way, made on the first call."""
        if key not in self._cells:
            self._cells[key] = make()
        return self._cells[key]

    def restrict(self, rows: Array | None, cols: Array | None) -> "Problem":
        """Return the problem of the edges where the masks are true; the factors and their copies are shared."""
        row_edges = cut(self.rows, rows)
        col_edges = row_edges if rows is cols and is_same(self.rows, self.cols) else cut(self.cols, cols)
        shape = (
            self.shape[0] if row_edges is None else len(row_edges[0]),
            self.shape[1] if col_edges is None else len(col_edges[0]),
        )
        return replace(self, shape=shape, rows=row_edges, cols=col_edges, renumbered=0, once=False, _cells={})
