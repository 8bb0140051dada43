"""The uncertainty of ridge regression: the posterior of a Gaussian process with the kernel of the edges.

Ridge regression is the mean of a Gaussian process f. Relative to its scale, the prior covariance of f is the kernel,
and the label of a training edge of weight h has noise of variance ``α / h``. The posterior variance at an edge with
features z in a basis that diagonalizes the degree model (`DegreeModel`) is

    α zᵀ H⁻¹ z + k(d, d) g(t, t) - ‖φ‖² ‖ψ‖²,      H = Zᵀ diag(h) Z + α I

The last two terms count the part that the basis does not span. This part is zero for training vertices. An intercept
has a flat prior: z is then centered at the mean feature of the training edges, and the variance of that mean is
added.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.sparse import issparse

from vectrick._typing import Array
from vectrick.data import Edges, Graph, VertexTable
from vectrick.inference.covariances import Columns, DegreeColumns, DenseColumns
from vectrick.inference.fitted_kernel import diagonal_of, values_between
from vectrick.losses import Loss, Squared, WithIntercept
from vectrick.models.edge_kernel import EdgeKernel
from vectrick.models.graph_side import GraphSide
from vectrick.models.limits import check_memory, checked_features
from vectrick.models.preconditioning import Preconditioning, thin_maps
from vectrick.objectives.degrees import Basis
from vectrick.objectives.space import Primal
from vectrick.operators import kron
from vectrick.operators.kron import KronOperator
from vectrick.solvers.linear.columns import solve_columns

DENSE = 2000  # training edges up to which their kernel matrix is decomposed
_AT_ONCE = 1 << 24  # doubles of a matrix with a block of edges and all samples, or all training edges
_COLUMNS_AT_ONCE = 16  # right-hand sides of a block
_ROUGH, _FINE = 1e-4, 1e-11  # tolerances for samples (their error is larger anyway) and for single edges


@dataclass(frozen=True)
class RidgeEdges:
    """The training edges of a ridge regression, on the host, with vertices numbered as in its kernels."""

    kernel: EdgeKernel
    graph: Graph
    weight: Array | None
    alpha: float
    has_intercept: bool
    factor_tol: float = 1e-12
    n_threads: int | None = None

    @property
    def loss(self) -> Loss:
        """The loss for zero labels; its curvature is the same for all labels."""
        loss = Squared(np.zeros(len(self.graph.start)), self.weight)
        return WithIntercept(loss) if self.has_intercept else loss


class Posterior(ABC):
    """The posterior of a ridge regression, relative to its scale."""

    method: str  # a description in words

    def __init__(self, trained: RidgeEdges) -> None:
        self.trained, self.kernel = trained, trained.kernel

    def prior(self, edges: Edges) -> Array:
        """Return the prior variance of edges."""
        graph = Graph.of(edges)
        first, second = self._diagonals(edges, graph)
        return first[graph.start] * second[graph.end]

    def _diagonals(self, edges: Edges, graph: Graph) -> tuple[Array, Array]:
        start = diagonal_of(self.kernel.start, edges.start_table, graph.used_start)
        return start, diagonal_of(self.kernel.end, edges.end_table, graph.used_end)

    def _prior_covariance(self, edges: Edges, graph: Graph) -> Array:
        start = values_between(self.kernel.start, edges.start_table, graph.used_start)
        end = values_between(self.kernel.end, edges.end_table, graph.used_end)
        result: Array = start[np.ix_(graph.start, graph.start)] * end[np.ix_(graph.end, graph.end)]
        return result

    @abstractmethod
    def variance(self, edges: Edges) -> tuple[Array, Array]:
        """Return the posterior variances of edges, and their standard errors (zero if exact)."""

    @abstractmethod
    def covariance(self, edges: Edges) -> Array:
        """Return the posterior covariances between a moderate number of edges."""

    @abstractmethod
    def columns(self, edges: Edges) -> Columns:
        """Return the columns of the covariance matrix of edges; on large graphs by the degree model."""


class DensePosterior(Posterior):
    """The posterior from the kernel matrix of the training edges; O(n³) once, O(n²) for an edge."""

    def __init__(self, trained: RidgeEdges) -> None:
        super().__init__(trained)
        graph, kernel = trained.graph, trained.kernel
        n = len(graph.start)
        self.method = f"exact, from the kernel matrix of {n} training edges"
        K, G = kernel.start.matrix, kernel.end.matrix
        A = K[np.ix_(graph.start, graph.start)] * G[np.ix_(graph.end, graph.end)]
        A[np.diag_indices(n)] += trained.alpha if trained.weight is None else trained.alpha / trained.weight
        try:
            self._factor = cho_factor(A, lower=True, overwrite_a=True)
        except np.linalg.LinAlgError as error:
            raise ValueError(
                f"alpha is {trained.alpha:g}, so small that the kernel matrix of the edges cannot be decomposed; a "
                f"posterior needs a larger one ({error})"
            ) from None
        self._ones = cho_solve(self._factor, np.ones(n))

    def _cross(self, edges: Edges) -> tuple[Array, Graph]:
        """Return the kernel values between edges and the training edges."""
        graph, trained = Graph.of(edges), self.trained.graph
        first = self.kernel.start.rows(checked_features(edges.start_table, graph.used_start))
        second = self.kernel.end.rows(checked_features(edges.end_table, graph.used_end))
        return first[graph.start][:, trained.start] * second[graph.end][:, trained.end], graph

    def variance(self, edges: Edges) -> tuple[Array, Array]:
        """Return the exact posterior variances of edges."""
        variance = self.prior(edges)
        for low in range(0, len(edges), _AT_ONCE // len(self._ones)):
            part = slice(low, low + _AT_ONCE // len(self._ones))
            cross, _ = self._cross(edges[part])
            halves = solve_triangular(self._factor[0], cross.T, lower=True)
            variance[part] -= (halves * halves).sum(0)
            if self.trained.has_intercept:
                variance[part] += (1.0 - cross @ self._ones) ** 2 / self._ones.sum()
        return np.maximum(variance, 0.0), np.zeros(len(edges))

    def covariance(self, edges: Edges) -> Array:
        """Return the posterior covariances between edges."""
        cross, graph = self._cross(edges)
        covariance: Array = self._prior_covariance(edges, graph) - cross @ cho_solve(self._factor, cross.T)
        if self.trained.has_intercept:
            rest = 1.0 - cross @ self._ones
            covariance += rest[:, None] * rest / self._ones.sum()
        return covariance

    def columns(self, edges: Edges) -> Columns:
        """Return the columns of the covariance matrix of edges."""
        cross, _ = self._cross(edges)
        halves = solve_triangular(self._factor[0], cross.T, lower=True)
        if self.trained.has_intercept:
            rest = (1.0 - cross @ self._ones) / self._ones.sum() ** 0.5
            return DenseColumns(self.kernel, edges, halves, rest)
        return DenseColumns(self.kernel, edges, halves, None)


class FeaturePosterior(Posterior):
    """The posterior in the features of the degree model M; on a complete graph, M is equal to H.

    On other graphs ``zᵀ H⁻¹ z`` is estimated from samples ``c ~ N(0, M)``: it is the mean of ``(zᵀ H⁻¹ c) (zᵀ M⁻¹ c)``,
    and ``(zᵀ M⁻¹ c)²`` with the known mean ``zᵀ M⁻¹ z`` is the control variate. For few edges, the
    linear systems are solved instead.

    Parameters
    ----------
    trained : RidgeEdges
        The training edges.
    n_samples : int
        The number of samples; with 0, M replaces H.
    seed : int
        The seed of the samples.
    """

    def __init__(self, trained: RidgeEdges, n_samples: int, seed: int = 0) -> None:
        super().__init__(trained)
        loss = trained.loss
        thin = thin_maps(trained.kernel, trained.factor_tol)
        problem = Preconditioning(trained.kernel, trained.graph, thin, loss, np.dtype(np.float64), trained.n_threads)
        self.sides, model = problem.sides, problem.model()
        assert isinstance(model.space, Primal)
        self.bases, self.space = (model.start, model.end), model.space
        self.curvature = loss.curvature(np.zeros(len(trained.graph.start)))
        self.inverse = model.preconditioner(self.curvature, trained.alpha, as_made=True)
        self.diagonal = self.inverse.inverse.reshape(-1)
        h = np.ones(self.space.n_edges) if trained.weight is None else trained.weight
        self.total = float(h.sum())
        self.mean = self.space.lift(h) / self.total if trained.has_intercept else None
        self.is_exact = trained.weight is None and trained.graph.is_complete
        self.n_samples, self.seed = (0 if self.is_exact else n_samples), seed
        if self.is_exact:
            self.method = "exact, in closed form on a complete graph"
        elif n_samples:
            self.method = f"from {n_samples} samples, with the degree model as control variate"
        else:
            self.method = "by the degree model"

    @cached_property
    def _samples(self) -> tuple[Array, Array]:
        """``H⁻¹ c`` and ``M⁻¹ c`` for samples c, as columns."""
        rng, size = np.random.default_rng(self.seed), self.space.size
        noise = np.concatenate([_noise(rng, size, n) for n in _halves(self.n_samples)], axis=1)
        roots = self.diagonal**0.5
        inverse = self.inverse
        if inverse.mean is not None:
            # M - s m mᵀ = M^½ (I - s u uᵀ) M^½ with u = M^-½ m.
            u = inverse.mean / roots
            square = float(u @ u)
            left = 1.0 / (1.0 + inverse.scale * square)  # 1 - s ‖u‖²
            noise = noise - ((1.0 - left**0.5) / square) * u[:, None] * (u @ noise)
        c = np.ascontiguousarray(noise / roots[:, None])
        return self._solved(c, _ROUGH), inverse.times(c)

    def _solved(self, c: Array, tol: float) -> Array:
        """Return ``H⁻¹ c`` for columns."""
        starts = range(0, c.shape[1], _COLUMNS_AT_ONCE)
        columns = [np.ascontiguousarray(c[:, low : low + _COLUMNS_AT_ONCE]) for low in starts]
        how = self.trained.alpha, self.inverse, tol
        return np.concatenate([solve_columns(self.space, self.curvature, part, *how) for part in columns], axis=1)

    def _features(self, side: GraphSide, basis: Basis, table: VertexTable, used: Array) -> Array:
        """Return the features of vertices in the basis of the degree model."""
        features = checked_features(table, used)
        if side.map is None:
            assert basis.inverse is not None
            values: Array = side.kernel.rows(features) @ basis.inverse
            return values
        plain = side.map.transform(features)
        plain = plain.toarray() if issparse(plain) else plain
        assert basis.turn is not None
        turned: Array = (plain * side.scale**0.5) @ basis.turn
        return turned

    def features_of(self, edges: Edges) -> tuple[Graph, Array, Array]:
        """Return edges as a graph, and the features of its start and end vertices."""
        graph = Graph.of(edges)
        tables = (edges.start_table, graph.used_start), (edges.end_table, graph.used_end)
        start, end = (
            self._features(side, basis, *table)
            for side, basis, table in zip(self.sides, self.bases, tables, strict=True)
        )
        return graph, start, end

    def variance(self, edges: Edges) -> tuple[Array, Array]:
        """Return the posterior variances of edges, and their standard errors."""
        graph, start, end = self.features_of(edges)
        error = np.zeros(len(edges))
        if 0 < len(edges) <= self.n_samples // 2 and "_samples" not in self.__dict__:
            return np.maximum(self._covariance(edges, graph, start, end).diagonal(), 0.0), error
        first, second = self._diagonals(edges, graph)
        inside = (start**2).sum(1)[graph.start] * (end**2).sum(1)[graph.end]
        variance = np.maximum(first[graph.start] * second[graph.end] - inside, 0.0)
        block = max(1, _AT_ONCE // max(self.n_samples, 1))
        for low in range(0, len(edges), block):
            part = slice(low, low + block)
            of_features, error[part] = self._of_features(start, end, (graph.end[part], graph.start[part]))
            variance[part] += of_features
        return np.maximum(variance, 0.0), error

    def _of_features(self, start: Array, end: Array, rows: tuple[Array, Array]) -> tuple[Array, Array]:
        """Return ``α zᵀ H⁻¹ z`` of edges between vertices with these features, and its standard error."""
        alpha, n_threads = self.trained.alpha, self.trained.n_threads
        squares = kron(end**2, start**2, n_threads=n_threads, once=True)[rows, :]
        operator = kron(end, start, n_threads=n_threads)[rows, :]
        base = squares @ self.diagonal + self._beside(operator)
        of_mean = 0.0 if self.mean is None else 1.0 / self.total
        if not self.n_samples:
            return alpha * (base + of_mean), np.zeros(len(base))
        solved, moved = (operator @ c - self._at_mean(c) for c in self._samples)
        mean, error = with_control_variate(solved * moved, moved * moved, base)
        return alpha * (mean + of_mean), alpha * error

    def _beside(self, operator: KronOperator) -> Any:
        """Return the terms that centering z and M adds to ``zᵀ M⁻¹ z`` if there is an intercept."""
        mean, inverse = self.mean, self.inverse
        if mean is None:
            return 0.0
        moved = self.diagonal * mean
        added = float(mean @ moved) - 2 * (operator @ moved)
        if inverse.mean is not None:
            added = added + inverse.scale * (operator @ inverse.mean - float(mean @ inverse.mean)) ** 2
        return added

    def _at_mean(self, c: Array) -> Any:
        return 0.0 if self.mean is None else self.mean @ c

    def covariance(self, edges: Edges) -> Array:
        """Return the posterior covariances between edges, with one solve per edge."""
        return self._covariance(edges, *self.features_of(edges))

    def _covariance(self, edges: Edges, graph: Graph, start: Array, end: Array) -> Array:
        check_memory("the features of edges", len(edges), self.space.size)
        z = (end[graph.end][:, :, None] * start[graph.start][:, None, :]).reshape(len(edges), -1)
        rest = self._prior_covariance(edges, graph) - z @ z.T
        v = z if self.mean is None else z - self.mean
        solved = self.inverse.times(np.ascontiguousarray(v.T)) if self.is_exact else self._solved(v.T, _FINE)
        inside = v @ solved + (0.0 if self.mean is None else 1.0 / self.total)
        covariance: Array = self.trained.alpha * 0.5 * (inside + inside.T) + rest
        return covariance

    def columns(self, edges: Edges) -> Columns:
        """Return the columns of the covariance matrix of edges by the degree model."""
        return DegreeColumns(self, edges)

    def draws(self, edges: Edges, n: int, seed: int) -> Array:
        """Return the values at edges of functions drawn from the posterior with mean zero, one column per function."""
        rng, space, trained = np.random.default_rng(seed), self.space, self.trained
        h = np.ones(space.n_edges) if trained.weight is None else trained.weight
        noise = np.sqrt(h)[:, None] * rng.standard_normal((space.n_edges, n))
        if self.mean is not None:
            noise -= h[:, None] * (noise.sum(0) / self.total)
        # Its covariance is H, so the covariance of the solution is the inverse of H.
        c = np.stack([space.lift(np.ascontiguousarray(column)) for column in noise.T], axis=1)
        c += trained.alpha**0.5 * rng.standard_normal(c.shape)
        solved = self._solved(c, _ROUGH)
        graph, start, end = self.features_of(edges)
        values = kron(end, start, n_threads=trained.n_threads)[(graph.end, graph.start), :] @ solved
        values -= self._at_mean(solved)
        if self.mean is not None:
            values += rng.standard_normal(n) / self.total**0.5
        first, second = self._diagonals(edges, graph)
        inside = (start**2).sum(1)[graph.start] * (end**2).sum(1)[graph.end]
        rest = np.sqrt(np.maximum(first[graph.start] * second[graph.end] - inside, 0.0))
        drawn: Array = trained.alpha**0.5 * values + rest[:, None] * rng.standard_normal((len(edges), n))
        return drawn

    def side_shares(self, table: VertexTable, used: Array, name: str) -> Array:
        """Return the share of the prior variance of vertices of one side that the degree model leaves unexplained.

        Both variances are means over the edges to all training vertices of the other side.
        """
        own, other = (0, 1) if name == "start" else (1, 0)
        features = self._features(self.sides[own], self.bases[own], table, used) ** 2
        others = self.bases[other].features ** 2
        inverse = self.inverse.inverse if own == 1 else self.inverse.inverse.T
        inside = features.sum(1) * others.sum(1).mean()
        there = self.sides[other].kernel
        prior = diagonal_of(self.sides[own].kernel, table, used) * diagonal_of(there, there.known, there.used).mean()
        left = self.trained.alpha * (features @ (inverse @ others.mean(0))) + np.maximum(prior - inside, 0.0)
        return share_of(left, prior)


def posterior(trained: RidgeEdges, n_samples: int, seed: int = 0) -> Posterior:
    """Return the posterior of a ridge regression: exact if that is cheap, else from samples or by the degree model."""
    graph = trained.graph
    if n_samples and len(graph.start) <= DENSE and not (trained.weight is None and graph.is_complete):
        return DensePosterior(trained)
    return FeaturePosterior(trained, n_samples, seed)


def _halves(n: int) -> tuple[int, int]:
    """Return the numbers of samples of two independent halves."""
    return n // 2, n - n // 2


def _noise(rng: np.random.Generator, size: int, n: int) -> Array:
    """Return n columns with identity covariance; orthogonal if possible, for a smaller sampling error."""
    noise = rng.standard_normal((size, n))
    return noise if n > size else np.linalg.qr(noise)[0] * size**0.5


def with_control_variate(values: Array, control: Array, known: Array) -> tuple[Array, Array]:
    """Return an unbiased estimate of the mean of values, and its standard error; each column is a sample.

    The control variate has a known mean. Its coefficient is estimated on the other half of the samples, so that the
    estimate stays unbiased. If both have nearly the same mean, the coefficient is close to one.

    >>> import numpy as np
    >>> control = np.random.default_rng(0).standard_normal((1, 200)) ** 2
    >>> with_control_variate(2 * control, control, np.ones(1))[0].round(12)
    array([2.])
    """
    n = values.shape[1]
    halves = slice(0, _halves(n)[0]), slice(_halves(n)[0], n)
    shares = [values[:, half].sum(1) / np.maximum(control[:, half].sum(1), 1e-300) for half in halves]
    total, squares = np.zeros(len(values)), np.zeros(len(values))
    for half, share in zip(halves, shares[::-1], strict=True):
        rest = values[:, half] - share[:, None] * (control[:, half] - known[:, None])
        total += rest.sum(1)
        squares += ((rest - rest.mean(1)[:, None]) ** 2).sum(1)
    return total / n, np.sqrt(squares / max(n - 2, 1) / n)


def share_of(variance: Array, prior: Array) -> Array:
    """Return variances as shares of the prior variance, between zero and one; zero if there is no prior variance."""
    return np.clip(np.divide(variance, prior, out=np.zeros(len(prior)), where=prior > 0), 0.0, 1.0)
