"""Times every path of the operator and baselines in one run; see ``python -m benchmarks.products --help``."""

import argparse
import gc
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vectrick as vt
from benchmarks.baselines import BASELINES
from benchmarks.machine import machine
from benchmarks.startup import measure_memory, measure_startup
from vectrick.operators.plan import format_seconds, format_table

Array = NDArray[Any]
RESULTS = Path(__file__).parent / "results" / "products.json"

# start vertices, end vertices, density
SHAPES = [
    (1000, 1000, 0.25),
    (1000, 1000, 0.02),
    (4000, 4000, 0.0125),
    (4000, 4000, 0.10),
    (1421, 156, 0.42),
    (445, 664, 0.25),
    (20_000, 2_000, 0.005),
    (6400, 6400, 0.25),
]
GOALS = {(1000, 1000, 0.25): 45, (4000, 4000, 0.0125): 30, (1000, 1000, 0.02): 25, (20_000, 2_000, 0.005): 25}


@dataclass
class Case:
    """One shape, dtype and number of vectors; times in seconds, None for paths that would take too long."""

    start: int
    end: int
    density: float
    edges: int
    dtype: str
    vectors: int
    gemm_gflops: float
    build_seconds: float
    planned: str
    paths: dict[str, float | None] = field(default_factory=dict)
    baselines: dict[str, float | None] = field(default_factory=dict)

    @property
    def best_path(self) -> str:
        return min(self._measured, key=self._measured.__getitem__)

    @property
    def _measured(self) -> dict[str, float]:
        return {name: time for name, time in self.paths.items() if time is not None}

    @property
    def planned_seconds(self) -> float:
        return self._measured[self.planned]

    @property
    def planned_over_best(self) -> float:
        """The time of the planner's choice over the time of the fastest path; NaN if only one path was measured."""
        return self.planned_seconds / self._measured[self.best_path] if len(self._measured) > 1 else float("nan")

    @property
    def planned_over_baseline(self) -> float:
        times = [time for time in self.baselines.values() if time is not None]
        return self.planned_seconds / min(times) if times else float("nan")

    @property
    def sparse_share(self) -> float:
        """The rate of useful flops of the sparse path, over the machine's matrix multiplication rate."""
        times = [time for name, time in self.paths.items() if name.startswith("sparse:") and time is not None]
        flops = 2 * self.edges * (self.start + self.end) * self.vectors
        return flops / min(times) / (self.gemm_gflops * 1e9) if times else float("nan")


def shortest(work: Callable[[], Any], budget: float = 1.0, most: int = 60) -> float:
    """Return the shortest of up to ``most`` runs within about ``budget`` seconds; a long call runs only once."""
    time.sleep(0.2)  # BLAS threads keep spinning for a while after a product and would disturb the timing
    times: list[float] = []
    while len(times) < most and sum(times) < budget:
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def gemm_gflops(dtype: str, n: int = 2000) -> float:
    A = np.ones((n, n), dtype)
    out = np.empty_like(A)
    return 2 * n**3 / shortest(lambda: np.matmul(A, A, out=out)) / 1e9


def make_graph(start: int, end: int, density: float, seed: int = 0) -> tuple[Array, Array]:
    cells = np.random.default_rng(seed).choice(start * end, int(start * end * density), replace=False)
    return cells // end, cells % end


def run_case(shape: tuple[int, int, float], dtype: str, limit: float) -> list[Case]:
    """Measure one shape with one vector and with sixteen vectors."""
    start, end, density = shape
    rng = np.random.default_rng(1)
    M, N = (rng.random((n, n), dtype=np.dtype(dtype)) for n in (start, end))
    p, q = make_graph(*shape)
    began = time.perf_counter()
    op = vt.kron(M, N)[(p, q), (p, q)]
    built = time.perf_counter() - began
    gemm = gemm_gflops(dtype)
    operators = {op.plan.path: op}
    cases = [Case(start, end, density, len(p), dtype, k, gemm, built, op.plan.path) for k in (1, 16)]
    blocks = {k: rng.standard_normal((len(p), k)).astype(dtype) for k in (1, 16)}
    expected = op @ blocks[1]
    for estimate in op.plan.estimates:
        too_slow = estimate.seconds > limit and estimate.path != op.plan.path
        time_all(
            cases,
            "paths",
            estimate.path,
            None if too_slow else path_product(M, N, p, q, estimate.path, operators),
            blocks,
            expected,
            limit,
        )
    rematch(cases, lambda path: path_product(M, N, p, q, path, operators), blocks, limit)
    for name, make in BASELINES.items():
        product = make(M, N, p, q)
        if product is not None:
            slow = expected_seconds(name, cases[0]) > limit
            time_all(cases, "baselines", name, None if slow else columnwise(product), blocks, expected, limit)
    return cases


def expected_seconds(baseline: str, case: Case) -> float:
    """Return a rough lower bound for one vector, to omit baselines that would take minutes."""
    if baseline == "dense BLAS":
        return 2 * case.start * case.end * (case.start + case.end) / (case.gemm_gflops * 1e9)
    sparse = 2 * case.edges * case.start / 3e9
    if baseline == "SciPy sparse":
        return sparse + 2 * case.start * case.end**2 / (case.gemm_gflops * 1e9)
    return 2 * case.edges * (case.start + case.end) / 2e9


