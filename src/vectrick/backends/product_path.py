"""One way to compute a product: a named list of stages that estimate their cost before they run.

Let ``V`` be the matrix with the vector at the column edges. The product is the matrix ``N V Mᵀ`` at the row edges.
A path states the first factor, how the column edges enter (sparse product, or scatter and BLAS), how the row edges
leave (sampled product, or BLAS and gather), and whether a factor is used in its low-rank or sparse form:

=================  ===================================================================================
``sparse``         sparse product, sampled product: Algorithm 1 of the paper, ``:M`` and ``:N`` its branches
``sparse-dense``   sparse product, BLAS, gather
``dense-sparse``   scatter, BLAS, sampled product
``dense``          scatter, BLAS, BLAS, gather
``vec``            BLAS, BLAS: the plain vec trick, when nothing is sampled
``matched``        the entries of one factor for row and column edges that share a vertex, if the other is the identity
``thin-…``         the same with a `LowRank` or sparse factor that is not expanded
=================  ===================================================================================
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from scipy.sparse import issparse

from vectrick._cached import cached_property
from vectrick._typing import Array
from vectrick.backends.rates import Rates

Name = Literal["M", "N"]
Pair = tuple[Array, Array]

FAMILIES = ("sparse", "sparse-dense", "dense-sparse", "dense", "vec", "matched")
PATHS = (*FAMILIES, "thin", *(f"thin-{family}" for family in FAMILIES if family != "matched"))


class Matrix(Protocol):
    """A dense matrix that is made when it is needed."""

    name: str
    shape: tuple[int, int]

    @property
    def T(self) -> "Matrix":
        """The transpose."""

    def copy_bytes(self, contiguous: bool) -> int:
        """Return the bytes that `array` will allocate."""

    def array(self, contiguous: bool = False) -> Array:
        """Return the matrix, with ``contiguous`` rows if required; made on the first call."""


class FactorLike(Protocol):
    """A factor as a dense matrix, and in its low-rank or sparse form if it has one."""

    @property
    def dense(self) -> Matrix:
        """The matrix, made when needed."""

    @property
    def thin(self) -> Any:
        """A and B of ``A Bᵀ``, a sparse matrix, or None."""

    @property
    def size(self) -> tuple[int, int]:
        """Its shape, without padding."""

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the dense matrix."""

    @property
    def is_identity(self) -> bool:
        """Whether it is a sparse identity matrix."""


class ProblemLike(Protocol):
    """``R (M ⊗ N) Cᵀ`` as the stages use it; `vectrick.operators.problem` makes it."""

    shape: tuple[int, int]
    rows: Pair | None
    cols: Pair | None
    dtype: np.dtype[Any]
    n_threads: int
    fast: bool
    once: bool

    @property
    def M(self) -> FactorLike:
        """The first factor."""

    @property
    def N(self) -> FactorLike:
        """The second factor."""

    def led_by(self, first: Name) -> tuple[Any, Any, Pair | None, Pair | None]:
        """Return the factor that is applied first, the other one, and the rows and columns as pairs in that order."""

    def shared(self, key: object, make: Callable[[], Any]) -> Any:
        """Return an object that stages of different paths share; it is made on the first call."""


@dataclass(frozen=True)
class Allocation:
    """An array that a stage needs. Arrays of one slot share memory; a passing array is freed after building."""

    name: str
    n_bytes: int
    slot: str = ""
    passing: bool = False


class Stage(ABC):
    """One stage of a product: from a vector or matrix to the next."""

    label: str

    @abstractmethod
    def seconds(self, rates: Rates) -> float:
        """Return the estimated time of one run."""

    @abstractmethod
    def allocations(self) -> list[Allocation]:
        """Return the arrays that building and running will allocate."""

    def prepare(self) -> None:  # noqa: B027 - a stage may need no preparation
        """Sort, group and copy the data for the runs; called once."""

    def adopt(self, other: Any, rows: Array | None, cols: Array | None) -> None:
        """Prepare for a subset of the edges from a prepared stage of the same kind, without sorting again."""
        self.prepare()

    @abstractmethod
    def run(self, x: Array, space: Any, target: Array) -> Any:
        """Return the next vector or matrix; only the last stage writes to ``target``."""


class Transposed(Stage):
    """The transpose of a matrix, as a view."""

    label = ""

    def seconds(self, rates: Rates) -> float:
        """Return zero: it is a view."""
        return 0.0

    def allocations(self) -> list[Allocation]:
        """Return nothing."""
        return []

    def run(self, x: Array, space: Any, target: Array) -> Array:
        """Return the view."""
        return x.T


class BlockStage(ABC):
    """The product of several vectors together; it is prepared when it is first run."""

    width: int  # maximum number of vectors in a block
    least: int  # minimum number of vectors for which a block is faster

    @abstractmethod
    def n_bytes(self) -> int:
        """Return the bytes that it takes in addition to the path."""

    @abstractmethod
    def run(self, block: Array, out: Array, space: Any) -> None:
        """Write the product with a block of vectors."""


