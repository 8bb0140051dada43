"""The kernel that makes ridge regression equal to two-step ridge regression, on complete graphs."""

from collections.abc import Sequence

from vectrick.kernels.pairwise.base import PairwiseKernel, VertexFactors
from vectrick.operators import Term


class TwoStep(PairwiseKernel):
    """Ridge regression of the start vertices, then of the end vertices: ``(K + λ I)⁻¹ Y (G + μ I)⁻¹``.

    It is ridge regression with ``alpha=1`` and the edge kernel ``(K ⊗ G)(λ μ I + μ K ⊗ I + λ I ⊗ G)⁻¹``. This
    kernel is not a finite sum of products of vertex kernels, but has their eigenvectors. It is for `KronRidge` on
    complete graphs only, because the coefficients then belong to a Kronecker kernel and have a closed form.

    The closed form takes two eigendecompositions, O(m³ + q³).

    Parameters
    ----------
    start_alpha, end_alpha : float, optional
        λ and μ; by default the ``alpha`` of the estimator.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> X = vt.Edges.grid(np.eye(2), np.eye(2))
    >>> kernel, y = vt.pairwise.TwoStep(0.1, 1.0), [1.0, 0.0, 0.0, 0.0]
    >>> model = vt.KronRidge(pairwise=kernel, alpha=0.1, fit_intercept=False).fit(X, y)
    >>> model.predict(X).round(2) + 0.0
    array([0.45, 0.  , 0.  , 0.  ])
    """

    name = "two_step"
    formula = "(K ⊗ G)(λμ I + μ K ⊗ I + λ I ⊗ G)⁻¹, on complete graphs"
    is_product = True

    def __init__(self, start_alpha: float | None = None, end_alpha: float | None = None) -> None:
        self.start_alpha = start_alpha
        self.end_alpha = end_alpha

    def alphas(self, alphas: Sequence[float]) -> list[tuple[float, float]]:
        """Return λ and μ for each alpha of the estimator."""
        return [
            (
                alpha if self.start_alpha is None else self.start_alpha,
                alpha if self.end_alpha is None else self.end_alpha,
            )
            for alpha in alphas
        ]

    def terms(self, start: VertexFactors, end: VertexFactors) -> list[Term]:
        """Raise an error: the kernel is not a sum of terms."""
        raise ValueError("pairwise 'two_step' is not a sum of Kronecker terms; it is for KronRidge on complete graphs")
