"""The paths of a product on a torch device, with the same names as on the CPU."""

from typing import Any

from vectrick.backends.product_path import Matrix, Name, Stage, StageMaker, Transposed
from vectrick.backends.torch import tiles
from vectrick.backends.torch.product_stages import (
    AllColumns,
    AllRows,
    GatherRows,
    Multiply,
    SampledRows,
    ScatterColumns,
    SparseColumns,
)
from vectrick.backends.torch.tiles import GatherTiles, ScatterTiles

SORTING = {"cpu": 1e-7, "cuda": 1e-10}  # measured on 10 million edges


class DeviceStages(StageMaker):
    """The stages of a product on a torch device."""

    def __init__(self, problem: Any, first: Name, kind: str) -> None:
        super().__init__(problem, first)
        self.sorting = SORTING[kind]

    def stages(self, sparse_entry: bool, sparse_exit: bool) -> list[Stage] | None:
        """Return the stages with both factors dense: ``F₁ Vᵀ``, then ``F₂`` at the rows."""
        F1, F2 = self.first.dense, self.second.dense
        stages = self._enter(F1, sparse_entry)
        if sparse_exit:
            assert self.rows is not None
            tile, held = self.rows
            return [*stages, SampledRows(self.problem, F2, held, tile, F1.shape[0], turned=sparse_entry)]
        if self._is_large((F1.shape[0], F2.shape[0])) and self.rows is not None:
            return [*stages, GatherTiles(self.problem, F2, self.rows, (F1.shape[0], F2.shape[0]))]
        last = Multiply(self.problem, F2.T, F1.shape[0], "outer", left=False)
        return [*stages, last, self._leave(last, first_is_major=True)]

    def thin_stages(self, sparse_entry: bool, sparse_exit: bool) -> list[Stage] | None:
        """Return the stages of ``(F₂ V B) Aᵀ`` at the rows, if the first factor is ``A Bᵀ``."""
        if not isinstance(self.first.thin, tuple):
            return None
        problem, (A, B), second = self.problem, self.first.thin, self.second
        stages = [*self._enter(B.T, sparse_entry), Transposed()]
        slot = "outer"
        if isinstance(second.thin, tuple):
            stages.append(Multiply(problem, second.thin[1].T, A.shape[1], slot))
            slot = "middle"
            stages.append(Multiply(problem, second.thin[0], A.shape[1], slot))
        else:
            stages.append(Multiply(problem, second.dense, A.shape[1], slot))
        if sparse_exit:
            assert self.rows is not None
            held, tile = self.rows
            return [*stages, SampledRows(problem, A, held, tile, second.shape[0], turned=False)]
        if self._is_large((second.shape[0], A.shape[0])) and self.rows is not None:
            return [*stages, GatherTiles(problem, A, self.rows[::-1], (second.shape[0], A.shape[0]))]
        last = Multiply(problem, A.T, second.shape[0], "middle" if slot == "outer" else "outer", left=False)
        return [*stages, last, self._leave(last, first_is_major=False)]

    def _enter(self, E: Matrix, sparse: bool) -> list[Stage]:
        """Return the stages from the vector to ``E Vᵀ``."""
        shape = (self.first.shape[1], self.second.shape[1])
        if sparse:
            assert self.cols is not None
            contracted, kept = self.cols
            return [SparseColumns(self.problem, E, kept, contracted, shape[1])]
        if self.cols is None:
            enter: Stage = AllColumns(self.problem, shape, transposed=not self.is_m_first)
        elif self._is_large(shape):
            return [ScatterTiles(self.problem, E, self.cols, shape)]
        else:
            enter = ScatterColumns(self.problem, self.cols[0], self.cols[1], shape)
        return [enter, Multiply(self.problem, E, shape[1], "middle")]

    def _is_large(self, shape: tuple[int, int]) -> bool:
        """Whether a matrix is computed tile by tile."""
        result: bool = shape[0] * shape[1] * self.problem.dtype.itemsize > tiles.TILE_BYTES
        return result

    def _leave(self, last: Multiply, first_is_major: bool) -> Stage:
        """Return the stage from the matrix of all results, (first, second) or the other way round, to the rows."""
        if self.rows is None:
            return AllRows(self.problem, transposed=self.is_m_first != first_is_major)
        i, j = self.rows if first_is_major else self.rows[::-1]
        return GatherRows(self.problem, i, j, last.shape, last)
