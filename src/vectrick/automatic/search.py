"""The search for good candidates: cheap scores of many first, then better scores of the best (successive halving)."""

import itertools
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vectrick._progress import Progress
from vectrick._typing import Array
from vectrick.automatic.ground import ALPHAS, Candidate, Ground, Stopped
from vectrick.automatic.vertex_kernels import SideChoices, VertexChoice

_FINALISTS, _WITH_CONSTANTS = 12, 6  # pairs of kernels that are scored on all folds, and also with constants
_MANY_EDGES = 20_000  # test edges over which the first scores are those of three folds of nine


@dataclass(frozen=True)
class Result:
    """The scores of a candidate.

    Attributes
    ----------
    candidate : Candidate
        What was scored.
    alphas : array
        The alphas, relative to the mean kernel value of an edge with itself.
    scores : array
        A row for each alpha, and a column for each fold.
    weights : array
        The weight of each fold in the mean.
    seconds : float
        How long it took.
    stage : str
        Which part of the search this was.
    """

    candidate: Candidate
    alphas: Array
    scores: Array
    weights: Array
    seconds: float
    stage: str

    @property
    def means(self) -> Array:
        """The mean score over the folds for each alpha."""
        return np.asarray(self.scores @ (self.weights / self.weights.sum()))

    @property
    def best(self) -> int:
        """The place of the best alpha."""
        return int(np.argmax(self.means))

    @property
    def alpha(self) -> float:
        """The best alpha."""
        return float(self.alphas[self.best])

    @property
    def score(self) -> float:
        """The mean score over the folds at the best alpha."""
        return float(self.means[self.best])

    @property
    def spread(self) -> float:
        """The standard deviation between the folds."""
        scores = self.scores[self.best]
        return float(scores.std(ddof=1)) if len(scores) > 1 else float("nan")


