"""The base of backends: where arrays live, and the few operations that array libraries spell differently.

Code above the backends never asks what an array is. It asks `backend_of` for the backend of an array, or is handed one,
and calls a method. A new backend is a subclass of `Backend`, or of an existing backend, and one call of
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

    A backend says its own rates, from which the planner estimates each path; asking for it costs O(1).

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
    piece = 1 << 15  # elements of a long vector to pass over at a time
    grid_bytes = 1 << 26  # of a block of a grid of predictions
    worth_restricting = 0.8  # the share of the edges up to which a restricted operator saves more than it costs
    allowance = 1.0  # the primal form is taken if its step takes at most this many times a step of the dual form
    sorting = 1e-7  # seconds to sort an edge for products
    passes_over_blocks = False  # whether it has compiled loops over blocks of a lake; else products stand for them
    divides_rows = False  # whether matrices that do not fit stay on the host, and products take them row by row

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
        """Whether an object is an array of this backend in this place."""

    @abstractmethod
    def asarray(self, values: object, dtype: DTypeLike | None = None) -> Array:
        """Return values as an array here, without a copy if they are one; by default they keep their dtype."""

    @abstractmethod
    def to_host(self, x: Array) -> Any:
        """Return an array of this backend as a NumPy array."""

    @abstractmethod
    def plain(self, x: Array, name: str) -> Array:
        """Return a user's array without anything that the package does not support, or refuse it by its name."""

    @abstractmethod
    def refuse_others(self, x: Any, name: str, what: str) -> None:
        """Refuse an array in another place, which is not moved unasked; ``what`` says in the error what is here."""

    @abstractmethod
    def dtype_of(self, x: Array) -> np.dtype[Any]:
        """Return the dtype of an array as NumPy has it."""

    @abstractmethod
    def cast(self, x: Array, dtype: DTypeLike) -> Array:
        """Return an array in another dtype, without a copy if it has that dtype."""

    @abstractmethod
    def copy(self, x: Array) -> Array:
        """Return a copy."""

    @abstractmethod
    def zeros(self, shape: Shape, dtype: DTypeLike) -> Array:
        """Return zeros."""

    @abstractmethod
    def empty(self, shape: Shape, dtype: DTypeLike) -> Array:
        """Return an array that is not initialised."""

    @abstractmethod
    def arange(self, n: int, dtype: DTypeLike) -> Array:
        """Return 0 to n - 1."""

    @abstractmethod
    def contiguous(self, x: Array, dtype: DTypeLike | None = None) -> Array:
        """Return an array here with contiguous rows."""

    @abstractmethod
    def owned(self, x: Array, dtype: DTypeLike) -> Array:
        """Return an array that nobody else can write to: a copy, unless it is read-only."""

    def remembered(self, x: Array, key: object, make: Callable[[], Any]) -> Any:
        """Return a fact about an array; one that is read-only may remember it."""
        return make()

    def read_only(self, x: Array) -> Array:
        """Return a view that cannot be written to, where there are such views."""
        return x

    def index(self, key: Any, length: int) -> Any:
        """Convert an index that NumPy takes for a vector to one that arrays of this backend take."""
        return key

    # Primitives

    @abstractmethod
    def true_places(self, mask: Array) -> Array:
        """Return the places where a mask is true."""

    @abstractmethod
    def sorted_values(self, x: Array) -> Array:
        """Return the values in ascending order."""

    @abstractmethod
    def distinct(self, x: Array) -> Array:
        """Return the distinct values in ascending order, as an array of NumPy."""

    @abstractmethod
    def group_sums(self, groups: Array, values: Array, n_groups: int) -> Array:
        """Return the sum of the values of each group, in an order that is the same in every run."""

    @abstractmethod
    def scattered(self, values: Array, rows: Array, cols: Array, shape: tuple[int, int]) -> Any:
        """Return a matrix with values at some places, dense or sparse; values at one place are added up."""

    def scattered_all(self, values: Array, rows: Array, cols: Array, shape: tuple[int, int]) -> Array:
        """Return a dense matrix for each row of values, with these values at the places."""
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
        """Return the rows scaled to length one; rows of zeros stay."""
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
        """Whether to make a kernel matrix of m vertices at once, rather than the columns that are asked for."""
        return False

    @abstractmethod
    def best_of(self, which: Array, best: Array, cols: slice, block: Array) -> tuple[Array, Array]:
        """Return the best columns so far of each row and their scores, after a block with the scores of more columns.

        Equal scores are in the order of the columns.
        """

    # Products

    @abstractmethod
    def matrix(
        self, name: str, array: Array, dtype: np.dtype[Any], rows: Array | None = None, cols: Array | None = None
    ) -> Matrix:
        """Return a dense factor, or the named rows and columns of it, as the stages of a product take it."""

    @abstractmethod
    def product_of(self, name: str, A: Matrix, B: Matrix, dtype: np.dtype[Any]) -> Matrix:
        """Return the dense matrix ``A Bᵀ``, to be made when it is needed."""

    @abstractmethod
    def holds(self, factor: Features) -> bool:
        """Whether a product can take a factor as it is: an array here, or a sparse matrix if the backend has them."""

    @abstractmethod
    def product_paths(self, problem: ProblemLike) -> Iterator[ProductPath]:
        """Yield every way to compute a product."""

    @abstractmethod
    def workspace(self) -> Any:
        """Return buffers that live from one product to the next."""

    def run_columns(self, run: Callable[[Array, Array, Any], None], block: Array, out: Array, space: Any) -> None:
        """Call ``run(x, target, space)`` for the columns of a block and of the result, each as a contiguous vector."""
        for column in range(block.shape[1]):
            result = self.empty(out.shape[0], self.dtype_of(out))
            run(self.contiguous(block[:, column]), result, space)
            out[:, column] = result

    def sums_by_vertex(self, values: Array, groupings: Sequence[tuple[Array, int]], n_threads: int) -> list[Array]:
        """Return the sums of values at each vertex, for each index and number of vertices."""
        dtype = self.dtype_of(values)
        return [self.cast(self.group_sums(groups, values, size), dtype) for groups, size in groupings]

    def add_by_vertex(self, spread: Sequence[tuple[Array, Array]], out: Array, n_threads: int) -> None:
        """Add values of vertices to those of the edges, for each pair of values and index."""
        for values, vertices in spread:
            out += values[vertices]

    def streamed(self, F: Array, S: Array, rows: Pair, cols: Pair, dtype: np.dtype[Any], limit: int) -> Any:
        """Return a product whose factor S stays on the host, a `StreamedProduct`; None if the backend has none.

        ``rows`` and ``cols`` are pairs with the vertices of edges in F and in S.
        """
        return None

    def multiply_all(
        self, matrices: Sequence[Any], vectors: Sequence[Array], symmetric: bool, fast: bool, n_threads: int
    ) -> list[Array]:
        """Return each matrix times its vector; if all are ``symmetric``, it may read half of each."""
        with nullcontext() if fast else self.exact_products():
            return [matrix @ vector for matrix, vector in zip(matrices, vectors, strict=True)]

    def is_symmetric(self, factor: Features) -> bool:
        """Whether a factor is a symmetric matrix, and `multiply_all` gains from reading half of it."""
        return False

    def in_parallel(self, task: Callable[[int], None], n_tasks: int, n_threads: int | None) -> None:
        """Call ``task(0)`` and so on, which multiply matrices of this backend."""
        with self.exact_products():
            for number in range(n_tasks):
                task(number)

    def exact_products(self) -> AbstractContextManager[None]:
        """Return a context in which matrix products have all the digits of their dtype."""
        return nullcontext()

    def own_threads(self) -> AbstractContextManager[None]:
        """Return a context that keeps other threads out of the way while a solver runs."""
        return nullcontext()

    def library_threads(self, n_threads: int | None) -> AbstractContextManager[None]:
        """Return a context within `own_threads` that gives a linear-algebra library its threads back."""
        return nullcontext()

    def edge_order(self, start: Array, end: Array, n_end: int) -> Array | None:
        """Return the order of edges that suits products best; None if they are in it, or products sort them."""
        return None

    # Rates, memory, placement

    @abstractmethod
    def rates(self, dtype: np.dtype[Any], n_threads: int, fast: bool, measured: bool) -> Rates:
        """Return the rates: measured now if that is asked for and has not been done, else known or typical ones."""

    @abstractmethod
    def free_memory(self) -> int:
        """Return the bytes that can be allocated."""

    def has_room(self, n_bytes: int, share: int) -> bool:
        """Whether an array may stay here beside others: it takes at most ``1 / share`` of the free memory.

        On the host it always may, since there is nowhere else to go.
        """
        return True

    def operator_memory(self) -> int | None:
        """Return the memory for each of two operators, which leaves room for vectors; None means all."""
        return None

    def release(self, error: BaseException) -> None:  # noqa: B027 - on the host nothing is held
        """Release what failed work holds here; raise MemoryError with an explanation if memory ran out."""

    @property
    def place(self) -> str:
        """Where it computes, in words."""
        return self.name

    def describe(self, n_threads: int) -> str:
        """Return where a product is made, for its plan."""
        return f"{n_threads} threads"
