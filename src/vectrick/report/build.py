"""The report of a model: from what was trained to the sections of a page."""

import platform
from html import escape
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from vectrick._version import __version__
from vectrick.backends.memory import format_bytes
from vectrick.kernels.text import format_kernel
from vectrick.report import figures
from vectrick.report.matrix import best_new, shown_part
from vectrick.report.page import Report, Seconds, Section
from vectrick.report.split import split_picture

NEW = {"both": "both new", "start": "start new", "end": "end new", "neither": "neither new"}
ONE_SET = {**NEW, "start": "one new"}  # where both ends come from one vertex set

_BEST = 500  # new edges with the largest scores
_PARTNERS, _MOST_ROWS = 5, 20_000  # the best partners of every vertex beside these, and how many rows there can be
_STATIC = 100  # rows of the table that are there without a script, as on paper
_SCORES = {
    "auc": "AUC", "average_precision": "average precision", "concordance": "concordance index", "r2": "R²",
}  # fmt: skip
_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "pandas", "pyarrow", "plotly")


def fit_report(
    trained: Any, command: str, warnings: list[str], evaluation: Any = None, tuning: tuple[Any, Any] | None = None
) -> Report:
    """Return the report of a trained model, with a cross-validation and a search beside it where there are some."""
    name = _name(trained.data)
    report = Report(f"{name}: {type(trained.model).__name__}", _lead(trained, evaluation, tuning))
    _tiles(report, trained)
    _data_section(report, trained, warnings)
    if trained.holdout is not None:
        _split_section(report, trained)
    _training_section(report, trained)
    if trained.scores:
        _quality_section(report, trained)
        _settings_section(report, trained)
    if evaluation is not None:
        _comparison_section(report, evaluation, _words(trained))
    if tuning is not None:
        _tuning_section(report, *tuning)
    _matrix_section(report, trained)
    _best_section(report, trained)
    _cost_section(report, trained)
    _again_section(report, trained, command)
    return report


def _words(trained: Any) -> dict[str, str]:
    """Return what the settings are called."""
    return ONE_SET if trained.data.X.is_one_set else NEW


def _name(data: Any) -> str:
    edges = data.files.get("edges")
    return "Checker" if edges is None else Path(edges).resolve().parent.name or "edges"


def _score_name(scoring: str) -> str:
    return _SCORES.get(scoring, scoring)


def _lead(trained: Any, evaluation: Any, tuning: tuple[Any, Any] | None) -> str:
    """Return the score that says most: the nested one, the cross-validated one, or that of the held-out edges."""
    if tuning is not None and tuning[1] is not None:
        score = tuning[1]
        return (
            f"{_score_name(score.scoring)} {score.mean:.3f} ± {score.spread:.3f} for edges between vertices that "
            "neither training nor the choice of kernels has seen (nested cross-validation)."
        )
    if evaluation is not None and (evaluation.groupby(["setting", "method"]).size() > 1).any():
        return _cross_validated(evaluation)
    if "both" in trained.scores:
        return (
            f"{_score_name(trained.scoring)} {trained.scores['both']:.3f} for {len(trained.holdout.tests['both'])} "
            "edges both of whose vertices the model has never seen."
        )
    return f"Trained on {len(trained.data.X)} edges; no edges were held out, so that nothing is said about its quality."


def _cross_validated(rows: Any) -> str:
    """Return what a cross-validation found in its first setting, beside the best of the others."""
    setting, model = rows["setting"].iloc[0], rows["method"].iloc[0]
    scores = rows[rows["setting"] == setting].groupby("method", sort=False)["score"]
    means = scores.mean().drop(model)
    beside = "" if means.empty else f" The best of the others, {means.idxmax()}, has {means.max():.3f}."
    return (
        f"{_score_name(rows['scoring'].iloc[0])} {scores.mean()[model]:.3f} ± {scores.std()[model]:.3f} by "
        f"cross-validation, {NEW[setting]}.{beside}"
    )


