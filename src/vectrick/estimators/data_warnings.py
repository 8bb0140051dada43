"""Warnings of `fit` about data that spoil a model, each once for a table of vertices, with what helps."""

import numpy as np

from vectrick._typing import Array
from vectrick._warnings import warn
from vectrick.backends import HOST
from vectrick.backends.arrays import to_host
from vectrick.data import Edges, VertexTable
from vectrick.data.complaints import DataWarning, copies, repeated_edges, reverse_labels, told_of, uneven_scales
from vectrick.kernels import Constant, Cosine, Gaussian, Kernel, Linear, Polynomial, Product, Sum
from vectrick.losses import Loss, Pointwise
from vectrick.models.kernel_spec import KernelSpec

_MOST_EDGES, _MOST_VALUES = 5_000_000, 20_000_000  # beyond which a look at the data would take seconds
_RARE = 0.1  # the share of a class under which labels are unbalanced


def warn_of_data(edges: Edges, y: Array, spec: KernelSpec | None = None) -> None:
    """Warn of what spoils a model of a kernel, None if the kernel is to be chosen; a table is looked at once."""
    if edges.backend is not HOST or len(edges) > _MOST_EDGES:
        return
    start, end = edges.start_table, edges.end_table
    if _is_first(start, "edges") | _is_first(end, "edges"):
        _warn_of_edges(edges, y, spec)
    for table, kernels in ((start, spec and spec.start_kernels), (end, spec and spec.end_kernels)):
        if table.features.shape[0] * table.features.shape[1] <= _MOST_VALUES:
            _warn_of_table(table, kernels or ())


def warn_of_constant(edges: Edges, y: Array, spec: KernelSpec, kind: type[Loss]) -> None:
    """Warn of labels that are far from zero for a model without an intercept and without a constant in its kernels."""
    if edges.backend is not HOST or not issubclass(kind, Pointwise) or spec.symmetry < 0:
        return
    if _is_first(edges.start_table, "constant"):
        _warn_of_constant(y, spec)


def _is_first(table: VertexTable, what: str) -> bool:
    """Whether a table has not been looked at for something yet; it has been from now on."""
    told = told_of(table)
    if what in told:
        return False
    told.add(what)
    return True


def _warn_of_edges(edges: Edges, y: Array, spec: KernelSpec | None) -> None:
    repeated = repeated_edges(edges, y)
    if repeated:
        warn(f"{repeated}; keep one of each, with the mean of their labels", DataWarning)
    if spec is not None and edges.is_one_set and not spec.one_set and reverse_labels(edges, y) == "equal":
        warn(
            "both ends come from one vertex set, and edges that are there in both directions have equal labels; "
            "pairwise='symmetric' learns from both directions and predicts the same for both",
            DataWarning,
        )


def _warn_of_table(table: VertexTable, kernels: tuple[Kernel, ...]) -> None:
    if _is_first(table, "copies"):
        found = copies(table)
        if found:
            warn(
                f"{found}: in a fold where one of them trains, the other is not new (leakage); give them one row, or "
                "features that tell them apart",
                DataWarning,
            )
    if any(map(_sees_scales, kernels)) and _is_first(table, "scales"):
        found = uneven_scales(table)
        if found:
            warn(f"{found}, so the larger ones decide alone; vt.Standardized(kernel) scales them", DataWarning)


def _warn_of_constant(y: Array, spec: KernelSpec) -> None:
    if any(map(_has_constant, (*spec.start_kernels, *spec.end_kernels))):
        return
    y = to_host(y)  # labels may be on their way to a device, of edges that are on the host
    values, counts = np.unique(y, return_counts=True)
    rare = counts.min() / len(y)
    if len(values) == 2 and rare < _RARE:
        what = f"{100 * rare:.2g} % of the edges have the label {values[counts.argmin()]:g}"
    elif len(values) > 2 and abs(y.mean()) > 2 * y.std():
        what = f"the mean of the labels is {y.mean():.3g}, and they vary by {y.std():.3g}"
    else:
        return
    warn(
        f"{what}, but the model has neither an intercept nor a constant in its kernels, so that it predicts zero for "
        "vertices unlike all others; fit_intercept=True, kernel + vt.Constant(1.0), or centred labels help",
        DataWarning,
    )


def _sees_scales(kernel: Kernel) -> bool:
    """Whether a kernel is one of features as they are, so that large columns count for more."""
    if isinstance(kernel, Sum | Product):
        return _sees_scales(kernel.first) or _sees_scales(kernel.second)
    return isinstance(kernel, Linear | Gaussian | Polynomial | Cosine)


def _has_constant(kernel: Kernel) -> bool:
    """Whether a kernel has a constant among its summands."""
    if isinstance(kernel, Sum):
        return _has_constant(kernel.first) or _has_constant(kernel.second)
    return isinstance(kernel, Constant)
