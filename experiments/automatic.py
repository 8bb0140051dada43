"""`AutoKron` and baselines in all settings on real data; its own estimate of its score, and its probabilities."""

import time
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import vectrick as vt
from experiments import plots
from experiments.datasets import folder
from experiments.experiment import Experiment, Row, Scale, Task
from vectrick._typing import New
from vectrick.data.files.dataset import Dataset, ReadOptions
from vectrick.data.files.folder import read_dataset
from vectrick.data.settings import settings_of
from vectrick.metrics.scores import SCORES
from vectrick.model_selection.baselines.sampling import OnSomeEdges
from vectrick.model_selection.scorers import predictions

Array = NDArray[Any]

DATA = {  # name: folder, column of the labels
    "restaurants": ("restaurants", "label"), "gpcr": ("gpcr", "label"), "ic": ("ic", "label"),
    "gdsc": ("gdsc", "ln_ic50"), "e": ("e", "label"), "ki": ("ki", "label"), "ppi_yeast": ("ppi_yeast", "label"),
    "kiba": ("kiba", "label"), "kiba score": ("kiba", "kiba_score"),
}  # fmt: skip
OURS = "AutoKron"
CALIBRATED = ("ki", "e", "kiba")
NUMBERS = {"boosted trees": 60_000_000, "vertex mean": 10**12}  # feature values to train on
OTHER_NUMBERS = 20_000_000
N_BINS = 10


@lru_cache(1)
def dataset(name: str) -> Dataset:
    """Return a data set."""
    where, label = DATA[name]
    return read_dataset(folder(where), ReadOptions(label_column=label))


def settings(name: str) -> list[str]:
    """Return the settings: three with one vertex set, otherwise four."""
    return ["both", "start", "neither"] if name == "ppi_yeast" else ["both", "start", "end", "neither"]


def method(name: str, new: New, data: Dataset) -> Any:
    """Return a method by its name; baselines train on a sample of edges if all edges would take too long."""
    if name == OURS:
        return vt.AutoKron(new, random_state=0)
    n_features = data.X.start_table.n_features + data.X.end_table.n_features
    most = NUMBERS.get(name, OTHER_NUMBERS) // n_features
    baseline = vt.baselines()[name]
    return baseline if most >= len(data.X) else OnSomeEdges(baseline, most)


