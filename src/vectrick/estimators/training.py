"""What a fit starts from, checked and in its place, and what is let go of when it fails."""

import traceback
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from vectrick._arrays import like, numpy_dtype, to_host
from vectrick.backends.threads import single_threaded_blas
from vectrick.backends.torch.device import give_back
from vectrick.data import Edges
from vectrick.estimators.edge_kernel import EdgeKernel
from vectrick.estimators.inputs import Graph, Kept
from vectrick.estimators.monitor import Watch
from vectrick.estimators.side import Side
from vectrick.losses import Loss

Array = Any  # of NumPy or torch


@dataclass(frozen=True)
class Training:
    """Everything that a fit starts from, checked."""

    edges: Edges
    graph: Graph
    start: Side
    end: Side
    loss: Loss
    held: Edges | None
    held_labels: Array | None
    kept: Kept
    known: tuple[Array, Array]  # the start and end vertices of all edges that were given, held-out ones included
    kernel: EdgeKernel | None = None  # of the edges, where it is more than one Kronecker product
    tensors: bool = False  # whether the user gave tensors, and gets tensors
    watch: Watch = Watch()  # noqa: RUF009 (it is frozen)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the computation."""
        return numpy_dtype(self.loss.y)

    @property
    def device(self) -> Any:
        """The device of torch that everything is on; None for the host."""
        return self.edges.device

    def inward(self, x: Any, form: str) -> Any:
        """Return coefficients that left an earlier fit as its solver had them."""
        x = like(x, self.loss.y, self.dtype)
        return self.kept.inward(x) if form == "dual" else x

    def given(self, x: Any) -> Any:
        """Return an array in the kind that the user gave."""
        return x if self.tensors else to_host(x)


def held_blas(training: Training) -> AbstractContextManager[None]:
    """Hold BLAS to one thread while our own threads run; on a device of torch there are none."""
    # BLAS threads that have just computed an inner product go on spinning, and halve the speed of our own.
    return single_threaded_blas() if training.device is None else nullcontext()


def gpu_order(edges: Edges) -> Any:
    """Return the order of edges by start and end vertex, in which a GPU passes over them; None where they are in it.

    On the host the operator sorts for itself.
    """
    if edges.device is None:
        return None
    key = edges.start.long() * len(edges.end_table) + edges.end
    return None if bool((key[1:] >= key[:-1]).all()) else key.argsort(stable=True)


def release(error: BaseException) -> None:
    """Let go of what a fit that failed had on a device; say in words that it was too much, where it was."""
    traceback.clear_frames(error.__traceback__)  # an exception that somebody keeps would keep its tensors
    give_back()
    if type(error).__name__ == "OutOfMemoryError":
        raise MemoryError(
            f"the device ran out of memory during training: {str(error).partition('. ')[0]}. What helps: "
            "dtype='float32', fewer edges at a time, or backend='cpu'"
        ) from None
