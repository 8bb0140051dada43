"""Times training on the paper's simulations, and LIBSVM; see ``python -m benchmarks.training --help``.

The benchmark measures the time of ``fit`` until a test AUC on a graph without common vertices, and the time of
predictions. Compiled code is loaded before the measurements, as in every process after its first product.
"""

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

import vectrick as vt
from benchmarks.machine import machine
from vectrick.operators.plan import format_seconds, format_table

Array = NDArray[Any]
Row = dict[str, Any]
RESULTS = Path(__file__).parent / "results" / "training.json"

G = vt.Gaussian(gamma=1.0)
RIDGE: dict[str, Any] = {"alpha": 1e-4, "max_iter": 24}
SVM: dict[str, Any] = {"alpha": 1e-4, "max_iter": 2, "inner_iter": 20}

# A separate process, so that its peak memory is due to training alone; the test graph is made after reading the peak.
_LARGE = """
import json, re, resource, sys, time, warnings
import vectrick as vt
from sklearn.metrics import roc_auc_score
warnings.simplefilter("ignore")
name, parameters, dtype = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
small, labels = vt.datasets.make_checkerboard(300, random_state=2)
g = vt.Gaussian(gamma=1.0)
make = lambda: getattr(vt, name)(g, g, dtype=dtype, **parameters)
make().fit(small, labels).predict(small)
X, y = vt.datasets.make_checkerboard(6400, random_state=0)
start = time.perf_counter()
model = make().fit(X, y)
seconds = time.perf_counter() - start
try:  # getrusage never reports less than the peak of the parent process
    peak = 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
except OSError:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
del X, y
X, y = vt.datasets.make_checkerboard(5000, random_state=1)
start = time.perf_counter()
scores = model.decision_function(X) if name == "KronSVM" else model.predict(X)
predicting = time.perf_counter() - start
auc = roc_auc_score(y, scores)
found = dict(seconds=seconds, peak=peak, auc=auc, predicting=predicting, edges=len(y), form=model.form_reason_)
print(json.dumps(found))
"""


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of a call, and its result; waits before it, because BLAS threads keep spinning."""
    time.sleep(0.3)
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def repeated(work: Callable[[], Any]) -> float:
    """Return the median seconds of 40 repetitions of a short call."""
    times = []
    for _ in range(40):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def scores(model: Any, X: vt.Edges) -> Array:
    return np.asarray(model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X))


def checker(kind: Any, parameters: dict[str, Any], dtype: str, seeds: int) -> Row:
    """Train on Checker (1000², 250 000 edges) for several seeds; return the time and the AUC of each."""
    times, aucs = [], []
    for seed in range(seeds):
        X, y = vt.datasets.make_checkerboard(1000, random_state=10 * seed)
        X_test, y_test = vt.datasets.make_checkerboard(1000, random_state=10 * seed + 1)
        seconds, model = timed(partial(kind(G, G, dtype=dtype, **parameters).fit, X, y))
        times.append(seconds)
        aucs.append(float(roc_auc_score(y_test, scores(model, X_test))))
    return {"model": kind.__name__, "dtype": dtype, "seconds": times, "auc": aucs, "form": model.form_reason_}


def checker_plus(name: str, parameters: dict[str, Any], dtype: str) -> Row:
    """Train on Checker+ (6400², 10.24 million edges) in a separate process."""
    command = [sys.executable, "-c", _LARGE, name, json.dumps(parameters), dtype]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {"model": name, "dtype": dtype, **json.loads(done.stdout.splitlines()[-1])}


def libsvm(m: int) -> Row:
    """Train LIBSVM and KronSVM on a Checker graph, and predict as many edges; return AUC and times of both."""
    X, y = vt.datasets.make_checkerboard(m, random_state=0)
    X_test, y_test = vt.datasets.make_checkerboard(m, random_state=1)
    rows, test_rows = (np.hstack([E.start_table.features[E.start], E.end_table.features[E.end]]) for E in (X, X_test))
    parameters: dict[str, Any] = {"alpha": 1 / 128, "max_iter": 2, "inner_iter": 30}
    fits = [timed(lambda: vt.KronSVM(G, G, **parameters, fit_intercept=False).fit(X, y)) for _ in range(5)]
    ours, model = sorted(fits, key=lambda fit: fit[0])[2]
    predicting = repeated(lambda: model.decision_function(X_test))
    theirs, svc = timed(lambda: SVC(C=128.0, gamma=1.0, cache_size=1000).fit(rows, y))
    their_predicting, their_scores = timed(lambda: svc.decision_function(test_rows))
    translated = vt.from_svc(svc, 1)
    vec_trick = repeated(lambda: translated.decision_function(X_test))
    return {
        "edges": len(y),
        "libsvm": {"fit": theirs, "predict": their_predicting, "auc": float(roc_auc_score(y_test, their_scores))},
        "vectrick": {
            "fit": ours,
            "predict": predicting,
            "auc": float(roc_auc_score(y_test, model.decision_function(X_test))),
        },
        "from_svc": {
            "predict": vec_trick,
            "difference": float(np.abs(translated.decision_function(X_test) - their_scores).max()),
        },
    }


def growth(sizes: tuple[int, ...]) -> Row:
    """Train KronSVM on growing Checker graphs; return the slope of log time over log edges."""
    parameters: dict[str, Any] = {"alpha": 2**-7, "max_iter": 1, "inner_iter": 10}
    found: Row = {"edges": [m * m // 4 for m in sizes]}
    variants: list[tuple[str, dict[str, Any]]] = [
        ("auto", {}),
        ("dual, whole kernel matrices", {"form": "dual", "factor_tol": 0.0}),
    ]
    for name, more in variants:
        times = []
        for m in sizes:
            X, y = vt.datasets.make_checkerboard(m, random_state=0)
            model = vt.KronSVM(G, G, **parameters, **more, fit_intercept=False)
            times.append(timed(partial(model.fit, X, y))[0])
        slope = np.polyfit(np.log(found["edges"]), np.log(times), 1)[0]
        found[name] = {"seconds": times, "slope": float(slope)}
    return found


def table(results: Row) -> str:
    """Return a table of measurements, references and goals."""
    rows: list[list[str]] = []
    references = {
        "KronRidge": ("27.8 s (RLScore)", "1.0 s to 0.720"),
        "KronSVM": ("133.9 s (RLScore)", "2.0 s to 0.740"),
    }
    for row in results.get("checker", []):
        measured = (
            f"{format_seconds(float(np.median(row['seconds'])))}, AUC {min(row['auc']):.3f} to {max(row['auc']):.3f}"
        )
        rows.append([f"Checker, {row['model']}, {row['dtype']}", *references[row["model"]], measured])
    for row in results.get("checker_plus", []):
        goal = "120 s to 0.79, 1.5 GB" if row["model"] == "KronSVM" else ""
        measured = f"{format_seconds(row['seconds'])}, AUC {row['auc']:.3f}, {row['peak'] / 1e9:.2f} GB"
        measured += f"; {row['edges']:,} edges predicted in {format_seconds(row['predicting'])}"
        paper = {"KronSVM": "89 500 s, 1.5 GB (paper)", "KronRidge": "45 150 s (paper)"}[row["model"]]
        rows.append([f"Checker+, {row['model']}, {row['dtype']}", paper, goal, measured])
    if "libsvm" in results:
        row = results["libsvm"]
        ours, theirs = row["vectrick"], row["libsvm"]
        for what, goal in (("fit", "500 times"), ("predict", "5 000 times")):
            name = f"LIBSVM over KronSVM, {row['edges']:,} edges, {what}"
            ratio = f"{theirs[what] / ours[what]:,.0f} times ({format_seconds(ours[what])})"
            rows.append([name, format_seconds(theirs[what]), goal, ratio])
        rows.append(["its AUC", f"{theirs['auc']:.3f}", "not lower", f"{ours['auc']:.3f}"])
        translated = row["from_svc"]
        ratio = f"{theirs['predict'] / translated['predict']:,.0f} times, difference {translated['difference']:.0e}"
        rows.append(["LIBSVM's model by from_svc, predict", format_seconds(theirs["predict"]), "1e-8", ratio])
    if "growth" in results:
        for name in ("auto", "dual, whole kernel matrices"):
            found = results["growth"][name]
            times = ", ".join(format_seconds(seconds) for seconds in found["seconds"])
            rows.append(
                [
                    f"growth with edges, {name}",
                    "slope 1.5: O((m + q) n)",
                    "at most 1.5",
                    f"{found['slope']:.2f} ({times})",
                ]
            )
    return format_table(["what", "reference", "goal", "measured"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="use small graphs, and save nothing; a minute")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the JSON file to write")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # the benchmark fixes the number of iterations
    small, labels = vt.datasets.make_checkerboard(900, density=0.05, random_state=2)
    for form in ("dual", "primal"):
        scores(vt.KronSVM(G, G, max_iter=2, inner_iter=2, form=form).fit(small, labels), small)
    results: Row = {"machine": machine()}

    def keep(name: str, found: Any) -> None:
        results[name] = found
        if not arguments.quick:
            arguments.out.write_text(json.dumps(results, indent=1) + "\n")
        print(f"{name} done", file=sys.stderr, flush=True)

    seeds = 1 if arguments.quick else 3
    kinds = [(vt.KronRidge, RIDGE, "float64"), (vt.KronSVM, SVM, "float64"), (vt.KronSVM, SVM, "float32")]
    keep("checker", [checker(*kind, seeds) for kind in kinds])
    keep("growth", growth((200, 400, 800) if arguments.quick else (500, 1000, 2000, 4000)))
    if not arguments.quick:
        large = [("KronSVM", SVM, "float64"), ("KronSVM", SVM, "float32"), ("KronRidge", RIDGE, "float64")]
        keep("checker_plus", [checker_plus(*one) for one in large])
    keep("libsvm", libsvm(100 if arguments.quick else 400))
    print(table(results))


if __name__ == "__main__":
    main()
