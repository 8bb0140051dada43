"""Shared parts of the LIBSVM comparisons: training of both methods, and figures of time and AUC against edges."""

import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

import vectrick as vt
from experiments import plots
from experiments.experiment import Row
from vectrick.metrics import auc

Reference = tuple[str, str, float, float]  # the timed quantity, the method, edges and seconds in the paper
TIMED = 5  # repetitions of a short prediction


def kron_svm(gamma: float, alpha: float, train: Any, test: Any) -> Row:
    """Train KronSVM with 10 × 10 iterations, and predict."""
    kernel = vt.Gaussian(gamma=gamma)
    model = vt.KronSVM(kernel, kernel, alpha=alpha, max_iter=10, inner_iter=10, fit_intercept=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        _load_compiled_code(kernel)
        fit, _ = _timed(lambda: model.fit(*train))
    predict, score = _timed(lambda: model.decision_function(test[0]), TIMED)
    return {"fit": fit, "predict": predict, "auc": auc(test[1], score)}


def libsvm(gamma: float, alpha: float, train: Any, test: Any) -> Row:
    """Train LIBSVM on concatenated features; predict with LIBSVM, and with the same model through the vec trick."""
    X, y = train
    svc = SVC(C=1.0 / alpha, gamma=gamma, cache_size=2000)
    rows, test_rows = (
        np.hstack([edges.start_table.features[edges.start], edges.end_table.features[edges.end]])
        for edges in (X, test[0])
    )
    fit, _ = _timed(lambda: svc.fit(rows, y))
    predict, score = _timed(lambda: svc.decision_function(test_rows))
    fast = vt.from_svc(svc, X.start_table.n_features)
    vec_trick, again = _timed(lambda: fast.decision_function(test[0]), TIMED)
    return {
        "fit": fit, "predict": predict, "auc": auc(test[1], score), "vec_trick": vec_trick,
        "difference": float(np.abs(score - again).max()), "support": len(svc.support_),
    }  # fmt: skip


def _load_compiled_code(kernel: vt.Gaussian) -> None:
    """Train and predict on small graphs, so that compiled code is loaded before the measurement."""
    for m in (60, 900):
        X, y = vt.datasets.make_checkerboard(m, density=0.02, random_state=0)
        vt.KronSVM(kernel, kernel, max_iter=1, inner_iter=2).fit(X, y).decision_function(X)


def _timed(work: Any, times: int = 1) -> tuple[float, Any]:
    found = []
    for _ in range(times):
        time.sleep(0.2)  # BLAS threads keep spinning for a moment after a product
        begin = time.perf_counter()
        result = work()
        found.append(time.perf_counter() - begin)
    return float(np.median(found)), result


def draw(results: pd.DataFrame, references: list[Reference], n_test: str) -> Any:
    """Draw training time, prediction time and AUC against edges."""
    figure, axes = plots.pyplot.subplots(1, 3, figsize=(12, 3.6))
    kron = results[results["method"] == "KronSVM"].groupby("edges").mean(numeric_only=True)
    for column, ax in zip(("fit", "predict", "auc"), axes, strict=True):
        ax.plot(kron.index, kron[column], "o-", color=plots.COLOURS["KronSVM"], label="KronSVM", markersize=4)
    svm = results[results["method"] == "LIBSVM"]
    shades = plots.pyplot.cm.Purples(np.linspace(0.45, 0.95, svm["power"].nunique()))
    for (power, some), shade in zip(svm.groupby("power"), shades, strict=True):
        means = some.groupby("edges").mean(numeric_only=True)
        label = f"LIBSVM, λ = 2$^{{{int(power)}}}$"
        for column, ax in zip(("fit", "predict", "auc"), axes, strict=True):
            ax.plot(means.index, means[column], "s-", color=shade, label=label, markersize=4)
    fast = svm.groupby("edges").mean(numeric_only=True)["vec_trick"]
    axes[1].plot(
        fast.index, fast, "^--", color=plots.COLOURS["vec trick"], label="LIBSVM's model, vec trick", markersize=4
    )
    for ax, what in ((axes[0], "fit"), (axes[1], "predict")):
        for number, (method, edges, seconds) in enumerate(one[1:] for one in references if one[0] == what):
            beside = {"label": "the paper"} if number == 0 else {}
            ax.plot(edges, seconds, **plots.PAPER, **beside)
            ax.annotate(method, (edges, seconds), (-4, 4), textcoords="offset points", ha="right")
    axes[0].set(ylabel="seconds of training", yscale="log")
    axes[1].set(ylabel=f"seconds of predicting {n_test}", yscale="log")
    axes[2].set(ylabel="test AUC")
    for ax in axes:
        ax.set(xlabel="training edges", xscale="log")
        ax.legend(fontsize=7)
    figure.tight_layout()
    return figure


def summary(results: pd.DataFrame) -> str:
    """Return a table of sizes, times and AUC of both methods."""
    rows = []
    for edges, some in results.groupby("edges"):
        kron, svm = some[some["method"] == "KronSVM"], some[some["method"] == "LIBSVM"]
        row = [f"{int(edges):,}", plots.seconds(kron["fit"].mean()), f"{kron['auc'].mean():.3f}"]
        if svm.empty:
            row += ["", "", "", plots.seconds(kron["predict"].mean()), "", ""]
        else:
            low, high = svm.groupby("power")["fit"].mean().min(), svm.groupby("power")["fit"].mean().max()
            times = plots.seconds(low) if np.isclose(low, high) else f"{plots.seconds(low)} to {plots.seconds(high)}"
            aucs = svm.groupby("power")["auc"].mean()
            row += [
                times,
                f"{aucs.min():.3f} to {aucs.max():.3f}" if len(aucs) > 1 else f"{aucs.iloc[0]:.3f}",
                f"{low / kron['fit'].mean():,.0f}",
                plots.seconds(kron["predict"].mean()),
                plots.seconds(svm["predict"].mean()),
                plots.seconds(svm["vec_trick"].mean()),
            ]
        rows.append(row)
    header = [
        "edges", "KronSVM trains", "its AUC", "LIBSVM trains", "its AUC", "times as long, at least", "KronSVM predicts",
        "LIBSVM predicts", "LIBSVM's model by the vec trick",
    ]  # fmt: skip
    return plots.markdown(header, rows)
