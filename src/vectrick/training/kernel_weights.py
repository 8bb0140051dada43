"""Weights of several kernels of edges, learned from labels: by alignment, and by the risk on held-out vertices."""

import itertools
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np
from scipy.optimize import nnls
from scipy.sparse import csr_array, diags_array, issparse
from sklearn.base import clone

from vectrick._typing import Array, ArrayLike
from vectrick._warnings import warn
from vectrick.backends.arrays import like, to_host
from vectrick.data import Graph
from vectrick.kernels import KernelWarning
from vectrick.kernels.pairwise import Antisymmetric, Symmetric, VertexFactors
from vectrick.losses import Loss
from vectrick.models.edge_kernel import EdgeKernel, identity
from vectrick.operators import ONES, Term, kron_sum
from vectrick.training.fitted import Trainable
from vectrick.training.holding_out import hold_out_some
from vectrick.training.problem import FitInput

_RIDGE = 0.25  # share of the diagonal that is added per kernel, so that similar kernels share a weight
_ROUNDING = 1e-13  # relative to the square of a kernel; a smaller centered kernel is only rounding
_STEPS = (0.0, 0.25, 4.0)  # factors tried for each weight, to see whether the risk falls
_ROUNDS, _BEST = 2, 4  # rounds over the weights, and the number of best single kernels tried in each


class Alignment:
    """The similarity of kernels of edges to each other and to the labels, without a matrix between edges.

    With ``C = I - 11ᵀ/n``, it computes the inner products of centered kernels, ``M[i, j] = ⟨C Aᵢ C, C Aⱼ C⟩``, and
    their inner products with the labels, ``a[i] = ⟨C Aᵢ C, y yᵀ⟩``. M reduces to traces ``⟨Nᵀ F N, F'⟩``. N counts
    the edges between two vertices; F and F' are elementwise products of vertex kernels, each of one side. This takes
    O(m n + q n) for each F.

    Parameters
    ----------
    kernel : EdgeKernel
        The kernels; their weights are not used.
    graph : Graph
        The training edges.
    y : array
        Their labels.
    """

    def __init__(self, kernel: EdgeKernel, graph: Graph, y: ArrayLike, n_threads: int | None = None) -> None:
        self.n_threads = n_threads
        self.pair, self.y = _pair(graph), np.asarray(to_host(y), np.float64)
        self.sizes = len(graph.used_start), len(graph.used_end)
        kinds = {type(component.pairwise) for component in kernel.components}
        self._counts: dict[Any, Any] = {}
        self._inner: dict[Any, Any] = {}
        factors = _host_factors(kernel)
        self.own = self.pair, [each.pairwise.terms(*_both(factors, each, kernel)) for each in kernel.components]
        if kinds <= {Symmetric} or kinds <= {Antisymmetric}:
            # The traces of these kernels do not factor, but the traces of the Kronecker kernel on edges in both
            # directions do. For labels with the symmetry, its inner product with the labels is the same.
            sign = kernel.symmetry
            self.pair = np.concatenate(self.pair), np.concatenate(self.pair[::-1])
            self.y = np.concatenate([self.y, sign * self.y])
            self.terms = [[Term(1.0, *(2 * [factors[each.start].kernel]))] for each in kernel.components]
        else:
            self.terms = self.own[1]
        self.labels = kernel.labels

    def matrices(self) -> tuple[Array, Array]:
        """Return M and a; kernels that are the same for all edges have zeros, since centering removes them."""
        n, k = len(self.y), len(self.terms)
        block = np.column_stack([np.ones(n), self.y - self.y.mean()])
        products = [
            kron_sum(terms, self.pair, self.pair, once=True, n_threads=self.n_threads) @ block for terms in self.terms
        ]
        rows = np.array([product[:, 0] for product in products])  # A 1
        totals = rows.sum(axis=1)
        M, plain_squares = np.empty((k, k)), np.empty(k)
        for i, j in itertools.combinations_with_replacement(range(k), 2):
            plain = sum(self._trace(*both) for both in itertools.product(self.terms[i], self.terms[j]))
            M[i, j] = M[j, i] = plain - 2 / n * float(rows[i] @ rows[j]) + totals[i] * totals[j] / n**2
            plain_squares[i] = plain if i == j else plain_squares[i]
        varies = np.diag(M) > _ROUNDING * plain_squares
        a = np.array([float(block[:, 1] @ product[:, 1]) for product in products])
        return np.where(np.outer(varies, varies), M, 0.0), np.where(varies, a, 0.0)

    def mean_diagonals(self) -> Array:
        """Return the mean kernel value of an edge with itself, for each kernel."""
        means, pair = [], self.own[0]
        for terms in self.own[1]:
            total = 0.0
            for term in terms:
                value: Any = term.weight
                for (i, k), factors in _slots(term).items():
                    for factor in factors:
                        value = value * np.asarray(factor[pair[i], pair[k]]).ravel()
                total += float(np.mean(value))
            means.append(total)
        return np.array(means)

    def _trace(self, term: Term, other: Term) -> float:
        """Return the sum of the products of all entries of two terms."""
        slots = _slots(term)
        for place, factors in _slots(other).items():
            slots[place] = slots.get(place, []) + factors
        weight = term.weight * other.weight
        if len(slots) > 2:
            raise ValueError(
                f"kernel_weights cannot be learned for these kernels of edges, {'; '.join(self.labels)}: 'mlpk', and "
                "'symmetric' or 'antisymmetric' together with other kinds, have no inner products without a matrix "
                "between edges; give the weights"
            )
        if not slots:
            return weight * float(len(self.y)) ** 2
        ((i, k), first), *rest = slots.items()
        if not rest:
            return weight * float(self._sums(i) @ (_all_together(first) @ self._sums(k)))
        (((j, m), second),) = rest
        # Kernels with the same factors at one end share this product: it is computed once.
        key = i, k, j, m, *sorted(map(id, first))
        if key not in self._inner:
            self._inner[key] = self._count(i, j).T @ _all_together(first) @ self._count(k, m)
        return weight * float(_elementwise(_all_together(second), self._inner[key]).sum())

    def _sums(self, i: int) -> Array:
        return np.bincount(self.pair[i], minlength=self.sizes[i]).astype(np.float64)

    def _count(self, i: int, j: int) -> Any:
        """Return the number of edges for each pair of vertices at the indices i and j."""
        if (i, j) not in self._counts:
            if i == j:
                self._counts[i, j] = diags_array(self._sums(i)).tocsr()
            else:
                ones = np.ones(len(self.y))
                shape = self.sizes[i], self.sizes[j]
                self._counts[i, j] = csr_array((ones, (self.pair[i], self.pair[j])), shape)
        return self._counts[i, j]


