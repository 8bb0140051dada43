"""The AUC table and the runtime table: six data sets and five methods, with the paper's settings."""

import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import vectrick as vt
from experiments import paper, plots
from experiments.datasets import CHECKER_TEST, REAL, checker, real
from experiments.experiment import Experiment, Row, Scale, Task
from vectrick.metrics import auc
from vectrick.model_selection.scorers import predictions

KNN_QUERIES = 250_000  # test edges of Checker; with all, KNN takes many minutes longer for the same digits
CHECKER_SIZES = {"Checker": 1000, "Checker+": 6400}


def methods(kernel: Any, n_updates: int) -> dict[str, Any]:
    """Return the five methods in the paper's settings."""
    baselines = vt.baselines()
    for name in ("SGD hinge", "SGD logistic"):
        baselines[name].set_params(n_updates=n_updates)
    return {
        "KronSVM": vt.KronSVM(kernel, kernel, alpha=1e-4, max_iter=10, inner_iter=10, fit_intercept=False),
        "KronRidge": vt.KronRidge(kernel, kernel, alpha=1e-4, solver="minres", max_iter=100),
        **{name: baselines[name] for name in ("SGD hinge", "SGD logistic", "KNN")},
    }


class Tables(Experiment):
    """Ninefold cross-validation on the real data sets, and a separate test graph for Checker."""

    name = "tables"
    title = "AUC and runtime of five methods on six data sets"

    def tasks(self, scale: Scale) -> list[Task]:
        """Return a task for each method, seed and data set, the slowest last; Checker+ has one seed."""
        size = {"quick": scale.quick, "updates": 20_000 if scale.quick else 10**6}
        return [
            {"data": data, "method": method, "seed": seed, **size}
            for some in (paper.METHODS[:2], paper.METHODS[2:])
            for seed in range(1 if scale.quick else scale.seeds)
            for method in some
            for data in paper.DATA
            if data != "Checker+" or seed == 0
        ]

    def run(self, task: Task) -> list[Row]:
        """Train and test one method on one data set."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the paper fixes the number of iterations
            warnings.filterwarnings("error", message=".* failed in ")  # a failed fold must not leave an empty cell
            return [self._real(task) if task["data"] in REAL else self._checker(task)]

    def _real(self, task: Task) -> Row:
        X, y = real(task["data"], task["quick"])
        method = methods("linear", task["updates"])[task["method"]]
        # Otherwise some folds of a reduced graph would have no positive edge.
        cv = vt.VertexKFold(3, 3, stratify=task["quick"], random_state=task["seed"])
        folds = vt.compare({task["method"]: method}, X, y, cv=cv, baselines=False, per_fold=True)
        return {
            "auc": folds["score"].mean(),
            "lowest": folds["score"].min(),
            "highest": folds["score"].max(),
            "fit": folds["fit"].sum(),
            "predict": folds["predict"].sum(),
            "edges": len(y),
        }

    def _checker(self, task: Task) -> Row:
        shrink = 5 if task["quick"] else 1
        m = CHECKER_SIZES[task["data"]] // shrink
        X, y = checker(m, 100 + task["seed"])
        X_test, y_test = checker(CHECKER_TEST // shrink, 200 + task["seed"])
        if task["method"] == "KNN":
            some = np.random.default_rng(0).permutation(len(y_test))[:KNN_QUERIES]
            X_test, y_test = X_test[some], y_test[some]
        method = methods(vt.Gaussian(gamma=1.0), task["updates"])[task["method"]]
        if task["data"] == "Checker+" and task["method"] in ("SGD hinge", "SGD logistic"):
            method.set_params(penalties=(1e-4,))  # a linear model cannot learn a checkerboard
        if task["data"] == "Checker+" and task["method"] == "KNN":
            method.set_params(ks=(32,))
        begin = time.perf_counter()
        model = clone(method).fit(X, y)
        fitted = time.perf_counter()
        reached = auc(y_test, predictions(model, X_test))
        done = time.perf_counter()
        return {
            "auc": reached, "lowest": reached, "highest": reached, "fit": fitted - begin, "predict": done - fitted,
            "edges": len(y),
        }  # fmt: skip

    def figure(self, results: pd.DataFrame) -> Any:
        """Draw the AUC and the runtime of each method on each data set, with the paper's numbers."""
        figure, axes = plots.pyplot.subplots(2, 1, figsize=(9, 6.4))
        width = 0.16
        for place, method in enumerate(paper.METHODS):
            some, first = results[results["method"] == method], True
            for column, data in enumerate(paper.DATA):
                here = some[some["data"] == data]
                if here.empty:
                    continue
                x = column + (place - 2) * width
                label = method if first else None
                axes[0].bar(x, here["auc"].mean() - 0.45, width * 0.9, 0.45, color=plots.COLOURS[method], label=label)
                if len(here) > 1:
                    axes[0].vlines(x, here["auc"].min(), here["auc"].max(), color="black", linewidth=1)
                axes[1].bar(x, (here["fit"] + here["predict"]).min(), width * 0.9, color=plots.COLOURS[method])
                beside = {"label": "the paper"} if first and place == 0 else {}
                first = False
                axes[0].plot(x, paper.of(paper.AUC, method, data), **plots.PAPER, **beside)
                axes[1].plot(x, paper.of(paper.SECONDS, method, data), **plots.PAPER)
        axes[0].set(ylabel="AUC, both vertices new", ylim=(0.45, 0.85))
        axes[1].set(ylabel="seconds", yscale="log")
        for ax in axes:
            ax.set_xticks(range(len(paper.DATA)), paper.DATA)
            ax.grid(axis="x", visible=False)
        axes[0].legend(ncols=6, loc="upper center", bbox_to_anchor=(0.5, 1.18), columnspacing=1.2)
        return figure

    def section(self, results: pd.DataFrame) -> str:
        """Write both tables, with the paper's numbers in brackets."""

        def cell(method: str, data: str, what: str) -> str:
            here = results[(results["method"] == method) & (results["data"] == data)]
            if here.empty:
                return ""
            if what == "auc":
                theirs = f"{paper.of(paper.AUC, method, data):.2f}"
                if len(here) == 1:
                    return f"{here['auc'].iloc[0]:.3f} ({theirs})"
                return f"{here['auc'].mean():.3f}, {here['auc'].min():.2f} to {here['auc'].max():.2f} ({theirs})"
            total = (here["fit"] + here["predict"]).min()
            return f"{plots.seconds(total)} ({paper.of(paper.SECONDS, method, data):,.0f} s)"

        parts = []
        for what in ("auc", "seconds"):
            rows = [[method, *(cell(method, data, what) for data in paper.DATA)] for method in paper.METHODS]
            parts.append(plots.markdown(["", *paper.DATA], rows))
        counts = results[results["data"] != "Checker+"].groupby(["method", "data"])["seed"].nunique()
        seeds = (
            f"{counts.max()} seeds of the Kronecker methods, at least {counts.min()} of the others (minutes each on Ki"
        )
        return f"""\
Ninefold cross-validation over 3 × 3 parts of the vertices, both vertices of a test edge new; λ = 1e-4; KronSVM with 10
outer and 10 inner iterations, KronRidge with 100 iterations of MINRES; linear kernels on the rows of the similarity
matrices, Gaussian kernels with γ = 1 on Checker. The test graph of Checker has 6 250 000 edges. AUC: mean over seeds,
lowest to highest seed, and the paper's AUC in brackets. {seeds}
and E), one on Checker+.

{parts[0]}

Time of the fastest seed for training and prediction on all nine folds (Checker: one training and one prediction); in
brackets the paper's time, on its authors' machine:

{parts[1]}

Differences from the paper, and their reasons:

- The spread over seeds, that is, over divisions of the vertices, is as large as most differences between methods. The
  paper gives one number for each method, from one unpublished division. Its sample of a quarter of GPCR, IC and E is
  not published either: `edges_quarter` has the same counts, but not the same edges. GPCR has 165 positive edges, 18 in
  a test fold.
- The results of the Kronecker methods are within this spread of the paper's, or within 0.01, except on Ki: there both
  methods are lower by 0.03. The solver is not the reason: with the paper's own (QMR with a fixed step,
  `solver="newton-qmr", step=1.0`), KronSVM reaches 0.742, 0.743 and 0.746 on Ki for the first three seeds, compared
  with 0.741, 0.737 and 0.745. Pooling the folds instead of averaging them is not the reason either (0.737, 0.736,
  0.748). With λ = 1e-4 and kernel values up to 10¹³, only the number of iterations regularizes on Ki. The AUC varies by
  0.05 between iterations (see below), so it depends on the iteration at which training stops.
- The SGD baselines standardize the features and select their penalty on vertex-disjoint inner folds, and KNN selects
  its k on them; the paper's inner folds were disjoint only in edges. On GPCR, and for KNN on Ki, the baselines are
  stronger here than in the paper. SGD is weaker by 0.03 on Ki, IC and E; the only explanation that we have are the
  divisions (one or two for these methods).
- On Checker+ no predictor can exceed an AUC of 0.80, because a fifth of the labels is flipped; 0.795 corresponds to the
  paper's 0.80.
- KNN predicts 250 000 of the 6 250 000 test edges of Checker; on Checker+, SGD has one penalty and KNN has k = 32.
"""


EXPERIMENT = Tables()
