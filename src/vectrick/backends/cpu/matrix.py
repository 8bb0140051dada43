"""A dense factor on the CPU; each copy is made once, when it is needed."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from vectrick._typing import Array, Features
from vectrick.backends.product_path import taken


class HostMatrix:
    """A dense matrix that is made when it is needed: taken from a larger one, expanded, converted or reordered.

    A matrix and its transpose share their arrays, but do not refer to each other. A reference cycle would keep kernel
    matrices alive until the garbage collector runs.
    """

    def __init__(
        self, name: str, shape: tuple[int, int], dtype: np.dtype[Any], make: Callable[[], Array], source: Features
    ) -> None:
        self.name, self.shape, self.dtype, self._make = name, shape, dtype, make
        self._whole = source  # the array itself if it needs no conversion, else None
        self._made: dict[tuple[bool, bool], Array] = {}  # keys: is transposed, is contiguous
        self._is_transposed = False

    @classmethod
    def of(
        cls, name: str, array: Array, dtype: np.dtype[Any], rows: Array | None = None, cols: Array | None = None
    ) -> "HostMatrix":
        """Wrap an array, or the given rows and columns of it."""
        whole = rows is None and cols is None
        shape = (array.shape[0] if rows is None else len(rows), array.shape[1] if cols is None else len(cols))
        source = array if whole and array.dtype == dtype and array.dtype.isnative else None

        def make() -> Array:
            return np.asarray(taken(array, rows, cols)).astype(dtype, copy=False)

        return cls(name, shape, dtype, make, source)

    @property
    def T(self) -> "HostMatrix":
        """The transpose, in the same memory if possible."""
        turned = copy.copy(self)
        turned.shape, turned._is_transposed = self.shape[::-1], not self._is_transposed
        return turned

    @property
    def _source(self) -> Any:
        return self._whole.T if self._is_transposed and self._whole is not None else self._whole

    def copy_bytes(self, contiguous: bool) -> int:
        """Return the bytes that `array` will allocate."""
        flags = None if self._source is None else self._source.flags
        ready = flags is not None and (flags.c_contiguous or (flags.f_contiguous and not contiguous))
        return 0 if ready else self.shape[0] * self.shape[1] * self.dtype.itemsize

    def array(self, contiguous: bool = False) -> Array:
        """Return the matrix, C-contiguous if required; made on the first call."""
        key = self._is_transposed, contiguous
        if key not in self._made:
            array = self._made.get((self._is_transposed, False), self._source)
            if array is None:
                array = self.T.array().T if self._is_transposed else self._make()
            if contiguous or not (array.flags.c_contiguous or array.flags.f_contiguous):
                array = np.ascontiguousarray(array)
            self._made[key] = array
            if array.flags.c_contiguous:
                self._made[self._is_transposed, True] = self._made[self._is_transposed, False] = array
        return self._made[key]