def rematch(
    cases: list[Case], product_of: Callable[[str], Callable[[Array], Array]], blocks: dict[int, Array], limit: float
) -> None:
    """Time the planner's choice and the best path again, to reduce the effect of noise."""
    for case in cases:
        rivals = {case.planned, case.best_path}
        if len(rivals) > 1 and sum(case._measured[name] for name in rivals) < limit:
            for name in sorted(rivals) * 2:
                again = shortest(partial(product_of(name), blocks[case.vectors]))
                case.paths[name] = min(case._measured[name], again)


def path_product(M: Array, N: Array, p: Array, q: Array, path: str, ready: dict[str, Any]) -> Callable[[Array], Array]:
    op = ready.get(path)
    if op is None:
        op = vt.kron(M, N, path=path)[(p, q), (p, q)]
    return lambda block: np.asarray(op @ block)


def columnwise(product: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda block: np.stack([product(np.ascontiguousarray(column)) for column in block.T], axis=1)


def time_all(
    cases: list[Case], group: str, name: str, product: Callable[[Array], Array] | None,
    blocks: dict[int, Array], expected: Array, limit: float,
) -> None:  # fmt: skip
    """Time one path or baseline for each number of vectors, and check the result of a baseline."""
    before = 0.0
    for case in cases:
        times = getattr(case, group)
        if product is None or (before * case.vectors > limit and name != case.planned):
            times[name] = None
            continue
        block = blocks[case.vectors]
        if case.vectors == 1 and group == "baselines":
            error = np.abs(product(block) - expected).max() / np.abs(expected).max()
            assert error < (1e-11 if case.dtype == "float64" else 1e-3), f"{name} is off by {error:.1e}"
        times[name] = before = shortest(lambda block=block: product(block))  # type: ignore[misc]
    gc.collect()


def report(cases: list[Case]) -> str:
    """Return the printed tables."""
    names = [name for name in BASELINES if any(name in case.baselines for case in cases)]
    head = [
        "graph",
        "density",
        "dtype",
        "k",
        "planned",
        "time",
        "sparse/GEMM",
        "planned/best",
        *names,
        "planned/baseline",
    ]
    rows = []
    for case in cases:
        goal = (
            GOALS.get((case.start, case.end, case.density)) if case.dtype == "float64" and case.vectors == 1 else None
        )
        share = f"{case.sparse_share:.0%}" + (f" (goal {goal} %)" if goal else "")
        rows.append([
            f"{case.start} × {case.end}", f"{case.density:.2%}", case.dtype, str(case.vectors), case.planned,
            format_seconds(case.planned_seconds), share,
            _ratio(case.planned_over_best) + ("" if case.planned == case.best_path else f" ({case.best_path})"),
            *(_seconds(case.baselines.get(name)) for name in names), _ratio(case.planned_over_baseline),
        ])  # fmt: skip
    every = sorted({name for case in cases for name in case.paths})
    paths = [
        [
            f"{case.start} × {case.end}",
            f"{case.density:.2%}",
            case.dtype,
            str(case.vectors),
            *(_seconds(case.paths.get(name)) for name in every),
        ]
        for case in cases
    ]
    return "\n\n".join([
        "The planner's choice, the best path and the baselines (last column: relative to the fastest baseline)",
        format_table(head, rows), "Every path", format_table(["graph", "density", "dtype", "k", *every], paths),
        summary(cases),
    ])  # fmt: skip


def summary(cases: list[Case]) -> str:
    best = np.nanmax([case.planned_over_best for case in cases])
    ratios = np.array([case.planned_over_baseline for case in cases])
    return (
        f"planner over best path: at most {best:.2f} (goal 1.15)\n"
        f"planner over the best baseline: at most {np.nanmax(ratios):.2f} (goal 1.0), "
        f"half or less in {np.mean(ratios[~np.isnan(ratios)] <= 0.5):.0%} of the cases (goal 50 %)"
    )


def _ratio(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.2f}"


def _seconds(value: float | None) -> str:
    return "-" if value is None else format_seconds(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="only shapes whose text contains this, for example '1000x1000'")
    parser.add_argument("--dtype", choices=["float64", "float32"], help="only this dtype")
    parser.add_argument("--limit", type=float, default=12.0, help="omit cases above this time per product, in seconds")
    parser.add_argument("--output", type=Path, default=RESULTS, help="the JSON file to write")
    options = parser.parse_args()
    cases: list[Case] = []
    found: dict[str, Any] = {"machine": machine()}
    options.output.parent.mkdir(parents=True, exist_ok=True)

    def save() -> None:
        options.output.write_text(json.dumps({**found, "cases": [asdict(case) for case in cases]}, indent=1))

    for shape in SHAPES:
        text = f"{shape[0]}x{shape[1]}@{shape[2]}"
        if options.only and options.only not in text:
            continue
        for dtype in [options.dtype] if options.dtype else ["float64", "float32"]:
            print(f"{text} {dtype} …", flush=True)
            cases += run_case(shape, dtype, options.limit)
            save()
    print("\n" + report(cases))
    if not options.only:
        found["startup"], found["memory"] = measure_startup(), measure_memory()
        save()
        for name, (value, goal) in {**found["startup"], **found["memory"]}.items():
            print(f"{name}: {value:.2f} (goal {goal})")
    print(f"written: {options.output}")


if __name__ == "__main__":
    main()
