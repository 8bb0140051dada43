"""Features of all vertices of a lake: exact features of kernels that have few of them, else Nyström features."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from vectrick._typing import Array
from vectrick.backends.arrays import cast
from vectrick.data import VertexTable
from vectrick.kernels import FeatureMap, Identity, Kernel
from vectrick.kernels.maps.landmarks import nystroem_map
from vectrick.kernels.tables.binding import bound, contains
from vectrick.models.kernel_spec import table_for
from vectrick.models.limits import check_finite, check_memory, checked_features
from vectrick.models.vertex_kernel import VertexKernel

MOST_FEATURES = 1024  # exact features of a kernel that are used at most, unless n_components is given
USUAL_COMPONENTS = 256  # Nyström features if n_components is None and exact features do not exist
_LOOKED_AT = 100  # vertices that determine the kind of features of a kernel
_AT_ONCE = 1 << 15  # vertices of a block of features


@dataclass(frozen=True)
class LakeSide:
    """One side of a lake: its kernel, settled on the vertices with edges, and the features of the vertices."""

    kernel: VertexKernel
    map: FeatureMap
    features: Array  # a row for each vertex of the table; zero for vertices without edges

    @property
    def words(self) -> str:
        """A description of the features and their error."""
        if self.map.error is None:
            return f"{self.map.rank} {self.kernel.name} features"
        return (
            f"{self.map.rank} Nyström features of the {self.kernel.name} kernel, which leave out "
            f"{self.map.error:.1e} of it"
        )


def expected_rank(kernel: Kernel, table: VertexTable, n_components: int | None) -> int:
    """Return the expected number of features of a kernel, before the vertices with edges are known."""
    rows = np.arange(min(len(table), _LOOKED_AT))
    table = table_for([(f"the kernel of {table.name}", kernel)], table)
    settled = bound(kernel, table, f"the kernel of {table.name}").resolve(cast(table.features[rows], np.float64), rows)
    exact = settled.features(table.features[:1])
    rank = USUAL_COMPONENTS if exact is None else int(exact.shape[1])
    return min(rank, n_components or MOST_FEATURES, rank if exact is not None else len(table))


def lake_side(kernel: VertexKernel, n_components: int | None, landmarks: str, dtype: np.dtype[Any]) -> LakeSide:
    """Return the features of a side: exact features if they are few, else features of landmarks."""
    exact = kernel.kernel.features(kernel.vertices[:1])
    limit = n_components or (MOST_FEATURES if exact is not None else USUAL_COMPONENTS)
    if exact is not None and exact.shape[1] <= limit:
        found: Any = kernel.factor(0.0)
    elif contains(kernel.kernel, Identity):
        raise ValueError(
            f"{kernel.name}_kernel has an Identity, so it has a feature for each of the {len(kernel.used)} vertices; a "
            f"lake takes up to n_components={limit}: raise n_components, or leave Identity out"
        )
    elif kernel.kernel.is_psd:
        found = nystroem_map(kernel.kernel, kernel.vertices, limit, landmarks)
    else:
        found = kernel.factor(1e-12, limit)
        if found is None:
            raise ValueError(
                f"{kernel.name}_kernel is given by its matrix only, and its rank is over n_components={limit}; a lake "
                "requires few features of each vertex: raise n_components, or give features"
            )
    m = len(kernel.known)
    if len(kernel.used) == m and isinstance(found.train, np.ndarray) and len(found.train) == m:
        features = np.ascontiguousarray(found.train, dtype)
    else:
        features = _features(found, kernel.vertices, kernel.used, m, dtype, kernel.name)
    check_finite(features, f"{kernel.name}_kernel")
    return LakeSide(kernel, found, features)


def features_of(
    kernel: VertexKernel, found: FeatureMap, table: VertexTable, used: Array, dtype: np.dtype[Any]
) -> Array:
    """Return the features of the used vertices of any table, in a row for each vertex of the table.

    The columns of the table are matched by name with the columns of the training table.
    """
    table = kernel.aligned(table)
    kernel.check(table)
    return _features(found, checked_features(table, used), used, len(table), dtype, kernel.name)


def _features(found: FeatureMap, vertices: Array, used: Array, m: int, dtype: np.dtype[Any], name: str) -> Array:
    check_memory(f"the table of {name} features of a lake", m, found.rank)
    features = np.zeros((m, found.rank), dtype)
    for low in range(0, len(used), _AT_ONCE):
        part = found.transform(vertices[low : low + _AT_ONCE])
        features[used[low : low + _AT_ONCE]] = part.toarray() if issparse(part) else part
    return features