@dataclass(frozen=True)
class ProductPath:
    """A named list of stages."""

    family: str
    first: Name
    thin: bool
    stages: tuple[Stage, ...]
    sparse_entry: bool
    preparing: float = 0.0  # seconds to sort the edges, if the operator serves one product only
    block: BlockStage | None = None

    @property
    def name(self) -> str:
        """The name that ``path=`` accepts."""
        return f"{'thin-' if self.thin else ''}{self.family}:{self.first}"

    @property
    def label(self) -> str:
        """The stages in words."""
        return ", ".join(stage.label for stage in self.stages if stage.label)

    def answers_to(self, wanted: str) -> bool:
        """Whether ``path=wanted`` allows this path."""
        kind, _, first = wanted.partition(":")
        return first in ("", self.first) and (kind == self.name.partition(":")[0] or (kind == "thin" and self.thin))

    def seconds(self, rates: Rates) -> float:
        """Return the estimated time of one product."""
        return sum(stage.seconds(rates) for stage in self.stages) + self.preparing

    @cached_property
    def arrays(self) -> tuple[Allocation, ...]:
        """The arrays that exist together when memory use is highest, without the result."""
        kept: list[Allocation] = []
        slots: dict[str, Allocation] = {}
        passing: list[Allocation] = []
        copies: dict[str, Allocation] = {}
        for array in (array for stage in self.stages for array in stage.allocations()):
            if array.passing:
                passing.append(array)
            elif array.slot:
                slots[array.slot] = max(slots.get(array.slot, array), array, key=_size)
            elif array.name.startswith("copy of"):
                copies[array.name] = array
            else:
                kept.append(array)
        building = max(passing, key=_size, default=None)
        running = list(slots.values())
        if building is not None and building.n_bytes > sum(map(_size, running)):
            running = [building]
        return tuple(array for array in (*kept, *copies.values(), *running) if array.n_bytes)


def _size(array: Allocation) -> int:
    return array.n_bytes


def mirrored(wanted: str) -> str:
    """Return the value of ``path=`` that treats the transpose as ``wanted`` treats the operator.

    >>> mirrored("thin-sparse-dense:M"), mirrored("dense")
    ('thin-dense-sparse:M', 'dense')
    """
    kind, colon, first = wanted.partition(":")
    for family, mirror in (("sparse-dense", "dense-sparse"), ("dense-sparse", "sparse-dense")):
        if kind.endswith(family):
            return kind.removesuffix(family) + mirror + colon + first
    return wanted


def is_path_name(name: str) -> bool:
    """Whether ``path=`` accepts the name for some operator."""
    kind, colon, first = name.partition(":")
    return kind in PATHS and (not colon or first in ("M", "N"))


def taken(array: Array, rows: Array | None, cols: Array | None) -> Any:
    """Return the given rows and columns of a matrix; None means all."""
    if rows is not None and cols is not None and not issparse(array):
        return array[rows[:, None], cols]
    array = array if rows is None else array[rows]
    return array if cols is None else array[:, cols]


class StageMaker(ABC):
    """Makes the stages of paths for a problem; the factor called ``first`` is applied first."""

    sorting: float  # seconds for an edge

    def __init__(self, problem: Any, first: Name) -> None:
        self.problem, self.is_m_first = problem, first == "M"
        self.first, self.second, self.rows, self.cols = problem.led_by(first)

    @abstractmethod
    def stages(self, sparse_entry: bool, sparse_exit: bool) -> list[Stage] | None:
        """Return the stages with both factors dense: ``F₁ Vᵀ``, then ``F₂`` at the rows."""

    @abstractmethod
    def thin_stages(self, sparse_entry: bool, sparse_exit: bool) -> list[Stage] | None:
        """Return the stages that use a low-rank or sparse factor; None if there are none."""

    def block_stage(self, stages: list[Stage]) -> BlockStage | None:
        """Return the block stage that replaces these stages for several vectors; None if it would not be faster."""
        return None

    def matched_stages(self) -> list[Stage] | None:
        """Return the stage that multiplies only edges that share a vertex; None if there is none."""
        return None


def compose_paths(problem: ProblemLike, maker: Callable[[ProblemLike, Name], StageMaker]) -> Iterator[ProductPath]:
    """Yield every path whose stages a backend can make."""
    names: tuple[Name, Name] = ("M", "N")
    for first in names:
        makes = maker(problem, first)
        for sparse_entry in (False, True) if problem.cols is not None else (False,):
            for sparse_exit in (False, True) if problem.rows is not None else (False,):
                for thin in (False, True):
                    make = makes.thin_stages if thin else makes.stages
                    stages = make(sparse_entry, sparse_exit)
                    if stages is not None:
                        family = _family(problem, sparse_entry, sparse_exit)
                        preparing = _preparing(problem, sparse_entry, sparse_exit, makes.sorting)
                        block = makes.block_stage(stages)
                        yield ProductPath(family, first, thin, tuple(stages), sparse_entry, preparing, block)
        matched = makes.matched_stages()
        if matched is not None:
            preparing = _preparing(problem, True, True, makes.sorting)
            yield ProductPath("matched", first, False, tuple(matched), True, preparing)


def _preparing(problem: ProblemLike, sparse_entry: bool, sparse_exit: bool, sorting: float) -> float:
    """Return the seconds for sorting the edges; a rough number is enough."""
    n_sorted = problem.shape[1] * sparse_entry + problem.shape[0] * sparse_exit
    return sorting * n_sorted if problem.once else 0.0


def _family(problem: ProblemLike, sparse_entry: bool, sparse_exit: bool) -> str:
    if problem.rows is None and problem.cols is None:
        return "vec"
    entry, leave = ("sparse" if sparse else "dense" for sparse in (sparse_entry, sparse_exit))
    return entry if entry == leave else f"{entry}-{leave}"
