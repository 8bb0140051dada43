"""Checks before and after a fit: numbers beyond the range of their type, and models that predict only zero."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from vectrick._typing import Array
from vectrick.backends.arrays import namespace, numpy_dtype
from vectrick.estimators.training import Training
from vectrick.operators.factors import is_finite
from vectrick.solvers import Solution
from vectrick.solvers.space import Space

_ROUNDING = 1e-10  # of kernel values that cancel
_SMALLEST = 1e-150  # kernel values whose squares are still numbers


def check_range(labels: Array, dtype: np.dtype[Any]) -> None:
    """Refuse labels whose squares are too small or too large for a dtype; every solver sums such squares."""
    limits = np.finfo(dtype)
    largest = max(float(labels.max()), -float(labels.min()))
    low = float(np.sqrt(float(limits.tiny) / float(limits.eps)))
    high = float(np.sqrt(float(limits.max) / max(1, len(labels))))
    if largest != 0 and not low <= largest <= high:
        raise ValueError(
            f"y is at most {largest:.3g} in size, but with {dtype} it must be between {low:.1g} and {high:.1g}, since "
            "the squares of smaller or larger labels are beyond its range; scale the labels"
        )


def check_finite_model(solution: Solution, intercept: float) -> None:
    """Refuse a model that predicts NaN."""
    dtype, f = numpy_dtype(solution.x), solution.predictions
    if not is_finite(solution.x) or not np.isfinite(intercept) or (f is not None and not is_finite(f)):
        raise ValueError(
            f"training ended in coefficients or predictions that are NaN or infinite: kernel values are too large for "
            f"{dtype}. {_advice(dtype)}"
        )


def check_not_zero(training: Training, space: Space, solution: Solution, intercept: float) -> None:
    """Refuse a model that predicts zero for every edge because something was too small or too large.

    Zero may also be right: where there are no features, nothing to learn, or labels that the kernel cannot explain.
    """
    f, dtype = solution.predictions, numpy_dtype(solution.x)
    if bool((f != 0).any()) or _has_no_features(training):
        return
    gradient = training.loss.gradient(f + intercept)
    largest = float(abs(gradient).max())
    if largest == 0:
        return
    change = space.predict(space.lift(gradient / largest))  # what the first step would change
    values = _kernel_values(training)
    if is_finite(change) and values > _SMALLEST and float(abs(change).max()) <= _ROUNDING * values * len(f):
        return
    raise ValueError(
        "training ended in a model that predicts zero for every edge: kernel values, alpha or labels are too small or "
        f"too large for {dtype}. {_advice(dtype)}"
    )


def _kernel_values(training: Training) -> float:
    """Return the size of the kernel values of edges, from those of the vertices with themselves."""
    both = training.kernel.start, training.kernel.end
    start, end = (float(abs(vertex_kernel.kernel.diagonal(vertex_kernel.vertices)).max()) for vertex_kernel in both)
    return start * end if training.kernel.is_product else max(start, end, start * end)


def _advice(dtype: np.dtype[Any]) -> str:
    double = ", or use dtype='float64'" if dtype == np.float32 else ""
    return f"Scale the features (vt.Standardized does so){double}"


def _has_no_features(training: Training) -> bool:
    """Whether all features of one side are zero, so that there is nothing to predict from."""
    tables = training.kernel.start.vertices, training.kernel.end.vertices
    return any(not table.count_nonzero() if issparse(table) else not bool(namespace(table).any(table != 0))
               for table in tables)  # fmt: skip
