"""A subclass of a kernel stays what it is when its parameters are settled in a fit."""

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
    assert type(doubled._predictor.start.kernel) is Own
    np.testing.assert_allclose(doubled.predict(edges), plain.predict(edges), rtol=1e-6, atol=1e-8)
