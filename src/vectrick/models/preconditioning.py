"""The preconditioner of a fit: whether the degree model pays, and the degree model of a form.

In primal form it pays if its two eigendecompositions are cheap. In dual form they are as large as the kernels, so
"auto" compares predicted times. The iterations without it are simulated on a diagonal matrix with the spectrum of the
degree model, estimated from some of the vertices. The iterations with it depend on how much the pattern of edges
differs from its degrees; they are simulated with a random pattern. The planner estimates the time of products.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

import numpy as np

from vectrick._typing import PreconditionerName
from vectrick.backends import Backend
from vectrick.backends.arrays import placed, to_host, zeros
from vectrick.backends.threads import count_threads
from vectrick.data import Graph
from vectrick.losses import Curvature, Loss
from vectrick.models.edge_kernel import EdgeKernel
from vectrick.models.forms import Form, Maps, find_factor
from vectrick.models.graph_side import GraphSide
from vectrick.models.iterations import MOST, CountedEigenvalues, more_iterations, pattern_iterations, plain_iterations
from vectrick.models.vertex_kernel import SpectralMap
from vectrick.objectives.degree_model import DegreeModel, NoDegreeModelError, centred_side, curvature_of, degrees_of
from vectrick.objectives.space import Dual, Primal
from vectrick.operators import plan_kron
from vectrick.operators.plan import format_seconds
from vectrick.solvers.linear.preconditioned import Patience

PRECONDITIONERS = get_args(PreconditionerName)

_FAR = 4.0  # if a fit takes this many times as long without it, the exact number does not matter
_EIGEN = 12.0  # flops of an eigendecomposition over n³, at the speed of a matrix product
_LARGE = 600  # vertices from which the largest directions may suffice for a side without a low-rank factor
_LEFT_OUT = (8.0, 4.0, 2.0, 1.0, 0.5)  # sizes relative to alpha up to which directions may be left out
_MORE_THAN = 32  # the minimum number of directions
_FOR_EDGES = 0.1  # the share of a product's time that does not depend on the number of directions
_SAVED = 20  # iterations that it saves at least if a fit runs to convergence
_PASSES = 10.0  # flops to find directions, relative to m² rank and to m rank²
_TURNS = 20  # transforming coefficients for this many iterations must be faster than sorting the edges again
_AHEAD = 0.85  # the predicted time must be below this share of the time without,
_FAR_AHEAD = 0.35  # or this share for Newton's method in dual form: it often takes longer and cannot give up
_WORTH = 0.03  # the minimum number of seconds to save
_SHORT = 0.1  # a forecast does not pay if a fit without it takes at most this many seconds
# Graphs have structure, so they take more iterations than a random pattern, by a factor and by a power. The power is
# larger for Newton's method, since it does not notice that it takes more.
_UNSEEN, _POWERS = 1.5, (1.1, 1.2)
# Iterations of all systems of Newton's method relative to its first system, without and with the preconditioner.
_STEPS = (1.2, 2.5)


Ranks = tuple[int | None, int | None]  # of the start and the end; None for the whole basis


def words_of(ranks: Ranks) -> str:
    """Return the number of directions as text, empty if all are used."""
    sides = zip(("start", "end"), ranks, strict=True)
    text = [f"{rank} {side} directions" for side, rank in sides if rank is not None]
    return f"; it has the largest {' and '.join(text)}" if text else ""


@dataclass(frozen=True)
class Prediction:
    """One candidate for preconditioning: the ranks of its bases, with predicted iterations and times."""

    iterations: float
    step: float  # seconds of an iteration
    setup: float  # seconds before the first
    ranks: Ranks = (None, None)

    @property
    def seconds(self) -> float:
        """The predicted time."""
        return self.iterations * self.step + self.setup


@dataclass(frozen=True)
class Forecast:
    """The predicted iterations and time of a fit, with and without the preconditioner."""

    iterations: tuple[int, int]  # without, with
    seconds: tuple[float, float]
    patience: Patience
    way: Prediction
    is_far: bool = False  # whether a fit without it takes more than the numbers here
    ahead: float = _AHEAD

    @property
    def pays(self) -> bool:
        """Whether the preconditioner saves time; with ``is_far``, the time without it is only a lower bound."""
        return self.is_far or self.seconds[1] <= min(self.ahead * self.seconds[0], self.seconds[0] - _WORTH)

    def __str__(self) -> str:
        (without, with_it), times = self.iterations, [format_seconds(seconds) for seconds in self.seconds]
        more = "more than " if self.is_far else ""
        text = f"about {with_it} iterations ({times[1]}) with it, {more}{without} ({times[0]}) without"
        return text + words_of(self.way.ranks)


class Preconditioning:
    """The degree model of a form before it is computed: its sides, its forecast, and the model on request."""

    def __init__(
        self,
        kernel: EdgeKernel,
        graph: Graph,
        thin: Maps,
        loss: Loss,
        dtype: np.dtype[Any],
        n_threads: int | None,
    ) -> None:
        self.graph, self.loss, self.dtype, self.n_threads = graph, loss, dtype, n_threads
        self.symmetry, scale = _symmetry(kernel)
        self.start = GraphSide("start", kernel.start, thin[0], scale)
        self.end = self.start if self.symmetry else GraphSide("end", kernel.end, thin[1], scale)
        self.edges = graph.start, graph.end
        curvature: Curvature = loss.curvature(zeros(len(graph.start), loss.y))
        self.centred = centred_side(curvature, self.edges)
        h = curvature_of(curvature)
        # If the curvature changes during the fit, one basis for the plain degrees is used throughout.
        self.h = h if loss.is_quadratic else h * 0 + 1
        self.curvature = float(h.sum()) / float(self.h.sum())  # on average
        self.total = float(self.h.sum())
        if not self.total > 0 or min(self.start.rank, self.end.rank) == 0:
            raise NoDegreeModelError("the edges have no curvature, or the kernels no features")
        sizes = self.start.n_vertices, self.end.n_vertices
        self.degrees = degrees_of(self.edges, self.h, sizes, self.symmetry)
        if min(float(degrees.min()) for degrees in self.degrees) <= 0:
            raise NoDegreeModelError("there are vertices whose edges have no weight")

    def model(self, form: Form | None = None, ranks: Ranks = (None, None)) -> DegreeModel:
        """Return the degree model: two eigendecompositions, and the edges sorted for products with its features.

        The space of a primal form is used if sorting the edges takes longer than transforming coefficients each step.
        """
        for side, rank in zip(self.sides, ranks, strict=True):
            side.check_memory(rank)
        with self.start.kernel.backend.library_threads(self.n_threads):
            start = self.start.basis(self.degrees[0], self.centred == "start", ranks[0])
            end = start if self.symmetry else self.end.basis(self.degrees[1], self.centred == "end", ranks[1])
        where: dict[str, Any] = {"backend": self.start.kernel.backend, "n_threads": self.n_threads}
        more: dict[str, Any] = {"dtype": self.dtype, "symmetry": self.symmetry, "grouped": self.centred != ""}
        if form is not None and isinstance(form.space, Primal) and _TURNS * self._turning < self._sorting:
            more["space"] = form.space
        if form is not None and isinstance(form.space, Dual) and ranks != (None, None):
            more["kernel"] = form.space.A
        return DegreeModel(start, end, self.edges, **more, **where)

    def is_short(self, form: Form, alpha: float, tol: float) -> bool:
        """Return whether a fit without it takes so little time that a forecast does not pay."""
        largest = [float(side.scale * side.kernel.kernel.diagonal(side.kernel.vertices).max()) for side in self.sides]
        bound = self.total * self.curvature * largest[0] * largest[1]  # no eigenvalue is larger
        iterations = min(MOST, 0.5 * (1 + bound / alpha) ** 0.5 * float(np.log(2 / max(tol, 1e-15))))
        seconds = self._steps[0] * _plain_seconds(form.space)
        if not iterations * seconds > _SHORT:
            return True
        few = int(min(MOST, np.ceil(2 * _WORTH / seconds)))
        return self._plain_iterations(alpha, tol, few) < few

    def forecast(self, form: Form, alpha: float, tol: float) -> Forecast:
        """Return the predicted iterations and time of a fit in dual form."""
        plain, reached = _plain_seconds(form.space), self._reached(form, alpha, tol)
        way = self._best(form, alpha, reached)
        many = _FAR * (self._steps[1] * way.iterations * way.step + way.setup) / (self._steps[0] * plain)
        most = min(MOST, max(1, round(many)))  # iterations with which the choice is clear
        without = self._plain_iterations(alpha, tol, most)
        with_it = min(way.iterations, without)  # it does not take more than without
        iterations = round(self._steps[0] * without), round(self._steps[1] * with_it)
        seconds = iterations[0] * plain, iterations[1] * way.step + way.setup
        patience = Patience(seconds[0] / way.step, reached)
        ahead = _AHEAD if self.loss.is_quadratic else _FAR_AHEAD
        return Forecast(iterations, seconds, patience, way, without == most, ahead)

    def best_ranks(self, form: Form, alpha: float, tol: float) -> Ranks:
        """Return the ranks of the bases with the least predicted time; small sides have whole bases."""
        if not isinstance(form.space, Dual) or not any(self._may_shorten(side) for side in self.sides):
            return None, None
        return self._best(form, alpha, self._reached(form, alpha, tol)).ranks

    @cached_property
    def _spectra(self) -> list[CountedEigenvalues]:
        """The spectra of both sides, sampled."""
        pairs = zip(self.sides, self.degrees, strict=True)
        return [side.sampled_spectrum(to_host(degrees)) for side, degrees in pairs]

    @cached_property
    def _spectrum(self) -> CountedEigenvalues:
        """The spectrum of the degree model."""
        start, end = self._spectra
        return start.times(end, max(self.curvature, 1e-3) / self.total)

    def _plain_iterations(self, alpha: float, tol: float, most: int) -> int:
        """Return the iterations without the preconditioner; directions beyond the number of edges act like alpha."""
        n_edges = len(self.loss.y)
        return plain_iterations(self._spectrum, alpha + self._spectrum.beyond(n_edges) / n_edges, tol, most)

    def _reached(self, form: Form, alpha: float, tol: float) -> float:
        """Return the residual of the features for which the residual of the dual coefficients is small enough."""
        return max(1e-12, tol * min(1.0, 5 * alpha / max(float(self._spectrum.values[0]), 1e-300)))

    def _best(self, form: Form, alpha: float, reached: float) -> Prediction:
        """Return the candidate with the least predicted time."""
        plain, spectra = _plain_seconds(form.space), self._spectra
        random = pattern_iterations(self._spectrum, len(self.loss.y), alpha, reached)
        iterations = round((_UNSEEN * random) ** _POWERS[0 if self.loss.is_quadratic else 1])
        setup = sum(_EIGEN * side.rank**3 / self._gemm for side in self.sides[: 1 if self.symmetry else 2])
        looks = 4 * plain
        ways = [Prediction(iterations, self._preconditioned_seconds, setup + self._sorting + looks)]
        for left_out in _LEFT_OUT if any(self._may_shorten(side) for side in self.sides) else ():
            # The size of a direction is its eigenvalue times the largest eigenvalue of the other side.
            unit = alpha * self.total / max(self.curvature, 1e-3)
            ranks, setup, kept = [], self._sorting + looks, 1.0
            for side, own, other in zip(self.sides, spectra, spectra[::-1], strict=True):
                m = side.n_vertices
                rank = own.n_larger(left_out * unit / max(float(other.values[0]), 1e-300))
                short = self._may_shorten(side) and rank < m // 2
                ranks.append(max(rank, _MORE_THAN) if short else None)
                size = ranks[-1]
                whole = _EIGEN * side.rank**3
                setup += (whole if size is None else _PASSES * (m * m * size + m * size * size)) / self._gemm
                kept *= 1.0 if size is None else size / side.rank
            both = ranks[0], ranks[1]
            if both != (None, None):
                step = plain + (_FOR_EDGES + (1 - _FOR_EDGES) * kept) * self._preconditioned_seconds
                ways.append(Prediction(iterations + more_iterations(left_out, reached), step, setup, both))
        return min(ways, key=lambda way: way.seconds)

    def _may_shorten(self, side: GraphSide) -> bool:
        """Return whether a side has so many directions that the largest ones may suffice."""
        return side.map is None and side.n_vertices >= _LARGE and self.symmetry == 0 and self.centred != side.name

    @property
    def sides(self) -> tuple[GraphSide, GraphSide]:
        """The start and the end."""
        return self.start, self.end

    @property
    def _gemm(self) -> float:
        threads = count_threads(self.n_threads)
        return self.start.kernel.backend.rates(np.dtype(np.float64), threads, False, False).gemm

    @property
    def _sorting(self) -> float:
        """The time to sort the edges for products with other features."""
        return 2 * self.start.kernel.backend.sorting * len(self.loss.y)

    @property
    def _turning(self) -> float:
        """The time to transform coefficients and to transform them back, by one thread."""
        r, s = self.start.rank, self.end.rank
        return 4 * r * s * (r + s) / self._gemm * 2

    @property
    def _steps(self) -> tuple[float, float]:
        return (1.0, 1.0) if self.loss.is_quadratic else _STEPS

    @cached_property
    def _preconditioned_seconds(self) -> float:
        """The time of products with the features of the whole bases and with their transpose."""
        shapes = [(side.n_vertices, side.rank) for side in self.sides]
        S, E = (np.broadcast_to(np.ones((), self.dtype), shape) for shape in shapes)
        backend = self.start.kernel.backend
        S, E = placed(S, backend), placed(E, backend)
        where: dict[str, Any] = {"n_threads": self.n_threads, "backend": backend}
        pair, everything = self.graph.pair, slice(None)
        features = plan_kron(E, S, pair, everything, **where).seconds
        transposed = plan_kron(E.T, S.T, everything, pair, **where).seconds
        return features + transposed


def _plain_seconds(space: Any) -> float:
    """Return the time of an iteration without the preconditioner."""
    operators = (space.A,) if isinstance(space, Dual) else (space.features, space.transposed)
    return float(sum(operator.plan.seconds for operator in operators))


def has_cheap_degrees(ranks: tuple[int, int], seconds: float, backend: Backend, n_threads: int | None) -> bool:
    """Return whether a degree model in primal form takes less time than the iterations it saves, ``seconds`` each.

    >>> from vectrick.backends import HOST
    >>> has_cheap_degrees((100, 100), 0.01, HOST, 2), has_cheap_degrees((5000, 100), 0.01, HOST, 2)
    (True, False)
    """
    rates = backend.rates(np.dtype(np.float64), count_threads(n_threads), False, measured=False)
    return bool(_EIGEN * (ranks[0] ** 3 + ranks[1] ** 3) / rates.gemm <= _SAVED * seconds)


def thin_maps(kernel: EdgeKernel, tolerance: float) -> Maps:
    """Return the low-rank factors of both sides of a Kronecker product, each None if there is none."""
    maps = [find_factor(side, "auto", tolerance) for side in (kernel.start, kernel.end)]
    return maps[0], maps[1]


def primal_form(kernel: EdgeKernel, graph: Graph, thin: Maps, model: DegreeModel) -> Form:
    """Return the primal form with low-rank factors, or features of a degree model for sides without one."""
    maps = []
    for side, features, basis in zip((kernel.start, kernel.end), thin, (model.start, model.end), strict=True):
        maps.append(SpectralMap(side, basis.features, basis.inverse) if features is None else features)
    reason = f"the {model.start.rank} × {model.end.rank} features of the degree model"
    both = maps[0], maps[1]
    return Form("primal", model.space, model.space.transposed.plan, reason, graph, kernel, both, both)


def _symmetry(kernel: EdgeKernel) -> tuple[int, float]:
    """Return the symmetry of the functions, and the scale of a vertex kernel; raise for other sums of kernels."""
    if kernel.is_product:
        return 0, 1.0
    pairwise, weight = kernel.components[0].pairwise, float(kernel.weights[0])
    if len(kernel.components) == 1 and pairwise.is_product:
        return 0, weight**0.5
    if len(kernel.components) == 1 and pairwise.is_mirrored:
        return kernel.symmetry, (2 * weight) ** 0.5
    raise NoDegreeModelError(f"the kernel of edges is {kernel.words}, which is not one Kronecker product")


@dataclass(frozen=True)
class ChosenPreconditioner:
    """The preconditioner of a fit or None, the reason, and when to give it up."""

    model: DegreeModel | None
    reason: str
    patience: Patience | None = None

    def why(self, used: str) -> str:
        """Return the reason for the preconditioner that a fit used in the end."""
        given_up = self.model is not None and used == "none"
        return (
            f"given up, since it gained less than predicted, or too few digits: {self.reason}"
            if given_up
            else self.reason
        )


def choose_preconditioner(
    asked: str, form: Form, loss: Loss, alpha: float, tol: float, dtype: np.dtype[Any], n_threads: int | None
) -> ChosenPreconditioner:
    """Return the degree model of a fit or None, and the reason; raise if it was requested but is impossible."""
    if asked == "none":
        return ChosenPreconditioner(None, "asked for")
    try:
        preconditioning = Preconditioning(form.kernel, form.graph, form.thin, loss, dtype, n_threads)
        if asked == "kronecker":
            ranks = preconditioning.best_ranks(form, alpha, tol)
            return ChosenPreconditioner(preconditioning.model(form, ranks), "asked for" + words_of(ranks))
        if not isinstance(form.space, Dual):
            ranks = preconditioning.start.rank, preconditioning.end.rank
            if not has_cheap_degrees(ranks, _plain_seconds(form.space), form.kernel.start.backend, n_threads):
                return ChosenPreconditioner(
                    None, "its eigendecompositions take longer than the iterations that it saves"
                )
            return ChosenPreconditioner(preconditioning.model(form), "iterations are few with it")
        if preconditioning.is_short(form, alpha, tol):
            return ChosenPreconditioner(None, "a fit without it takes little time")
        forecast = preconditioning.forecast(form, alpha, tol)
        model = preconditioning.model(form, forecast.way.ranks) if forecast.pays else None
        return ChosenPreconditioner(model, str(forecast), forecast.patience)
    except NoDegreeModelError as error:
        if asked == "kronecker":
            raise ValueError(
                f"preconditioner is 'kronecker', but {error}; use preconditioner='auto' or 'none'"
            ) from error
        return ChosenPreconditioner(None, str(error))
