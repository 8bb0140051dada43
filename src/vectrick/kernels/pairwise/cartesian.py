"""The Cartesian kernel."""

from vectrick.kernels.pairwise.base import PairwiseKernel, VertexFactors
from vectrick.operators import Term


class Cartesian(PairwiseKernel):
    """``k(d, d') [t = t'] + [d = d'] g(t, t')``: only edges that share a vertex are compared."""

    name = "cartesian"
    formula = "k(d, d') · [t = t'] + [d = d'] · g(t, t')"

    def terms(self, start: VertexFactors, end: VertexFactors) -> list[Term]:
        """Return one term for each vertex that may be shared."""
        return [Term(1.0, start.kernel, end.same), Term(1.0, start.same, end.kernel)]
