"""A kernel of standardised features."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, issparse

from vectrick.kernels.base import Kernel

Array = NDArray[Any]


class Standardized(Kernel):
    """A kernel of features that are brought to zero mean and unit variance over the training vertices.

    What is learned belongs to the fitted model, so that folds of a cross-validation learn their own, and new vertices
    are scaled as the training vertices were. Sparse features are divided only, since shifting them would fill them.

    Parameters
    ----------
    kernel : Kernel
        The kernel of the scaled features.
    mean, scale : array, optional
        What to subtract and to divide by; by default learned. A feature that does not vary is divided by one.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> X = np.array([[0.0, 5.0], [200.0, 5.0]])
    >>> k = vt.Standardized(vt.Linear()).resolve(X, np.arange(2))
    >>> k(X)
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    def __init__(self, kernel: Kernel, mean: Any = None, scale: Any = None) -> None:
        self.kernel = kernel
        self.mean = mean
        self.scale = scale

    @property
    def is_psd(self) -> bool:  # type: ignore[override]
        """Whether the kernel is."""
        return self.kernel.is_psd

    def resolve(self, X: Any, positions: Array) -> "Standardized":
        """Return the kernel with what it learned from the training vertices."""
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"kernel is {self.kernel!r}, but it must be a kernel such as vt.Gaussian()")
        if issparse(X):
            mean, square = X.mean(axis=0), X.multiply(X).mean(axis=0)
            spread, mean = np.sqrt(np.maximum(square - mean**2, 0.0)), None
        else:
            mean, spread = X.mean(axis=0), X.std(axis=0)
        settled = Standardized(
            self.kernel,
            mean if self.mean is None else np.asarray(self.mean, np.float64),
            np.where(spread > 0, spread, 1.0) if self.scale is None else np.asarray(self.scale, np.float64),
        )
        settled.kernel = self.kernel.resolve(settled._scaled(X), positions)
        return settled

    def _scaled(self, X: Any) -> Any:
        if self.scale is None:
            raise ValueError("a Standardized kernel knows its scale only after it was fitted with training vertices")
        if issparse(X):
            return csr_array(X @ diags_array(1.0 / self.scale))
        return (X if self.mean is None else X - self.mean) / self.scale

    def _matrix(self, X: Any, Y: Any) -> Array:
        return self.kernel(self._scaled(X), self._scaled(Y))

    def diagonal(self, X: Any) -> Array:
        """Return the kernel values of the rows of X with themselves."""
        return self.kernel.diagonal(self._scaled(X))

    def features(self, X: Any) -> Any:
        """Return the features of the kernel for the scaled rows."""
        return self.kernel.features(self._scaled(X))
