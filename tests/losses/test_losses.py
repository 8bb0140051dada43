"""Every loss keeps the contract; RankRLS against the sum over pairs; the intercept against a search."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from vectrick.backends import HOST
from vectrick.losses import Censored, Hinge, Logistic, RankRLS, Squared, SquaredHinge, WithIntercept
from vectrick.testing import LossContract

GROUPS = np.arange(40) % 7


class Values(LossContract):
    def labels(self, rng, n):
        return rng.standard_normal(n)


class TestSquared(Values):
    def make(self, y, weight=None):
        return Squared(y, weight)


class TestCensored(Values):
    by_position = True

    def make(self, y, weight=None):
        return Censored(y, weight, np.arange(len(y)) % 3 - 1)


class TestCensoredWithIntercept(Values):
    by_position = True

    def make(self, y, weight=None):
        return WithIntercept(Censored(y, weight, np.arange(len(y)) % 3 - 1))


class TestSquaredHinge(LossContract):
    def make(self, y, weight=None):
        return SquaredHinge(y, weight)


class TestHinge(LossContract):
    def make(self, y, weight=None):
        return Hinge(y, weight)


class TestLogistic(LossContract):
    def make(self, y, weight=None):
        return Logistic(y, weight)


class TestRankRLS(Values):
    def make(self, y, weight=None):
        return RankRLS(y, weight)


class TestRankRLSWithinGroups(Values):
    by_position = True

    def make(self, y, weight=None):
        return RankRLS(y, weight, GROUPS)


class TestSquaredWithIntercept(Values):
    def make(self, y, weight=None):
        return WithIntercept(Squared(y, weight))


class TestSquaredHingeWithIntercept(LossContract):
    def make(self, y, weight=None):
        return WithIntercept(SquaredHinge(y, weight))


class TestLogisticWithIntercept(LossContract):
    def make(self, y, weight=None):
        return WithIntercept(Logistic(y, weight))


@pytest.mark.parametrize("groups", [None, GROUPS])
def test_rankrls_is_the_sum_over_pairs(groups):
    rng = np.random.default_rng(0)
    y, p, w = rng.standard_normal((3, 40))
    w = np.abs(w)
    total = compared = 0.0
    for i in range(40):
        for j in range(40):
            if groups is None or groups[i] == groups[j]:
                total += 0.25 * w[i] * w[j] * (y[i] - p[i] - y[j] + p[j]) ** 2
                compared += w[i] * w[j]
    assert_allclose(RankRLS(y, w, groups).value(p), total / (compared / w.sum()))


def test_hessian_of_rankrls_is_that_of_the_table():
    n = 6
    H = RankRLS(np.zeros(n)).curvature(np.zeros(n))
    assert_allclose([H.times(e) for e in np.eye(n)], np.eye(n) - 1 / n, atol=1e-12)


@pytest.mark.parametrize("kind", [Squared, SquaredHinge, Logistic])
def test_intercept_is_the_best_constant(kind):
    rng = np.random.default_rng(1)
    y, p = np.where(rng.random(50) < 0.1, 1.0, -1.0), 3 * rng.standard_normal(50)
    y[0] = 1.0
    loss = WithIntercept(kind(y, rng.random(50)))
    best = minimize_scalar(lambda b: loss.loss.value(p + b))
    assert loss.value(p) <= best.fun + 1e-12
    assert_allclose(loss.intercept(p), best.x, atol=1e-4)
    assert abs(loss.gradient(p).sum()) < 1e-10


def test_intercept_with_margins_far_away():
    y = np.array([1.0, -1.0, -1.0])
    for kind in (SquaredHinge, Logistic):
        loss = WithIntercept(kind(y))
        assert np.isfinite(loss.intercept(np.array([1e6, 1e6, -1e6])))
        assert abs(loss.gradient(np.array([1e4, 1e4, -1e4])).sum()) < 1e-6


def test_intercept_does_not_run_away():
    loss = WithIntercept(Logistic(np.array([1.0, 1.0, -1.0])))
    for shift in (200.0, 800.0, 1e5):
        p = np.array([-shift, -shift - 1, -shift + 3])
        assert loss.intercept(p) == pytest.approx(shift + loss.intercept(p + shift), abs=1e-6 * shift)
        assert abs(loss.intercept(p) - shift) < 5


def test_long_arrays_are_taken_in_pieces():
    rng = np.random.default_rng(0)
    n = 2 * HOST.piece + 17
    y, p, w, d = np.where(rng.random(n) < 0.5, 1.0, -1.0), *rng.standard_normal((2, n)), rng.random(n)
    loss = Logistic(y, w)
    assert_allclose(loss.value(p), (w * np.logaddexp(0, -y * p)).sum())
    assert_allclose(loss.gradient(p), -w * y / (1 + np.exp(y * p)))
    assert_allclose(loss.along(p, d, 0.3)[0], d @ loss.gradient(p + 0.3 * d))
