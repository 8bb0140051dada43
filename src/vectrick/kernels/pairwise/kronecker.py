"""The Kronecker product kernel."""

from vectrick.kernels.pairwise.base import PairwiseKernel, VertexFactors
from vectrick.operators import Term


class Kronecker(PairwiseKernel):
    """``k(d, d') g(t, t')``: edges are similar if both ends are similar.

    A product takes O((m + q) n) or O(m q (m + q)), whichever is less; see `vectrick.kron`.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> X = vt.Edges.grid(np.eye(2), np.eye(2))
    >>> kernel, y = vt.pairwise.Kronecker(), [1.0, 0.0, 0.0, 0.0]
    >>> model = vt.KronRidge(pairwise=kernel, alpha=0.1, fit_intercept=False).fit(X, y)
    >>> model.predict(X).round(2) + 0.0
    array([0.91, 0.  , 0.  , 0.  ])
    """

    name = "kronecker"
    formula = "k(d, d') · g(t, t')"
    is_product = True

    def terms(self, start: VertexFactors, end: VertexFactors) -> list[Term]:
        """Return the product."""
        return [Term(1.0, start.kernel, end.kernel)]
