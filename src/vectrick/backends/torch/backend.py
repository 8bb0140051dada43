"""The torch backend: tensors on one device, a GPU or the CPU.

`vectrick.backends.base` documents the methods. This module loads torch only when it is needed.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import cache, partial
from typing import Any

import numpy as np

from vectrick._typing import Array, DTypeLike, Features, Shape, Tensor, TorchDevice
from vectrick.backends.base import Backend
from vectrick.backends.product_path import Matrix, Pair, ProblemLike, ProductPath, compose_paths
from vectrick.backends.rates import Rates
from vectrick.backends.torch import devices
from vectrick.backends.torch.devices import as_device, float32_products, load_torch, release
from vectrick.backends.torch.matrix import TensorMatrix
from vectrick.backends.torch.ordering import is_ordered, remembered
from vectrick.backends.torch.product_paths import SORTING, DeviceStages
from vectrick.backends.torch.rates import device_rates
from vectrick.backends.torch.streamed import StreamedProduct
from vectrick.backends.torch.tensors import as_tensor, group_sums, is_tensor, numpy_dtype, torch_dtype
from vectrick.backends.torch.workspace import TensorSpace

_WHOLE = 1 << 14  # up to this many vertices, the whole kernel matrix is computed
_FEW = 16  # up to this many features, differences are better than a matrix product


class TorchBackend(Backend):
    """Tensors on one torch device; sparse matrices become dense."""

    name = "torch"
    piece = 1 << 27  # fills a GPU, but leaves free memory
    grid_bytes = 1 << 28
    worth_restricting = 0.3  # edges take the smaller part of the time, and must be sorted again
    allowance = 1.25  # reading vectors takes time; the dual form has twice as many vectors with an entry per edge
    divides_rows = True

    def __init__(self, device: TorchDevice) -> None:
        self.device = device

    def __str__(self) -> str:
        return str(self.device)

    @property
    def sorting(self) -> float:  # type: ignore[override]
        """Seconds to sort an edge for products."""
        return SORTING[self.device.type]

    @property
    def xp(self) -> Any:  # type: ignore[override]
        return load_torch()

    def owns(self, x: Any) -> bool:
        return is_tensor(x) and x.device == self.device

    def asarray(self, values: object, dtype: DTypeLike | None = None) -> Tensor:
        return as_tensor(values, self.device, dtype)

    def to_host(self, x: Tensor) -> Any:
        return x.detach().cpu().numpy()

    def plain(self, x: Tensor, name: str) -> Tensor:
        if str(x.layout) != "torch.strided":
            raise TypeError(f"{name} is a sparse tensor; pass a SciPy sparse matrix, or a dense tensor by .to_dense()")
        # Gradients are not supported. A tensor without a gradient is not copied, so it keeps its cached facts.
        return x.detach() if x.requires_grad else x

    def refuse_others(self, x: Any, name: str, what: str) -> None:
        if is_tensor(x) and x.device.type != "cpu" and x.device != self.device:
            raise ValueError(f"{name} is on {x.device}, but {what} on {self}; move one of them with .to()")

    def dtype_of(self, x: Tensor) -> np.dtype[Any]:
        return numpy_dtype(x)

    def cast(self, x: Tensor, dtype: DTypeLike) -> Tensor:
        return x.to(torch_dtype(dtype))

    def copy(self, x: Tensor) -> Tensor:
        return x.clone()

    def zeros(self, shape: Shape, dtype: DTypeLike) -> Tensor:
        return self.xp.zeros(shape, dtype=torch_dtype(dtype), device=self.device)

    def empty(self, shape: Shape, dtype: DTypeLike) -> Tensor:
        return self.xp.empty(shape, dtype=torch_dtype(dtype), device=self.device)

    def arange(self, n: int, dtype: DTypeLike) -> Tensor:
        return self.xp.arange(n, dtype=torch_dtype(dtype), device=self.device)

    def contiguous(self, x: Array, dtype: DTypeLike | None = None) -> Tensor:
        return as_tensor(x, self.device, dtype).contiguous()

    def owned(self, x: Tensor, dtype: DTypeLike) -> Tensor:
        wanted = torch_dtype(dtype)
        if x.dtype != wanted:
            return x.to(wanted)
        return x if getattr(x, "is_read_only", False) else x.clone()

    def read_only(self, x: Tensor) -> Tensor:
        x = x.view_as(x)  # tensors have no such flag, so this view has our own
        x.is_read_only, x.facts = True, {}
        return x

    def remembered(self, x: Tensor, key: object, make: Callable[[], Any]) -> Any:
        return remembered(x, key, make)

    def index(self, key: Any, length: int) -> Any:
        if isinstance(key, slice) and (key.step is None or key.step > 0):
            return key
        if isinstance(key, slice) or key is Ellipsis:
            key = np.arange(length)[key]
        key = key if is_tensor(key) else np.asarray(key)
        is_mask = (numpy_dtype(key) if is_tensor(key) else key.dtype).kind == "b"
        return self.asarray(key, None if is_mask else np.int64)  # torch would treat bytes as a mask

    # Primitives

    def true_places(self, mask: Tensor) -> Tensor:
        return mask.nonzero().flatten()

    def sorted_values(self, x: Tensor) -> Tensor:
        return x.sort().values

    def distinct(self, x: Tensor) -> Any:
        return np.asarray(self.to_host(x.unique()))

    def group_sums(self, groups: Tensor, values: Tensor, n_groups: int) -> Tensor:
        return group_sums(groups, values, n_groups)

    def scattered(self, values: Tensor, rows: Tensor, cols: Tensor, shape: tuple[int, int]) -> Tensor:
        matrix = values.new_zeros(shape)
        places, order = (rows.long() * shape[1] + cols).sort(stable=True)
        places, lengths = places.unique_consecutive(return_counts=True)
        matrix.view(-1)[places] = self.xp.segment_reduce(values[order], "sum", lengths=lengths, unsafe=True)
        return matrix

    def scattered_all(self, values: Tensor, rows: Tensor, cols: Tensor, shape: tuple[int, int]) -> Tensor:
        return self.xp.stack([self.scattered(row, rows, cols, shape) for row in values])

    def is_definite(self, K: Tensor) -> bool:
        return int(self.xp.linalg.cholesky_ex(K).info) == 0

    def solve_triangular(self, L: Tensor, B: Tensor) -> Tensor:
        return self.xp.linalg.solve_triangular(L, B, upper=False)

    def variance(self, X: Tensor) -> float:
        return float(X.var(correction=0))

    def gaussian(self, X: Tensor, Y: Tensor, gamma: float) -> Tensor:
        if X.shape[1] > _FEW:
            centre = Y.mean(0)
            X, Y = X - centre, Y - centre
            out = X @ Y.T
            out.mul_(-2.0).add_(self.squared_norms(X)[:, None]).add_(self.squared_norms(Y)).clamp_(min=0.0)
        else:
            out = X.new_zeros((X.shape[0], Y.shape[0]))
            for x, y in zip(X.T, Y.T, strict=True):
                out.add_((x[:, None] - y).square_())
        return out.mul_(-gamma).exp_()

    def sigmoid(self, x: Tensor) -> Tensor:
        return x.sigmoid()

    def log_sigmoid(self, x: Tensor) -> Tensor:
        return self.xp.nn.functional.logsigmoid(x)

    def makes_at_once(self, m: int, n_features: int) -> bool:
        return m <= _WHOLE and 32 * m * m <= self.free_memory()  # faster than single columns

    def best_of(self, which: Tensor, best: Tensor, cols: slice, block: Tensor) -> tuple[Tensor, Tensor]:
        # A GPU sorts faster than it selects.
        names = (self.arange(block.shape[1], np.int64) + cols.start).expand(block.shape)
        scores, names = self.xp.hstack([best, block]), self.xp.hstack([which, names])
        order = scores.argsort(dim=1, descending=True, stable=True)[:, : best.shape[1]]
        return names.gather(1, order), scores.gather(1, order)

    # Products

    def matrix(
        self, name: str, array: Tensor, dtype: np.dtype[Any], rows: "Tensor | None" = None, cols: "Tensor | None" = None
    ) -> Matrix:
        return TensorMatrix.of(name, array, dtype, rows, cols)

    def product_of(self, name: str, A: Matrix, B: Matrix, dtype: np.dtype[Any]) -> Matrix:
        def make() -> Tensor:
            with self.exact_products():
                return A.array() @ B.array().T

        return TensorMatrix(name, (A.shape[0], B.shape[0]), dtype, make, None)

    def holds(self, factor: Features) -> bool:
        return self.owns(factor)

    def product_paths(self, problem: ProblemLike) -> Iterator[ProductPath]:
        return compose_paths(problem, partial(DeviceStages, kind=self.device.type))

    def streamed(self, F: Array, S: Array, rows: Pair, cols: Pair, dtype: np.dtype[Any], limit: int) -> StreamedProduct:
        return StreamedProduct(F, S, rows, cols, dtype, limit, self.device)

    def workspace(self) -> TensorSpace:
        return TensorSpace(self.device)

    def exact_products(self) -> AbstractContextManager[None]:
        return float32_products(fast=False)

    def edge_order(self, start: Tensor, end: Tensor, n_end: int) -> "Tensor | None":
        return None if is_ordered(start, end) else (start.long() * n_end + end).argsort(stable=True)

    # Rates, memory, placement

    def rates(self, dtype: np.dtype[Any], n_threads: int, fast: bool, measured: bool) -> Rates:
        return device_rates(dtype, self.device, fast, measured)

    def free_memory(self) -> int:
        return devices.free_memory(self.device)

    def has_room(self, n_bytes: int, share: int) -> bool:
        return n_bytes <= self.free_memory() // share

    def operator_memory(self) -> int | None:
        return self.free_memory() // 3

    def release(self, error: BaseException) -> None:
        release(error)

    @property
    def place(self) -> str:
        return f"torch on {self.device}"

    def describe(self, n_threads: int) -> str:
        return self.place

    def __reduce__(self) -> tuple[Any, ...]:
        return on_device, (str(self.device),)


@cache
def backend_on(device: str | None) -> TorchBackend:
    """Return the backend of a torch device; each device has one backend object."""
    return TorchBackend(device)


def on_device(device: str | None) -> TorchBackend:
    """Return the backend of a device by its name: "cpu", "cuda", "cuda:1" or "auto"."""
    return backend_on(as_device(device))