def _tiles(report: Report, trained: Any) -> None:
    X = trained.data.X
    report.tiles = [
        ("edges", f"{len(X):,}".replace(",", " ")),
        ("vertices", str(len(X.start_table)))
        if X.is_one_set
        else ("start × end vertices", f"{len(X.start_table)} × {len(X.end_table)}"),
    ]
    if trained.data.is_binary:
        share = float((trained.y == trained.y.max()).mean())
        report.tiles.append(("positive edges", f"{100 * share:.3g} %"))
    report.tiles += [
        (f"{_score_name(trained.scoring)}, {_words(trained)[new]}", f"{score:.3f}")
        for new, score in trained.scores.items()
    ]
    training = str(Seconds(trained.seconds["training"]))
    report.tiles += [("iterations", str(trained.model.n_iter_)), ("training", training)]


def _data_section(report: Report, trained: Any, warnings: list[str]) -> None:
    X, y = trained.data.X, trained.data.y
    sides = _sides(X)
    used = [len(np.unique(vertices)) for _, _, vertices in sides]
    pairs = used[0] * (used[0] - 1) / 2 if X.is_one_set else used[0] * used[1]
    section = report.section("The data")
    facts = {
        "files": ", ".join(path.name for path in trained.data.files.values()) or "built in",
        "edges": f"{len(X)}, {100 * len(X) / max(1, pairs):.3g} % of the pairs of vertices that have edges",
    }
    for (side, table, _), n_used in zip(sides, used, strict=True):
        is_matrix = trained.data.kinds[side or "start"] == "kernel"
        kind = "rows of a kernel matrix" if is_matrix else f"{table.n_features} features"
        facts[f"{side} vertices".strip()] = f"{len(table)}, {n_used} with edges; {kind}"
    if trained.data.is_binary:
        positive = int((y == y.max()).sum())
        negative, name = trained.data.classes
        facts[f"labels ({trained.data.label})"] = (
            f"{positive} positive ({name}), {len(y) - positive} negative ({negative})"
        )
    else:
        low, middle, high = np.quantile(y, [0, 0.5, 1])
        facts[f"labels ({trained.data.label})"] = f"from {low:.4g} to {high:.4g}, median {middle:.4g}"
    for side, _, vertices in sides:
        degrees = np.bincount(vertices)
        low, middle, high = np.quantile(degrees[degrees > 0], [0, 0.5, 1])
        which = {"start": "a start vertex", "end": "an end vertex", "": "a vertex"}[side]
        facts[f"edges of {which}"] = f"{low:.0f} to {high:.0f}, median {middle:.0f}"
    section.facts(facts)
    for warning in warnings:
        section.html(f'<p class="warning">{escape(warning)}</p>')


def _sides(X: Any) -> list[tuple[str, Any, Any]]:
    """Return the name, the table and the vertices of the edges of each side; one vertex set is one, without a name."""
    if X.is_one_set:
        return [("", X.start_table, np.concatenate([X.start, X.end]))]
    return [("start", X.start_table, X.start), ("end", X.end_table, X.end)]


def _split_section(report: Report, trained: Any) -> None:
    section, holdout, X = report.section("How it was split"), trained.holdout, trained.data.X
    section.text(
        f"The vertices {'' if X.is_one_set else 'of each side '}were divided, not the edges: a held-out vertex has no "
        "training edge at all. The model trains on edges between training vertices. Edges between held-out vertices "
        "chose the iteration and are scored as “both new”; those that join a held-out to a training vertex are left "
        f"out of both, and scored as {'“one new”' if X.is_one_set else '“start new” and “end new”'}."
    )
    used = [len(np.unique(vertices)) for _, _, vertices in _sides(X[holdout.train])]
    totals = [len(np.unique(vertices)) for _, _, vertices in _sides(X)]
    section.html(split_picture((2 * used)[:2], (2 * totals)[:2], holdout, X.is_one_set))


