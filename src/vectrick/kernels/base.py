"""The base class of vertex kernels, and sums and products of kernels."""

import copy
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, hstack, issparse
from sklearn.base import BaseEstimator

from vectrick._registry import Registry
from vectrick._typing import Array, Features
from vectrick.backends import backend_of
from vectrick.backends.arrays import namespace, placed, to_host, unmasked
from vectrick.data.strings.table import as_characters


class KernelWarning(UserWarning):
    """A kernel has a problem: its matrix had to be repaired, or vertices or weights are doubtful.

    Examples
    --------
    >>> import warnings, numpy as np, vectrick as vt
    >>> K = np.array([[1.0, 2.0], [2.0, 1.0]])  # which has a negative eigenvalue
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = vt.KronRidge("precomputed", "linear").fit(vt.Edges([0, 1], [0, 1], K, np.eye(2)), [1.0, -1.0])
    >>> caught[0].category.__name__
    'KernelWarning'
    """


class Kernel(BaseEstimator):
    """A kernel function of vertices, ``kernel(X, Y)`` for feature tables X and Y: arrays, sparse matrices or tensors.

    A subclass defines `_matrix` and `diagonal`. It may define `resolve` (for parameters that depend on the data) and
    `features` (if the kernel has finitely many). Its parameters are the arguments of ``__init__``, and a grid search
    sets them as ``start_kernel__gamma``. Kernels can be added and multiplied. Your own kernel works in `fit` directly.
    After ``vt.register``, its ``name`` works everywhere, and models that use it can be saved and loaded.

    The cost of a subclass is that of its `_matrix`.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> class Same(vt.kernels.Kernel):
    ...     def _matrix(self, X, Y):
    ...         return 1.0 * (X[:, None] == Y).all(axis=2)
    ...     def diagonal(self, X):
    ...         return np.ones(len(X))
    >>> (Same() + vt.Constant(0.5))(np.eye(2), np.eye(2))
    array([[1.5, 0.5],
           [0.5, 1.5]])
    """

    name = ""  # its name in ``start_kernel`` and in text, once it is registered
    aliases: tuple[str, ...] = ()
    learned: tuple[str, ...] = ()  # parameters that a fit determines; text omits them
    is_psd = True  # positive semi-definite for all data; otherwise the matrix is checked
    reads = "numbers"  # the type of its vertices: "numbers", "text" or "any"
    needs_labels = False  # whether it uses the labels of training edges, passed by `with_profiles`
    is_light = False  # whether `plus` needs no matrix of its own
    of_vertices: tuple[str, ...] = ()  # learned parameters that are the features of the training vertices

    def __call__(self, X: Features, Y: Features = None) -> Array:
        """Return the matrix of kernel values between the rows of X and of Y; by default Y is X."""
        if self.reads == "text":
            X, Y = as_characters(X, "X"), None if Y is None else as_characters(Y, "Y")
        X, Y = unmasked(X, "X"), unmasked(X if Y is None else Y, "Y")
        X, Y = _same_kind(X, Y)
        computed = _computed.get()
        return self._matrix(X, Y) if computed is None else computed.of(self, X, Y)

    @property
    def is_matrix(self) -> bool:
        """Whether it, or a kernel that it contains, reads values from a given kernel matrix."""
        return any(isinstance(part, Kernel) and part.is_matrix for part in self.get_params(deep=False).values())

    @abstractmethod
    def _matrix(self, X: Features, Y: Features) -> Array:
        """Return the matrix of kernel values between the rows of X and of Y."""

    @abstractmethod
    def diagonal(self, X: Features) -> Array:
        """Return the kernel values of the rows of X with themselves."""

    def with_profiles(self, profiles: Array) -> "Kernel":
        """Return the kernel with the profiles of the training vertices, if it needs them (see `Profile`)."""
        return self

    def with_parameters(self, **parameters: Any) -> Self:
        """Return a kernel of the same class, possibly a subclass, with some other parameters."""
        settled = copy.copy(self)  # a subclass may have an __init__ of its own
        for name, value in parameters.items():
            setattr(settled, name, value)
        return settled

    def resolve(self, X: Features, positions: Array) -> "Kernel":
        """Return the kernel with values for all parameters that depend on the training vertices.

        ``positions`` are their rows in the table that X was taken from.
        """
        return self

    def plus(self, K: Array, X: Features, Y: Features, weight: float = 1.0) -> Array:
        """Return the kernel values K of another kernel plus those of this kernel."""
        return K + weight * self(X, Y)

    def columns(self, X: Features, train: Features, which: Array) -> Array:
        """Return the kernel values between the rows of X and the rows ``which`` of the training vertices."""
        return self(X, train[which])

    def features(self, X: Features) -> Features | None:
        """Return features whose inner products are the kernel values, or None if there are infinitely many."""
        return None

    def __add__(self, other: object) -> "Sum":
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: object) -> "Product | Scaled":
        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(self, float(other)) if isinstance(other, Real) and not isinstance(other, bool) else NotImplemented

    def __rmul__(self, other: object) -> "Scaled":
        return Scaled(self, float(other)) if isinstance(other, Real) and not isinstance(other, bool) else NotImplemented


