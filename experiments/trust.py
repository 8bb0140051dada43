"""The reliability of predictions: coverage of intervals, and errors by novelty."""

import time
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import spearmanr

import vectrick as vt
from experiments import plots
from experiments.datasets import folder
from experiments.experiment import Experiment, Row, Scale, Task

Array = NDArray[Any]

SETTINGS = {"both": "both new", "start": "start new", "end": "end new", "neither": "neither new"}
DATA = ("KIBA", "GDSC", "Checker")
COVERAGE = 0.9


@lru_cache(1)
def graph(data: str, quick: bool) -> tuple[vt.Edges, Array]:
    """Return edges and real-valued labels."""
    if data == "Checker":
        return vt.datasets.make_checkerboard(250 if quick else 1000, random_state=0)
    name, label, kinds = {
        "KIBA": ("kiba", "kiba_score", ("features", "kernel")),
        "GDSC": ("gdsc", "ln_ic50", ("kernel", "kernel")),
    }[data]
    tables = [
        pd.read_csv(folder(name) / f"{side}_{kind}.csv.gz", index_col="id")
        for side, kind in zip(("start", "end"), kinds, strict=True)
    ]
    edges = pd.read_csv(folder(name) / "edges.csv.gz")
    start, end = (table.index.get_indexer(edges[side]) for table, side in zip(tables, ("start", "end"), strict=True))
    X = vt.Edges(start, end, *(table.to_numpy(np.float64) for table in tables))
    kept = (start % 6 == 0) & (end % 2 == 0) if quick and data == "KIBA" else np.ones(len(X), bool)
    return X[kept], edges[label].to_numpy(np.float64)[kept]


def model_of(data: str) -> Any:
    """Return a ridge regression for a data set, without further tuning."""
    if data == "Checker":
        return vt.KronRidge(vt.Gaussian(gamma=1.0), vt.Gaussian(gamma=1.0), alpha=1.0)
    start = vt.Tanimoto() if data == "KIBA" else vt.Precomputed()
    return vt.KronRidge(start, vt.Precomputed(), alpha=0.3 if data == "KIBA" else 1.0, fit_intercept=True)


class Trust(Experiment):
    """Intervals on outer folds of five divisions, in four settings; errors by deciles of novelty."""

    name = "trust"
    title = "Coverage of intervals, and errors by novelty"

    def tasks(self, scale: Scale) -> list[Task]:
        """Return a task for each data set, setting and division."""
        return [
            {"data": data, "setting": setting, "seed": seed, "quick": scale.quick}
            for data in DATA
            for setting in SETTINGS
            for seed in range(scale.seeds)
        ]

    def run(self, task: Task) -> list[Row]:
        """Return the coverage and the width of intervals, and the errors by deciles of novelty, on one outer fold."""
        X, y = graph(task["data"], task["quick"])
        seed, new = task["seed"], task["setting"]
        fold = vt.VertexKFold(3, 3, new, random_state=seed).folds(X, y)[0]
        train, test, labels = X[fold.train], X[fold.test], y[fold.test]
        row: Row = {"edges": len(labels)}
        for kind, scaled in (("scaled", True), ("equal", False)):
            begin = time.perf_counter()
            conformal = vt.ConformalKron(
                model_of(task["data"]), new=new, coverage=COVERAGE, scaled=scaled, random_state=seed
            ).fit(train, y[fold.train])
            lower, upper = conformal.predict_interval(test)
            row |= {
                f"{kind} coverage": float(((lower <= labels) & (labels <= upper)).mean()),
                f"{kind} width": float((upper - lower).mean()),
                f"{kind} seconds": time.perf_counter() - begin,
            }
        errors = np.abs(conformal.predict(test) - labels)
        tenths = np.array_split(np.argsort(conformal.novelty(test), kind="stable"), 10)
        row |= {f"error {number}": float(errors[rows].mean()) for number, rows in enumerate(tenths, 1)}
        return [row]

    def figure(self, results: pd.DataFrame) -> Any:
        """Draw the coverage of each division, and the errors by novelty."""
        figure, axes = plots.pyplot.subplots(1, 2, figsize=(9, 3.2))
        places = {key: place for place, key in enumerate((data, new) for data in DATA for new in SETTINGS)}
        x = [places[key] for key in zip(results["data"], results["setting"], strict=True)]
        axes[0].plot(x, results["scaled coverage"], "o", markersize=4, color=plots.COLOURS["tuned vectrick"], alpha=0.6)
        axes[0].axhline(COVERAGE, color="0.5", linewidth=0.8, linestyle=":")
        axes[0].set_xticks(range(len(places)), [f"{data}, {SETTINGS[new]}" for data, new in places], rotation=60,
                           ha="right", fontsize=7)  # fmt: skip
        axes[0].set(ylabel="coverage", ylim=(0.8, 1.0))
        for data in DATA:
            some = results[(results["data"] == data) & (results["setting"] == "both")]
            if len(some):
                means = some[[f"error {number}" for number in range(1, 11)]].mean().to_numpy()
                axes[1].plot(range(1, 11), means / means[0], "o-", markersize=4, label=data)
        axes[1].set(xlabel="tenth of the edges by novelty", ylabel="mean absolute error,\nrelative to the first tenth")
        axes[1].legend()
        figure.tight_layout()
        return figure

    def section(self, results: pd.DataFrame) -> str:
        """Write the tables of coverages and widths, and of errors by novelty."""
        rows = []
        for data in DATA:
            for new, words in SETTINGS.items():
                some = results[(results["data"] == data) & (results["setting"] == new)]
                if some.empty:
                    continue
                cells = [f"{100 * some[f'{kind} coverage'].mean():.1f} %" for kind in ("scaled", "equal")]
                spread = f"{100 * some['scaled coverage'].min():.1f} to {100 * some['scaled coverage'].max():.1f}"
                widths = [f"{some[f'{kind} width'].mean():.3f}" for kind in ("scaled", "equal")]
                rows.append([data, words, cells[0], spread, widths[0], cells[1], widths[1]])
        header = ["", "setting", "coverage", "by division", "width", "coverage, equal widths", "width"]
        return f"""\
Intervals of 90 % by `vt.ConformalKron` for the labels of the test edges of one outer fold of 3 × 3, calibrated on its
training edges; mean over five divisions. "Equal widths" means intervals from residuals that are not divided by standard
deviations (`scaled=False`).

{plots.markdown(header, rows)}

{_novelty(results)}"""


def _novelty(results: pd.DataFrame) -> str:
    lines = []
    for data in DATA:
        some = results[(results["data"] == data) & (results["setting"] == "both")]
        if some.empty:
            continue
        means = some[[f"error {number}" for number in range(1, 11)]].mean().to_numpy()
        rank = spearmanr(np.arange(10), means).statistic
        lines.append([data, *(f"{mean:.3f}" for mean in means), f"{rank:.2f}"])
    header = ["", *(str(number) for number in range(1, 11)), "Spearman"]
    return f"""\
Mean absolute error of test edges with both vertices new, by deciles of their novelty (`model.novelty`), from the least
to the most novel; mean over five divisions.

{plots.markdown(header, lines)}
"""


EXPERIMENT = Trust()
