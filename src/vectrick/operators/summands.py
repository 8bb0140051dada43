"""The summands of a sum of Kronecker terms: products that several terms share, and group sums."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.backends import HOST, Backend
from vectrick.backends.arrays import arange, empty, namespace
from vectrick.backends.product_path import Pair
from vectrick.backends.threads import count_threads
from vectrick.operators.construction import kron
from vectrick.operators.factors import LowRank, describe, n_bytes
from vectrick.operators.indices import cut
from vectrick.operators.kron import KronOperator
from vectrick.operators.kron_terms import ONES, SharedProduct, SharedSums, Weights
from vectrick.operators.plan import Estimate


@dataclass(frozen=True)
class SumOptions:
    """The options that the caller of ``kron_sum`` gave."""

    n_threads: int | None = None
    max_memory: int | float | str | None = None
    once: bool = False
    backend: Backend = HOST
    fast: bool = False


@dataclass(frozen=True)
class _Slot:
    """The place of the values of one index order in the vector of a product: one per edge or per vertex."""

    weight: float
    place: slice
    vertices: Any = None  # of each edge, if both indices are the same: then each vertex has one value

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
        """Return the edges in the given orders; if both indices are the same, one value per vertex is enough."""
        vertices = arange(n_vertices, pair[0])
        lists = [(vertices, vertices) if i == j else (pair[i], pair[j]) for (i, j), _ in orders]
        begin, slots = 0, []
        for ((i, j), weight), (first, _) in zip(orders, lists, strict=True):
            slots.append(_Slot(weight, slice(begin, begin + len(first)), pair[i] if i == j else None))
            begin += len(first)
        if len(lists) == 1:
            return cls(lists[0] if orders[0][0] != (0, 1) else pair, slots)
        concatenate = namespace(pair[0]).concatenate
        return cls((concatenate([first for first, _ in lists]), concatenate([second for _, second in lists])), slots)

    def cut(self, mask: Array | None) -> "tuple[_Slots, Array | None]":
        """Return the slots of the edges that a mask selects, and the mask of the list of edges."""
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
class KronSummand:
    """One Kronecker product whose rows and columns are used in several orders of indices."""

    op: KronOperator
    rows: _Slots
    cols: _Slots
    n_threads: int

    @classmethod
    def of(cls, product: SharedProduct, rows: Pair, cols: Pair, options: SumOptions) -> "KronSummand":
        """Create the summand of a shared product."""
        row_slots = _Slots.of(rows, product.rows, product.first.shape[0])
        col_slots = _Slots.of(cols, product.cols, product.first.shape[1])
        limits: dict[str, Any] = {"n_threads": options.n_threads, "max_memory": options.max_memory}
        choices: dict[str, Any] = {"once": options.once, "fast": options.fast, "backend": options.backend}
        whole = kron(product.first, product.second, **choices, **limits)
        op = whole[row_slots.pair, col_slots.pair]
        return cls(op, row_slots, col_slots, count_threads(options.n_threads))

    def add(self, v: Array, total: Array) -> None:
        """Add the product with a vector."""
        x = v
        if not self.cols.is_plain:
            x = empty(self.cols.size, v)
            for slot in self.cols.slots:
                values = v
                if slot.vertices is not None:
                    (values,) = self.op.backend.sums_by_vertex(v, [(slot.vertices, slot.size)], self.n_threads)
                x[slot.place] = slot.weight * values
        product = self.op @ x
        if self.rows.is_plain:
            total += self.rows.slots[0].weight * product
            return
        for slot in self.rows.slots:
            values = slot.weight * product[slot.place]
            if slot.vertices is None:
                total += values
            else:
                self.op.backend.add_by_vertex([(values, slot.vertices)], total, self.n_threads)

    def restrict(self, rows: Array | None, cols: Array | None) -> "KronSummand":
        """Return the summand of some rows and columns."""
        row_slots, row_mask = self.rows.cut(rows)
        col_slots, col_mask = self.cols.cut(cols)
        return replace(self, op=self.op.restrict(row_mask, col_mask), rows=row_slots, cols=col_slots)

    def estimate(self, dtype: np.dtype[Any]) -> Estimate:
        """Return the estimated time and memory."""
        plan = self.op.plan
        orders = f"columns in {len(self.cols.slots)} and rows in {len(self.rows.slots)} orders"
        title = f"({describe(self.op.M)}) ⊗ ({describe(self.op.N)})"
        return replace(plan.chosen, path=f"kron {plan.path}", steps=f"{title}, {orders}: {plan.chosen.steps}")


@dataclass(frozen=True)
class GroupSums:
    """All group sums: the values are summed by column vertex, multiplied by factors, and spread by row vertex."""

    sums: tuple[SharedSums, ...]
    pairs: tuple[Pair, Pair]
    options: SumOptions
    by_half: bool  # whether all factors are symmetric, so half of each is enough

    @classmethod
    def of(cls, sums: list[SharedSums], pairs: tuple[Pair, Pair], options: SumOptions) -> "GroupSums":
        """Create the sums; a single factor is read fully, since two threads read it as fast as one reads half of it."""
        factors = [each.factor for each in sums if each.factor is not ONES]
        return cls(tuple(sums), pairs, options, len(factors) > 1 and all(map(options.backend.is_symmetric, factors)))

    def add(self, v: Array, total: Array) -> None:
        """Add the product with a vector: one pass over the edges adds them up, and one pass spreads the sums."""
        (rows, cols), backend = self.pairs, self.options.backend
        n_threads = count_threads(self.options.n_threads)
        matrices = [each for each in self.sums if each.factor is not ONES]
        sizes = {index: each.factor.shape[1] for each in matrices for index, _ in each.cols}
        groupings = [(cols[i], n) for i, n in sizes.items()]
        by_vertex = dict(zip(sizes, backend.sums_by_vertex(v, groupings, n_threads), strict=True))
        at: dict[int, Array] = {}  # the values to spread by each index of the rows
        added = [_weighted([(by_vertex[index], weight) for index, weight in each.cols]) for each in matrices]
        products = self._multiply_all([each.factor for each in matrices], added, n_threads)
        for each, values in zip(matrices, products, strict=True):
            for index, weight in each.rows:
                at[index] = weight * values if index not in at else at[index] + weight * values
        backend.add_by_vertex([(values, rows[index]) for index, values in at.items()], total, n_threads)
        for each in self.sums:
            if each.factor is ONES:
                total += sum(w for _, w in each.rows) * sum(w for _, w in each.cols) * v.sum()

    def _multiply_all(self, factors: list[Any], vectors: list[Array], n_threads: int) -> list[Array]:
        """Return each factor times its vector."""
        multiply, fast = self.options.backend.multiply_all, self.options.fast
        if self.by_half or not any(isinstance(factor, LowRank) for factor in factors):
            return multiply(factors, vectors, self.by_half, fast, n_threads)
        products = []
        for factor, vector in zip(factors, vectors, strict=True):
            thin = isinstance(factor, LowRank)
            inner = multiply([factor.B.T], [vector], False, fast, n_threads) if thin else [vector]
            products += multiply([factor.A if thin else factor], inner, False, fast, n_threads)
        return products

    def restrict(self, rows: Array | None, cols: Array | None) -> "GroupSums":
        """Return the summand of some rows and columns."""
        pairs = (cut(self.pairs[0], rows) or self.pairs[0], cut(self.pairs[1], cols) or self.pairs[1])
        return replace(self, pairs=pairs)

    def estimate(self, dtype: np.dtype[Any]) -> Estimate:
        """Return the estimated time and memory."""
        n_threads = count_threads(self.options.n_threads)
        rates = self.options.backend.rates(dtype, n_threads, self.options.fast, measured=False)
        factors = [each.factor for each in self.sums if each.factor is not ONES]
        moved = sum(n_bytes(factor, dtype) for factor in factors)
        seconds = 2 * sum(len(pair[0]) for pair in self.pairs) / rates.take + moved / rates.move + 3 * rates.dispatch
        what = ", ".join(describe(factor) for factor in factors) or "a constant"
        return Estimate("group sums", f"{what}: sums by vertex, times the matrix, back to the edges", seconds, 0, ())


def _weighted(vectors: Sequence[tuple[Array, float]]) -> Array:
    """Return the weighted sum of vectors."""
    total = vectors[0][0] if vectors[0][1] == 1 else vectors[0][1] * vectors[0][0]
    for vector, weight in vectors[1:]:
        total = total + weight * vector
    return total