def _training_section(report: Report, trained: Any) -> None:
    section, model = report.section("Training"), trained.model
    solution = model.solution_
    ended = "The solver converged" if solution.converged else "Training ended"
    section.text(f"{ended}: {solution.reason}. {_kept(trained)}")
    if trained.is_refitted:
        section.text(
            "The model was then trained again on all edges, for as many iterations. The scores and curves of this "
            "page are those of the model before, which had not seen the held-out edges; the matrix and the new edges "
            "are its own."
        )
    if len(trained.history.get("iteration", [])) > 1:
        scoring = _score_name(trained.scoring)
        report.figures["history"] = figures.history(trained.history, scoring, model.n_iter_)
        scored = (
            "; the score on held-out vertices is best at the dotted line, and that model is the one that was kept. "
            "Where the score falls after it, more training would only fit the training edges."
        )
        chosen = ". The number of iterations was chosen before, with the kernels and alpha."
        section.figure(
            "history", "The risk falls in every iteration" + (scored if "score" in trained.history else chosen)
        )
    kernels = {f"{side.name} kernel": format_kernel(side.kernel)
               for side in (model._predictor.start, model._predictor.end)}  # fmt: skip
    if trained.data.X.is_one_set and len(set(kernels.values())) == 1:
        kernels = {"kernel": next(iter(kernels.values()))}
    section.facts({
        **kernels,
        "pairwise": weighted_components(model),
        "alpha": f"{model.alpha:g}",
        "form": f"{model.form_}: {model.form_reason_}",
        "coefficients": f"{np.count_nonzero(model._predictor.coefficients)} that are not zero",
    })  # fmt: skip


def weighted_components(model: Any) -> str:
    """Return the kernels of edges of a model in words, with their weights where there are several."""
    if not hasattr(model, "components_"):
        return str(model._predictor.kernel.components[0].pairwise.name)
    if len(model.components_) == 1:
        return str(model.components_[0])
    pairs = zip(model.kernel_weights_, model.components_, strict=True)
    return "; ".join(f"{weight:.3g} × {name}" for weight, name in pairs)


def _kept(trained: Any) -> str:
    made, kept = len(trained.history.get("iteration", [])), trained.model.n_iter_
    return f"{made} iterations were made, number {kept} was kept." if made > 1 else "It took one step."


def _parts(trained: Any) -> dict[str, Any]:
    """Return labels and predictions of the held-out edges by setting."""
    return {
        _words(trained)[new]: (trained.y[trained.holdout.tests[new]], predicted)
        for new, predicted in trained.predictions.items()
    }


def _quality_section(report: Report, trained: Any) -> None:
    section, parts = report.section("Quality on held-out edges"), _parts(trained)
    if trained.data.is_binary:
        from vectrick.metrics import auc

        scores = {name: auc(np.where(y == np.unique(y)[1], 1.0, -1.0), score) for name, (y, score) in parts.items()}
        coded = {name: (np.where(y == np.unique(y)[1], 1, 0), score) for name, (y, score) in parts.items()}
        report.figures["roc"], report.figures["recall"] = figures.curves(coded, scores)
        section.html('<div class="pair">')
        section.figure(
            "roc", "ROC: the further a curve bends to the upper left, the better; the dotted line is chance."
        )
        section.figure(
            "recall",
            "Precision and recall: how many of the best-scored edges are positive. Dotted lines are the shares of "
            "positive edges, which chance would have.",
        )
        section.html("</div>")
    else:
        report.figures["measured"] = figures.measured(parts, trained.data.label)
        section.figure(
            "measured",
            "Each dot is a held-out edge; dots of a perfect model lie on the dotted line. Click a name to show more.",
        )
    if hasattr(trained.model, "predict_proba") and "both" in trained.predictions:
        from scipy.special import expit

        y = trained.y[trained.holdout.tests["both"]]
        report.figures["calibration"] = figures.calibration(
            np.where(y == np.unique(y)[1], 1, 0), expit(trained.predictions["both"])
        )
        section.figure(
            "calibration",
            "Calibration, both vertices new: where the line is on the dotted one, of the edges with probability 0.3 "
            "three in ten are positive. Larger dots stand for more edges.",
        )


