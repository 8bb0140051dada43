"""What the parameters say about the kernel of edges: which pairwise and which vertex kernels, and their weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vectrick.kernels import Kernel, as_kernel
from vectrick.kernels.pairwise import Gaussian, Kronecker, PairwiseKernel, TwoStep, as_pairwise

Array = NDArray[Any]

LEARNED = ("alignment", "validation")  # values of ``kernel_weights`` by which they are learned


@dataclass(frozen=True)
class Component:
    """One of the kernels of edges that are added up: a pairwise kernel, and the places of its two vertex kernels."""

    pairwise: PairwiseKernel
    start: int
    end: int


@dataclass(frozen=True)
class Recipe:
    """``Σ weight · pairwise(k, g)`` over components; ``weights`` are None where they are to be learned."""

    components: tuple[Component, ...]
    start_kernels: tuple[Kernel, ...]
    end_kernels: tuple[Kernel, ...]
    weights: Array | None
    one_set: bool

    @property
    def is_product(self) -> bool:
        """Whether it is one Kronecker product of two vertex kernels."""
        single = len(self.components) == 1 and self.weights is not None and self.weights[0] == 1
        return single and isinstance(self.components[0].pairwise, Kronecker | Gaussian | TwoStep)

    @property
    def two_step(self) -> TwoStep | None:
        """The two-step kernel, where that is asked for."""
        found = self.components[0].pairwise
        return found if isinstance(found, TwoStep) else None

    @property
    def symmetry(self) -> int:
        """The symmetry that all functions have: 1, -1, or 0 for none."""
        return symmetry_of(self.components)


def symmetry_of(components: Sequence[Component]) -> int:
    """Return the symmetry that all components have: 1, -1, or 0 for none."""
    found = {component.pairwise.symmetry for component in components}
    return found.pop() if len(found) == 1 else 0


def read_recipe(estimator: Any) -> Recipe:
    """Return what the parameters of an estimator ask for, or say which of them cannot be meant."""
    kinds, pairwise_weights = _read_pairwise(estimator.pairwise)
    start = _read_kernels(estimator.start_kernel, "start_kernel")
    one_set = [kind for kind in kinds if kind.one_set]
    end = _read_kernels(estimator.end_kernel, "end_kernel")
    if one_set:
        end = _end_of_one_set(start, end, estimator.end_kernel, one_set[0])
    components, starts, ends = _components(kinds, start, end)
    if len(components) > 1 and any(isinstance(kind, TwoStep) for kind in kinds):
        raise ValueError("pairwise 'two_step' is a method of its own, so it cannot be one of several kernels")
    given = estimator.kernel_weights
    if isinstance(given, str):
        if given not in LEARNED:
            raise ValueError(
                f"kernel_weights is {given!r}, but it must be None, 'alignment', 'validation', or a number for each of "
                f"the {len(components)} kernels"
            )
        if pairwise_weights is not None:
            raise ValueError(f"kernel_weights is {given!r}, but pairwise has weights already; leave one of them out")
        weights = None
    else:
        weights = _given_weights(given, components, len(starts), len(ends), len(kinds))
        if pairwise_weights is not None:
            places = [_place(kinds, one.pairwise) for one in components]
            if given is None:  # all kernels of one kind alike
                weights = 1.0 / np.bincount(places)[places]
            weights = weights * pairwise_weights[places]
    return Recipe(components, starts, ends, weights, bool(one_set))


def _place(kinds: Sequence[PairwiseKernel], kind: PairwiseKernel) -> int:
    return next(i for i, one in enumerate(kinds) if one is kind)


def _read_pairwise(value: Any) -> tuple[list[PairwiseKernel], Array | None]:
    """Return pairwise kernels and their weights, if they have any."""
    if not isinstance(value, list | tuple):
        return [as_pairwise(value)], None
    if not value:
        raise ValueError("pairwise is an empty list, but there must be at least one kernel")
    weighted = [isinstance(one, list | tuple) for one in value]
    if any(weighted) and not all(weighted):
        raise ValueError(f"pairwise is {value!r}, but either each of its kernels has a weight, or none has")
    if not any(weighted):
        return [as_pairwise(one, f"pairwise[{i}]") for i, one in enumerate(value)], None
    for i, one in enumerate(value):
        if len(one) != 2:
            raise ValueError(f"pairwise[{i}] is {one!r}, but it must be a kernel and its weight")
    kinds = [as_pairwise(one[0], f"pairwise[{i}][0]") for i, one in enumerate(value)]
    return kinds, check_weights([one[1] for one in value], len(kinds), "the weights in pairwise")


def _read_kernels(value: Any, argument: str) -> list[Kernel]:
    if not isinstance(value, list | tuple):
        return [as_kernel(value, argument)]
    if not value:
        raise ValueError(f"{argument} is an empty list, but there must be at least one kernel")
    return [as_kernel(one, f"{argument}[{i}]") for i, one in enumerate(value)]


def _end_of_one_set(start: list[Kernel], end: list[Kernel], given: Any, kind: PairwiseKernel) -> list[Kernel]:
    """Return the kernels of the end vertices where they are those of the start vertices."""
    same = len(start) == len(end) and all(repr(a) == repr(b) for a, b in zip(start, end, strict=True))
    if not same and given != "linear":
        raise ValueError(
            f"end_kernel is {given!r}, but pairwise={kind.name!r} has one kernel for both ends, start_kernel; leave "
            "end_kernel out, or give the same"
        )
    return start


def _components(
    kinds: Sequence[PairwiseKernel], start: list[Kernel], end: list[Kernel]
) -> tuple[tuple[Component, ...], tuple[Kernel, ...], tuple[Kernel, ...]]:
    """Return the components, and the vertex kernels that they refer to; a pairwise kernel may have its own of these."""
    one_set = end is start
    starts: list[Kernel] = []
    ends = starts if one_set else []
    found = []
    for kind in kinds:
        sides = []
        for given, made, name in ((start, starts, "start"), (end, ends, "end")):
            places = []
            for kernel in given:
                used = kind.vertex_kernel(kernel, f"{name}_kernel")
                known = [i for i, one in enumerate(made) if one is used]
                places.append(known[0] if known else len(made))
                made.extend([] if known else [used])
            sides.append(places)
        for i in sides[0]:
            found += [Component(kind, i, j) for j in ([i] if kind.one_set else sides[1])]
    return tuple(found), tuple(starts), tuple(ends)


def _given_weights(given: Any, components: Sequence[Component], n_start: int, n_end: int, n_kinds: int) -> Array:
    """Return a weight for each component; by default all of them have the same, and they add up to one."""
    if given is None:
        return np.full(len(components), 1.0 / len(components))
    try:
        array = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"kernel_weights is {given!r}, but it must hold numbers") from None
    if n_kinds == 1 and array.shape == (n_start, n_end):
        array = array.ravel()
    return check_weights(array, len(components), "kernel_weights")


def check_weights(given: Any, n_wanted: int, name: str) -> Array:
    """Return weights as an array, or say what is wrong: their number, negative ones, or all of them zero."""
    values = list(given) if np.ndim(given) == 1 else given
    if np.ndim(given) != 1 or len(values) != n_wanted:
        raise ValueError(f"{name} has shape {np.shape(given)}, but there are {n_wanted} kernels, each with a weight")
    for i, value in enumerate(values):
        if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= float(value) < np.inf:
            raise ValueError(f"{name}[{i}] is {value}, but weights must be finite numbers that are not negative")
    weights = np.array(values, np.float64)
    if not weights.any():
        raise ValueError(f"{name} are all zero, so that there is no kernel left")
    return weights
