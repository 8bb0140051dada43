"""The kernel of vertices by the labels of their training edges."""

from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse

from vectrick._typing import Array, ArrayLike, Features
from vectrick.backends.arrays import like as placed_like, to_host
from vectrick.data.tables import row_keys
from vectrick.kernels.base import Kernel
from vectrick.kernels.cosine import Cosine
from vectrick.kernels.strings.encoded import Encoded, chosen_kernel

_PRIOR = 2.0  # edges with deviation zero that are added to the mean of a vertex
_LARGEST = 200_000_000  # pairs of a start and an end vertex


class Profile(Encoded):
    """A kernel of vertices by their interaction profiles: the labels of their training edges.

    The profile of a vertex has an entry for each vertex of the other side: the label of their edge, minus the means of
    both vertices, and zero if there is no edge. A fit makes profiles from its own training edges only, so that in a
    cross-validation no label of a test edge leaks into them. The kernel is for vertices with many training edges; added
    to a kernel of their features, it contributes information that the features lack. With ``kernel=Gaussian()`` it is
    the Gaussian interaction profile kernel. It takes memory for m q numbers, with m start and q end vertices. Vertices
    with the same features share the mean of their profiles.

    Profiles take O(n) for n training edges, kernel values O(m p q) between m and p vertices, with q vertices on the
    other side.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel of the profiles, by default ``Cosine()``.
    like : Kernel, optional
        A kernel of the features. A new vertex gets the mean profile of the most similar training vertices, weighted by
        the values of this kernel; by default the profiles of new vertices are zero.
    neighbours : int
        The number of these training vertices.
    profiles, known : array, optional
        The profiles and the features of the training vertices; a fit sets them.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> X = vt.Edges.grid(np.eye(4), np.eye(3))
    >>> y = np.array([1.0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 1])
    >>> model = vt.KronRidge(vt.Linear() + vt.Profile(), "linear").fit(X, y)
    >>> without = vt.KronRidge("linear", "linear").fit(X, y)
    >>> model.score(X, y) > without.score(X, y)  # vertices with like profiles share what they have learned
    True
    """

    name = "profile"
    needs_labels = True
    learned = ("profiles", "known")
    of_vertices = ("known",)

    def __init__(
        self,
        kernel: Kernel | None = None,
        like: Any = None,
        neighbours: int = 10,
        profiles: Any = None,
        known: ArrayLike | None = None,
    ) -> None:
        self.kernel = kernel
        self.like = like
        self.neighbours = neighbours
        self.profiles = profiles
        self.known = known

    @property
    def reads(self) -> str:  # type: ignore[override]
        """The type of vertices of the kernel ``like``, or any."""
        return self.like.reads if isinstance(self.like, Kernel) else "any"

    @property
    def inner(self) -> Kernel:
        """The kernel of the profiles."""
        return chosen_kernel(self.kernel, Cosine())

    def with_profiles(self, profiles: Array) -> "Profile":
        """Return the kernel with the profiles of the training vertices."""
        return self.with_parameters(profiles=profiles, known=None)

    def resolve(self, X: Features, positions: Array) -> "Profile":
        """Return the kernel with its training vertices; it must have their profiles."""
        if self.known is not None:
            return self
        if self.profiles is None or len(self.profiles) != X.shape[0]:
            raise ValueError(
                "a Profile kernel learns from the labels of a fit to edges in memory; it can be added to other kernels "
                "or multiplied by them, but not stand inside vt.Standardized. AutoKron tries profiles automatically"
            )
        if isinstance(self.neighbours, bool) or not isinstance(self.neighbours, Integral) or int(self.neighbours) < 1:
            raise ValueError(f"neighbours is {self.neighbours!r}, but it must be a positive integer")
        if self.like is not None and not isinstance(self.like, Kernel):
            raise ValueError(f"like is {self.like!r}, but it must be a kernel of the features, or None")
        near = None if self.like is None else self.like.resolve(X, positions)
        known = to_host(X)
        profiles = mean_of_copies(self.profiles, known)
        settled = self.with_parameters(like=near, profiles=profiles, known=known)
        settled.kernel = settled.inner.resolve(profiles, positions)
        return settled

    def encoded(self, X: Features) -> Any:
        """Return the profiles of vertices: their own, or the mean of the most similar training vertices."""
        if self.known is None:
            raise ValueError("a Profile kernel has profiles only after it was fitted")
        host = to_host(X)
        place = {key: row for row, key in reversed(list(enumerate(row_keys(self.known))))}
        rows = np.array([place.get(key, -1) for key in row_keys(host)], np.int64)
        out = np.zeros((len(rows), self.profiles.shape[1]))
        out[rows >= 0] = self.profiles[rows[rows >= 0]]
        new = np.flatnonzero(rows < 0)
        if len(new) and self.like is not None:
            out[new] = self._of_neighbours(host[new])
        return out if issparse(X) else placed_like(out, X)

    def _of_neighbours(self, X: Features) -> Array:
        values = np.maximum(np.asarray(to_host(self.like(X, self.known)), np.float64), 0.0)
        count = min(int(self.neighbours), values.shape[1])
        near = np.argpartition(-values, count - 1, axis=1)[:, :count]
        weights = np.take_along_axis(values, near, axis=1)
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
        result: Array = np.einsum("ik,ikj->ij", weights, self.profiles[near])
        return result


def profiles_of(rows: Array, columns: Array, y: Array, shape: tuple[int, int]) -> Array:
    """Return a profile for each row of a matrix of labels: deviations from the means of rows and columns.

    >>> profiles_of(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([1.0, -1.0, 0.0]), (2, 2)).round(2)
    array([[ 0.75, -0.67],
           [-0.25,  0.  ]])
    """
    if shape[0] * shape[1] > _LARGEST:
        raise MemoryError(
            f"profiles of {shape[0]} × {shape[1]} vertices are more than {_LARGEST} numbers; leave out vt.Profile"
        )
    keys = rows.astype(np.int64) * shape[1] + columns
    counts = np.bincount(keys, minlength=shape[0] * shape[1]).reshape(shape)
    sums = np.bincount(keys, y - y.mean(), minlength=shape[0] * shape[1]).reshape(shape)
    values, has = sums / np.maximum(counts, 1), counts > 0
    for axis in (1, 0):  # a mean of few edges is unreliable
        values -= has * (values.sum(axis, keepdims=True) / (has.sum(axis, keepdims=True) + _PRIOR))
    return values


def mean_of_copies(profiles: Array, features: Array) -> Array:
    """Return profiles averaged over vertices with the same features."""
    keys = row_keys(features)
    number = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    if len(number) == len(keys):
        return profiles
    groups = np.array([number[key] for key in keys])
    sums = np.zeros((len(number), profiles.shape[1]))
    np.add.at(sums, groups, profiles)
    result: Array = (sums / np.bincount(groups)[:, None])[groups]
    return result
