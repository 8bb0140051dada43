"""A kernel of standardized features."""

from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array, diags_array, issparse

from vectrick._typing import Array, ArrayLike, Features
from vectrick.backends.arrays import as_floats, like, to_host
from vectrick.kernels.base import Kernel


class Standardized(Kernel):
    """A kernel of features that are scaled to zero mean and unit variance over the training vertices.

    The mean and the scale belong to the fitted model: each fold of a cross-validation learns its own, and new vertices
    are scaled like the training vertices. Sparse features are only divided, since a shift would make them dense.

    Means and variances take O(m r) once, then the cost is that of the kernel.

    Parameters
    ----------
    kernel : Kernel
        The kernel of the scaled features.
    mean, scale : array, optional
        The values to subtract and to divide by; learned by default. A feature that does not vary is divided by one.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> X = np.array([[0.0, 5.0], [200.0, 5.0]])
    >>> k = vt.Standardized(vt.Linear()).resolve(X, np.arange(2))
    >>> k(X)
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    name = "standardized"
    learned = ("mean", "scale")

    def __init__(self, kernel: Kernel, mean: ArrayLike | None = None, scale: Any = None) -> None:
        self.kernel = kernel
        self.mean = mean
        self.scale = scale

    @property
    def is_psd(self) -> bool:  # type: ignore[override]
        """Whether the kernel of the scaled features is positive semi-definite."""
        return self.kernel.is_psd

    def resolve(self, X: Features, positions: Array) -> "Standardized":
        """Return the kernel with the mean and the scale of the training vertices."""
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"kernel is {self.kernel!r}, but it must be a kernel such as vt.Gaussian()")
        if self.kernel.is_matrix:
            raise ValueError(
                f"kernel of Standardized is {self.kernel!r} and reads a kernel matrix, but scaled kernel values are "
                "not a kernel; use it without Standardized, or a kernel of the rows such as vt.Gaussian()"
            )
        mean, spread = _moments(to_host(X))
        settled = self.with_parameters(
            mean=mean if self.mean is None else _given(self.mean, "mean", X.shape[1]),
            scale=spread if self.scale is None else _given(self.scale, "scale", X.shape[1]),
        )
        settled.kernel = self.kernel.resolve(settled._scaled(X), positions)
        return settled

    def _scaled(self, X: Features) -> Any:
        if self.scale is None:
            raise ValueError("a Standardized kernel has a scale only after it was fitted with training vertices")
        if issparse(X):
            return csr_array(X @ diags_array(1.0 / self.scale))
        return (X if self.mean is None else X - like(self.mean, X)) / like(self.scale, X)

    def _matrix(self, X: Features, Y: Features) -> Array:
        return self.kernel(self._scaled(X), self._scaled(Y))

    def diagonal(self, X: Features) -> Array:
        """Return the kernel values of the rows of X with themselves."""
        return self.kernel.diagonal(self._scaled(X))

    def features(self, X: Features) -> Features | None:
        """Return the features of the kernel for the scaled rows."""
        return self.kernel.features(self._scaled(X))


def _given(values: ArrayLike, name: str, n_features: int) -> Array:
    """Return the given number for each feature; raise on invalid shapes or values."""
    array = as_floats(values, f"{name} of Standardized")
    if array.shape != (n_features,) or not np.isfinite(array).all() or (name == "scale" and (array == 0).any()):
        raise ValueError(
            f"{name} of Standardized has shape {array.shape}, but there must be a finite number for each of the "
            f"{n_features} features{', and none of them zero' if name == 'scale' else ''}"
        )
    return array


def _moments(X: Features) -> tuple[Array | None, Array]:
    """Return the means of the columns (None for sparse ones) and their standard deviations, 1 for constant ones."""
    if not issparse(X):
        mean, spread, largest = X.mean(axis=0), X.std(axis=0), np.abs(X).max(axis=0, initial=0.0)
        return mean, _without_rounding(spread, largest)
    n, columns = max(1, X.shape[0]), csc_array(X)
    mean = np.asarray(columns.sum(axis=0)).ravel() / n
    filled = np.diff(columns.indptr)
    deviations = (columns.data - np.repeat(mean, filled)) ** 2
    sums = np.bincount(np.repeat(np.arange(X.shape[1]), filled), deviations, minlength=X.shape[1])
    spread = np.sqrt((sums + (n - filled) * mean**2) / n)
    return None, _without_rounding(spread, np.abs(columns).max(axis=0).toarray().ravel())


def _without_rounding(spread: Array, largest: Array) -> Array:
    """Return the spread, but 1 if it is only rounding: a constant feature is not scaled."""
    return np.where(spread > 10 * np.finfo(np.float64).eps * largest, spread, 1.0)
