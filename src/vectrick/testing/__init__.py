"""Contract tests for backends, operators, losses and estimators: inherit from one, and define ``make``.

A test class for a new operator is three lines long::

    class TestMine(OperatorContract):
        def make(self, rng):
            return MyOperator(...), the_same_as_a_dense_matrix
"""

from vectrick.testing.backends import BackendContract
from vectrick.testing.estimators import EstimatorContract
from vectrick.testing.losses import LossContract
from vectrick.testing.operators import TOLERANCE, OperatorContract, assert_close, dot_test

__all__ = [
    "TOLERANCE",
    "BackendContract",
    "EstimatorContract",
    "LossContract",
    "OperatorContract",
    "assert_close",
    "dot_test",
]
