"""The report of a trained model: the sections of its page."""

import platform
from html import escape
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np

from vectrick._version import __version__
from vectrick.automatic import AutoKron
from vectrick.backends.arrays import to_host
from vectrick.backends.memory import format_bytes, peak_memory
from vectrick.kernels.text import format_kernel
from vectrick.metrics.auc import auc
from vectrick.model_selection.baselines.beside_baselines import verdicts
from vectrick.model_selection.nested import NestedScore
from vectrick.model_selection.search import VertexSearch
from vectrick.model_selection.splitting.pairs import Pairs
from vectrick.model_selection.trained import Trained
from vectrick.reports import figures
from vectrick.reports.certainty import trust_section
from vectrick.reports.page import Report, Seconds, Section
from vectrick.reports.predicted import best_section, matrix_section, sides_of
from vectrick.reports.search import search_section
from vectrick.reports.split_picture import split_picture
from vectrick.reports.summary import Tuning, is_folded, is_outer, lead_of, name_of, score_name, words_of

if TYPE_CHECKING:
    import pandas

_COLUMNS = 12  # of a table that are described
_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "pandas", "pyarrow", "plotly")


def fit_report(
    trained: Trained,
    command: str,
    warnings: list[str],
    evaluation: "pandas.DataFrame | None" = None,
    tuning: Tuning | None = None,
    name: str | None = None,
) -> Report:
    """Return the report of a trained model, with its cross-validation and its grid search if they are given.

    A page has one score under each name: if there is a cross-validation, the plain name stands for its score, and the
    score of a single split is called "on one split".
    """
    name, folded = name_of(trained.data) if name is None else name, is_folded(evaluation)
    searched = isinstance(trained.model, AutoKron)
    report = Report(f"{name}: {type(trained.model).__name__}", lead_of(trained, evaluation, tuning))
    scoring = score_name(trained.scoring) + (" on one split" if not searched and (folded or tuning) else "")
    if searched and is_outer(evaluation):  # it tests the search itself
        scoring += " on inner folds"
    _tiles(report, trained, scoring, evaluation)
    _data_section(report, trained, warnings)
    if searched:
        search_section(report, trained, scoring)
    if trained.holdout.tests and not trained.folds:
        (_split_section if trained.is_divided else _given_section)(report, trained)
    if not searched:
        _training_section(report, trained, scoring)
    if trained.scores:
        _quality_section(report, trained, scoring)
        if not trained.folds:
            _settings_section(report, trained, scoring)
    if evaluation is not None:
        _comparison_section(report, evaluation, trained)
    if tuning is not None:
        _tuning_section(report, *tuning)
    trust_section(report, trained, words_of(trained))
    matrix_section(report, trained)
    best_section(report, trained)
    _cost_section(report, trained)
    _again_section(report, trained, command)
    return report


def _tiles(report: Report, trained: Trained, scoring: str, evaluation: "pandas.DataFrame | None") -> None:
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
    scores, name = trained.scores, scoring
    if evaluation is not None and is_outer(evaluation):  # more reliable than one split
        own = evaluation[evaluation["method"] == evaluation["method"].iloc[0]]
        scores = own.groupby("setting", sort=False)["score"].mean().to_dict()
        name = score_name(evaluation["scoring"].iloc[0])
    report.tiles += [(f"{name}, {words_of(trained)[new]}", f"{score:.3f}") for new, score in scores.items()]
    searched = isinstance(trained.model, AutoKron)
    if searched:
        tried = f"{int(trained.model.search_['member'].sum())} of {len(trained.model.search_)}"
        report.tiles.append(("candidates in the ensemble", tried))
    else:
        report.tiles.append(("iterations", str(trained.model.n_iter_)))
    if "training" in trained.seconds:  # models from files have no training time
        report.tiles.append(("search and " * searched + "training", str(Seconds(trained.seconds["training"]))))