class _Computed:
    """A cache of kernel matrices, by kernel and tables, of limited size."""

    def __init__(self) -> None:
        self._known: dict[Any, tuple[Any, Any, Array]] = {}
        self._room = _KEPT_BYTES

    def of(self, kernel: Kernel, X: Features, Y: Array) -> Array:
        key = kernel_key(kernel), id(X), id(Y)
        if key not in self._known:
            values = kernel._matrix(X, Y)
            self._room -= 8 * values.shape[0] * values.shape[1]
            if self._room < 0:
                return values
            self._known[key] = X, Y, values  # with the tables, so that their ids are not reused
        return self._known[key][2]


_KEPT_BYTES = 1 << 28  # bytes of kernel values that are kept during one call
_computed: ContextVar[_Computed | None] = ContextVar("computed", default=None)


@contextmanager
def computed_once() -> Iterator[None]:
    """Compute the values of a kernel between the same two tables only once within a ``with`` block.

    Several models of one ensemble share kernels, or components of kernels. Callers must not change the values.
    """
    token = _computed.set(_Computed())
    try:
        yield
    finally:
        _computed.reset(token)


KERNELS: Registry[Kernel] = Registry("kernel", Kernel)


class Combination(Kernel):
    """A kernel made of other kernels of the same vertices; the parameters ``parts`` hold them."""

    parts: tuple[str, ...] = ("first", "second")

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels that it is made of."""
        return [getattr(self, name) for name in self.parts]

    @property
    def is_psd(self) -> bool:  # type: ignore[override]
        """Whether all kernels are positive semi-definite."""
        return all(kernel.is_psd for kernel in self.kernels)

    @property
    def reads(self) -> str:  # type: ignore[override]
        """The type of vertices of all kernels; "both" if they differ, a type that no table has."""
        kinds = {kernel.reads for kernel in self.kernels} - {"any"}
        return "both" if len(kinds) > 1 else kinds.pop() if kinds else "any"

    @property
    def needs_labels(self) -> bool:  # type: ignore[override]
        """Whether one of the kernels uses labels."""
        return any(kernel.needs_labels for kernel in self.kernels)

    def changed(self, change: Callable[[Kernel], Kernel]) -> Self:
        """Return the combination of changed kernels; what was one kernel stays one."""
        made = {id(kernel): change(kernel) for kernel in self.kernels}
        return self.with_parameters(**{name: made[id(getattr(self, name))] for name in self.parts})

    def with_profiles(self, profiles: Array) -> "Kernel":
        """Return the combination with the profiles of the training vertices."""
        return self.changed(lambda kernel: kernel.with_profiles(profiles))

    def resolve(self, X: Features, positions: Array) -> "Kernel":
        """Return the combination with all kernels resolved."""
        return self.changed(lambda kernel: kernel.resolve(X, positions))


class _Pair(Combination):
    def __init__(self, first: Kernel, second: Kernel) -> None:
        self.first = first
        self.second = second


class Sum(_Pair):
    """The sum of two kernels.

    The cost is that of both kernels, and O(m p) to add them.

    >>> import numpy as np, vectrick as vt
    >>> (vt.Linear() + vt.Gaussian(gamma=1.0))(np.ones((1, 1)), np.ones((1, 1)))
    array([[2.]])
    """

    name = "sum"

    def _matrix(self, X: Features, Y: Features) -> Array:
        first, second = (self.second, self.first) if self.first.is_light else (self.first, self.second)
        return second.plus(first(X, Y), X, Y)

    def diagonal(self, X: Features) -> Array:
        """Return the kernel values of the rows of X with themselves."""
        return self.first.diagonal(X) + self.second.diagonal(X)

    def columns(self, X: Features, train: Features, which: Array) -> Array:
        """Return the kernel values between the rows of X and some training vertices."""
        return self.first.columns(X, train, which) + self.second.columns(X, train, which)

    def features(self, X: Features) -> Features | None:
        """Return the features of both kernels side by side."""
        first, second = self.first.features(X), self.second.features(X)
        if first is None or second is None:
            return None
        if issparse(first) or issparse(second):
            return csr_array(hstack([first if issparse(first) else csr_array(to_host(first)),
                                     second if issparse(second) else csr_array(to_host(second))], "csr"))  # fmt: skip
        return namespace(first).hstack([first, second])


class Product(_Pair):
    """The elementwise product of two kernels of the same vertices.

    The cost is that of both kernels, and O(m p) to multiply them.

    >>> import numpy as np, vectrick as vt
    >>> (vt.Linear() * vt.Linear())(np.array([[3.0]]), np.array([[2.0]]))
    array([[36.]])
    """

    name = "product"

    def _matrix(self, X: Features, Y: Features) -> Array:
        first = self.first(X, Y)
        return first * (first if are_equal(self.first, self.second) else self.second(X, Y))

    def diagonal(self, X: Features) -> Array:
        """Return the kernel values of the rows of X with themselves."""
        return self.first.diagonal(X) * self.second.diagonal(X)

    def columns(self, X: Features, train: Features, which: Array) -> Array:
        """Return the kernel values between the rows of X and some training vertices."""
        first = self.first.columns(X, train, which)
        return first * (first if are_equal(self.first, self.second) else self.second.columns(X, train, which))


class Scaled(Combination):
    """A kernel times a positive number: ``0.5 * vt.Gaussian()``.

    The cost is that of the kernel.

    >>> import numpy as np, vectrick as vt
    >>> (0.5 * vt.Linear())(np.array([[3.0]]))
    array([[4.5]])
    """

    name = "scaled"
    parts = ("kernel",)

    def __init__(self, kernel: Kernel, weight: float = 1.0) -> None:
        self.kernel = kernel
        self.weight = weight

    @property
    def is_light(self) -> bool:  # type: ignore[override]
        """Whether the kernel can be added without a matrix of its own."""
        return self.kernel.is_light

    def plus(self, K: Array, X: Features, Y: Features, weight: float = 1.0) -> Array:
        """Return the kernel values of another kernel plus those of this kernel."""
        return self.kernel.plus(K, X, Y, weight * self._weight)

    @property
    def _weight(self) -> float:
        if isinstance(self.weight, bool) or not isinstance(self.weight, Real) or not 0 < self.weight < np.inf:
            raise ValueError(f"weight is {self.weight!r}, but it must be a positive number")
        return float(self.weight)

    def _matrix(self, X: Features, Y: Features) -> Array:
        return self._weight * self.kernel(X, Y)

    def diagonal(self, X: Features) -> Array:
        """Return the kernel values of the rows of X with themselves."""
        return self._weight * self.kernel.diagonal(X)

    def columns(self, X: Features, train: Features, which: Array) -> Array:
        """Return the kernel values between the rows of X and some training vertices."""
        return self._weight * self.kernel.columns(X, train, which)

    def features(self, X: Features) -> Features | None:
        """Return the features of the kernel, scaled."""
        found = self.kernel.features(X)
        return None if found is None else self._weight**0.5 * found


def are_equal(first: Kernel, second: Kernel) -> bool:
    """Whether two kernels are the same object, or have the same parameters and no arrays."""
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    mine, other = first.get_params(deep=False), second.get_params(deep=False)
    return all(
        are_equal(value, other[name])
        if isinstance(value, Kernel)
        else isinstance(value, str | int | float | tuple | None) and value == other[name]
        for name, value in mine.items()
    )


def is_settled(kernel: Kernel, features: Features, used: Array) -> bool:
    """Whether a kernel does not depend on the training vertices; with gamma="scale" it does."""
    return bool(kernel_key(kernel.resolve(features, used)) == kernel_key(kernel))


def kernel_key(value: object) -> Any:
    """Return a key that identifies a kernel: its class and parameters."""
    if not isinstance(value, Kernel):
        try:
            hash(value)
        except TypeError:
            return id(value)
        return value
    parameters = value.get_params(deep=False)
    return type(value), tuple((name, kernel_key(parameters[name])) for name in sorted(parameters))


def _same_kind(X: Any, Y: Any) -> tuple[Any, Any]:
    """Return two tables on one backend; if they are on two, X moves to the backend of Y."""
    home = backend_of(Y)
    if backend_of(X) == home:
        return X, Y
    return (csr_array(to_host(X)), Y) if issparse(Y) else (placed(X.toarray() if issparse(X) else X, home), Y)
