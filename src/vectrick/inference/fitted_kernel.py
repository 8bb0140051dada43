"""Kernel values of vertices with themselves and among each other, also for kernels that are known by their matrix."""

import warnings

import numpy as np

from vectrick._typing import Array
from vectrick.backends import HOST
from vectrick.data import VertexTable
from vectrick.kernels import Precomputed
from vectrick.models.limits import checked_features
from vectrick.models.vertex_kernel import VertexKernel


def diagonal_of(side: VertexKernel, table: VertexTable, used: Array) -> Array:
    """Return the kernel values of vertices with themselves.

    Those of new vertices of a kernel that is known by its matrix are not known: the mean of the training vertices
    stands for them.
    """
    features = checked_features(table, used)
    if not side.kernel.is_matrix:
        return np.asarray(side.kernel.diagonal(features), np.float64)
    if table.is_same(side.known):
        return _own_values(side, table, used)
    places, known = side.places(table, used), side.matrix.diagonal()
    return np.where(places >= 0, known[places], known.mean())


def _own_values(side: VertexKernel, table: VertexTable, used: Array) -> Array:
    places = side.places(table, used)
    known = np.asarray(side.matrix.diagonal())
    if (places >= 0).all():
        return known[places]
    if isinstance(side.kernel, Precomputed):
        values = np.asarray(table.features[used, used], np.float64).reshape(-1)
    else:
        values = _within(side, table, used).diagonal()
    return np.where(places >= 0, known[places], values)  # the matrix of the training vertices may have been repaired


def _within(side: VertexKernel, table: VertexTable, used: Array) -> Array:
    """Return the kernel matrix of vertices of the training table, also of those that were not trained on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a matrix that is repaired, which the fit has told
        return np.asarray(VertexKernel(side.kernel, side.name, table, used, HOST).matrix, np.float64)


def values_between(side: VertexKernel, table: VertexTable, used: Array) -> Array:
    """Return the kernel values between vertices."""
    features = checked_features(table, used)
    if not side.kernel.is_matrix:
        return np.asarray(side.kernel(features, features), np.float64)
    places = side.places(table, used)
    if (places < 0).any() and table.is_same(side.known):
        return _within(side, table, used)
    if (places < 0).any():
        raise ValueError(
            f"{side.name}_kernel is known by its matrix, which has no values between new vertices; covariances are for "
            "training vertices"
        )
    return np.asarray(side.matrix[np.ix_(places, places)])


class KernelColumns:
    """Kernel values between vertices and any of them."""

    def __init__(self, side: VertexKernel, table: VertexTable, used: Array) -> None:
        self._features, self._kernel = checked_features(table, used), side.kernel
        self._matrix = values_between(side, table, used) if side.kernel.is_matrix else None

    def block(self, vertices: Array) -> Array:
        """Return the kernel values with some vertices, a column for each."""
        if self._matrix is not None:
            return np.asarray(self._matrix[:, vertices])
        distinct, places = np.unique(vertices, return_inverse=True)
        return np.asarray(self._kernel(self._features, self._features[distinct]), np.float64)[:, places]