def aligned_weights(kernel: EdgeKernel, graph: Graph, y: Array, n_threads: int | None = None) -> Array:
    """Return the nonnegative weights for which the sum of centered kernels is most similar to ``y yᵀ`` of the labels.

    They minimize ``μᵀ (M + ρ diag M) μ - 2 aᵀ μ`` over ``μ ≥ 0``. Except for a constant and for ρ, a fourth of the
    number of kernels, this is ``‖Σ μᵢ C Aᵢ C - C y yᵀ C‖²``. Kernels of the same vertices are very similar; without
    ρ, noise would decide which of them get the weight. The weights are scaled so that the mean kernel value of an
    edge with itself is one.
    """
    alignment = Alignment(kernel, graph, y, n_threads)
    M, a = alignment.matrices()
    weights, used = np.zeros(len(a)), np.flatnonzero(np.diag(M))
    if len(used):
        M = M[np.ix_(used, used)]
        weights[used] = nonnegative_minimum(M + _RIDGE * len(a) * np.diag(np.diag(M)), a[used])
    if not weights.any():
        warn("no kernel is aligned with the labels, so all kernels get the same weight", KernelWarning)
        weights = 1.0 / np.maximum(alignment.mean_diagonals(), 1e-300)
    return normalised(weights, alignment.mean_diagonals())


def nonnegative_minimum(M: Array, a: Array) -> Array:
    """Return the minimum of ``μᵀ M μ - 2 aᵀ μ`` over ``μ ≥ 0`` for a positive semi-definite M.

    >>> import numpy as np
    >>> nonnegative_minimum(np.eye(2), np.array([3.0, -1.0]))
    array([3., 0.])
    """
    scale = np.sqrt(np.maximum(np.diag(M), 1e-300))
    values, vectors = np.linalg.eigh(M / np.outer(scale, scale))
    kept = values > 1e-12 * values[-1]
    roots = np.sqrt(values[kept])[:, None]
    minimum, _ = nnls(roots * vectors[:, kept].T, (vectors[:, kept].T @ (a / scale)) / roots[:, 0])
    return np.asarray(minimum / scale)


