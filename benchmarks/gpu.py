"""Checks and times vectrick on a GPU; see ``python -m benchmarks.gpu --help``.

It runs from a source tree on PYTHONPATH, and requires torch and Triton. First, small cases are compared with results of
the CPU. Times are medians of device events after a warm-up; each is shown with the lower bound by the card's measured
ceilings (copy and matrix multiplication rates).
"""

import argparse
import json
import platform
import sys
import time
import warnings
from collections.abc import Callable
from datetime import date
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning

import vectrick as vt
from vectrick.backends import backend_of
from vectrick.backends.torch.devices import float32_products
from vectrick.backends.torch.layout import EdgeBlocks
from vectrick.backends.torch.products import sampled_product, sparse_product
from vectrick.kernels import feature_map
from vectrick.metrics import auc
from vectrick.operators.plan import format_seconds, format_table

Row = dict[str, Any]
Tensor = Any
RESULTS = Path(__file__).parent / "results"
G = vt.Gaussian(gamma=1.0)
MODELS: dict[str, tuple[Any, dict[str, Any], float, float]] = {  # parameters, the AUC to reach, the time to reach it
    "KronSVM": (vt.KronSVM, {"alpha": 1e-4, "max_iter": 2, "inner_iter": 20}, 0.795, 0.4),
    "KronRidge": (vt.KronRidge, {"alpha": 1e-4, "max_iter": 24}, 0.785, 0.2),
}


class Card:
    """The device, its measured ceilings, and its clock."""

    def __init__(self, device: torch.device) -> None:
        self.device, self.on_gpu = device, device.type == "cuda"
        self.name = torch.cuda.get_device_name(device) if self.on_gpu else platform.processor() or "CPU"
        self.copy = self._copy_rate(1 << 29 if self.on_gpu else 1 << 20)
        kinds = (("float64", torch.float64, False), ("float32", torch.float32, False), ("tf32", torch.float32, True))
        size = 8192 if self.on_gpu else 256
        self.gemm = {name: self._gemm_rate(size, dtype, fast) for name, dtype, fast in kinds}

    def _copy_rate(self, size: int) -> float:
        x = torch.randn(size, device=self.device)
        return float(2 * x.nbytes / self.seconds(partial(torch.empty_like(x).copy_, x)))

    def _gemm_rate(self, size: int, dtype: torch.dtype, fast: bool) -> float:
        A = torch.randn(size, size, device=self.device, dtype=dtype)
        with float32_products(fast):
            return 2 * size**3 / self.seconds(partial(torch.mm, A, A, out=torch.empty_like(A)), 5)

    def seconds(self, work: Callable[[], Any], repeats: int = 11) -> float:
        """Return the median seconds of a call, after two warm-up calls."""
        times = []
        for number in range(repeats + 2):
            seconds = self.once(work)
            if number >= 2:
                times.append(seconds)
        return float(np.median(times))

    def once(self, work: Callable[[], Any]) -> float:
        """Return the seconds of one call, measured by device events on a GPU."""
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

    def forget(self) -> None:
        """Free unused memory, and restart the measurement of the peak memory."""
        if self.on_gpu:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()

    def peak(self) -> int:
        """Return the peak memory in bytes since `forget`."""
        return torch.cuda.max_memory_allocated() if self.on_gpu else 0

    def row(self, what: str, seconds: float, goal: float | None, flops: float, moved: float, kind: str = "float64",
            **more: Any) -> Row:  # fmt: skip
        """Return a row of the table, with the lower bound on the time by the ceilings."""
        limit = max(flops / self.gemm[kind], moved / self.copy)
        bound = "arithmetic" if flops / self.gemm[kind] >= moved / self.copy else "memory"
        return {
            "what": what, "seconds": seconds, "goal": goal, "flops": flops, "bytes": moved,
            "ceiling": limit, "bound": bound, **more,
        }  # fmt: skip


