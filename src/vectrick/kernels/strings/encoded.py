"""Kernels of strings: features of each string, and a kernel of these features."""

import threading
import weakref
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from vectrick._typing import Array, Features
from vectrick.data.strings.table import as_characters, strings_of
from vectrick.kernels.base import Kernel, are_equal

_RECENT = 16  # tables whose features are cached
_KEPT = 200_000  # strings whose features are cached, for each kind of features


class Encoded(Kernel):
    """A kernel that makes features of the vertices; its parameter ``kernel`` is the kernel of these features."""

    kernel: Any

    @abstractmethod
    def encoded(self, X: Features) -> Any:
        """Return the features of vertices."""

    @property
    @abstractmethod
    def inner(self) -> Kernel:
        """The kernel of the features."""

    @property
    def is_psd(self) -> bool:  # type: ignore[override]
        """Whether the kernel of the features is positive semi-definite."""
        return self.inner.is_psd

    def _matrix(self, X: Features, Y: Features) -> Array:
        first = self.encoded(X)
        return self.inner(first, first if Y is X else self.encoded(Y))

    def diagonal(self, X: Features) -> Array:
        """Return the kernel values of the vertices of X with themselves."""
        return self.inner.diagonal(self.encoded(X))

    def features(self, X: Features) -> Features | None:
        """Return the features of the inner kernel, if it has finitely many."""
        return self.inner.features(self.encoded(X))


class TextKernel(Encoded):
    """A kernel of strings. A subclass defines `encode`, to make features of strings, and has a parameter ``kernel``.

    Call it with strings, or with the tables of characters that hold vertices given as strings.

    Each string is encoded once, O(total length); then the cost is that of the kernel of their features.

    Examples
    --------
    >>> import vectrick as vt
    >>> isinstance(vt.Spectrum(k=2), vt.kernels.TextKernel)
    True
    >>> vt.Spectrum(k=2)(["ABAB"], ["ABAB", "CDCD"])
    array([[1., 0.]])
    """

    reads = "text"

    @abstractmethod
    def encode(self, strings: Sequence[str]) -> Any:
        """Return features of strings, a row for each."""

    def encoded(self, X: Features) -> Any:
        """Return the features of a table of characters, or of strings."""
        table = as_characters(X, "X")
        return RECENT.of(self, table, lambda: self.encode(strings_of(table)))

    def resolve(self, X: Features, positions: Array) -> "TextKernel":
        """Return the kernel with its inner kernel resolved; itself, if the inner kernel does not depend on the data."""
        settled = self.inner.resolve(self.encoded(X), positions)
        if are_equal(settled, self.inner):
            return self
        return self.with_parameters(kernel=settled)


def chosen_kernel(kernel: Kernel, usual: Kernel) -> Kernel:
    """Return the given kernel of the features, or the usual one."""
    if kernel is None:
        return usual
    if not isinstance(kernel, Kernel) or kernel.reads == "text" or kernel.needs_labels or kernel.is_matrix:
        raise ValueError(f"kernel is {kernel!r}, but it must be a kernel of numbers such as vt.Gaussian(), or None")
    return kernel


class RowCache:
    """A cache of the sparse rows of strings, by kind of features, because folds need the same strings repeatedly.

    All kernels of a process share it; it is thread-safe.
    """

    def __init__(self) -> None:
        self._known: dict[Any, dict[str, tuple[Array, Array]]] = {}
        self._lock = threading.Lock()

    def of(self, key: object, strings: Sequence[str], n_columns: int, compute: Any) -> csr_array:
        """Return a row for each string; ``compute`` yields columns and values for each of a list of new strings."""
        with self._lock:
            known = self._known.setdefault(key, {})
            found = {string: known[string] for string in strings if string in known}
        new = [string for string in dict.fromkeys(strings) if string not in found]
        made = dict(zip(new, compute(new), strict=True)) if new else {}
        with self._lock:
            if len(known) + len(made) > _KEPT:
                known.clear()
            if len(made) <= _KEPT:
                known.update(made)
        found |= made
        rows = [found[string] for string in strings]
        ends = np.concatenate([[0], np.cumsum([len(columns) for columns, _ in rows])])
        ends = ends.astype(np.int32 if ends[-1] < 2**31 else np.int64)
        columns = np.concatenate([columns for columns, _ in rows]) if rows else np.empty(0, np.int32)
        values = np.concatenate([values for _, values in rows]) if rows else np.empty(0)
        return csr_array((values.astype(np.float64), columns, ends), (len(rows), n_columns))


class Recent:
    """A cache of the features of recent tables, because each prediction needs the features of the training table."""

    def __init__(self) -> None:
        self._made: dict[Any, tuple[Any, Any]] = {}
        self._lock = threading.Lock()

    def of(self, kernel: Kernel, table: Features, make: Any, state: object = None) -> Any:
        """Return the features of a table, computed once while the table exists and is among the last few.

        They depend on the parameters of the kernel and on its ``state``.
        """
        own = {name: value for name, value in kernel.get_params(deep=False).items() if name not in ("kernel", "known")}
        key = type(kernel), repr(own), state, id(table), id(getattr(kernel, "known", None))
        with self._lock:
            found = self._made.get(key)
            if found is not None and found[0]() is table:
                return found[1]
        made = make()
        with self._lock:
            if len(self._made) >= _RECENT:
                self._made.pop(next(iter(self._made)))
            self._made[key] = weakref.ref(table), made
        return made


ROWS, RECENT = RowCache(), Recent()
