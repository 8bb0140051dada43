"""The antisymmetric Kronecker kernel, for edges that mean the opposite when turned round."""

from vectrick.kernels.pairwise.base import PairwiseKernel, VertexFactors
from vectrick.operators import Term


class Antisymmetric(PairwiseKernel):
    """``k(d, d') k(t, t') - k(d, t') k(t, d')``: f(d, t) is ``-f(t, d)``, as for the result of a match."""

    name = "antisymmetric"
    formula = "k(d, d') · k(t, t') - k(d, t') · k(t, d')"
    one_set = True
    is_mirrored = True
    symmetry = -1

    def terms(self, start: VertexFactors, end: VertexFactors) -> list[Term]:
        """Return the term of the edge, minus the term of the edge turned round."""
        k = start.kernel
        return [Term(1.0, k, k), Term(-1.0, k, k, cols=(1, 0))]
