"""Checks and times everything on a GPU in one call: ``python -m benchmarks.gpu``; see ``--help``.

It runs from a source tree on PYTHONPATH with torch and Triton. Results are compared with the CPU's on small cases
first. Times are medians of device events, warm; beside each stands how long the card's measured ceilings would take.
"""

import argparse
import json
import platform
import sys
import time
import warnings
from collections.abc import Callable
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning

import vectrick as vt
from vectrick.backends.torch.device import float32_products
from vectrick.backends.torch.layout import Blocks
from vectrick.backends.torch.products import sampled_product, sparse_product
from vectrick.metrics import auc
from vectrick.operators.plan import format_seconds, format_table

Row = dict[str, Any]
RESULTS = Path(__file__).parent / "results"
G = vt.Gaussian(gamma=1.0)
MODELS: dict[str, tuple[Any, dict[str, Any], float, float]] = {  # parameters, the AUC to reach, seconds to reach it in
    "KronSVM": (vt.KronSVM, {"alpha": 1e-4, "max_iter": 2, "inner_iter": 20}, 0.795, 0.4),
    "KronRidge": (vt.KronRidge, {"alpha": 1e-4, "max_iter": 24}, 0.785, 0.2),
}


class Card:
    """The device, its measured ceilings, and a clock that knows it."""

    def __init__(self, device: torch.device) -> None:
        self.device, self.on_gpu = device, device.type == "cuda"
        self.name = torch.cuda.get_device_name(device) if self.on_gpu else platform.processor() or "CPU"
        size, n = (1 << 29, 8192) if self.on_gpu else (1 << 20, 256)
        x = torch.randn(size, device=device)
        y = torch.empty_like(x)
        self.copy = 2 * x.nbytes / self.seconds(lambda: y.copy_(x))
        del x, y
        self.gemm: dict[str, float] = {}
        for name, dtype, fast in (
            ("float64", torch.float64, False), ("float32", torch.float32, False), ("tf32", torch.float32, True),
        ):  # fmt: skip
            A = torch.randn(n, n, device=device, dtype=dtype)
            out = torch.empty_like(A)
            with float32_products(fast):
                self.gemm[name] = 2 * n**3 / self.seconds(lambda A=A, out=out: torch.mm(A, A, out=out), 5)  # type: ignore[misc]

    def seconds(self, work: Callable[[], Any], repeats: int = 11) -> float:
        """Return the median seconds of a call after two that warm up."""
        times = []
        for number in range(repeats + 2):
            seconds = self.once(work)
            if number >= 2:
                times.append(seconds)
        return float(np.median(times))

    def once(self, work: Callable[[], Any]) -> float:
        """Return the seconds of one call, by device events where there are some."""
        if not self.on_gpu:
            begin = time.perf_counter()
            work()
            return time.perf_counter() - begin
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        work()
        last.record()
        torch.cuda.synchronize()
        return float(first.elapsed_time(last)) / 1e3

    def row(self, what: str, seconds: float, goal: float | None, flops: float, moved: float, kind: str = "float64",
            **more: Any) -> Row:  # fmt: skip
        """Return a line of the table, with the time that the ceilings allow."""
        limit = max(flops / self.gemm[kind], moved / self.copy)
        bound = "arithmetic" if flops / self.gemm[kind] >= moved / self.copy else "memory"
        return {
            "what": what, "seconds": seconds, "goal": goal, "flops": flops, "bytes": moved,
            "ceiling": limit, "bound": bound, **more,
        }  # fmt: skip


