"""Checks before and after a fit: numbers out of range, models that predict only zero, and data that spoil a model."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from vectrick._typing import Array
from vectrick._warnings import warn
from vectrick.backends import HOST
from vectrick.backends.arrays import namespace, numpy_dtype, to_host
from vectrick.data import Edges, VertexTable
from vectrick.data.complaints import DataWarning, copies, repeated_edges, reported_on, reverse_labels, uneven_scales
from vectrick.kernels import Constant, Cosine, Gaussian, Kernel, Linear, Polynomial, Product, Sum
from vectrick.losses import Loss, Pointwise
from vectrick.models.kernel_spec import KernelSpec
from vectrick.objectives.space import Space
from vectrick.operators.factors import is_finite
from vectrick.solvers import Solution
from vectrick.training.problem import Training

_ROUNDING = 1e-10  # relative, of kernel values that cancel
_SMALLEST = 1e-150  # the smallest kernel value whose square does not underflow


def check_range(labels: Array, dtype: np.dtype[Any]) -> None:
    """Reject labels whose squares are too small or too large for a dtype; every solver sums these squares."""
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
    """Reject a model that predicts NaN."""
    dtype, f = numpy_dtype(solution.x), solution.predictions
    if not is_finite(solution.x) or not np.isfinite(intercept) or (f is not None and not is_finite(f)):
        raise ValueError(
            f"training ended in coefficients or predictions that are NaN or infinite: kernel values are too large for "
            f"{dtype}. {_advice(dtype)}"
        )


def check_not_zero(training: Training, space: Space, solution: Solution, intercept: float) -> None:
    """Reject a model that predicts zero for every edge because something was too small or too large.

    Zero may also be correct: if there are no features, nothing to learn, or labels that the kernel cannot explain.
    """
    f, dtype = solution.predictions, numpy_dtype(solution.x)
    if bool((f != 0).any()) or _has_no_features(training):
        return
    gradient = training.loss.gradient(f + intercept)
    largest = float(abs(gradient).max())
    if largest == 0:
        return
    change = space.predict(space.lift(gradient / largest))  # the change by the first step
    values = _kernel_values(training)
    if is_finite(change) and values > _SMALLEST and float(abs(change).max()) <= _ROUNDING * values * len(f):
        return
    raise ValueError(
        "training ended in a model that predicts zero for every edge: kernel values, alpha or labels are too small or "
        f"too large for {dtype}. {_advice(dtype)}"
    )


def _kernel_values(training: Training) -> float:
    """Return the size of the kernel values of edges, from the diagonals of the vertex kernels."""
    both = training.kernel.start, training.kernel.end
    start, end = (float(abs(vertex_kernel.kernel.diagonal(vertex_kernel.vertices)).max()) for vertex_kernel in both)
    return start * end if training.kernel.is_product else max(start, end, start * end)


def _advice(dtype: np.dtype[Any]) -> str:
    double = ", or use dtype='float64'" if dtype == np.float32 else ""
    return f"Scale the features (vt.Standardized does so){double}"


def _has_no_features(training: Training) -> bool:
    """Return whether all features of one side are zero, so that there is nothing to predict from."""
    tables = training.kernel.start.vertices, training.kernel.end.vertices
    return any(not table.count_nonzero() if issparse(table) else not bool(namespace(table).any(table != 0))
               for table in tables)  # fmt: skip


_MOST_EDGES, _MOST_VALUES = 5_000_000, 20_000_000  # above these, checks would take seconds
_RARE = 0.1  # labels are unbalanced if the share of a class is below this


def warn_of_data(edges: Edges, y: Array, spec: KernelSpec | None = None) -> None:
    """Warn of data that spoil a model; ``spec`` is None if its kernel is not chosen yet. Each table is checked once."""
    if edges.backend is not HOST or len(edges) > _MOST_EDGES:
        return
    start, end = edges.start_table, edges.end_table
    if _is_first(start, "edges") | _is_first(end, "edges"):
        _warn_of_edges(edges, y, spec)
    for table, kernels in ((start, spec and spec.start_kernels), (end, spec and spec.end_kernels)):
        if table.features.shape[0] * table.features.shape[1] <= _MOST_VALUES:
            _warn_of_table(table, kernels or ())


def warn_of_constant(edges: Edges, y: Array, spec: KernelSpec, kind: type[Loss]) -> None:
    """Warn if labels are far from zero, but a model has no intercept and no constant in its kernels."""
    if edges.backend is not HOST or not issubclass(kind, Pointwise) or spec.symmetry < 0:
        return
    if _is_first(edges.start_table, "constant"):
        _warn_of_constant(y, spec)


def _is_first(table: VertexTable, what: str) -> bool:
    """Return whether a table has not been checked for ``what`` yet, and mark it as checked."""
    known_reports = reported_on(table)
    if what in known_reports:
        return False
    known_reports.add(what)
    return True


def _warn_of_edges(edges: Edges, y: Array, spec: KernelSpec | None) -> None:
    repeated = repeated_edges(edges, y)
    if repeated:
        warn(f"{repeated}; keep one of each, with the mean of their labels", DataWarning)
    if spec is not None and edges.is_one_set and not spec.one_set and reverse_labels(edges, y) == "equal":
        warn(
            "both ends come from one vertex set, and edges that occur in both directions have equal labels; "
            "pairwise='symmetric' learns from both directions and predicts the same for both",
            DataWarning,
        )


def _warn_of_table(table: VertexTable, kernels: tuple[Kernel, ...]) -> None:
    if _is_first(table, "copies"):
        found = copies(table)
        if found:
            warn(
                f"{found}: in a fold where one of them trains, the other is not new (leakage); give them one row, or "
                "features that distinguish them",
                DataWarning,
            )
    if any(map(_sees_scales, kernels)) and _is_first(table, "scales"):
        found = uneven_scales(table)
        if found:
            warn(f"{found}, so the larger ones decide alone; vt.Standardized(kernel) scales them", DataWarning)


def _warn_of_constant(y: Array, spec: KernelSpec) -> None:
    if any(map(_has_constant, (*spec.start_kernels, *spec.end_kernels))):
        return
    y = to_host(y)  # labels may be on a device already, while the edges are on the host
    values, counts = np.unique(y, return_counts=True)
    rare = counts.min() / len(y)
    if len(values) == 2 and rare < _RARE:
        what = f"{100 * rare:.2g} % of the edges have the label {values[counts.argmin()]:g}"
    elif len(values) > 2 and abs(y.mean()) > 2 * y.std():
        what = f"the mean of the labels is {y.mean():.3g}, and they vary by {y.std():.3g}"
    else:
        return
    warn(
        f"{what}, but the model has neither an intercept nor a constant in its kernels, so it predicts zero for "
        "vertices unlike all others; use fit_intercept=True, kernel + vt.Constant(1.0), or centered labels",
        DataWarning,
    )


def _sees_scales(kernel: Kernel) -> bool:
    """Return whether a kernel uses unscaled features, so that columns with large values have more influence."""
    if isinstance(kernel, Sum | Product):
        return _sees_scales(kernel.first) or _sees_scales(kernel.second)
    return isinstance(kernel, Linear | Gaussian | Polynomial | Cosine)


def _has_constant(kernel: Kernel) -> bool:
    """Return whether a kernel has a constant among its summands."""
    if isinstance(kernel, Sum):
        return _has_constant(kernel.first) or _has_constant(kernel.second)
    return isinstance(kernel, Constant)
