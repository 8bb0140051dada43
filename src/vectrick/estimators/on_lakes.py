"""What an estimator says about lakes: what a fit would take, which labels it takes, and how it is scored."""

from abc import abstractmethod
from typing import Any

import numpy as np

from vectrick.data.lake.counts import Counts
from vectrick.data.lake.scan import ScannedEdges
from vectrick.estimators.fitted import FittedModel
from vectrick.estimators.lake_plan import LakePlan, plan_lake
from vectrick.estimators.parameters import check_parameters


class OnLakes(FittedModel):
    """An estimator that takes edges of a lake in place of `Edges` and labels."""

    @abstractmethod
    def _check_lake_labels(self, counts: Counts, dtype: np.dtype[Any]) -> None:
        """Check the labels of a lake, which are of a dtype there, setting ``classes_`` where there are classes."""

    @abstractmethod
    def _lake_scoring(self, counts: Counts) -> str:
        """Return the score that "auto" stands for on the edges of a lake."""

    def plan(self, X: ScannedEdges) -> LakePlan:
        """Return what a fit to the edges of a lake takes: memory, passes, time; reads one partition to measure rates.

        Products with edges in memory have plans of their own: ``plan_`` of a fitted model.
        """
        if not isinstance(X, ScannedEdges):
            raise TypeError(f"X is of type {type(X).__name__}, but plan is for lakes (vt.scan_edges)")
        check_parameters(self, None)
        return plan_lake(self, X)