def random_pairs(n: int, m: int, q: int, device: torch.device, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Return n distinct edges in random order."""
    generator = torch.Generator(device).manual_seed(seed)
    cells = torch.randperm(m * q, generator=generator, device=device)[:n]
    return (cells // q).int(), (cells % q).int()


def check(card: Card) -> dict[str, float]:
    """Compare every path, and every kind of edge list, with the CPU's results; return the largest relative errors."""
    rng = np.random.default_rng(0)
    worst = {"float64": 0.0, "float32": 0.0}
    factors = {
        "dense": lambda a, b: rng.standard_normal((a, b)),
        "thin": lambda a, b: vt.LowRank(rng.standard_normal((a, 13)), rng.standard_normal((b, 13))),
    }
    for dtype, kinds in product(worst, product(factors, factors)):
        a, b, c, d = 70, 130, 90, 300
        M, N = (factors[kind](*shape) for kind, shape in zip(kinds, ((a, b), (c, d)), strict=True))
        M, N = (F.astype(dtype) for F in (M, N))
        hub = np.where(rng.random(40_000) < 0.7, 3, rng.integers(d, size=40_000))  # one vertex with most of the edges
        rows, cols = (rng.integers(a, size=900), rng.integers(c, size=900)), (rng.integers(b, size=40_000), hub)
        for r, k in product((rows, slice(None)), (cols, slice(None))):
            reference = vt.kron(M, N)[r, k]
            v = rng.standard_normal(reference.shape[1]).astype(dtype)
            expected = reference @ v
            for estimate in vt.kron(M, N, backend="torch", device=card.device)[r, k].plan.estimates:
                op = vt.kron(M, N, backend="torch", device=card.device, path=estimate.path)[r, k]
                error = float(np.abs(op @ v - expected).max() / np.abs(expected).max())
                assert np.array_equal(op @ v, op @ v), f"{estimate.path} does not repeat to the bit"
                worst[dtype] = max(worst[dtype], error)
    X, y = vt.datasets.make_checkerboard(200, random_state=0)
    for kind, parameters in (
        (vt.KronRidge, {}), (vt.KronSVM, {}), (vt.KronSVM, {"loss": "hinge"}), (vt.KronLogistic, {}),
        (vt.KronRanker, {"groups": "start"}), (vt.KronRidge, {"precision": "mixed", "tol": 1e-9}),
    ):  # fmt: skip
        one = kind(G, G, alpha=0.1, **parameters).fit(X, y)
        other = kind(G, G, alpha=0.1, backend="torch", device=card.device, **parameters).fit(X, y)
        a, b = one.predict_grid(*tables(X)), other.predict_grid(*tables(X))
        worst[f"{kind.__name__} {parameters}"] = float(np.abs(a - b).max() / np.abs(a).max())
    for name, error in worst.items():
        limit = {"float64": 1e-10, "float32": 1e-4}.get(name, 1e-4)
        assert error <= limit, f"{name}: relative error {error:.1e} over {limit:.0e}"
    return worst


def tables(X: vt.Edges) -> tuple[Any, Any]:
    return X.start_table.features, X.end_table.features


def checker_products(card: Card, m: int) -> list[Row]:
    """Time one product with the kernel matrix of Checker+."""
    n = m * m // 4
    start, end = random_pairs(n, m, m, card.device)
    order = (start.long() * m + end).argsort()
    rng = np.random.default_rng(0)
    points = [torch.as_tensor(rng.uniform(0, 100, (m, 1)), device=card.device) for _ in range(2)]
    K, Gm = (G(x, x) for x in points)
    from vectrick.kernels import feature_map

    maps = [feature_map(G, x, 1e-12) for x in points]
    assert maps[0] is not None
    assert maps[1] is not None
    thin_K, thin_G = (vt.LowRank(found.train) for found in maps)  # type: ignore[union-attr]
    v = torch.randn(n, device=card.device, dtype=torch.float64)
    rows, rank = [], maps[0].rank
    exact = None
    for name, factors, goal, flops in (
        ("dense", (Gm, K), 17e-3, 4 * m**3),
        ("thin factors", (thin_G, thin_K), 1.2e-3, 4 * m * m * rank + 4 * m * rank * rank),
    ):
        for how, pair in (("edges in order", (end[order], start[order])), ("edges in random order", (end, start))):
            op = vt.kron(*factors)[pair, pair]
            path = op.plan.path
            found = op @ v
            if how == "edges in random order":
                error = 0.0 if exact is None else float(abs(found - exact).max() / abs(exact).max())
                exact = found if exact is None else exact
            seconds = card.seconds(lambda op=op: op @ v, 21)  # type: ignore[misc]
            moved = 8 * (2 * n + 2 * m * m) + 8 * n
            about = {"path": path, "rank": rank if "thin" in name else m}
            if how == "edges in random order":
                about["error"] = error
            rows.append(card.row(f"Checker+ product, {name}, {how}", seconds, goal, flops, moved, **about))
    return rows


def sampled(card: Card, m: int, n: int) -> list[Row]:
    """Time the sampled and the sparse product alone."""
    start, end = random_pairs(n, m, m, card.device)
    blocks = Blocks.of(start, end, m, m)
    rows = []
    for dtype, goal in ((torch.float64, 0.1), (torch.float32, 0.05)):
        A, B = (torch.randn(m, m, device=card.device, dtype=dtype) for _ in range(2))
        out, v = torch.full((n,), torch.nan, device=card.device, dtype=dtype), torch.randn(n, device=card.device)
        v = v.to(dtype)
        name = str(dtype).removeprefix("torch.")
        sampled_product(A, B, blocks, out)
        some = torch.arange(0, n, max(1, n // 1000), device=card.device)
        placed = blocks.row.long().repeat_interleave(blocks.start.diff())[some]
        expected = (A[placed].double() * B[blocks.column[some]].double()).sum(1)
        error = float((out[some] - expected).abs().max() / expected.abs().max())
        seconds = card.seconds(lambda: sampled_product(A, B, blocks, out), 3)
        gathered = n * m * A.element_size()
        about = {"error": error, "gathered from cache": gathered}
        rows.append(card.row(f"sampled product {m}², {n / 1e6:g} million edges, {name}", seconds, goal, 2.0 * n * m,
                             2.0 * A.nbytes, name, **about))  # fmt: skip
        T = torch.empty_like(A)
        seconds = card.seconds(lambda: sparse_product(A, v, blocks, T), 3)
        rows.append(card.row(f"sparse product {m}², {n / 1e6:g} million edges, {name}", seconds, None, 2.0 * n * m,
                             2.0 * A.nbytes, name))  # fmt: skip
        del A, B, T
    return rows


def planner(card: Card, m: int, n: int) -> Row:
    """Time every path of a large product, and compare the planner's choice with the fastest."""
    start, end = random_pairs(n, m, m, card.device)
    M, N = (torch.randn(m, m, device=card.device, dtype=torch.float64) for _ in range(2))
    v = torch.randn(n, device=card.device, dtype=torch.float64)
    chosen = vt.kron(M, N)[(start, end), (start, end)].plan
    times = {}
    for estimate in chosen.estimates:
        op = vt.kron(M, N, path=estimate.path)[(start, end), (start, end)]
        times[estimate.path] = card.seconds(lambda op=op: op @ v, 2)  # type: ignore[misc]
        del op
    ratio = times[chosen.path] / min(times.values())
    what = f"product {m}², {n / 1e6:g} million edges, float64: the planner's choice over the fastest path"
    made = card.row(what, times[chosen.path], None, 4.0 * m**3, 8.0 * 4 * m * m, ratio=ratio, goal_ratio=1.15)
    return {**made, "path": chosen.path, "times": times, "estimates": {e.path: e.seconds for e in chosen.estimates}}


def billion(card: Card, m: int, n: int, width: int) -> list[Row]:
    """Time a product and ridge regression with linear kernels on a graph of n edges that are on the device."""
    device, each = card.device, n // m
    start = torch.arange(m, device=device, dtype=torch.int32).repeat_interleave(each)
    end = torch.empty(m * each, device=device, dtype=torch.int32)
    for low in range(0, m, 10_000):
        high = min(low + 10_000, m)
        some = torch.randint(m, (high - low, each), device=device, dtype=torch.int32)
        end.view(m, each)[low:high] = some.sort(1).values
    S, E = (torch.randn(m, width, device=device) / width**0.5 for _ in range(2))
    y = torch.randn(m * each, device=device)
    features = vt.kron(E, S)[(end, start), :]
    w, g = torch.randn(width * width, device=device), y
    forth, back = card.seconds(lambda: features @ w, 3), card.seconds(lambda: features.T @ g, 3)
    paths = f"{features.plan.path} and {features.T.plan.path}"
    del features
    flops, moved = 4.0 * n * width, 4.0 * (4 * n + 4 * m * width)
    about = {"path": paths, "Φ w": forth, "Φᵀ g": back, "gathered from cache": 8.0 * n * width}
    what = f"{m} × {m} vertices, {width} features, {n:.0e} edges, float32"
    rows = [card.row(f"{what}: one product, Φᵀ (Φ w)", forth + back, 0.3, flops, moved, "float32", **about)]
    if card.on_gpu:
        torch.cuda.reset_peak_memory_stats()
    model = vt.KronRidge(alpha=1.0, max_iter=50, tol=0.0, backend="torch", dtype="float32")
    seconds = card.once(lambda: model.fit(vt.Edges(start, end, S, E), y))
    peak = torch.cuda.max_memory_allocated() if card.on_gpu else 0
    about = {"peak": peak, "iterations": model.n_iter_, "form": model.form_reason_}
    rows.append(
        card.row(f"{what}: KronRidge, 50 iterations", seconds, 20.0, 50 * flops, 50 * moved, "float32", **about)
    )
    return rows


def training(card: Card, m: int) -> list[Row]:
    """Time training on Checker+ from tensors and from arrays, and predictions for as many edges of new vertices."""
    X, y = vt.datasets.make_checkerboard(m, random_state=0)
    X_test, y_test = vt.datasets.make_checkerboard(m, random_state=1)
    there, labels = X.on(card.device), torch.as_tensor(y, device=card.device)
    test = X_test.on(card.device)
    rows = []
    for name, (kind, parameters, target, goal) in MODELS.items():
        for precision in ("full", "mixed"):
            model = kind(G, G, backend="torch", device=card.device, precision=precision, **parameters)
            seconds = card.seconds(lambda model=model: model.fit(there, labels), 5)  # type: ignore[misc]
            decide = model.decision_function if name == "KronSVM" else model.predict
            reached = auc(y_test, decide(test))
            products = model.solution_.n_products
            rank = model.plan_.title
            flops, moved = products * 2.0 * m * m * 355, products * 8.0 * (3 * len(y) + m * m)
            about = {
                "auc": reached,
                "auc to reach": target,
                "products": products,
                "plan": rank,
                "paths": model.plan_.path,
            }
            what = f"Checker+ {name}, {precision} precision, edges on the device"
            rows.append(card.row(what, seconds, goal if precision == "full" else None, flops, moved, **about))
            if precision == "full":
                rows += _from_host(card, name, model, X, y, X_test, flops, moved)
                predicting = card.seconds(lambda decide=decide: decide(test))  # type: ignore[misc]
                size = len(X_test)
                what = f"{name}, prediction of {size / 1e6:.2f} million edges of new vertices"
                flops, moved = 2.0 * m * m * 355, 8.0 * (2 * size + m * m)
                rows.append(card.row(what, predicting, 0.05, flops, moved))
    return rows


def _from_host(
    card: Card, name: str, model: Any, X: vt.Edges, y: Any, X_test: vt.Edges, flops: float, moved: float
) -> list[Row]:
    """Time the same from arrays on the host, by the clock on the wall."""
    rows = []
    for what, work, goal in (
        (f"Checker+ {name} from arrays on the host, everything included", lambda: model.fit(X, y), 3.0),
        (f"{name}, prediction of test edges from the host", lambda: model._decide(X_test), None),
    ):
        times = []
        for _ in range(3):
            begin = time.perf_counter()
            work()
            times.append(time.perf_counter() - begin)
        rows.append(card.row(what, float(np.median(times)), goal, flops, moved))
    return rows


def memory(card: Card) -> Row:
    """Let a fit fail in the middle, and a product be too large; say what is left on the device."""
    X, y = vt.datasets.make_checkerboard(1000, random_state=0)
    model = vt.KronSVM(G, G, backend="torch", device=card.device)
    model.fit(X, y)
    del model
    before = torch.cuda.memory_allocated() if card.on_gpu else 0

    def stop(step: Any) -> None:
        raise RuntimeError("the user's callback failed")

    said = ""
    try:
        vt.KronSVM(G, G, backend="torch", device=card.device).fit(X, y, callback=stop)
    except RuntimeError as error:
        said = str(error)
    left = (torch.cuda.memory_allocated() if card.on_gpu else 0) - before
    too_much = ""
    huge = vt.kron(torch.eye(1000, device=card.device), torch.eye(1000, device=card.device), max_memory="1 MB")
    try:
        huge[(X.start, X.end), (X.start, X.end)]
    except MemoryError as error:
        too_much = str(error)
    assert said
    assert too_much
    return {"left after a failed fit": left, "message": too_much}


def show(results: dict[str, Any]) -> str:
    """Return the table."""
    rows = []
    for row in results["rows"]:
        goal = "" if row["goal"] is None else format_seconds(row["goal"])
        measured = format_seconds(row["seconds"])
        more = [f"AUC {row['auc']:.4f}"] if "auc" in row else []
        if "ratio" in row:
            more.append(f"ratio {row['ratio']:.2f}, goal {row['goal_ratio']}")
        if row.get("peak"):
            more.append(f"peak {row['peak'] / 2**30:.0f} GiB")
        ceiling = f"{format_seconds(row['ceiling'])} ({row['bound']})"
        rows.append([row["what"], goal, measured, ceiling, ", ".join(more)])
    head = (
        f"{results['device']}, {results['date']}, torch {results['torch']}; copy {results['copy'] / 1e12:.2f} TB/s, "
        + (", ".join(f"{name} {rate / 1e12:.1f} TF/s" for name, rate in results["gemm"].items()))
    )
    return head + "\n" + format_table(["what", "goal", "measured", "ceiling", ""], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--only", nargs="*", help="some of: products sampled planner billion training memory")
    parser.add_argument("--output", type=Path, help="the JSON file; by default one in benchmarks/results for the card")
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    warnings.simplefilter("ignore", ConvergenceWarning)
    errors: dict[str, float] = {}
    card = Card(device)
    print(f"{card.name}: checking against the CPU", file=sys.stderr, flush=True)
    errors = check(card)
    quick = arguments.quick
    parts: dict[str, Callable[[], Any]] = {
        "products": lambda: checker_products(card, 160 if quick else 6400),
        "sampled": lambda: sampled(card, *((300, 4000) if quick else (20_000, 4_000_000))),
        "planner": lambda: [planner(card, *((300, 9000) if quick else (20_000, 40_000_000)))],
        "training": lambda: training(card, 300 if quick else 6400),
        "billion": lambda: billion(card, *((200, 20_000, 16) if quick else (100_000, 1_000_000_000, 256))),
    }
    results: dict[str, Any] = {
        "device": card.name, "date": date.today().isoformat(), "torch": torch.__version__,
        "python": platform.python_version(), "copy": card.copy, "gemm": card.gemm, "errors": errors,
        "memory": memory(card), "rows": [],
    }  # fmt: skip
    output = arguments.output or RESULTS / f"gpu-{card.name.split()[-1].lower()}.json"
    for name, part in parts.items():
        if arguments.only and name not in arguments.only:
            continue
        begin = time.perf_counter()
        results["rows"] += part()
        if card.on_gpu:
            torch.cuda.empty_cache()
        print(f"{name}: {time.perf_counter() - begin:.1f} s", file=sys.stderr, flush=True)
        output.write_text(json.dumps(results, indent=1) + "\n")
    assert "numba" not in sys.modules or "sklearn" in sys.modules
    print(json.dumps({"errors": errors, "memory": results["memory"]}, indent=1))
    print(show(results))


if __name__ == "__main__":
    main()
