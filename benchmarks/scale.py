"""Compares lakes and clusters with edges in memory; see ``python -m benchmarks.scale --help``.

The benchmark first writes a lake with text ids (10⁷ edges between 10⁵ × 10⁵ vertices with 64 features; ``--edges 1e8``
for the full size). It measures memory, passes, fits and reading. Each measurement runs in a separate process, so that
peak memories are independent; ratios are within one run.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

import vectrick as vt
from benchmarks.machine import machine
from vectrick.operators.plan import format_table

RESULTS = Path(__file__).parent / "results" / "scale.json"
ALPHA, TOL = 100.0, 1e-6
_FILE, _GROUP = 10_000_000, 1 << 20  # edges in a file, and in a row group
_KILLS = 10
_TURNS = 7  # repetitions of the fits in this process and on workers


def write_lake(folder: Path, n_edges: int, n_vertices: int) -> None:
    """Write edges between vertices with text ids; labels are ratings from 1 to 5."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    users, items = (pa.array([f"{name}{i:07d}" for i in range(n_vertices)]) for name in ("user", "item"))
    for number, low in enumerate(range(0, n_edges, _FILE)):
        n = min(_FILE, n_edges - low)
        # Groups of vertices have preferences that a model can learn.
        start, end = (rng.integers(0, n_vertices, n) for _ in range(2))
        rating = np.clip(np.round(3 + (start % 7 - 3) * (end % 5 - 2) / 4 + rng.standard_normal(n)), 1, 5)
        columns = {"user": users.take(pa.array(start)), "item": items.take(pa.array(end))}
        table = pa.table({**columns, "rating": pa.array(rating.astype(np.float32))})
        parquet.write_table(table, folder / f"part-{number:04d}.parquet", row_group_size=_GROUP)