def _data_section(report: Report, trained: Trained, warnings: list[str]) -> None:
    X, y = trained.data.X, trained.data.y
    sides = sides_of(X)
    used = [len(np.unique(vertices)) for _, _, vertices in sides]
    pairs = used[0] * (used[0] - 1) / 2 if X.is_one_set else used[0] * used[1]
    n_pairs = int(Pairs.of(X).distinct().max(initial=-1)) + 1 if X.is_one_set else len(X)
    section = report.section("The data")
    facts = {
        "files": ", ".join(path.name for path in trained.data.files.values())
        or ("built in" if trained.is_divided else "none; the data were given in Python"),
        "edges": f"{len(X)}, {100 * n_pairs / max(1, pairs):.3g} % of the pairs of vertices that have edges",
    }
    for (side, table, _), n_used in zip(sides, used, strict=True):
        is_matrix = trained.data.kinds[side or "start"] == "kernel"
        kind = "rows of a kernel matrix" if is_matrix else f"{table.n_features} features"
        kind = kind if table.text is None else "strings"
        facts[f"{side} vertices".strip()] = f"{len(table)}, {n_used} with edges; {kind}"
        if table.notes:
            shown = [f"{column}: {note}" for column, note in list(table.notes.items())[:_COLUMNS]]
            facts[f"{side} columns".strip()] = "; ".join(shown) + ("; …" if len(table.notes) > _COLUMNS else "")
    if trained.data.is_binary:
        positive = int((y == y.max()).sum())
        negative, name = trained.data.class_names
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


def _split_section(report: Report, trained: Trained) -> None:
    section, holdout, X = report.section("How the data were split"), trained.holdout, trained.data.X
    section.text(
        f"The vertices {'' if X.is_one_set else 'of each side '}were divided, not the edges: a held-out vertex has no "
        "training edge at all. The model trains on edges between training vertices. Edges between held-out vertices "
        f"{'determined the iteration, and ' * bool(trained.model.early_stopping or trained.is_refitted)}are scored "
        "as “both new”. Edges between a held-out and a training vertex were not used for training, and are scored as "
        f"{'“one new”' if X.is_one_set else '“start new” and “end new”'}."
    )
    used = [len(np.unique(vertices)) for _, _, vertices in sides_of(X[holdout.train])]
    totals = [len(np.unique(vertices)) for _, _, vertices in sides_of(X)]
    section.html(split_picture((2 * used)[:2], (2 * totals)[:2], holdout, X.is_one_set))
    held = trained.held_out_vertices
    if held:
        section.html("<details><summary>The held-out vertices</summary>")
        section.facts({f"{side} vertices": ", ".join(map(str, vertices)) for side, vertices in held.items()})
        section.html("</details>")


def _given_section(report: Report, trained: Trained) -> None:
    section, tests = report.section("Training and test edges"), trained.holdout.tests
    section.text(
        f"The model was trained on {trained.n_trained} edges. It is tested on the others. A vertex is new if no "
        "training edge has it."
    )
    words = words_of(trained)
    section.table(
        ["edges", "number"],
        [["training", trained.n_trained], *([words[new], len(rows)] for new, rows in tests.items())],
    )


def _training_section(report: Report, trained: Trained, scoring: str) -> None:
    section, model = report.section("Training"), trained.model
    solution = model.solution_
    ended = "The solver converged" if solution.converged else "Training ended"
    section.text(f"{ended}: {solution.reason}. {_kept(trained)}")
    if trained.is_refitted:
        section.text(
            "The model was then trained again on all edges, for the same number of iterations. The scores and curves "
            "on this page are from the first model, before it was trained on the held-out edges. The matrix and the "
            "new edges are from the final model."
        )
    if len(trained.history.get("iteration", [])) > 1:
        report.figures["history"] = figures.history(trained.history, scoring, model.n_iter_)
        scored = (
            "; the score on held-out vertices is best at the dotted line, and that model was kept. "
            "If the score falls after it, further training would overfit the training edges."
        )
        chosen = (
            ". The number of iterations was chosen in advance, with the kernels and alpha."
            if trained.is_divided
            else "."
        )
        section.figure(
            "history", "The risk falls in every iteration" + (scored if "score" in trained.history else chosen)
        )
    kernels = {f"{side.name} kernel": format_kernel(side.kernel)
               for side in (model.predictor_.start, model.predictor_.end)}  # fmt: skip
    if trained.data.X.is_one_set and len(set(kernels.values())) == 1:
        kernels = {"kernel": next(iter(kernels.values()))}
    section.facts({
        **kernels,
        "pairwise": model.predictor_.kernel.words,
        "alpha": f"{model.alpha:g}",
        "form": f"{model.form_}: {model.form_reason_}",
        "coefficients": f"{np.count_nonzero(to_host(model.predictor_.coefficients))} nonzero",
    })  # fmt: skip


