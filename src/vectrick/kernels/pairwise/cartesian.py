"""The Cartesian kernel."""

from vectrick.kernels.pairwise.base import PairwiseKernel, VertexFactors
from vectrick.operators import Term


class Cartesian(PairwiseKernel):
    """``k(d, d') [t = t'] + [d = d'] g(t, t')``: only edges that share a vertex are compared.

    A product takes O(m² q + m q²) with dense factors, or O(edges that share a vertex) on sparse graphs.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> X = vt.Edges.grid(np.eye(2), np.eye(2))
    >>> kernel, y = vt.pairwise.Cartesian(), [1.0, 0.0, 0.0, 0.0]
    >>> model = vt.KronRidge(pairwise=kernel, alpha=0.1, fit_intercept=False).fit(X, y)
    >>> model.predict(X).round(2) + 0.0
    array([0.95, 0.  , 0.  , 0.  ])
    """

    name = "cartesian"
    formula = "k(d, d') · [t = t'] + [d = d'] · g(t, t')"

    def terms(self, start: VertexFactors, end: VertexFactors) -> list[Term]:
        """Return one term for each vertex that may be shared."""
        return [Term(1.0, start.kernel, end.same), Term(1.0, start.same, end.kernel)]
