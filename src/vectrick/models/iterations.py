"""The number of iterations of conjugate gradients, simulated from an estimated spectrum."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vectrick.objectives.degrees import Preconditioner
from vectrick.objectives.space import Element
from vectrick.solvers.linear.cg import ImageSystem, conjugate_gradients

MOST = 1000  # iterations after which most solvers stop
_RANDOM = 160  # coefficients of the random pattern that represents the graph
_BINS = 200  # in each decade of the spectrum
_BLOCKS, _POWERS = 40, np.geomspace(0.02, 20.0, 200)  # of the values that are missing in a sample
_MATTERS = 0.1  # directions count if their size relative to alpha is above this


Times: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]  # a product with a matrix


@dataclass(frozen=True)
class CountedEigenvalues:
    """Eigenvalues in descending order, and the number of similar eigenvalues that each represents."""

    values: NDArray[Any]
    counts: NDArray[Any]

    @classmethod
    def of_sample(cls, sampled: NDArray[Any], size: int) -> "CountedEigenvalues":
        """Return a spectrum of ``size`` values from a sample that has the same sum, but too few small values.

        The largest third of the sample is kept. Further values fall by a power of their number that keeps the sum.

        >>> import numpy as np
        >>> spectrum = CountedEigenvalues.of_sample(1.0 / np.arange(1, 101.0), 1000)
        >>> round(float(spectrum.counts.sum())), bool(abs(spectrum.values @ spectrum.counts - 5.19) < 0.2)
        (1000, True)
        """
        if len(sampled) >= size:
            return cls(sampled[:size], np.ones(size))
        known = max(1, len(sampled) // 3)
        ends = np.unique(np.geomspace(known, size, _BLOCKS + 1).round())
        places, counts = np.sqrt((ends[:-1] + 1) * ends[1:]) / known, np.diff(ends)
        rest, power = float(sampled[known:].sum()), _POWERS
        sums = (places[:, None] ** -power * counts[:, None]).sum(0) * sampled[known - 1]
        best = power[np.argmin(abs(sums - rest))]
        values = np.concatenate([sampled[:known], sampled[known - 1] * places**-best])
        return cls(values, np.concatenate([np.ones(known), counts]))

    def n_larger(self, threshold: float) -> int:
        """Return the number of eigenvalues above a threshold."""
        return round(float(self.counts[self.values > threshold].sum()))

    def beyond(self, number: int) -> float:
        """Return the sum of all eigenvalues except the ``number`` largest ones."""
        before = np.cumsum(self.counts) - self.counts
        left = np.clip(before + self.counts - number, 0.0, self.counts)
        return float(left @ self.values)

    def times(self, other: "CountedEigenvalues", scale: float) -> "CountedEigenvalues":
        """Return the products of all eigenvalues of both spectra, times ``scale``."""
        values = scale * (self.values[:, None] * other.values).reshape(-1)
        counts = (self.counts[:, None] * other.counts).reshape(-1)
        order = np.argsort(-values, kind="stable")
        return CountedEigenvalues(values[order], counts[order])


def plain_iterations(spectrum: CountedEigenvalues, alpha: float, tol: float, max_iter: int) -> int:
    """Return the iterations of conjugate gradients on a spectrum, with a right-hand side like random labels.

    >>> import numpy as np
    >>> plain_iterations(CountedEigenvalues(np.ones(1), np.ones(1)), 1.0, 1e-6, 100)
    1
    """
    if not spectrum.values[0] > 0:
        return 1
    large = spectrum.values > 1e-12 * spectrum.values[0]
    s, counts = spectrum.values[large], spectrum.counts[large]
    bins = np.floor(_BINS * np.log10(s)).astype(np.int64)
    bins -= bins.min()
    weight, squares = np.bincount(bins, counts * s), np.bincount(bins, counts * s * s)
    filled = weight > 0
    weight, centre = weight[filled], squares[filled] / weight[filled]
    return _iterations(lambda p: (centre + alpha) * p, np.sqrt(weight), np.ones(len(weight)), tol, max_iter)


def pattern_iterations(spectrum: CountedEigenvalues, n_edges: int, alpha: float, tol: float) -> int:
    """Return the preconditioned iterations for a random pattern that is like the graph, but smaller.

    Directions that are much smaller than alpha do not count.
    """
    matter = spectrum.values > _MATTERS * alpha
    if not matter.any():
        return 1
    s, counts = spectrum.values[matter], spectrum.counts[matter]
    size = float(counts.sum())
    p = int(min(_RANDOM, size))
    some = s[np.searchsorted(np.cumsum(counts), (np.arange(p) + 0.5) / p * size)]
    rows = max(1, min(round(n_edges * p / size), 8 * p))
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((rows, p)) * (some / rows) ** 0.5
    b = rng.standard_normal(p) * some**0.5
    matrix = Z.T @ Z + alpha * np.eye(p)
    return _iterations(lambda q: matrix @ q, b, 1.0 / (some + alpha), tol, MOST)


def _iterations(times: Times, b: NDArray[Any], inverse: NDArray[Any], tol: float, max_iter: int) -> int:
    """Return the iterations of conjugate gradients with a matrix and a diagonal preconditioner."""
    system = ImageSystem(times, 0.0, Preconditioner(inverse[None]), tol, float(np.linalg.norm(b)))
    _, n_iter = conjugate_gradients(system, Element(np.zeros_like(b), None), b + 0.0, max_iter)
    return max(1, n_iter)


def more_iterations(left_out: float, tol: float) -> float:
    """Return the number of additional iterations if directions of this size relative to alpha are left out."""
    return float(0.5 * ((1 + left_out) ** 0.5 - 1) * np.log(2 / tol))
