"""The ranking kernel: differences of a score."""

from vectrick.kernels.pairwise.base import PairwiseKernel, VertexFactors
from vectrick.operators import ONES, Term


class Ranking(PairwiseKernel):
    """``k(d, d') - k(d, t') - k(t, d') + k(t, t')``: its functions are ``h(d) - h(t)`` with a score h of vertices.

    A product takes O(n + m²).

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> X = vt.Edges([0, 1, 2], [1, 2, 0], np.eye(3))
    >>> model = vt.KronRidge(pairwise="ranking").fit(X, [1.0, 2.0, 3.0])
    >>> turned = vt.Edges(X.end, X.start, np.eye(3))
    >>> bool(np.allclose(model.predict(X), -model.predict(turned)))
    True
    """

    name = "ranking"
    formula = "k(d, d') - k(d, t') - k(t, d') + k(t, t')"
    one_set = True
    symmetry = -1

    def terms(self, start: VertexFactors, end: VertexFactors) -> list[Term]:
        """Return the four values."""
        k = start.kernel
        return [
            Term(1.0, k, ONES),
            Term(1.0, ONES, k),
            Term(-1.0, k, ONES, cols=(1, 0)),
            Term(-1.0, ONES, k, cols=(1, 0)),
        ]
