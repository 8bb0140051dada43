"""The linear pairwise kernel."""

from vectrick.kernels.pairwise.base import PairwiseKernel, VertexFactors
from vectrick.operators import ONES, Term


class Linear(PairwiseKernel):
    """``k(d, d') + g(t, t')``: its functions are ``f(d) + h(t)``, without interactions.

    A product takes O(n + m² + q²): sums over vertices and a matrix-vector product for each side.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> X = vt.Edges.grid(np.eye(2), np.eye(2))
    >>> kernel, y = vt.pairwise.Linear(), [1.0, 0.0, 0.0, 0.0]
    >>> model = vt.KronRidge(pairwise=kernel, alpha=0.1, fit_intercept=False).fit(X, y)
    >>> model.predict(X).round(2) + 0.0
    array([ 0.72,  0.24,  0.24, -0.23])
    """

    name = "linear"
    formula = "k(d, d') + g(t, t')"

    def terms(self, start: VertexFactors, end: VertexFactors) -> list[Term]:
        """Return one term for each end."""
        return [Term(1.0, start.kernel, ONES), Term(1.0, ONES, end.kernel)]
