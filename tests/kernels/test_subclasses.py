"""A subclass of a kernel stays what it is when its parameters are settled in a fit."""

import threading

import numpy as np
import pytest

import vectrick as vt

X = vt.Edges.grid(np.random.default_rng(0).standard_normal((6, 6)), np.eye(4))
Y = np.random.default_rng(1).standard_normal(24)


@pytest.mark.parametrize(
    "kernel",
    [vt.Gaussian("scale"), vt.Polynomial(2), vt.Radial(vt.Linear(), 0.5), vt.Standardized(vt.Linear()), vt.Linear(),
     vt.Precomputed(), vt.Profile(), vt.Cosine(), vt.Tanimoto()],
)  # fmt: skip
def test_settled_kernels_keep_their_class(kernel):
    class Own(type(kernel)):
        def _matrix(self, X, Y):
            return 2.0 * super()._matrix(X, Y)

        def diagonal(self, X):
            return 2.0 * super().diagonal(X)

        def features(self, X):
            return None

    own = Own(**kernel.get_params(deep=False))
    table = np.abs(X.start_table.features)
    edges = vt.Edges.grid(table @ table.T, np.eye(4))
    doubled, plain = (
        vt.KronRidge(each, "linear", alpha=alpha, form="dual", fit_intercept=False).fit(edges, Y)
        for each, alpha in ((own, 2.0), (kernel, 1.0))
    )
    assert type(doubled.predictor_.start.kernel) is Own
    np.testing.assert_allclose(doubled.predict(edges), plain.predict(edges), rtol=1e-6, atol=1e-8)


def test_subclasses_may_have_an_init_of_their_own():
    class Narrow(vt.Gaussian):
        def __init__(self):
            super().__init__(10.0)

    model = vt.KronRidge(Narrow(), "linear").fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), vt.KronRidge(vt.Gaussian(10.0), "linear").fit(X, Y).predict(X))


class Held(vt.kernels.Kernel):
    """A kernel that holds what cannot be copied, and columns in tuples of lists."""

    def __init__(self, lock=None, columns=([0], [1])):
        self.lock = lock
        self.columns = columns

    def _matrix(self, X, Y):
        return X[:, self.columns[0]] @ Y[:, self.columns[0]].T + X[:, self.columns[1]] @ Y[:, self.columns[1]].T

    def diagonal(self, X):
        return (X[:, [0, 1]] ** 2).sum(1)


def test_kernels_may_hold_anything():
    model = vt.KronRidge(Held(threading.Lock()), "linear").fit(X, Y)
    grid = model.predict_grid(X.start_table, X.end_table)
    np.testing.assert_allclose(grid.ravel(), model.predict(X))
    assert len(model.recommend([0], k=2, exclude_known=False)) == 2
