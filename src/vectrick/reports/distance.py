"""The report's figures on the similarity of test vertices to training vertices, and its effect on scores."""

from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.metrics import concordance_index
from vectrick.metrics.auc import auc
from vectrick.model_selection.splitting.similarity import largest_similarity
from vectrick.model_selection.trained import HeldFold, Trained
from vectrick.reports import figures
from vectrick.reports.page import Report, Section

_FIFTHS = 5
_BINS = 20
_FEW = 20  # edges that are enough for a score
_LARGEST = 20_000  # maximum number of vertices of a side


def distance_part(report: Report, section: Section, trained: Trained) -> None:
    """Show the similarity of new test vertices to the most similar training vertex, and scores by similarity."""
    X, y = trained.data.X, trained.y
    if hasattr(trained.model, "classes_") and len(trained.model.classes_) > 2:
        return
    counts: dict[str, Array] = {}
    lines: dict[str, tuple[list[float], list[float]]] = {}
    for side in ("start",) if X.is_one_set else ("start", "end"):
        folds = [fold for fold in trained.held_folds if fold.new in ("both", side)]
        if not folds or len(getattr(X, f"{side}_table")) > _LARGEST:
            continue
        try:
            nearest = [largest_similarity(X, fold.train, fold.test, side) for fold in folds]
        except (ValueError, ImportError, MemoryError):  # a table without similarities
            continue
        vertices = [getattr(X, side)[fold.test] for fold in folds]
        each = [values[np.unique(own, return_index=True)[1]] for values, own in zip(nearest, vertices, strict=True)]
        name = "vertices" if X.is_one_set else f"{side} vertices"
        counts[name] = np.histogram(np.clip(np.concatenate(each), 0, 1), _BINS, (0, 1))[0]
        lines[f"by {name}"] = _scores(trained, folds, nearest, y)
    if not counts:
        return
    score = "AUC" if trained.data.is_binary else "concordance index"
    report.figures["nearest"] = figures.nearest(counts, _BINS)
    section.figure(
        "nearest",
        "How similar new vertices were: the similarity of each held-out vertex to the most similar training vertex of "
        "its fold. 1 means a copy. vectrick evaluate --clusters 0.6 holds out similar vertices together.",
    )
    report.figures["by_nearest"] = figures.by_similarity(lines, score)
    section.figure(
        "by_nearest",
        f"Score by similarity: {score} of fifths of the held-out edges, against the mean similarity of their vertex to "
        "the nearest training vertex.",
    )


def _scores(trained: Trained, folds: list[HeldFold], nearest: list[Array], y: Array) -> tuple[list[float], list[float]]:
    """Return mean similarities and scores of fifths of the held-out edges."""
    similarity, decisions = np.concatenate(nearest), np.concatenate([fold.decisions for fold in folds])
    labels: Any = y[np.concatenate([fold.test for fold in folds])]
    if trained.data.is_binary:
        labels = np.where(labels == y.max(), 1.0, -1.0)
    parts = [part for part in np.array_split(np.argsort(similarity, kind="stable"), _FIFTHS) if len(part) >= _FEW]
    parts = [part for part in parts if len(np.unique(labels[part])) > 1]
    judge = auc if trained.data.is_binary else concordance_index
    return (
        [float(similarity[part].mean()) for part in parts],
        [float(judge(labels[part], decisions[part])) for part in parts],
    )
