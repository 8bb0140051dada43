"""Active learning: the number of labels that a model needs with `vt.suggest`, compared with random selection."""

import time
import warnings
from functools import lru_cache
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

import vectrick as vt
from experiments import plots
from experiments.experiment import Experiment, Row, Scale, Task
from experiments.trust import graph
from vectrick._typing import New, SuggestBy

Array = NDArray[Any]

ROUND = 96
SHARE = 0.95  # the rounds end at this share of the AUC with all labels
MOST = 120  # maximum number of rounds
CHOICES = {
    "KIBA, both new": ("random", "variance, aimed"),
    "Checker, both new": ("random", "variance, aimed"),
    "KIBA, a part": ("random", "variance", "diverse"),
    "Checker, a part": ("random", "variance", "diverse"),
}
COLOURS = {"random": "0.5", "variance, aimed": "#0b6e4f", "variance": "#2a9d8f", "diverse": "#e9c46a"}


@lru_cache(1)
def problem(data: str, seed: int, quick: bool) -> tuple[vt.Edges, Array, vt.Edges, Array, Any]:
    """Return a pool with its labels, test edges with their classes, and a model.

    It is a fold with both vertices new, or one in which the pool contains all vertices. KIBA has all edges, or only the
    edges of a hundred drugs; Checker has the edges on a board of 12 × 12 cells, with a tenth of the labels flipped.
    """
    new: New
    if data.startswith("Checker"):
        X, y = vt.datasets.make_checkerboard(1000, density=1.0, noise=0.1, random_state=seed)
        sides = [table.features[:, 0] < 12 for table in (X.start_table, X.end_table)]
        kept = sides[0][X.start] & sides[1][X.end]
        X, y, new = X[kept], y[kept], "neither" if data == "Checker, a part" else "both"
        model, threshold = vt.KronRidge(vt.Gaussian(gamma=2.0), vt.Gaussian(gamma=2.0), alpha=0.5), 0.0
    else:
        X, y = graph("KIBA", quick)
        threshold, new = 12.1, "both"  # the literature calls a pair above this threshold an interaction
        model = vt.KronRidge(vt.Tanimoto(), vt.Precomputed(), alpha=0.3, fit_intercept=True)
        if data == "KIBA, a part":
            some = np.random.default_rng(seed).permutation(np.unique(X.start))[:100]
            kept = np.isin(X.start, some)
            X, y, new = X[kept], y[kept], "neither"
            model.set_params(alpha=0.1)
    parts = (5, 1) if new == "neither" else (3, 3)
    fold = vt.VertexKFold(*parts, new, random_state=seed).folds(X, y)[0]
    return X[fold.train], y[fold.train], X[fold.test], y[fold.test] > threshold, model


class Suggest(Experiment):
    """Rounds of 96 labels, until a model reaches 95 % of the AUC with all labels."""

    name = "suggest"
    title = "Active learning: edges to label next"

    def tasks(self, scale: Scale) -> list[Task]:
        """Return a task for each data set, selection method and seed."""
        return [
            {"data": data, "choice": choice, "seed": seed, "quick": scale.quick}
            for data, choices in CHOICES.items()
            for choice in choices
            for seed in range(scale.seeds)
        ]

    def run(self, task: Task) -> list[Row]:
        """Return a row for each round, with the number of labels and the AUC of the model."""
        pool, y, test, truth, model = problem(task["data"], task["seed"], task["quick"])
        rng, begin = np.random.default_rng(task["seed"]), time.perf_counter()
        known, rows = rng.permutation(len(pool))[:ROUND], []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about vertices with equal features, repeated in each round
            full = float(roc_auc_score(truth, model.fit(pool, y).predict(test)))
            for number in range(3 if task["quick"] else MOST):
                model.fit(pool[known], y[known])
                score = float(roc_auc_score(truth, model.predict(test)))
                seconds = time.perf_counter() - begin
                rows.append({"labels": len(known), "score": score, "goal": SHARE * full, "seconds": seconds})
                rest = np.setdiff1d(np.arange(len(pool)), known)
                if score >= SHARE * full or len(rest) < ROUND:
                    break
                known = np.concatenate([known, rest[_chosen(task["choice"], model, pool[rest], test, rng, number)]])
        return rows

    def figure(self, results: pd.DataFrame) -> Any:
        """Draw the scores of all rounds."""
        figure, axes = plots.pyplot.subplots(1, len(CHOICES), figsize=(11, 3.2))
        for ax, (data, choices) in zip(axes, CHOICES.items(), strict=True):
            for choice in choices:
                some = results[(results["data"] == data) & (results["choice"] == choice)]
                for number, (_, one) in enumerate(some.groupby("seed")):
                    ax.plot(one["labels"], one["score"] / one["goal"] * SHARE, color=COLOURS[choice], linewidth=1,
                            label=choice if number == 0 else None)  # fmt: skip
            ax.axhline(SHARE, color="0.5", linewidth=0.8, linestyle=":")
            ax.set(title=data, xlabel="labels", ylabel="AUC over that with all labels")
            if ax.get_lines()[:-1]:
                ax.legend()
        figure.tight_layout()
        return figure

    def section(self, results: pd.DataFrame) -> str:
        """Write the number of labels that each selection method needs."""
        needed = labels_needed(results)
        rows = []
        for data, choices in CHOICES.items():
            for choice in choices:
                some = needed[(needed["data"] == data) & (needed["choice"] == choice)]["labels"]
                if some.empty:
                    continue
                random = needed[(needed["data"] == data) & (needed["choice"] == "random")]["labels"]
                ratio = "" if choice == "random" or random.empty else f"{random.mean() / some.mean():.2f} ×"
                rows.append([data, choice, f"{some.mean():.0f}", f"{some.min():.0f} to {some.max():.0f}", ratio])
        header = ["", "choice", "labels, mean", "labels by seed", "fewer than random"]
        return f"""\
Rounds of {ROUND} labels by `vt.suggest`, after {ROUND} random labels, until a ridge regression reaches 95 % of its AUC
with all labels of the pool (at most {MOST} rounds); five seeds. *Both new*: test edges between vertices that do not
occur in the pool; "aimed" uses these vertices (`X_aim`), but not their labels. *A part*: test edges between vertices of
the pool, for KIBA with a hundred drugs. Checker is a board of 12 × 12 cells. If a random selection already has the same
distribution as the test edges, as in the part of KIBA, there is little to gain.

{plots.markdown(header, rows)}
"""


def labels_needed(results: pd.DataFrame) -> pd.DataFrame:
    """Return the number of labels in the last round of each run; a lower bound if it stopped before the goal."""
    return results.groupby(["data", "choice", "seed"], as_index=False)["labels"].max()


def _chosen(choice: str, model: Any, rest: vt.Edges, test: vt.Edges, rng: np.random.Generator, number: int) -> Array:
    if choice == "random":
        return rng.permutation(len(rest))[:ROUND]
    name, _, aimed = choice.partition(", ")
    by = cast("SuggestBy", name)
    aim = test if aimed else None
    return np.asarray(vt.suggest(model, rest, ROUND, by, X_aim=aim, random_state=number)["row"])


EXPERIMENT = Suggest()
