"""The parts that a sum of Kronecker terms comes down to: products that several terms share, and group sums."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import blas

from vectrick._arrays import arange, cast, empty, group_sums, is_tensor, namespace, numpy_dtype
from vectrick.backends.rates import known_rates
from vectrick.backends.threads import count_threads, even_parts, run_tasks, single_threaded_blas
from vectrick.backends.torch.device import exact_products
from vectrick.operators.factors import LowRank, describe, n_bytes
from vectrick.operators.indices import Pair, cut
from vectrick.operators.kron import KronOperator, kron
from vectrick.operators.plan import Estimate
from vectrick.operators.terms import ONES, Product, Sums, Weights

Array = Any  # of NumPy or torch

_LOOKED_THROUGH = 4096  # vertices up to which a matrix is looked through for its symmetry


@dataclass(frozen=True)
class Options:
    """What the caller asked for."""

    n_threads: int | None = None
    max_memory: int | float | str | None = None
    once: bool = False
    device: Any = None
    fast: bool = False


@dataclass(frozen=True)
class _Slot:
    """Where the values of one order of indices lie among those of a product: one for each edge, or for each vertex."""

    weight: float
    place: slice
    vertices: Any = None  # of each edge, where both indices are this one, so that there is a value for each vertex

    @property
    def size(self) -> int:
        return int(self.place.stop - self.place.start)


class _Slots:
    """Edges in several orders of their indices, as one list of edges for a product."""

    def __init__(self, pair: Pair, slots: list[_Slot]) -> None:
        self.pair, self.slots = pair, slots
        self.is_plain = len(slots) == 1 and slots[0].vertices is None
        self.size = slots[-1].place.stop

    @classmethod
    def of(cls, pair: Pair, orders: Weights, n_vertices: int) -> "_Slots":
        """Put edges into the orders; where both indices are one, a value for each vertex will do."""
        vertices = arange(n_vertices, pair[0])
        lists = [(vertices, vertices) if i == j else (pair[i], pair[j]) for (i, j), _ in orders]
        begin, slots = 0, []
        for ((i, j), weight), (first, _) in zip(orders, lists, strict=True):
            slots.append(_Slot(weight, slice(begin, begin + len(first)), pair[i] if i == j else None))
            begin += len(first)
        if len(lists) == 1:
            return cls(lists[0] if orders[0][0] != (0, 1) else pair, slots)
        concatenate = namespace(pair[0]).concatenate
        return cls((concatenate([one for one, _ in lists]), concatenate([other for _, other in lists])), slots)

    def cut(self, mask: Array | None) -> "tuple[_Slots, Array | None]":
        """Return the slots of the edges in a mask, and the mask of these in the list."""
        if mask is None:
            return self, None
        begin, slots, kept = 0, [], []
        for slot in self.slots:
            of_edges = slot.vertices is None
            kept.append(mask if of_edges else arange(slot.size, mask) >= 0)
            end = begin + (int(mask.sum()) if of_edges else slot.size)
            slots.append(_Slot(slot.weight, slice(begin, end), None if of_edges else slot.vertices[mask]))
            begin = end
        chosen = kept[0] if len(kept) == 1 else namespace(mask).concatenate(kept)
        return _Slots((self.pair[0][chosen], self.pair[1][chosen]), slots), chosen


@dataclass(frozen=True)
class ProductPart:
    """One Kronecker product that columns enter and rows leave in several orders."""

    op: KronOperator
    rows: _Slots
    cols: _Slots
    n_threads: int

    @classmethod
    def of(cls, product: Product, rows: Pair, cols: Pair, options: Options) -> "ProductPart":
        """Make the product."""
        row_slots = _Slots.of(rows, product.rows, product.first.shape[0])
        col_slots = _Slots.of(cols, product.cols, product.first.shape[1])
        where: dict[str, Any] = {} if options.device is None else {"backend": "torch", "device": options.device}
        limits: dict[str, Any] = {"n_threads": options.n_threads, "max_memory": options.max_memory}
        whole = kron(product.first, product.second, once=options.once, fast=options.fast, **limits, **where)
        op = whole[row_slots.pair, col_slots.pair]
        return cls(op, row_slots, col_slots, count_threads(options.n_threads))

    def add(self, v: Array, total: Array) -> None:
        """Add the product with a vector."""
        x = v
        if not self.cols.is_plain:
            x = empty(self.cols.size, v)
            for slot in self.cols.slots:
                found = v if slot.vertices is None else _sums(v, [(slot.vertices, slot.size)], self.n_threads)[0]
                x[slot.place] = slot.weight * found
        found = self.op @ x
        if self.rows.is_plain:
            total += self.rows.slots[0].weight * found
            return
        for slot in self.rows.slots:
            values = slot.weight * found[slot.place]
            if slot.vertices is None:
                total += values
            else:
                _spread([(values, slot.vertices)], total, self.n_threads)

    def restrict(self, rows: Array | None, cols: Array | None) -> "ProductPart":
        """Return the part of some rows and columns."""
        row_slots, row_mask = self.rows.cut(rows)
        col_slots, col_mask = self.cols.cut(cols)
        return replace(self, op=self.op.restrict(row_mask, col_mask), rows=row_slots, cols=col_slots)

    def estimate(self, dtype: np.dtype[Any]) -> Estimate:
        """Return what it takes."""
        plan = self.op.plan
        orders = f"columns in {len(self.cols.slots)} and rows in {len(self.rows.slots)} orders"
        title = f"({describe(self.op.M)}) ⊗ ({describe(self.op.N)})"
        return replace(plan.chosen, path=f"kron {plan.path}", steps=f"{title}, {orders}: {plan.chosen.steps}")


@dataclass(frozen=True)
class SumsPart:
    """All group sums: of the values by the vertices of the columns, times factors, at the vertices of the rows."""

    found: tuple[Sums, ...]
    pairs: tuple[Pair, Pair]
    options: Options
    by_half: bool  # whether all factors are symmetric, so that half of each will do

    @classmethod
    def of(cls, found: list[Sums], pairs: tuple[Pair, Pair], options: Options) -> "SumsPart":
        """Look at the factors; one alone is read as fast by two threads as half of it by one."""
        factors = [sums.factor for sums in found if sums.factor is not ONES]
        return cls(tuple(found), pairs, options, len(factors) > 1 and all(map(_is_symmetric, factors)))

    def add(self, v: Array, total: Array) -> None:
        """Add the product with a vector: the edges are passed over once to add them up, and once to spread the sums."""
        (rows, cols), n_threads = self.pairs, count_threads(self.options.n_threads)
        matrices = [sums for sums in self.found if sums.factor is not ONES]
        sizes = {index: sums.factor.shape[1] for sums in matrices for index, _ in sums.cols}
        by_vertex = dict(zip(sizes, _sums(v, [(cols[i], n) for i, n in sizes.items()], n_threads), strict=True))
        at: dict[int, Array] = {}  # the values to spread by each index of the rows
        added = [_weighted([(by_vertex[index], weight) for index, weight in sums.cols]) for sums in matrices]
        for sums, values in zip(matrices, self._times_all([sums.factor for sums in matrices], added), strict=True):
            for index, weight in sums.rows:
                at[index] = weight * values if index not in at else at[index] + weight * values
        _spread([(values, rows[index]) for index, values in at.items()], total, n_threads)
        for sums in self.found:
            if sums.factor is ONES:
                total += sum(w for _, w in sums.rows) * sum(w for _, w in sums.cols) * v.sum()

    def _times_all(self, factors: list[Any], vectors: list[Array]) -> list[Array]:
        """Return each factor times its vector."""
        n_threads = count_threads(self.options.n_threads)
        if not self.by_half:
            with exact_products(None if self.options.fast else self.options.device):
                return [_times(factor, vector, n_threads) for factor, vector in zip(factors, vectors, strict=True)]
        found: list[Any] = [None] * len(factors)

        def task(number: int) -> None:
            symv = blas.ssymv if factors[number].dtype == np.float32 else blas.dsymv
            found[number] = symv(1.0, factors[number].T, vectors[number])

        with single_threaded_blas():
            run_tasks(task, len(factors), n_threads)
        return found

    def restrict(self, rows: Array | None, cols: Array | None) -> "SumsPart":
        """Return the part of some rows and columns."""
        pairs = (cut(self.pairs[0], rows) or self.pairs[0], cut(self.pairs[1], cols) or self.pairs[1])
        return replace(self, pairs=pairs)

    def estimate(self, dtype: np.dtype[Any]) -> Estimate:
        """Return what it takes."""
        rates = known_rates(dtype, count_threads(self.options.n_threads))
        factors = [sums.factor for sums in self.found if sums.factor is not ONES]
        moved = sum(n_bytes(factor, dtype) for factor in factors)
        seconds = 2 * sum(len(pair[0]) for pair in self.pairs) / rates.take + moved / rates.move + 3 * rates.dispatch
        what = ", ".join(describe(factor) for factor in factors) or "a constant"
        return Estimate("group sums", f"{what}: sums by vertex, times the matrix, back to the edges", seconds, 0, ())


def _is_symmetric(factor: Any) -> bool:
    """Whether it is a symmetric matrix in one piece that BLAS may read half of; a large one is not looked through."""
    if not isinstance(factor, np.ndarray) or factor.shape[0] != factor.shape[1] or len(factor) > _LOOKED_THROUGH:
        return False
    return factor.flags.c_contiguous and np.array_equal(factor, factor.T)


def _weighted(vectors: Sequence[tuple[Array, float]]) -> Array:
    """Return the weighted sum of vectors."""
    total = vectors[0][0] if vectors[0][1] == 1 else vectors[0][1] * vectors[0][0]
    for vector, weight in vectors[1:]:
        total = total + weight * vector
    return total


def _times(factor: Any, sums: Array, n_threads: int) -> Array:
    """Return a factor times a vector, in blocks that depend on the shape alone."""
    if isinstance(factor, LowRank):
        return _times(factor.A, _times(factor.B.T, sums, n_threads), n_threads)
    if not isinstance(factor, np.ndarray):
        return factor @ sums
    out = np.empty(factor.shape[0], sums.dtype)
    parts = even_parts(len(out), 2 * max(1, factor.size >> 19))  # even, for equal shares

    def task(number: int) -> None:
        part = slice(*parts[number])
        np.matmul(factor[part], sums, out=out[part])

    with single_threaded_blas():
        run_tasks(task, len(parts), n_threads)
    return out


def _sums(values: Array, groupings: Sequence[tuple[Array, int]], n_threads: int) -> list[Array]:
    """Return the sums of the values at each vertex, for each index and number of vertices."""
    if is_tensor(values):
        return [cast(group_sums(groups, values, size), numpy_dtype(values)) for groups, size in groupings]
    from vectrick.backends.cpu.groups import sums_by_group  # Numba is loaded where it is needed only

    return sums_by_group(values, groupings, n_threads)


def _spread(spread: Sequence[tuple[Array, Array]], out: Array, n_threads: int) -> None:
    """Add the values of the vertices to those of the edges, for each pair of values and index."""
    if is_tensor(out):
        for values, vertices in spread:
            out += values[vertices]
        return
    from vectrick.backends.cpu.groups import add_by_group

    add_by_group(spread, out, n_threads)
