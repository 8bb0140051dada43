"""The report's sections on predictions: the matrix of predictions, and the best new edges."""

import numpy as np

from vectrick._typing import Array
from vectrick.data import Edges, VertexTable
from vectrick.model_selection.trained import Trained
from vectrick.reports import figures
from vectrick.reports.certainty import certainty_columns, click_hint, explanations
from vectrick.reports.matrix import MatrixExcerpt, best_new, shown_part
from vectrick.reports.page import Report

_BEST = 500  # new edges with the largest scores
_PARTNERS, _MOST_ROWS = 5, 20_000  # further best partners of every vertex, and the maximum number of rows
_STATIC = 100  # rows of the table without a script, as in print


def sides_of(X: Edges) -> list[tuple[str, VertexTable, Array]]:
    """Return the name, table and edge vertices of each side; one vertex set is one side without a name."""
    if X.is_one_set:
        return [("", X.start_table, np.concatenate([X.start, X.end]))]
    return [("start", X.start_table, X.start), ("end", X.end_table, X.end)]


def matrix_section(report: Report, trained: Trained) -> None:
    """Show the predictions for all vertices, or for the vertices with the most edges."""
    section, X, model = report.section("The matrix of predictions"), trained.data.X, trained.model
    part = shown_part(model, X)
    words, states = _states(trained, part)
    names = [
        [str(name) for name in (np.asarray(table.ids)[rows] if table.ids is not None else rows)]
        for table, rows in ((X.start_table, part.starts), (X.end_table, part.ends))
    ]
    signed = hasattr(model, "classes_")
    figure = figures.heat_map(part.scores, names[0], names[1], states, words, signed)
    if X.is_one_set:
        for axis in ("xaxis", "yaxis"):
            figure["layout"][axis]["title"]["text"] = "vertices"
    report.figures["matrix"] = figure
    which = (
        "All vertices"
        if part.is_all
        else f"The {len(part.starts)} {'' if X.is_one_set else 'start '}and {len(part.ends)} "
        f"{'' if X.is_one_set else 'end '}vertices with the most edges"
    )
    section.figure(
        "matrix",
        f"{which}, sorted so that similar predictions are side by side. A block of one color is a group of vertices "
        "with similar scores for another group. Point at a cell to see its vertices, its score, and whether the edge "
        "is known or new; drag to zoom.",
        size="tall",
    )


def _states(trained: Trained, part: MatrixExcerpt) -> tuple[list[str], list[str]]:
    """Return texts for the states of a pair, and a character for the state of each shown pair."""
    X, y = trained.data.X, trained.data.y
    place = [np.full(len(table), -1) for table in (X.start_table, X.end_table)]
    for where, rows in zip(place, (part.starts, part.ends), strict=True):
        where[rows] = np.arange(len(rows))
    start, end = place[0][X.start], place[1][X.end]
    shown = (start >= 0) & (end >= 0)
    grid = np.zeros(part.scores.shape, np.uint8)
    words = ["new", "known"]
    if trained.data.is_binary:
        words = ["new", *(f"known: {name}" for name in trained.data.class_names)]
        grid[start[shown], end[shown]] = 1 + (y[shown] == y.max())
    else:
        grid[start[shown], end[shown]] = 1
    return words, ["".join(map(str, row.tolist())) for row in grid]


def best_section(report: Report, trained: Trained) -> None:
    """List the pairs with the largest predictions that are not edges of the data."""
    section, X, model = report.section("The best new edges"), trained.data.X, trained.model
    per_vertex = min(_PARTNERS, _MOST_ROWS // (len(X.start_table) + len(X.end_table)))
    partners = f", and the {per_vertex} best partners of every vertex" if per_vertex else ""
    starts, ends, scores = best_new(model, X, _BEST, per_vertex)
    intro = f"The {min(_BEST, len(starts))} pairs with the largest scores that are not edges of the data{partners}."
    if not len(starts) and trained.data.is_binary:
        starts, ends, scores = best_new(model, X[trained.y == trained.y.max()], _BEST, per_vertex)
        intro = (
            f"Every pair is an edge of the data. These are edges of label {trained.data.class_names[0]} with the "
            f"largest scores{partners}. If that label means that nothing was recorded, examine these edges next."
        )
    if not len(starts):
        section.text("Every pair of vertices is a known edge, so there are no new ones.")
        return
    counted = X[trained.y == trained.y.max()] if trained.data.is_binary else X
    degrees = [np.bincount(vertices, minlength=len(table)) for _, table, vertices in sides_of(counted)]
    degrees = (2 * degrees)[:2] if X.is_one_set else degrees
    kind = "positive edges" if trained.data.is_binary else "edges"
    two = ("one", "other") if X.is_one_set else ("start", "end")
    edges = Edges._of(starts.astype(np.int32), ends.astype(np.int32), X.start_table, X.end_table)
    sure, why = certainty_columns(trained, edges, scores), explanations(trained, edges)
    columns = [*two, "score", *sure, *(f"{kind} of {name}" for name in two)]
    names = [table.ids if table.ids is not None else np.arange(len(table)) for table in (X.start_table, X.end_table)]
    rows = [
        [str(names[0][i]), str(names[1][j]), float(f"{score:.6g}"), *(float(f"{value:.4g}") for value in more),
         int(degrees[0][i]), int(degrees[1][j])]
        for i, j, score, *more in zip(starts, ends, scores, *sure.values(), strict=True)
    ]  # fmt: skip
    if "lower" in sure:
        intro += " Nine in ten labels of such edges should lie between lower and upper."
    section.text(intro + " Click on a header to sort." + click_hint(len(why)))
    section.table(columns, rows[:_STATIC], searchable="best")
    report.tables["best"] = rows
    report.explanations["best"] = why
