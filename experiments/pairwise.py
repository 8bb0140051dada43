"""A comparison of pairwise kernels on Ki, E, protein interactions and drug response, in the four settings."""

import time
import warnings
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import vectrick as vt
from experiments import plots
from experiments.datasets import folder, real
from experiments.experiment import Experiment, Row, Scale, Task
from experiments.tuned import median_distance

Array = NDArray[Any]

SETTINGS = {"both": "both new", "start": "start new", "end": "end new", "neither": "none new"}
MIXED = "kronecker + linear"  # with weight 0.3 for the linear kernel
TWO_SETS = ("kronecker", "linear", "poly2d", MIXED, "cartesian")
ONE_SET = ("symmetric", "mlpk", "antisymmetric", "ranking")
KERNELS = {"Ki": TWO_SETS, "E": TWO_SETS, "yeast": TWO_SETS + ONE_SET, "GDSC": (*TWO_SETS, "two_step")}
ALPHAS = 10.0 ** np.arange(-2, 3)
WIDTHS = (0.3, 1.0, 3.0)  # of Gaussian kernels, relative to the median squared distance between vertices
SEEDS = 5
COLOURS = {
    "kronecker": "#0b6e4f", "linear": "#b08968", "poly2d": "#2a9d8f", MIXED: "#e9c46a", "cartesian": "#8d99ae",
    "symmetric": "#d1495b", "mlpk": "#e07a5f", "antisymmetric": "#9d4edd", "ranking": "#c8a2e8", "two_step": "#577590",
}  # fmt: skip


@lru_cache(1)
def graph(data: str, quick: bool = False) -> tuple[vt.Edges, Array]:
    """Return edges and labels; features are the rows of similarity matrices, as in the other experiments."""
    if data in ("Ki", "E"):
        return real(data, quick)
    if data == "yeast":
        table = pd.read_csv(folder("ppi_yeast") / "start_features.csv.gz", index_col="id")
        edges = pd.read_csv(folder("ppi_yeast") / "edges.csv.gz")
        X = vt.Edges.from_frame(edges, start_table=table)
        rows = slice(None, None, 8 if quick else 1)
        return X[rows], edges["label"].to_numpy(np.float64)[rows]
    tables = [pd.read_csv(folder("gdsc") / f"{side}_kernel.csv.gz", index_col="id") for side in ("start", "end")]
    edges = pd.read_csv(folder("gdsc") / "edges.csv.gz").astype({"start": tables[0].index.dtype})
    X = vt.Edges.from_frame(edges, start_table=tables[0], end_table=tables[1])
    kept = (X.start % 3 == 0) & (X.end % 3 == 0) if quick else np.ones(len(X), bool)
    return X[kept], edges["ln_ic50"].to_numpy(np.float64)[kept]


def gaussians(features: Array, widths: tuple[float, ...]) -> list[Any]:
    """Return Gaussian kernels of some widths."""
    median = median_distance(features)
    return [vt.Gaussian(gamma=width / median) for width in widths]


def estimator(data: str, X: vt.Edges, kernel: str) -> tuple[Any, dict[str, Any]]:
    """Return the model with a pairwise kernel, and the parameter grid for the inner folds."""
    pairwise = [("kronecker", 1.0), ("linear", 0.3)] if kernel == MIXED else kernel
    signed = kernel in ("antisymmetric", "ranking", "two_step")
    if data == "yeast":
        scaled = vt.Standardized(vt.Gaussian("scale"))
        return vt.KronRidge(scaled, scaled, pairwise=pairwise, fit_intercept=False), {"alpha": ALPHAS}
    widths = ((0.3, 1.0), (1.0, 3.0)) if data != "GDSC" else ((0.3, 1.0), (0.3, 1.0))
    start, end = (
        gaussians(table.features, some) for table, some in zip((X.start_table, X.end_table), widths, strict=True)
    )
    model = vt.KronRidge(pairwise=pairwise, fit_intercept=not signed)
    return model, {"start_kernel": start, "end_kernel": end, "alpha": ALPHAS}


def single_kernels(features: Array) -> dict[str, Any]:
    """Return the vertex kernels of a similarity matrix: the matrix itself, and kernels of its rows."""
    return {
        "as given": vt.Precomputed(), "linear": vt.Linear(), "cosine": vt.Cosine(),
        **{f"Gaussian {width:g}": kernel for width, kernel in zip(WIDTHS, gaussians(features, WIDTHS), strict=True)},
    }  # fmt: skip


