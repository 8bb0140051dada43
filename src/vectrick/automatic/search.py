"""Search for good candidates: cheap scores of many, then better scores of the best (successive halving)."""

import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vectrick._progress import Progress
from vectrick._typing import Array
from vectrick.automatic.candidates.vertex_kernels import SideChoices, VertexChoice
from vectrick.automatic.scoring.full_solves import FullSolves, usual_curvature
from vectrick.automatic.scoring.problem import FAST, Place, SearchProblem
from vectrick.automatic.scoring.results import LEAST_DIFFERENCE, Result, diverse, near_best
from vectrick.automatic.scoring.sides import ALPHAS, Candidate, StopSearch
from vectrick.automatic.variations import (
    Additions,
    and_constant,
    by_end,
    rare_share,
    with_choice,
    with_constants,
    with_views,
    words_of,
)

INTERRUPTED = "interrupted"  # why a search ended after Ctrl-C
_FINALISTS = 12  # pairs of kernels that are scored on all folds
_WITH_CONSTANTS, _WITH_FEW_CONSTANTS = 6, 3  # finalists that also get constants; fewer for large problems
_WITH_OTHERS = 2  # finalists that also get other pairwise kernels
_AROUND = np.array([0.25, 1.0, 4.0, 16.0])  # factors of the best alpha of a coarse grid; constants need a larger alpha
_LADDER = np.array([0.25, 1.0])  # factors of the best alpha of the first pass; solutions need a smaller alpha
_LONG_LADDER = np.array([1 / 16, 1 / 4, 1.0, 4.0])  # if solutions have another loss or pairwise kernel than the scores
_NEXT_LADDER = np.array([1 / 16, 1 / 4, 1.0])  # for a second loss after ridge regression
_OTHERS, _FEW_OTHERS = 6, 3  # candidates that are solved with a second loss; fewer if solutions take long
_BALANCED = 0.3  # share of the rarer class above which long solutions skip a second loss
_FEW_FOLDS, _MUCH_WORK = 3, 2e9  # folds to solve if all folds take more operations than this
_USUAL_FOLDS = 9  # 3 × 3
_POOR_GUIDE = 0.05  # gain of a solution over its first pass above which the first pass may choose wrongly
_WITH_PROFILES = 3  # solutions that get profiles, and the identity of the vertices
_MOST_VIEWS = 3  # in a sum
_CLIMBS = 3  # rounds in which neighbors of the best solution are tried
_DOWN = 0.25  # factor of a smaller alpha for the best solution
_MANY_EDGES = 20_000  # test edges above which the first scores use three folds of nine


