"""The report's section on the reliability of predictions, and the columns and explanations of new edges."""

from contextlib import suppress
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.data import Edges
from vectrick.estimators import novelty_of
from vectrick.metrics.auc import auc
from vectrick.model_selection.calibration.errors import Calibration, Centre, Errors, errors_of, interval, sets
from vectrick.model_selection.trained import HeldFold, Trained
from vectrick.reports import figures
from vectrick.reports.distance import distance_part
from vectrick.reports.page import Report, Section

COVERAGE = 0.9
_NOMINAL = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_TENTHS = 10
_EXPLAINED, _CONTRIBUTIONS = 50, 6  # explained new edges, and contributions to each


def trust_section(report: Report, trained: Trained, words: dict[str, str]) -> None:
    """Show how errors grow with novelty, and the coverage of intervals or sets of classes."""
    if not trained.held_folds:
        return
    section, classes = report.section("How far to trust it"), getattr(trained.model, "classes_", None)
    _novelty_part(report, section, trained, words)
    distance_part(report, section, trained)
    if classes is None:
        _interval_part(report, section, trained, words)
    elif len(classes) == 2:
        _set_part(section, trained, words)
    if not section.parts:
        report.sections.remove(section)


def _novelty_part(report: Report, section: Section, trained: Trained, words: dict[str, str]) -> None:
    """Show the score, or the error, of held-out edges by tenths of their novelty."""
    is_binary, lines = trained.data.is_binary, {}
    for new, folds in _by_setting(trained.held_folds).items():
        try:
            novelty = np.concatenate([
                novelty_of(trained.model, trained.data.X[fold.test], False, fold.train if trained.is_refitted else None)
                for fold in folds
            ])  # fmt: skip
        except ValueError:  # another pairwise kernel, without a novelty
            return
        y = trained.y[np.concatenate([fold.test for fold in folds])]
        decisions = np.concatenate([fold.decisions for fold in folds])
        tenths = [part for part in np.array_split(np.argsort(novelty, kind="stable"), _TENTHS) if len(part)]
        heights = [_tenth(y[part], decisions[part], y.max() if is_binary else None) for part in tenths]
        lines[words[new]] = [float(novelty[part].mean()) for part in tenths], heights
    score = "AUC" if is_binary else "mean absolute error"
    report.figures["novelty"] = figures.by_novelty(lines, score)
    section.figure(
        "novelty",
        "Novelty is the share of the prior variance of an edge that the training edges leave: 1 for vertices unlike "
        f"all others. Each dot is a tenth of the held-out edges: {score} against their mean novelty, with respect to "
        "the training edges of their fold.",
    )


def _tenth(y: Array, decisions: Array, positive: Any) -> float:
    """Return the AUC, or the mean absolute error, of some edges; NaN if it is not defined."""
    if positive is None:
        return float(np.abs(y - decisions).mean())
    truth = np.where(y == positive, 1.0, -1.0)
    return auc(truth, decisions) if len(np.unique(truth)) == 2 else float("nan")


def _interval_part(report: Report, section: Section, trained: Trained, words: dict[str, str]) -> None:
    """Show the coverage of intervals, each calibrated without the edges that it is tested on."""
    lines, rows = {}, []
    for new, folds in _by_setting(trained.held_folds).items():
        parts = _parts(trained, folds)
        found = [_covered(parts, coverage) for coverage in _NOMINAL]
        lines[words[new]] = [share for share, _ in found]
        at = _NOMINAL.index(COVERAGE)
        rows.append([words[new], sum(len(part[0]) for part in parts), float(found[at][0]), float(found[at][1])])
    report.figures["coverage"] = figures.coverage(list(_NOMINAL), lines)
    section.figure(
        "coverage",
        "Reliability of intervals: the measured share of held-out labels within intervals, against the nominal share. "
        "Each part of the edges is tested with intervals from the errors of the other parts. On the dotted line, both "
        "shares are equal. vectrick predict --interval uses the errors of all parts.",
    )
    section.table(["held-out edges", "edges", "in intervals of 90 %", "mean width"], rows)


