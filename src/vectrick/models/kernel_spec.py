"""The kernel of edges that the user requested: pairwise kernels, vertex kernels and weights, parsed once."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol, TypeAlias

import numpy as np

from vectrick._typing import Array, ArrayLike, KernelWeights
from vectrick.backends.arrays import unmasked
from vectrick.data import Edges, VertexTable
from vectrick.data.pairs import Pairs
from vectrick.kernels import Identity, Kernel, as_kernel
from vectrick.kernels.pairwise import PairwiseKernel, TwoStep, as_pairwise
from vectrick.kernels.tables.binding import contains, narrowed, part_kernels

# The types of the parameters: a name, an object, a function of two feature tables, or a list of these (with weights).
VertexKernels: TypeAlias = "str | Kernel | Callable[[Any, Any], Any] | Sequence[Any]"
PairwiseKernels: TypeAlias = "str | PairwiseKernel | Sequence[Any]"


class HasKernels(Protocol):
    """An estimator, as far as its kernels go."""

    start_kernel: VertexKernels
    end_kernel: VertexKernels
    pairwise: PairwiseKernels
    kernel_weights: KernelWeights


_LARGEST = 1e100  # sum of weights; products with larger sums would overflow
_MOST = 10_000  # kernels of edges that are added up
LEARNED = ("alignment", "validation")  # values of ``kernel_weights`` that learn the weights


@dataclass(frozen=True)
class Component:
    """One kernel of edges in a sum: a pairwise kernel, and the positions of its two vertex kernels."""

    pairwise: PairwiseKernel
    start: int
    end: int


@dataclass(frozen=True)
class KernelSpec:
    """``Σ weight · pairwise(k, g)`` over components; ``weights`` is None if they are to be learned."""

    components: tuple[Component, ...]
    start_kernels: tuple[Kernel, ...]
    end_kernels: tuple[Kernel, ...]
    weights: Array | None
    one_set: bool

    def tables(self, start: VertexTable, end: VertexTable) -> tuple[VertexTable, VertexTable]:
        """Return the tables of both ends with what the kernels read and nothing else; one table stays one."""
        return tables_for(self.start_kernels, self.end_kernels, start, end)

    @classmethod
    def of(cls, estimator: HasKernels) -> "KernelSpec":
        """Return the kernel that the parameters of an estimator describe; raise if they are invalid.

        The parameters are ``start_kernel``, ``end_kernel``, ``pairwise`` and ``kernel_weights``.
        """
        return _read(estimator.start_kernel, estimator.end_kernel, estimator.pairwise, estimator.kernel_weights)

    @property
    def is_product(self) -> bool:
        """Whether it is one Kronecker product of two vertex kernels."""
        single = len(self.components) == 1 and self.weights is not None and self.weights[0] == 1
        return single and self.components[0].pairwise.is_product

    @property
    def two_step(self) -> TwoStep | None:
        """The two-step kernel if it was requested, else None."""
        pairwise = self.components[0].pairwise
        return pairwise if isinstance(pairwise, TwoStep) else None

    @property
    def symmetry(self) -> int:
        """The symmetry that all functions have: 1, -1, or 0 for none."""
        return symmetry_of(self.components)

    def check(self, edges: Edges, *, form: str = "auto", fit_intercept: bool = False) -> None:
        """Reject a kernel that does not fit the edges or other parameters."""
        names = [component.pairwise.name for component in self.components]
        if self.one_set and not edges.is_one_set:
            name = next(component.pairwise.name for component in self.components if component.pairwise.one_set)
            raise ValueError(
                f"pairwise={name!r} needs one vertex set for both ends, but X has a start table and an end table; make "
                "X with one table, as in vt.Edges(start, end, features)"
            )
        if not self.is_product and form == "primal":
            raise ValueError(
                f"form is 'primal', but pairwise is {', '.join(dict.fromkeys(names))} of {len(self.start_kernels)} "
                f"start and {len(self.end_kernels)} end kernels; the primal form is for one Kronecker product"
            )
        if self.symmetry < 0 and fit_intercept:
            raise ValueError(
                f"fit_intercept is True, but pairwise={names[0]!r} is for labels that change their sign when an edge "
                "is reversed, and an intercept does not"
            )


def symmetry_of(components: Sequence[Component]) -> int:
    """Return the symmetry that all components have: 1, -1, or 0 for none."""
    symmetries = {component.pairwise.symmetry for component in components}
    return symmetries.pop() if len(symmetries) == 1 else 0


def _read(
    start_kernel: VertexKernels, end_kernel: VertexKernels, pairwise: PairwiseKernels, kernel_weights: KernelWeights
) -> KernelSpec:
    kinds, of_kinds = _read_pairwise(pairwise)
    given, one_set = kernel_weights, [kind for kind in kinds if kind.one_set]
    start = _read_kernels(start_kernel, "start_kernel")
    end = _read_kernels(end_kernel, "end_kernel")
    if one_set:
        end = _end_of_one_set(start, end, end_kernel, one_set[0])
    components, numbers, starts, ends = _components(kinds, start, end)
    weighted = of_kinds is not None or given is not None
    if any(isinstance(kind, TwoStep) for kind in kinds) and (weighted or len(components) > 1):
        raise ValueError("pairwise 'two_step' is a method of its own: it cannot be one of several, and has no weights")
    if isinstance(given, str):
        if given not in LEARNED:
            raise ValueError(
                f"kernel_weights is {given!r}, but it must be None, 'alignment', 'validation', or a number for each of "
                f"the {len(components)} kernels"
            )
        if of_kinds is not None:
            raise ValueError(f"kernel_weights is {given!r}, but pairwise has weights already; leave one of them out")
        return KernelSpec(components, starts, ends, None, bool(one_set))
    if given is not None:
        weights = _given_weights(given, len(components), (len(start), len(end)) if len(kinds) == 1 else None)
    elif of_kinds is None:
        weights = np.full(len(components), 1.0 / len(components))
    else:  # equal weights for all kernels of one kind
        weights = 1.0 / np.bincount(numbers)[numbers]
    if of_kinds is not None:
        weights = weights * of_kinds[numbers]
        if not weights.any():
            raise ValueError("the weights in pairwise and kernel_weights leave no kernel with a nonzero weight")
    return KernelSpec(components, starts, ends, weights, bool(one_set))


def tables_for(
    start_kernels: Iterable[Kernel], end_kernels: Iterable[Kernel], start: VertexTable, end: VertexTable
) -> tuple[VertexTable, VertexTable]:
    """Return the tables of both ends with what kernels read; one table stays one."""
    starts = [("start_kernel", kernel) for kernel in start_kernels]
    ends = [("end_kernel", kernel) for kernel in end_kernels]
    if start is end:
        both = table_for(starts + ends, start)
        return both, both
    return table_for(starts, start), table_for(ends, end)


def table_for(kernels: list[tuple[str, Kernel]], table: VertexTable) -> VertexTable:
    """Return a table with the columns that kernels read, and with the numbers of the vertices if they need them.

    ``kernels`` are pairs of an argument, for errors, and a kernel.
    """
    if isinstance(table, Pairs):
        return _pairs_for(kernels, table)
    needed = table if table.is_settled else narrowed(kernels, table.without_numbers())
    if needed.numbered or not any(contains(kernel, Identity) for _, kernel in kernels):
        return needed
    return needed.with_numbers(np.arange(1, len(table) + 1))


def _pairs_for(kernels: list[tuple[str, Kernel]], table: Pairs) -> Pairs:
    """Return pairs whose parts have the columns that kernels read; one table of parts stays one."""
    first, second = (
        [(argument, part) for argument, kernel in kernels for part in part_kernels(kernel, is_second)]
        for is_second in (False, True)
    )
    if table.parts[0] is table.parts[1]:
        both = table_for(first + second, table.parts[0])
        return table.with_parts((both, both))
    return table.with_parts((table_for(first, table.parts[0]), table_for(second, table.parts[1])))


def _read_pairwise(value: PairwiseKernels) -> tuple[list[PairwiseKernel], Array | None]:
    """Return pairwise kernels and their weights, if they have any."""
    if not isinstance(value, list | tuple):
        return [as_pairwise(value)], None
    if not value:
        raise ValueError("pairwise is an empty list, but there must be at least one kernel")
    weighted = [isinstance(item, list | tuple) for item in value]
    if any(weighted) and not all(weighted):
        raise ValueError(f"pairwise is {value!r}, but either each of its kernels has a weight, or none has")
    if not any(weighted):
        return [as_pairwise(item, f"pairwise[{i}]") for i, item in enumerate(value)], None
    for i, item in enumerate(value):
        if len(item) != 2:
            raise ValueError(f"pairwise[{i}] is {item!r}, but it must be a kernel and its weight")
    kinds = [as_pairwise(item[0], f"pairwise[{i}][0]") for i, item in enumerate(value)]
    return kinds, check_weights([item[1] for item in value], len(kinds), "pairwise weights")


def _read_kernels(value: object, argument: str) -> list[Kernel]:
    if not isinstance(value, list | tuple):
        return [as_kernel(value, argument)]
    if not value:
        raise ValueError(f"{argument} is an empty list, but there must be at least one kernel")
    return [as_kernel(kernel, f"{argument}[{i}]") for i, kernel in enumerate(value)]


def _end_of_one_set(start: list[Kernel], end: list[Kernel], given: object, kind: PairwiseKernel) -> list[Kernel]:
    """Return the kernels of the end vertices; they must equal the kernels of the start vertices."""
    same = len(start) == len(end) and all(repr(a) == repr(b) for a, b in zip(start, end, strict=True))
    if not same and given != "linear":
        raise ValueError(
            f"end_kernel is {given!r}, but pairwise={kind.name!r} has one kernel for both ends, start_kernel; leave "
            "end_kernel out, or give the same"
        )
    return start


def _components(
    kinds: Sequence[PairwiseKernel], start: list[Kernel], end: list[Kernel]
) -> tuple[tuple[Component, ...], list[int], tuple[Kernel, ...], tuple[Kernel, ...]]:
    """Return the components, the number of the pairwise kernel of each, and the vertex kernels that they refer to.

    A pairwise kernel may have vertex kernels of its own.
    """
    one_set = end is start
    n_components = sum(len(start) * (1 if kind.one_set else len(end)) for kind in kinds)
    if n_components > _MOST:
        raise ValueError(
            f"{len(start)} start and {len(end)} end kernels make {n_components} kernels of edges, but there can be at "
            f"most {_MOST}"
        )
    starts: list[Kernel] = []
    ends = starts if one_set else []
    components: list[Component] = []
    numbers: list[int] = []
    for number, kind in enumerate(kinds):
        first = _places(kind, start, starts, "start_kernel")
        second = _places(kind, end, ends, "end_kernel")
        for i in first:
            added = [Component(kind, i, j) for j in ([i] if kind.one_set else second)]
            components.extend(added)
            numbers.extend([number] * len(added))
    return tuple(components), numbers, tuple(starts), tuple(ends)


def _places(kind: PairwiseKernel, given: list[Kernel], known: list[Kernel], argument: str) -> list[int]:
    """Return the positions of the vertex kernels of a pairwise kernel in ``known``; new ones are added to it."""
    place = {id(kernel): i for i, kernel in enumerate(known)}
    places = []
    for kernel in given:
        used = kind.vertex_kernel(kernel, argument)
        if id(used) not in place:
            place[id(used)] = len(known)
            known.append(used)
        places.append(place[id(used)])
    return places


def _given_weights(given: ArrayLike, n_wanted: int, shape: tuple[int, int] | None) -> Array:
    """Return a weight for each component; ``given`` may be a matrix of this shape."""
    try:
        array = np.asarray(unmasked(given, "kernel_weights"), np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(given, np.ma.MaskedArray):
            raise error from None
        raise ValueError(f"kernel_weights is {given!r}, but it must hold numbers") from None
    matrix = array.shape == shape and array.size == n_wanted
    return check_weights(array.ravel() if matrix else array, n_wanted, "kernel_weights")


def check_weights(given: ArrayLike, n_wanted: int, name: str) -> Array:
    """Return weights as an array; reject a wrong number of weights, negative weights, or only zeros."""
    values: list[Any] = list(given) if np.ndim(given) == 1 else []  # type: ignore[arg-type]
    if np.ndim(given) != 1 or len(values) != n_wanted:
        raise ValueError(
            f"{name} has shape {np.shape(given)}, but there are {n_wanted} kernels: give a list of {n_wanted} weights, "
            "or with one pairwise kernel a row for each start kernel and a column for each end kernel"
        )
    for i, value in enumerate(values):
        if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= float(value) < np.inf:
            raise ValueError(f"{name}[{i}] is {value}, but weights must be finite numbers that are not negative")
    weights = np.array(values, np.float64)
    if not weights.any():
        raise ValueError(f"{name} are all zero, so there is no kernel left")
    if not weights.sum() <= _LARGEST:
        raise ValueError(f"{name} add up to {weights.sum():.3g}, but they must not be larger than {_LARGEST:.0e}")
    return weights