class Search:
    """A search over vertex kernels, constants and alphas on a problem.

    Parameters
    ----------
    problem, full : SearchProblem
        The problem for first scores, and the problem for solutions of the best: the same, or one with more vertices.
    choices : (SideChoices, SideChoices)
        The kernels of the start and of the end vertices.
    pairwise : sequence of str
        The pairwise kernels to try: the first with all vertex kernels, the others with the best.
    losses : sequence of str
        The losses of the solutions; first scores are always from ridge regression.
    alpha : float, optional
        The only alpha to try, in the unit of the models.
    budget : float, optional
        The number of seconds after which the search ends.
    n_solved : int
        The number of candidates that are solved at the end.
    more_pairwise : sequence of str
        Pairwise kernels that are solved with the best vertex kernels at the end.
    known : sequence of str
        The sides ("start", "end") whose vertices will have training edges at prediction time.
    verbose : int
        As for `Progress`.
    """

    def __init__(
        self,
        problem: SearchProblem,
        full: SearchProblem,
        choices: tuple[SideChoices, SideChoices],
        pairwise: Sequence[str] = ("kronecker",),
        losses: Sequence[str] = ("ridge",),
        alpha: float | None = None,
        budget: float | None = None,
        n_solved: int = 8,
        more_pairwise: Sequence[str] = (),
        known: Sequence[str] = (),
        verbose: int = 0,
    ) -> None:
        self.problem, self.full = problem, full
        self.choices, self.pairwise, self.alpha = choices, tuple(pairwise), alpha
        self.losses, self.n_solved, self.more_pairwise = tuple(losses), n_solved, tuple(more_pairwise)
        self.verbose, self.begin, self.budget = verbose, time.perf_counter(), budget
        self.results: list[Result] = []
        self._kept: dict[int, list[list[Array]]] = {}  # predictions of solved results, for each alpha and fold
        self.known, self._additions = tuple(known), Additions()
        self.failed: dict[str, str] = {}  # kernels that could not be computed, and why
        self.ended = "all candidates were tried"

    @property
    def is_stopped(self) -> bool:
        """Whether the search ended early."""
        return self.ended != "all candidates were tried"

    def run(self) -> None:
        """Search until all candidates are tried, the budget is used up, or Ctrl-C; fill ``results``."""
        try:
            self._coarse()
            self._refine()
            self._sums()
            self._finalists()
            self._solve()
        except KeyboardInterrupt:
            if not self.results:
                raise
            self.ended = INTERRUPTED
        except StopSearch:
            self.ended = f"the budget of {self.budget:g} s was used up"

    def best(self) -> list[Result]:
        """Return the best result of each candidate, best first: solutions, if any, and scores on the most folds."""
        results = [result for result in self.results if result.is_solved] or self.results
        most = max((len(result.folds) for result in results), default=0)
        found: dict[Candidate, Result] = {}
        for result in results:
            known = found.get(result.candidate)
            if len(result.folds) == most and (known is None or result.score > known.score):
                found[result.candidate] = result
        return sorted(found.values(), key=lambda result: -result.score)

    # The stages

    def _coarse(self) -> None:
        """Score all pairs of kernels for a few alphas, on some of the folds if they are many or large."""
        starts, ends = (self._usable(number, choices.first()) for number, choices in enumerate(self.choices))
        self._first = starts, ends
        folds, n_folds = None, len(self.problem.folds)
        if n_folds > _USUAL_FOLDS:  # from several divisions
            folds = list(range(0, n_folds, -(-n_folds // _USUAL_FOLDS)))
        elif n_folds == _USUAL_FOLDS and sum(len(fold.test) for fold in self.problem.folds) > _MANY_EDGES:
            folds = [0, 4, 8]  # together they test every vertex of each side once
        self._coarse_folds = folds
        if self.pairwise[0] == "kronecker":
            both = zip((starts, ends), self.choices, strict=True)
            pairs = itertools.product(*(and_constant(kernels, side, self.known) for kernels, side in both))
            candidates = [Candidate(a, b) for a, b in pairs if not a.family == b.family == "constant"]
        else:
            candidates = [Candidate(a, a, pairwise=self.pairwise[0]) for a in starts]
        self._score("all kernels", candidates, self._grid(ALPHAS[::2]), folds, pieces=by_end(candidates))
        if not self.results:
            why = "; ".join(f"{name}: {reason}" for name, reason in self.failed.items())
            raise ValueError(f"no candidate could be scored{': ' + why if why else ''}")

    def _refine(self) -> None:
        """Try further widths next to the best kernels if these are narrow, because narrow widths are far apart."""
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

    def _sums(self) -> None:
        """Try sums of the best kernels of two and three views of the vertices of a side, with a few weights."""
        lead = self.best()[0]
        for number, which in enumerate(("start", "end")):
            if self.choices[number].given != "auto" or lead.candidate.pairwise != "kronecker":
                continue
            for _ in range(_MOST_VIEWS - 1):
                own = getattr(lead.candidate, which)
                sums = with_views(self.results, which, own, self.problem.sides[number])
                near = [with_choice(lead.candidate, which, choice) for choice in sums]
                self._score("sums of views", near, self._grid(ALPHAS[::2]), self._coarse_folds)
                best = max((r for r in self.results if r.candidate in near), key=lambda r: r.score, default=lead)
                if best.score <= lead.score:
                    break
                lead = best

    def _finalists(self) -> None:
        """Score the best pairs on all folds, and the best of them also with constants and other pairwise kernels."""
        best = diverse(self.best(), _FINALISTS)
        found = {result.candidate: result.alpha for result in best}
        for result in best[: _WITH_CONSTANTS if self.problem.work(best[:1]) < _MUCH_WORK else _WITH_FEW_CONSTANTS]:
            found |= dict.fromkeys(with_constants(result.candidate, self.choices), result.alpha)
        for pairwise, result in itertools.product(self.pairwise[1:], best[:_WITH_OTHERS]):
            found[replace(result.candidate, pairwise=pairwise)] = result.alpha
        kept = {choice.name for candidate in found for choice in (candidate.start, candidate.end)}
        for side in self.problem.sides:
            side.forget(kept)
        alphas = np.array(list(found.values()))[:, None] * (_AROUND if self.alpha is None else 1.0)
        self._score("the best on all folds", list(found), alphas, None)

    def _solve(self) -> None:
        """Score solutions of the best on the full problem, unless their first pass was already the solution."""
        full = self.full
        if self.losses == ("ridge",) and not self.more_pairwise and full is self.problem and full.is_complete:
            return
        best = diverse(near_best(self.best()), self.n_solved)
        most = len(full.folds) if self.losses == ("ridge",) and not self.more_pairwise else _USUAL_FOLDS
        is_heavy = full.work(best) > _MUCH_WORK
        if is_heavy:
            most = _FEW_FOLDS
        n_folds = min(most, len(full.folds))
        folds = np.unique(np.linspace(0, len(full.folds) - 1, n_folds).astype(int)).tolist()

        def solve(results: list[Result], ladder: Array, **changes: Any) -> None:
            candidates = [replace(result.candidate, **changes) for result in results]
            alphas = np.array([result.alpha for result in results])[:, None] * (ladder if self.alpha is None else 1.0)
            self._score(f"solutions{words_of(changes)}", candidates, alphas, folds, full, solve=True)

        for number, loss in enumerate(self.losses):
            ladder = _LADDER if loss == "ridge" else _LONG_LADDER if number == 0 else _NEXT_LADDER
            some = best
            if number > 0 and is_heavy and rare_share(full.y) > _BALANCED:
                continue  # the losses hardly differ for balanced classes
            if number > 0:
                some = best[: _FEW_OTHERS if is_heavy else _OTHERS]
                ladder = ladder[1:2] if is_heavy else ladder
            solve(some, ladder * usual_curvature(loss, full.y), loss=loss)
            if loss == "ridge" and self.alpha is None:
                self._add_profiles(folds)
                self._climb(folds, folds[:1] if is_heavy else folds)
                best = diverse(near_best(self.best()), self.n_solved)
        for pairwise in self.more_pairwise:  # these already include constants
            plain = [r for r in best if not (r.candidate.start_constant or r.candidate.end_constant)]
            solve((plain or best)[:_WITH_OTHERS], _LONG_LADDER, pairwise=pairwise)

    def _add_profiles(self, folds: list[int]) -> None:
        """Solve the best with profiles or the identity of vertices, for sides with training edges at prediction."""
        if not self.known or self.pairwise[0] != "kronecker" or self.full.is_sparse:
            return
        near = {}
        for result in self.best()[:_WITH_PROFILES]:
            for side in self.known:
                own = getattr(result.candidate, side)
                for choice in self._additions.first(own):
                    near[with_choice(result.candidate, side, choice)] = result.alpha
        alphas = np.array(list(near.values()))[:, None]
        self._score("solutions with profiles and identities", list(near), alphas, folds, self.full, solve=True)

    def _climb(self, folds: list[int], some: list[int]) -> None:
        """Try neighbors of the best solution if the first pass over the edges was a poor guide.

        This happens if both vertices of an edge have training edges: solutions then need a much smaller alpha than the
        first pass, and narrower kernels. Neighbors are scored on some folds; the best are then solved on all folds.
        """

        def score(result: Result) -> float:
            return float(result.scores[result.best, : len(some)].mean())

        def ranked() -> list[Result]:
            return sorted((result for result in self.results if result.is_solved), key=score, reverse=True)

        for _ in range(_CLIMBS):
            lead = ranked()[0]
            plain = replace(lead.candidate, start=lead.candidate.start.plain, end=lead.candidate.end.plain)
            first = [result.score for result in self.results if result.candidate == plain and not result.is_solved]
            if first and lead.score - max(first) < _POOR_GUIDE:
                break
            solved = {(each.candidate, alpha) for each in self.results if each.is_solved for alpha in each.alphas}
            near = [(candidate, lead.alpha) for candidate in self._beside(lead.candidate)]
            near.append((lead.candidate, lead.alpha * _DOWN))
            near = [pair for pair in near if pair not in solved]
            alphas = np.array([alpha for _, alpha in near])[:, None]
            self._score("solutions beside the best", [pair[0] for pair in near], alphas, some, self.full, solve=True)
            if score(ranked()[0]) - score(lead) < LEAST_DIFFERENCE / 5:
                break
        best = [result for result in diverse(ranked(), self.n_solved) if len(result.folds) < len(folds)]
        alphas = np.array([result.alpha for result in best])[:, None]
        self._score("the best solutions", [result.candidate for result in best], alphas, folds, self.full, solve=True)

    def _beside(self, candidate: Candidate) -> list[Candidate]:
        """Return neighbors of a candidate: another kernel on one side, next in its family or best of another."""
        found = []
        for number, which in enumerate(("start", "end")):
            if self.choices[number].given != "auto" or candidate.is_one_set:
                continue
            own = getattr(candidate, which)
            family = [choice for choice in self._first[number] if choice.family == own.family]
            at = family.index(own.plain) if own.plain in family else len(family)
            near = family[max(0, at - 1) : at] + family[at + 1 : at + 2]
            others: dict[str, tuple[float, VertexChoice]] = {}
            for result in self.results:
                choice = getattr(result.candidate, which)
                better = choice.family not in others or result.score > others[choice.family][0]
                if choice.family not in (own.family, "constant") and not result.is_solved and better:
                    others[choice.family] = result.score, choice
            near += [choice for _, choice in others.values()]
            near = self._additions.beside(own, near)
            found += [with_choice(candidate, which, choice) for choice in near]
        return found

    def predictions(self, results: Sequence[Result]) -> list[list[Array]]:
        """Return the predictions of solutions for the test edges of the results' folds, each at its best alpha."""
        if results[0].is_solved:
            return [self._kept[id(result)][result.best] for result in results]
        candidates, alphas = [result.candidate for result in results], [result.alpha for result in results]
        return self.full.predictions(candidates, alphas, results[0].folds)

    def _needs_estimators(self, candidate: Candidate) -> bool:
        solved = candidate.loss in ("ridge", "logistic") and candidate.pairwise in FAST
        return not solved or self.full.is_sparse

    # Tools

    def tick(self) -> None:
        """Raise `StopSearch` if there are results and the budget is used up."""
        if self._is_late and self.results:
            raise StopSearch

    @property
    def _is_late(self) -> bool:
        return self.budget is not None and time.perf_counter() - self.begin > self.budget

    def _grid(self, alphas: Array) -> Array:
        return alphas if self.alpha is None else np.array([self.alpha])

    def _usable(self, side: int, choices: Iterable[VertexChoice]) -> list[VertexChoice]:
        """Return the kernels whose matrices can be computed."""
        problem = self.problem
        sides = {problem.start if side == 0 else problem.end} if "kronecker" in self.pairwise else set()
        sides |= {problem.both} if any(name != "kronecker" for name in self.pairwise) else set()
        usable: list[VertexChoice] = []
        for choice in choices:
            if usable and self._is_late:
                break
            try:
                for each in sides:
                    each.matrix(choice)
                usable.append(choice)
            except (ValueError, FloatingPointError, MemoryError) as error:
                self.failed[choice.name] = str(error)
        return usable

    def _score(
        self,
        stage: str,
        candidates: list[Candidate],
        alphas: Array,
        folds: list[int] | None,
        problem: SearchProblem | None = None,
        solve: bool = False,
        pieces: Sequence[Sequence[int]] | None = None,
    ) -> None:
        """Score candidates and add the finished results; the search may end after each of the pieces."""
        if not candidates:
            return
        problem = self.problem if problem is None else problem
        numbers = list(range(len(problem.folds))) if folds is None else folds
        progress = Progress(f"AutoKron, {stage}", len(candidates) * len(numbers), self.verbose)
        rows: Any = alphas
        if self.alpha is not None:  # it has the unit of the models
            rows = np.array([[self.alpha / problem.scale(candidate)] for candidate in candidates])
        rows = np.broadcast_to(rows, (len(candidates), np.shape(rows)[-1]))
        best = max((result.score for result in self.results), default=float("nan"))
        what = f"best so far {best:.3f}" if best == best else ""

        def done() -> None:
            progress.step(what)
            self.tick()

        for piece in [range(len(candidates))] if pieces is None else pieces:
            some = [candidates[at] for at in piece]
            self._score_some(stage, some, rows[list(piece)], numbers, problem, solve, done)
            self.tick()

    def _score_some(
        self,
        stage: str,
        candidates: list[Candidate],
        alphas: Array,
        folds: list[int],
        problem: SearchProblem,
        solve: bool,
        done: Callable[[], None],
    ) -> None:
        """Add the results of candidates that were scored on all folds."""
        begin = time.perf_counter()
        kept: dict[Place, Array] | None = {} if solve else None
        if kept is not None and self._needs_estimators(candidates[0]):
            scores = FullSolves(problem).scores(candidates, alphas, folds, done, kept)
        else:
            scores = problem.scores(candidates, alphas, folds, done, solve, kept)
        seconds = (time.perf_counter() - begin) / len(candidates)
        for at, candidate in enumerate(candidates):
            if np.isnan(scores[at]).any():
                continue
            found = Result(
                candidate, alphas[at], scores[at], problem.weights[folds], seconds, stage, tuple(folds), solve
            )
            self.results.append(found)
            if kept is not None:
                places, columns = range(scores.shape[1]), range(len(folds))
                self._kept[id(found)] = [[kept[at, place, column] for column in columns] for place in places]
