"""Products that do not fit into memory, computed one block of rows at a time.

A row of ``R (M ⊗ N) Cᵀ`` has an index of M and an index of N. The rows with the first index in one range and the
second in another need only these rows of the factors. The factors may therefore stay on the host, and only a part of
the matrix between the two products is made at a time.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from vectrick.backends.arrays import true_places
from vectrick.backends.product_path import Pair
from vectrick.operators.factors import Factor, LowRank
from vectrick.operators.plan import Plan

_MOST = 1 << 12  # largest number of blocks

# Returns the plan of a product with some rows of the factors, or raises MemoryError.
Planner = Callable[[Factor, Factor, Pair | None], Plan]


@dataclass(frozen=True)
class RowBlock:
    """The rows of one range of M and one range of N."""

    of_m: slice
    of_n: slice
    places: Any  # positions of its rows in the operator; a slice if all rows are taken
    rows: Pair | None


@dataclass(frozen=True)
class RowBlocks:
    """The blocks of rows, and the plan of the largest block."""

    parts: tuple[RowBlock, ...]
    plan: Plan


def rows_of(factor: Factor, part: slice) -> Factor:
    """Return some rows of a factor, as a view if possible."""
    if isinstance(factor, LowRank):
        return LowRank(factor.A[part], factor.B)
    return factor[part]


def divide(M: Factor, N: Factor, rows: Pair | None, plan_of: Planner, why: MemoryError | None) -> RowBlocks:
    """Return the fewest blocks that fit; the ranges are halved until they do.

    If every row is taken, only M is divided, so the rows of a block are contiguous.
    """
    error = why
    fewest = 0 if why is None else 1  # factors on the host may fit in one block
    for n_m, n_n in _divisions(fewest, M.shape[0], N.shape[0] if rows is not None else 1):
        parts = tuple(_parts(M, N, rows, n_m, n_n))
        largest = max(parts, key=lambda part: part.places.stop if isinstance(part.places, slice) else len(part.places))
        try:
            plan = plan_of(rows_of(M, largest.of_m), rows_of(N, largest.of_n), largest.rows)
        except MemoryError as problem:
            error = error or problem
            continue
        number = "one block" if len(parts) == 1 else f"{len(parts)} blocks"
        reason = f"{number} of rows one after the other, since the whole does not fit; {plan.reason}"
        return RowBlocks(parts, replace(plan, reason=reason))
    raise error or MemoryError("no division of the rows fits into memory")


def _divisions(fewest: int, a: int, c: int) -> Iterator[tuple[int, int]]:
    """Yield numbers of ranges of both factors, fewest first; M is divided more, since its result is kept longest."""
    for power in range(fewest, 24):
        for of_n in range(power // 2 + 1):
            n_m, n_n = 1 << (power - of_n), 1 << of_n
            if n_m <= max(1, a) and n_n <= max(1, c) and n_m * n_n <= _MOST:
                yield n_m, n_n


def _parts(M: Factor, N: Factor, rows: Pair | None, n_m: int, n_n: int) -> Iterator[RowBlock]:
    a, c = M.shape[0], N.shape[0]
    ranges = [[slice(size * i // n, size * (i + 1) // n) for i in range(n)] for size, n in ((a, n_m), (c, n_n))]
    for of_m, of_n in itertools.product(*ranges):
        if rows is None:
            yield RowBlock(of_m, of_n, slice(of_m.start * c, of_m.stop * c), None)
            continue
        p, q = rows
        inside = (p >= of_m.start) & (p < of_m.stop) & (q >= of_n.start) & (q < of_n.stop)
        places = true_places(inside)
        if len(places):
            yield RowBlock(of_m, of_n, places, (p[places] - of_m.start, q[places] - of_n.start))
