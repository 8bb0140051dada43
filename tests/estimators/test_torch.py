"""Every estimator keeps the contract with torch, on the CPU, and agrees with the CPU's own backend."""

import pytest

from tests.estimators import test_contract as contract

torch = pytest.importorskip("torch", reason="torch is not installed: the torch backend was left out")


class WithTorch:
    """The same contract, computed by torch."""

    def make(self, **parameters):
        return super().make(**{"backend": "torch", "device": "cpu", **parameters})


class TestRidge(WithTorch, contract.TestRidge):
    pass


class TestRidgeWithIntercept(WithTorch, contract.TestRidgeWithIntercept):
    pass


class TestSVM(WithTorch, contract.TestSVM):
    pass


class TestSVMWithIntercept(WithTorch, contract.TestSVMWithIntercept):
    pass


class TestHingeSVM(WithTorch, contract.TestHingeSVM):
    pass


class TestLogistic(WithTorch, contract.TestLogistic):
    pass


class TestLBFGS(WithTorch, contract.TestLBFGS):
    pass


class TestRanker(WithTorch, contract.TestRanker):
    pass


class TestRankerWithin(WithTorch, contract.TestRankerWithin):
    pass
