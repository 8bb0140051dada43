"""The antisymmetric Kronecker kernel, for edges that mean the opposite when reversed."""

from vectrick.kernels.pairwise.base import PairwiseKernel, VertexFactors
from vectrick.operators import Term


class Antisymmetric(PairwiseKernel):
    """``k(d, d') k(t, t') - k(d, t') k(t, d')``: f(d, t) is ``-f(t, d)``, as for the result of a match.

    A product takes about 1.4 times as long as one of the Kronecker kernel, O(m n) or less.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> X = vt.Edges([0, 1, 2], [1, 2, 0], np.eye(3))
    >>> model = vt.KronRidge(pairwise="antisymmetric").fit(X, [1.0, 2.0, 3.0])
    >>> turned = vt.Edges(X.end, X.start, np.eye(3))
    >>> bool(np.allclose(model.predict(X), -model.predict(turned)))
    True
    """

    name = "antisymmetric"
    formula = "k(d, d') · k(t, t') - k(d, t') · k(t, d')"
    one_set = True
    is_mirrored = True
    symmetry = -1

    def terms(self, start: VertexFactors, end: VertexFactors) -> list[Term]:
        """Return the term of the edge, minus the term of the reversed edge."""
        k = start.kernel
        return [Term(1.0, k, k), Term(-1.0, k, k, cols=(1, 0))]