class Search:
    """A search over vertex kernels, constants and alphas on a ground.

    Parameters
    ----------
    ground : Ground
        Where candidates are scored.
    choices : (SideChoices, SideChoices)
        The kernels of the start and of the end vertices.
    pairwise : sequence of str
        The pairwise kernels to try.
    alpha : float, optional
        The only alpha to try, in the unit of the models.
    budget : float, optional
        The number of seconds after which the search ends.
    verbose : int
        As for `Progress`.
    """

    def __init__(
        self,
        ground: Ground,
        choices: tuple[SideChoices, SideChoices],
        pairwise: Sequence[str] = ("kronecker",),
        alpha: float | None = None,
        budget: float | None = None,
        verbose: int = 0,
    ) -> None:
        self.ground, self.choices, self.pairwise, self.alpha = ground, choices, tuple(pairwise), alpha
        self.verbose, self.begin, self.budget = verbose, time.perf_counter(), budget
        self.results: list[Result] = []
        self.failed: dict[str, str] = {}  # kernels that could not be computed, and why
        self.ended = "all candidates were tried"

    @property
    def is_stopped(self) -> bool:
        """Whether the search ended before its end."""
        return self.ended != "all candidates were tried"

    def run(self) -> None:
        """Search until the end, the end of the budget, or an interruption; ``results`` has what was found."""
        try:
            self._coarse()
            self._refine()
            self._finalists()
        except KeyboardInterrupt:
            if not self.results:
                raise
            self.ended = "interrupted"
        except Stopped:
            self.ended = f"the budget of {self.budget:g} s was used up"

    def best(self) -> list[Result]:
        """Return the results on as many folds as any candidate has, the best first, each candidate once."""
        most = max((result.scores.shape[1] for result in self.results), default=0)
        found: dict[Candidate, Result] = {}
        for result in self.results:
            known = found.get(result.candidate)
            if result.scores.shape[1] == most and (known is None or result.score > known.score):
                found[result.candidate] = result
        return sorted(found.values(), key=lambda result: -result.score)

    # The stages

    def _coarse(self) -> None:
        """Score all pairs of kernels for a few alphas, on three folds if there are many edges."""
        starts, ends = (self._usable(number, choices.first()) for number, choices in enumerate(self.choices))
        folds = None
        if len(self.ground.folds) == 9 and sum(len(fold.test) for fold in self.ground.folds) > _MANY_EDGES:
            folds = [0, 4, 8]  # which test every vertex of either side once
        self._coarse_folds = folds
        candidates = []
        for pairwise in self.pairwise:
            if pairwise == "kronecker":
                with_constant = (_and_constant(kernels, side) for kernels, side in zip((starts, ends), self.choices))
                pairs = itertools.product(*with_constant)
                candidates += [Candidate(a, b) for a, b in pairs if not a.family == b.family == "constant"]
            else:
                candidates += [Candidate(a, a, pairwise=pairwise) for a in starts]
        self._score("all kernels", candidates, self._grid(ALPHAS[::2]), folds)
        if not self.results:
            why = "; ".join(f"{name}: {reason}" for name, reason in self.failed.items())
            raise ValueError(f"no candidate could be scored{': ' + why if why else ''}")

    def _refine(self) -> None:
        """Try widths between those of the best narrow kernels, which are far apart."""
        lead = self.best()[0].candidate
        sides = zip(("start", "end"), self.choices, strict=True)
        starts, ends = (
            [getattr(lead, which), *self._usable(number, choices.beside(getattr(lead, which)))]
            for number, (which, choices) in enumerate(sides)
        )
        if lead.pairwise == "kronecker":
            candidates = [replace(lead, start=a, end=b) for a, b in itertools.product(starts, ends)]
        else:
            candidates = [replace(lead, start=a, end=a) for a in starts]
        self._score("kernels beside the best", candidates[1:], self._grid(ALPHAS[::2]), self._coarse_folds)

    def _finalists(self) -> None:
        """Score the best pairs on all folds with all alphas, and the best of them also with constants."""
        best = [result.candidate for result in diverse(self.best(), _FINALISTS)]
        constants = []
        for candidate, (first, second) in itertools.product(best[:_WITH_CONSTANTS], [(1.0, 1.0), (1.0, 0.0), (0.0, 1.0)]):
            if candidate.pairwise != "kronecker" and first != second:
                continue
            can = [
                choices.given == "auto" and choice.family != "constant"
                for choices, choice in zip(self.choices, (candidate.start, candidate.end), strict=True)
            ]
            if (can[0] or not first) and (can[1] or not second):
                constants.append(replace(candidate, start_constant=first, end_constant=second))
        for side in {id(side): side for c in best for side in (self.ground.side(c, "start"), self.ground.side(c, "end"))}.values():
            side.forget({choice.name for c in best for choice in (c.start, c.end)})
        self._score("the best on all folds", [*best, *constants], self._grid(ALPHAS), None)

    # Tools

    def tick(self) -> None:
        """Raise `Stopped` if there are results and the budget is used up."""
        if self.budget is not None and time.perf_counter() - self.begin > self.budget and self.results:
            raise Stopped

    def _grid(self, alphas: Array) -> Array:
        return alphas if self.alpha is None else np.array([self.alpha])

    def _usable(self, side: int, choices: Iterable[VertexChoice]) -> list[VertexChoice]:
        """Return the kernels whose matrices can be computed."""
        ground = self.ground
        sides = {ground.start if side == 0 else ground.end} if "kronecker" in self.pairwise else set()
        sides |= {ground.both} if any(name != "kronecker" for name in self.pairwise) else set()
        usable = []
        for choice in choices:
            try:
                for each in sides:
                    each.matrix(choice)
                usable.append(choice)
            except (ValueError, FloatingPointError, MemoryError) as error:
                self.failed[choice.name] = str(error)
        return usable

    def _score(self, stage: str, candidates: list[Candidate], alphas: Array, folds: list[int] | None) -> None:
        """Add the results of candidates, those that were finished."""
        if not candidates:
            return
        n_folds = len(self.ground.folds) if folds is None else len(folds)
        progress = Progress(f"AutoKron, {stage}", len(candidates) * n_folds, self.verbose)
        begin = time.perf_counter()
        rows: Any = alphas
        if self.alpha is not None:  # which is in the unit of the models
            rows = np.array([[self.alpha / self.ground.scale(candidate)] for candidate in candidates])
        what = f"best so far {max((result.score for result in self.results), default=float('nan')):.3f}"

        def done() -> None:
            progress.step(what)
            self.tick()

        scores = self.ground.scores(candidates, rows, folds, done)
        seconds = (time.perf_counter() - begin) / len(candidates)
        weights = self.ground.weights if folds is None else self.ground.weights[folds]
        finished = ~np.isnan(scores).any(axis=(1, 2))
        rows = np.broadcast_to(rows, (len(candidates), scores.shape[1]))
        self.results += [
            Result(candidate, rows[at], scores[at], weights, seconds, stage)
            for at, candidate in enumerate(candidates)
            if finished[at]
        ]
        self.tick()


def diverse(results: Sequence[Result], n: int) -> list[Result]:
    """Return the best results such that no kernel of a side is in more than about a third of them.

    A mean of models with different kernels is safer than one of the best kernel with five constants, since the best on
    a few folds is partly luck. If there are too few kernels, the best of the others fill the rest.
    """
    limit, chosen = -(-n // 3), []
    for strict in (True, False):
        for result in results:
            if len(chosen) == n:
                return chosen
            if result in chosen:
                continue
            own = result.candidate
            same = [other.candidate for other in chosen]
            pair = any(other.start is own.start and other.end is own.end for other in same)
            often = [sum(getattr(other, which) is getattr(own, which) for other in same) for which in ("start", "end")]
            if not strict or (not pair and max(often) < limit):
                chosen.append(result)
    return chosen


def _and_constant(kernels: list[VertexChoice], side: SideChoices) -> list[VertexChoice]:
    """Return kernels and the constant, by which the other side alone counts."""
    if side.given != "auto" or any(kernel.family == "constant" for kernel in kernels):
        return kernels
    return [*kernels, side.constant()]
