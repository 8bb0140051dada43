"""The generalized vec trick on the paper's Checker graph: a product, its plan, and its time beside the obvious ways."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vectrick as vt
from vectrick.backends.memory import available_memory, format_bytes
from vectrick.backends.reference import generalized_vec_trick
from vectrick.operators.plan import format_seconds, format_table

Array = NDArray[Any]


def checker(m: int, density: float = 0.25, seed: int = 0) -> tuple[Array, Array, Array, Array, Array]:
    """Return the Checker simulation of the paper: Gaussian kernels K and G, edges (start, end), and labels.

    Each vertex has one feature, uniform in (0, 100). An edge is +1 if both features have the same parity when rounded
    down, -1 otherwise, and a fifth of the labels are flipped.
    """
    rng = np.random.default_rng(seed)
    d, t = rng.uniform(0, 100, m), rng.uniform(0, 100, m)
    cells = rng.choice(m * m, int(density * m * m), replace=False)
    start, end = cells // m, cells % m
    y = np.where(np.floor(d[start]) % 2 == np.floor(t[end]) % 2, 1.0, -1.0)
    y[rng.random(len(y)) < 0.2] *= -1
    K, G = (np.exp(-((x[:, None] - x[None, :]) ** 2)) for x in (d, t))
    return K, G, start, end, y


def seconds(work: Callable[[], Any], repeats: int) -> float:
    """Return the shortest of some runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def compare(m: int) -> list[str]:
    """Return a row of the table: one product with the labels, three ways."""
    K, G, start, end, y = checker(m)
    edges = (end, start)  # G ⊗ K, as in the paper
    op = vt.kron(G, K)[edges, edges]
    found = op @ y
    ours = seconds(lambda: op @ y, 5)
    literal = seconds(lambda: generalized_vec_trick(G, K, y, end, start, end, start), 1)
    error = np.abs(found - generalized_vec_trick(G, K, y, end, start, end, start)).max() / np.abs(found).max()
    matrix_bytes = 8 * len(y) ** 2
    if matrix_bytes < min(1e9, available_memory() / 4):
        matrix = K[np.ix_(start, start)]
        matrix *= G[np.ix_(end, end)]
        explicit = format_seconds(seconds(lambda: matrix @ y, 3))
    else:
        explicit = "does not fit"
    sizes = [f"{m} × {m}", f"{len(y):,}", format_seconds(ours), format_seconds(literal)]
    return [*sizes, f"{explicit} ({format_bytes(matrix_bytes)})", f"{error:.0e}"]


def main() -> None:
    """Print the plan of the largest product and the table."""
    K, G, start, end, _ = checker(1000)
    op = vt.kron(G, K)[(end, start), (end, start)]
    print("The Checker graph of the paper: K and G are Gaussian kernels, a quarter of all edges has a label.")
    print("One product of the edge kernel matrix, R (G ⊗ K) Rᵀ v, without forming it. How it will be computed:\n")
    print(op.plan)
    head = ["vertices", "edges", "vectrick", "Algorithm 1 in NumPy", "explicit matrix", "difference"]
    print("\nTime of one product:\n")
    print(format_table(head, [compare(m) for m in (100, 200, 1000)]))


if __name__ == "__main__":
    main()
