"""The contract of losses."""

import numpy as np
from numpy.testing import assert_allclose

from vectrick._typing import Array
from vectrick.losses import Loss

_N = 40


class LossContract:
    """Contract tests for losses. ``make(y, weight)`` returns a loss; ``labels(rng, n)`` returns labels for it.

    The tests compare gradients and Hessians with finite differences, O(n²) for n edges.

    Examples
    --------
    >>> import vectrick as vt
    >>> from vectrick.testing import LossContract
    >>> class TestMine(LossContract):
    ...     def make(self, y, weight=None):
    ...         return vt.losses.Logistic(y, weight)
    >>> len([name for name in dir(TestMine) if name.startswith("test_")]) > 5
    True
    """

    by_position = False  # whether the loss of an edge depends on its position, as with fixed groups

    def make(self, y: Array, weight: Array | None = None) -> Loss:
        """Return the loss of labels."""
        raise NotImplementedError

    def labels(self, rng: np.random.Generator, n: int) -> Array:
        """Return labels; by default, classes -1 and +1."""
        y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        y[:2] = 1.0, -1.0
        return y

    def _made(self, weighted: bool = False, seed: int = 0) -> tuple[Loss, Array, np.random.Generator]:
        rng = np.random.default_rng(seed)
        y = self.labels(rng, _N)
        weight = rng.random(_N) + 0.1 if weighted else None
        return self.make(y, weight), rng.standard_normal(_N), rng

    def test_gradient_is_the_difference_quotient(self) -> None:
        """The gradient agrees with central differences of the value."""
        for weighted in (False, True):
            loss, p, _ = self._made(weighted)
            step = 1e-6
            quotients = [(loss.value(p + step * e) - loss.value(p - step * e)) / (2 * step) for e in np.eye(_N)]
            scale = np.abs(loss.gradient(p)).max()
            assert_allclose(loss.gradient(p), quotients, rtol=1e-5, atol=1e-6 * scale)

    def test_hessian_is_the_difference_quotient(self) -> None:
        """The Hessian agrees with central differences of the gradient."""
        for weighted in (False, True):
            loss, p, rng = self._made(weighted)
            v, step = rng.standard_normal(_N), 1e-6
            quotients = (loss.gradient(p + step * v) - loss.gradient(p - step * v)) / (2 * step)
            scale = np.abs(quotients).max(initial=1.0)
            assert_allclose(loss.curvature(p).times(v), quotients, rtol=1e-5, atol=1e-6 * scale)

    def test_hessian_is_symmetric_and_positive(self) -> None:
        """``uᵀ H v = vᵀ H u`` and ``vᵀ H v ≥ 0``."""
        loss, p, rng = self._made(weighted=True)
        curvature = loss.curvature(p)
        u, v = rng.standard_normal((2, _N))
        assert_allclose(u @ curvature.times(v), v @ curvature.times(u), rtol=1e-10, atol=1e-12)
        assert v @ curvature.times(v) >= 0

    def test_hessian_is_zero_where_it_says_so(self) -> None:
        """The Hessian is zero outside its active edges, and its restriction to them loses nothing."""
        loss, p, rng = self._made(weighted=True)
        curvature = loss.curvature(3 * p)
        if curvature.active is None:
            return
        v = rng.standard_normal(_N)
        active = curvature.active
        assert_allclose(curvature.times(v)[~active], 0)
        assert_allclose(curvature.restrict(active).times(v[active]), curvature.times(v * active)[active], atol=1e-12)

    def test_derivatives_along_a_line(self) -> None:
        """`along` returns the products with gradient and Hessian."""
        loss, p, rng = self._made(weighted=True)
        d = rng.standard_normal(_N)
        first, second = loss.along(p, d, 0.5)
        q = p + 0.5 * d
        assert_allclose(first, d @ loss.gradient(q), rtol=1e-10)
        assert_allclose(second, d @ loss.curvature(q).times(d), rtol=1e-10, atol=1e-12)

    def test_is_convex_and_not_negative(self) -> None:
        """The value between two points is below the chord."""
        loss, p, rng = self._made()
        q = rng.standard_normal(_N)
        assert loss.value(0.5 * (p + q)) <= 0.5 * (loss.value(p) + loss.value(q)) + 1e-12
        assert loss.value(p) >= 0

    def test_large_margins_are_safe(self) -> None:
        """Predictions of any size give finite values, gradients and Hessians without a warning."""
        loss, p, _ = self._made()
        for size in (1e3, 1e8):
            with np.errstate(all="raise", under="ignore"):
                assert np.isfinite(loss.value(size * p))
                assert np.isfinite(loss.gradient(size * p)).all()
                assert np.isfinite(loss.curvature(size * p).times(p)).all()

    def test_order_of_edges_does_not_matter(self) -> None:
        """Permuted labels and predictions give the same value."""
        rng = np.random.default_rng(1)
        y, p, order = self.labels(rng, _N), rng.standard_normal(_N), rng.permutation(_N)
        if self.by_position:
            return
        assert_allclose(self.make(y[order]).value(p[order]), self.make(y).value(p), rtol=1e-12)

    def test_float32(self) -> None:
        """With float32, the gradient stays float32, and results are close to float64."""
        rng = np.random.default_rng(2)
        y, p = self.labels(rng, _N), rng.standard_normal(_N)
        narrow, wide = self.make(y.astype(np.float32)), self.make(y)
        assert narrow.gradient(p.astype(np.float32)).dtype == np.float32
        assert_allclose(narrow.gradient(p.astype(np.float32)), wide.gradient(p), rtol=1e-3, atol=1e-3)
        assert_allclose(narrow.value(p.astype(np.float32)), wide.value(p), rtol=1e-4)
