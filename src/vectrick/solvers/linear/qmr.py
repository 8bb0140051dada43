"""Quasi-minimal residuals, the inner solver of the paper.

SciPy's version is for NumPy only; this one runs on the backend of the operator.
"""

from typing import Any

from vectrick._typing import Array
from vectrick.losses import Curvature
from vectrick.objectives.space import Dual, Space
from vectrick.solvers.quadratic import LinearCallback, LinearResult, LinearSystem, QuadraticSolver
from vectrick.solvers.solution import CALLBACK, LIMIT, STALLED, TOLERANCE


class QMR(QuadraticSolver):
    """Quasi-minimal residuals, the paper's method for its Newton systems."""

    name = "qmr"

    def solve(self, system: LinearSystem, tol: float, max_iter: int, callback: LinearCallback | None) -> LinearResult:
        """Return the solution for the first alpha."""
        limits: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "callback": callback}
        return quasi_minimal_residuals(system.space, system.curvature, system.rhs, system.alphas[0], **limits)


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

    An iteration makes two products with B or its transpose. A callback costs one more product, because QMR does
    not compute the predictions of its iterates. The method is the two-term recurrence without look-ahead (Barrett and
    others, "Templates for the Solution of Linear Systems", figure 2.8), without a preconditioner.
    """

    def forward(v: Array) -> Array:
        return space.lift(curvature.times(space.predict(v))) + alpha * v

    def backward(v: Array) -> Array:
        # The transpose of H A is A H; in primal form Φᵀ H Φ is symmetric.
        return (space.predict(curvature.times(v)) if isinstance(space, Dual) else forward(v) - alpha * v) + alpha * v

    size = _norm(rhs)
    x, r = 0.0 * rhs, rhs + 0.0
    v, w = rhs + 0.0, rhs + 0.0
    p = q = d = s = 0.0 * rhs
    rho = xi = size
    gamma, eta, theta, epsilon = 1.0, -1.0, 0.0, 1.0
    reason, n_iter = LIMIT, 0
    while n_iter <= max_iter:
        if _norm(r) <= tol * size:
            reason = TOLERANCE
            break
        if n_iter == max_iter:
            break
        reason = STALLED
        if not (rho and xi):
            break
        v, w = v / rho, w / xi
        delta = float(w @ v)
        p, q = (v - (xi * delta / epsilon) * p, w - (rho * delta / epsilon) * q) if n_iter else (v, w)
        image = forward(p)
        epsilon = float(q @ image)
        if not (delta and epsilon):
            break
        reason = LIMIT
        beta = epsilon / delta
        v = image - beta * v
        rho_before, rho = rho, _norm(v)
        w = backward(q) - beta * w
        xi = _norm(w)
        theta_before, theta = theta, rho / (gamma * abs(beta))
        gamma_before, gamma = gamma, 1.0 / (1.0 + theta * theta) ** 0.5
        eta = -eta * rho_before * gamma * gamma / (beta * gamma_before * gamma_before)
        again = (theta_before * gamma) ** 2
        d, s = (eta * p + again * d, eta * image + again * s) if n_iter else (eta * p, eta * image)
        x, r, n_iter = x + d, r - s, n_iter + 1
        if callback is not None and callback(n_iter, [space.element(x)], float("nan")):
            reason = CALLBACK
            break
    solution = space.element(x)
    rest = rhs - space.lift(curvature.times(solution.f)) - alpha * solution.c
    return LinearResult([solution], reason, n_iter, [1.0, _norm(rest) / size if size else 0.0])


def _norm(v: Array) -> float:
    size: float = float(v @ v) ** 0.5
    return size
