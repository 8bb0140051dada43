"""The kernel of edges of a model: weighted pairwise kernels of vertex kernels, resolved for the training vertices."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import eye_array

from vectrick._typing import Array, DTypeLike
from vectrick.backends import Backend
from vectrick.backends.arrays import to_host
from vectrick.data import Edges, Graph, VertexTable
from vectrick.kernels import Kernel
from vectrick.kernels.pairwise import Kronecker, PairwiseKernel, TwoStep, VertexFactors
from vectrick.kernels.profile import profiles_of
from vectrick.kernels.tables.binding import bound
from vectrick.kernels.text import format_kernel
from vectrick.models.kernel_spec import Component, KernelSpec, symmetry_of
from vectrick.models.vertex_kernel import VertexKernel
from vectrick.operators import Term


@dataclass(frozen=True)
class EdgeKernel:
    """``Σ weight · pairwise(k, g)`` of vertex kernels k of the start and g of the end vertices.

    ``starts`` and ``ends`` are one object if both ends come from one vertex set and all kernels are for one set.
    """

    components: tuple[Component, ...]
    starts: tuple[VertexKernel, ...]
    ends: tuple[VertexKernel, ...]
    weights: Array
    is_product: bool = False  # whether it is the Kronecker product of ``start`` and ``end``, of weight one

    @classmethod
    def settled(
        cls, spec: KernelSpec, edges: Edges, graph: Graph, backend: Backend, labels: Array | None = None
    ) -> "EdgeKernel":
        """Return the kernel of a spec, resolved for the training vertices; weights to be learned are left at one.

        ``labels`` are the labels of the training edges; some kernels are computed from them.
        """
        start_kernels, end_kernels = _with_profiles(spec, edges, graph, labels)
        start, end = (edges.start_table, graph.used_start, backend), (edges.end_table, graph.used_end, backend)
        starts = tuple(VertexKernel(kernel, "start", *start) for kernel in start_kernels)
        ends = starts if spec.one_set else tuple(VertexKernel(kernel, "end", *end) for kernel in end_kernels)
        weights = np.ones(len(spec.components)) if spec.weights is None else spec.weights
        return cls(spec.components, starts, ends, weights, spec.is_product)

    @classmethod
    def product(cls, start: VertexKernel, end: VertexKernel, pairwise: PairwiseKernel | None = None) -> "EdgeKernel":
        """Return the Kronecker product of two vertex kernels, optionally named as another pairwise kernel."""
        return cls((Component(pairwise or Kronecker(), 0, 0),), (start,), (end,), np.ones(1), True)

    @property
    def start(self) -> VertexKernel:
        """The first kernel of start vertices."""
        return self.starts[0]

    @property
    def end(self) -> VertexKernel:
        """The first kernel of end vertices."""
        return self.ends[0]

    @property
    def is_two_step(self) -> bool:
        """Whether the coefficients are from two-step ridge regression: it is ridge regression with another kernel."""
        return isinstance(self.components[0].pairwise, TwoStep)

    @property
    def symmetry(self) -> int:
        """The symmetry that all functions have: 1, -1, or 0 for none."""
        return symmetry_of(self.components)

    @property
    def one_set(self) -> bool:
        """Whether both ends share one numbering of vertices and the same kernels."""
        return self.starts is self.ends

    @property
    def labels(self) -> list[str]:
        """Descriptions of the components."""
        labels = []
        for component in self.components:
            both = self.starts[component.start], self.ends[component.end]
            shown = both[:1] if component.pairwise.one_set else both
            words = [format_kernel(vertex_kernel.kernel) for vertex_kernel in shown]
            labels.append(f"{component.pairwise.name}: {', '.join(words)}")
        return labels

    @property
    def words(self) -> str:
        """The kernel in one line: the name of a product, or else the components, with weights if there are several."""
        if self.is_product:
            return self.components[0].pairwise.name
        if len(self.components) == 1:
            return self.labels[0]
        return "; ".join(f"{weight:.3g} × {name}" for weight, name in zip(self.weights, self.labels, strict=True))

    @property
    def used(self) -> list[VertexKernel]:
        """The vertex kernels of the components whose weight is not zero, each once."""
        used: dict[int, VertexKernel] = {}
        for component, weight in zip(self.components, self.weights, strict=True):
            if weight != 0:
                both = self.starts[component.start], self.ends[component.end]
                used |= {id(vertex_kernel): vertex_kernel for vertex_kernel in both}
        return list(used.values())

    def terms(self, factors: Callable[[VertexKernel], VertexFactors]) -> list[Term]:
        """Return the weighted terms; ``factors`` is called once for each vertex kernel and returns its matrices."""
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

    def on(self, backend: Backend) -> "EdgeKernel":
        """Return the same kernel on another backend; a shared table stays shared."""
        moved: dict[int, VertexTable] = {}

        def move(vertex_kernel: VertexKernel) -> VertexKernel:
            there = vertex_kernel.on(backend, moved.get(id(vertex_kernel.known)))
            moved[id(vertex_kernel.known)] = there.known
            return there

        starts = tuple(map(move, self.starts))
        ends = starts if self.one_set else tuple(map(move, self.ends))
        return replace(self, starts=starts, ends=ends)


def _with_profiles(
    spec: KernelSpec, edges: Edges, graph: Graph, labels: Array | None
) -> tuple[Sequence[Kernel], Sequence[Kernel]]:
    """Return the kernels of both sides, with the profiles of the training vertices for kernels that need them."""
    kernels = spec.start_kernels, spec.end_kernels
    if labels is None or not any(kernel.needs_labels for side in kernels for kernel in side):
        return kernels
    if spec.one_set:
        raise ValueError("a Profile kernel is for edges between two vertex sets, but there is one")
    ends = np.asarray(to_host(graph.start)), np.asarray(to_host(graph.end))
    shape, y = (len(graph.used_start), len(graph.used_end)), np.asarray(to_host(labels), np.float64)
    profiles = profiles_of(ends[0], ends[1], y, shape), profiles_of(ends[1], ends[0], y, shape[::-1])
    tables = (edges.start_table, "start_kernel"), (edges.end_table, "end_kernel")
    start, end = (
        tuple(bound(kernel, *table).with_profiles(own) if kernel.needs_labels else kernel for kernel in side)
        for side, own, table in zip(kernels, profiles, tables, strict=True)
    )
    return start, end


def identity(n: int, dtype: DTypeLike) -> Any:
    """Return the identity matrix of n training vertices."""
    return eye_array(n, dtype=dtype, format="csr")
