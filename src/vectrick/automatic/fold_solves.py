"""Solutions on a fold in the features that a search has: conjugate gradients, preconditioned by the degree model.

The library's own solvers do this for one model; here the features of a fold are there already, for all candidates and
alphas, and the edges are a matrix, so that a step is four products of small matrices in single precision.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from vectrick._typing import Array

_TOL, _MOST_STEPS = 1e-3, 40  # of conjugate gradients: far finer than the differences between candidates
_NEWTON_TOL, _NEWTON_STEPS, _INNER_STEPS = 1e-2, 12, 15
_HALVINGS = 6  # of a step of Newton's method that does not make the risk smaller


@dataclass(frozen=True)
class FoldLabels:
    """The training edges of a fold as matrices of its vertices.

    Attributes
    ----------
    sums, counts : array
        For each pair the sum of the labels of its edges minus their mean, and the number of its edges.
    mean : float
        The mean of the labels; 0 where there is no intercept.
    has_intercept : bool
        Whether predictions have a constant.
    kappa : float
        By which the product of two degrees is the expected number of edges.
    """

    sums: Array
    counts: Array
    mean: float
    has_intercept: bool
    kappa: float


@dataclass(frozen=True)
class FoldFeatures:
    """A candidate on a fold: features of the training vertices of both sides, and the degree model in them.

    Attributes
    ----------
    P, Q : array
        The features of the start and of the end vertices.
    spectrum : array
        The degree model, which is diagonal.
    core : array
        ``Pᵀ Y Q`` for the centred labels Y.
    labels : FoldLabels
        The edges.
    """

    P: Array
    Q: Array
    spectrum: Array
    core: Array
    labels: FoldLabels

    def grid(self, w: Array) -> Array:
        """Return the predictions for all pairs of training vertices."""
        P, Q = self.P, self.Q
        return (P @ w) @ Q.T if P.shape[1] * Q.shape[0] <= Q.shape[1] * P.shape[0] else P @ (w @ Q.T)

    def gathered(self, grid: Array) -> Array:
        """Return ``Pᵀ grid Q``."""
        return (self.P.T @ grid) @ self.Q


def solve_ridge(fold: FoldFeatures, alpha: float) -> tuple[Array, float]:
    """Return the coefficients of ridge regression with an intercept, and the intercept.

    These are conjugate gradients for ``Zᵀ C Z + α I`` in the features Z of the edges, where C subtracts the mean.
    """
    labels, core, weight = fold.labels, fold.core, np.float32(alpha)
    inverse, n_edges, centred = 1.0 / (fold.spectrum + weight), labels.counts.sum(), labels.has_intercept

    def times(w: Array) -> Array:
        grid = fold.grid(w)
        if centred:
            grid = grid - (labels.counts * grid).sum() / n_edges
        return fold.gathered(labels.counts * grid) + weight * w

    w = inverse * core
    rest = core - times(w)
    step = inverse * rest
    product = first = float((rest * step).sum())
    scale = float((core * inverse * core).sum())
    direction = step
    for _ in range(_MOST_STEPS):
        if product <= _TOL**2 * scale or product > 1e6 * max(first, scale):
            break
        image = times(direction)
        length = np.float32(product / float((direction * image).sum()))
        w = w + length * direction
        rest = rest - length * image
        step = inverse * rest
        product, before = float((rest * step).sum()), product
        direction = step + np.float32(product / before) * direction
    mean = float((labels.counts * fold.grid(w)).sum() / n_edges) if centred else 0.0
    return w, labels.mean - mean


def solve_logistic(fold: FoldFeatures, alpha: float) -> tuple[Array, float]:
    """Return the coefficients of logistic regression of labels -1 and 1 with an intercept, and the intercept.

    Newton's method: each step is a ridge regression with weights, which a few conjugate gradients solve well enough.
    """
    labels, weight = fold.labels, np.float32(alpha)
    counts, has_intercept = labels.counts, labels.has_intercept
    positive = 0.5 * (labels.sums + counts * (1.0 + labels.mean))  # edges of each pair
    share = float(np.clip(positive.sum() / counts.sum(), 1e-6, 1 - 1e-6))
    w, b = np.zeros_like(fold.core), np.float32(np.log(share / (1 - share)) if has_intercept else 0.0)
    grid = fold.grid(w)

    def risk(w: Array, b: Any, grid: Array) -> float:
        scores = grid + b
        softplus = np.logaddexp(np.float32(0.0), scores)
        return float((counts * softplus - positive * scores).sum() + 0.5 * weight * (w * w).sum())

    now, first = risk(w, b, grid), None
    for _ in range(_NEWTON_STEPS):
        chance = expit(grid + b)
        errors = positive - counts * chance
        rest, rest_b = fold.gathered(errors) - weight * w, errors.sum() * has_intercept
        curvature = counts * chance * (1 - chance)
        step, step_b, size = _newton_step(fold, weight, curvature, rest, rest_b, has_intercept)
        first = size if first is None else first
        if size <= _NEWTON_TOL**2 * first:
            break
        moved = fold.grid(step)
        for _ in range(_HALVINGS):
            then = risk(w + step, b + step_b, grid + moved)
            if then <= now:
                break
            step, step_b, moved = 0.5 * step, 0.5 * step_b, 0.5 * moved
        else:
            break  # as far as single precision goes
        w, b, grid, now = w + step, b + step_b, grid + moved, then
    return w, float(b)


def _newton_step(
    fold: FoldFeatures, alpha: Any, curvature: Array, rest: Array, rest_b: Any, has_intercept: bool
) -> tuple[Array, Any, float]:
    """Return a step for the coefficients and the intercept, and the gradient's size in the preconditioner's norm."""
    total = curvature.sum()
    inverse = 1.0 / (fold.spectrum * (total / fold.labels.counts.sum()) + alpha)
    inverse_b = np.float32(has_intercept / max(total, np.float32(1e-30)))
    w, b = np.zeros_like(rest), np.float32(0.0)
    step, step_b = inverse * rest, inverse_b * rest_b
    product = size = float((rest * step).sum() + rest_b * step_b)
    direction, direction_b = step, step_b
    for _ in range(_INNER_STEPS):
        if product <= 1e-2 * size or product <= 0.0:
            break
        weighted = curvature * (fold.grid(direction) + direction_b)
        image, image_b = fold.gathered(weighted) + alpha * direction, weighted.sum() * has_intercept
        length = np.float32(product / float((direction * image).sum() + direction_b * image_b))
        w, b = w + length * direction, b + length * direction_b
        rest, rest_b = rest - length * image, rest_b - length * image_b
        step, step_b = inverse * rest, inverse_b * rest_b
        product, before = float((rest * step).sum() + rest_b * step_b), product
        turn = np.float32(product / before)
        direction, direction_b = step + turn * direction, step_b + turn * direction_b
    return w, b, size
