"""The base of pairwise kernels: kernels of edges, given as sums of Kronecker terms of vertex kernels."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from sklearn.base import BaseEstimator

from vectrick._cached import cached_property
from vectrick._registry import Registry
from vectrick.kernels.base import Kernel
from vectrick.operators import LowRank, Term


class VertexFactors:
    """The matrices of one side for the terms of a kernel, between the row vertices and the column vertices.

    It holds O(m²) numbers, or O(m r) for a low-rank factor.

    Parameters
    ----------
    kernel : array or LowRank
        The kernel values.
    find_same : callable
        Returns `same`; it is called only if a kernel needs it.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> factors = vt.pairwise.VertexFactors(np.array([[2.0, 1.0], [1.0, 2.0]]), lambda: np.eye(2))
    >>> factors.squared
    array([[4., 1.],
           [1., 4.]])
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

    A subclass defines `terms` and ``formula``. With ``one_set`` both ends come from one vertex set. ``symmetry`` is 1
    if ``f(d, t) = f(t, d)`` for all functions of the kernel, -1 if ``f(d, t) = -f(t, d)``, and 0 otherwise.

    A product costs that of its terms, each at most one Kronecker product, O((m + q) n).

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> class WithStart(vt.pairwise.PairwiseKernel):
    ...     name, formula = "with_start", "k g + k"
    ...     def terms(self, start, end):
    ...         return [vt.Term(1.0, start.kernel, end.kernel), vt.Term(1.0, start.kernel, vt.ONES)]
    >>> X = vt.Edges.grid(np.eye(2), np.eye(2))
    >>> vt.KronRidge(pairwise=WithStart()).fit(X, [1.0, 0.0, 0.0, 0.0]).components_
    ['with_start: linear, linear']
    """

    name = ""  # its name in ``pairwise``, once it is registered
    formula = ""
    one_set = False
    symmetry = 0
    is_product = False  # whether it is one Kronecker product, k(d, d') · g(t, t')
    is_mirrored = False  # whether it is one Kronecker product, plus or minus the product of the reversed edge

    @abstractmethod
    def terms(self, start: VertexFactors, end: VertexFactors) -> list[Term]:
        """Return the terms; for one vertex set, ``start`` and ``end`` are the same object.

        The first index of an edge is its start vertex, the second its end vertex.
        """

    def vertex_kernel(self, kernel: Kernel, argument: str) -> Any:
        """Return the vertex kernel to use instead of the given one."""
        return kernel


PAIRWISE: Registry[PairwiseKernel] = Registry("pairwise kernel", PairwiseKernel)
