"""Kernel values of vertices with themselves and with each other, also for kernels that are given by a matrix."""

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

    A kernel that is given by its matrix has no values for new vertices. They get the mean of the training vertices.
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
    """Return the kernel matrix of vertices of the training table, including vertices that were not trained on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit has already warned about a repaired matrix
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
            f"{side.name}_kernel is given by its matrix, so it has no values between new vertices; covariances require "
            "training vertices"
        )
    return np.asarray(side.matrix[np.ix_(places, places)])


class KernelColumns:
    """Columns of the kernel matrix of vertices, computed on demand."""

    def __init__(self, side: VertexKernel, table: VertexTable, used: Array) -> None:
        self._features, self._kernel = checked_features(table, used), side.kernel
        self._matrix = values_between(side, table, used) if side.kernel.is_matrix else None

    def block(self, vertices: Array) -> Array:
        """Return the kernel values with some vertices, one column per vertex."""
        if self._matrix is not None:
            return np.asarray(self._matrix[:, vertices])
        distinct, places = np.unique(vertices, return_inverse=True)
        return np.asarray(self._kernel(self._features, self._features[distinct]), np.float64)[:, places]
