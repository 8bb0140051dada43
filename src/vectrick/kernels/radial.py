"""The Gaussian kernel of the distances from another kernel."""

from numbers import Real

import numpy as np

from vectrick._typing import Array, Features
from vectrick.backends.arrays import namespace
from vectrick.data.strings.table import as_characters
from vectrick.kernels.base import Kernel
from vectrick.kernels.rows import ones


class Radial(Kernel):
    """``exp(-γ d²)`` with the distances of another kernel, ``d² = k(x, x) + k(y, y) - 2 k(x, y)``.

    For the linear kernel, it is the Gaussian kernel. For a kernel without features, such as alignments of sequences,
    it corresponds to a Gaussian kernel of features: the larger γ, the less distant vertices count.

    The cost is that of the other kernel, and O(m p) for the distances.

    Parameters
    ----------
    kernel : Kernel
        The kernel that measures distances.
    gamma : float
        The γ above, positive.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> X = np.array([[0.0], [2.0]])
    >>> np.allclose(vt.Radial(vt.Linear(), 0.5)(X), vt.Gaussian(0.5)(X))
    True
    """

    name = "radial"

    def __init__(self, kernel: Kernel, gamma: float = 1.0) -> None:
        self.kernel = kernel
        self.gamma = gamma

    @property
    def is_psd(self) -> bool:  # type: ignore[override]
        """Whether the other kernel is positive semi-definite."""
        return self.kernel.is_psd

    @property
    def reads(self) -> str:  # type: ignore[override]
        """The type of vertices of the other kernel."""
        return self.kernel.reads

    @property
    def needs_labels(self) -> bool:  # type: ignore[override]
        """Whether the other kernel uses labels."""
        return self.kernel.needs_labels

    def with_profiles(self, profiles: Array) -> "Radial":
        """Return the kernel with the profiles of the training vertices."""
        return Radial(self.kernel.with_profiles(profiles), self.gamma)

    def resolve(self, X: Features, positions: Array) -> "Radial":
        """Return the kernel with the other kernel resolved."""
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"kernel is {self.kernel!r}, but it must be a kernel such as vt.Linear()")
        if self.kernel.is_matrix:
            raise ValueError(
                "kernel of Radial reads a kernel matrix, but distances need k(x, x), and the row of a new vertex does "
                "not have it; compute exp(-gamma * d²) from the matrix, and give that as the precomputed kernel"
            )
        if isinstance(self.gamma, bool) or not isinstance(self.gamma, Real) or not 0 < float(self.gamma) < np.inf:
            raise ValueError(f"gamma is {self.gamma!r}, but it must be a positive number")
        return self.with_parameters(kernel=self.kernel.resolve(X, positions))

    def _matrix(self, X: Features, Y: Features) -> Array:
        values = self.kernel(X, Y)
        squares = self.kernel.diagonal(X)[:, None] + self.kernel.diagonal(Y) - 2 * values
        xp = namespace(squares)
        return xp.exp(-float(self.gamma) * xp.clip(squares, 0.0, None))

    def diagonal(self, X: Features) -> Array:
        """Return ones."""
        return ones(as_characters(X, "X") if self.reads == "text" else X)