def normalised(weights: Array, diagonals: Array) -> Array:
    """Return weights scaled so that the mean kernel value of edges with themselves is one."""
    mean = float(weights @ diagonals)
    return weights / mean if mean > 0 else weights


def refined_weights(start: Array, diagonals: Array, risk: Callable[[Array], float]) -> Array:
    """Return weights with a lower risk than ``start`` if possible, by changing one weight at a time.

    It first tries each kernel alone and equal weights. It then changes the nonzero weights and the weights of the
    kernels that are best alone.
    """
    units = 1.0 / np.maximum(diagonals, 1e-300)
    alike = normalised(units, diagonals)
    alone = [risk(unit * row) for unit, row in zip(units, np.eye(len(units)), strict=True)]
    first = np.argsort(alone, kind="stable")[:_BEST]
    tried = [start, alike, np.eye(len(units))[first[0]] * units]
    risks = [risk(start), risk(alike), alone[first[0]]]
    least, best = min(risks), tried[int(np.argmin(risks))]
    for _ in range(_ROUNDS):
        before = least
        candidates = np.union1d(first, np.flatnonzero(best))
        for i, step in itertools.product(candidates.tolist(), _STEPS):
            changed = best.copy()
            changed[i] = step * best[i] if best[i] > 0 else step * alike[i] / 4
            if not changed.any() or np.array_equal(changed, best):
                continue
            changed = normalised(changed, diagonals)
            new_risk = risk(changed)
            if new_risk < least:
                least, best = new_risk, changed
        if least == before:
            break
    return np.asarray(best)


def _pair(graph: Graph) -> tuple[Array, Array]:
    return np.asarray(to_host(graph.start), np.int64), np.asarray(to_host(graph.end), np.int64)


def _host_factors(kernel: EdgeKernel) -> dict[Any, VertexFactors]:
    """Return the matrices of all vertex kernels; kernels of the end have negative keys."""
    factors: dict[Any, VertexFactors] = {}
    for sign, sides in ((1, kernel.starts), (-1, () if kernel.one_set else kernel.ends)):
        for i, side in enumerate(sides):
            matrix = np.asarray(to_host(side.matrix), np.float64)
            factors[i if sign > 0 else -1 - i] = VertexFactors(matrix, partial(identity, len(matrix), matrix.dtype))
    return factors


def _both(factors: dict[Any, VertexFactors], component: Any, kernel: EdgeKernel) -> tuple[VertexFactors, VertexFactors]:
    return factors[component.start], factors[component.end if kernel.one_set else -1 - component.end]


def _slots(term: Term) -> dict[tuple[int, int], list[Any]]:
    """Return the factors of a term by their indices of row and column."""
    slots: dict[tuple[int, int], list[Any]] = {}
    for factor, place in zip(term.factors, zip(term.rows, term.cols, strict=True), strict=True):
        if factor is not ONES:
            slots.setdefault(place, []).append(factor)
    return slots


def _all_together(factors: list[Any]) -> Any:
    """Return the elementwise product of some matrices."""
    return reduce(_elementwise, factors)


def _elementwise(A: Any, B: Any) -> Any:
    """Return the elementwise product."""
    if issparse(A) or issparse(B):
        return csr_array(A.multiply(B) if issparse(A) else B.multiply(A))
    return A * B


def learned_weights(estimator: Trainable, kernel: EdgeKernel, given: FitInput, graph: Graph, loss: Loss) -> Array:
    """Return the kernel weights by alignment, refined by the risk on held-out vertices if requested."""
    if estimator.kernel_weights == "alignment":
        return aligned_weights(kernel, graph, loss.y, estimator.n_threads)
    train, test = hold_out_some(estimator, given.edges, loss.y, None)
    model = clone(estimator).set_params(early_stopping=False, kernel_weights="alignment", verbose=0)
    inside, others, y = given.edges[train], given.edges[test], loss.y
    if given.bounds is not None:
        raise ValueError("kernel_weights are to be learned, but y has bounds; learning needs labels without bounds")
    held = estimator._make_loss(given.loss_type, y[test], None, others)

    def risk(weights: Array) -> float:
        model.set_params(kernel_weights=weights).fit(inside, y[train])
        return held.value(like(model._decide(others), y))

    aligned = model.fit(inside, y[train]).kernel_weights_
    return refined_weights(aligned, Alignment(kernel, graph, y).mean_diagonals(), risk)
