"""The symmetric Kronecker kernel, for edges without direction."""

from vectrick.kernels.pairwise.base import PairwiseKernel, VertexFactors
from vectrick.operators import Term


class Symmetric(PairwiseKernel):
    """``k(d, d') k(t, t') + k(d, t') k(t, d')``: (d, t) and (t, d) are one edge."""

    name = "symmetric"
    formula = "k(d, d') · k(t, t') + k(d, t') · k(t, d')"
    one_set = True
    is_mirrored = True
    symmetry = 1

    def terms(self, start: VertexFactors, end: VertexFactors) -> list[Term]:
        """Return the term of the edge, and the term of the edge turned round."""
        k = start.kernel
        return [Term(1.0, k, k), Term(1.0, k, k, cols=(1, 0))]
