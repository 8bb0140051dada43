"""The second degree polynomial pairwise kernel."""

from vectrick.kernels.pairwise.base import PairwiseKernel, VertexFactors
from vectrick.operators import ONES, Term


class Poly2D(PairwiseKernel):
    """``(k(d, d') + g(t, t'))²``: the Kronecker kernel plus a kernel of each end alone.

    A product takes one Kronecker product and O(n + m² + q²).

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> X = vt.Edges.grid(np.eye(2), np.eye(2))
    >>> kernel, y = vt.pairwise.Poly2D(), [1.0, 0.0, 0.0, 0.0]
    >>> model = vt.KronRidge(pairwise=kernel, alpha=0.1, fit_intercept=False).fit(X, y)
    >>> model.predict(X).round(2) + 0.0
    array([0.97, 0.01, 0.01, 0.  ])
    """

    name = "poly2d"
    formula = "(k(d, d') + g(t, t'))² = k² + 2 k g + g²"

    def terms(self, start: VertexFactors, end: VertexFactors) -> list[Term]:
        """Return the square, multiplied out."""
        return [
            Term(1.0, start.squared, ONES),
            Term(2.0, start.kernel, end.kernel),
            Term(1.0, ONES, end.squared),
        ]
