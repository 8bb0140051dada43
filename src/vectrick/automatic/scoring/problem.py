"""Scores of candidates on inner folds by one pass over the edges, with shared kernels and eigenvectors.

Ridge regression with the degree model of the graph (see `vectrick.objectives.degree_model`) has a closed form for every
alpha: with features ``P`` and ``Q`` of the vertices in which the model is diagonal, the predictions are
``P (Pᵀ Y Q / (λᵢ μⱼ κ + α)) Qᵀ`` for a matrix Y of the labels. The features of a side depend on its kernel and on its
training vertices only, not on the other side: 3 × 3 folds of 7 × 7 kernels take 42 eigendecompositions, not 441. On
a complete graph this is the exact solution; on other graphs it is nearly as good at its best alpha, but not on the
scale of the labels. Conjugate gradients in the same features, preconditioned by the same spectrum, then find the
solution.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.automatic.candidates.vertex_kernels import VertexChoice
from vectrick.automatic.scoring.fold_fit import FoldFit, FoldLabels
from vectrick.automatic.scoring.sides import (
    NEARLY_ALL,
    Candidate,
    FoldProfiles,
    SideMatrices,
    SideRows,
    StopSearch,
)
from vectrick.backends import HOST, Backend
from vectrick.backends.arrays import cast, group_sums, like, placed, to_host
from vectrick.backends.threads import count_threads
from vectrick.data import Edges
from vectrick.metrics.auc import aucs
from vectrick.metrics.scores import OF_CLASSES, SCORES
from vectrick.model_selection.splitting.folds import Fold
from vectrick.objectives.degrees import filtered
from vectrick.objectives.risks import Sides

FAST = ("kronecker", "symmetric", "antisymmetric")  # pairwise kernels with one-pass scores
_SPARSE = 30  # pairs for each edge, above which a graph is sparse

Place = tuple[int, int, int]  # indices of a candidate, an alpha and a fold


class SearchProblem:
    """Edges with labels and folds, on which candidates are scored.

    Parameters
    ----------
    X, y : Edges, array
        Edges and labels: numbers, -1 and 1 for classes.
    folds : sequence of Fold
        The inner folds.
    scoring : str
        The name of the score.
    weights : array, optional
        The weight of each fold in the mean score; by default all are equal.
    groups : array, optional
        The group of each edge, if only edges of one group are compared.
    n_threads : int, optional
        The number of threads.
    backend : Backend
        The backend for scoring; edges, labels and folds are on the host.
    """

    def __init__(
        self,
        X: Edges,
        y: Array,
        folds: Sequence[Fold],
        scoring: str,
        weights: Array | None = None,
        groups: Array | None = None,
        n_threads: int | None = None,
        backend: Backend = HOST,
    ) -> None:
        self.X, self.y, self.folds, self.scoring, self.groups = X, y, list(folds), scoring, groups
        self.backend = backend
        self.weights = np.ones(len(self.folds)) if weights is None else weights
        self.truth = np.where(y == y.max(), 1.0, -1.0) if scoring in OF_CLASSES else y  # as scores expect it
        self.n_threads = count_threads(n_threads)
        self._parts: dict[Any, SideRows] = {}
        self._training: dict[Any, tuple[Array, Array]] = {}
        used_start, self.s = np.unique(X.start, return_inverse=True)
        used_end, self.e = np.unique(X.end, return_inverse=True)
        self.start, self.end = (
            SideMatrices(table.features[used], used, np.bincount(numbers), backend)
            for table, used, numbers in ((X.start_table, used_start, self.s), (X.end_table, used_end, self.e))
        )
        if X.is_one_set:
            used = np.union1d(used_start, used_end)
            self.both_s, self.both_e = np.searchsorted(used, X.start), np.searchsorted(used, X.end)
            degrees = np.bincount(np.concatenate([self.both_s, self.both_e]))
            self.both = SideMatrices(X.start_table.features[used], used, degrees, backend)
        self._profiles = {
            id(fold): FoldProfiles((self.s[fold.train], self.e[fold.train]), y[fold.train], (self.start, self.end))
            for fold in self.folds
        }

    def side(self, candidate: Candidate, which: str) -> SideMatrices:
        """Return the side of the start or end kernel of a candidate."""
        if candidate.is_one_set:
            return self.both
        return self.start if which == "start" else self.end

    def scale(self, candidate: Candidate) -> float:
        """Return the alpha of the model for a relative alpha of one."""
        start, end = self.side(candidate, "start"), self.side(candidate, "end")
        return start.matrix(candidate.start)[1] * end.matrix(candidate.end)[1]

    @property
    def sides(self) -> list[SideMatrices]:
        """All sides."""
        return [self.start, self.end] + ([self.both] if self.X.is_one_set else [])

    @property
    def is_complete(self) -> bool:
        """Whether all pairs of a start and an end vertex have the same number of edges, at least one."""
        counts = np.bincount(self.s * len(self.end.degrees) + self.e, minlength=len(self.start.degrees))
        complete = len(counts) == len(self.start.degrees) * len(self.end.degrees)
        return bool(complete and (counts == counts[0]).all() and counts[0] > 0 and not self.X.is_one_set)

    def work(self, candidates: Sequence[Any]) -> float:
        """Return the approximate number of operations of one step of all candidates on all folds."""
        ends = (self.s, len(self.start.degrees)), (self.e, len(self.end.degrees))
        sizes = [[len(_distinct(of[fold.train], n)[0]) for of, n in ends] for fold in self.folds]
        return float(len(candidates) * sum(m * q * (m + q) for m, q in sizes))

    @property
    def is_sparse(self) -> bool:
        """Whether so few pairs have edges that products by edges are cheaper than matrix products."""
        return _SPARSE * len(self.y) < len(self.start.degrees) * len(self.end.degrees)

    def scores(
        self,
        candidates: Sequence[Candidate],
        alphas: Array,
        folds: Sequence[int] | None = None,
        done: Callable[[], None] = lambda: None,
        solve: bool = False,
        kept: dict[Place, Array] | None = None,
    ) -> Array:
        """Return the scores of candidates, for each alpha and fold: an array (candidate, alpha, fold).

        ``alphas`` are the same for all candidates, or a row for each. ``solve`` requests solutions instead of the
        first pass. ``kept`` receives the predictions by their place in the array. ``done`` is called after each
        candidate and fold; if it raises `StopSearch`, the missing scores are NaN.
        """
        numbers = list(range(len(self.folds)) if folds is None else folds)
        alphas = np.broadcast_to(alphas, (len(candidates), np.shape(alphas)[-1]))
        out = np.full((*alphas.shape, len(numbers)), np.nan)

        def score(at: int, places: slice, column: int, predictions: Array) -> None:
            number = numbers[column]
            out[at, places, column] = self._scores_of(number, predictions)
            if kept is not None:
                for place, values in zip(range(alphas.shape[1])[places], to_host(predictions), strict=True):
                    kept[at, place, column] = values

        with suppress(StopSearch):
            self._visit(candidates, alphas, numbers, score, done, solve)
        return out

    def predictions(
        self, candidates: Sequence[Candidate], alphas: Sequence[float], folds: Sequence[int]
    ) -> list[list[Array]]:
        """Return the predictions of candidates for the test edges of folds, each at its own alpha, by full solves."""
        out: list[list[Any]] = [[None] * len(folds) for _ in candidates]

        def keep(at: int, places: slice, column: int, predictions: Array) -> None:
            out[at][column] = to_host(predictions[0])

        self._visit(candidates, np.array(alphas)[:, None], list(folds), keep, lambda: None, True)
        return out

    def _scores_of(self, number: int, predictions: Array) -> Array:
        """Return the score of each row of predictions for the test edges of a fold."""
        test = self.folds[number].test
        if self.scoring == "auc":
            return aucs(self.truth[test], predictions)
        groups = None if self.groups is None else self.groups[test]
        return np.array([SCORES[self.scoring](self.truth[test], row, groups) for row in to_host(predictions)])

    def _visit(
        self, candidates: Any, alphas: Array, folds: list[int], visit: Any, done: Callable[[], None], solve: bool
    ) -> None:
        """Call ``visit`` with the predictions of every candidate, alpha and fold."""
        with self.backend.own_threads():
            self._make_bases(candidates, folds)

            # First passes of candidates with one end kernel share a product; solutions take long, so each is a task.
            every = list(range(len(candidates)))
            tasks = [
                (column, some)
                for some in ([[at] for at in every] if solve else [every])
                for column in range(len(folds))
            ]

            def work(number: int) -> None:
                column, some = tasks[number]
                of_some = [candidates[at] for at in some]
                for at, places, predictions in self._of_fold(self.folds[folds[column]], of_some, alphas[some], solve):
                    visit(some[at], places, column, predictions)
                    if places.stop == alphas.shape[1]:
                        done()

            self.backend.in_parallel(work, len(tasks), self.n_threads)

    def _make_bases(self, candidates: Sequence[Candidate], folds: list[int]) -> None:
        """Compute the features that the candidates need in any fold, each once, in parallel."""
        tasks: dict[Any, tuple[Any, ...]] = {}
        matrices: dict[Any, tuple[SideMatrices, VertexChoice]] = {}
        for candidate in candidates:
            sides = (
                ("start", candidate.start, candidate.start_constant),
                ("end", candidate.end, candidate.end_constant),
            )
            for which, choice, constant in sides:
                side = self.side(candidate, which)
                matrices[id(side), choice.name] = side, choice
                for number in folds:
                    fold = self.folds[number]
                    part, profiles = self._part(fold, candidate, which), self._profiles[id(fold)]
                    key = id(side), choice.name, constant, part.key, number if choice.profile else -1
                    tasks[key] = side, choice, constant, part, profiles
        for todo in (list(matrices.values()), list(tasks.values())):

            def make(number: int, todo: Any = todo) -> None:
                side, choice, *rest = todo[number]
                side.basis(choice, *rest) if rest else side.matrix(choice)

            self.backend.in_parallel(make, len(todo), self.n_threads)

    def numbers(self, candidate: Candidate) -> tuple[Array, Array]:
        """Return the start and the end vertex of each edge, as numbers within the sides of the candidate."""
        return (self.both_s, self.both_e) if candidate.is_one_set else (self.s, self.e)

    def _part(self, fold: Fold, candidate: Candidate, which: str) -> SideRows:
        """Return the vertices of a side in a fold; they are the same for all candidates of one kind."""
        turned = candidate.is_one_set  # every reversed edge is a training edge, too
        key = id(fold), turned, which
        if key not in self._parts:
            start, end = self.numbers(candidate)
            own = start if which == "start" else end
            train = np.concatenate([start[fold.train], end[fold.train]]) if turned else own[fold.train]
            n_all = len(self.side(candidate, which).degrees)
            (tested, place), (trained, _) = _distinct(own[fold.test], n_all), _distinct(train, n_all)
            if len(trained) >= NEARLY_ALL * n_all:  # then all: vertices without labels change no solution, and folds
                trained = np.arange(n_all)  # with the same vertices share their features
            there = [placed(each, self.backend) for each in (trained, tested, place)]
            self._parts[key] = SideRows(there[0], there[1], there[2], trained.tobytes())
        return self._parts[key]

    def _of_fold(self, fold: Fold, candidates: Any, alphas: Array, solve: bool) -> Iterator[tuple[int, slice, Array]]:
        """Yield the number of a candidate, a slice of alphas, and a row of predictions of test edges for each alpha."""
        groups: dict[Any, list[int]] = {}
        for at, candidate in enumerate(candidates):
            groups.setdefault((candidate.pairwise, candidate.end.name, candidate.end_constant), []).append(at)
        # A GPU is fast with all alphas together; the caches of a CPU favor one alpha after the other.
        at_once = 1 if self.backend == HOST else alphas.shape[1]
        for members in groups.values():
            one = candidates[members[0]]
            first, second = self._part(fold, one, "start"), self._part(fold, one, "end")
            labels = self._labels(fold, one, first, second)
            profiles = self._profiles[id(fold)]
            Q, mu = self.side(one, "end").basis(one.end, one.end_constant, second, profiles)
            tested_end = Q[second.tested].T
            half = None if solve else labels.sums @ Q[second.train]
            for at in members:
                candidate = candidates[at]
                P, lam = self.side(one, "start").basis(candidate.start, candidate.start_constant, first, profiles)
                tested_start = P[first.tested]
                if half is None:
                    features = Sides(P[first.train], Q[second.train])
                    found = _solutions(FoldFit(candidate.loss, features, (lam, mu), labels), alphas[at])
                else:
                    spectrum = cast(labels.kappa * lam[:, None] * mu, np.float32)
                    found = _first_passes(P[first.train].T @ half, spectrum, alphas[at], at_once, labels.mean)
                for places, w, mean in found:
                    grid = (tested_start @ w) @ tested_end
                    yield at, places, cast(grid[:, first.place, second.place], np.float64) + mean

    def _labels(self, fold: Fold, candidate: Candidate, first: SideRows, second: SideRows) -> FoldLabels:
        """Return the training edges of a fold, for a candidate of one vertex set also reversed."""
        keys, y = self._edges(fold, candidate, first, second)
        shape = len(first.train), len(second.train)
        signed = not candidate.has_intercept
        mean = 0.0 if signed else float(y.mean())
        sums, counts = (
            group_sums(keys, values, shape[0] * shape[1]).reshape(shape) for values in (y - mean, y * 0 + 1.0)
        )
        if candidate.is_one_set:
            sums, counts = sums + (-sums.T if signed else sums.T), counts + counts.T
        degrees = [
            float(self.side(candidate, which).degrees[part.train].sum())
            for which, part in (("start", first), ("end", second))
        ]
        kappa = float(counts.sum()) / (degrees[0] * degrees[1])
        return FoldLabels(cast(sums, np.float32), cast(counts, np.float32), mean, not signed, kappa)

    def _edges(self, fold: Fold, candidate: Candidate, first: SideRows, second: SideRows) -> tuple[Array, Array]:
        """Return the place of each training edge in the matrix of the fold's vertices, and its label, computed once."""
        key = id(fold), candidate.is_one_set
        if key not in self._training:
            start, end = self.numbers(candidate)
            rows, cols = (
                np.searchsorted(to_host(part.train), numbers[fold.train])
                for part, numbers in ((first, start), (second, end))
            )
            made = rows * len(second.train) + cols, self.y[fold.train].astype(np.float64)
            self._training[key] = placed(made[0], self.backend), placed(made[1], self.backend)
        return self._training[key]


def _distinct(vertices: Array, n: int) -> tuple[Array, Array]:
    """Return the distinct vertices, all below n, in order, and the place of each vertex among them."""
    present = np.bincount(vertices, minlength=n) > 0
    return np.flatnonzero(present), (np.cumsum(present) - 1)[vertices]


Found = Iterator[tuple[slice, Array, float]]  # a slice of alphas, the coefficients for each, and the intercept


def _first_passes(core: Array, spectrum: Array, alphas: Array, at_once: int, mean: float) -> Found:
    for begin in range(0, len(alphas), at_once):
        places = slice(begin, min(begin + at_once, len(alphas)))
        yield places, core * filtered(spectrum, like(alphas[places], core, np.float32)[:, None, None], "ridge", 1), mean


def _solutions(fit: FoldFit, alphas: Array) -> Found:
    for place, alpha in enumerate(alphas):
        w, mean = fit.solved(alpha)
        yield slice(place, place + 1), w[None], mean
