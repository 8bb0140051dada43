"""The reference backend: the CPU backend with products by Algorithm 1 in plain NumPy, slow but easy to read."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.backends.cpu.backend import NumpyBackend
from vectrick.backends.product_path import Allocation, Name, Pair, ProblemLike, ProductPath, Stage
from vectrick.backends.rates import Rates
from vectrick.backends.reference.algorithm import generalized_vec_trick

_SECONDS = 1e-6  # per edge: a few NumPy calls


class AlgorithmOne(Stage):
    """The whole product as one stage."""

    label = "Algorithm 1, line by line"

    def __init__(self, problem: ProblemLike, branch: Name) -> None:
        self.problem, self.branch = problem, branch

    def seconds(self, rates: Rates) -> float:
        """Return the time of the loops."""
        return _SECONDS * sum(self.problem.shape)

    def allocations(self) -> list[Allocation]:
        """Return the matrix between the two loops, and the factors."""
        (a, b), (c, d), size = self.problem.M.shape, self.problem.N.shape, self.problem.dtype.itemsize
        between = Allocation("matrix between the loops", size * (a * d if self.branch == "M" else b * c))
        return [between, Allocation("copies of the factors", size * (a * b + c * d))]

    def run(self, x: Array, space: Any, target: Array) -> Array:
        """Return the product."""
        M, N = self.problem.M, self.problem.N
        rows, cols = (_pair(pair, M.shape[axis], N.shape[axis])
                      for axis, pair in enumerate((self.problem.rows, self.problem.cols)))  # fmt: skip
        target[:] = generalized_vec_trick(M.dense.array(), N.dense.array(), x, *rows, *cols, self.branch)
        return target


def _pair(pair: Pair | None, n_first: int, n_second: int) -> Pair:
    """Return edges as indices; for None, every pair in the order of the Kronecker product."""
    return np.divmod(np.arange(n_first * n_second), n_second) if pair is None else pair


class ReferenceBackend(NumpyBackend):
    """NumPy arrays, and Algorithm 1 for every product."""

    name = "reference"

    def product_paths(self, problem: ProblemLike) -> Iterator[ProductPath]:
        """Yield both branches."""
        yield ProductPath("sparse", "M", False, (AlgorithmOne(problem, "M"),), True)
        yield ProductPath("sparse", "N", False, (AlgorithmOne(problem, "N"),), True)


REFERENCE = ReferenceBackend()
