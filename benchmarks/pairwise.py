"""Times pairwise kernels as ratios within one run, and scores them; see ``python -m benchmarks.pairwise --help``."""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import eye_array
from sklearn.kernel_ridge import KernelRidge

import vectrick as vt
from benchmarks.machine import machine
from benchmarks.products import make_graph
from experiments import pairwise
from vectrick.kernels.pairwise import PAIRWISE, VertexFactors
from vectrick.operators.plan import format_seconds, format_table

RESULTS = Path(__file__).parent / "results" / "pairwise.json"
DENSITIES = (0.25, 0.02)
GOALS = {"cartesian": 0.6, "linear": 0.1, "poly2d": 2.2, "symmetric": 2.2, "antisymmetric": 2.2, "mlpk": 4.0}
ROUNDS = 25


def products(m: int = 1000) -> dict[str, dict[str, float]]:
    """Return the seconds of one product by density and kernel; every round times all kernels in turn."""
    rng, found = np.random.default_rng(0), {}
    K, G = (A @ A.T / m for A in rng.standard_normal((2, m, m)))
    same = eye_array(m, format="csr")
    for density in DENSITIES:
        edges = make_graph(m, m, density)
        v, work = rng.standard_normal(len(edges[0])), {}
        for name in ("kronecker", *GOALS, "ranking"):
            start = VertexFactors(K, lambda: same)
            end = start if PAIRWISE[name].one_set else VertexFactors(G, lambda: same)
            work[name] = _product(vt.kron_sum(PAIRWISE[name]().terms(start, end), edges, edges), v)
        times: dict[str, list[float]] = {name: [] for name in work}
        for _ in range(ROUNDS):
            for name, product in work.items():
                times[name].append(seconds(product))
        found[str(density)] = {name: float(np.median(some[2:])) for name, some in times.items()}
    return found


def _product(op: Any, v: Any) -> Callable[[], Any]:
    return lambda: op @ v


def seconds(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def interactions() -> dict[str, float]:
    """Time symmetric ridge regression on the yeast proteins, and KernelRidge with an explicit kernel matrix."""
    X, y = pairwise.graph("yeast")
    kernel = vt.Standardized(vt.Gaussian("scale"))
    model = vt.KronRidge(kernel, pairwise="symmetric", alpha=1.0, tol=4e-7, fit_intercept=False)
    model.fit(X[:500], y[:500])  # compile code and measure rates before the timed fits
    ours = min(seconds(lambda: model.fit(X, y)) for _ in range(3))
    features, (s, e) = X.start_table.features, (X.start, X.end)

    def in_one_expression(K: Any) -> Any:
        return K[np.ix_(s, s)] * K[np.ix_(e, e)] + K[np.ix_(s, e)] * K[np.ix_(e, s)]

    def in_place(K: Any) -> Any:
        A = K[np.ix_(s, s)]
        A *= K[np.ix_(e, e)]
        turned = K[np.ix_(s, e)]
        turned *= K[np.ix_(e, s)]
        A += turned
        return A

    found: dict[str, float] = {"ours": ours, "iterations": model.n_iter_}
    for name, matrix in (("in place", in_place), ("in one expression", in_one_expression)):
        begin = time.perf_counter()
        A = matrix(kernel.resolve(features, np.arange(len(features)))(features, features))
        theirs = KernelRidge(alpha=1.0, kernel="precomputed").fit(A, y)
        found[name] = time.perf_counter() - begin
        found["largest difference"] = float(np.abs(model.predict(X) - theirs.predict(A)).max())
        del A, theirs
    return found


def scores() -> dict[str, Any]:
    """Return scores of two kernels on Ki with both vertices new, and of single kernels and learned weights on GDSC."""
    experiment, found = pairwise.EXPERIMENT, {}
    for kernel in ("kronecker", pairwise.MIXED):
        task = {"data": "Ki", "kernel": kernel, "setting": "both", "seed": 0, "quick": False}
        found[f"Ki, {kernel}"] = float(np.mean([row["score"] for row in experiment.run(task)]))
    names = [*pairwise.single_kernels(np.eye(3)), "alignment"]
    for seed in range(pairwise.SEEDS):
        for name in names:
            task = {"data": "GDSC", "kernel": f"weights: {name}", "setting": "both", "seed": seed, "quick": False}
            found[f"GDSC {seed}, {name}"] = float(np.mean([row["score"] for row in experiment.run(task)]))
    return found


def table(results: dict[str, Any]) -> str:
    """Return a table of measurements and goals."""
    rows = []
    for density, times in results["products"].items():
        base = times["kronecker"]
        for name, value in times.items():
            goal = f"≤ {GOALS[name]:g} ×" if name in GOALS and density == str(DENSITIES[0]) else ""
            what = f"product, 1000², {1e6 * float(density):,.0f} edges: {name}"
            rows.append([what, goal, f"{value / base:.2f} ×", format_seconds(value)])
    found = results["interactions"]
    for name in ("in place", "in one expression"):
        what = f"ppi_yeast, symmetric ridge regression against KernelRidge, its matrix made {name}"
        times = f"{format_seconds(found['ours'])} against {format_seconds(found[name])}"
        rows.append([what, "≥ 20 ×", f"{found[name] / found['ours']:.1f} ×", times])
    rows.append(["the same, largest difference of predictions", "1e-6", f"{found['largest difference']:.1e}", ""])
    if "scores" in results:
        scored = results["scores"]
        auc, kernel = max((value, name) for name, value in scored.items() if name.startswith("Ki"))
        rows.append(["Ki, both new, best kernel", "AUC ≥ 0.80", f"{auc:.3f}", kernel.removeprefix("Ki, ")])
        names = sorted({name.partition(", ")[2] for name in scored if name.startswith("GDSC")} - {"alignment"})
        of = {
            name: [scored[f"GDSC {seed}, {name}"] for seed in range(pairwise.SEEDS)] for name in (*names, "alignment")
        }
        best = max(names, key=lambda name: np.mean(of[name]))
        for seed in range(pairwise.SEEDS):
            goal = f"≥ {of[best][seed]:.4f} ({best})"
            rows.append([f"gdsc, seed {seed}: aligned weights, R²", goal, f"{of['alignment'][seed]:.4f}", ""])
        goal = f"≥ {np.mean(of[best]):.4f} ({best})"
        rows.append(["gdsc, mean over seeds", goal, f"{np.mean(of['alignment']):.4f}", ""])
    return format_table(["what", "goal", "measured", ""], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS, help="the JSON file to write")
    parser.add_argument("--no-scores", action="store_true", help="omit the scores (they take some minutes)")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    results: dict[str, Any] = {"machine": machine()}
    for part in (products, interactions) if arguments.no_scores else (products, interactions, scores):
        results[part.__name__] = part()
    arguments.out.write_text(json.dumps(results, indent=1) + "\n")
    print(table(results))


if __name__ == "__main__":
    main()
