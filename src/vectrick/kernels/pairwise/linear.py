"""The linear pairwise kernel."""

from vectrick.kernels.pairwise.base import PairwiseKernel, VertexFactors
from vectrick.operators import ONES, Term


class Linear(PairwiseKernel):
    """``k(d, d') + g(t, t')``: its functions are ``f(d) + h(t)``, without interactions."""

    name = "linear"
    formula = "k(d, d') + g(t, t')"

    def terms(self, start: VertexFactors, end: VertexFactors) -> list[Term]:
        """Return one term for each end."""
        return [Term(1.0, start.kernel, ONES), Term(1.0, ONES, end.kernel)]
