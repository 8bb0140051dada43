"""Ridge regression by one pass over the edges: ``M⁻¹ Zᵀ y`` with the degree model M, for every alpha and filter."""

from typing import Any

from vectrick._typing import Array
from vectrick.backends.arrays import namespace
from vectrick.losses import Loss
from vectrick.solvers.base import Limits, Solver
from vectrick.solvers.solution import Solution
from vectrick.solvers.space import Space

FILTERS = ("ridge", "iterated", "cut-off")


class OnePass(Solver):
    """One pass over the edges, then a closed form; `KronRidge` makes it from the kernels themselves.

    One pass takes one product and two eigendecompositions, O(m³ + q³) or less with thin factors.

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
        """Refuse: it needs the vertex kernels, which are not known here."""
        raise ValueError("solver is 'one-pass', which is for KronRidge; use 'auto'")


def filtered(s: Array, alpha: float, spectral_filter: str, filter_iter: int) -> Any:
    """Return what a filter makes of the inverse of a spectrum s.

    "ridge" is ``1 / (s + α)``, "iterated" ``(1 - (α / (s + α))ᵏ) / s``, ridge regression k times, each time for what is
    left, and "cut-off" ``1 / s`` for s above α and else zero.

    >>> import numpy as np
    >>> s = np.array([3.0, 1.0])
    >>> filtered(s, 1.0, "ridge", 2), filtered(s, 1.0, "iterated", 2), filtered(s, 1.0, "cut-off", 2).round(4)
    (array([0.25, 0.5 ]), array([0.3125, 0.75  ]), array([0.3333, 0.    ]))
    """
    xp = namespace(s)
    if spectral_filter == "ridge":
        return 1.0 / (s + alpha)
    safe = xp.where(s > 0, s, xp.ones_like(s))
    if spectral_filter == "cut-off":
        return xp.where(s > alpha, 1.0 / safe, xp.zeros_like(s))
    left = (alpha / (s + alpha)) ** filter_iter
    # Where s is much smaller than alpha, 1 - left has no digits; its series begins with k s / alpha.
    small = s < 1e-8 * alpha
    return xp.where(small, xp.zeros_like(s) + filter_iter / alpha, (1.0 - left) / safe)
