"""The planner: estimate time and memory of every path, and choose the fastest path that fits."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vectrick._html import html_block, html_note, html_table
from vectrick.backends import HOST, Backend
from vectrick.backends.memory import format_bytes, parse_bytes
from vectrick.backends.product_path import PATHS, Allocation, ProductPath, is_path_name
from vectrick.backends.rates import Rates
from vectrick.operators.problem import Problem

# If a product takes less than this, or if the best path is faster than all others by this factor at typical rates,
# measuring the machine does not pay.
_SHORT = 2e-3
_CLEAR = 3.0  # ratio of times from which typical rates decide
_COLUMNS = ["", "path", "time", "memory", "steps"]


@dataclass(frozen=True)
class Estimate:
    """The estimated time and memory of one path for one vector."""

    path: str
    steps: str
    seconds: float
    memory: int
    arrays: tuple[Allocation, ...]


@dataclass(frozen=True)
class Plan:
    """The comparison of all paths and the choice; ``print`` shows it as a table.

    ``path`` is the name of the chosen path, ``seconds`` and ``memory`` (bytes, with the result for one vector) are its
    estimate, ``reason`` explains the choice, and ``estimates`` holds the estimates of all paths, the cheapest first.

    Planning takes O(paths), a few microseconds, after the edges are counted.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> edges = np.array([0, 1]), np.array([1, 0])
    >>> plan = vt.kron(np.eye(3), np.eye(2), path="dense")[edges, edges].plan
    >>> plan.path.partition(":")[0], plan.reason
    ('dense', "asked for by path='dense'")
    """

    path: str
    reason: str
    estimates: tuple[Estimate, ...]
    max_memory: int
    title: str
    rates: str

    @property
    def chosen(self) -> Estimate:
        """The estimate of the chosen path."""
        return next(estimate for estimate in self.estimates if estimate.path == self.path)

    @property
    def seconds(self) -> float:
        """The estimated time of one product with one vector."""
        return self.chosen.seconds

    @property
    def memory(self) -> int:
        """The estimated bytes of result, workspace, index arrays and copies of factors."""
        return self.chosen.memory

    @property
    def _rows(self) -> list[tuple[str, ...]]:
        """The cells of the table, a row for each path."""
        return [
            (
                "→" if estimate.path == self.path else "",
                estimate.path,
                format_seconds(estimate.seconds),
                format_bytes(estimate.memory) + ("" if estimate.memory <= self.max_memory else " (too much)"),
                estimate.steps,
            )
            for estimate in self.estimates
        ]

    def __str__(self) -> str:
        return f"{self.title}\n{format_table(_COLUMNS, self._rows)}\n{self.path}: {self.reason} ({self.rates})"

    def _repr_html_(self) -> str:
        chosen = [estimate.path for estimate in self.estimates].index(self.path)
        note = html_note(f"{self.path}: {self.reason} ({self.rates})")
        return html_block(self.title, html_table(_COLUMNS, self._rows, chosen), note)


def format_seconds(seconds: float) -> str:
    """Return a time as readable text.

    >>> format_seconds(0.0213), format_seconds(3e-6)
    ('21.3 ms', '3 µs')
    """
    for unit, scale in (("s", 1.0), ("ms", 1e3)):
        if seconds * scale >= 0.9995:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def format_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows of text in aligned columns."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (head, *rows)]
    return "\n".join(line.rstrip() for line in lines)


def check_path(path: str) -> str:
    """Return a value of ``path=``; raise ValueError if it is not the name of a path."""
    if path == "auto" or (isinstance(path, str) and is_path_name(path)):
        return path
    names = ", ".join(repr(name) for name in ("auto", *PATHS))
    raise ValueError(
        f"path is {path!r}, but it must be one of {names}, or one of these with ':M' or ':N' for the first factor"
    )


def memory_limit(max_memory: int | float | str | None, backend: Backend = HOST) -> int:
    """Return the limit in bytes; by default the free memory of the backend."""
    return backend.free_memory() if max_memory is None else parse_bytes(max_memory)


def zero_plan(n_rows: int, dtype: np.dtype[Any], limit: int, title: str) -> Plan:
    """Return the plan of a product that is zero or empty for every vector."""
    result = Allocation("result", n_rows * dtype.itemsize)
    nothing = Estimate("zero", "nothing", 0.0, result.n_bytes, (result,))
    return Plan("zero", "the product is zero or empty", (nothing,), limit, title, "no rates needed")


def can_take(problem: Problem, wanted: str) -> bool:
    """Whether a path of the problem matches the name."""
    return any(path.answers_to(wanted) for path in problem.backend.product_paths(problem))


def choose(problem: Problem, wanted: str, limit: int, title: str, keep: str | None = None) -> tuple[ProductPath, Plan]:
    """Return the chosen path and the plan; raise an error before anything large is allocated.

    ``keep`` names a path that is already prepared; it is kept unless another path is much faster.
    """
    paths = list(problem.backend.product_paths(problem))
    allowed = [path for path in paths if path.answers_to(wanted)] if wanted != "auto" else _exact(problem, paths)
    if not allowed:
        possible = ", ".join(sorted({path.name for path in paths}))
        raise ValueError(f"path is {wanted!r}, but this product can only be computed by {possible}")
    fitting = [path for path in allowed if _memory(path, problem) <= limit]
    if not fitting:
        raise MemoryError(_too_large(min(allowed, key=lambda path: _memory(path, problem)), problem, limit, wanted))
    rates = _rates(problem, fitting)
    estimates = {path.name: _estimate(path, problem, rates) for path in paths}
    best = min(fitting, key=lambda path: estimates[path.name].seconds)
    for path in fitting:
        if path.name == keep and estimates[path.name].seconds < 1.5 * estimates[best.name].seconds:
            best = path
    source = "rates of this machine" if rates.measured else "typical rates, since the choice is clear"
    ordered = tuple(sorted(estimates.values(), key=lambda estimate: estimate.seconds))
    reason = _reason(problem, wanted, best, paths, allowed, fitting, limit, keep)
    return best, Plan(best.name, reason, ordered, limit, title, source)


def _exact(problem: Problem, paths: list[ProductPath]) -> list[ProductPath]:
    """Return the paths that may be chosen.

    If a dense factor has NaN or infinity, it must come first, and missing edges must not be filled with zeros. The path
    then adds up the same terms as NumPy.
    """
    bad = [part.name for part in (problem.M, problem.N) if part.thin is None and part.name in problem.not_finite]
    sampled = problem.cols is not None
    exact = [path for path in paths if not path.thin and path.first in bad and (path.sparse_entry or not sampled)]
    return exact or paths


def _rates(problem: Problem, paths: list[ProductPath]) -> Rates:
    """Return the rates for comparing paths: typical rates if the choice is clear, else measured rates."""
    key = (problem.dtype, problem.n_threads, problem.fast)
    typical = problem.backend.rates(*key, measured=False)
    best = min(paths, key=lambda path: path.seconds(typical))
    seconds = best.seconds(typical)
    rivals = [path.seconds(typical) for path in paths if (path.family, path.thin) != (best.family, best.thin)]
    clear = seconds < _SHORT or min(rivals, default=math.inf) > _CLEAR * seconds
    return typical if clear else problem.backend.rates(*key, measured=True)


def _arrays(path: ProductPath, problem: Problem) -> tuple[Allocation, ...]:
    result = Allocation("result", problem.n_row_edges * problem.dtype.itemsize)
    return (result, Allocation("edges", problem.edge_bytes), *path.arrays)


def _memory(path: ProductPath, problem: Problem) -> int:
    return sum(array.n_bytes for array in _arrays(path, problem))


def _estimate(path: ProductPath, problem: Problem, rates: Rates) -> Estimate:
    return Estimate(path.name, path.label, path.seconds(rates), _memory(path, problem), _arrays(path, problem))


def _reason(
    problem: Problem,
    wanted: str,
    best: ProductPath,
    paths: list[ProductPath],
    allowed: list[ProductPath],
    fitting: list[ProductPath],
    limit: int,
    keep: str | None,
) -> str:
    room = format_bytes(limit)
    if best.name == keep:
        return "kept, so that the edges need not be sorted again"
    if wanted != "auto":
        return f"asked for by path={wanted!r}"
    if len(allowed) < len(paths):
        return f"{' and '.join(problem.not_finite)} with NaN or infinity: this path passes them on as NumPy would"
    if len(fitting) < len(allowed):
        return f"the fastest of the {len(fitting)} paths that fit into {room}"
    return f"the fastest of {len(paths)} paths; all fit into {room}"


def _too_large(least: ProductPath, problem: Problem, limit: int, wanted: str) -> str:
    largest = max(_arrays(least, problem), key=lambda array: array.n_bytes)
    helps = ["raise max_memory", "use float32 factors", "use vt.LowRank factors", "take fewer edges at a time"]
    if wanted != "auto":
        helps.insert(0, "leave path='auto'")
    return (
        f"path {least.name!r} needs {format_bytes(_memory(least, problem))}, but max_memory is {format_bytes(limit)}; "
        f"its largest array is the {largest.name} with {format_bytes(largest.n_bytes)}. What helps: {', '.join(helps)}"
    )