def _settings_section(report: Report, trained: Any) -> None:
    section, scoring = report.section("Score by setting"), _score_name(trained.scoring)
    scores = {_words(trained)[new]: score for new, score in trained.scores.items()}
    report.figures["settings"] = figures.settings(scores, scoring)
    chose = (
        " Those with both vertices new chose the iteration, so that their score is a little too good: vectrick "
        "evaluate and tune have scores that chose nothing."
    )
    section.figure(
        "settings",
        "The hardest test is the one where both vertices are new. These edges did not train."
        + chose * bool(trained.model.early_stopping or trained.is_refitted),
        size="low",
    )


def _comparison_section(report: Report, rows: Any, words: dict[str, str]) -> None:
    section, scoring = report.section("Comparison with baselines"), _score_name(rows["scoring"].iloc[0])
    grouped = rows.groupby(["setting", "method"], sort=False)
    folded = bool((grouped.size() > 1).any())
    axis = f"{scoring} of a fold" if folded else scoring
    report.figures["comparison"] = figures.comparison(rows, words, axis)
    how = (
        "Cross-validation: a dot is a fold, the line in a box is the median. The methods of a setting are compared on "
        "the same folds. "
        if folded
        else "All methods trained on the training edges of this page, and are scored on the same held-out edges: one "
        "split, so that small differences mean little (vectrick evaluate has more). "
    )
    section.figure(
        "comparison",
        how + "“vertex mean” knows only which vertices have many positive edges: what is not better than that has "
        "learned no interaction, and where both vertices are new it is at chance.",
    )
    found = []
    for (setting, method), some in grouped:
        score, seconds = some["score"], float(some["fit"].sum() + some["predict"].sum())
        spread = [float(score.std()), len(some)] if folded else []
        found.append([words[setting], method, float(score.mean()), *spread, Seconds(seconds)])
    spread_columns = ["standard deviation", "folds"] if folded else []
    section.table(["test edges", "method", f"mean {scoring}" if folded else scoring, *spread_columns, "time"], found)


def _tuning_section(report: Report, found: Any, score: Any) -> None:
    section, scoring = report.section("Tuning"), _score_name(found.scoring)
    if score is not None:
        section.text(
            f"Nested cross-validation: {scoring} {score.mean:.3f} ± {score.spread:.3f} over folds, from "
            f"{score.scores.min():.3f} to {score.scores.max():.3f}. In each fold everything was chosen inside the "
            "training edges."
        )
    columns = [name for name in found.choices[0] if name != "inner_score"]
    rows = [[_shown(one[name]) for name in columns] + [float(one["inner_score"])] for one in found.choices]
    section.text("The combinations at their best alpha and iteration, chosen on all edges; the first one is the model.")
    section.table([name.replace("_", " ") for name in columns] + [f"{scoring} over folds"], rows)


def _shown(value: Any) -> Any:
    return value if isinstance(value, int | float | str) else format_kernel(value)


def _matrix_section(report: Report, trained: Any) -> None:
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
        f"{'' if X.is_one_set else 'end '}vertices with most edges"
    )
    section.figure(
        "matrix",
        f"{which}, those with like predictions side by side: blocks of one colour are groups of vertices that go with "
        "groups of others. Point at a cell for its vertices, its score, and whether the edge is known "
        "or new; drag to zoom.",
        size="tall",
    )


