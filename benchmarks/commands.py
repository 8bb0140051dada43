"""Times commands end to end, as users run them; see ``python -m benchmarks.commands --help``.

Each command runs in a separate process. A time is the median of three runs, unless a run takes long. The results are
written to ``benchmarks/results/commands.json``.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import vectrick as vt
from benchmarks.machine import machine
from experiments.datasets import FOLDER
from vectrick.data.files.dataset import ReadOptions
from vectrick.data.files.folder import read_dataset
from vectrick.operators.plan import format_table

RESULTS = Path(__file__).parent / "results" / "commands.json"


# A small intermediate process: a fork of this process would count this process's memory as its own.
_WATCHED = """
import resource, subprocess, sys, time
begin = time.perf_counter()
subprocess.run([sys.executable, "-m", "vectrick", *sys.argv[1:]], check=True, capture_output=True)
print(time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e9)
"""


def command(*arguments: Any, cwd: Path) -> tuple[float, float]:
    """Run a command; return its seconds and its peak memory in GB."""
    code = [sys.executable, "-c", _WATCHED, *map(str, arguments)]
    seconds, memory = subprocess.run(code, cwd=cwd, check=True, capture_output=True, text=True).stdout.split()
    return float(seconds), float(memory)


def median(work: Any, times: int = 3) -> float:
    """Return the median seconds of several runs."""
    found = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        found.append(time.perf_counter() - begin)
    return statistics.median(found)


def write_edges(folder: Path, n_edges: int, m: int) -> dict[str, Path]:
    """Write a large data set as Parquet, and its edges also as CSV."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    rng = np.random.default_rng(0)
    columns = {}
    for side, word in (("start", "drug"), ("end", "hsa:")):
        ids = pa.array([f"{word}{i:05d}" for i in range(m)])
        parquet.write_table(pa.table({"id": ids, "x": rng.uniform(0, 100, m)}), folder / f"{side}_features.parquet")
        columns[side] = pa.DictionaryArray.from_arrays(pa.array(rng.integers(m, size=n_edges, dtype=np.int32)), ids)
    table = pa.table({name: column.cast(pa.string()) for name, column in columns.items()})
    table = table.append_column("label", pa.array(np.where(rng.random(n_edges) < 0.5, 1, -1)))
    parquet.write_table(table, folder / "edges.parquet")
    csv.write_csv(table, folder / "large.csv")
    return {"Parquet": folder / "edges.parquet", "CSV": folder / "large.csv"}


def reading(folder: Path, n_edges: int) -> list[dict[str, Any]]:
    rows = []
    for name, path in write_edges(folder, n_edges, 6400).items():
        seconds = median(lambda path=path: read_dataset(folder, ReadOptions(edges=path)))
        rows.append({"what": f"read {n_edges:.3g} edges, {name}", "seconds": seconds})
    return rows


def models(folder: Path) -> list[dict[str, Any]]:
    """Time loading a model file of 100 MB, reading the bytes of the file, and ``--help``."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    rng = np.random.default_rng(0)
    X = vt.Edges(
        rng.integers(2500, size=3000), rng.integers(50, size=3000), rng.random((2500, 5000)), rng.random((50, 3))
    )
    path = folder / "large.vt"
    vt.KronRidge("gaussian", "gaussian", max_iter=2, solver="cg", tol=0.9).fit(X, rng.standard_normal(3000)).save(path)
    size = path.stat().st_size / 1e6
    plain = median(path.read_bytes, 9)
    return [
        {"what": f"read a file of {size:.0f} MB", "seconds": plain},
        {"what": "vt.load of a model in it", "seconds": median(lambda: vt.load(path), 9)},
        *(
            {"what": f"vectrick {' '.join(words)}", "seconds": statistics.median(_seconds(words, folder))}
            for words in (["--help"], ["fit", "--help"])
        ),
    ]


def _seconds(words: list[str], folder: Path) -> list[float]:
    return [command(*words, cwd=folder)[0] for _ in range(9)]


def real(folder: Path) -> list[dict[str, Any]]:
    """Time a fit of one model to Ki with reading and report, and the default search of `vectrick fit`."""
    kernels = ["--start-kernel", "gaussian(gamma=1e-5)", "--end-kernel", "gaussian(gamma=1e-5)"]
    seconds = []
    for _ in range(3):
        options = ["-o", "ki.vt", "--report", "ki.html", "--force", "--manual", "--loss", "svm", "--json"]
        seconds.append(command("fit", FOLDER.resolve() / "ki", *options, *kernels, cwd=folder)[0])
    size = (folder / "ki.html").stat().st_size / 1e6
    rows = [{"what": f"fit --manual to Ki with a report ({size:.1f} MB)", "seconds": statistics.median(seconds)}]
    for name in ("gpcr", "ki"):
        taken = [
            command("fit", FOLDER.resolve() / name, "-o", f"{name}.vt", "-f", "-q", cwd=folder)[0] for _ in range(3)
        ]
        rows.append({"what": f"fit to {name}, a search", "seconds": statistics.median(taken)})
    return rows


def grid(folder: Path, m: int) -> list[dict[str, Any]]:
    """Time predictions of a Checker+ model for all pairs of vertices."""
    X, y = vt.datasets.make_checkerboard(m, random_state=0)
    names = [[f"{letter}{i:04d}" for i in range(m)] for letter in "se"]
    named = vt.Edges(
        X.start, X.end, X.start_table.features, X.end_table.features, start_ids=names[0], end_ids=names[1]
    )  # fmt: skip
    kernel = vt.Gaussian(gamma=1.0)
    vt.KronRidge(kernel, kernel, alpha=1e-4, solver="cg", max_iter=20, tol=0.5).fit(named, y).save(
        folder / "checker.vt"
    )
    rows = []
    for ending in ("parquet", "csv"):
        seconds, memory = command("predict", "checker.vt", "--grid", "-o", f"grid.{ending}", "-f", cwd=folder)
        rows.append({
            "what": f"predict --grid {m} × {m} to {ending}", "seconds": seconds, "pairs per second": m * m / seconds,
            "peak GB": memory,
        })  # fmt: skip
        os.unlink(folder / f"grid.{ending}")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="run at a tenth of the size, without writing results")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        rows = grid(folder, 640 if quick else 6400)
        rows += reading(folder, 10**6 if quick else 10**7)
        rows += models(folder)
        rows += real(folder) if (FOLDER / "ki").is_dir() else []
    head = ["what", "seconds", "pairs per second", "peak GB"]
    print(format_table(head, [[_shown(row.get(name)) for name in head] for row in rows]))
    if not quick:
        RESULTS.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")


def _shown(value: Any) -> str:
    return "" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
