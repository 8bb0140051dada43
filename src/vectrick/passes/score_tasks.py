"""Tasks that evaluate the predictions of a function: a sample of them, histograms, and sums of errors."""

from dataclasses import dataclass

import numpy as np

from vectrick._typing import Array
from vectrick.data.lake.blocks import EdgeBlock
from vectrick.metrics.binned import Bins
from vectrick.passes.tasks import Coding, Passes


@dataclass(frozen=True)
class Sample:
    """Predictions and labels of about ``size`` edges of each block, evenly spaced in the block."""

    core: Array
    intercept: float
    coding: Coding
    size: int
    name: str = "sample-predictions"

    def run(self, passes: Passes, block: EdgeBlock, n_threads: int) -> tuple[Array, Array]:
        """Return predictions and labels."""
        assert block.label is not None
        places = np.arange(0, len(block), max(1, len(block) // self.size))
        predictions = passes.predictions_at(block, self.core, places, n_threads)
        return predictions + self.intercept, self.coding(block.label[places])


@dataclass(frozen=True)
class Counted:
    """Histograms of predictions by label, the sums of 1, y, y² and (p - y)², and the number of correct signs."""

    core: Array
    intercept: float
    coding: Coding
    bins: Bins | None
    name: str = "count-predictions"

    def run(self, passes: Passes, block: EdgeBlock, n_threads: int) -> tuple[Array, ...]:
        """Return the counts and sums of a block."""
        assert block.label is not None
        p = passes.predictions(block, self.core, n_threads).astype(np.float64) + self.intercept
        y = self.coding(block.label)
        right = np.count_nonzero((p > 0) == (y > 0))
        sums = np.array([len(y), y.sum(), y @ y, np.square(p - y).sum(), right, not np.isfinite(p).all()])
        return sums, *(() if self.bins is None else self.bins.count(p, y))
