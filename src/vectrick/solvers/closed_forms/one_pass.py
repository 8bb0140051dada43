"""Ridge regression by one pass over the edges: ``M⁻¹ Zᵀ y`` with the degree model M, for any alpha and filter."""

from vectrick.losses import Loss
from vectrick.objectives.space import Space
from vectrick.solvers.base import Limits, Solver
from vectrick.solvers.solution import Solution


class OnePass(Solver):
    """One pass over the edges, then a closed form; `KronRidge` computes it from the vertex kernels.

    It takes one product and two eigendecompositions, O(m³ + q³), or less with low-rank factors.

    Examples
    --------
    >>> import vectrick as vt
    >>> X, y = vt.datasets.make_checkerboard(60, random_state=0)
    >>> model = vt.KronRidge("gaussian", "gaussian", solver="one-pass").fit(X, y)
    >>> model.solution_.n_iter
    1
    """

    name = "one-pass"
    needs = ("is_smooth", "is_quadratic")
    is_general = False
    has_preconditioner = True
    max_iter = 1
    verified = ""

    def minimise(self, space: Space, loss: Loss, alpha: float, limits: Limits) -> Solution:
        """Raise ValueError, because this solver needs the vertex kernels."""
        raise ValueError("solver is 'one-pass', which is for KronRidge; use 'auto'")
