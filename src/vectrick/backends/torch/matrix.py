"""A dense factor on a torch device."""

from collections.abc import Callable
from typing import Any

import numpy as np

from vectrick._typing import Tensor
from vectrick.backends.product_path import taken
from vectrick.backends.torch.layout import padded
from vectrick.backends.torch.tensors import torch_dtype


class TensorMatrix:
    """A dense matrix on a torch device, padded with zeros so that its sides are multiples of eight.

    Without padding, matrix products with an odd side take up to twice as long.
    """

    def __init__(
        self, name: str, shape: tuple[int, int], dtype: np.dtype[Any], make: Callable[[], Tensor], source: Any
    ) -> None:
        self.name, self.shape, self.dtype, self._make = name, shape, dtype, make
        self._whole = source  # the tensor itself if it needs no conversion, else None
        self._made: dict[bool, Tensor] = {}  # key: is contiguous

    @classmethod
    def of(
        cls, name: str, tensor: Tensor, dtype: np.dtype[Any], rows: "Tensor | None" = None, cols: "Tensor | None" = None
    ) -> "TensorMatrix":
        """Wrap a tensor, or the given rows and columns of it."""
        whole = rows is None and cols is None
        shape = (
            padded(tensor.shape[0] if rows is None else len(rows)),
            padded(tensor.shape[1] if cols is None else len(cols)),
        )
        ready = whole and tensor.dtype == torch_dtype(dtype) and _is_plain(tensor) and tuple(tensor.shape) == shape
        return cls(name, shape, dtype, lambda: taken(tensor, rows, cols), tensor if ready else None)

    @property
    def T(self) -> "TensorMatrix":
        """The transpose, a view of the same memory; not stored, because each would keep the other alive."""
        source = None if self._whole is None else self._whole.T
        return TensorMatrix(self.name, self.shape[::-1], self.dtype, lambda: self.array().T, source)

    def copy_bytes(self, contiguous: bool) -> int:
        """Return the bytes that `array` will allocate."""
        ready = self._whole is not None and (self._whole.is_contiguous() or not contiguous)
        return 0 if ready else self.shape[0] * self.shape[1] * self.dtype.itemsize

    def array(self, contiguous: bool = False) -> Any:
        """Return the matrix, with ``contiguous`` rows if required; made on the first call."""
        if contiguous not in self._made:
            tensor: Any = self._made.get(not contiguous, self._whole)
            if tensor is None:
                tensor = with_zeros(self._make().to(torch_dtype(self.dtype)), self.shape)
            self._made[contiguous] = tensor.contiguous() if contiguous or not _is_plain(tensor) else tensor
        return self._made[contiguous]


def _is_plain(tensor: Tensor) -> bool:
    """Whether a tensor, or its transpose, is contiguous."""
    return bool(tensor.is_contiguous() or tensor.T.is_contiguous())


def with_zeros(matrix: Tensor, shape: tuple[int, int]) -> Any:
    """Return a matrix padded with zeros, or the matrix itself if it already has the shape."""
    if tuple(matrix.shape) == shape:
        return matrix
    larger = matrix.new_zeros(shape)
    larger[: matrix.shape[0], : matrix.shape[1]] = matrix
    return larger
