"""Predictions of LIBSVM models on Ki, by LIBSVM and through the vec trick."""

from typing import Any

import numpy as np
import pandas as pd

import vectrick as vt
from experiments import paper, plots
from experiments.datasets import real
from experiments.experiment import Experiment, Row, Scale, Task
from experiments.libsvm import libsvm
from experiments.libsvm_ki import GAMMA


class VecTrick(Experiment):
    """Training edges of the first fold, λ = 2^-5, and all test edges of this fold."""

    name = "vec_trick"
    title = "Predictions of LIBSVM models through the vec trick"

    def tasks(self, scale: Scale) -> list[Task]:
        """Return a task for each number of training edges."""
        return [{"size": size} for size in ((500, 1000, 2000) if scale.quick else (1000, 2000, 4000, 8000, 16_000))]

    def run(self, task: Task) -> list[Row]:
        """Train LIBSVM, and predict both ways."""
        X, y = real("Ki")
        fold = vt.VertexKFold(3, 3, random_state=0).folds(X, y)[0]
        rows = np.random.default_rng(0).permutation(fold.train)[: task["size"]]
        found = libsvm(GAMMA, 2.0**-5, (X[rows], y[rows]), (X[fold.test], y[fold.test]))
        return [{"n_test": len(fold.test), **found}]

    def figure(self, results: pd.DataFrame) -> Any:
        """Draw both prediction times, and their ratio."""
        figure, axes = plots.pyplot.subplots(1, 2, figsize=(9, 3.6))
        results = results.sort_values("size")
        axes[0].plot(results["size"], results["predict"], "s-", color=plots.COLOURS["LIBSVM"], label="LIBSVM")
        axes[0].plot(results["size"], results["vec_trick"], "^--", color=plots.COLOURS["vec trick"], label="vec trick")
        axes[0].set(ylabel="seconds for 10 000 test edges", xlabel="training edges", xscale="log", yscale="log")
        axes[0].legend()
        axes[1].plot(results["size"], results["predict"] / results["vec_trick"], "o-", color=plots.COLOURS["KronSVM"])
        axes[1].axhline(paper.KI_SPEEDUP, color="black", linestyle=":", label="the paper: more than 1000 times")
        axes[1].set(ylabel="times as fast", xlabel="training edges", xscale="log", yscale="log")
        axes[1].legend()
        figure.tight_layout()
        return figure

    def section(self, results: pd.DataFrame) -> str:
        """Write the table."""
        rows = [
            [f"{int(row['size']):,}", f"{int(row['support']):,}", plots.seconds(row["predict"]),
             plots.seconds(row["vec_trick"]), f"{row['predict'] / row['vec_trick']:,.0f}", f"{row['difference']:.0e}"]
            for _, row in results.sort_values("size").iterrows()
        ]  # fmt: skip
        header = ["training edges", "support edges", "LIBSVM", "vec trick", "times as fast", "largest difference"]
        return f"""\
The same model and the same {int(results["n_test"].iloc[0]):,} test edges, predicted by LIBSVM's own decision function
and by the decision function of `vt.from_svc`. The paper reports that the vec trick is more than 1000 times as fast.

{plots.markdown(header, rows)}
"""


EXPERIMENT = VecTrick()
