"""Candidates that differ from others in one kernel or constant."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from vectrick._typing import Array
from vectrick.automatic.candidates.vertex_kernels import SideChoices, VertexChoice
from vectrick.automatic.scoring.results import Result
from vectrick.automatic.scoring.sides import Candidate, SideMatrices
from vectrick.kernels import Identity

_PROFILE, _BESIDE_PROFILE = 0.5, (0.5, 2.0)  # the weight of profiles added to a kernel, and factors of it
_IDENTITY, _BESIDE_IDENTITY = 0.3, (0.3, 3.0)  # the same for the identity of the vertices
_OTHER_VIEWS = 3  # views that are tried next to the best
_VIEW_WEIGHTS = (0.3, 1.0)  # of a further view in a sum


def by_end(candidates: Sequence[Candidate]) -> list[list[int]]:
    """Return the places of candidates grouped by end kernel, to share products; the first group one by one."""
    pieces: dict[int, list[int]] = {}
    for at, candidate in enumerate(candidates):
        pieces.setdefault(id(candidate.end), []).append(at)
    groups = list(pieces.values())
    return [[at] for group in groups[:1] for at in group] + groups[1:]


def with_choice(candidate: Candidate, side: str, choice: VertexChoice) -> Candidate:
    """Return a candidate with another kernel on one side."""
    return replace(candidate, start=choice) if side == "start" else replace(candidate, end=choice)


def rare_share(y: Array) -> float:
    """Return the share of the rarer of two classes."""
    share = float((y > 0).mean())
    return min(share, 1 - share)


def words_of(changes: dict[str, Any]) -> str:
    """Return the changes as text for progress messages."""
    return "".join(f", {value}" for value in changes.values() if value != "ridge")


def and_constant(kernels: list[VertexChoice], side: SideChoices, known: Sequence[str]) -> list[VertexChoice]:
    """Return kernels, the identity of vertices on ``known`` sides, and the constant kernel.

    With the constant kernel, only the other side counts; with the identity beside it, only the mean of a vertex.
    """
    if side.given != "auto":
        return kernels
    more = (
        [VertexChoice("identity", Identity(), "identity")]
        if side.facts.name in known and side.facts.kind != "pairs"
        else []
    )
    is_constant = any(kernel.family == "constant" for kernel in kernels)
    return [*kernels, *more, *([] if is_constant else [side.constant()])]


class Additions:
    """Choices with profiles or the identity of vertices added; equal arguments give the same object."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, int, float], VertexChoice] = {}

    def first(self, choice: VertexChoice) -> list[VertexChoice]:
        """Return the variants of a choice to try first."""
        profiled = self._profiled(choice, _PROFILE)
        return [profiled] if choice.family.startswith("parts") else [profiled, self._identified(choice, _IDENTITY)]

    def beside(self, own: VertexChoice, near: list[VertexChoice]) -> list[VertexChoice]:
        """Return neighbors of a choice with the same addition, and the choice with more and with less of it."""
        if own.identity:
            weights = [own.identity * factor for factor in _BESIDE_IDENTITY]
            return [self._identified(each, own.identity) for each in near] + [self._identified(own, w) for w in weights]
        if own.profile:
            weights = [own.profile * factor for factor in _BESIDE_PROFILE]
            return [self._profiled(each, own.profile) for each in near] + [self._profiled(own, w) for w in weights]
        return near

    def _profiled(self, choice: VertexChoice, weight: float) -> VertexChoice:
        return self._made.setdefault(("profile", id(choice.plain), weight), choice.plain.with_profile(weight))

    def _identified(self, choice: VertexChoice, weight: float) -> VertexChoice:
        return self._made.setdefault(("identity", id(choice.plain), weight), choice.plain.with_identity(weight))


def with_views(results: Sequence[Result], which: str, own: VertexChoice, matrices: SideMatrices) -> list[VertexChoice]:
    """Return sums of a kernel of the side ``which`` with the best kernels of other views, by the results so far."""
    seen = set(own.view.split("+"))
    others: dict[str, tuple[float, VertexChoice]] = {}
    for result in results:
        choice = getattr(result.candidate, which)
        is_new = choice.view and not choice.parts and seen.isdisjoint(choice.view.split("+"))
        if is_new and (choice.view not in others or result.score > others[choice.view][0]):
            others[choice.view] = result.score, choice
    best = [choice for _, choice in sorted(others.values(), key=lambda pair: -pair[0])][:_OTHER_VIEWS]
    parts = [(part, weight, matrices.matrix(part)[1]) for part, weight in own.parts or ((own, 1.0),)]
    return [
        VertexChoice.sum_of([*parts, (other, weight, matrices.matrix(other)[1])])
        for other in best
        for weight in _VIEW_WEIGHTS
        if own.view
    ]


def with_constants(candidate: Candidate, sides: Sequence[SideChoices]) -> list[Candidate]:
    """Return variants of a candidate with constants added to kernels that are neither given nor constant."""
    can = [
        choices.given == "auto" and choice.family != "constant"
        for choices, choice in zip(sides, (candidate.start, candidate.end), strict=True)
    ]
    added = [(0.3, 0.3), (1.0, 1.0), (1.0, 0.0), (0.0, 1.0)] if candidate.pairwise == "kronecker" else [(1.0, 1.0)]
    return [
        replace(candidate, start_constant=first, end_constant=second)
        for first, second in added
        if (can[0] or not first) and (can[1] or not second)
    ]
