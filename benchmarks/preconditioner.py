"""Times fits with and without the preconditioner, in passes and seconds, and one-pass fits; see ``--help``.

The data are the paper's simulations, and Ki and a quarter of GPCR from ``VECTRICK_DATA``; if these are missing, the
benchmark prints a message and omits them. ``--figure`` draws residual and test AUC after each pass.
"""

import argparse
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score

import vectrick as vt
from benchmarks.machine import machine
from experiments.datasets import checker, real
from vectrick._typing import PreconditionerName
from vectrick.operators.plan import format_seconds, format_table

Row = dict[str, Any]
Split = tuple[Any, Any, Any, Any]  # training edges and labels, test edges and labels
RESULTS = Path(__file__).parent / "results" / "preconditioner.json"
FIGURE = Path(__file__).parent.parent / "docs" / "images" / "preconditioner.svg"
G = vt.Gaussian(gamma=1.0)
ALL_OF_KI = "Ki, all edges"
ALPHAS = (1e-4, 1e-2, 1.0, 100.0, 1e4)  # for `worst`
LOSSES = {"KronRidge": vt.KronRidge, "KronSVM": vt.KronSVM, "KronLogistic": vt.KronLogistic}
PASSES = (1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 64, 80, 100)
COLOURS = {"kronecker": "#0b6e4f", "none": "#8d99ae"}


def simulated(m: int) -> Split:
    """Return a Checker graph for training, and another one for testing."""
    return (*checker(m, 0), *checker(min(m, 2000), 1))


def of_real(name: str) -> Split:
    """Return training edges of real data, and test edges without common vertices."""
    X, y = real(name)
    train, test = next(vt.VertexKFold(3, 3, random_state=0).split(X, y))
    return X[train], y[train], X[test], y[test]


def whole(name: str) -> Split:
    """Return all edges of real data, without test edges."""
    X, y = real(name)
    return X, y, X[:0], y[:0]


def kernels(name: str) -> Any:
    """Return the vertex kernel: Gaussian, with the width of the paper, or ``gamma="scale"`` on folds of real data."""
    return G if name.startswith("Checker") else vt.Gaussian(gamma=1e-5 if name == ALL_OF_KI else "scale")


def judged(model: Any, split: Split) -> float | None:
    """Return the AUC of the test edges, or None if there are none."""
    if len(split[3]) == 0:
        return None
    decide = model.decision_function if hasattr(model, "decision_function") else model.predict
    return float(roc_auc_score(split[3], decide(split[2])))


def fitted(name: str, split: Split, kind: str, repeats: int = 1, **parameters: Any) -> Row:
    """Return time, iterations and AUC of a fit; the time is the shortest of several repetitions."""
    kernel, best = kernels(name), np.inf
    for _ in range(repeats):
        begin = time.perf_counter()
        model = LOSSES[kind](kernel, kernel, **parameters).fit(*split[:2])
        best = min(best, time.perf_counter() - begin)
    solution = model.solution_
    return {
        "data": name, "edges": len(split[1]), "model": kind, **parameters, "seconds": best,
        "iterations": solution.n_iter, "products": solution.n_products, "converged": solution.converged,
        "used": solution.preconditioner, "why": solution.preconditioner_reason, "auc": judged(model, split),
    }  # fmt: skip


def curve(name: str, split: Split, alpha: float, preconditioner: PreconditionerName, last: int) -> Row:
    """Return residual and test AUC of primal ridge regression after each number of passes over the edges."""
    kernel, residuals, aucs, passes = kernels(name), [], [], []
    for k in (k for k in PASSES if k <= last):
        how: Row = {"alpha": alpha, "form": "primal", "max_iter": k, "tol": 1e-13, "solver": "cg"}
        model = vt.KronRidge(kernel, kernel, preconditioner=preconditioner, **{"fit_intercept": False, **how}).fit(
            *split[:2]
        )
        passes.append(model.n_iter_)
        residuals.append(model.solution_.residuals[-1])
        aucs.append(judged(model, split))
        if residuals[-1] < 1e-10:
            break
    return {"data": name, "alpha": alpha, "preconditioner": preconditioner,
            "passes": passes, "residuals": residuals, "auc": aucs}  # fmt: skip


