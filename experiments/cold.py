"""Cold start from SMILES and sequences, compared with boosted trees and published deep networks."""

import time
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import average_precision_score, roc_auc_score

import vectrick as vt
from experiments import plots
from experiments.datasets import folder
from experiments.experiment import Experiment, Row, Scale, Task
from vectrick._typing import New
from vectrick.model_selection.scorers import predictions

Array = NDArray[Any]

SETTINGS = {"both": "both new", "start": "drug new", "end": "target new", "neither": "random split"}
DATA = {"KIBA": ("kiba", "kiba_score"), "Ki": ("ki", "pki"), "GPCR": ("gpcr", "label"), "IC": ("ic", "label"),
        "E": ("e", "label")}  # fmt: skip
METHODS = ("AutoKron", "one ridge regression", "boosted trees")
TEST, TEST_EDGES = 0.2, 1 / 6  # test shares of the vertices of each side, and of the edges in a random split
TREES = 100_000  # maximum number of edges to train trees on

# Published concordance index and mean squared error on KIBA.
COLD = "npj Digital Medicine 2025 (the paper of DMFF-DTA), Table 2"
RANDOM = "the papers of DeepDTA (2018), GraphDTA (2021) and MSGNN-DTA (2023)"
PUBLISHED: dict[str, list[tuple[str, float, float | None, str]]] = {
    "both": [("DMFF-DTA", 0.667, 0.567, COLD), ("MSGNN-DTA", 0.648, 0.581, COLD), ("FusionDTA", 0.641, 0.587, COLD),
             ("GraphDTA", 0.601, 0.676, COLD)],
    "start": [("DMFF-DTA", 0.753, None, COLD)],
    "end": [("DMFF-DTA", 0.748, None, COLD)],
    "neither": [("MSGNN-DTA", 0.908, None, RANDOM), ("GraphDTA", 0.891, None, RANDOM),
                ("DeepDTA", 0.863, 0.194, RANDOM), ("KronRLS", 0.782, 0.411, RANDOM)],
}  # fmt: skip


@lru_cache(1)
def graph(data: str, quick: bool) -> tuple[vt.Edges, Array]:
    """Return the edges between vertices with a SMILES string or a sequence, and their labels."""
    name, label = DATA[data]
    tables = [pd.read_csv(folder(name) / f"{side}_vertices.csv.gz").fillna("") for side in ("start", "end")]
    tables = [table[table.iloc[:, 1] != ""] for table in tables]
    edges = pd.read_csv(folder(name) / "edges.csv.gz")
    edges = edges[edges["start"].isin(tables[0]["id"]) & edges["end"].isin(tables[1]["id"])]
    X = vt.Edges.from_frame(edges, start_table=tables[0], end_table=tables[1])
    kept = (X.start % 4 == 0) & (X.end % 2 == 0) if quick and len(X) > 50_000 else np.ones(len(X), bool)
    return X[kept], edges[label].to_numpy(np.float64)[kept]


def divide(X: vt.Edges, new: str, seed: int) -> tuple[Array, Array]:
    """Return masks of the training and test edges; a fifth of the vertices of each new side is held out."""
    rng = np.random.default_rng(seed)
    held = []
    for vertices in (X.start, X.end):
        used = np.unique(vertices)
        chosen = rng.choice(used, round(TEST * len(used)), replace=False)
        held.append(np.isin(vertices, chosen))
    if new == "neither":
        test = rng.random(len(X)) < TEST_EDGES
        return ~test, test
    if new == "both":
        return ~held[0] & ~held[1], held[0] & held[1]
    own = held[0] if new == "start" else held[1]
    return ~own, own


def method(name: str, new: New) -> Any:
    """Return a model by its name."""
    if name == "AutoKron":
        return vt.AutoKron(new=new, random_state=0)
    if name == "boosted trees":
        return vt.baselines()[name]
    molecules = vt.Morgan(3, 4096, counts=True)
    return vt.KronRidge(
        molecules * molecules + vt.Constant(0.3), vt.SmithWaterman() + vt.Constant(0.3), alpha=0.3, tol=1e-4
    )


def scores_of(y: Array, predicted: Array) -> Row:
    """Return the scores of predictions, for classes or for real-valued labels."""
    if len(np.unique(y)) == 2:
        positive = y == y.max()
        return {"AUC": roc_auc_score(positive, predicted), "AUPR": average_precision_score(positive, predicted)}
    return {
        "CI": vt.concordance_index(y, predicted),
        "MSE": float(np.square(y - predicted).mean()),
        "Pearson": pearsonr(y, predicted).statistic,
        "Spearman": spearmanr(y, predicted).statistic,
    }