def _states(trained: Any, part: Any) -> tuple[list[str], list[str]]:
    """Return what can be known of a pair, in words, and a character for each pair of the shown part."""
    X, y = trained.data.X, trained.data.y
    place = [np.full(len(table), -1) for table in (X.start_table, X.end_table)]
    for where, rows in zip(place, (part.starts, part.ends), strict=True):
        where[rows] = np.arange(len(rows))
    start, end = place[0][X.start], place[1][X.end]
    shown = (start >= 0) & (end >= 0)
    grid = np.zeros(part.scores.shape, np.uint8)
    words = ["new", "known"]
    if trained.data.is_binary:
        words = ["new", *(f"known: {name}" for name in trained.data.classes)]
        grid[start[shown], end[shown]] = 1 + (y[shown] == y.max())
    else:
        grid[start[shown], end[shown]] = 1
    return words, ["".join(map(str, row)) for row in grid.tolist()]


def _best_section(report: Report, trained: Any) -> None:
    section, X, model = report.section("The best new edges"), trained.data.X, trained.model
    per_vertex = min(_PARTNERS, _MOST_ROWS // (len(X.start_table) + len(X.end_table)))
    partners = f", and the {per_vertex} best partners of every vertex" if per_vertex else ""
    starts, ends, scores = best_new(model, X, _BEST, per_vertex)
    intro = f"The {min(_BEST, len(starts))} pairs with the largest scores that are no edges of the data{partners}."
    if not len(starts) and trained.data.is_binary:
        starts, ends, scores = best_new(model, X[trained.y == trained.y.max()], _BEST, per_vertex)
        intro = (
            f"Every pair is an edge of the data. These are edges of label {trained.data.classes[0]} with the largest "
            f"scores{partners}: where that label means that nothing was recorded, they are what to look at next."
        )
    if not len(starts):
        section.text("Every pair of vertices is a known edge, so that there are no new ones.")
        return
    counted = X[trained.y == trained.y.max()] if trained.data.is_binary else X
    degrees = [np.bincount(vertices, minlength=len(table)) for _, table, vertices in _sides(counted)]
    degrees = (2 * degrees)[:2] if X.is_one_set else degrees
    kind = "positive edges" if trained.data.is_binary else "edges"
    two = ("one", "other") if X.is_one_set else ("start", "end")
    columns = [*two, "score", *(f"{kind} of {name}" for name in two)]
    names = [table.ids if table.ids is not None else np.arange(len(table)) for table in (X.start_table, X.end_table)]
    rows = [
        [str(names[0][i]), str(names[1][j]), float(f"{score:.6g}"), int(degrees[0][i]), int(degrees[1][j])]
        for i, j, score in zip(starts, ends, scores, strict=True)
    ]
    section.text(intro + " Click on a header to sort.")
    section.table(columns, rows[:_STATIC], searchable="best")
    report.tables["best"] = rows


def _cost_section(report: Report, trained: Any) -> None:
    section = report.section("Time, plan and memory")
    facts = {name: str(Seconds(seconds)) for name, seconds in trained.seconds.items()}
    facts["products with the kernel of edges"] = str(trained.model.solution_.n_products)
    peak = _peak_memory()
    if peak is not None:
        facts["largest memory of the process"] = format_bytes(peak)
    section.facts(facts)
    section.html("<details><summary>How a product with the kernel of edges was computed</summary>")
    section.code(str(trained.model.plan_))
    section.html("</details>")


def _peak_memory() -> int | None:
    """Return the largest memory that the process has had, where the system tells."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(found) if platform.system() == "Darwin" else 1024 * int(found)


def _again_section(report: Report, trained: Any, command: str) -> None:
    section: Section = report.section("To get it again")
    section.code(command)
    versions = {name: metadata.version(name) for name in _PACKAGES}
    section.facts({
        "vectrick": __version__,
        "python": f"{platform.python_version()}, {platform.system()} {platform.machine()}",
        "packages": ", ".join(f"{name} {version}" for name, version in versions.items()),
    })  # fmt: skip
    parameters = {
        name: format_kernel(value) if name.endswith("kernel") else value
        for name, value in trained.model.get_params(deep=False).items()
    }
    section.html("<details><summary>All parameters of the model</summary>")
    section.facts(parameters)
    section.html("</details>")
