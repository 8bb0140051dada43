"""The exact step along a direction; each trial costs O(n)."""

from vectrick._typing import Array
from vectrick.losses import Loss

_MAX_STEPS = 50  # evaluations along a direction
_PRECISION = 1e-6  # slope relative to the first slope at which a search ends


def exact_step(loss: Loss, p: Array, d: Array, alpha: float, xd: float, dd: float) -> float:
    """Return the t that minimizes ``L(p + t d) + ½ α ‖x + t δ‖²`` for the predictions d of δ.

    ``xd`` and ``dd`` are the inner products of δ with x and with itself. The function of t is convex. Newton's method
    inside a shrinking bracket reduces its slope to 1e-6 of the first slope. Zero means that d does not descend.
    """
    first = loss.along(p, d, 0.0)[0] + alpha * xd
    if not first < 0:
        return 0.0
    low, high, t = 0.0, float("inf"), 1.0
    for _ in range(_MAX_STEPS):
        slope, curve = loss.along(p, d, t)
        slope += alpha * (xd + t * dd)
        if abs(slope) <= _PRECISION * abs(first):
            break
        low, high = (t, high) if slope < 0 else (low, t)
        curve += alpha * dd
        new = t - slope / curve if curve > 0 else float("inf")
        if not low < new < high:
            new = 2 * t if high == float("inf") else 0.5 * (low + high)
        if abs(new - t) <= 1e-14 * abs(t):
            break
        t = new
    return t