class Pairwise(Experiment):
    """All applicable pairwise kernels, with alpha and widths selected on inner folds; and learned weights."""

    name = "pairwise"
    title = "Pairwise kernels"

    def tasks(self, scale: Scale) -> list[Task]:
        """Return a task for each data set, kernel and setting; for GDSC also one for each single kernel and seed."""
        found = [
            {"data": data, "kernel": kernel, "setting": setting, "seed": 0, "quick": scale.quick}
            for data in ("GDSC", "yeast", "E", "Ki")
            for setting in SETTINGS
            for kernel in KERNELS[data]
            if not (kernel == "two_step" and setting == "neither")  # two_step needs a complete part of the graph
        ]
        if not scale.quick:  # the division of the vertices matters most if both are new
            found += [
                {"data": "Ki", "kernel": kernel, "setting": "both", "seed": seed, "quick": False}
                for seed in range(1, SEEDS)
                for kernel in ("kronecker", "poly2d", MIXED)
            ]
        names = [*single_kernels(np.eye(3)), "alignment", "validation"]
        return found + [
            {"data": "GDSC", "kernel": f"weights: {name}", "setting": "both", "seed": seed, "quick": scale.quick}
            for seed in range(1 if scale.quick else SEEDS)
            for name in names
        ]

    def run(self, task: Task) -> list[Row]:
        """Return a row for each outer fold."""
        X, y = graph(task["data"], task["quick"])
        kernel, setting = task["kernel"], task["setting"]
        if kernel.startswith("weights: "):
            return _weighted(kernel.removeprefix("weights: "), X, y, task["seed"])
        model, grid = estimator(task["data"], X, kernel)
        parts = 1 if setting == "neither" else None
        division: dict[str, Any] = {"new": setting, "stratify": len(np.unique(y)) == 2, "random_state": task["seed"]}
        begin = time.perf_counter()
        found = vt.nested_score(
            model, X, y, grid,
            outer=vt.VertexKFold(3, parts, **division), inner=vt.VertexKFold(2, parts, **division),
        )  # fmt: skip
        seconds = time.perf_counter() - begin
        return [
            {"fold": i, "scoring": found.scoring, "score": row["score"], "alpha": row["alpha"], "seconds": seconds}
            for i, row in enumerate(found.chosen)
        ]

    def figure(self, results: pd.DataFrame) -> Any:
        """Draw the mean over folds of each kernel in each setting, and learned weights compared with single kernels."""
        figure, axes = plots.pyplot.subplots(1, 5, figsize=(15, 3.4), width_ratios=[3, 3, 4, 3, 2])
        family = results[~results["kernel"].str.startswith("weights")]
        for ax, data in zip(axes, KERNELS, strict=False):
            some = family[family["data"] == data]
            for number, kernel in enumerate(KERNELS[data]):
                of_kernel = some[some["kernel"] == kernel].groupby("setting")["score"]
                places = np.array([list(SETTINGS).index(setting) for setting in of_kernel.mean().index])
                shift = (number - (len(KERNELS[data]) - 1) / 2) * 0.8 / len(KERNELS[data])
                ax.errorbar(places + shift, of_kernel.mean(), yerr=of_kernel.std(), fmt="o", markersize=4, capsize=2,
                            linewidth=1, color=COLOURS[kernel], label=kernel)  # fmt: skip
            ax.set_xticks(range(4), [words.replace(" ", "\n") for words in SETTINGS.values()])
            ax.set(title=data, ylabel="R²" if data == "GDSC" else "AUC")
            if data != "GDSC":
                ax.axhline(0.5, color="0.6", linewidth=0.8, linestyle=":")
        handles = {
            label: handle for ax in axes[:4] for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
        }
        figure.legend(handles.values(), handles.keys(), ncols=9, loc="upper center", bbox_to_anchor=(0.45, 1.1))
        _draw_weights(axes[4], results)
        figure.tight_layout()
        return figure

    def section(self, results: pd.DataFrame) -> str:
        """Write the tables of all kernels and settings, and of the learned weights."""
        family = results[~results["kernel"].str.startswith("weights")]
        rows = []
        for data, kernels in KERNELS.items():
            means = family[family["data"] == data].groupby(["kernel", "setting"])["score"].mean().unstack()
            best = means.max()
            for kernel in (kernel for kernel in kernels if kernel in means.index):
                cells = []
                for setting in SETTINGS:
                    value = means.loc[kernel].get(setting, np.nan)
                    text = "" if np.isnan(value) else f"{value:.3f}"
                    cells.append(f"**{text}**" if text and value == best[setting] else text)
                rows.append([data, kernel, *cells])
        header = ["", "kernel", *SETTINGS.values()]
        return f"""\
Ridge regression with each pairwise kernel that is applicable to the data. λ and (except for the yeast proteins) the
widths of the Gaussian vertex kernels are selected on 2 × 2 vertex-disjoint inner folds of each training part
(`vt.nested_score`). All kernels use the same folds. The score is AUC, for GDSC R² of ln IC50; mean over 9 folds (both
new) or 3 folds. The bars of the figure are standard deviations over folds. For the assumptions of each kernel, see
[docs/guide/pairwise.md](../docs/guide/pairwise.md).

{plots.markdown(header, rows)}

{_seeds(family)}{_weights_section(results)}"""


