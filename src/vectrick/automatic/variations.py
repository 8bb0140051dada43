"""Candidates that differ from others in one kernel or constant."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from vectrick._typing import Array
from vectrick.automatic.candidates.vertex_kernels import SideChoices, VertexChoice
from vectrick.automatic.scoring.results import Result
from vectrick.automatic.scoring.sides import Candidate, SideMatrices

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


def and_constant(kernels: list[VertexChoice], side: SideChoices) -> list[VertexChoice]:
    """Return kernels and the constant kernel; with it, only the other side counts."""
    if side.given != "auto" or any(kernel.family == "constant" for kernel in kernels):
        return kernels
    return [*kernels, side.constant()]


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
