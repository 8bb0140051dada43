"""The ways to compute one product on a device of torch, of the same names as on the CPU."""

from typing import Any

from vectrick.operators.device_steps import (
    AllColumns,
    AllRows,
    GatherRows,
    Multiply,
    SampledRows,
    ScatterColumns,
    SparseColumns,
)
from vectrick.operators.problem import Matrix, Name, Problem
from vectrick.operators.steps import Step, Transposed

Tensor = Any


class DeviceSides:
    """The problem with one factor called ``first``, which the columns meet first, and the other ``second``."""

    def __init__(self, problem: Problem, first: Name) -> None:
        self.problem, self.is_m_first = problem, first == "M"
        self.first, self.second, self.rows, self.cols = problem.led_by(first)

    def steps(self, sparse_entry: bool, sparse_exit: bool) -> list[Step] | None:
        """Return the steps with both factors dense: ``F₁ Vᵀ``, then ``F₂`` at the rows."""
        F1, F2 = self.first.dense, self.second.dense
        steps = self._enter(F1, sparse_entry)
        if sparse_exit:
            assert self.rows is not None
            tile, held = self.rows
            return [*steps, SampledRows(self.problem, F2, held, tile, F1.shape[0], turned=sparse_entry)]
        last = Multiply(self.problem, F2.T, F1.shape[0], "outer", left=False)
        return [*steps, last, self._leave(last, first_is_major=True)]

    def thin_steps(self, sparse_entry: bool, sparse_exit: bool) -> list[Step] | None:
        """Return the steps of ``(F₂ V B) Aᵀ`` at the rows, where the first factor is ``A Bᵀ``."""
        if not isinstance(self.first.thin, tuple):
            return None
        problem, (A, B), second = self.problem, self.first.thin, self.second
        steps = [*self._enter(B.T, sparse_entry), Transposed()]
        slot = "outer"
        if isinstance(second.thin, tuple):
            steps.append(Multiply(problem, second.thin[1].T, A.shape[1], slot))
            slot = "middle"
            steps.append(Multiply(problem, second.thin[0], A.shape[1], slot))
        else:
            steps.append(Multiply(problem, second.dense, A.shape[1], slot))
        if sparse_exit:
            assert self.rows is not None
            held, tile = self.rows
            return [*steps, SampledRows(problem, A, held, tile, second.shape[0], turned=False)]
        last = Multiply(problem, A.T, second.shape[0], "middle" if slot == "outer" else "outer", left=False)
        return [*steps, last, self._leave(last, first_is_major=False)]

    def _enter(self, E: Matrix, sparse: bool) -> list[Step]:
        """Return the steps from the vector to ``E Vᵀ``."""
        shape = (self.first.shape[1], self.second.shape[1])
        if sparse:
            assert self.cols is not None
            contracted, kept = self.cols
            return [SparseColumns(self.problem, E, kept, contracted, shape[1])]
        if self.cols is None:
            enter: Step = AllColumns(self.problem, shape, transposed=not self.is_m_first)
        else:
            enter = ScatterColumns(self.problem, self.cols[0], self.cols[1], shape)
        return [enter, Multiply(self.problem, E, shape[1], "middle")]

    def _leave(self, last: Multiply, first_is_major: bool) -> Step:
        """Return the step from the matrix of all results, (first, second) or the other way round, to the rows."""
        if self.rows is None:
            return AllRows(self.problem, transposed=self.is_m_first != first_is_major)
        i, j = self.rows if first_is_major else self.rows[::-1]
        return GatherRows(self.problem, i, j, last.shape, last)
