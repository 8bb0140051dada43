"""Results of solvers: the solution, and the state after each iteration."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sklearn.exceptions import ConvergenceWarning

from vectrick._typing import Array
from vectrick._warnings import warn
from vectrick.backends.arrays import namespace

TOLERANCE = "tolerance reached"
LIMIT = "iteration limit reached"
CALLBACK = "stopped by the callback"
INTERRUPTED = "interrupted"
STALLED = "no further decrease possible"
ROUNDING = "as close as rounding allows"
EXACT = "solved exactly"
INEXACT = "rounding stopped it before the tolerance was reached"


@dataclass(frozen=True)
class Iterate:
    """The state after an iteration, passed to callbacks.

    It costs O(1), because it holds references to the solver's arrays: copy the arrays that you keep.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> seen, space = [], vt.solvers.Dual(vt.kron(np.diag([1.0, 3.0]), np.eye(2)))
    >>> loss = vt.losses.Squared(np.arange(4.0))
    >>> _ = vt.solvers.minimise(space, loss, 1.0, solver="cg", callback=lambda step: seen.append(step.n_iter))
    >>> seen
    [1, 2]
    """

    n_iter: int
    n_products: int
    x: Any  # the coefficients; None if not requested
    predictions: Any  # for the training edges; None if they are not kept
    risk: float
    residual: float  # relative to the first one; NaN if unknown
    intercept: float = 0.0  # if the solver finds it
    n_corrections: int | None = None  # directions that were found in low precision; None without mixed precision


Callback: TypeAlias = Callable[[Iterate], bool | None]


def why_stalled(like: Array, residual: float) -> str:
    """Return why the risk no longer falls: rounding, if the residual is near the root of the rounding error."""
    return ROUNDING if residual <= rounding(like) else STALLED


def rounding(like: Array) -> float:
    """Return a relative residual below which rounding hides differences of risks."""
    return min(10 * math.sqrt(_eps(like)), 1e-3)


def finest(like: Array) -> float:
    """Return the smallest meaningful tolerance: 2e-13 in float64, 1e-4 in float32."""
    return 1e3 * _eps(like)


def _eps(like: Array) -> float:
    return float(namespace(like).finfo(like.dtype).eps)


@dataclass(frozen=True, repr=False)
class Solution:
    """The coefficients that a solver found, and whether the solver converged.

    It holds O(n) numbers.

    Attributes
    ----------
    x : array
        The coefficients, dual or primal.
    predictions : array
        The predictions for the training edges, without intercept; an estimator does not keep them.
    converged : bool
        Whether the tolerance was reached.
    reason : str
        Why the solver stopped.
    n_iter : int
        The number of iterations (the outer ones, if iterations are nested).
    n_products : int
        The number of products with the operator or its transpose.
    residuals : list of float
        For each iteration, the norm of the gradient (or the solver's own measure) relative to the first one.
    intercept : float
        The intercept, if the solver finds it.
    dual : array, optional
        The dual coefficients, if the solver works with them in both forms.
    n_corrections : int
        With ``precision="mixed"``, how many directions were found with products of low precision.
    preconditioner, preconditioner_reason : str
        "kronecker" or "none", and why.
    scale : float, optional
        The norm of the gradient at zero, the reference of the residuals, if the solver has computed it.

    Examples
    --------
    >>> import vectrick as vt
    >>> X, y = vt.datasets.make_checkerboard(60, random_state=0)
    >>> solution = vt.KronRidge("gaussian", "gaussian", solver="cg").fit(X, y).solution_
    >>> solution.converged, solution.reason
    (True, 'tolerance reached')
    """

    x: Array
    predictions: Any
    converged: bool
    reason: str
    n_iter: int
    n_products: int
    residuals: list[float] = field(default_factory=list)
    intercept: float = 0.0
    dual: Array | None = None
    n_corrections: int = 0
    preconditioner: str = "none"
    preconditioner_reason: str = ""
    scale: float | None = None

    def __repr__(self) -> str:
        last = f", residual {self.residuals[-1]:.1e}" if self.residuals else ""
        work = f"{self.n_iter} iterations, {self.n_products} products"
        work += f", {self.n_corrections} corrections" if self.n_corrections else ""
        return f"<Solution: {'converged' if self.converged else 'not converged'}, {self.reason}, {work}{last}>"

    def warn(self, solver: str, tol: float) -> None:
        """Warn if the solver stopped before the tolerance was reached, unless the callback stopped it."""
        if self.converged or self.reason == CALLBACK:
            return
        last = f"{self.residuals[-1]:.1e}" if self.residuals else "unknown"
        warn(
            f"solver {solver!r} stopped after {self.n_iter} iterations: {self.reason}; the relative residual is "
            f"{last}, but tol is {tol:.1e}. Raise max_iter, tol or alpha, scale the features, or use "
            "early_stopping=True to stop on purpose",
            ConvergenceWarning,
        )
