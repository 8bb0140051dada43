"""One vertex kernel of a model: the kernel of the start or the end, resolved for its training vertices."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from vectrick._cached import cached_property
from vectrick._typing import Array, Features
from vectrick._warnings import warn
from vectrick.backends import HOST, Backend, backend_of
from vectrick.backends.arrays import namespace, placed, to_host
from vectrick.backends.memory import format_bytes
from vectrick.data import Edges, VertexTable
from vectrick.data.named import are_frames, named_table
from vectrick.kernels import (
    CholeskyMap,
    FeatureMap,
    Kernel,
    KernelWarning,
    feature_map,
    pivoted_cholesky,
)
from vectrick.kernels.tables.binding import bound
from vectrick.kernels.text import format_kernel
from vectrick.models.alignment import aligned_table, rows_in
from vectrick.models.limits import check_finite, check_memory, checked_features

_ROUNDING = 1e-8  # relative size of negative eigenvalues and of asymmetry that may come from rounding
_SHOWN = 5  # vertices named in an error


class VertexKernel:
    """The kernel of the start or the end vertices, resolved for the training vertices.

    Parameters
    ----------
    kernel : Kernel
        The kernel function, as the user gave it.
    name : str
        "start" or "end".
    table : VertexTable
        The table of the vertices.
    used : array
        The rows of the table that are training vertices.
    backend : Backend, optional
        The backend of the computation; by default the backend of ``used``.
    """

    def __init__(
        self, kernel: Kernel, name: str, table: VertexTable, used: Array, backend: Backend | None = None
    ) -> None:
        self.name, self.backend = name, backend_of(used) if backend is None else backend
        if kernel.is_matrix and table.n_features != len(table):
            raise ValueError(
                f"{name}_kernel is {format_kernel(kernel)}, so {table.name} must be square, but it is {len(table)} × "
                f"{table.n_features}"
            )
        kernel = bound(kernel, table, f"{name}_kernel")
        _check_kind(kernel, name, table)
        if table.n_features == 0:
            raise ValueError(f"{table.name} has 0 feature(s), but a minimum of 1 is required")
        if kernel.is_matrix:
            _check_order(table)
        self._describe(table, used)
        self.vertices = checked_features(table, used)
        self.kernel: Kernel = kernel.resolve(self.vertices, used)
        self._projection: Array | None = None  # onto the positive part of an indefinite kernel

    @classmethod
    def restored(
        cls,
        name: str,
        kernel: Kernel,
        table: VertexTable,
        used: Array,
        projection: Array | None,
        backend: Backend = HOST,
    ) -> "VertexKernel":
        """Restore a vertex kernel from the parts that a model file holds."""
        restored = cls.__new__(cls)
        restored.name, restored.kernel, restored._projection = name, kernel, projection
        restored.backend = backend
        restored._describe(table, used)
        restored.vertices = table.features if len(used) == len(table) else table.features[to_host(used)]
        return restored

    def _describe(self, table: VertexTable, used: Array) -> None:
        self.known, self.used = table, used  # the table may have vertices without training edges
        self.n_columns, self.columns, self.id_column = table.n_features, table.columns, table.id_column
        self.text, self.string_columns = table.text, table.string_columns

    def share_vertices(self, other: "VertexKernel") -> None:
        """Share the table and the training vertices of another kernel, if they are the same."""
        same = np.array_equal(to_host(other.used), to_host(self.used)) and self.known.is_same(other.known)
        if same and backend_of(self.vertices) == backend_of(other.vertices):
            self.known, self.vertices = other.known, other.vertices

    @property
    def projection(self) -> Array | None:
        """The matrix that multiplies kernel values of new vertices if the kernel had to be repaired, else None."""
        return self._projection

    @cached_property
    def matrix(self) -> Array:
        """The kernel matrix of the training vertices, made positive semi-definite if it is not."""
        m = self.vertices.shape[0]
        if not self.fits:
            return self._repaired_if(self._rows_on_host(self.vertices))
        check_memory(f"the {self.name} kernel matrix", m, m, self.backend)
        return self._repaired_if(placed(self.kernel(self.vertices, self.vertices), self.backend, np.float64))

    @cached_property
    def fits(self) -> bool:
        """Whether the backend has room for the kernel matrix of the training vertices and other arrays."""
        return self.backend.has_room(8 * self.vertices.shape[0] ** 2, 3)

    def _repaired_if(self, K: Array) -> Array:
        check_finite(K, f"{self.name}_kernel")
        return K if self.kernel.is_psd else self._repaired(K)

    def _rows_on_host(self, features: Features) -> Array:
        """Return kernel values on the host, computed on the backend block by block; products fetch them in blocks."""
        n, m = features.shape[0], self.vertices.shape[0]
        check_memory(f"the {self.name} kernel matrix", n, m)
        K = np.empty((n, m))
        height = max(1, self.backend.free_memory() // (32 * m))
        for top in range(0, n, height):
            K[top : top + height] = to_host(self.kernel(features[top : top + height], self.vertices))
        return K

    def factor(self, tolerance: float, max_rank: int | None = None) -> FeatureMap | None:
        """Return vertex features whose inner products are the kernel, or None if there are more than max_rank."""
        if self.kernel.is_psd:
            found = feature_map(self.kernel, self.vertices, tolerance, max_rank, lambda: self.matrix)
            if found is not None:
                self.__dict__.pop("matrix", None)  # it is large, and the features replace it
            return found
        K = self.matrix  # repaired, and needed anyway
        max_rank = len(K) if max_rank is None else max_rank
        if self._projection is not None:
            values, vectors = namespace(K).linalg.eigh(K)
            kept = values > _ROUNDING * values[-1]
            basis, roots = vectors[:, kept], values[kept] ** 0.5
            return SpectralMap(self, basis * roots, basis / roots) if kept.sum() <= max_rank else None
        factor = pivoted_cholesky(K, K.diagonal(), tolerance, max_rank)
        return None if factor is None else MatrixMap(self, *factor, tolerance)

    def rows(self, features: Features) -> Array:
        """Return the kernel values between other vertices and the training vertices."""
        n_rows, n_cols = features.shape[0], self.vertices.shape[0]
        if not self.backend.has_room(8 * n_rows * n_cols, 3):
            K = self._rows_on_host(features)
            return K if self._projection is None else K @ to_host(self._projection)
        check_memory(f"the kernel matrix of new {self.name} vertices", n_rows, n_cols, self.backend)
        K = placed(self.kernel(features, self.vertices), self.backend)
        return K if self._projection is None else K @ self._projection

    def on(self, backend: Backend, table: VertexTable | None = None) -> "VertexKernel":
        """Return the same kernel on another backend; ``table`` is its table there, if that exists already."""
        table = self.known.on(backend) if table is None else table
        projection = None if self._projection is None else placed(self._projection, backend)
        there = VertexKernel.restored(self.name, self.kernel, table, placed(self.used, backend), projection, backend)
        there.vertices = self.vertices if issparse(self.vertices) else placed(self.vertices, backend)
        return there

    def check(self, table: VertexTable) -> None:
        """Reject a table whose number of columns, or type (strings or numbers), differs from training."""
        if (table.text is None) != (self.text is None):
            given, known = ("strings", "numbers") if self.text is None else ("numbers", "strings")
            raise ValueError(f"{self.name}_features has {given}, but the model was trained with {known}")
        if table.n_features != self.n_columns:
            raise ValueError(
                f"{self.name}_features has {table.n_features} columns, but the model was trained with {self.n_columns}"
            )

    def aligned(self, table: VertexTable) -> VertexTable:
        """Return a table with the columns that the model was trained with; see `aligned_table`."""
        return aligned_table(self.known, table, f"{self.name}_features")

    def table(self, features: Features) -> VertexTable:
        """Return features of vertices as a table; it may have the id column that the training table had."""
        if isinstance(features, VertexTable):
            return self.aligned(features)
        if are_frames(features):
            return self.aligned(named_table(features, f"{self.name}_features", "", None, None))
        known = getattr(features, "columns", ())
        id_column = self.id_column if self.id_column is not None and self.id_column in known else None
        expected = None if self.text is not None else self.known.expected
        table = VertexTable(features, f"{self.name}_features", id_column=id_column, expected=expected)
        return self.aligned(table)

    def places(self, table: VertexTable, vertices: Array) -> Array:
        """Return the position of each vertex among the training vertices, or -1 for new vertices; see `rows_in`."""
        vertices, used = np.asarray(to_host(vertices)), np.asarray(to_host(self.used))
        number = np.full(len(self.known) + 1, -1)  # the last one is for new vertices
        number[used] = np.arange(len(used))
        return number[rows_in(self.known, table, vertices, self.name)]

    def __getstate__(self) -> dict[str, Any]:
        # The kernel matrix of the training vertices is large, and predictions do not need it.
        return {name: value for name, value in self.__dict__.items() if name not in ("matrix", "fits")}

    def _repaired(self, K: Array) -> Array:
        size = max(float(abs(K).max()), 1e-300)
        skew = float(abs(K - K.T).max())
        if skew > _ROUNDING * size:
            warn(
                f"{self.name}_kernel is not symmetric (entries differ by up to {skew:.2g}); (K + Kᵀ) / 2 is used in "
                "training, and the rows as they are in prediction",
                KernelWarning,
            )
        K = 0.5 * (K + K.T)
        return K if _is_definite(K, _ROUNDING * size) else self._clipped(K)

    def _clipped(self, K: Array) -> Array:
        """Return the nearest positive semi-definite matrix, and keep the projection for other vertices."""
        values, vectors = namespace(K).linalg.eigh(K)
        kept = values > _ROUNDING * values[-1]
        if not kept.any():
            raise ValueError(f"{self.name}_kernel has no positive eigenvalue; it is not a kernel of these vertices")
        negative = int((values < -_ROUNDING * values[-1]).sum())
        warn(
            f"{self.name}_kernel is not positive semi-definite: {negative} of {len(values)} eigenvalues are negative, "
            f"down to {float(values[0]):.3g} (the largest is {float(values[-1]):.3g}). They were set to zero, in "
            "training and in prediction",
            KernelWarning,
        )
        basis = vectors[:, kept]
        self._projection = basis @ basis.T
        result: Array = (basis * values[kept]) @ basis.T
        return result


def aligned_edges(edges: Edges, start: VertexKernel, end: VertexKernel) -> Edges:
    """Return edges whose tables have the columns of the kernels, in their order; one vertex set stays one."""
    tables = start.aligned(edges.start_table), end.aligned(edges.end_table)
    if tables == (edges.start_table, edges.end_table):
        return edges
    one_set = edges.is_one_set and start.columns == end.columns
    return edges.with_tables(tables[0], tables[0] if one_set else tables[1])


def check_matrices(vertex_kernels: Iterable[VertexKernel]) -> None:
    """Reject kernel matrices that do not fit into memory together, before the first of them is computed."""
    missing = {id(k): k for k in vertex_kernels if not k.backend.divides_rows and "matrix" not in k.__dict__}.values()
    if len(missing) < 2:  # a single matrix is checked when it is computed
        return
    sizes = [vertex_kernel.vertices.shape[0] for vertex_kernel in missing]
    n_bytes, free = sum(8 * m * m for m in sizes), HOST.free_memory()
    if n_bytes > free:
        each = " and ".join(f"{m} × {m} ({each_kernel.name})" for each_kernel, m in zip(missing, sizes, strict=True))
        raise MemoryError(
            f"the kernel matrices, {each}, take {format_bytes(n_bytes)} together, but there are only "
            f"{format_bytes(free)}; use fewer vertices at a time, or form='primal' for kernels of few features"
        )


class MatrixMap(CholeskyMap):
    """Features from kernel values with the pivots, for a kernel that is given by its matrix."""

    def __init__(
        self, vertex_kernel: VertexKernel, train: Array, pivots: Array, tolerance: float, corner: Array | None = None
    ) -> None:
        super().__init__(vertex_kernel.kernel, vertex_kernel.vertices, train, pivots, tolerance, corner)
        self.vertex_kernel = vertex_kernel

    def _values(self, X: Features) -> Array:
        values = self.vertex_kernel.rows(X)
        return values[:, placed(self.pivots, backend_of(values))]


class SpectralMap(FeatureMap):
    """Features from the eigenvectors of a repaired kernel matrix, or from the basis of a degree model."""

    def __init__(self, vertex_kernel: VertexKernel, train: Array, inverse: Array | None) -> None:
        super().__init__(train)
        self.vertex_kernel, self.inverse = vertex_kernel, inverse

    def transform(self, X: Features) -> Array:
        """Return the features of other vertices."""
        values = self.vertex_kernel.rows(X)
        return values @ placed(self.inverse, backend_of(values))


def _is_definite(K: Array, shift: float) -> bool:
    """Return whether a matrix is positive definite after ``shift`` is added to its diagonal."""
    shifted = K + shift * namespace(K).eye(len(K), dtype=K.dtype, device=K.device)
    return backend_of(K).is_definite(shifted)


def _check_kind(kernel: Kernel, name: str, table: VertexTable) -> None:
    """Reject a kernel of numbers for vertices that are strings, and vice versa."""
    kind = "numbers" if table.text is None else "text"
    if kernel.reads in ("any", kind):
        return
    if table.text is None:
        raise ValueError(
            f"{name}_kernel is {format_kernel(kernel)}, which is for strings, but {table.name} has numbers"
        )
    column = f", those of the column {table.text!r}" if table.text else ""
    raise ValueError(
        f"{name}_kernel is {format_kernel(kernel)}, but the vertices of {table.name} are strings{column}; kernels of "
        "strings are vt.Morgan() for molecules, vt.Spectrum() and vt.SmithWaterman() for sequences. Categories in one "
        "column become columns of 0 and 1 by pandas.get_dummies"
    )


def _check_order(table: VertexTable) -> None:
    """Reject a kernel matrix whose columns have the ids of its rows in another order."""
    if table.columns is None or table.ids is None:
        return
    rows, columns = [str(vertex) for vertex in table.ids.tolist()], [str(column) for column in table.columns]
    if rows != columns and sorted(rows) == sorted(columns):
        at = next(i for i, (row, column) in enumerate(zip(rows, columns, strict=True)) if row != column)
        raise ValueError(
            f"{table.name} is a kernel matrix whose columns are not in the order of its rows: position {at} has the "
            f"row {rows[at]!r}, but the column {columns[at]!r}"
        )
