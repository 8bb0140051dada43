"""The kernel that is one for a vertex with itself, and zero for different vertices."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from vectrick._typing import Array, ArrayLike, Features
from vectrick.backends.arrays import like, to_host
from vectrick.kernels.base import Kernel
from vectrick.kernels.rows import ones


class Identity(Kernel):
    """``k(x, y) = 1`` if x and y are the same vertex, else 0; a new vertex is like no other one.

    Added to a kernel of features, it learns what the features of a vertex do not tell, from its own edges: the bias and
    the taste of a user. A vertex is known by its id; in tables without ids, by its features and its position.

    In a sum, it adds one to the diagonal, in O(m + p) between m and p vertices. Alone and in primal form, it has a
    feature for each training vertex, and these are sparse. It does not fit where few dense features of each vertex are
    needed: a lake takes it for tables of up to ``n_components`` vertices.

    Parameters
    ----------
    numbers : array, optional
        The numbers of the training vertices in their table; a fit sets them.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> users, films = np.zeros((3, 1)), np.eye(2)  # nothing is known about the users
    >>> X, y = vt.Edges.grid(users, films, start_ids=["a", "b", "c"]), [1.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    >>> model = vt.KronRidge(vt.Constant(0.1) + vt.Identity(), "linear", alpha=0.01).fit(X, y)
    >>> model.predict(X).round(1)
    array([1., 0., 0., 1., 1., 1.])
    """

    name = "identity"
    reads = "any"
    learned = ("numbers",)
    is_light = True

    def __init__(self, numbers: ArrayLike | None = None) -> None:
        self.numbers = numbers

    def resolve(self, X: Features, positions: Array) -> "Identity":
        """Return the kernel with the numbers of the training vertices."""
        return self if self.numbers is not None else self.with_parameters(numbers=_numbers(X))

    def _matrix(self, X: Features, Y: Features) -> Array:
        return self.plus(0.0 * ones(X)[:, None] * ones(Y), X, Y)

    def plus(self, K: Array, X: Features, Y: Features, weight: float = 1.0) -> Array:
        """Return kernel values of other kernels plus this kernel."""
        rows, columns = _same(X, Y)
        K = K + 0.0  # the given values may be shared
        K[like(rows, K, np.int64), like(columns, K, np.int64)] += weight
        return K

    def diagonal(self, X: Features) -> Array:
        """Return a one for each row."""
        return np.asarray(ones(X)) if issparse(X) else ones(X)

    def features(self, X: Features) -> csr_array:
        """Return a column for each training vertex, with a one in its row."""
        if self.numbers is None:
            raise ValueError("an Identity kernel has features only after it was fitted with training vertices")
        return _indicators(_numbers(X), np.asarray(self.numbers, np.int64))


def _numbers(X: Features) -> Array:
    """Return the numbers of vertices: the last column of their table; negative ones for new vertices."""
    last: Any = X[:, X.shape[1] - 1 :]
    return np.asarray((last.toarray() if issparse(last) else to_host(last)).ravel(), np.int64)


def _indicators(numbers: Array, known: Array) -> csr_array:
    order = np.argsort(known, kind="stable")
    place = np.minimum(np.searchsorted(known[order], numbers), max(len(known) - 1, 0))
    columns = order[place] if len(known) else place
    is_known = known[columns] == numbers if len(known) else np.zeros(len(numbers), bool)
    ends = np.concatenate([[0], np.cumsum(is_known)])
    return csr_array((np.ones(ends[-1]), columns[is_known], ends), (len(numbers), len(known)))


def _same(X: Features, Y: Features) -> tuple[Array, Array]:
    """Return the rows of X and of Y that are the same vertex; a new vertex is the same only within one table."""
    first, second = _numbers(X), _numbers(Y)
    distinct = np.unique(second if X is Y else second[second > 0])
    rows, columns = (_indicators(first, distinct) @ _indicators(second, distinct).T).tocoo().coords
    return rows, columns