def _kept(trained: Trained) -> str:
    n_made, kept = len(trained.history.get("iteration", [])), trained.model.n_iter_
    return f"The solver made {n_made} iterations, and iteration {kept} was kept." if n_made > 1 else "It took one step."


def _parts(trained: Trained) -> dict[str, Any]:
    """Return labels and predictions of the held-out edges by setting."""
    return {
        words_of(trained)[new]: (trained.y[trained.holdout.tests[new]], predicted)
        for new, predicted in trained.predictions.items()
    }


def _quality_section(report: Report, trained: Trained, scoring: str) -> None:
    section, parts = report.section("Quality on held-out edges"), _parts(trained)
    if trained.data.is_binary:
        if trained.folds and trained.scoring == "auc":  # the score of all folds together differs
            scores = {words_of(trained)[new]: score for new, score in trained.scores.items()}
            section.text("The curves combine the predictions of all inner folds, each for its held-out edges.")
        else:
            scores = {name: auc(np.where(y == np.unique(y)[1], 1.0, -1.0), score) for name, (y, score) in parts.items()}
        coded = {name: (np.where(y == np.unique(y)[1], 1, 0), score) for name, (y, score) in parts.items()}
        called = scoring if trained.scoring == "auc" else "AUC"
        report.figures["roc"], report.figures["recall"] = figures.curves(coded, scores, called)
        section.html('<div class="pair">')
        section.figure(
            "roc", "ROC: the further a curve bends to the upper left, the better; the dotted line is chance."
        )
        section.figure(
            "recall",
            "Precision and recall: how many of the best-scored edges are positive. Dotted lines are the shares of "
            "positive edges, the precision of chance.",
        )
        section.html("</div>")
    else:
        report.figures["measured"] = figures.measured(parts, trained.data.label)
        section.figure(
            "measured",
            "Each dot is a held-out edge; dots of a perfect model lie on the dotted line. Click a name to show more.",
        )
    if hasattr(trained.model, "predict_proba") and trained.data.is_binary:
        from scipy.special import expit

        report.figures["calibration"] = figures.calibration(
            {name: (np.where(y == np.unique(y)[1], 1, 0), expit(score)) for name, (y, score) in parts.items()}
        )
        section.figure(
            "calibration",
            "Reliability of probabilities: if a line is on the dotted line, three in ten of the edges with probability "
            "0.3 are positive. Larger dots represent more edges.",
        )


def _settings_section(report: Report, trained: Trained, scoring: str) -> None:
    section = report.section("Score by setting")
    scores = {words_of(trained)[new]: score for new, score in trained.scores.items()}
    report.figures["settings"] = figures.settings(scores, scoring)
    chose = (
        " Edges with both vertices new were used to choose the iteration, so their score is slightly optimistic. The "
        "test edges of vectrick evaluate and tune are not used for any choice."
    )
    section.figure(
        "settings",
        "Edges with both vertices new are the hardest test. The model was not trained on the edges of this figure."
        + chose * (trained.is_divided and bool(trained.model.early_stopping or trained.is_refitted)),
        size="low",
    )