class Cold(Experiment):
    """Predictions from strings for new molecules and new proteins, in five random divisions."""

    name = "cold"
    title = "From SMILES and sequences: cold start compared with deep networks"

    def tasks(self, scale: Scale) -> list[Task]:
        """Return a task for each data set, setting, division and method."""
        return [
            {"data": data, "setting": setting, "seed": seed, "method": each, "quick": scale.quick}
            for seed in range(scale.seeds)
            for data in DATA
            for setting in (SETTINGS if data == "KIBA" else ("both", "start", "end"))
            for each in METHODS
        ]

    def run(self, task: Task) -> list[Row]:
        """Return the scores of a method on one division."""
        X, y = graph(task["data"], task["quick"])
        train, test = divide(X, task["setting"], task["seed"])
        rows = np.flatnonzero(train)
        if task["method"] == "boosted trees" and len(rows) > TREES:
            rows = np.sort(np.random.default_rng(0).choice(rows, TREES, replace=False))
        model, begin = method(task["method"], task["setting"]), time.perf_counter()
        model.fit(X[rows], y[rows])
        seconds = time.perf_counter() - begin
        predicted = np.asarray(predictions(model, X[test]), np.float64)
        return [{"edges": len(rows), "tested": int(test.sum()), "seconds": seconds, **scores_of(y[test], predicted)}]

    def figure(self, results: pd.DataFrame) -> Any:
        """Draw the concordance on KIBA with the published numbers, and AUPR on the other data sets."""
        results = _with_scores(results)
        figure, axes = plots.pyplot.subplots(1, 2, figsize=(9, 3.2), width_ratios=(1, 1))
        colours = ["#d1495b", "#2a9d8f", "#8d99ae"]
        panels = [
            (axes[0], results[results["data"] == "KIBA"], "CI", list(SETTINGS), SETTINGS),
            (axes[1], results[(results["setting"] == "both") & (results["data"] != "KIBA")], "AUPR", None, None),
        ]
        for ax, some, score, keys, names in panels:
            by = "setting" if keys is not None else "data"
            places = [key for key in (keys or list(DATA)[2:]) if key in set(some[by])]
            for number, (each, colour) in enumerate(zip(METHODS, colours, strict=True)):
                own = some[some["method"] == each].groupby(by)[score].mean().reindex(places)
                ax.bar(np.arange(len(places)) + 0.25 * (number - 1), own, 0.23, label=each, color=colour)
            ax.set_xticks(range(len(places)), [names[key] if names else f"{key}, both new" for key in places])
            ax.set_ylabel("concordance index, KIBA" if keys else "area under precision–recall")
            ax.grid(axis="x", visible=False)
            if keys:
                for place, key in enumerate(places):
                    known = [value for _, value, _, _ in PUBLISHED[key]]
                    label = "published" if place == 0 else None
                    ax.plot([place] * len(known), known, **plots.PAPER, label=label)
                ax.set_ylim(0.5, 0.95)
                ax.legend(ncols=2, loc="upper left")
        figure.tight_layout()
        return figure

    def section(self, results: pd.DataFrame) -> str:
        """Write the tables: KIBA with the published numbers, the protocol, and the other data sets."""
        results = _with_scores(results)
        return f"""\
Models use only SMILES strings and sequences. A random fifth of the drugs and of the targets is held out for testing.
"Both new": the test edges connect held-out drugs with held-out targets, and the training edges contain neither. The
random split tests a sixth of the edges. The tables show mean and standard deviation over five divisions. "One ridge
regression" uses the squared kernel of Morgan counts (radius 3) and an alignment kernel, each with a constant added, and
alpha 0.3 for all data and settings, without tuning. Trees use fingerprints of 1024 bits and counts of letter pairs, and
at most {TREES:,} edges. Seconds are training times with two threads (on a server with 16 cores, eight tasks in
parallel), including features and search.

{_kiba(results)}

**Differences between protocols.** The published networks were trained on 70 % of the vertices and stopped on 10 %; here
both parts are training data, and model selection uses inner folds of them. The held-out vertices differ, and so do the
numbers of divisions. The published numbers for the random split are for DeepDTA's own sixth of the edges. The published
spreads, if available, are as large as the differences between networks (0.035 for DMFF-DTA with both new). No network
was trained here.

**Cases in which deep networks win.** On the random split, both vertices of a test edge occur in training, and GraphDTA
and MSGNN-DTA have better scores. With new drugs, new targets, or both, the networks have lower scores.

{_others(results)}
"""


def _with_scores(results: pd.DataFrame) -> pd.DataFrame:
    """Return results with a column for each score, also for scores that were not computed."""
    names = [name for name in ("CI", "MSE", "Pearson", "Spearman", "AUC", "AUPR") if name not in results]
    return results.reindex(columns=[*results.columns, *names])


def _cell(some: pd.DataFrame, score: str) -> str:
    values = some[score].dropna()
    return f"{values.mean():.3f} ± {values.std(ddof=1) if len(values) > 1 else 0.0:.3f}" if len(values) else "–"


def _kiba(results: pd.DataFrame) -> str:
    rows = []
    for new, words in SETTINGS.items():
        for each in METHODS:
            some = results[(results["data"] == "KIBA") & (results["setting"] == new) & (results["method"] == each)]
            if len(some):
                cells = [_cell(some, score) for score in ("CI", "MSE", "Pearson", "Spearman")]
                rows.append([words, each, *cells, plots.seconds(some["seconds"].mean()), str(len(some))])
        for name, concordance, error, source in PUBLISHED[new]:
            shown = "–" if error is None else f"{error:.3f}"
            rows.append([words, f"*{name}*", f"{concordance:.3f}", shown, "–", "–", source, "–"])
    header = ["KIBA score", "method", "CI", "MSE", "Pearson", "Spearman", "training time, or source", "divisions"]
    return plots.markdown(header, rows)


def _others(results: pd.DataFrame) -> str:
    rows = []
    for data in list(DATA)[1:]:
        for new in ("both", "start", "end"):
            for each in METHODS:
                some = results[(results["data"] == data) & (results["setting"] == new) & (results["method"] == each)]
                if len(some):
                    names = ("CI", "MSE") if data == "Ki" else ("AUC", "AUPR")
                    cells = [f"{name} {_cell(some, name)}" for name in names]
                    seconds = plots.seconds(some["seconds"].mean())
                    rows.append([data, SETTINGS[new], each, *cells, seconds, str(len(some))])
    return plots.markdown(["", "setting", "method", "score", "second score", "training", "divisions"], rows)


EXPERIMENT = Cold()