def draw(curves: list[Row], path: Path) -> None:
    """Draw residual and AUC over passes, with a column for each data set."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "vectrick"
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(row["data"] for row in curves))
    figure, axes = plt.subplots(2, len(names), figsize=(4.2 * len(names), 5.4), sharex=True, squeeze=False)
    for column, name in enumerate(names):
        for row in (row for row in curves if row["data"] == name):
            label = {"kronecker": "with the degree model", "none": "without"}[row["preconditioner"]]
            style: Row = {"color": COLOURS[row["preconditioner"]], "label": label, "marker": "o", "markersize": 3}
            axes[0][column].semilogy(row["passes"], row["residuals"], **style)
            axes[1][column].plot(row["passes"], row["auc"], **style)
            axes[0][column].set_title(f"{name}, alpha {row['alpha']:g}")
        axes[1][column].set_xlabel("passes over the edges")
        axes[1][column].set_xscale("log")
    axes[0][0].set_ylabel("relative residual")
    axes[1][0].set_ylabel("test AUC, both vertices new")
    axes[0][0].legend(frameon=False)
    for axis in axes.ravel():
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.2)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def table(rows: list[Row]) -> str:
    """Return the table of measurements."""
    lines = []
    for row in rows:
        took = f"{row['iterations']} iterations, {row['products']} products, {format_seconds(row['seconds'])}"
        ended = "" if row["converged"] or row.get("solver") == "one-pass" else " (not converged)"
        how = row.get("solver") or row.get("preconditioner", "auto")
        alpha, form = f"{row['alpha']:g}", row.get("form", "auto")
        auc = "" if row["auc"] is None else f"{row['auc']:.4f}"
        lines.append([row["data"], row["model"], alpha, form, how, took + ended, auc])
    return format_table(["data", "model", "alpha", "form", "preconditioner", "took", "AUC"], lines)


def measure(quick: bool) -> list[Row]:
    """Run all fits, and print the progress."""
    rows: list[Row] = []

    def add(*arguments: Any, **parameters: Any) -> None:
        rows.append(fitted(*arguments, **parameters))
        last = rows[-1]
        print(f"{last['data']} {last['model']} {parameters}: {last['seconds']:.2f} s", file=sys.stderr, flush=True)

    splits = {"Checker": simulated(300 if quick else 1000)}
    for name in () if quick else ("Ki", "GPCR"):
        try:
            splits[name] = of_real(name)
            if name == "Ki":
                splits[ALL_OF_KI] = whole(name)
        except FileNotFoundError as error:
            print(f"{name} is omitted: {error}", file=sys.stderr)
    for name, split in splits.items():
        for alpha in (1.0, 0.1) if name.startswith("Ki") else (1.0, 0.01):
            for preconditioner in ("none", "kronecker", "auto"):
                for kind in LOSSES:
                    add(name, split, kind, repeats=1 if quick else 2, alpha=alpha, preconditioner=preconditioner)
                if name.startswith("Ki"):
                    how: Row = {"alpha": alpha, "preconditioner": preconditioner, "form": "primal"}
                    add(name, split, "KronRidge", **how)
            add(name, split, "KronRidge", alpha=alpha, solver="one-pass")
    if not quick:
        large = simulated(6400)
        add("Checker+", large, "KronRidge", alpha=1.0, solver="one-pass")
        for kind in LOSSES:
            add("Checker+", large, kind, alpha=1.0, tol=1e-8)
    return rows


def worst() -> list[Row]:
    """Fit small and medium graphs with and without it, for many alphas; return the rows, the worst choice last."""
    sets = {"Checker 400": simulated(400), "Checker": simulated(1000)}
    sets |= {name: whole(name) for name in ("GPCR", "IC", "E", "Ki")}
    rows: list[Row] = []
    for name, split in sets.items():
        for kind in LOSSES:
            for alpha in ALPHAS:
                took = {}
                for preconditioner in ("none", "kronecker", "auto"):
                    row = fitted(name, split, kind, repeats=3, alpha=alpha, preconditioner=preconditioner)
                    took[preconditioner] = row["seconds"]
                ratio = took["auto"] / min(took["none"], took["kronecker"])
                rows.append({"data": name, "model": kind, "alpha": alpha, **took, "ratio": ratio, "why": row["why"]})
                print(f"{name} {kind} {alpha:g}: {ratio:.2f}, {took}", file=sys.stderr, flush=True)
    return sorted(rows, key=lambda row: row["ratio"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="use a small graph, and save nothing")
    parser.add_argument("--figure", action="store_true", help="also draw docs/images/preconditioner.svg")
    parser.add_argument("--worst", action="store_true", help="only compare 'auto' with the better choice; an hour")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the JSON file to write")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    small = simulated(700)
    for solver in ("auto", "one-pass"):
        judged(vt.KronRidge(G, G, solver=solver).fit(*small[:2]), small)
    vt.KronSVM(G, G, preconditioner="kronecker").fit(*small[:2])
    if arguments.worst:
        for row in worst()[-20:]:
            print({name: f"{value:.3g}" if isinstance(value, float) else value for name, value in row.items()})
        return
    results: Row = {"machine": machine()}
    if arguments.figure:
        choices: tuple[tuple[PreconditionerName, int], ...] = (("kronecker", 40), ("none", 100))
        curves = [
            curve(name, split, alpha, preconditioner, last)
            for name, split, alpha in (("Checker", simulated(1000), 1.0), ("Ki", of_real("Ki"), 1.0))
            for preconditioner, last in choices
        ]
        results["curves"] = curves
        draw(curves, FIGURE)
    results["fits"] = measure(arguments.quick)
    if not arguments.quick:
        arguments.out.write_text(json.dumps(results, indent=1) + "\n")
    print(table(results["fits"]))


if __name__ == "__main__":
    main()
