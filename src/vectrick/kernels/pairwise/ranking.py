"""The ranking kernel: differences of a score."""

from vectrick.kernels.pairwise.base import PairwiseKernel, VertexFactors
from vectrick.operators import ONES, Term


class Ranking(PairwiseKernel):
    """``k(d, d') - k(d, t') - k(t, d') + k(t, t')``: its functions are ``h(d) - h(t)`` with a score h of vertices."""

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
