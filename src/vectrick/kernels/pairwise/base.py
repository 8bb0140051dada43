"""The base of pairwise kernels: kernels of edges, given as sums of Kronecker terms of vertex kernels."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from sklearn.base import BaseEstimator

from vectrick._cached import cached_property
from vectrick._registry import Registry
from vectrick.operators import LowRank, Term


class VertexFactors:
    """The matrices of one side that terms are made of, between the vertices of the rows and of the columns.

    Parameters
    ----------
    kernel : array or LowRank
        The kernel values.
    find_same : callable
        Returns `same`; it is called where a kernel asks for that.
    """

    def __init__(self, kernel: Any, find_same: Callable[[], Any]) -> None:
        self.kernel, self._find_same = kernel, find_same

    @cached_property
    def same(self) -> Any:
        """A sparse array with ones where a row and a column are the same vertex."""
        return self._find_same()

    @cached_property
    def squared(self) -> Any:
        """The squares of the kernel values."""
        values = self.kernel.toarray() if isinstance(self.kernel, LowRank) else self.kernel
        return values * values


class PairwiseKernel(BaseEstimator):
    """A kernel of edges (d, t) and (d', t'), made from the kernel k of start vertices and the kernel g of end vertices.

    A subclass writes `terms`, and says in ``formula`` what it is. Of a kernel with ``one_set`` both ends come from one
    vertex set, and ``symmetry`` is 1 where ``f(d, t) = f(t, d)`` for all of its functions, -1 where
    ``f(d, t) = -f(t, d)``, and 0 otherwise.
    """

    name = ""  # what ``pairwise`` calls it, once it is registered
    formula = ""
    one_set = False
    symmetry = 0
    is_product = False  # whether it is one Kronecker product, k(d, d') · g(t, t')

    @abstractmethod
    def terms(self, start: VertexFactors, end: VertexFactors) -> list[Term]:
        """Return the terms; of one vertex set, both sides are one object.

        The first index of an edge is its start vertex, the second its end vertex.
        """

    def vertex_kernel(self, kernel: Any, argument: str) -> Any:
        """Return the vertex kernel to use in place of the one that the user gave."""
        return kernel


PAIRWISE: Registry[PairwiseKernel] = Registry("pairwise kernel", PairwiseKernel)
