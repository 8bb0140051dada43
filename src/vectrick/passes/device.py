"""What is made of a block of edges on a device of torch: products with its features, whose sorted edges stay there."""

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.backends import Backend
from vectrick.backends.arrays import placed, to_host
from vectrick.data.lake.blocks import EdgeBlock
from vectrick.losses import Loss
from vectrick.operators import kron
from vectrick.passes.host import HostPasses, Use

_SHARE = 4  # of the memory that is free beside it, that a block may take to stay there: sorting another one takes more
_BYTES = 64  # of an edge in a product, its transpose and its vectors


class _OnDevice:
    """A block on a device: its product with features, labels and weights."""

    def __init__(self, block: EdgeBlock, R: Array, C: Array, backend: Backend) -> None:
        rows, cols = (placed(vertices, backend) for vertices in block.positions())
        self.features = kron(C, R, backend=backend)[(cols, rows), :]
        self.transposed = self.features.T
        self.label, self.weight = (
            None if values is None else placed(values, backend, np.float64) for values in (block.label, block.weight)
        )


class DevicePasses:
    """The passes of `HostPasses` on a device.

    Blocks stay there while they fit; others come in each pass. Results are NumPy arrays. All bits are the same in every
    run on such a device, but not those of the CPU.
    """

    def __init__(self, host: HostPasses, backend: Backend) -> None:
        self.host, self.backend = host, backend
        self.R, self.C = (placed(features, backend) for features in (host.R, host.C))
        self._blocks: weakref.WeakKeyDictionary[EdgeBlock, _OnDevice] = weakref.WeakKeyDictionary()

    @property
    def dtype(self) -> Any:
        """That of the features."""
        return self.host.dtype

    def _there(self, block: EdgeBlock) -> _OnDevice:
        there = self._blocks.get(block)
        if there is None:
            there = _OnDevice(block, self.R, self.C, self.backend)
            if self.backend.has_room(_BYTES * len(block), _SHARE):
                self._blocks[block] = there
        return there

    def _vector(self, W: Array) -> Array:
        return placed(np.ascontiguousarray(W.T, self.dtype).reshape(-1), self.backend)

    def _core(self, w: Array) -> Array:
        core: Array = to_host(w).reshape(self.C.shape[1], self.R.shape[1]).T
        return core

    def quadratic(self, block: EdgeBlock, W: Array, n_threads: int = 1) -> Array:
        """Return the core ``Σ h p φ ⊗ ψ`` over the edges."""
        there = self._there(block)
        p = there.features @ self._vector(W)
        if there.weight is not None:
            p = p * there.weight
        return self._core(there.transposed @ self.backend.cast(p, self.dtype))

    def pointwise(
        self, block: EdgeBlock, cores: Sequence[Array], use: Use, n_sums: int, n_threads: int = 1
    ) -> tuple[list[Array], Array]:
        """Return one or two cores ``Σ v φ ⊗ ψ`` of values that ``use`` makes of predictions, and its numbers."""
        there = self._there(block)
        predicted = [there.features @ self._vector(W) for W in cores]
        values, numbers = use(predicted, there.label, there.weight)
        return [self._core(there.transposed @ self.backend.cast(value, self.dtype)) for value in values], numbers

    def knows(self, loss: type[Loss]) -> bool:
        """Say no: losses are computed by torch."""
        return False

    def predictions(self, block: EdgeBlock, W: Array, n_threads: int = 1) -> Array:
        """Return the predictions of the edges, in the order of the block."""
        predictions: Array = to_host(self._there(block).features @ self._vector(W))
        return predictions

    def predictions_at(self, block: EdgeBlock, W: Array, places: Array, n_threads: int = 1) -> Array:
        """Return the predictions of some edges, given by their places in the block."""
        return self.predictions(block, W)[places].astype(np.float64)

    def row_sums(self, block: EdgeBlock, n_threads: int = 1) -> Array:
        """Return for each row with edges the weighted sum of the features of its columns."""
        return self.host.row_sums(block, n_threads)

    def column_sums(self, block: EdgeBlock) -> Array:
        """Return for each column the weighted sum of the features of its rows."""
        return self.host.column_sums(block)
