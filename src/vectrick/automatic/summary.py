"""The results of a search, as a table and as a short text."""

from typing import Any

from vectrick._html import html_block, html_note, html_table
from vectrick._typing import Frame
from vectrick.automatic.scoring.results import Result

_SHOWN = 5  # members that a summary lists


def _ordered(found: Any, chosen: list[Result]) -> list[Result]:
    """Return all results, chosen ones first."""
    members = {id(result) for result in chosen}
    results = found.results or chosen
    return sorted(results, key=lambda result: (id(result) not in members, -result.scores.shape[1], -result.score))


def alpha_paths(found: Any, chosen: list[Result]) -> list[tuple[Any, Any]]:
    """Return the alphas and the mean scores of each row of the frame of a search."""
    each = _ordered(found, chosen)
    return [(result.alphas * (found.model_of(result)[2] / result.alpha), result.means) for result in each]


def search_frame(found: Any, chosen: list[Result]) -> Frame:
    """Return a pandas frame of all results, chosen ones first."""
    import pandas as pd

    members = {id(result) for result in chosen}
    rows = [
        {
            **result.candidate.words,
            "alpha": found.model_of(result)[2],
            "score": result.score,
            "spread": result.spread,
            "folds": result.scores.shape[1],
            "seconds": result.seconds,
            "stage": result.stage,
            "member": id(result) in members,
        }
        for result in _ordered(found, chosen)
    ]
    return pd.DataFrame(rows)


def joined_frames(frames: list[Any]) -> Frame:
    """Return one frame with the rows of all frames."""
    import pandas as pd

    return pd.concat(frames, ignore_index=True)


def summary(model: Any) -> str:
    """Return a few lines about a fitted `AutoKron`."""
    if hasattr(model, "machines_"):
        each = zip(model.classes_, model.machines_, strict=True)
        lines = [f"AutoKron of {len(model.classes_)} classes, each against the rest:"]
        return "\n".join(lines + [f"{name}: {machine}" for name, machine in each])
    frame = model.search_
    members = frame[frame["member"]]
    kind = "classes" if hasattr(model, "classes_") else "values"
    lines = [f"AutoKron of {kind}: an ensemble of the best {len(model.members_)} of {len(frame)} candidates"]
    if model.score_ == model.score_:
        lines.append(
            f"{model.scoring_} {_with_spread(model.score_, model.spread_)} on {model.folds_}, also used for model "
            "selection"
        )
    for row in members.head(_SHOWN).itertuples():
        score = f"  ({_with_spread(row.score, row.spread)})" if row.score == row.score else ""
        kernels = f"start {row.start_kernel}, end {row.end_kernel}"
        lines.append(f"  {row.loss}, {row.pairwise}, {kernels}, alpha {row.alpha:.3g}{score}")
    return "\n".join(lines + [f"note: {line}" for line in model.told_])


def summary_html(model: Any) -> str:
    """Return the summary as HTML for a notebook, with a table of the members."""
    first, *lines = summary(model).splitlines()
    if hasattr(model, "machines_"):
        return html_block(first, *map(html_note, lines))
    members = model.search_[model.search_["member"]]
    columns = ["loss", "pairwise", "start_kernel", "end_kernel", "alpha", "score", "spread"]
    rows = [[getattr(row, name) for name in columns] for row in members.itertuples()]
    table = html_table([name.replace("_", " ") for name in columns], rows)
    return html_block(first, *(html_note(line) for line in lines if not line.startswith("  ")), table)


def _with_spread(score: float, spread: float) -> str:
    return f"{score:.3f} ± {spread:.3f}" if spread == spread else f"{score:.3f}"
