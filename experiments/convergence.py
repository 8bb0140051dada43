"""Regularized risk and test AUC per iteration for ridge regression, and SVM with 10 and 100 inner iterations."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

import vectrick as vt
from experiments import plots
from experiments.datasets import REAL, checker, real
from experiments.experiment import Experiment, Row, Scale, Task

DATA = (*REAL, "Checker")
METHODS = {"ridge": "ridge", "SVM 10": "SVM, 10 inner iterations", "SVM 100": "SVM, 100 inner iterations"}
ALPHAS = tuple(2.0**power for power in (-10, -5, 0, 5, 10))
ITERATIONS = {"ridge": 100, "SVM 10": 100, "SVM 100": 30}
NEVER = 10**9


class Convergence(Experiment):
    """One split of the vertices into training and test part; linear kernels, and Gaussian kernels on Checker."""

    name = "convergence"
    title = "Risk and AUC per iteration"

    def tasks(self, scale: Scale) -> list[Task]:
        """Return a task for each data set and method."""
        return [{"data": data, "method": method, "quick": scale.quick} for method in METHODS for data in DATA]

    def run(self, task: Task) -> list[Row]:
        """Return the risk and the AUC after each iteration for every λ."""
        quick = task["quick"]
        if task["data"] == "Checker":
            m = 250 if quick else 1000
            train, test = checker(m, 100), checker(m, 200)
            kernel: Any = vt.Gaussian(gamma=1.0)
        else:
            X, y = real(task["data"], quick)
            fold = vt.VertexKFold(3, 3, stratify=quick, random_state=0).folds(X, y)[0]
            train, test = (X[fold.train], y[fold.train]), (X[fold.test], y[fold.test])
            kernel = "linear"
        n_iter = min(ITERATIONS[task["method"]], 10) if quick else ITERATIONS[task["method"]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the experiment studies the iterates, not convergence
            if task["method"] == "ridge":
                model = vt.KronRidge(kernel, kernel, solver="minres", max_iter=n_iter)
                path = vt.alpha_path(model, *train, ALPHAS, test, new="neither", iterations="all")
                return list(path.frame().rename(columns={"score": "auc"}).to_dict("records"))
            rows: list[Row] = []
            for alpha in ALPHAS:
                inner = 10 if task["method"] == "SVM 10" else 100
                svm = vt.KronSVM(
                    kernel, kernel, alpha=alpha, max_iter=n_iter, inner_iter=inner, solver="newton", fit_intercept=False
                )
                history = svm.set_params(n_iter_no_change=NEVER).fit(*train, validation=test).history_
                columns = zip(history["iteration"], history["score"], history["risk"], strict=True)
                rows += [{"alpha": alpha, "iteration": k, "auc": score, "risk": risk} for k, score, risk in columns]
            return rows

    def figure(self, results: pd.DataFrame) -> Any:
        """Draw a row for each method and measure, and a column for each data set."""
        figure, axes = plots.pyplot.subplots(6, len(DATA), figsize=(13, 13.5), sharex="row")
        colours = plots.pyplot.cm.viridis(np.linspace(0, 0.9, len(ALPHAS)))
        for i, (method, words) in enumerate(METHODS.items()):
            for j, data in enumerate(DATA):
                some = results[(results["method"] == method) & (results["data"] == data)]
                for alpha, colour in zip(ALPHAS, colours, strict=True):
                    line = some[np.isclose(some["alpha"], alpha)].sort_values("iteration")
                    label = f"λ = 2$^{{{int(np.log2(alpha))}}}$"
                    axes[2 * i, j].plot(line["iteration"], line["risk"], color=colour, label=label)
                    axes[2 * i + 1, j].plot(line["iteration"], line["auc"], color=colour, label=label)
                axes[2 * i, j].set_yscale("log")
                if i == 0:
                    axes[0, j].set_title(data)
                axes[2 * i + 1, j].set_xlabel("iteration" if method == "ridge" else "outer iteration")
            axes[2 * i, 0].set_ylabel(f"{words}\nregularized risk")
            axes[2 * i + 1, 0].set_ylabel(f"{words}\ntest AUC")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, ncols=5, loc="upper center")
        figure.tight_layout(rect=(0, 0, 1, 0.975))
        return figure

    def section(self, results: pd.DataFrame) -> str:
        """Write the best AUC with its iteration, and the best AUC at the last iteration."""
        header = ["", *DATA]
        rows = []
        for method, words in METHODS.items():
            cells = []
            for data in DATA:
                some = results[(results["method"] == method) & (results["data"] == data)]
                best = some.loc[some["auc"].idxmax()] if len(some) else None
                if best is None:
                    cells.append("")
                    continue
                last = some.sort_values("iteration").groupby("alpha")["auc"].last().max()
                power = int(np.log2(best["alpha"]))
                cells.append(f"{best['auc']:.3f} at {int(best['iteration'])}, λ = 2^{power} ({last:.3f} at the end)")
            rows.append([words, *cells])
        return f"""\
One split of the vertices (for Checker, a separate test graph), λ = 2^-10 … 2^10; all λ of ridge regression come from
one Krylov basis (`vt.alpha_path`). The table shows the best test AUC with its iteration and λ, and the best test AUC at
the last iteration:

{plots.markdown(header, rows)}

As in the paper, the AUC is best within tens of iterations while the risk keeps falling, and 100 inner iterations lower
the risk faster but do not raise the AUC faster. A line ends when the solver has converged. On Ki the lines of all λ
coincide, because the kernel values of its percentages reach 10¹³, so that 2^10 is negligible. With 100 inner
iterations, 30 outer iterations are shown; the paper shows 100. The paper shows these curves only as figures, without
numbers to compare with.
"""


EXPERIMENT = Convergence()
