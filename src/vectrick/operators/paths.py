"""The ways to compute one product, each as a list of steps.

With ``V`` the matrix that holds the vector at the column edges, the product is the matrix ``N V Mᵀ`` at the row edges.
A path says which factor comes first, how the column edges enter (sparse product, or scatter and BLAS), how the row
edges leave (sampled product, or BLAS and gather), and whether a factor is used in its thin form:

=================  ===================================================================================
``sparse``         sparse product, sampled product: Algorithm 1 of the paper, ``:M`` and ``:N`` its branches
``sparse-dense``   sparse product, BLAS, gather
``dense-sparse``   scatter, BLAS, sampled product
``dense``          scatter, BLAS, BLAS, gather
``vec``            BLAS, BLAS: the plain vec trick, when nothing is sampled
``matched``        the entries of one factor for row and column edges that share a vertex, the other being the identity
``thin-…``         the same with the thin form of a `LowRank` or sparse factor
=================  ===================================================================================
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from scipy.sparse import csr_array

from vectrick._cached import cached_property
from vectrick.backends.rates import Rates
from vectrick.operators.indices import Array
from vectrick.operators.matched import MatchedRows
from vectrick.operators.problem import Matrix, Name, Problem
from vectrick.operators.steps import (
    AllColumns,
    Allocation,
    AllRows,
    GatherRows,
    Multiply,
    MultiplySparse,
    SampledRows,
    ScatterColumns,
    SparseColumns,
    Step,
    Transposed,
)

_SORTING, _SORTING_ON_GPU = 1e-7, 1e-10  # seconds for an edge, measured on 40 000 and 250 000; on 10 million

FAMILIES = ("sparse", "sparse-dense", "dense-sparse", "dense", "vec", "matched")
PATHS = (*FAMILIES, "thin", *(f"thin-{family}" for family in FAMILIES if family != "matched"))


@dataclass(frozen=True)
class Path:
    """A named list of steps."""

    family: str
    first: Name
    thin: bool
    steps: tuple[Step, ...]
    sparse_entry: bool
    preparing: float = 0.0  # seconds to sort the edges, where the operator serves one product only

    @property
    def name(self) -> str:
        """The name that ``path=`` takes."""
        return f"{'thin-' if self.thin else ''}{self.family}:{self.first}"

    @property
    def label(self) -> str:
        """The steps in words."""
        return ", ".join(step.label for step in self.steps if step.label)

    def answers_to(self, wanted: str) -> bool:
        """Whether ``path=wanted`` allows this path."""
        kind, _, first = wanted.partition(":")
        return first in ("", self.first) and (kind == self.name.partition(":")[0] or (kind == "thin" and self.thin))

    def seconds(self, rates: Rates) -> float:
        """Return the estimated time of one product."""
        return sum(step.seconds(rates) for step in self.steps) + self.preparing

    @cached_property
    def arrays(self) -> tuple[Allocation, ...]:
        """The arrays that live at the same time when memory use is highest, the result left out."""
        kept: list[Allocation] = []
        slots: dict[str, Allocation] = {}
        passing: list[Allocation] = []
        copies: dict[str, Allocation] = {}
        for array in (array for step in self.steps for array in step.allocations()):
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
    for one, other in (("sparse-dense", "dense-sparse"), ("dense-sparse", "sparse-dense")):
        if kind.endswith(one):
            return kind.removesuffix(one) + other + colon + first
    return wanted


def is_path_name(name: str) -> bool:
    """Whether ``path=`` takes the name, for some operator."""
    kind, colon, first = name.partition(":")
    return kind in PATHS and (not colon or first in ("M", "N"))


def all_paths(problem: Problem) -> Iterator[Path]:
    """Yield every path that can compute the product."""
    for first in ("M", "N"):
        sides = _Sides(problem, first) if problem.device is None else _device_sides(problem, first)
        for sparse_entry in (False, True) if problem.cols is not None else (False,):
            for sparse_exit in (False, True) if problem.rows is not None else (False,):
                for thin in (False, True):
                    steps = (
                        sides.thin_steps(sparse_entry, sparse_exit) if thin else sides.steps(sparse_entry, sparse_exit)
                    )
                    if steps is not None:
                        family = _family(problem, sparse_entry, sparse_exit)
                        preparing = _preparing(problem, sparse_entry, sparse_exit) if problem.once else 0.0
                        yield Path(family, first, thin, tuple(steps), sparse_entry, preparing)
        matched = sides.matched_steps() if problem.device is None else None
        if matched is not None:
            preparing = _preparing(problem, True, True) if problem.once else 0.0
            yield Path("matched", first, False, tuple(matched), True, preparing)


def _device_sides(problem: Problem, first: Name) -> Any:
    from vectrick.operators.device_paths import DeviceSides  # only where there are tensors

    return DeviceSides(problem, first)


def _preparing(problem: Problem, sparse_entry: bool, sparse_exit: bool) -> float:
    """Return the seconds that sorting the edges takes; there is no need to know it any better."""
    n_sorted = problem.n_col_edges * sparse_entry + problem.n_row_edges * sparse_exit
    on_gpu = problem.device is not None and problem.device.type == "cuda"
    return (_SORTING_ON_GPU if on_gpu else _SORTING) * n_sorted


def _family(problem: Problem, sparse_entry: bool, sparse_exit: bool) -> str:
    if problem.rows is None and problem.cols is None:
        return "vec"
    entry, leave = ("sparse" if sparse else "dense" for sparse in (sparse_entry, sparse_exit))
    return entry if entry == leave else f"{entry}-{leave}"


class _Sides:
    """The problem with one factor called ``first``, which the columns meet first, and the other ``second``."""

    def __init__(self, problem: Problem, first: Name) -> None:
        self.problem = problem
        self.is_m_first = first == "M"
        self.first, self.second, self.rows, self.cols = problem.led_by(first)

    def steps(self, sparse_entry: bool, sparse_exit: bool) -> list[Step] | None:
        """Return the steps with both factors dense: ``F₁ Vᵀ``, then ``F₂`` at the rows."""
        F1, F2 = self.first.dense, self.second.dense
        steps = self._enter(F1, sparse_entry, tiles=sparse_exit)
        if sparse_exit:
            assert self.rows is not None
            tile, held = self.rows
            return [*steps, self._sampled(F2, held, tile, steps[-1])]
        steps.append(Multiply(self.problem, F2.T, F1.shape[0], "outer", left=False))
        return [*steps, self._leave(F2.shape[0], first_is_major=True)]

    def thin_steps(self, sparse_entry: bool, sparse_exit: bool) -> list[Step] | None:
        """Return the steps that use a thin factor: the first as ``A Bᵀ``, or one that is sparse."""
        if isinstance(self.first.thin, tuple):
            return self._low_rank_steps(self.first.thin, sparse_entry, sparse_exit)
        if sparse_exit or (sparse_entry and isinstance(self.first.thin, csr_array)):
            return None  # a sparse factor is only ever multiplied with a whole matrix
        if not isinstance(self.second.thin, csr_array) and not isinstance(self.first.thin, csr_array):
            return None
        problem, F1, F2 = self.problem, self.first.dense, self.second
        if sparse_entry and self.rows is not None and F2.is_identity:  # which there is no need to multiply with
            (enter,) = self._enter(F1, sparse_entry, tiles=False, padded=True)
            assert isinstance(enter, SparseColumns)
            return [enter, self._leave(enter.tiles.row_stride // problem.dtype.itemsize, first_is_major=True)]
        if isinstance(self.first.thin, csr_array):
            steps: list[Step] = [self._scatter(), Transposed()]
            steps += [MultiplySparse(problem, self.first.thin, F2.shape[1], "middle"), Transposed()]
        else:
            steps = self._enter(F1, sparse_entry, tiles=False)
        if isinstance(F2.thin, csr_array):
            multiply = MultiplySparse(problem, F2.thin, F1.shape[0], "outer", padded=self.rows is not None)
            width = multiply.tiles.row_stride // problem.dtype.itemsize
            return [*steps, multiply, self._leave(width, first_is_major=True)]
        steps.append(Multiply(problem, F2.dense.T, F1.shape[0], "outer", left=False))
        return [*steps, self._leave(F2.shape[0], first_is_major=True)]

    def _low_rank_steps(self, thin: tuple[Matrix, Matrix], sparse_entry: bool, sparse_exit: bool) -> list[Step] | None:
        """Return the steps of ``(F₂ V B) Aᵀ`` at the rows, where the first factor is ``A Bᵀ``."""
        problem, (A, B), second = self.problem, thin, self.second
        rank, n_rows = A.shape[1], second.shape[0]
        steps = self._enter(B.T, sparse_entry, tiles=False)
        if isinstance(second.thin, csr_array):
            if sparse_exit:
                return None
            steps.append(MultiplySparse(problem, second.thin, rank, "outer"))
            steps.append(Multiply(problem, A, n_rows, "middle"))
            return [*steps, self._leave(n_rows, first_is_major=True)]
        slot = "outer"
        steps.append(Transposed())
        if isinstance(second.thin, tuple):
            steps.append(Multiply(problem, second.thin[1].T, rank, slot))
            slot = "middle"
            steps.append(Multiply(problem, second.thin[0], rank, slot, tiles=sparse_exit))
        else:
            steps.append(Multiply(problem, second.dense, rank, slot, tiles=sparse_exit))
        if sparse_exit:
            assert self.rows is not None
            held, tile = self.rows
            return [*steps, self._sampled(A, held, tile, steps[-1])]
        steps.append(Multiply(problem, A.T, n_rows, "middle" if slot == "outer" else "outer", left=False))
        return [*steps, self._leave(A.shape[0], first_is_major=False)]

    def matched_steps(self) -> list[Step] | None:
        """Return the step that multiplies only what shares a vertex, where the second factor is the identity."""
        if self.rows is None or self.cols is None or not self.second.is_identity:
            return None
        return [MatchedRows(self.problem, self.first.dense, self.rows, self.cols, self.second.shape[0])]

    def _enter(self, E: Matrix, sparse: bool, tiles: bool, padded: bool = False) -> list[Step]:
        """Return the steps from the vector to ``E Vᵀ``."""
        n_kept = self.second.shape[1]
        if sparse:
            assert self.cols is not None
            contracted, kept = self.cols
            return [SparseColumns(self.problem, E, kept, contracted, n_kept, by_panels=tiles, padded=padded)]
        return [self._scatter(), Multiply(self.problem, E, n_kept, "middle", tiles=tiles)]

    def _scatter(self) -> Step:
        shape = (self.first.shape[1], self.second.shape[1])
        if self.cols is None:
            return AllColumns(shape, transposed=not self.is_m_first)
        return ScatterColumns(self.problem, self.cols[0], self.cols[1], shape)

    def _sampled(self, A: Matrix, held: Array, tile: Array, before: Step) -> Step:
        assert isinstance(before, SparseColumns | Multiply)
        assert before.tiles is not None
        return SampledRows(self.problem, A, held, tile, before.tiles)

    def _leave(self, n_minor: int, first_is_major: bool) -> Step:
        """Return the step from the matrix of all results, (first, second) or the other way round, to the rows."""
        if self.rows is None:
            return AllRows(transposed=self.is_m_first != first_is_major)
        major, minor = self.rows if first_is_major else self.rows[::-1]
        return GatherRows(self.problem, major, minor, n_minor)
