"""The plan of a fit, and the hooks of estimators for lakes: checks of labels, and the default score."""

from abc import abstractmethod
from typing import Any

import numpy as np

from vectrick._typing import ArrayLike
from vectrick.data.lake.counts import Counts
from vectrick.data.source import AnyEdges, is_lake
from vectrick.estimators.fitted import FittedModel
from vectrick.operators import Plan
from vectrick.streaming.plan import LakePlan, plan_lake
from vectrick.training.parameters import check_parameters


class OnLakes(FittedModel):
    """An estimator that takes edges of a lake as an alternative to `Edges` and labels."""

    @abstractmethod
    def _check_lake_labels(self, counts: Counts, dtype: np.dtype[Any]) -> None:
        """Check the labels of a lake; set ``classes_``, in the dtype of the lake, if there are classes."""

    @abstractmethod
    def _lake_scoring(self, counts: Counts) -> str:
        """Return the score that "auto" stands for on the edges of a lake."""

    @abstractmethod
    def _plan(self, X: AnyEdges, y: ArrayLike | None, sample_weight: ArrayLike | None) -> Plan:
        """Return the plan of a fit to edges in memory."""

    def plan(self, X: AnyEdges, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Plan | LakePlan:
        """Return the predicted cost of a fit without running it; the arguments are the same as for ``fit``.

        For a lake, the plan has memory, passes and time; one partition is read to measure rates. For edges in memory,
        it compares the ways to compute an iteration, like ``plan_`` of a fitted model.

        >>> import vectrick as vt
        >>> X, y = vt.datasets.make_checkerboard(100, random_state=0)
        >>> vt.KronRidge(vt.Gaussian(gamma=1.0), vt.Gaussian(gamma=1.0)).plan(X, y).seconds < 1
        True
        """
        if is_lake(X):
            check_parameters(self, None)
            return plan_lake(self, X)
        if y is None:
            raise ValueError("y is None, but edges in memory need labels; give the arguments of fit")
        return self._plan(X, y, sample_weight)
