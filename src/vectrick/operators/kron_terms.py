"""Terms of a sum of Kronecker products over the same edges, and the products that they share.

A row has two indices ``r = (r₀, r₁)`` and a column two indices ``c = (c₀, c₁)``. Each of the two factors of a term
takes one index of the row and one of the column: the entry is ``weight · first[r[i], c[k]] · second[r[j], c[l]]`` for
``rows = (i, j)`` and ``cols = (k, l)``. With ``(0, 1)`` for both it is the Kronecker product; the symmetric and other
pairwise kernels need other orders.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vectrick.operators.factors import Factor, add_factors

Order = tuple[int, int]
Weights = tuple[tuple[Any, float], ...]  # of orders, or of indices


class _Ones:
    """A factor of any shape with all entries one; it is never formed, and a product with it takes O(n).

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> edges = np.array([0, 1]), np.array([1, 0])
    >>> vt.kron_sum([vt.Term(1.0, np.eye(2), vt.ONES)], edges, edges) @ np.array([1.0, 2.0])
    array([1., 2.])
    """

    def __reduce__(self) -> str:
        return "ONES"  # a copy is the same object

    def __repr__(self) -> str:
        return "ONES"


ONES = _Ones()


@dataclass(frozen=True, eq=False)
class Term:
    """``weight · first ⊗ second`` with indices in any order; either factor may be ``ONES``.

    It holds its factors by reference, O(1).

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> vt.Term(0.5, np.eye(2), vt.ONES).weight
    0.5
    """

    weight: float
    first: Any
    second: Any
    rows: Order = (0, 1)
    cols: Order = (0, 1)

    @property
    def swapped(self) -> "Term":
        """The same term with its factors in the other order."""
        return Term(self.weight, self.second, self.first, self.rows[::-1], self.cols[::-1])

    @property
    def has_ones(self) -> bool:
        """Whether it reduces to sums by vertex."""
        return self.first is ONES or self.second is ONES

    @property
    def factors(self) -> tuple[Any, Any]:
        """Both factors."""
        return self.first, self.second


def with_factors(terms: Sequence[Term], change: Callable[[Factor], Factor]) -> list[Term]:
    """Return terms with every factor changed; terms that share a factor still share it."""
    changed: dict[int, Any] = {id(ONES): ONES}
    for factor in (factor for term in terms for factor in term.factors):
        if id(factor) not in changed:
            changed[id(factor)] = change(factor)
    return [replace(term, first=changed[id(term.first)], second=changed[id(term.second)]) for term in terms]


@dataclass(frozen=True)
class SharedProduct:
    """One product with ``first ⊗ second``, with the weighted index orders of its rows and columns."""

    first: Factor
    second: Factor
    rows: Weights
    cols: Weights


@dataclass(frozen=True)
class SharedSums:
    """Sums of values by vertex, multiplied by a factor and read at a vertex of each row; the total for ``ONES``."""

    factor: Any
    rows: Weights
    cols: Weights


def share(terms: Sequence[Term]) -> tuple[list[SharedProduct], list[SharedSums]]:
    """Return the products and group sums that the terms reduce to; each is computed once.

    Terms that differ in only one factor become one term with the sum of these factors. Terms with the same two factors
    share one product if the orders of their indices allow it: the ten terms of the metric learning kernel are one
    product, because the columns ``k(d, d')² - 2 k(d, d') k(d, t') + k(d, t')²`` of one row order are ``-1/2`` times
    the columns of the others.
    """
    products: dict[tuple[int, int], tuple[Term, dict[Order, dict[Order, float]]]] = {}
    for found_term in _merged([term for term in terms if not term.has_ones]):
        turned = (id(found_term.second), id(found_term.first)) in products
        term = found_term.swapped if turned else found_term
        _, entries = products.setdefault((id(term.first), id(term.second)), (term, {}))
        for part in _symmetrised(term) if term.first is term.second else [term]:
            _add(entries, part.rows, part.cols, part.weight)
    shared = [
        SharedProduct(*term.factors, rows, cols)
        for term, entries in products.values()
        for rows, cols in _distinct(entries)
    ]
    return shared, _share_sums([term for term in terms if term.has_ones])


def _share_sums(terms: Sequence[Term]) -> list[SharedSums]:
    """Return the group sums of terms with ones; factors that are used in the same way are added up first."""
    by_factor: dict[int, tuple[Any, dict[int, dict[int, float]]]] = {}
    for term in (term if term.second is ONES else term.swapped for term in terms):
        _, entries = by_factor.setdefault(id(term.first), (term.first, {}))
        _add(entries, term.rows[0], term.cols[0], term.weight)
    alike: dict[Any, list[tuple[float, Any]]] = {}
    for factor, entries in by_factor.values():
        for rows, cols in _distinct(entries):
            scale = rows[0][1]
            shape = tuple((row, weight / scale) for row, weight in rows)
            alike.setdefault((factor is ONES, shape, cols), []).append((scale, factor))
    shared = []
    for (of_all, rows, cols), weighted in alike.items():
        if of_all or len(weighted) == 1:
            scale, factor = weighted[0]
            shared.append(SharedSums(factor, tuple((row, scale * weight) for row, weight in rows), cols))
        else:
            shared.append(SharedSums(add_factors(weighted), rows, cols))
    return shared


def _add(entries: dict[Any, dict[Any, float]], row: Any, col: Any, weight: float) -> None:
    columns = entries.setdefault(row, {})
    columns[col] = columns.get(col, 0.0) + weight


def _symmetrised(term: Term) -> list[Term]:
    """Return terms whose factors are one matrix with rows in the order (0, 1), (0, 0) or (1, 1)."""
    if term.rows[0] > term.rows[1]:
        return [term.swapped]
    if term.rows[0] == term.rows[1] and term.cols[0] != term.cols[1]:  # then its columns may be in either order
        half = replace(term, weight=term.weight / 2)
        return [half, half.swapped]
    return [term]


def _distinct(entries: dict[Any, dict[Any, float]]) -> Iterable[tuple[Weights, Weights]]:
    """Yield the rows and columns of each distinct product; rows with proportional columns share one product."""
    alike: dict[Weights, list[tuple[Any, float]]] = {}
    for row, columns in entries.items():
        kept = sorted((col, weight) for col, weight in columns.items() if weight != 0)
        if kept:
            scale = kept[0][1]
            shape = tuple((col, weight / scale) for col, weight in kept)
            alike.setdefault(shape, []).append((row, scale))
    for cols, rows in alike.items():
        yield tuple(rows), cols


def _merged(terms: Sequence[Term]) -> list[Term]:
    """Return the terms after merging terms with a common first or second factor, whichever leaves fewer terms."""
    by_first = _groups(terms, 0)
    by_second = _groups(terms, 1)
    which, groups = (1, by_first) if len(by_first) <= len(by_second) else (0, by_second)
    merged = []
    for group in groups:
        if len({id(term.factors[which]) for term in group}) == 1:  # the other factor is equal too, so weights add up
            merged.append(replace(group[0], weight=sum(term.weight for term in group)))
            continue
        total = add_factors([(term.weight, term.factors[which]) for term in group])
        changed: dict[str, Any] = {("first", "second")[which]: total}
        merged.append(replace(group[0], weight=1.0, **changed))
    return merged


def _groups(terms: Sequence[Term], kept: int) -> list[list[Term]]:
    """Return lists of terms that can be merged: the same orders and the same kept factor."""
    groups: dict[Any, list[Term]] = {}
    for term in terms:
        groups.setdefault((id(term.factors[kept]), term.rows, term.cols), []).append(term)
    return list(groups.values())
