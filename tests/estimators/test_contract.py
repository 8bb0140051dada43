"""Every estimator keeps the contract."""

import numpy as np

import vectrick as vt
from vectrick.testing import EstimatorContract


class Classes(EstimatorContract):
    def labels(self, values):
        return np.where(values > 0, "yes", "no")


class TestRidge(EstimatorContract):
    iterative = "cg"

    def make(self, **parameters):
        return vt.KronRidge(**parameters)


class TestRidgeWithIntercept(EstimatorContract):
    iterative = "cg"

    def make(self, **parameters):
        return vt.KronRidge(fit_intercept=True, **parameters)


class TestSVM(Classes):
    def make(self, **parameters):
        return vt.KronSVM(**parameters)


class TestSVMWithIntercept(Classes):
    def make(self, **parameters):
        return vt.KronSVM(fit_intercept=True, **parameters)


class TestHingeSVM(Classes):
    iterative = "box"

    def make(self, **parameters):
        return vt.KronSVM(loss="hinge", **{"tol": 1e-9, **parameters})

    def test_history(self):
        # The dual method lowers the dual risk in every step, not the primal one; what falls is the gap, in the end.
        model, _, _ = self._fitted(solver="box", form="dual")
        assert len(model.history_["risk"]) == model.n_iter_
        assert model.solution_.converged
        assert model.solution_.residuals[-1] <= 1e-9


class TestLogistic(Classes):
    def make(self, **parameters):
        return vt.KronLogistic(**parameters)


class TestLBFGS(Classes):
    iterative = "lbfgs"

    def make(self, **parameters):
        return vt.KronLogistic(**{"fit_intercept": True, **parameters})


class TestRanker(EstimatorContract):
    iterative = "cg"

    def make(self, **parameters):
        return vt.KronRanker(**parameters)


class TestRankerWithin(EstimatorContract):
    iterative = "cg"

    def make(self, **parameters):
        return vt.KronRanker(groups="start", **parameters)