def _seeds(family: pd.DataFrame) -> str:
    """Return a sentence on Ki with several divisions of its vertices."""
    some = family[(family["data"] == "Ki") & (family["setting"] == "both")]
    means = some.groupby(["kernel", "seed"])["score"].mean().unstack()
    means = means[means.notna().sum(axis=1) > 1]
    if means.empty:
        return ""
    words = [f"{kernel} {row.mean():.3f} ({row.min():.3f} to {row.max():.3f})" for kernel, row in means.iterrows()]
    return f"Ki with both vertices new, over {means.shape[1]} divisions of the vertices: {', '.join(words)}.\n\n"


def _weighted(name: str, X: vt.Edges, y: Array, seed: int) -> list[Row]:
    """Return a row for each fold of GDSC, with one kind of kernel or with learned weights of all kernels."""
    start, end = (single_kernels(table.features) for table in (X.start_table, X.end_table))
    if name in start:
        model = vt.KronRidge(start[name], end[name], fit_intercept=True)
    else:
        model = vt.KronRidge(list(start.values()), list(end.values()), kernel_weights=name, fit_intercept=True)
    begin, rows = time.perf_counter(), []
    for number, fold in enumerate(vt.VertexKFold(3, random_state=seed).folds(X, y)):
        train, risks = fold.train, np.zeros(len(ALPHAS))
        for inner in vt.VertexKFold(2, random_state=0).folds(X[train], y[train]):
            here, there = train[inner.train], train[inner.test]
            for i, path in enumerate(_path(model, X[here], y[here])):
                risks[i] += np.mean((path.predict(X[there]) - y[there]) ** 2)
        alpha = float(ALPHAS[np.argmin(risks)])
        fitted = model.set_params(alpha=alpha).fit(X[train], y[train])
        rows.append({
            "fold": number, "scoring": "r2", "score": fitted.score(X[fold.test], y[fold.test]), "alpha": alpha,
        })  # fmt: skip
    return [{**row, "seconds": time.perf_counter() - begin} for row in rows]


def _path(model: Any, X: vt.Edges, y: Array) -> list[Any]:
    """Return a model for each alpha; weights are learned only once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(model.kernel_weights, str):
            found = model.set_params(alpha=1.0).fit(X, y).kernel_weights_
            model = vt.KronRidge(**{**model.get_params(deep=False), "kernel_weights": found})
        paths: list[Any] = model.fit_path(X, y, ALPHAS.tolist())
    return paths


def _weights_table(results: pd.DataFrame) -> pd.DataFrame:
    """Return the mean score over folds, with a row for each seed and a column for each kernel or weighting."""
    some = results[results["kernel"].str.startswith("weights: ")]
    found = some.groupby(["seed", "kernel"])["score"].mean().unstack()
    return found.rename(columns=lambda name: name.removeprefix("weights: "))


def _draw_weights(ax: Any, results: pd.DataFrame) -> None:
    table = _weights_table(results)
    if table.empty:
        return
    singles = [name for name in table.columns if name not in ("alignment", "validation")]
    shown = [table[singles].max(axis=1), table.get("alignment"), table.get("validation")]
    for place, values in enumerate(shown):
        if values is not None:
            ax.plot(np.full(len(values), place), values, "o", markersize=4, color=plots.COLOURS["tuned vectrick"])
    ax.set_xticks(range(3), ["best\nsingle", "align-\nment", "vali-\ndation"])
    ax.set(title="GDSC, weights", ylabel="R², both new")


def _weights_section(results: pd.DataFrame) -> str:
    table = _weights_table(results)
    if table.empty:
        return ""
    singles = [name for name in table.columns if name not in ("alignment", "validation")]
    learned = [name for name in ("alignment", "validation") if name in table.columns]
    best = table[singles].mean().idxmax()
    rows = [
        [str(seed), f"{row[best]:.4f}", f"{row[singles].max():.4f} ({row[singles].idxmax()})",
         *(f"{row[name]:.4f}" for name in learned)]
        for seed, row in table.iterrows()
    ]  # fmt: skip
    means = [table[best].mean(), table[singles].max(axis=1).mean(), *(table[name].mean() for name in learned)]
    rows.append(["mean", *(f"**{value:.4f}**" for value in means)])
    header = ["seed", f"best single kernel over all seeds, {best}", "best kernel of each seed, in hindsight", *learned]
    return f"""\
### Learned weights

GDSC with all kernels of its two similarity matrices: the matrices themselves, and linear, cosine and Gaussian kernels
of their rows (γ = 0.3, 1 and 3 over the median squared distance), 6 × 6 pairs. Weights by centered kernel alignment
("alignment"), optionally refined by the risk on held-out vertices ("validation"), are compared with each single kind of
kernel on both sides; R² of ln IC50, both vertices new, 3 × 3 folds, λ selected inside the training part. The refinement
compares about a hundred sets of weights on about 20 drugs and 20 cell lines. These are too few vertices: on graphs of
this size, alignment alone is the safer choice.

{plots.markdown(header, rows)}
"""


EXPERIMENT = Pairwise()
