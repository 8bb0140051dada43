"""The report's section on a search: its candidates, the chosen models, and their scores on the inner folds."""

from html import escape
from typing import Any

import numpy as np

from vectrick._typing import Frame
from vectrick.model_selection.trained import Trained
from vectrick.reports.figures import COLOURS, Figure, numbers, titled
from vectrick.reports.page import Report

_PATHS = 12  # candidates whose scores are shown for every alpha
_STAGE = {
    "all kernels": "--grey", "kernels beside the best": "--grey", "the best on all folds": "--three",
}  # fmt: skip


def search_section(report: Report, trained: Trained, scoring: str) -> None:
    """Show all candidates, the scores of the best candidates along alpha, and the members of the model."""
    section, model = report.section("The candidates of the search"), trained.model
    frame = model.search_
    n_members = int(frame["member"].sum())
    section.text(
        f"{len(frame)} candidates were scored on {model.folds_}. The model is an ensemble of the best {n_members}, "
        "trained on all edges."
        + " The scores on this page are from the inner folds, before that training."
        * trained.is_divided
    )
    for line in model.told_:
        section.text(f"Note: {line}.")
    if frame["score"].notna().any():
        report.figures["tried"] = tried(frame, scoring)
        section.figure(
            "tried",
            "Every candidate at its best alpha, the best first. All kernels have cheap scores, from one pass over the "
            "edges on some of the folds; the best have more accurate ones. Bars are the standard deviation between "
            "folds. Point at a dot to see its kernels.",
        )
        paths = getattr(model, "_paths", [])
        if any(len(alphas) > 1 for alphas, _ in paths):
            report.figures["alphas"] = alphas_of(frame, paths, scoring)
            section.figure(
                "alphas",
                "The score along alpha for the best candidates. A flat top means that the exact value matters little; "
                "a peak at the end of a line means that a value beyond it may be better.",
            )
    members = frame[frame["member"]]
    columns = ["loss", "pairwise", "start_kernel", "end_kernel", "alpha", "score", "spread"]
    rows = [[getattr(row, name) for name in columns] for row in members.itertuples()]
    names = [*(name.replace("_", " ") for name in columns[:-2]), scoring, "standard deviation"]
    section.table(names, [[_plain(value) for value in row] for row in rows])


def tried(frame: Frame, scoring: str) -> Figure:
    """Return the scores of all candidates, with a trace for each stage of the search; members are highlighted."""
    scored = frame[frame["score"].notna()].sort_values("score", ascending=False, kind="stable").reset_index(drop=True)
    scored = scored.assign(rank=np.arange(1, len(scored) + 1))
    data: list[Any] = []
    groups = [(stage, some) for stage, some in scored[~scored["member"]].groupby("stage", sort=False)]
    others = iter(("--two", "--four", "--one"))
    for name, some in [*groups, ("in the model", scored[scored["member"]])]:
        colour = "--one" if name == "in the model" else _STAGE.get(name) or next(others, "--two")
        size = 10 if name == "in the model" else 6
        data.append({
            "x": some["rank"].tolist(), "y": numbers(some["score"]), "mode": "markers", "name": name,
            "marker": {"color": colour, "size": size, "symbol": "diamond" if size == 10 else "circle"},
            "error_y": {"type": "data", "array": numbers(some["spread"]), "thickness": 1, "width": 0,
                        "color": colour},
            "text": [_words(row) for row in some.itertuples()], "hovertemplate": "%{text}<br>%{y:.3f}",
        })  # fmt: skip
    return {"data": data, "layout": {"xaxis": titled("candidates, the best first"), "yaxis": titled(scoring)}}


def alphas_of(frame: Frame, paths: list[Any], scoring: str) -> Figure:
    """Return the score along alpha, with a line for each of the best candidates."""
    data: list[Any] = []
    shown = [at for at, (alphas, _) in enumerate(paths) if len(alphas) > 1]
    shown.sort(key=lambda at: (not frame["member"].iloc[at], -frame["score"].iloc[at]))
    for number, at in enumerate(shown[:_PATHS]):
        row, (alphas, scores) = frame.iloc[at], paths[at]
        order = np.argsort(alphas)
        member = bool(row["member"])
        data.append({
            "x": numbers(np.asarray(alphas)[order]), "y": numbers(np.asarray(scores)[order]), "mode": "lines+markers",
            "name": f"{escape(row['start_kernel'])} × {escape(row['end_kernel'])}, {row['loss']}",
            "line": {"color": COLOURS[number % 4] if member else "--grey", "width": 2 if member else 1},
            "opacity": 1.0 if member else 0.6,
        })  # fmt: skip
    return {
        "data": data,
        "layout": {"xaxis": titled("alpha", type="log"), "yaxis": titled(scoring), "legend": {"orientation": "v"}},
    }


def _words(row: Any) -> str:
    kernels = f"{escape(row.start_kernel)} × {escape(row.end_kernel)}"
    return f"{kernels}<br>{row.loss}, {row.pairwise}, alpha {row.alpha:.3g}"


def _plain(value: Any) -> Any:
    return value if isinstance(value, str) else float(value)
