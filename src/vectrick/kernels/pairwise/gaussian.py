"""The Gaussian pairwise kernel: a product of Gaussian kernels of both ends."""

from vectrick.kernels.base import Kernel
from vectrick.kernels.gaussian import Gaussian as VertexGaussian
from vectrick.kernels.linear import Linear
from vectrick.kernels.pairwise.base import PairwiseKernel, VertexFactors
from vectrick.kernels.standardized import Standardized
from vectrick.operators import Term


class Gaussian(PairwiseKernel):
    """``exp(-γ ‖d - d'‖²) exp(-γ ‖t - t'‖²)``: the Gaussian kernel of the features of both ends.

    With a number for gamma, it is the Gaussian kernel of both feature vectors side by side, as in LIBSVM. "scale" and
    "auto" become a number for each end. Leave the vertex kernels at "linear", to use their features; Gaussian vertex
    kernels keep their own gamma.

    A product takes as long as one of the Kronecker kernel, O((m + q) n) or less.

    Parameters
    ----------
    gamma : float or str
        As for `vectrick.Gaussian`: a positive number, "scale" or "auto", for each end separately.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> X = vt.Edges.grid(np.eye(2), np.eye(2))
    >>> kernel, y = vt.pairwise.Gaussian(gamma=1.0), [1.0, 0.0, 0.0, 0.0]
    >>> model = vt.KronRidge(pairwise=kernel, alpha=0.1, fit_intercept=False).fit(X, y)
    >>> model.predict(X).round(2) + 0.0
    array([0.91, 0.01, 0.01, 0.  ])
    """

    name = "gaussian"
    formula = "exp(-γ ‖d - d'‖²) · exp(-γ ‖t - t'‖²)"
    is_product = True

    def __init__(self, gamma: float | str = "scale") -> None:
        self.gamma = gamma

    def terms(self, start: VertexFactors, end: VertexFactors) -> list[Term]:
        """Return the product."""
        return [Term(1.0, start.kernel, end.kernel)]

    def vertex_kernel(self, kernel: Kernel, argument: str) -> Kernel:
        """Return the Gaussian kernel of the features."""
        if isinstance(kernel, VertexGaussian):
            return kernel
        if isinstance(kernel, Linear):
            return VertexGaussian(self.gamma)
        if isinstance(kernel, Standardized):
            return Standardized(self.vertex_kernel(kernel.kernel, argument), kernel.mean, kernel.scale)
        raise ValueError(
            f"{argument} is {kernel!r}, but pairwise='gaussian' makes a Gaussian of the features, so it must be "
            "'linear' or a Gaussian; use pairwise='kronecker' for the product of other kernels"
        )