def _comparison_section(report: Report, rows: "pandas.DataFrame", trained: Trained) -> None:
    section, scoring = report.section("Comparison with baselines"), score_name(rows["scoring"].iloc[0])
    words = words_of(trained)
    if "of" in rows:
        scoring += f" on {len(rows) // rows['method'].nunique()} of {rows['of'].iloc[0]} folds"
    grouped = rows.groupby(["setting", "method"], sort=False)
    folded = bool((grouped.size() > 1).any())
    axis = f"{score_name(rows['scoring'].iloc[0])} of a fold" if folded else scoring
    report.figures["comparison"] = figures.comparison(rows, words, axis)
    if folded and not is_outer(rows):
        section.text(
            "These are the inner folds of the search. Its models were chosen on them, so its own scores are slightly "
            "optimistic; vectrick evaluate makes the whole search inside each fold."
        )
    how = (
        "Cross-validation: a dot is a fold, the line in a box is the median. The methods of a setting are compared on "
        "the same folds. "
        if folded
        else "All methods were trained on the training edges of this page, and scored on the same held-out edges. This "
        "is one split, so small differences mean little (vectrick evaluate has more splits). "
    )
    section.figure(
        "comparison",
        how + "“vertex mean” uses only the mean labels of vertices. A method that is not better has learned no "
        "interaction. With both vertices new, “vertex mean” is at chance.",
    )
    for verdict in verdicts(rows) if folded else []:
        section.text(f"{words[verdict.setting].capitalize()}: {verdict.words(rows['method'].iloc[0])}.")
    lines = []
    for (setting, method), folds in grouped:
        score, seconds = folds["score"], float(folds["fit"].sum() + folds["predict"].sum())
        spread = [float(score.std()), len(folds)] if folded else []
        lines.append([words[setting], method, float(score.mean()), *spread, Seconds(seconds)])
    spread_columns = ["standard deviation", "folds"] if folded else []
    section.table(["test edges", "method", f"mean {scoring}" if folded else scoring, *spread_columns, "time"], lines)


def _tuning_section(report: Report, search: VertexSearch, score: NestedScore | None) -> None:
    section, scoring = report.section("Tuning"), score_name(search.scoring)
    if score is not None:
        section.text(
            f"Nested cross-validation: {scoring} {score.mean:.3f} ± {score.spread:.3f} over folds, from "
            f"{score.scores.min():.3f} to {score.scores.max():.3f}. In each fold, all choices were made inside the "
            "training edges."
        )
    columns = [name for name in search.choices[0] if name != "inner_score"]
    rows = [[_shown(choice[name]) for name in columns] + [float(choice["inner_score"])] for choice in search.choices]
    section.text("The combinations at their best alpha and iteration, chosen on all edges. The first one is the model.")
    section.table([name.replace("_", " ") for name in columns] + [f"{scoring} over folds"], rows)


def _shown(value: Any) -> Any:
    return value if isinstance(value, int | float | str) else format_kernel(value)


def _cost_section(report: Report, trained: Trained) -> None:
    section = report.section("Time, plan and memory")
    facts = {name: str(Seconds(seconds)) for name, seconds in trained.seconds.items()}
    members = getattr(trained.model, "members_", [trained.model])
    facts["products with the kernel of edges"] = str(sum(member.solution_.n_products for member in members))
    peak = peak_memory()
    if peak is not None:
        facts["peak memory of the process"] = format_bytes(peak)
    section.facts(facts)
    section.html("<details><summary>How a product with the kernel of edges was computed</summary>")
    section.code(str(members[0].plan_))
    section.html("</details>")


def _again_section(report: Report, trained: Trained, command: str) -> None:
    section: Section = report.section("How to reproduce it")
    section.code(command)
    versions = {name: metadata.version(name) for name in _PACKAGES}
    section.facts({
        "vectrick": __version__,
        "python": f"{platform.python_version()}, {platform.system()} {platform.machine()}",
        "packages": ", ".join(f"{name} {version}" for name, version in versions.items()),
    })  # fmt: skip
    parameters = {
        name: format_kernel(value) if name.endswith("kernel") and not isinstance(value, str) else value
        for name, value in trained.model.get_params(deep=False).items()
    }
    section.html("<details><summary>All parameters of the model</summary>")
    section.facts(parameters)
    section.html("</details>")
