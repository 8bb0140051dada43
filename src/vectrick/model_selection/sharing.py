"""Kernel matrices computed once for all vertices; all folds take rows and columns of them."""

from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.backends.memory import available_memory
from vectrick.data import Edges, VertexTable
from vectrick.kernels import Kernel, Linear, Precomputed, as_kernel, feature_map
from vectrick.kernels.base import is_settled, kernel_key
from vectrick.models.forms import WORTH_FACTORING, WORTH_RANK
from vectrick.models.limits import checked_features

_SHARE_OF_MEMORY = 4  # the folds compute matrices larger than a fourth of the free memory


class SharedMatrix(Precomputed):
    """A kernel whose matrix was computed from features; it is positive semi-definite if the kernel is."""

    def __init__(self, used: Any = None, is_psd: bool = True) -> None:
        super().__init__(used)
        self.is_psd = is_psd


class Sharing:
    """Edges whose vertex tables hold a kernel's matrix or low-rank factor instead of features, one for each kernel.

    Parameters
    ----------
    edges : Edges
        All edges.
    tolerance : float
        ``factor_tol`` of the estimator.
    """

    def __init__(self, edges: Edges, tolerance: float) -> None:
        self.edges, self.tolerance = edges, tolerance
        self._made: dict[Any, tuple[VertexTable, Kernel]] = {}

    def of(self, start_kernel: Any, end_kernel: Any) -> tuple[Edges, Kernel, Kernel]:
        """Return edges and kernels that replace the given kernels and have the same kernel values."""
        start_table, start = self._side("start", start_kernel)
        end_table, end = self._side("end", end_kernel)
        return Edges._of(self.edges.start, self.edges.end, start_table, end_table), start, end

    def _side(self, side: str, given: object) -> tuple[VertexTable, Kernel]:
        kernel = as_kernel(given, f"{side}_kernel")
        if kernel.needs_labels:  # the labels of the training edges differ between folds
            return getattr(self.edges, f"{side}_table"), kernel
        key = side, kernel_key(kernel)
        if key not in self._made:
            self._made[key] = self._make(getattr(self.edges, f"{side}_table"), getattr(self.edges, side), kernel)
        return self._made[key]

    def _make(self, table: VertexTable, vertices: Array, kernel: Kernel) -> tuple[VertexTable, Kernel]:
        used = np.unique(vertices)
        m = len(used)
        features = checked_features(table, used)
        if kernel.is_matrix or not is_settled(kernel, features, used):
            return table, kernel
        few = kernel.features(features[:1])
        if few is not None and few.shape[1] < m:
            return table, kernel  # the folds take rows of the features
        if kernel.is_psd and few is None and m >= WORTH_FACTORING and self.tolerance > 0:
            factor = feature_map(kernel, features, self.tolerance, int(WORTH_RANK * m))
            if factor is not None:
                return _spread(factor.train, used, table, square=False), Linear()
        if 8 * len(table) ** 2 > available_memory() // _SHARE_OF_MEMORY:
            return table, kernel
        matrix = np.asarray(kernel(features, features), np.float64)
        return _spread(matrix, used, table, square=True), SharedMatrix(is_psd=kernel.is_psd)


def _spread(values: Array, used: Array, table: VertexTable, square: bool) -> VertexTable:
    """Return a table with the values in the rows (and columns) of the vertices that have edges."""
    if len(used) == len(table):
        return VertexTable(values, table.name, table.ids)
    spread = np.zeros((len(table), len(table) if square else values.shape[1]))
    spread[np.ix_(used, used) if square else used] = values
    return VertexTable(spread, table.name, table.ids)