def tables(n_vertices: int, n_features: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return features of users and items; the first feature identifies the group."""
    rng = np.random.default_rng(1)
    frames = []
    for name, n_groups in (("user", 7), ("item", 5)):
        features = rng.standard_normal((n_vertices, n_features)) / np.sqrt(n_features)
        features[:, 0] = np.arange(n_vertices) % n_groups - n_groups // 2
        index = pd.Index([f"{name}{i:07d}" for i in range(n_vertices)], name=name)
        frames.append(pd.DataFrame(features, index=index, columns=[f"f{j}" for j in range(n_features)]))
    return frames[0], frames[1]


def scan(args: argparse.Namespace, **more: Any) -> vt.ScannedEdges:
    users, items = tables(args.vertices, args.features)
    given = {"start": "user", "end": "item", "label": "rating", "start_table": users, "end_table": items, **more}
    return vt.scan_edges(args.lake, **given)


def ridge(**more: Any) -> vt.KronRidge:
    return vt.KronRidge(**{"alpha": ALPHA, "tol": TOL, **more})


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def peak() -> int:
    """Return the peak memory of this process so far, in bytes."""
    return 1024 * int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])  # type: ignore[index]


# Measurements, each in a separate process; `warm` fits a small lake first, to load compiled code.


def warm(args: argparse.Namespace, backend: str = "cpu") -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_lake(Path(folder) / "edges", 5000, 100)
        users, items = tables(100, args.features)
        given = {"start": "user", "end": "item", "label": "rating", "start_table": users, "end_table": items}
        X = vt.scan_edges(Path(folder) / "edges", partition_edges=1, **given)
        ridge(backend=backend).fit(X)
        edges, y, _ = X.edges()
        ridge(form="primal", preconditioner="kronecker").fit(edges, y)


def streamed(args: argparse.Namespace) -> dict[str, Any]:
    """Fit a lake within a limit of memory."""
    X = scan(args, max_memory=args.max_memory)
    cold = timed(lambda: ridge().fit(X))[0]  # includes reading the lake
    seconds, model = timed(lambda: ridge().fit(X))
    passes = np.diff(model.history_["seconds"])
    return {
        "peak": peak(),
        "reading": cold - seconds,
        "cold": cold,
        "seconds": seconds,
        "pass": float(np.median(passes)),
        "iterations": model.n_iter_,
        "converged": model.solution_.converged,
        "bytes_per_edge": (X._store.n_bytes + X._store.n_bytes_spilled) / X.count(),  # type: ignore[union-attr]
        "spilled": X._store.n_bytes_spilled,  # type: ignore[union-attr]
        "partitions": X.n_partitions,
    }


def in_memory(args: argparse.Namespace) -> dict[str, Any]:
    """Compute the products of an iteration with all edges in memory; also fit, up to 20 million edges."""
    X, y, _ = scan(args).edges()
    S, E = X.start_table.features, X.end_table.features
    features = vt.kron(E, S)[(X.end, X.start), :]
    w = np.random.default_rng(0).standard_normal(features.shape[1])
    seconds = [timed(lambda f=features: f.T @ (f @ w))[0] for _ in range(3)]  # type: ignore[misc]
    found: dict[str, Any] = {"product": min(seconds)}
    del features
    if len(y) <= 2e7:
        found["seconds"], model = timed(lambda: ridge().fit(X, y))
        found["iterations"] = model.n_iter_
    return {**found, "peak": peak()}


def reading(args: argparse.Namespace) -> dict[str, Any]:
    """Read the lake, and map ids to positions."""
    X = scan(args)
    seconds, n_edges = timed(X.count)
    return {"seconds": seconds, "edges": n_edges, "peak": peak()}


def on_cluster(args: argparse.Namespace) -> dict[str, Any]:
    """Fit on two workers and in a process with two threads, in turn; compare the bits of 1, 2 and 4 workers."""
    from distributed import Client, LocalCluster

    found: dict[str, Any] = {"partitions": scan(args).n_partitions}
    local = ridge().fit(scan(args))
    same = []
    for n_workers in (2, 1, 4):
        with (
            LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            warm(args, "dask")
            if n_workers == 2:
                found |= {"overhead": overhead(client), **beside_one_process(args)}
            same.append(np.array_equal(ridge(backend="dask").fit(scan(args)).coef_, local.coef_))
    return {**found, "same_bits": all(same)}


def beside_one_process(args: argparse.Namespace) -> dict[str, list[float]]:
    """Return the seconds of fits in this process and on workers, in turn, with and without reading the lake."""
    found: dict[str, list[float]] = {}
    for _ in range(_TURNS):
        X, Y = scan(args), scan(args)
        for name in ("reading", "read"):
            found.setdefault(f"one_process_{name}", []).append(timed(lambda X=X: ridge().fit(X))[0])  # type: ignore[misc]
            found.setdefault(f"workers_{name}", []).append(timed(lambda Y=Y: ridge(backend="dask").fit(Y))[0])  # type: ignore[misc]
        X.close()
        Y.close()
    return found


def overhead(client: Any) -> float:
    """Return the median seconds of a pass over sixteen nearly empty partitions, with a core of 256 × 256."""
    from vectrick.passes.cluster import DaskEngine
    from vectrick.passes.tasks import NormalProduct

    with tempfile.TemporaryDirectory() as folder:
        for number in range(16):
            frame = pd.DataFrame({"start": [number], "end": [number], "label": [1.0]})
            frame.to_parquet(Path(folder) / f"{number:02d}.parquet")
        features = np.random.default_rng(0).random((256, 256))
        X = vt.scan_edges(folder, start_table=features, end_table=features.copy(), partition_edges=1)
        engine = DaskEngine(X, client=client)
        engine.read(10**9)
        engine.set_features(features, features)
        seconds = [timed(lambda shift=k: engine.total(NormalProduct(features + shift)))[0] for k in range(30)]  # type: ignore[misc]
    return float(np.median(seconds[5:]))


def killed(args: argparse.Namespace) -> dict[str, Any]:
    """Kill a worker at a random moment of each of ten fits, and compare the bits of the results."""
    from distributed import Client, LocalCluster

    rng = np.random.default_rng(0)
    expected = ridge().fit(scan(args))
    n_same = n_killed = 0
    seconds: list[float] = []
    for number in range(_KILLS + 1):
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            # No worker is killed in the first fit; it measures the usual time.
            pid = int(rng.choice(list(client.run(os.getpid).values())))
            after = float(rng.uniform(0, 0.9 * seconds[0])) if number else 1e6
            killer = threading.Timer(after, os.kill, (pid, signal.SIGKILL))
            killer.start()
            taken, model = timed(lambda: ridge(backend="dask").fit(scan(args)))
            n_killed += not killer.is_alive()
            killer.cancel()
            seconds.append(taken)
            n_same += number > 0 and np.array_equal(model.coef_, expected.coef_)
    usual = seconds.pop(0)
    return {"fits": _KILLS, "killed": n_killed, "same_bits": n_same, "usual": usual, "seconds": seconds}


MEASUREMENTS = {function.__name__: function for function in (streamed, in_memory, reading, on_cluster, killed)}


def measure(name: str, args: argparse.Namespace, **changes: Any) -> dict[str, Any]:
    """Run a measurement in a separate process."""
    given = {**vars(args), **changes, "only": name}
    words = [f"--{key.replace('_', '-')}={value}" for key, value in given.items() if value is not None]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scale", *words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{name} failed: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(f"{name}: {found}", file=sys.stderr, flush=True)
    return found


def rows_of(found: dict[str, Any]) -> list[list[str]]:
    """Return the rows of the table: quantity, goal, measurement."""
    s, m, r, c, k = (found[name] for name in ("streamed", "in_memory", "reading", "on_cluster", "killed"))
    rows = [
        ["peak memory of the fit to the lake, max_memory 1 GB", "≤ 1.5 GB", f"{s['peak'] / 1e9:.2f} GB"],
        ["a pass over the lake / the product in memory", "≤ 1.5", f"{s['pass'] / m['product']:.2f}"],
        ["bytes kept per edge", "≤ 9", f"{s['bytes_per_edge']:.2f}"],
        ["reading and mapping text ids", "10⁸ in 60 s", f"{r['edges']:.0e} in {r['seconds']:.1f} s"],
    ]
    if "small" in found:
        whole, part = found["small"]["in_memory"], found["small"]["streamed"]
        rows.append(
            ["fit in memory / fit to the lake, including reading", "≤ 0.8", f"{whole['seconds'] / part['cold']:.2f}"]
        )
    for name, words in (("read", "lake already read"), ("reading", "including reading")):
        ratios = np.divide(c[f"workers_{name}"], c[f"one_process_{name}"])
        shown = f"{np.median(ratios):.2f} ({ratios.min():.2f} to {ratios.max():.2f})"
        rows.append([f"fit of two workers / of one process of two threads, {words}", "≤ 1.25", shown])
    rows += [
        ["a pass over empty partitions, 16 partitions", "≤ 60 ms", f"{1e3 * c['overhead']:.0f} ms"],
        ["1, 2 and 4 workers and one process", "equal bits", "equal" if c["same_bits"] else "different"],
        [f"{k['fits']} fits, {k['killed']} with a killed worker", "equal bits", f"{k['same_bits']} equal"],
    ]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=float, default=1e7, help="number of edges of the lake")
    parser.add_argument("--vertices", type=int, default=100_000, help="number of vertices on each side")
    parser.add_argument("--features", type=int, default=64, help="number of features of a vertex")
    parser.add_argument("--max-memory", default="1GB", help="memory limit of the fit to the lake")
    parser.add_argument("--lake", type=Path, help="a lake written by this script; by default a new one is written")
    parser.add_argument("--only", choices=MEASUREMENTS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.only is not None:
        warm(args)
        print(json.dumps(MEASUREMENTS[args.only](args)))
        return
    with tempfile.TemporaryDirectory() as folder:
        lakes = {"large": args.lake or Path(folder) / "large", "small": Path(folder) / "small"}
        if not lakes["large"].exists():
            write_lake(lakes["large"], int(args.edges), args.vertices)
        found = {name: measure(name, args, lake=lakes["large"]) for name in ("streamed", "in_memory", "reading")}
        small = lakes["large"]
        if args.edges > 1e7:
            small = lakes["small"]
            write_lake(small, 10_000_000, args.vertices)
        found["small"] = {name: measure(name, args, lake=small, max_memory="8GB") for name in ("streamed", "in_memory")}
        found["on_cluster"] = measure("on_cluster", args, lake=small)
        found["killed"] = measure("killed", args, lake=small)
    print(format_table(["what", "goal", "measured"], rows_of(found)))
    about = {"edges": args.edges, "vertices": args.vertices, "features": args.features}
    RESULTS.write_text(json.dumps({"machine": machine(), **about, **found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
