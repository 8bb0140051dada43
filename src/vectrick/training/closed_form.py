"""`KronRidge` on a complete graph: one eigendecomposition of each kernel serves every alpha and all labels."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from vectrick.backends.arrays import cast, zeros
from vectrick.models.forms import dual_form
from vectrick.models.vertex_kernel import check_matrices
from vectrick.solvers import CompleteGraph, Solution, solve_two_step
from vectrick.solvers.solution import EXACT
from vectrick.training.checks import check_not_zero
from vectrick.training.fitted import Trainable
from vectrick.training.problem import Training


class ClosedForm:
    """The closed form for the kernels of a training; other labels of the same edges can be solved for, too."""

    def __init__(self, lead: Any, training: Training) -> None:
        self.lead, self.begin = lead, time.perf_counter()
        kernel = training.kernel
        self.K, self.G = kernel.start, kernel.end
        check_matrices((kernel.start, kernel.end))
        self.form = dual_form(kernel, training.graph, training.dtype, lead.n_threads)
        two_step = training.given.spec.two_step
        self.complete = CompleteGraph(self.K.matrix, self.G.matrix) if two_step is None else None

    def solved(self, training: Training, alphas: Sequence[float]) -> list[Solution]:
        """Return the solution for each alpha."""
        graph, K, G = training.graph, self.K.matrix, self.G.matrix
        Y = zeros((len(graph.used_start), len(graph.used_end)), K)
        Y[graph.start, graph.end] = cast(training.loss.y, np.float64)
        if self.complete is not None:
            solved = self.complete.solve(Y, alphas, training.given.has_intercept)
        else:
            two_step = training.given.spec.two_step
            assert two_step is not None
            solved = solve_two_step(K, G, Y, two_step.alphas(alphas))
        solutions = []
        for A, b in solved:
            x = cast(A[graph.start, graph.end], training.dtype)
            predictions = cast((K @ A @ G)[graph.start, graph.end], training.dtype)
            solutions.append(Solution(x, predictions, True, EXACT, 1, 0, [0.0], b))
        return solutions

    def keep(self, model: Trainable, training: Training) -> None:
        """Fit a model with its alpha."""
        (solution,) = self.solved(training, [model.alpha])
        f = solution.predictions
        risk = training.loss.value(f + solution.intercept)
        if self.complete is not None:
            risk += 0.5 * model.alpha * float(solution.x @ f)
        else:  # ridge regression with alpha 1 and coefficients y - f of another kernel
            risk += 0.5 * float((training.loss.y - f) @ f)
        seconds = time.perf_counter() - self.begin
        history: dict[str, list[Any]] = {"iteration": [1], "risk": [risk], "seconds": [seconds]}
        model._keep(self.form, training, solution, solution.intercept, 1, history)
        check_not_zero(training, self.form.space, solution, solution.intercept)