def _set_part(section: Section, trained: Trained, words: dict[str, str]) -> None:
    """Show the coverage and the size of sets of classes, each calibrated without the edges that it is tested on."""
    rows, names = [], trained.data.class_names
    classes = trained.model.classes_
    for new, folds in _by_setting(trained.held_folds).items():
        parts = _parts(trained, folds)
        truth, members = [], []
        for number, (y, decisions, _) in enumerate(parts):
            others = [part for other, part in enumerate(parts) if other != number] or parts
            labels, scores = (np.concatenate([part[i] for part in others]) for i in (0, 1))
            errors = errors_of(labels, scores, None, classes)
            truth.append(y)
            members.append(sets([(decisions, errors)], COVERAGE))
        y, inside = np.concatenate(truth), np.concatenate(members)
        shares = [float(inside[y == label, column].mean()) for column, label in enumerate(classes)]
        rows.append([words[new], len(y), *shares, float((inside.sum(axis=1) == 1).mean())])
    section.text(
        "Sets of classes that should contain the true class for 90 % of the edges of each class, tested on edges that "
        "were not used to calibrate them. The more sets have one class only, the more informative they are."
    )
    section.table(["held-out edges", "edges", *(f"{name} in its set" for name in names), "sets of one class"], rows)


Calibrated = tuple[Array, Array, Array]  # labels, predictions, and the expected scale of errors


def _parts(trained: Trained, folds: list[HeldFold]) -> list[Calibrated]:
    """Return parts, each to be tested with the errors of the others: folds, or the halves of a single fold."""
    found = []
    for fold in folds:
        X, scale = trained.data.X[fold.test], trained.held_scale(fold)
        scale = np.ones(len(X)) if scale is None else scale
        halves = [np.ones(len(X), bool)] if len(folds) > 1 else [X.start % 2 == half for half in (0, 1)]
        found += [(trained.y[fold.test][half], fold.decisions[half], scale[half]) for half in halves if half.any()]
    return found


def _covered(parts: list[Calibrated], coverage: float) -> tuple[float, float]:
    """Return the share of labels within intervals from the errors of the other parts, and their mean width."""
    inside, widths = [], []
    for number, (y, decisions, scale) in enumerate(parts):
        others = [part for other, part in enumerate(parts) if other != number] or parts
        errors = Errors.of(np.concatenate([np.abs(part[0] - part[1]) / part[2] for part in others]))
        low, high = interval([Centre(decisions, scale, errors)], coverage)
        inside.append((low <= y) & (y <= high))
        widths.append(high - low)
    return float(np.concatenate(inside).mean()), float(np.concatenate(widths).mean())


def _by_setting(folds: list[HeldFold]) -> dict[str, list[HeldFold]]:
    settings = dict.fromkeys(fold.new for fold in folds)
    return {new: [fold for fold in folds if fold.new == new] for new in settings}


# The best new edges


def certainty_columns(trained: Trained, X: Edges, scores: Array) -> dict[str, Array]:
    """Return the columns of a table of edges that show how certain their scores are, if they are available."""
    columns: dict[str, Array] = {}
    stored = trained.calibration()
    if stored is not None and not hasattr(trained.model, "classes_"):
        low, high, _ = Calibration.read(stored).intervals(trained.model, X, scores, COVERAGE)
        if np.isfinite(low).all():
            columns |= {"lower": low, "upper": high}
    with suppress(ValueError):  # another pairwise kernel has none
        columns["novelty"] = trained.model.novelty(X)
    return columns


def explanations(trained: Trained, X: Edges) -> list[list[list[Any]]]:
    """Return the terms that add up to the predictions of the first edges, as rows of text and numbers."""
    found: list[list[list[Any]]] = []
    names: dict[Any, str] = {}
    if trained.data.is_binary and hasattr(trained.model, "classes_"):
        names = dict(zip(trained.model.classes_.tolist(), map(str, trained.data.class_names), strict=True))
    try:
        for number in range(min(len(X), _EXPLAINED)):
            frame = trained.model.explain(X[number : number + 1], _CONTRIBUTIONS)
            found.append([[_told(row, names), float(f"{row.contribution:.6g}")] for row in frame.itertuples()])
    except ValueError:
        return []
    return found


def _told(row: Any, names: dict[Any, str]) -> str:
    """Return a text for the source of a contribution."""
    if row.what != "edge":
        return str(row.what)
    return f"{row.start} – {row.end}, label {names.get(row.label) or format(row.label, 'g')}"


def click_hint(explained: int) -> str:
    """Return the hint that a click on a row explains its score."""
    return f" Click on one of the {explained} edges with the largest scores to see an explanation." if explained else ""
