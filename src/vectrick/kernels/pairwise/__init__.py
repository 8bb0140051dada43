"""Pairwise kernels: kernels of edges as sums of Kronecker terms, by name or as objects.

>>> import vectrick as vt
>>> vt.pairwise.as_pairwise("symmetric").formula
"k(d, d') · k(t, t') + k(d, t') · k(t, d')"
"""

from vectrick.kernels.pairwise.antisymmetric import Antisymmetric
from vectrick.kernels.pairwise.base import PAIRWISE, PairwiseKernel, VertexFactors
from vectrick.kernels.pairwise.cartesian import Cartesian
from vectrick.kernels.pairwise.gaussian import Gaussian
from vectrick.kernels.pairwise.kronecker import Kronecker
from vectrick.kernels.pairwise.linear import Linear
from vectrick.kernels.pairwise.mlpk import MetricLearning
from vectrick.kernels.pairwise.poly2d import Poly2D
from vectrick.kernels.pairwise.ranking import Ranking
from vectrick.kernels.pairwise.symmetric import Symmetric
from vectrick.kernels.pairwise.two_step import TwoStep

for _kind in (
    Kronecker, Linear, Poly2D, Cartesian, Gaussian, Symmetric, Antisymmetric, MetricLearning, Ranking, TwoStep,
):  # fmt: skip
    PAIRWISE.register(_kind)


def as_pairwise(value: object, argument: str = "pairwise") -> PairwiseKernel:
    """Return a pairwise kernel from its name, or unchanged if it is one.

    >>> as_pairwise("symmetric")
    Symmetric()
    """
    if isinstance(value, PairwiseKernel):
        return value
    if isinstance(value, str) and value in PAIRWISE:
        return PAIRWISE[value]()
    names = ", ".join(map(repr, PAIRWISE))
    raise ValueError(
        f"{argument} is {value!r}, but it must be one of {names}, a kernel such as vt.pairwise.Symmetric(), or a list "
        "of these, each alone or with a weight as in [('kronecker', 0.7), ('linear', 0.3)]"
    )


__all__ = [
    "PAIRWISE",
    "Antisymmetric",
    "Cartesian",
    "Gaussian",
    "Kronecker",
    "Linear",
    "MetricLearning",
    "PairwiseKernel",
    "Poly2D",
    "Ranking",
    "Symmetric",
    "TwoStep",
    "VertexFactors",
    "as_pairwise",
]
