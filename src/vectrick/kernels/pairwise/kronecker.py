"""The Kronecker product kernel."""

from vectrick.kernels.pairwise.base import PairwiseKernel, VertexFactors
from vectrick.operators import Term


class Kronecker(PairwiseKernel):
    """``k(d, d') g(t, t')``: edges are alike if both ends are alike."""

    name = "kronecker"
    formula = "k(d, d') · g(t, t')"
    is_product = True

    def terms(self, start: VertexFactors, end: VertexFactors) -> list[Term]:
        """Return the product."""
        return [Term(1.0, start.kernel, end.kernel)]
