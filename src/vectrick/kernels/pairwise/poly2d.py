"""The second degree polynomial pairwise kernel."""

from vectrick.kernels.pairwise.base import PairwiseKernel, VertexFactors
from vectrick.operators import ONES, Term


class Poly2D(PairwiseKernel):
    """``(k(d, d') + g(t, t'))²``: the Kronecker kernel plus a kernel of each end alone."""

    name = "poly2d"
    formula = "(k(d, d') + g(t, t'))² = k² + 2 k g + g²"

    def terms(self, start: VertexFactors, end: VertexFactors) -> list[Term]:
        """Return the square, multiplied out."""
        return [
            Term(1.0, start.squared, ONES),
            Term(2.0, start.kernel, end.kernel),
            Term(1.0, ONES, end.squared),
        ]
