"""The kernel of edges of a model: weighted pairwise kernels of vertex kernels, settled on the training vertices."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import eye_array

from vectrick._arrays import to_host
from vectrick.data import Edges, VertexTable
from vectrick.estimators.inputs import Graph
from vectrick.estimators.recipe import Component, Recipe, symmetry_of
from vectrick.estimators.side import Side
from vectrick.kernels.pairwise import VertexFactors
from vectrick.kernels.text import format_kernel
from vectrick.operators import Term

Array = NDArray[Any]


@dataclass(frozen=True)
class EdgeKernel:
    """``Σ weight · pairwise(k, g)`` with the sides that the vertex kernels k and g belong to.

    ``starts`` and ``ends`` are one object where both ends come from one vertex set and all kernels are of that set.
    """

    components: tuple[Component, ...]
    starts: tuple[Side, ...]
    ends: tuple[Side, ...]
    weights: Array

    @property
    def symmetry(self) -> int:
        """The symmetry that all functions have: 1, -1, or 0 for none."""
        return symmetry_of(self.components)

    @property
    def one_set(self) -> bool:
        """Whether both ends have one numbering of vertices, and the same kernels."""
        return self.starts is self.ends

    @property
    def labels(self) -> list[str]:
        """The components in words."""
        found = []
        for component in self.components:
            sides = self.starts[component.start], self.ends[component.end]
            words = [format_kernel(side.kernel) for side in (sides[:1] if component.pairwise.one_set else sides)]
            found.append(f"{component.pairwise.name}: {', '.join(words)}")
        return found

    @property
    def used_sides(self) -> list[Side]:
        """The sides of the components whose weight is not zero, each once."""
        pairs = zip(self.components, self.weights, strict=True)
        sides = [side for component, weight in pairs if weight != 0
                 for side in (self.starts[component.start], self.ends[component.end])]  # fmt: skip
        return list({id(side): side for side in sides}.values())

    def terms(self, factors: Callable[[Side], VertexFactors]) -> list[Term]:
        """Return the weighted terms, with the matrices that a function gives for each side; each is asked for once."""
        used = [component for component, weight in zip(self.components, self.weights, strict=True) if weight != 0]
        starts = {i: factors(self.starts[i]) for i in sorted({component.start for component in used})}
        ends = starts if self.one_set else {}
        for j in sorted({component.end for component in used} - set(ends)):
            ends[j] = factors(self.ends[j])
        return [
            replace(term, weight=float(weight) * term.weight)
            for component, weight in zip(self.components, self.weights, strict=True)
            if weight != 0
            for term in component.pairwise.terms(starts[component.start], ends[component.end])
        ]

    def on(self, device: Any) -> "EdgeKernel":
        """Return the same kernel on a device of torch, None for the host; one table stays one."""
        moved: dict[int, VertexTable] = {}

        def move(side: Side) -> Side:
            made = side.on(device, moved.get(id(side.known)))
            moved[id(side.known)] = made.known
            return made

        starts = tuple(move(side) for side in self.starts)
        ends = starts if self.one_set else tuple(move(side) for side in self.ends)
        return replace(self, starts=starts, ends=ends)


def identity(n: int, dtype: Any) -> Any:
    """Return the matrix that says which training vertex is which."""
    return eye_array(n, dtype=dtype, format="csr")


def settle_kernels(recipe: Recipe, edges: Edges, graph: Graph) -> tuple[Side, Side, EdgeKernel | None]:
    """Return the first side of either end, and the kernel of edges, None where it is one Kronecker product.

    Weights that are to be learned are left at one.
    """
    starts = tuple(Side(kernel, "start", edges.start_table, graph.used_start) for kernel in recipe.start_kernels)
    if recipe.one_set:
        ends = starts
    else:
        ends = tuple(Side(kernel, "end", edges.end_table, graph.used_end) for kernel in recipe.end_kernels)
    if recipe.is_product:
        return starts[0], ends[0], None
    weights = np.ones(len(recipe.components)) if recipe.weights is None else recipe.weights
    return starts[0], ends[0], EdgeKernel(recipe.components, starts, ends, weights)


def check_recipe(recipe: Recipe, edges: Edges, estimator: Any) -> None:
    """Refuse what does not go together: a kernel with the edges, or with other parameters."""
    names = [component.pairwise.name for component in recipe.components]
    if recipe.one_set and not edges.is_one_set:
        name = next(c.pairwise.name for c in recipe.components if c.pairwise.one_set)
        raise ValueError(
            f"pairwise={name!r} needs one vertex set for both ends, but X has a start table and an end table; make X "
            "with one table, as in vt.Edges(start, end, features)"
        )
    if not recipe.is_product and estimator.form == "primal":
        raise ValueError(
            f"form is 'primal', but pairwise is {', '.join(dict.fromkeys(names))} of {len(recipe.start_kernels)} start "
            f"and {len(recipe.end_kernels)} end kernels; the primal form is for one Kronecker product"
        )
    if recipe.symmetry < 0 and estimator.fit_intercept:
        raise ValueError(
            f"fit_intercept is True, but pairwise={names[0]!r} is for labels that change their sign when an edge is "
            "turned round, and an intercept does not"
        )


def check_signs(recipe: Recipe, edges: Edges, labels: Any, weight: Any = None) -> None:
    """Refuse edges that contradict an antisymmetric kernel: loops, and labels with the sign of their reverse.

    Edges without weight do not count. ``labels`` are None where their signs mean nothing.
    """
    name = recipe.components[0].pairwise.name
    counts = np.ones(len(edges), bool) if weight is None else np.asarray(to_host(weight > 0))
    loops = np.flatnonzero(np.asarray(to_host(edges.start == edges.end)) & counts)
    if len(loops):
        at = int(loops[0])
        raise ValueError(
            f"edge {at} joins {edges.start_table.label(int(edges.start[at]))} to itself ({len(loops)} edges do), "
            f"but with pairwise={name!r} every prediction for such an edge is zero; leave them out"
        )
    if labels is not None:
        _check_reverse(edges, np.asarray(to_host(labels)), counts)


def _check_reverse(edges: Edges, labels: Array, counts: Array) -> None:
    """Refuse labels of which those of an edge and of its reverse have the same sign, on average over repeated edges."""
    start, end, y = (np.asarray(to_host(x))[counts] for x in (edges.start, edges.end, labels))
    size = len(edges.start_table)
    low, high = np.minimum(start, end).astype(np.int64), np.maximum(start, end)
    pairs, place = np.unique(low * size + high, return_inverse=True)
    turned = start > end
    times = [np.bincount(place[part], minlength=len(pairs)) for part in (turned, ~turned)]
    sums = [np.bincount(place[part], y[part], len(pairs)) for part in (turned, ~turned)]
    both = (times[0] > 0) & (times[1] > 0)
    means = [total[both] / count[both] for total, count in zip(sums, times, strict=True)]
    wrong = np.flatnonzero(means[0] * means[1] > 0)
    if len(wrong):
        i, j = divmod(int(pairs[both][wrong[0]]), size)
        names = edges.start_table.label(i), edges.start_table.label(j)
        raise ValueError(
            f"the edge from {names[0]} to {names[1]} has the label {means[1][wrong[0]]:.6g} and its reverse "
            f"{means[0][wrong[0]]:.6g} ({len(wrong)} edges are like that), but an antisymmetric kernel is for labels "
            "that change their sign when an edge is turned round. If these are several results of one pair, write "
            "all of them in one direction, with the sign of the label changed where an edge is turned; labels that do "
            "not depend on the direction want pairwise='symmetric'"
        )
