"""Passes over blocks of edges on a torch device, as products with features; sorted edges stay on the device."""

import weakref
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.backends import Backend
from vectrick.backends.arrays import placed, to_host
from vectrick.data.lake.blocks import EdgeBlock
from vectrick.operators import kron
from vectrick.passes.host import HostPasses
from vectrick.passes.products import EdgeProducts, ProductPasses

_SHARE = 4  # a block stays if it takes at most 1 / _SHARE of the free memory: sorting another one takes more
_BYTES = 72  # for each edge, in a product, its transpose and its vectors


class DevicePasses(ProductPasses):
    """The passes of `HostPasses` on a device.

    Blocks stay there while they fit; others are sent in each pass. Cores are NumPy arrays. Results have the same bits
    in every run on the same kind of device, but differ from results of the CPU.
    """

    def __init__(self, host: HostPasses, backend: Backend) -> None:
        self.host, self.backend = host, backend
        self.R, self.C = (placed(features, backend) for features in (host.R, host.C))
        self._blocks: weakref.WeakKeyDictionary[EdgeBlock, EdgeProducts] = weakref.WeakKeyDictionary()
        self._full: DevicePasses | None = None  # passes of full precision that share their sorted edges

    def lowered(self) -> "DevicePasses":
        """Return the same passes with products in float32, by TF32 on a GPU that has it."""
        low = DevicePasses(self.host.lowered(), self.backend)
        low._full = self
        return low

    @property
    def dtype(self) -> Any:
        """The dtype of the features."""
        return self.host.dtype

    def edges_of(self, block: EdgeBlock) -> EdgeProducts:
        """Return a block on the device."""
        there = self._blocks.get(block)
        if there is None and self._full is not None:
            there = self._full.edges_of(block).lowered()
        elif there is None:
            rows, cols = (placed(vertices, self.backend) for vertices in block.positions())
            features = kron(self.R, self.C, backend=self.backend)[(rows, cols), :]
            label, weight = (
                None if values is None else placed(values, self.backend, np.float64)
                for values in (block.label, block.weight)
            )
            there = EdgeProducts(features, features.T, (self.R.shape[1], self.C.shape[1]), label, weight)
        if self.backend.has_room(_BYTES * len(block), _SHARE):
            self._blocks[block] = there
        return there

    def predicted(self, edges: EdgeProducts, W: Array) -> Array:
        """Return the predictions of a core that is on the host."""
        return super().predicted(edges, placed(np.ascontiguousarray(W, self.dtype), self.backend))

    def lifted(self, edges: EdgeProducts, values: Array) -> Array:
        """Return the core ``Σ v φ ⊗ ψ``, on the host."""
        core: Array = to_host(super().lifted(edges, values))
        return core

    def predictions(self, block: EdgeBlock, W: Array, n_threads: int = 1) -> Array:
        """Return the predictions of the edges, in the order of the block."""
        predictions: Array = to_host(self.predicted(self.edges_of(block), W))
        return predictions

    def predictions_at(self, block: EdgeBlock, W: Array, places: Array, n_threads: int = 1) -> Array:
        """Return the predictions of some edges, given by their places in the block."""
        return self.predictions(block, W)[places].astype(np.float64)

    def row_sums(self, block: EdgeBlock, n_threads: int = 1) -> Array:
        """Return the weighted sum of the features of its columns for each row in ``block.rows``."""
        return self.host.row_sums(block, n_threads)

    def column_sums(self, block: EdgeBlock) -> Array:
        """Return the weighted sum of the features of its rows for each column."""
        return self.host.column_sums(block)
