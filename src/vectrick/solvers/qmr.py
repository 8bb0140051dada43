"""Quasi-minimal residuals, the paper's own inner solver, by SciPy."""

from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, qmr

from vectrick.losses import Curvature
from vectrick.solvers.cg import LinearCallback, LinearResult
from vectrick.solvers.solution import CALLBACK, LIMIT, TOLERANCE
from vectrick.solvers.space import Dual, Space

Array = Any


class _StoppedError(Exception):
    pass


def quasi_minimal_residuals(
    space: Space,
    curvature: Curvature,
    rhs: Array,
    alpha: float,
    *,
    tol: float,
    max_iter: int,
    callback: LinearCallback | None = None,
) -> LinearResult:
    """Solve ``(B + α I) x = b`` with ``B x = lift(H predict(x))``.

    An iteration makes two products with B or its transpose. The callback, where there is one, costs
    one more, since QMR does not know the predictions of its iterates.
    """

    def forward(v: Array) -> Array:
        return space.lift(curvature.times(space.predict(v))) + alpha * v

    def backward(v: Array) -> Array:
        # The transpose of H A is A H; in primal form Φᵀ H Φ is symmetric.
        return (space.predict(curvature.times(v)) if isinstance(space, Dual) else forward(v) - alpha * v) + alpha * v

    system = LinearOperator((space.size, space.size), matvec=forward, rmatvec=backward, dtype=rhs.dtype)
    n_iter, last = 0, np.zeros_like(rhs)

    def told(x: Array) -> None:
        nonlocal n_iter, last
        n_iter, last = n_iter + 1, x.copy()
        if callback is not None and callback(n_iter, [space.element(last)], float("nan")):
            raise _StoppedError

    try:
        x, failed = qmr(system, rhs, rtol=tol, maxiter=max_iter, callback=told)
        reason = LIMIT if failed else TOLERANCE
    except _StoppedError:
        x, reason = last, CALLBACK
    found = space.element(np.asarray(x, rhs.dtype))
    rest = rhs - space.lift(curvature.times(found.f)) - alpha * found.c
    size = float(rhs @ rhs) ** 0.5
    return LinearResult([found], reason, n_iter, [1.0, float(rest @ rest) ** 0.5 / size if size else 0.0])
