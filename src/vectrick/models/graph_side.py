"""One side of a graph as the degree model needs it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from vectrick._typing import Array
from vectrick.backends.arrays import cast, like, placed, to_host
from vectrick.backends.memory import format_bytes
from vectrick.kernels import FeatureMap
from vectrick.models.iterations import CountedEigenvalues
from vectrick.models.vertex_kernel import VertexKernel
from vectrick.objectives.degree_model import NoDegreeModelError
from vectrick.objectives.degrees import Basis

_SAMPLE = 160  # vertices of a side whose kernel values represent all vertices


@dataclass(frozen=True)
class GraphSide:
    """One side of the graph as the degree model needs it: features of its vertices, or their kernel matrix."""

    name: str
    kernel: VertexKernel
    map: FeatureMap | None
    scale: float = 1.0  # of the kernel

    @property
    def n_vertices(self) -> int:
        """The number of training vertices."""
        return int(self.kernel.vertices.shape[0])

    @property
    def rank(self) -> int:
        """The maximum number of features of its basis, and the size of the eigendecomposition."""
        return self.n_vertices if self.map is None else min(self.map.rank, self.n_vertices)

    @cached_property
    def features(self) -> Any:
        """The features, dense and on the backend; None for a kernel matrix."""
        if self.map is None:
            return None
        train: Any = self.map.train
        train = placed(train.toarray() if issparse(train) else train, self.kernel.backend)
        return cast(train, np.float64) * self.scale**0.5

    def basis(self, degrees: Array, centred: bool, rank: int | None = None) -> Basis:
        """Return the basis of the degree model, or its largest directions only."""
        if rank is not None:
            return Basis.largest(self.scale * self.kernel.matrix, degrees, rank)
        if self.features is not None:
            return Basis.of_features(self.features, degrees, centred)
        return Basis.of_matrix(self.scale * self.kernel.matrix, degrees, centred)

    def sampled_spectrum(self, degrees: NDArray[Any]) -> CountedEigenvalues:
        """Estimate the eigenvalues of ``Φᵀ D Φ`` from vertices that are sampled in proportion to their degrees."""
        total = degrees.sum()
        points = (np.arange(_SAMPLE) + 0.5) / _SAMPLE * total
        some = np.unique(np.searchsorted(np.cumsum(degrees), points))
        if self.n_vertices <= _SAMPLE:
            some, shares = np.arange(self.n_vertices), degrees
        else:
            shares = np.bincount(np.searchsorted(some, np.searchsorted(np.cumsum(degrees), points))) * total / _SAMPLE
        if self.map is not None:
            part = self.map.train[some]
            part = to_host(part.toarray() if issparse(part) else part)
            K = self.scale * (part @ part.T)
        elif "matrix" in self.kernel.__dict__:
            places = like(some, self.kernel.matrix)
            K = self.scale * to_host(self.kernel.matrix[places][:, places])
        else:
            vertices = self.kernel.vertices[some]
            K = self.scale * to_host(self.kernel.kernel(vertices, vertices))
        roots = shares**0.5
        values = np.clip(np.linalg.eigvalsh(roots[:, None] * K * roots), 0.0, None)[::-1]
        return CountedEigenvalues.of_sample(values, self.rank)

    def check_memory(self, rank: int | None) -> None:
        """Reject a basis that does not fit into memory."""
        backend, m, rank = self.kernel.backend, self.n_vertices, self.rank if rank is None else rank
        if self.map is None and not self.kernel.fits:
            raise NoDegreeModelError(f"the {self.name} kernel matrix does not fit on {backend}")
        n_bytes, free = 8 * (2 * m * rank + 3 * rank * rank), backend.free_memory()
        if n_bytes > free:
            raise NoDegreeModelError(
                f"the eigenvectors of {rank} {self.name} features take {format_bytes(n_bytes)}, but there are only "
                f"{format_bytes(free)}"
            )
