"""The paths of one product on the CPU, each as a list of stages."""

from scipy.sparse import csr_array

from vectrick._typing import Array
from vectrick.backends.cpu.matched_stage import MatchedRows
from vectrick.backends.cpu.product_stages import (
    AllColumns,
    AllRows,
    GatherRows,
    Multiply,
    MultiplySparse,
    SampledRows,
    ScatterColumns,
    SparseBlock,
    SparseColumns,
)
from vectrick.backends.product_path import BlockStage, Matrix, Stage, StageMaker, Transposed


class HostStages(StageMaker):
    """The stages of a product on the CPU."""

    sorting = 1e-7  # measured on 40 000 and 250 000 edges

    def block_stage(self, stages: list[Stage]) -> BlockStage | None:
        """Return the block stage of Algorithm 1, for graphs whose edges do not fill blocks of the L1 cache."""
        first, last = stages[0], stages[-1]
        if len(stages) != 2 or not (isinstance(first, SparseColumns) and isinstance(last, SampledRows)):
            return None
        return None if first.blocking.is_small else SparseBlock(first, last)

    def stages(self, sparse_entry: bool, sparse_exit: bool) -> list[Stage] | None:
        """Return the stages with both factors dense: ``F₁ Vᵀ``, then ``F₂`` at the rows."""
        F1, F2 = self.first.dense, self.second.dense
        stages = self._enter(F1, sparse_entry, tiles=sparse_exit)
        if sparse_exit:
            assert self.rows is not None
            tile, held = self.rows
            return [*stages, self._sampled(F2, held, tile, stages[-1])]
        stages.append(Multiply(self.problem, F2.T, F1.shape[0], "outer", left=False))
        return [*stages, self._leave(F2.shape[0], first_is_major=True)]

    def thin_stages(self, sparse_entry: bool, sparse_exit: bool) -> list[Stage] | None:
        """Return the stages that use the first factor as ``A Bᵀ``, or a sparse factor."""
        if isinstance(self.first.thin, tuple):
            return self._low_rank_stages(self.first.thin, sparse_entry, sparse_exit)
        if sparse_exit or (sparse_entry and isinstance(self.first.thin, csr_array)):
            return None  # a sparse factor is only multiplied with whole matrices
        if not isinstance(self.second.thin, csr_array) and not isinstance(self.first.thin, csr_array):
            return None
        problem, F1, F2 = self.problem, self.first.dense, self.second
        if sparse_entry and self.rows is not None and F2.is_identity:  # no multiplication is needed
            (enter,) = self._enter(F1, sparse_entry, tiles=False, padded=True)
            assert isinstance(enter, SparseColumns)
            return [enter, self._leave(enter.tiles.row_stride // problem.dtype.itemsize, first_is_major=True)]
        if isinstance(self.first.thin, csr_array):
            stages: list[Stage] = [self._scatter(), Transposed()]
            stages += [MultiplySparse(problem, self.first.thin, F2.shape[1], "middle"), Transposed()]
        else:
            stages = self._enter(F1, sparse_entry, tiles=False)
        if isinstance(F2.thin, csr_array):
            multiply = MultiplySparse(problem, F2.thin, F1.shape[0], "outer", padded=self.rows is not None)
            width = multiply.tiles.row_stride // problem.dtype.itemsize
            return [*stages, multiply, self._leave(width, first_is_major=True)]
        stages.append(Multiply(problem, F2.dense.T, F1.shape[0], "outer", left=False))
        return [*stages, self._leave(F2.shape[0], first_is_major=True)]

    def _low_rank_stages(
        self, thin: tuple[Matrix, Matrix], sparse_entry: bool, sparse_exit: bool
    ) -> list[Stage] | None:
        """Return the stages of ``(F₂ V B) Aᵀ`` at the rows, if the first factor is ``A Bᵀ``."""
        problem, (A, B), second = self.problem, thin, self.second
        rank, n_rows = A.shape[1], second.shape[0]
        stages = self._enter(B.T, sparse_entry, tiles=False)
        if isinstance(second.thin, csr_array):
            if sparse_exit:
                return None
            stages.append(MultiplySparse(problem, second.thin, rank, "outer"))
            stages.append(Multiply(problem, A, n_rows, "middle"))
            return [*stages, self._leave(n_rows, first_is_major=True)]
        slot = "outer"
        stages.append(Transposed())
        if isinstance(second.thin, tuple):
            stages.append(Multiply(problem, second.thin[1].T, rank, slot))
            slot = "middle"
            stages.append(Multiply(problem, second.thin[0], rank, slot, tiles=sparse_exit))
        else:
            stages.append(Multiply(problem, second.dense, rank, slot, tiles=sparse_exit))
        if sparse_exit:
            assert self.rows is not None
            held, tile = self.rows
            return [*stages, self._sampled(A, held, tile, stages[-1])]
        stages.append(Multiply(problem, A.T, n_rows, "middle" if slot == "outer" else "outer", left=False))
        return [*stages, self._leave(A.shape[0], first_is_major=False)]

    def matched_stages(self) -> list[Stage] | None:
        """Return the stage that multiplies only edges that share a vertex, if the second factor is the identity."""
        if self.rows is None or self.cols is None or not self.second.is_identity:
            return None
        return [MatchedRows(self.problem, self.first.dense, self.rows, self.cols, self.second.shape[0])]

    def _enter(self, E: Matrix, sparse: bool, tiles: bool, padded: bool = False) -> list[Stage]:
        """Return the stages from the vector to ``E Vᵀ``."""
        n_kept = self.second.shape[1]
        if sparse:
            assert self.cols is not None
            contracted, kept = self.cols
            return [SparseColumns(self.problem, E, kept, contracted, n_kept, by_panels=tiles, padded=padded)]
        return [self._scatter(), Multiply(self.problem, E, n_kept, "middle", tiles=tiles)]

    def _scatter(self) -> Stage:
        shape = (self.first.shape[1], self.second.shape[1])
        if self.cols is None:
            return AllColumns(shape, transposed=not self.is_m_first)
        return ScatterColumns(self.problem, self.cols[0], self.cols[1], shape)

    def _sampled(self, A: Matrix, held: Array, tile: Array, before: Stage) -> Stage:
        assert isinstance(before, SparseColumns | Multiply)
        assert before.tiles is not None
        return SampledRows(self.problem, A, held, tile, before.tiles)

    def _leave(self, n_minor: int, first_is_major: bool) -> Stage:
        """Return the stage from the matrix of all results, (first, second) or the other way round, to the rows."""
        if self.rows is None:
            return AllRows(transposed=self.is_m_first != first_is_major)
        major, minor = self.rows if first_is_major else self.rows[::-1]
        return GatherRows(self.problem, major, minor, n_minor)
