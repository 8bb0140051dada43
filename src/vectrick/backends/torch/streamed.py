"""A product with a factor that stays on the host: panels of its columns are copied while others are used.

``u[h] = Σ_e F[p_h, r_e] S[q_h, t_e] v_e`` with F on the device and S on the host. For a panel of columns t of S, the
sparse product makes ``T[t, p] = Σ v_e F[p, r_e]`` over the edges with that t, and the sampled product adds
``S[q_h] · T[:, p_h]`` over the panel to each row edge. So each panel of S is copied once in a product, and
neither T nor S is ever whole on the device.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vectrick._typing import Array, DTypeLike, Tensor, TorchDevice
from vectrick.backends.product_path import Allocation
from vectrick.backends.rates import Rates
from vectrick.backends.torch import products
from vectrick.backends.torch.devices import load_torch
from vectrick.backends.torch.layout import EdgeBlocks
from vectrick.backends.torch.tensors import torch_dtype

_WIDEST, _NARROWEST = 1024, 64  # columns of a panel
_BUFFERS = 2  # one is filled while the other one is used


@dataclass(frozen=True)
class _Panel:
    """Some columns of the factor on the host, and the column edges that have them."""

    cols: slice
    edges: slice  # in sorted order
    blocks: EdgeBlocks


class StreamedProduct:
    """A product with F on a device and panels of S from the host; `arrays` and `seconds` need no earlier `run`.

    Parameters
    ----------
    F, S : array
        The factor to keep on the device, and the NumPy array that stays on the host.
    rows, cols : pair of tensors
        The vertices of row and column edges in F and in S, on the device.
    dtype : dtype
        The dtype of the product.
    limit : int
        The bytes that it may take on the device; MemoryError if it needs more.
    device : torch.device
        The device that computes the product.
    """

    def __init__(
        self,
        F: Array,
        S: Array,
        rows: tuple[Tensor, Tensor],
        cols: tuple[Tensor, Tensor],
        dtype: np.dtype[Any],
        limit: int,
        device: TorchDevice,
    ) -> None:
        torch = load_torch()
        self.device, self.dtype = device, torch_dtype(dtype)
        self.S = torch.from_numpy(np.ascontiguousarray(S))
        p, q, r, t = (edges for pair in (rows, cols) for edges in pair)  # tensors
        self.n_rows, self.n_cols = len(p), len(r)
        (a, b), (c, d) = F.shape, S.shape
        size = np.dtype(dtype).itemsize
        kept = [
            Allocation("factor on the device", a * b * size),
            Allocation("sorted edges", 24 * self.n_cols + 24 * self.n_rows),
            Allocation("vectors in sorted order", (self.n_cols + 3 * self.n_rows) * size),
        ]
        of_column = (_BUFFERS * c + 2 * a) * size
        free = limit - sum(array.n_bytes for array in kept)
        least = min(_NARROWEST, d)
        self.width = min(_WIDEST, d, max(free // (2 * of_column), least))  # the other half is for blocks of vectors
        if self.width * of_column > free:
            raise MemoryError(
                f"a product with a factor of {c} × {d} on the host needs "
                f"{sum(array.n_bytes for array in kept) + of_column * least} bytes on the device, but max_memory "
                f"is {limit}"
            )
        self.arrays = (*kept, Allocation("panels", of_column * self.width))
        self.E = _transposed(F, device, self.dtype)
        order = (t.long() * b + r).sort(stable=True).indices
        self.order, t, r = order.int(), t[order], r[order]
        self.panels = list(self._panels(t, r, d, b))
        self.rows = EdgeBlocks.of(q, p, c, a)
        self._pinned: list[Tensor] = []
        self._panel_buffers: list[Tensor] = []
        self._shape = (a, c, d)
        self._rate = 0.0

    def _panels(self, t: Tensor, r: Tensor, d: int, b: int) -> Any:
        torch = load_torch()
        starts = list(range(0, d, self.width))
        bounds = torch.searchsorted(t, t.new_tensor([*starts, d])).tolist()
        for start, low, high in zip(starts, bounds[:-1], bounds[1:], strict=True):
            stop = min(start + self.width, d)
            if high > low:
                blocks = EdgeBlocks.of(t[low:high] - start, r[low:high], stop - start, b)
                yield _Panel(slice(start, stop), slice(low, high), blocks)

    @property
    def label(self) -> str:
        """The product in words."""
        return f"{len(self.panels)} panels of {self.width} columns from the host, sparse product, sampled product"

    def seconds(self, rates: Rates) -> float:
        """Return the estimated time of one product; a copy overlaps the arithmetic of the panel before."""
        a, c, _ = self._shape
        size = self.E.element_size()
        n_columns = sum(panel.cols.stop - panel.cols.start for panel in self.panels)
        copies = n_columns * c * size / self._copy_rate()
        flops = 2 * self.n_cols * a / rates.sparse_large + 2 * self.n_rows * n_columns / rates.sampled_large
        moved = n_columns * (4 * a + c) * size / rates.move
        compute = flops + moved + len(self.panels) * (8 * rates.dispatch + 2 * self.n_rows / rates.take)
        result: float = max(copies, compute) + min(copies, compute) / max(1, len(self.panels))
        return result

    def _copy_rate(self) -> float:
        """Return the bytes of the factor that are copied in a second, measured with its first panel."""
        if not self._rate:
            self._make_buffers()
            begin, panel = 0.0, self.panels[0].cols if self.panels else slice(0, self.width)
            for number in range(3):  # the first two runs touch the memory
                begin = time.perf_counter() if number == 2 else begin
                self._stage(panel, number % _BUFFERS)
                self._cross(panel, number % _BUFFERS)
                self._wait()
            n_bytes = (panel.stop - panel.start) * self._shape[1] * self.E.element_size()
            self._rate = n_bytes / max(time.perf_counter() - begin, 1e-9)
        return self._rate

    def _make_buffers(self) -> None:
        torch = load_torch()
        if self._panel_buffers:
            return
        c, on_gpu = self._shape[1], self.device.type == "cuda"
        make: dict[str, Any] = {"dtype": self.dtype}
        n_items = c * self.width
        self._pinned = [torch.empty(n_items, pin_memory=on_gpu, **make) for _ in range(_BUFFERS)]
        self._panel_buffers = [torch.empty(n_items, device=self.device, **make) for _ in range(_BUFFERS)]

    def _stage(self, cols: slice, at: int) -> None:
        """Copy a panel to pinned memory that the device reads directly, with the threads of torch."""
        shape = (self._shape[1], cols.stop - cols.start)
        self._pinned[at][: shape[0] * shape[1]].view(shape).copy_(self.S[:, cols])

    def _cross(self, cols: slice, at: int) -> Tensor:
        shape = (self._shape[1], cols.stop - cols.start)
        n_items = shape[0] * shape[1]
        there = self._panel_buffers[at][:n_items]
        there.copy_(self._pinned[at][:n_items], non_blocking=True)
        return there.view(shape)

    def _wait(self) -> None:
        if self.device.type == "cuda":
            load_torch().cuda.synchronize(self.device)

    def run(self, block: Tensor, out: Tensor) -> None:
        """Write the products with the columns of a block; all of them share the copied panels."""
        torch = load_torch()
        self._make_buffers()
        values = [block[:, column][self.order] for column in range(block.shape[1])]
        sums = [torch.zeros(self.n_rows, dtype=self.dtype, device=self.device) for _ in values]
        if self.device.type == "cuda":
            self._run_overlapped(values, sums)
        else:
            for panel in self.panels:
                self._stage(panel.cols, 0)
                self._compute(panel, self._cross(panel.cols, 0), values, sums)
        for column, total in enumerate(sums):
            out[:, column] = total if self.rows.position is None else total[self.rows.position]

    def _run_overlapped(self, values: Sequence[Tensor], sums: Sequence[Tensor]) -> None:
        """Fill and copy one buffer while the device computes with the other one."""
        cuda = load_torch().cuda
        with cuda.device(self.device):
            main, copier = cuda.current_stream(), cuda.Stream()
            crossed = [cuda.Event() for _ in range(_BUFFERS)]
            used = [cuda.Event() for _ in range(_BUFFERS)]
            copier.wait_stream(main)
            for number, panel in enumerate(self.panels):
                at = number % _BUFFERS
                if number >= _BUFFERS:
                    crossed[at].synchronize()  # before the host overwrites memory that the device still reads
                self._stage(panel.cols, at)
                with cuda.stream(copier):
                    if number >= _BUFFERS:
                        copier.wait_event(used[at])
                    there = self._cross(panel.cols, at)
                    crossed[at].record(copier)
                main.wait_event(crossed[at])
                self._compute(panel, there, values, sums)
                used[at].record(main)
            copier.synchronize()

    def _compute(self, panel: _Panel, A: Tensor, values: Sequence[Tensor], sums: Sequence[Tensor]) -> None:
        """Add the products with the columns of a panel to the results, in the order of the row blocks."""
        width, a = A.shape[1], self._shape[0]
        T, turned = A.new_empty((width, a)), A.new_empty((a, width))
        part = A.new_empty(self.n_rows)
        for v, total in zip(values, sums, strict=True):
            products.sparse_product(self.E, v[panel.edges], panel.blocks, T)
            turned.copy_(T.T)
            products.sampled_product(A, turned, self.rows, part)
            total.add_(part)


def _transposed(F: Array, device: TorchDevice, dtype: DTypeLike | None) -> Tensor:
    """Return the transpose of a factor on a device with contiguous rows; it is moved in blocks to hold it only once."""
    torch = load_torch()
    source = torch.from_numpy(np.ascontiguousarray(F)) if isinstance(F, np.ndarray) else F
    there = torch.empty((F.shape[1], F.shape[0]), dtype=dtype, device=device)
    step = max(1, (1 << 26) // max(1, F.shape[1]))
    for low in range(0, F.shape[0], step):
        there[:, low : low + step] = source[low : low + step].to(device, dtype).T
    return there
