"""The data of a fit: the user's input on its backend, and the graph, loss and kernel that are built from it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vectrick._typing import Array, ArrayLike
from vectrick.backends import HOST, Backend
from vectrick.backends.arrays import copy_of, given_array, like, numpy_dtype, to_host
from vectrick.data import Edges, Graph, TrainedEdges
from vectrick.losses import Loss
from vectrick.models.edge_kernel import EdgeKernel
from vectrick.models.forms import Form
from vectrick.models.kernel_spec import KernelSpec
from vectrick.solvers import Solver
from vectrick.training.monitor import FitControls
from vectrick.training.validate import as_given


@dataclass(frozen=True)
class SourceEdges:
    """The edges of a fit as the user gave them: positions in the tables, labels and weights; a model keeps them."""

    start: Any
    end: Any
    labels: Any
    weight: Any = None

    @classmethod
    def of(cls, edges: Edges, y: ArrayLike | None, sample_weight: ArrayLike | None) -> "SourceEdges":
        """Copy everything that a user might change later: labels, weights, and tensors that edges do not copy."""
        labels, weight = (None if part is None else _copied(part) for part in (y, sample_weight))
        pair = edges.start, edges.end
        start, end = pair if edges.backend is HOST else map(copy_of, pair)
        return cls(start, end, labels, weight)

    def on_host(self) -> "SourceEdges":
        """Return the same as NumPy arrays."""
        weight = None if self.weight is None else np.asarray(to_host(self.weight))
        start, end, labels = (np.asarray(to_host(part)) for part in (self.start, self.end, self.labels))
        return SourceEdges(start, end, labels, weight)


def _copied(values: ArrayLike) -> Any:
    """Return a copy of a vector, possibly given as a column."""
    if isinstance(values, np.ndarray) and values.dtype.names is not None:  # records of labels and bounds
        return values.copy()
    array = given_array(values, "y")
    return copy_of(array.reshape(-1) if array.ndim == 2 and array.shape[1] == 1 else array)


@dataclass(frozen=True)
class FitInput:
    """The user's input, checked and on its backend: edges, labels, weights, and validation edges."""

    spec: KernelSpec
    loss_type: type[Loss]
    solver: Solver | None  # None: chosen for the problem
    has_intercept: bool
    backend: Backend
    home: Backend  # of the user's own arrays
    edges: Edges
    labels: Array
    weight: Array | None
    kept: TrainedEdges
    source: SourceEdges | None  # all edges of the user, including held-out ones, if the model keeps them
    bounds: Array | None = None  # which labels are bounds, if y has bounds
    held: Edges | None = None
    held_labels: Array | None = None
    held_bounds: Array | None = None

    def only(self, mask: Array | None) -> "FitInput":
        """Return the edges in a mask, None for all."""
        if mask is None:
            return self
        return replace(self._taken(mask), kept=self.kept.only(mask))

    def ordered(self) -> "FitInput":
        """Return the edges in the order that is fastest for the backend."""
        order = self.backend.edge_order(self.edges.start, self.edges.end, len(self.edges.end_table))
        return self if order is None else replace(self._taken(order), kept=replace(self.kept, order=order))

    def _taken(self, rows: Array) -> "FitInput":
        weight = None if self.weight is None else self.weight[rows]
        bounds = None if self.bounds is None else self.bounds[rows]
        return replace(self, edges=self.edges[rows], labels=self.labels[rows], weight=weight, bounds=bounds)


@dataclass(frozen=True)
class Training:
    """The data for a solver: the training edges, the loss with its labels, and the kernel of the edges."""

    given: FitInput
    graph: Graph
    loss: Loss
    kernel: EdgeKernel
    watch: FitControls = FitControls()  # noqa: RUF009 (it is frozen)
    warm: Callable[[Form, "Training"], Array | None] | None = None  # coefficients of a form to start from

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the computation."""
        return numpy_dtype(self.loss.y)

    @property
    def backend(self) -> Backend:
        """The backend of the computation."""
        return self.given.backend

    def to_solver(self, x: Array, form: str) -> Any:
        """Return the coefficients of an earlier fit in the order and dtype of the solver."""
        x = like(x, self.loss.y, self.dtype)
        return self.given.kept.in_training_order(x) if form == "dual" else x

    def to_user(self, x: Array) -> Any:
        """Return an array as the user's kind of array."""
        return as_given(x, self.given.home)
