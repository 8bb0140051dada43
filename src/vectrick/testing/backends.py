"""The contract of backends: transfers keep arrays, primitives match NumPy, and products match ``np.kron``."""

import pickle
from abc import abstractmethod
from typing import Any

import numpy as np

import vectrick as vt
from vectrick.backends import HOST, Backend, settle_backend
from vectrick.backends.arrays import placed

_RNG_SEED = 0


class BackendContract:
    """Contract tests for backends. A subclass returns its backend from `make`.

    The tests compare with NumPy on small arrays; the cost is that of the backend.

    Examples
    --------
    >>> import vectrick as vt
    >>> from vectrick.testing import BackendContract
    >>> class TestMine(BackendContract):
    ...     def make(self):
    ...         return vt.backends.NumpyBackend()
    >>> len([name for name in dir(TestMine) if name.startswith("test_")]) > 5
    True
    """

    @abstractmethod
    def make(self) -> Backend:
        """Return the backend."""

    def _numbers(self, *shape: int) -> Any:
        return np.random.default_rng(_RNG_SEED).standard_normal(shape)

    def _assert_same(self, actual: Any, expected: Any, atol: float = 1e-12) -> None:
        host = self.make().to_host(actual) if self.make().owns(actual) else np.asarray(actual)
        np.testing.assert_allclose(host, expected, atol=atol)

    def test_arrays_come_and_go(self) -> None:
        """The backend owns arrays that are placed on it, and returns them unchanged, in their dtype."""
        backend = self.make()
        for values in (self._numbers(3, 4), np.arange(5, dtype=np.int32), np.array([True, False])):
            there = placed(values, backend)
            assert backend.owns(there)
            assert backend.dtype_of(there) == values.dtype
            np.testing.assert_array_equal(backend.to_host(there), values)
        assert backend.dtype_of(backend.asarray(self._numbers(3), np.float32)) == np.float32

    def test_new_arrays(self) -> None:
        """Zeros, empty arrays, ranges, copies and casts have the right values and dtypes."""
        backend = self.make()
        self._assert_same(backend.zeros((2, 3), np.float64), np.zeros((2, 3)))
        assert tuple(backend.empty((2, 3), np.float32).shape) == (2, 3)
        self._assert_same(backend.arange(4, np.int32), np.arange(4))
        x = backend.zeros(3, np.float64)
        y = backend.copy(x)
        y[0] = 1.0
        self._assert_same(x, np.zeros(3))
        assert backend.dtype_of(backend.cast(x, np.float32)) == np.float32
        turned = placed(self._numbers(3, 4), backend).T
        self._assert_same(backend.contiguous(turned), self._numbers(3, 4).T)

    def test_indices(self) -> None:
        """A key selects the same elements as in NumPy."""
        backend, values = self.make(), self._numbers(6)
        there = placed(values, backend)
        for key in (slice(1, 4), slice(None, None, 2), np.array([4, 0]), values > 0, [2, 1], slice(4, 0, -2)):
            self._assert_same(there[backend.index(key, 6)], values[key])

    def test_primitives(self) -> None:
        """Sorting, grouping and counting equal NumPy's."""
        backend, values = self.make(), self._numbers(40)
        groups = np.random.default_rng(1).integers(7, size=40).astype(np.int32)
        there, g = placed(values, backend), placed(groups, backend)
        self._assert_same(backend.true_places(there > 0), np.flatnonzero(values > 0))
        self._assert_same(backend.sorted_values(there), np.sort(values))
        self._assert_same(backend.distinct(g), np.unique(groups))
        self._assert_same(backend.group_sums(g, there, 7), np.bincount(groups, values, 7))
        dense = np.zeros((7, 7))
        np.add.at(dense, (groups, groups[::-1]), values)
        flipped = placed(groups[::-1].copy(), backend)
        scattered = backend.scattered(there, g, flipped, (7, 7))
        self._assert_same(scattered.toarray() if hasattr(scattered, "toarray") else scattered, dense)
        both = backend.scattered_all(placed(np.stack([values, 2 * values]), backend), g, flipped, (7, 7))
        self._assert_same(both, np.stack([dense, 2 * dense]))

    def test_finite_and_definite(self) -> None:
        """NaN, infinity and negative eigenvalues are detected."""
        backend = self.make()
        assert backend.is_finite(placed(self._numbers(4), backend))
        assert not backend.is_finite(placed(np.array([1.0, np.nan]), backend))
        assert not backend.is_finite(placed(np.array([1.0, -np.inf]), backend))
        assert backend.is_definite(placed(np.eye(3), backend))
        assert not backend.is_definite(placed(np.diag([1.0, -1.0, 2.0]), backend))

    def test_functions_of_tables(self) -> None:
        """Norms, kernels and special functions equal their formulas, also for many features."""
        backend = self.make()
        for n_features in (2, 10, 40):
            X, Y = self._numbers(6, n_features), self._numbers(5, n_features)[::-1] + 0.5
            there = placed(X, backend), placed(Y.copy(), backend)
            self._assert_same(backend.squared_norms(there[0]), (X * X).sum(axis=1), 1e-9)
            self._assert_same(backend.unit_rows(there[0]), X / np.linalg.norm(X, axis=1)[:, None])
            distances = ((X[:, None] - Y) ** 2).sum(axis=2)
            self._assert_same(backend.gaussian(*there, 0.1), np.exp(-0.1 * distances), 1e-9)
            assert abs(backend.variance(there[0]) - X.var()) < 1e-12
        x = np.array([-3.0, 0.0, 2.0])
        self._assert_same(backend.sigmoid(placed(x, backend)), 1 / (1 + np.exp(-x)))
        self._assert_same(backend.log_sigmoid(placed(x, backend)), -np.log1p(np.exp(-x)))
        L = np.tril(self._numbers(4, 4)) + 4 * np.eye(4)
        B = self._numbers(4, 2)
        self._assert_same(backend.solve_triangular(placed(L, backend), placed(B, backend)), np.linalg.solve(L, B))

    def test_the_best_of_blocks(self) -> None:
        """The best columns are kept from block to block; ties keep the order of the columns."""
        backend, scores = self.make(), np.array([[1.0, 3.0, 3.0, 2.0], [0.0, -1.0, 5.0, 5.0]])
        which, best = backend.zeros((2, 2), np.int64) - 1, backend.zeros((2, 2), np.float64) - np.inf
        for low in (0, 2):
            which, best = backend.best_of(which, best, slice(low, low + 2), placed(scores[:, low : low + 2], backend))
        self._assert_same(which, [[1, 2], [2, 3]])
        self._assert_same(best, [[3.0, 3.0], [5.0, 5.0]])

    def test_products(self) -> None:
        """Every path of the backend equals ``np.kron``, with a vector and with a block."""
        rng = np.random.default_rng(_RNG_SEED)
        M, N = self._numbers(5, 4), self._numbers(3, 6)
        p, q, r, t = (
            rng.integers(5, size=20),
            rng.integers(3, size=20),
            rng.integers(4, size=15),
            rng.integers(6, size=15),
        )
        exact = np.kron(M, N)[p * 3 + q][:, r * 6 + t]
        whole = vt.kron(M, N, backend=self.make())
        for estimate in whole[(p, q), (r, t)].plan.estimates:
            op = vt.kron(M, N, backend=self.make(), path=estimate.path)[(p, q), (r, t)]
            for v in (rng.standard_normal(15), rng.standard_normal((15, 3))):
                self._assert_same(op @ v, exact @ v, 1e-10)
        self._assert_same(whole @ np.ones(24), np.kron(M, N) @ np.ones(24), 1e-10)

    def test_a_fit_is_that_of_numpy(self) -> None:
        """A model predicts the same as with NumPy, on the backend and after a move to the host."""
        X, y = vt.datasets.make_checkerboard(20, 15, random_state=0)
        for pairwise in ("kronecker", "linear"):
            parameters: dict[str, Any] = {"alpha": 1.0, "tol": 1e-9, "solver": "cg", "pairwise": pairwise}
            expected = vt.KronRidge(vt.Gaussian(0.1), vt.Gaussian(0.1), **parameters).fit(X, y).predict(X)
            model = vt.KronRidge(vt.Gaussian(0.1), vt.Gaussian(0.1), backend=self.make(), **parameters).fit(X, y)
            self._assert_same(model.predict(X), expected, 1e-6)
            self._assert_same(model.set_params(backend="cpu").predict(X), expected, 1e-6)

    def test_is_a_value(self) -> None:
        """A backend equals its copy after pickling, and can be passed as an object."""
        backend = self.make()
        assert settle_backend(backend, None) is backend
        assert pickle.loads(pickle.dumps(backend)) == backend
        assert (backend == HOST) == (backend.name == "cpu")
        assert backend.free_memory() > 2**20
