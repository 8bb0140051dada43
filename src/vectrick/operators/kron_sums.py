"""``kron_sum``: a sum of Kronecker terms over the same edges as one operator, with shared sorting and products."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vectrick._typing import Array, Device, Index
from vectrick.backends import Backend, as_backend
from vectrick.backends.arrays import copy_of, empty, like
from vectrick.backends.product_path import Pair
from vectrick.backends.threads import count_threads
from vectrick.operators.base import Operator, as_mask
from vectrick.operators.factors import as_factor, dtype_of, in_dtype, moved, transpose
from vectrick.operators.indices import as_pair, cut, pair_on
from vectrick.operators.kron_terms import ONES, Term, share, with_factors
from vectrick.operators.plan import Estimate, Plan, memory_limit
from vectrick.operators.summands import GroupSums, KronSummand, SumOptions


def kron_sum(
    terms: Sequence[Term],
    rows: Index,
    cols: Index,
    *,
    n_threads: int | None = None,
    max_memory: int | float | str | None = None,
    once: bool = False,
    device: Device = None,
) -> "KronSum":
    """Return the sum of terms, each a weighted Kronecker product with indices in an order of its own.

    The entry for the row ``(r₀, r₁)`` and the column ``(c₀, c₁)`` is the sum over the terms of
    ``weight · first[rᵢ, cₖ] · second[rⱼ, cₗ]``, where ``rows = (i, j)`` and ``cols = (k, l)`` are their orders. Terms
    with the same factors share one product. A term with ``ONES`` as a factor takes a sum by vertex in O(n + m) and
    one product with a matrix.

    Parameters
    ----------
    terms : sequence of Term
        The terms. Each has two factors as `kron` takes them; one may be ``ONES``.
    rows, cols : pair of index vectors
        The two indices of each row and each column; one object for both means one graph.
    n_threads, max_memory, once
        As for `kron`.
    device : str, device of torch or Backend, optional
        Where to compute, by default on the host; the factors are moved there.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> K = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> symmetric = [vt.Term(1.0, K, K), vt.Term(1.0, K, K, rows=(1, 0))]
    >>> edges = [0, 1], [1, 0]
    >>> vt.kron_sum(symmetric, edges, edges) @ np.array([1.0, 0.0])
    array([7., 7.])
    """
    backend = as_backend(device)
    options = SumOptions(n_threads, max_memory, once, backend)
    count_threads(n_threads)
    checked = _checked(terms, backend)
    sizes = [_sizes(checked, axis) for axis in (0, 1)]
    row_pair = pair_on(as_pair(rows, sizes[0], ("rows[0]", "rows[1]"), "rows"), backend)
    col_pair = (
        row_pair if rows is cols else pair_on(as_pair(cols, sizes[1], ("cols[0]", "cols[1]"), "columns"), backend)
    )
    if row_pair is None or col_pair is None:
        raise TypeError("rows and cols must be pairs of index vectors, but one of them is ':'")
    return KronSum(checked, row_pair, col_pair, options)


def _checked(terms: Sequence[Term], backend: Backend) -> list[Term]:
    """Return the terms with factors of one dtype on the backend."""
    if not terms:
        raise ValueError("terms is empty, but there must be at least one")
    for number, term in enumerate(terms):
        if not isinstance(term, Term):
            raise TypeError(f"terms[{number}] is of type {type(term).__name__}, but it must be a vt.Term")
        for name, order in (("rows", term.rows), ("cols", term.cols)):
            if len(order) != 2 or not set(order) <= {0, 1}:
                raise ValueError(f"terms[{number}].{name} is {order!r}, but it must be two of the indices 0 and 1")
        for name, factor in zip(("first", "second"), term.factors, strict=True):
            if factor is not ONES:
                as_factor(factor, f"terms[{number}].{name}")
    checked = with_factors(terms, lambda factor: as_factor(factor, "a factor"))
    dtype = _dtype(checked)
    return with_factors(checked, lambda factor: moved(factor, backend, dtype))


def _dtype(terms: Sequence[Term]) -> np.dtype[Any]:
    """Return the widest dtype of the factors."""
    dtypes = [dtype_of(factor) for term in terms for factor in term.factors if factor is not ONES]
    return np.result_type(*dtypes) if dtypes else np.dtype(np.float64)


def _sizes(terms: Sequence[Term], axis: int) -> tuple[int, int]:
    """Return the number of vertices for each of the two indices of rows (axis 0) or columns (axis 1)."""
    sizes = [2**31 - 1, 2**31 - 1]
    for number, term in enumerate(terms):
        for factor, index in zip(term.factors, term.cols if axis else term.rows, strict=True):
            if factor is ONES:
                continue
            if sizes[index] not in (2**31 - 1, factor.shape[axis]):
                raise ValueError(
                    f"terms[{number}] has a factor with {factor.shape[axis]} {('rows', 'columns')[axis]} at index "
                    f"{index}, but an earlier term has one with {sizes[index]}"
                )
            sizes[index] = factor.shape[axis]
    return sizes[0], sizes[1]


class KronSum(Operator):
    """A sum of Kronecker terms, created by `kron_sum`.

    Terms that share factors share sorting and products: at most one product, O((m + q) n), for each pair of factors.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> edges = np.array([0, 1]), np.array([1, 0])
    >>> op = vt.kron_sum([vt.Term(1.0, np.eye(2), np.eye(2)), vt.Term(0.5, np.eye(2), vt.ONES)], edges, edges)
    >>> op, op @ np.ones(2)
    (<2 × 2 KronSum of 2 terms>, array([1.5, 1.5]))
    """

    def __init__(
        self, terms: Sequence[Term], rows: Pair, cols: Pair, options: SumOptions, summands: Sequence[Any] | None = None
    ) -> None:
        super().__init__((len(rows[0]), len(cols[0])), _dtype(terms))
        self.backend = options.backend
        self.terms, self.rows, self.cols, self._options = tuple(terms), rows, cols, options
        self.summands = tuple(_summands(terms, rows, cols, options) if summands is None else summands)

    @property
    def plan(self) -> Plan:
        """The plan: the summands of the terms, with the estimated time and memory of each."""
        estimates = [summand.estimate(self.dtype) for summand in self.summands]
        n_products = sum(isinstance(summand, KronSummand) for summand in self.summands)
        n_sums = sum(len(summand.sums) for summand in self.summands if isinstance(summand, GroupSums))
        terms, *what = (
            f"{n} {name}{'s' if n > 1 else ''}"
            for n, name in ((len(self.terms), "term"), (n_products, "Kronecker product"), (n_sums, "group sum"))
            if n
        )
        shared = f"{terms} by {' and '.join(what)}" if what else "nothing"
        total = Estimate(
            "sum",
            shared,
            sum(estimate.seconds for estimate in estimates),
            sum(estimate.memory for estimate in estimates),
            tuple(array for estimate in estimates for array in estimate.arrays),
        )
        limit = memory_limit(self._options.max_memory, self.backend)
        return Plan("sum", shared, (total, *estimates), limit, self._title(), "each summand by its own plan")

    def _title(self) -> str:
        n_rows, n_cols = self.shape
        where = self.backend.describe(count_threads(self._options.n_threads))
        return f"{n_rows} rows and {n_cols} columns of a sum of {len(self.terms)} terms, {self.dtype}, {where}"

    def _multiply(self, block: Array, out: Array) -> None:
        if block.shape[1] == 1:
            self._add_up(block[:, 0], out[:, 0])
            return
        total = empty(self.shape[0], block)
        for column in range(block.shape[1]):
            self._add_up(copy_of(block[:, column]), total)
            out[:, column] = total

    def _add_up(self, v: Array, total: Array) -> None:
        """Write the product with one contiguous vector."""
        total[:] = 0
        for summand in self.summands:
            summand.add(v, total)

    def _transposed(self) -> "KronSum":
        return KronSum(_transposed(self.terms), self.cols, self.rows, self._options)

    def _as_dtype(self, dtype: np.dtype[Any]) -> "KronSum":
        return KronSum(
            with_factors(self.terms, lambda factor: in_dtype(factor, dtype)), self.rows, self.cols, self._options
        )

    def lowered(self) -> "KronSum":
        """Return the same operator in float32 (TF32 on a GPU that supports it)."""
        options = replace(self._options, fast=True)
        terms = with_factors(self.terms, lambda factor: in_dtype(factor, np.float32))
        return KronSum(terms, self.rows, self.cols, options)

    def restrict(self, rows: Array | None = None, cols: Array | None = None) -> "KronSum":
        """Return the operator of the rows and columns that boolean masks select; None keeps all."""
        masks = [
            None if mask is None else like(as_mask(mask, size, name), pair[0])
            for mask, size, name, pair in (
                (rows, self.shape[0], "rows", self.rows),
                (cols, self.shape[1], "cols", self.cols),
            )
        ]
        row_mask, col_mask = masks[0], masks[0] if rows is cols and self.rows is self.cols else masks[1]
        row_pair = cut(self.rows, row_mask)
        col_pair = row_pair if self.rows is self.cols and row_mask is col_mask else cut(self.cols, col_mask)
        assert row_pair is not None
        assert col_pair is not None
        summands = [summand.restrict(row_mask, col_mask) for summand in self.summands]
        return KronSum(self.terms, row_pair, col_pair, self._options, summands)

    def __reduce__(self) -> tuple[Any, ...]:
        return KronSum, (self.terms, self.rows, self.cols, self._options)

    def __repr__(self) -> str:
        return f"<{self.shape[0]} × {self.shape[1]} KronSum of {len(self.terms)} terms>"


def _transposed(terms: Sequence[Term]) -> list[Term]:
    return [replace(term, rows=term.cols, cols=term.rows) for term in with_factors(terms, transpose)]


def _summands(terms: Sequence[Term], rows: Pair, cols: Pair, options: SumOptions) -> list[Any]:
    products, sums = share(terms)
    summands: list[Any] = [KronSummand.of(product, rows, cols, options) for product in products]
    return [*summands, GroupSums.of(sums, (rows, cols), options)] if sums else summands
