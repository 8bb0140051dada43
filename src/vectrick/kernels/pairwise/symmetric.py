"""The symmetric Kronecker kernel, for edges without direction."""

from vectrick.kernels.pairwise.base import PairwiseKernel, VertexFactors
from vectrick.operators import Term


class Symmetric(PairwiseKernel):
    """``k(d, d') k(t, t') + k(d, t') k(t, d')``: (d, t) and (t, d) are one edge.

    A product takes about 1.4 times as long as one of the Kronecker kernel, O(m n) or less.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> X = vt.Edges([0, 1, 2], [1, 2, 0], np.eye(3))
    >>> model = vt.KronRidge(pairwise="symmetric").fit(X, [1.0, 2.0, 3.0])
    >>> turned = vt.Edges(X.end, X.start, np.eye(3))
    >>> bool((model.predict(X) == model.predict(turned)).all())
    True
    """

    name = "symmetric"
    formula = "k(d, d') · k(t, t') + k(d, t') · k(t, d')"
    one_set = True
    is_mirrored = True
    symmetry = 1

    def terms(self, start: VertexFactors, end: VertexFactors) -> list[Term]:
        """Return the term of the edge, and the term of the reversed edge."""
        k = start.kernel
        return [Term(1.0, k, k), Term(1.0, k, k, cols=(1, 0))]