class Automatic(Experiment):
    """Cross-validation of the default and of all baselines on the same folds."""

    name = "automatic"
    title = "AutoKron compared with baselines"

    def tasks(self, scale: Scale) -> list[Task]:
        """Return a task for each fold of each data set, setting, split and method."""
        names = ["restaurants", "gpcr"] if scale.quick else list(DATA)
        return [
            {"data": data, "new": new, "seed": seed, "fold": fold, "method": each}
            for seed in range(1 if scale.quick else scale.seeds)
            for each in (OURS, *vt.baselines())
            for data in names
            for new in (["both"] if scale.quick else settings(data))
            for fold in range(9 if new == "both" and data != "ppi_yeast" else 3)
        ]

    def run(self, task: Task) -> list[Row]:
        """Return a row with the score of a method on a fold; for AutoKron, also its own estimate of the score."""
        data = dataset(task["data"])
        X, y, new = data.X, data.y, task["new"]
        parts = 1 if new == "neither" else None
        cv = vt.VertexKFold(3, parts, new, stratify=data.is_binary, random_state=task["seed"])
        fold = cv.folds(X, y)[task["fold"]]
        model, begin = method(task["method"], new, data), time.perf_counter()
        model.fit(X[fold.train], y[fold.train])
        seconds = time.perf_counter() - begin
        predicted, labels = predictions(model, X[fold.test]), np.asarray(y[fold.test], np.float64)
        scoring = "auc" if data.is_binary else "concordance"
        row: Row = {"score": SCORES[scoring](labels, predicted, None), "seconds": seconds, "n_train": len(fold.train)}
        if task["method"] != OURS:
            return [row]
        row |= {"own": model.score_, "own_spread": model.spread_, "own_scoring": model.scoring_}
        if data.is_binary:
            positive, share = labels == labels.max(), float((y[fold.train] == max(y)).mean())
            p = np.clip(model.predict_proba(X[fold.test])[:, 1], 1e-12, 1 - 1e-12)
            row |= {"bins": bin_error(p, positive), "log_loss": log_loss(p, positive),
                    "base_log_loss": log_loss(np.full(len(p), share), positive)}  # fmt: skip
        else:
            row["outer_r2"] = SCORES["r2"](labels, predicted, None)
        return [row]

    def figure(self, results: pd.DataFrame) -> Any:
        """Draw the scores of all methods, with a panel for each setting."""
        table = means(results)
        names = [new for new in ("both", "start", "end", "neither") if new in table["new"].unique()]
        figure, axes = plots.pyplot.subplots(len(names), 1, figsize=(9, 2.4 * len(names)), sharex=True, squeeze=False)
        methods = [OURS, *vt.baselines()]
        data = [name for name in DATA if name in table["data"].unique()]
        for ax, new in zip(axes[:, 0], names, strict=True):
            some = table[table["new"] == new]
            for place, each in enumerate(methods):
                own = some[some["method"] == each].set_index("data")["score"].reindex(data)
                x = np.arange(len(data)) + (place - (len(methods) - 1) / 2) * 0.12
                shown = {"color": plots.COLOURS["tuned vectrick"] if each == OURS else f"{0.35 + 0.08 * place}"}
                ax.bar(x, own - 0.5, 0.11, 0.5, label=each if new == names[0] else None, **shown)
            ax.set(ylabel="AUC or concordance", title=settings_of(False)[new].label, ylim=(0.5, 1.0))
            ax.grid(axis="x", visible=False)
            ax.set_xticks(range(len(data)), data)
        axes[0, 0].legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, 1.6))
        return figure

    def section(self, results: pd.DataFrame) -> str:
        """Write the tables: scores and best baselines, AutoKron's estimate of its score, and probabilities."""
        table = means(results)
        rows, gains, missed, complete = [], [], [], 0
        for (data, new), some in table.groupby(["data", "new"], sort=False):
            scores = some.set_index("method")["score"]
            if OURS not in scores or len(scores) < 2:
                continue
            spread = results[(results["data"] == data) & (results["new"] == new) & (results["method"] == OURS)]
            by_seed = spread.groupby("seed")["score"].mean()
            others = scores.drop(OURS).sort_values(ascending=False)
            gain = scores[OURS] - others.iloc[0]
            gains.append(gain)
            if gain < -0.005:
                missed.append(f"{data} {new} ({gain:+.3f})")
            one_set = settings_of(data == "ppi_yeast")
            range_ = f"{by_seed.min():.3f} to {by_seed.max():.3f} ({len(by_seed)})"
            rest = ", ".join(f"{name} {score:.3f}" for name, score in others.iloc[1:3].items())
            complete += len(others) == len(vt.baselines())
            own, other = f"{scores[OURS]:.3f}", f"{others.iloc[0]:.3f}"
            own, other = (f"**{own}**", other) if gain >= 0 else (own, f"**{other}**")
            rows.append([data, one_set[new].label, own, range_, f"{other} ({others.index[0]})", f"{gain:+.3f}", rest,
                         str(len(others))])  # fmt: skip
        header = [
            "",
            "setting",
            "AutoKron",
            "splits, lowest to highest",
            "best baseline",
            "difference",
            "next best",
            "run",
        ]
        ours = results[results["method"] == OURS]
        same = ours[ours["own_scoring"].isin(["auc"])]
        per_cell = same.groupby(["data", "new"])[["own", "score"]].mean()
        error = (per_cell["own"] - per_cell["score"]).abs().mean()
        within = (same["own"] - same["score"]).abs().le(same["own_spread"]).mean()
        ahead, half = sum(gain > 0 for gain in gains), sum(gain >= 0.02 for gain in gains)
        calibrated = [
            [
                data,
                f"{some['bins'].mean():.3f}",
                f"{some['log_loss'].mean():.3f}",
                f"{some['base_log_loss'].mean():.3f}",
            ]
            for data in CALIBRATED
            if len(some := ours[(ours["data"] == data) & (ours["new"] == "both")])
        ]
        every = f"all baselines were run in {complete} of them" if complete else "no cell has all baselines"
        return f"""\
`vt.AutoKron(new)` with default settings, trained on the training part of each fold, and `vt.baselines()` on the same
folds: 3 × 3 parts of the vertices if both are new, otherwise 3 parts, stratified by label. The score
is AUC for classes, and concordance for the values of gdsc and the score of kiba; mean over folds and splits. Baselines
train on at most
{NUMBERS["boosted trees"] // 10**6} million feature values (trees) or {OTHER_NUMBERS // 10**6} million (the others),
so that they use all edges except on E, Ki and kiba; vertex means and AutoKron train on all edges. If a run takes long,
there are fewer splits and fewer baselines: the last column is the number of baselines that were run, of
{len(vt.baselines())}.

{plots.markdown(header, rows)}

AutoKron scores above every baseline that was run in {ahead} of {len(gains)} cells, by 0.02 or more in {half};
{every}. Below the best baseline by more than 0.005: {", ".join(missed) or "nowhere"}.

AutoKron's own estimate, the score on its inner folds, differs from the score on the outer folds by {error:.3f} on
average over the cells with classes. In {100 * within:.0f} % of the single fits, the difference is at most the spread
that AutoKron reports.

Probabilities for edges between new vertices: mean absolute error over ten bins of equal count, the logarithmic loss,
and the logarithmic loss of the base rate.

{plots.markdown(["", "error over bins", "log loss", "log loss of the base rate"], calibrated)}
"""


def means(results: pd.DataFrame) -> pd.DataFrame:
    """Return the mean score of each data set, setting and method over splits."""
    by_seed = results.groupby(["data", "new", "method", "seed"], sort=False)["score"].mean().reset_index()
    return by_seed.groupby(["data", "new", "method"], sort=False)["score"].mean().reset_index()


def bin_error(p: Array, positive: Array) -> float:
    """Return the mean difference between mean probability and share of positive edges, over bins of equal count."""
    parts = np.array_split(np.argsort(p, kind="stable"), N_BINS)
    return float(np.mean([abs(p[part].mean() - positive[part].mean()) for part in parts]))


def log_loss(p: Array, positive: Array) -> float:
    """Return the mean logarithmic loss of probabilities."""
    return float(-np.mean(np.log(np.where(positive, p, 1 - p))))


EXPERIMENT = Automatic()
