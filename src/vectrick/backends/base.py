"""The base class of backends: storage of arrays, and the few operations that array libraries spell differently.

Code above the backends never checks the type of an array. It gets the backend of an array from `backend_of`, or as an
argument, and calls a method. A new backend is a subclass of `Backend`, or of an existing backend, and one call of
`register_backend`; see ``docs/develop/architecture.md``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from vectrick._typing import Array, ArrayNamespace, DTypeLike, Features, Shape
from vectrick.backends.product_path import Matrix, Pair, ProblemLike, ProductPath
from vectrick.backends.rates import Rates


class Backend(ABC):
    """A place to compute: its arrays, the primitives, the paths of a product, rates, memory and placement.

    A dtype is always a NumPy dtype.

    The planner estimates each path from the rates of the backend. Looking up the backend of an array costs O(1).

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> isinstance(vt.backends.backend_of(np.ones(2)), vt.backends.Backend)
    True
    """

    name: str
    device: Any = None  # a torch device; None on the host
    xp: ArrayNamespace  # the module that holds the functions of its arrays

    # Preferences
    piece = 1 << 15  # elements of one block of a long vector
    grid_bytes = 1 << 26  # bytes of one block of a grid of predictions
    worth_restricting = 0.8  # the share of the edges up to which a restricted operator saves more than it costs
    allowance = 1.0  # choose the primal form if its step takes at most this many times as long as a dual step
    sorting = 1e-7  # seconds to sort an edge for products
    passes_over_blocks = False  # whether it has compiled loops over blocks of a lake; otherwise passes use products
    divides_rows = False  # whether large matrices may stay on the host, so that a product moves blocks of them

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Backend) and (self.name, str(self.device)) == (other.name, str(other.device))

    def __hash__(self) -> int:
        return hash((self.name, str(self.device)))

    def __repr__(self) -> str:
        return f"<backend {self}>"

    def __str__(self) -> str:
        return self.name

    # Arrays

    @abstractmethod
    def owns(self, x: object) -> bool:
        """Whether an object is an array of this backend and device."""

    @abstractmethod
    def asarray(self, values: object, dtype: DTypeLike | None = None) -> Array:
        """Return values as an array of this backend, without a copy if possible; by default they keep their dtype."""

    @abstractmethod
    def to_host(self, x: Array) -> Any:
        """Return an array of this backend as a NumPy array."""

    @abstractmethod
    def plain(self, x: Array, name: str) -> Array:
        """Return a user's array without unsupported features (gradients); raise an error if it cannot be used."""

    @abstractmethod
    def refuse_others(self, x: Any, name: str, what: str) -> None:
        """Raise ValueError for an array on another device, because arrays are not moved implicitly.

        The error message uses ``what`` to name the data on this device, for example "the edges are".
        """

    @abstractmethod
    def dtype_of(self, x: Array) -> np.dtype[Any]:
        """Return the dtype of an array as a NumPy dtype."""

    @abstractmethod
    def cast(self, x: Array, dtype: DTypeLike) -> Array:
        """Return an array with another dtype, without a copy if it already has that dtype."""

    @abstractmethod
    def copy(self, x: Array) -> Array:
        """Return a copy."""

    @abstractmethod
    def zeros(self, shape: Shape, dtype: DTypeLike) -> Array:
        """Return zeros."""

    @abstractmethod
    def empty(self, shape: Shape, dtype: DTypeLike) -> Array:
        """Return an array that is not initialized."""

    @abstractmethod
    def arange(self, n: int, dtype: DTypeLike) -> Array:
        """Return 0 to n - 1."""

    @abstractmethod
    def contiguous(self, x: Array, dtype: DTypeLike | None = None) -> Array:
        """Return an array of this backend with contiguous rows."""

    @abstractmethod
    def owned(self, x: Array, dtype: DTypeLike) -> Array:
        """Return an array that no other code can write to: a copy, unless it is read-only."""

    def remembered(self, x: Array, key: object, make: Callable[[], Any]) -> Any:
        """Return a fact about an array; read-only arrays may cache it."""
        return make()

    def read_only(self, x: Array) -> Array:
        """Return a read-only view, if the backend has read-only views."""
        return x

    def index(self, key: Any, length: int) -> Any:
        """Convert an index that NumPy accepts for a vector to one that arrays of this backend accept."""
        return key

    # Primitives

    @abstractmethod
    def true_places(self, mask: Array) -> Array:
        """Return the indices of the true entries of a mask."""

    @abstractmethod
    def sorted_values(self, x: Array) -> Array:
        """Return the values in ascending order."""

    @abstractmethod
    def distinct(self, x: Array) -> Array:
        """Return the distinct values in ascending order, as a NumPy array."""

    @abstractmethod
    def group_sums(self, groups: Array, values: Array, n_groups: int) -> Array:
        """Return the sum of the values of each group, in an order that is the same in every run."""

    @abstractmethod
    def scattered(self, values: Array, rows: Array, cols: Array, shape: tuple[int, int]) -> Any:
        """Return a dense or sparse matrix with values at the given cells; values of the same cell are added."""

    def scattered_all(self, values: Array, rows: Array, cols: Array, shape: tuple[int, int]) -> Array:
        """Return a dense matrix for each row of values, with these values at the given cells."""
        matrices = self.zeros((values.shape[0], *shape), self.dtype_of(values))
        for matrix, row in zip(matrices, values, strict=True):
            scattered = self.scattered(row, rows, cols, shape)
            matrix[:] = scattered.toarray() if hasattr(scattered, "toarray") else scattered
        return matrices

    def is_finite(self, x: Array) -> bool:
        """Whether all entries are finite."""
        return bool(self.xp.isfinite(x.sum()) or self.xp.isfinite(x).all())

    @abstractmethod
    def is_definite(self, K: Array) -> bool:
        """Whether a symmetric matrix is positive definite."""

    @abstractmethod
    def solve_triangular(self, L: Array, B: Array) -> Array:
        """Return ``L⁻¹ B`` for a lower triangular matrix."""

    def squared_norms(self, X: Array) -> Array:
        """Return the squared length of every row."""
        result: Array = (X * X).sum(1)
        return result

    def unit_rows(self, X: Array) -> Array:
        """Return the rows scaled to length one; rows of zeros stay zero."""
        lengths = self.squared_norms(X)[:, None] ** 0.5
        return X / self.xp.where(lengths > 0, lengths, self.xp.ones_like(lengths))

    def variance(self, X: Array) -> float:
        """Return the variance of all entries."""
        return float(((X - X.mean()) ** 2).mean())

    def gaussian(self, X: Array, Y: Array, gamma: float) -> Array:
        """Return ``exp(-γ ‖x - y‖²)`` for the rows of two dense tables."""
        distances = self.squared_norms(X)[:, None] + self.squared_norms(Y) - 2 * (X @ Y.T)
        return self.xp.exp(-gamma * self.xp.clip(distances, 0, None))

    def sigmoid(self, x: Array) -> Array:
        """Return ``1 / (1 + exp(-x))``."""
        return self.xp.exp(self.log_sigmoid(x))

    def log_sigmoid(self, x: Array) -> Array:
        """Return ``-log(1 + exp(-x))``."""
        rest = self.xp.log1p(self.xp.exp(-self.xp.abs(x)))
        return self.xp.where(x > 0, -rest, x - rest)

    def makes_at_once(self, m: int, n_features: int) -> bool:
        """Whether to compute the whole kernel matrix of m vertices, rather than only the requested columns."""
        return False

    @abstractmethod
    def best_of(self, which: Array, best: Array, cols: slice, block: Array) -> tuple[Array, Array]:
        """Update the best columns of each row and their scores with a block of scores of more columns.

        Equal scores are in the order of the columns.
        """

    # Products

    @abstractmethod
    def matrix(
        self, name: str, array: Array, dtype: np.dtype[Any], rows: Array | None = None, cols: Array | None = None
    ) -> Matrix:
        """Return a dense factor, or its given rows and columns, in the form that the stages of a product use."""

    @abstractmethod
    def product_of(self, name: str, A: Matrix, B: Matrix, dtype: np.dtype[Any]) -> Matrix:
        """Return the dense matrix ``A Bᵀ``, computed when it is needed."""

    @abstractmethod
    def holds(self, factor: Features) -> bool:
        """Whether a product can use a factor unchanged: an array of this backend, or a supported sparse matrix."""

    @abstractmethod
    def product_paths(self, problem: ProblemLike) -> Iterator[ProductPath]:
        """Yield every way to compute a product."""

    @abstractmethod
    def workspace(self) -> Any:
        """Return buffers that are kept from one product to the next."""

    def run_columns(self, run: Callable[[Array, Array, Any], None], block: Array, out: Array, space: Any) -> None:
        """Call ``run(x, target, space)`` for each column of a block and of the result, as contiguous vectors."""
        for column in range(block.shape[1]):
            result = self.empty(out.shape[0], self.dtype_of(out))
            run(self.contiguous(block[:, column]), result, space)
            out[:, column] = result

    def sums_by_vertex(self, values: Array, groupings: Sequence[tuple[Array, int]], n_threads: int) -> list[Array]:
        """Return the sums of values at each vertex, for each index and number of vertices."""
        dtype = self.dtype_of(values)
        return [self.cast(self.group_sums(groups, values, size), dtype) for groups, size in groupings]

    def add_by_vertex(self, spread: Sequence[tuple[Array, Array]], out: Array, n_threads: int) -> None:
        """Add the value of its vertex to each edge, for each pair of vertex values and index."""
        for values, vertices in spread:
            out += values[vertices]

    def streamed(self, F: Array, S: Array, rows: Pair, cols: Pair, dtype: np.dtype[Any], limit: int) -> Any:
        """Return a `StreamedProduct`, whose factor S stays on the host; None if the backend does not support it.

        ``rows`` and ``cols`` are pairs with the vertices of edges in F and in S.
        """
        return None

    def multiply_all(
        self, matrices: Sequence[Any], vectors: Sequence[Array], symmetric: bool, fast: bool, n_threads: int
    ) -> list[Array]:
        """Return each matrix times its vector; if all are ``symmetric``, only half of each may be read."""
        with nullcontext() if fast else self.exact_products():
            return [matrix @ vector for matrix, vector in zip(matrices, vectors, strict=True)]

    def is_symmetric(self, factor: Features) -> bool:
        """Whether a factor is a symmetric matrix and `multiply_all` is faster if it reads half of it."""
        return False

    def in_parallel(self, task: Callable[[int], None], n_tasks: int, n_threads: int | None) -> None:
        """Call ``task(0)``, ``task(1)`` and so on; the tasks multiply matrices of this backend."""
        with self.exact_products():
            for number in range(n_tasks):
                task(number)

    def exact_products(self) -> AbstractContextManager[None]:
        """Return a context in which matrix products have the full precision of their dtype."""
        return nullcontext()

    def own_threads(self) -> AbstractContextManager[None]:
        """Return a context that keeps threads of other libraries idle while a solver runs."""
        return nullcontext()

    def library_threads(self, n_threads: int | None) -> AbstractContextManager[None]:
        """Return a context within `own_threads` that lets a linear-algebra library use its threads again."""
        return nullcontext()

    def edge_order(self, start: Array, end: Array, n_end: int) -> Array | None:
        """Return the best order of edges for products; None if edges are in that order, or if products sort them."""
        return None

    # Rates, memory, placement

    @abstractmethod
    def rates(self, dtype: np.dtype[Any], n_threads: int, fast: bool, measured: bool) -> Rates:
        """Return cached or typical rates; with ``measured``, measure the rates unless they are cached."""

    @abstractmethod
    def free_memory(self) -> int:
        """Return the bytes that can be allocated."""

    def has_room(self, n_bytes: int, share: int) -> bool:
        """Whether an array may stay on the device: it takes at most ``1 / share`` of the free memory.

        On the host the result is always True, because there is no other place to store it.
        """
        return True

    def operator_memory(self) -> int | None:
        """Return the memory limit of each of two operators, with room for vectors; None means all free memory."""
        return None

    def release(self, error: BaseException) -> None:  # noqa: B027 - the host holds nothing
        """Release the memory of failed work; raise MemoryError with an explanation if memory ran out."""

    @property
    def place(self) -> str:
        """A description of the device."""
        return self.name

    def describe(self, n_threads: int) -> str:
        """Return a description of the device for the plan of a product."""
        return f"{n_threads} threads"
