"""Times model selection as ratios within one run; see ``python -m benchmarks.selection --help``."""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import vectrick as vt
from benchmarks.machine import machine
from experiments.datasets import real
from vectrick.operators.plan import format_seconds, format_table

RESULTS = Path(__file__).parent / "results" / "selection.json"
ALPHAS = 2.0 ** np.arange(-20, 21)


def median(work: Callable[[], Any], times: int = 5) -> float:
    """Return the median seconds of a call, after an untimed call."""
    work()
    found = []
    for _ in range(times):
        time.sleep(0.3)  # BLAS threads keep spinning for a moment after a product
        begin = time.perf_counter()
        work()
        found.append(time.perf_counter() - begin)
    return float(np.median(found))


def path() -> dict[str, float]:
    """Time a path of 41 alphas and a single fit on a fold of Ki, without and with a score after each iteration."""
    X, y = real("Ki")
    fold = vt.VertexKFold(3, 3, random_state=0).folds(X, y)[0]
    train, test = (X[fold.train], y[fold.train]), (X[fold.test], y[fold.test])
    ridge = vt.KronRidge(alpha=1e-4, solver="minres", max_iter=100, n_iter_no_change=10**9)
    wide = vt.KronRidge(vt.Gaussian(gamma=1e-5), vt.Gaussian(gamma=1e-5), fit_intercept=False)
    return {
        "one fit": median(lambda: ridge.fit(*train)),
        "one fit, scored": median(lambda: ridge.fit(*train, validation=test)),
        "path": median(lambda: vt.alpha_path(ridge, *train, ALPHAS, test)),
        "path, last iteration scored": median(lambda: vt.alpha_path(ridge, *train, ALPHAS, test, iterations=[100])),
        "path by one pass": median(lambda: vt.alpha_path(wide, *train, ALPHAS, test, solver="one-pass")),
        "one fit, Gaussian kernels": median(lambda: clone(wide).set_params(preconditioner="none").fit(*train)),
        "41 fits": 41 * median(lambda: ridge.fit(*train), 1),
    }


def ninefold() -> dict[str, float]:
    """Time the ninefold cross-validation of KronRidge with 100 iterations on E."""
    X, y = real("E")
    ridge = vt.KronRidge(alpha=1e-4, solver="minres", max_iter=100)
    return {"seconds": median(lambda: vt.compare(ridge, X, y, baselines=False), 3)}


def metrics() -> dict[str, float]:
    """Time concordance indices of a million predictions, and interaction concordance of a graph as large as Ki."""
    rng = np.random.default_rng(0)
    y, score = rng.standard_normal((2, 10**6))
    groups = rng.integers(0, 5000, 10**6)
    start, end = np.divmod(rng.permutation(1421 * 156)[:93356], 156)
    return {
        "concordance": median(lambda: vt.concordance_index(y, score)),
        "concordance in 5000 groups": median(lambda: vt.concordance_index(y, score, groups, average="groups")),
        "interactions": median(lambda: vt.interaction_concordance(y[:93356], score[:93356], start, end)),
    }


def table(results: dict[str, Any]) -> str:
    """Return a table of measurements and goals."""
    one, scored = results["path"]["one fit"], results["path"]["one fit, scored"]
    rows = [
        [f"Ki, 41 alphas: {name}", "1.5 fits" if name == "path" else "", format_seconds(seconds),
         f"{seconds / one:.2f} fits, {seconds / scored:.2f} scored fits"]
        for name, seconds in results["path"].items()
    ]  # fmt: skip
    rows.append(["E, ninefold KronRidge, 100 iterations", "10 s", format_seconds(results["ninefold"]["seconds"]), ""])
    goals = {"concordance": "1 s"}
    for name, seconds in results["metrics"].items():
        rows.append([f"{name}", goals.get(name, ""), format_seconds(seconds), ""])
    return format_table(["what", "goal", "measured", "ratios"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS, help="the JSON file to write")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # the benchmark fixes the number of iterations
    results: dict[str, Any] = {"machine": machine()}
    for part in (path, ninefold, metrics):
        results[part.__name__] = part()
    arguments.out.write_text(json.dumps(results, indent=1) + "\n")
    print(table(results))


if __name__ == "__main__":
    main()