def random_pairs(n: int, m: int, q: int, device: torch.device, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Return n distinct edges in random order."""
    generator = torch.Generator(device).manual_seed(seed)
    cells = torch.randperm(m * q, generator=generator, device=device)[:n]
    return (cells // q).int(), (cells % q).int()


def _factor(rng: np.random.Generator, n_rows: int, n_cols: int, dtype: str, thin: bool) -> Any:
    if thin:
        return vt.LowRank(rng.standard_normal((n_rows, 13)), rng.standard_normal((n_cols, 13))).astype(dtype)
    return rng.standard_normal((n_rows, n_cols)).astype(dtype)


def check(card: Card, m: int) -> dict[str, float]:
    """Compare every path and type of edge list with results of the CPU; return the largest relative errors."""
    rng = np.random.default_rng(0)
    worst = {"float64": 0.0, "float32": 0.0}
    (a, b), (c, d) = (70, 130), (90, 300)
    for dtype, thin in product(("float64", "float32"), product((False, True), repeat=2)):
        M, N = (_factor(rng, *shape, dtype, kind) for shape, kind in zip(((a, b), (c, d)), thin, strict=True))
        hub = np.where(rng.random(40_000) < 0.7, 3, rng.integers(d, size=40_000))  # one vertex has most of the edges
        rows, cols = (rng.integers(a, size=900), rng.integers(c, size=900)), (rng.integers(b, size=40_000), hub)
        for r, k in product((rows, slice(None)), (cols, slice(None))):
            reference = vt.kron(M, N)[r, k]
            v = rng.standard_normal(reference.shape[1]).astype(dtype)
            expected = reference @ v
            for estimate in vt.kron(M, N, backend="torch", device=card.device)[r, k].plan.estimates:
                op = vt.kron(M, N, backend="torch", device=card.device, path=estimate.path)[r, k]
                error = float(np.abs(op @ v - expected).max() / np.abs(expected).max())
                assert np.array_equal(op @ v, op @ v), f"{estimate.path} is not reproducible to the bit"
                worst[dtype] = max(worst[dtype], error)
    X, y = vt.datasets.make_checkerboard(m, random_state=0)
    models: tuple[tuple[Any, Row], ...] = (
        (vt.KronRidge, {}), (vt.KronSVM, {}), (vt.KronSVM, {"loss": "hinge"}), (vt.KronLogistic, {}),
        (vt.KronRanker, {"groups": "start"}), (vt.KronRidge, {"precision": "mixed", "tol": 1e-9}),
    )  # fmt: skip
    for kind, parameters in models:
        one = kind(G, G, alpha=0.1, **parameters).fit(X, y)
        other = kind(G, G, alpha=0.1, backend="torch", device=str(card.device), **parameters).fit(X, y)
        grids = [model.predict_grid(X.start_table, X.end_table) for model in (one, other)]
        again = other.fit(X, y).predict_grid(X.start_table, X.end_table)
        assert np.array_equal(grids[1], again), f"{kind.__name__} is not reproducible to the bit"
        worst[f"{kind.__name__} {parameters}"] = float(np.abs(grids[0] - grids[1]).max() / np.abs(grids[0]).max())
    for name, error in worst.items():
        limit = {"float64": 1e-10, "float32": 1e-4}.get(name, 1e-4)
        assert error <= limit, f"{name}: relative error {error:.1e} over {limit:.0e}"
    return worst


def checker_products(card: Card, m: int) -> list[Row]:
    """Time one product with the kernel matrix of Checker+, for dense kernel matrices and for low-rank factors."""
    n = m * m // 4
    start, end = random_pairs(n, m, m, card.device)
    order = (start.long() * m + end).argsort()
    rng = np.random.default_rng(0)
    points = [torch.as_tensor(rng.uniform(0, 100, (m, 1)), device=card.device) for _ in range(2)]
    maps = [feature_map(G, x, 1e-12) for x in points]
    thin = [vt.LowRank(found.train) for found in maps if found is not None]
    v, rank = torch.randn(n, device=card.device, dtype=torch.float64), thin[0].rank
    exact = vt.kron(G(points[1], points[1]), G(points[0], points[0]))[(end, start), (end, start)] @ v
    rows = []
    for name, factors, goal, flops in (  # short products first: long ones heat the card and slow its clock
        ("thin factors", thin, 1.2e-3, 4.0 * m * m * rank + 4.0 * m * rank * rank),
        ("dense", [G(x, x) for x in points], 17e-3, 4.0 * m**3),
    ):
        for how, pair in (("in order", (end[order], start[order])), ("in random order", (end, start))):
            op = vt.kron(factors[1], factors[0])[pair, pair]
            seconds = card.seconds(partial(op.__matmul__, v), 21)
            about: Row = {"path": op.plan.path, "rank": rank if name == "thin factors" else m}
            if how == "in random order":
                about["error"] = float(abs(op @ v - exact).max() / abs(exact).max())
            moved = 8.0 * (3 * n + 2 * m * m)
            rows.append(card.row(f"Checker+ product, {name}, edges {how}", seconds, goal, flops, moved, **about))
    return rows


def sampled(card: Card, m: int, n: int) -> list[Row]:
    """Time the sampled and the sparse product separately."""
    start, end = random_pairs(n, m, m, card.device)
    blocks = EdgeBlocks.of(start, end, m, m)
    rows = []
    for dtype, goal in ((torch.float64, 0.1), (torch.float32, 0.05)):
        A, B = (torch.randn(m, m, device=card.device, dtype=dtype) for _ in range(2))
        out, v = torch.full_like(A.view(-1)[:n], torch.nan), torch.randn(n, device=card.device, dtype=dtype)
        name = str(dtype).removeprefix("torch.")
        seconds = card.seconds(partial(sampled_product, A, B, blocks, out), 5)
        some = torch.arange(0, n, max(1, n // 1000), device=card.device)
        placed = blocks.row.long().repeat_interleave(blocks.start.diff())[some]
        expected = (A[placed].double() * B[blocks.column[some]].double()).sum(1)
        about: Row = {"error": float((out[some] - expected).abs().max() / expected.abs().max())}
        about["gathered from cache"] = float(n * m * A.element_size())
        what, work = f"product {m}², {n / 1e6:g} million edges, {name}", (2.0 * n * m, 2.0 * A.nbytes, name)
        rows.append(card.row(f"sampled {what}", seconds, goal, *work, **about))
        seconds = card.seconds(partial(sparse_product, A, v, blocks, torch.empty_like(A)), 5)
        rows.append(card.row(f"sparse {what}", seconds, None, *work))
        if card.on_gpu:
            rows.append(card.row(f"cuSPARSE's sampled {what}", cusparse(card, A, B, start, end, v), None, *work))
    return rows


def cusparse(card: Card, A: Tensor, B: Tensor, start: Tensor, end: Tensor, v: Tensor) -> float:
    """Return the seconds of the same sampled product by cuSPARSE through torch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that its sparse matrices are in beta state
        places, shape = torch.stack([start.long(), end.long()]), (len(A), len(B))
        graph = torch.sparse_coo_tensor(places, v, shape).coalesce().to_sparse_csr()
        return card.seconds(partial(torch.sparse.sampled_addmm, graph, A, B.T, beta=0.0), 1)


def planner(card: Card, m: int, n: int) -> Row:
    """Time every path of a large product, and compare the planner's choice with the fastest."""
    start, end = random_pairs(n, m, m, card.device)
    M, N = (torch.randn(m, m, device=card.device, dtype=torch.float64) for _ in range(2))
    v = torch.randn(n, device=card.device, dtype=torch.float64)
    chosen = vt.kron(M, N)[(start, end), (start, end)].plan
    times = {}
    for estimate in chosen.estimates:
        op = vt.kron(M, N, path=estimate.path)[(start, end), (start, end)]
        times[estimate.path] = card.seconds(partial(op.__matmul__, v), 2)
    ratio = times[chosen.path] / min(times.values())
    what = f"product {m}², {n / 1e6:g} million edges, float64: the planner's choice over the fastest path"
    made = card.row(what, times[chosen.path], None, 4.0 * m**3, 8.0 * 4 * m * m, ratio=ratio, goal_ratio=1.15)
    return {**made, "path": chosen.path, "times": times, "estimates": {e.path: e.seconds for e in chosen.estimates}}


def billion(card: Card, m: int, n: int, width: int) -> list[Row]:
    """Time a product and ridge regression with linear kernels, on a graph with n edges on the device."""
    start, end = even_graph(m, n // m, card.device)
    # Features of very different scales; with equal scales, a few iterations would suffice.
    scale = torch.logspace(0, -2, width, device=card.device)
    S, E = (torch.randn(m, width, device=card.device) * scale for _ in range(2))
    y = vt.kron(E, S)[(end, start), :] @ torch.randn(width * width, device=card.device)  # the features explain it
    what = f"{m} × {m} vertices, {width} features, {n:.0e} edges, float32"
    work = (4.0 * n * width, 4.0 * (4 * n + 4 * m * width))
    rows = []
    for lowered, goal in ((False, 0.13), (True, 0.08)):
        # Read-only as in a fit, so that operators need no copy.
        pair = backend_of(end).read_only(end), backend_of(start).read_only(start)
        seconds, peak = _both_ways(card, E, S, pair, y, lowered)
        told = f"{what}{' by TF32' if lowered else ''}: one pass, Φᵀ (Φ w)"
        rows.append(card.row(told, seconds, goal, *work, "float32", peak=peak))
    fits: dict[str, tuple[float | None, Row]] = {
        "KronRidge, 50 iterations": (20.0, {"max_iter": 50, "tol": 0.0, "dtype": "float32"}),
        "KronRidge to 1e-4": (None, {"tol": 1e-4, "dtype": "float32"}),
        "KronRidge to 1e-6 in mixed precision": (1.2, {"tol": 1e-6, "precision": "mixed"}),
    }
    for name, (limit, parameters) in fits.items():
        card.forget()
        how: Row = {"alpha": 1e-3, "keep_edges": False, **parameters}
        model = vt.KronRidge(backend="torch", device=str(card.device), **{"fit_intercept": False, **how})
        seconds = card.once(partial(model.fit, vt.Edges(start, end, S, E), y))
        found = model.solution_
        about: Row = {
            "peak": card.peak(), "iterations": model.n_iter_, "form": model.form_reason_, "path": model.plan_.path,
            "products": found.n_products, "converged": found.converged, "preconditioner": found.preconditioner,
        }  # fmt: skip
        passes = found.n_products / 2
        rows.append(card.row(f"{what}: {name}", seconds, limit, passes * work[0], passes * work[1], "float32", **about))
        del model
    return rows


def _both_ways(
    card: Card, E: Tensor, S: Tensor, pair: tuple[Tensor, Tensor], g: Tensor, lowered: bool
) -> tuple[float, int]:
    """Return the seconds of products with the features and with their transpose together, and the peak memory."""
    card.forget()
    features = vt.kron(E, S)[pair, :]
    features = features.lowered() if lowered else features
    w = torch.randn(features.shape[1], device=card.device)
    times = card.seconds(partial(features.__matmul__, w), 3), card.seconds(partial(features.T.__matmul__, g), 3)
    print(
        f"Φ w {times[0]:.3f} s by {features.plan.path}, Φᵀ g {times[1]:.3f} s by {features.T.plan.path}",
        file=sys.stderr,
    )
    return sum(times), card.peak()


def on_host(card: Card, m: int, q: int, n: int) -> list[Row]:
    """Time a product with factors that stay on the host, under memory limits."""
    rng = np.random.default_rng(0)
    K, G = (rng.standard_normal((size, size), dtype=np.float32) for size in (m, q))
    pair = rng.integers(q, size=n), rng.integers(m, size=n)
    v = torch.randn(n, device=card.device)
    n_bytes = K.nbytes + G.nbytes
    rows = []
    for limit in ("5GB", "2GB") if m > 1000 else ("3MB",):
        card.forget()
        operator = vt.kron(G, K, backend="torch", device=str(card.device), max_memory=limit)[pair, pair]
        seconds = card.seconds(partial(operator.__matmul__, v), 3)
        copied = n_bytes / 54e9  # the measured rate of copies from pinned memory, in bytes per second
        about = {"peak": card.peak(), "plan": operator.plan.seconds, "over a pinned copy": seconds / copied}
        what = f"factors of {m}² and {q}² on the host, {n / 1e6:g} million edges, float32, limit {limit}"
        rows.append(card.row(what, seconds, 2 * copied, 2.0 * n * (m + q), float(n_bytes), "float32", **about))
        del operator
    return rows


def even_graph(m: int, each: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return sorted edges from each of m start vertices to ``each`` random ones of m end vertices."""
    start = torch.arange(m, device=device, dtype=torch.int32).repeat_interleave(each)
    end = torch.empty((m, each), device=device, dtype=torch.int32)
    for low in range(0, m, 10_000):
        some = torch.randint(m, (min(10_000, m - low), each), device=device, dtype=torch.int32)
        end[low : low + 10_000] = some.sort(1).values
    return start, end.view(-1)


def training(card: Card, m: int) -> list[Row]:
    """Time training on Checker+ from tensors and arrays, and predictions for as many edges between new vertices."""
    X, y = vt.datasets.make_checkerboard(m, random_state=0)
    X_test, y_test = vt.datasets.make_checkerboard(m, random_state=1)
    there, labels, test = X.on(card.device), torch.as_tensor(y, device=card.device), X_test.on(card.device)
    rows = []
    for name, (kind, parameters, target, goal) in MODELS.items():
        model = kind(G, G, backend="torch", device=str(card.device), **parameters)
        seconds = card.seconds(partial(model.fit, there, labels), 7)
        decide = model.decision_function if name == "KronSVM" else model.predict
        reached, products = auc(y_test, decide(test)), model.solution_.n_products
        work = (products * 2.0 * m * m * 355, products * 8.0 * (3 * len(y) + m * m))
        about = {"auc": reached, "auc to reach": target, "products": products, "path": model.plan_.path}
        rows.append(card.row(f"Checker+ {name}, edges on the device", seconds, goal, *work, **about))
        seconds = on_the_wall(partial(model.fit, X, y))
        rows.append(card.row(f"Checker+ {name} from arrays on the host, everything included", seconds, 3.0, *work))
        work = (2.0 * m * m * 355, 8.0 * (2 * len(y) + m * m))
        what = f"{name}, prediction of {len(y) / 1e6:.2f} million edges of new vertices"
        rows.append(card.row(what, card.seconds(partial(decide, test)), 0.05, *work))
        rows.append(card.row(f"{what}, from and to the host", on_the_wall(partial(decide, X_test)), None, *work))
    return rows


def converged(card: Card, m: int) -> list[Row]:
    """Time fits on Checker+ to a small residual: one pass, preconditioners, and mixed precision."""
    X, y = vt.datasets.make_checkerboard(m, random_state=0)
    X, labels = X.on(card.device), torch.as_tensor(y, device=card.device)
    X_test, y_test = vt.datasets.make_checkerboard(m, random_state=1)
    test = X_test.on(card.device)
    ways: list[tuple[str, Any, Row]] = [("one pass", vt.KronRidge, {"solver": "one-pass"})]
    for kind in (vt.KronRidge, vt.KronSVM, vt.KronLogistic):
        ways += [(f"preconditioner {name}", kind, {"preconditioner": name}) for name in ("kronecker", "auto", "none")]
        if kind is not vt.KronLogistic:
            mixed = {"preconditioner": "none", "precision": "mixed"}
            ways.append(("preconditioner none, mixed precision", kind, mixed))
    rows = []
    for name, kind, parameters in ways:
        model = kind(G, G, alpha=1.0, tol=1e-8, backend="torch", device=str(card.device), **parameters)
        seconds = card.seconds(partial(model.fit, X, labels), 3 if parameters.get("preconditioner") == "none" else 7)
        found = model.solution_
        decide = model.predict if kind is vt.KronRidge else model.decision_function
        about = {
            "products": found.n_products, "corrections": found.n_corrections, "converged": found.converged,
            "residual": found.residuals[-1] if found.residuals else None, "risk": model.history_["risk"][-1],
            "auc": auc(y_test, decide(test)),
        }  # fmt: skip
        work = (found.n_products * 2.0 * m * m * 355, found.n_products * 8.0 * (3 * len(y) + m * m))
        goal = None if parameters.get("preconditioner") == "none" else 0.08 if kind is vt.KronRidge else 0.12
        what = f"Checker+ {kind.__name__}, alpha 1, to 1e-8, {name}"
        rows.append(card.row(what, seconds, goal, *work, **about))
    return rows


def on_the_wall(work: Callable[[], Any]) -> float:
    """Return the median wall-clock seconds of a call that returns its results to the host."""
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def memory(card: Card, m: int) -> Row:
    """Interrupt a fit, and request a product that is too large; return the memory left on the device."""
    X, y = vt.datasets.make_checkerboard(m, random_state=0)
    vt.KronSVM(G, G, backend="torch", device=str(card.device)).fit(X, y)
    before = torch.cuda.memory_allocated() if card.on_gpu else 0

    def stop(step: Any) -> None:
        raise RuntimeError("the user's callback failed")

    said = too_much = ""
    try:
        vt.KronSVM(G, G, backend="torch", device=str(card.device)).fit(X, y, callback=stop)
    except RuntimeError as error:
        said = str(error)
    left = (torch.cuda.memory_allocated() if card.on_gpu else 0) - before
    eye = torch.eye(m, device=card.device)
    try:
        vt.kron(eye, eye, max_memory="1 KB" if m < 1000 else "1 MB")[(X.start, X.end), (X.start, X.end)]
    except MemoryError as error:
        too_much = str(error)
    assert said
    assert too_much
    return {"left after a failed fit": left, "message": too_much}


def show(results: dict[str, Any]) -> str:
    """Return the table."""
    rows = []
    for row in results["rows"]:
        more = [f"AUC {row['auc']:.4f}"] if "auc" in row else []
        if "ratio" in row:
            more.append(f"ratio {row['ratio']:.2f}, goal {row['goal_ratio']}")
        if row.get("peak"):
            more.append(f"peak {row['peak'] / 2**30:.0f} GiB")
        if "corrections" in row:
            more.append(f"{row['products']} products, {row['corrections']} corrections, risk {row['risk']:.9g}")
        goal = "" if row["goal"] is None else format_seconds(row["goal"])
        ceiling = f"{format_seconds(row['ceiling'])} ({row['bound']})"
        work = f"{row['flops'] / 1e9:,.0f}", f"{row['bytes'] / 1e9:,.1f}"
        rows.append([row["what"], goal, format_seconds(row["seconds"]), *work, ceiling, ", ".join(more)])
    rates = ", ".join(f"{name} {rate / 1e12:.1f} TF/s" for name, rate in results["gemm"].items())
    card = f"{results['device']}, {results['date']}, torch {results['torch']}"
    table = format_table(["what", "goal", "measured", "GF", "GB", "ceiling", ""], rows)
    return f"{card}; copy {results['copy'] / 1e12:.2f} TB/s, {rates}\n{table}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--quick", action="store_true", help="use small sizes, as a test")
    parser.add_argument("--only", nargs="*", help="any of: products sampled planner training converged host billion")
    parser.add_argument("--output", type=Path, help="the JSON file; by default benchmarks/results/gpu-CARD.json")
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    warnings.simplefilter("ignore", ConvergenceWarning)
    card = Card(device)
    print(f"{card.name}: checking against the CPU", file=sys.stderr, flush=True)
    quick = arguments.quick
    errors = check(card, 40 if quick else 120)
    parts: dict[str, Callable[[], Any]] = {
        "products": lambda: checker_products(card, 160 if quick else 6400),
        "sampled": lambda: sampled(card, *((300, 4000) if quick else (20_000, 4_000_000))),
        "planner": lambda: [planner(card, *((300, 9000) if quick else (20_000, 40_000_000)))],
        "training": lambda: training(card, 300 if quick else 6400),
        "converged": lambda: converged(card, 300 if quick else 6400),
        "host": lambda: on_host(card, *((300, 400, 3000) if quick else (20_000, 40_000, 2_000_000))),
        "billion": lambda: billion(card, *((200, 20_000, 16) if quick else (100_000, 1_000_000_000, 256))),
    }
    results: dict[str, Any] = {
        "device": card.name, "date": date.today().isoformat(), "torch": torch.__version__,
        "python": platform.python_version(), "copy": card.copy, "gemm": card.gemm, "errors": errors,
        "memory": memory(card, 100 if quick else 1000), "rows": [],
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
        output.with_suffix(".txt").write_text(show(results) + "\n")
    print(json.dumps({"errors": errors, "memory": results["memory"]}, indent=1))
    print(show(results))


if __name__ == "__main__":
    main()
