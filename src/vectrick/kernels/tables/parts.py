"""The kernel of vertices that are pairs: the product of the kernels of their parts."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from vectrick._typing import Array, Features
from vectrick.backends.arrays import like, namespace, to_host
from vectrick.data import VertexTable
from vectrick.data.pairs import Pairs
from vectrick.data.tables import row_keys
from vectrick.kernels.base import Kernel
from vectrick.kernels.strings.encoded import RECENT

Binder: TypeAlias = Callable[[Kernel, VertexTable, str], Kernel]

_MOST_FEATURES = 4096  # products of the features of both parts, above which there are none


class Parts(Kernel):
    """The product of the kernels of the two parts of vertices that are pairs (`Pairs`).

    ``k((a, b), (c, d)) = k(a, c) h(b, d)``; if pairs have no order, ``(k(a, c) k(b, d) + k(a, d) k(b, c)) / 2``. A
    kernel that is given for pairs becomes the kernel of their parts automatically, so this one is needed only if both
    parts have different kernels, or for sums: ``vt.Parts(vt.Tanimoto()) + vt.Parts(vt.Constant() + vt.Identity())``.

    The kernels are evaluated between different parts only. For m and p pairs of s and t different parts this takes the
    cost of an s × t kernel matrix, and O(m p) for the products.

    Parameters
    ----------
    kernel : Kernel
        The kernel of the first parts, and of both parts unless ``other`` is given.
    other : Kernel, optional
        The kernel of the second parts.
    symmetric, width : optional
        Whether pairs have no order, and the number of columns of the first parts; a fit sets them.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> k = vt.Parts(vt.Linear(), symmetric=True, width=1)
    >>> k(np.array([[2.0, 3.0]]), np.array([[5.0, 7.0]]))  # (2·5 · 3·7 + 2·7 · 3·5) / 2
    array([[210.]])
    """

    name = "parts"
    reads = "any"  # the kernels are checked with the tables of the parts
    learned = ("symmetric", "width")

    def __init__(
        self, kernel: Kernel, other: Kernel | None = None, symmetric: bool | None = None, width: int | None = None
    ) -> None:
        self.kernel = kernel
        self.other = other
        self.symmetric = symmetric
        self.width = width

    @property
    def is_psd(self) -> bool:  # type: ignore[override]
        """Whether the kernels of the parts are positive semi-definite."""
        return self.kernel.is_psd and (self.other is None or self.other.is_psd)

    @property
    def needs_labels(self) -> bool:  # type: ignore[override]
        """Whether a kernel of the parts uses labels."""
        return self.kernel.needs_labels or (self.other is not None and self.other.needs_labels)

    def with_profiles(self, profiles: Array) -> "Kernel":
        """Return the kernel with the profiles of the training pairs; `resolve` makes those of the parts."""
        settled = self.with_parameters()
        settled._profiles = profiles
        return settled

    _profiles: Array | None = None

    def of_table(self, table: VertexTable, argument: str, bound: Binder) -> "Parts":
        """Return the kernel with its parts bound to the tables of the parts."""
        if not isinstance(table, Pairs):
            raise ValueError(f"{argument} has {self!r}, but {table.name} is no vt.Pairs, so its vertices have no parts")
        if self.other is not None and table.symmetric:
            raise ValueError(f"{argument} has a kernel of its own for second parts, but {table.name} has pairs without "
                             "order; use vt.Pairs(..., symmetric=False)")  # fmt: skip
        kernel = bound(self.kernel, table.parts[0], argument)
        other = self.other
        if other is not None or table.parts[1] is not table.parts[0]:
            other = bound(self.kernel if other is None else other, table.parts[1], argument)
        return self.with_parameters(kernel=kernel, other=other, symmetric=table.symmetric, width=table.widths[0])

    def resolve(self, X: Features, positions: Array) -> "Parts":
        """Return the kernel with the kernels of the parts resolved for the parts of the training pairs."""
        if self.other is None:
            parts, places = self._distinct(X)
            kernel = self._with_labels(self.kernel, places, len(positions), parts.shape[0])
            return self.with_parameters(kernel=kernel.resolve(parts, np.arange(parts.shape[0])))
        made = []
        for kernel, half in ((self.kernel, self._half(X, 0)), (self.other, self._half(X, 1))):
            rows, place = _unique(half)
            given = self._with_labels(kernel, [place], len(positions), len(rows))
            made.append(given.resolve(half[rows], np.arange(len(rows))))
        return self.with_parameters(kernel=made[0], other=made[1])

    def of_training(self, X: Features) -> list[tuple[Kernel, Features]]:
        """Return the kernels of parts, each with the different parts of the training pairs X."""
        if self.other is None:
            return [(self.kernel, self._distinct(X)[0])]
        halves = self._half(X, 0), self._half(X, 1)
        kernels = self.kernel, self.other
        return [(kernel, half[_unique(half)[0]]) for kernel, half in zip(kernels, halves, strict=True)]

    def _with_labels(self, kernel: Kernel, places: list[Array], n_pairs: int, n_parts: int) -> Kernel:
        """Return the kernel of parts with their profiles: the means of the profiles of their pairs."""
        if self._profiles is None or not kernel.needs_labels:
            return kernel
        ones = np.ones(n_pairs)
        of_part = csr_array((n_parts, n_pairs))
        for place in places:
            of_part = of_part + csr_array((ones, (place, np.arange(n_pairs))), shape=(n_parts, n_pairs))
        counts = np.maximum(np.asarray(of_part.sum(axis=1)).ravel(), 1.0)
        return kernel.with_profiles(np.asarray(of_part @ self._profiles) / counts[:, None])

    def _half(self, X: Features, second: int) -> Any:
        if self.width is None:
            raise ValueError("a Parts kernel knows the parts only in a fit, by the table of vt.Pairs")
        return X[:, int(self.width) :] if second else X[:, : int(self.width)]

    def _distinct(self, X: Features) -> tuple[Any, list[Array]]:
        """Return the different parts of pairs from one table, and the places of the first and second parts."""

        def find() -> tuple[Any, list[Array]]:
            first, second = self._half(X, 0), self._half(X, 1)
            both = csr_array(vstack([first, second], "csr")) if issparse(first) else namespace(first).concatenate(
                [first, second])  # fmt: skip
            rows, place = _unique(both)
            return both[rows], [place[: first.shape[0]], place[first.shape[0] :]]

        found: tuple[Any, list[Array]] = RECENT.of(Parts(self.kernel, width=self.width), X, find)
        return found

    def _matrix(self, X: Features, Y: Features) -> Array:
        if self.other is not None:
            own = self._half(X, 0), self._half(X, 1)
            others = own if Y is X else (self._half(Y, 0), self._half(Y, 1))
            first: Array = self.kernel(own[0], others[0])
            second: Array = self.other(own[1], others[1])
            return first * second
        parts, (a, b) = self._distinct(X)
        others, (c, d) = (parts, [a, b]) if Y is X else self._distinct(Y)
        K = self.kernel(parts, parts if Y is X else others)
        a, b, c, d = (like(place, K, np.int64) for place in (a, b, c, d))
        straight: Array = K[a][:, c] * K[b][:, d]
        turned: Array = K[a][:, d] * K[b][:, c]
        return 0.5 * (straight + turned) if self.symmetric else straight

    def diagonal(self, X: Features) -> Array:
        """Return the kernel values of the pairs of X with themselves."""
        if self.other is not None:
            first: Array = self.kernel.diagonal(self._half(X, 0))
            second: Array = self.other.diagonal(self._half(X, 1))
            return first * second
        parts, (a, b) = self._distinct(X)
        own = self.kernel.diagonal(parts)
        a, b = like(a, own, np.int64), like(b, own, np.int64)
        straight: Array = own[a] * own[b]
        if not self.symmetric:
            return straight
        K = self.kernel(parts, parts)
        turned: Array = K[a, b] * K[b, a]
        return 0.5 * (straight + turned)

    def features(self, X: Features) -> Features | None:
        """Return the products of the features of both parts, if they are few."""
        other: Kernel = self.kernel if self.other is None else self.other
        halves: list[Any] = [self.kernel.features(self._half(X, 0)), other.features(self._half(X, 1))]
        if any(half is None for half in halves) or halves[0].shape[1] * halves[1].shape[1] > _MOST_FEATURES:
            return None
        first, second = (to_host(half.toarray() if issparse(half) else half) for half in halves)
        product = first[:, :, None] * second[:, None, :]
        if self.symmetric:
            product = 0.5 * (product + product.transpose(0, 2, 1))
        flat = product.reshape(len(product), first.shape[1] * second.shape[1])
        return np.asarray(flat) if issparse(X) else like(flat, X, np.float64)


def _unique(features: Features) -> tuple[Array, Array]:
    """Return the first row of each different row, and the place of each row among them."""
    number: dict[Any, int] = {}
    place = np.array([number.setdefault(key, len(number)) for key in row_keys(features)], np.int64)
    _, rows = np.unique(place, return_index=True)
    return rows, place
