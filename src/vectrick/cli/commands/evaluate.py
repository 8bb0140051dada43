"""``vectrick evaluate``: cross-validate a model and baselines in the four settings of pairwise learning."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vectrick.cli.baselines import HELP, QUICK, named_baselines, some_of
from vectrick.cli.command import Interrupted, command_line
from vectrick.cli.commands.info import read_told
from vectrick.cli.model_options import AUTO, ModelOptions
from vectrick.cli.options import DataOptions, ResumeOptions
from vectrick.cli.output import Output

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vectrick._typing import Frame, New
    from vectrick.data import Edges
    from vectrick.data.files.dataset import Dataset
    from vectrick.estimators import FittedModel
    from vectrick.persistence.checkpoints import Finished

EXAMPLE = "vectrick evaluate gpcr --report gpcr_evaluation.html"

# Steps for each pairwise kernel and alpha; the best step is chosen. More steps take minutes and are rarely chosen.
_NEWTON_STEPS = 10


@dataclass(frozen=True)
class DivisionOptions:
    """The settings that are tested, and how vertices are divided into folds."""

    settings: Annotated[
        str, typer.Option("--settings", help="Which vertices of the test edges are new: both, start, end, neither.")
    ] = "both,start,end,neither"
    folds: Annotated[
        int, typer.Option("--folds", help="The number of parts of the vertices of each side; 3 makes 3 x 3 folds.")
    ] = 3
    repeats: Annotated[int, typer.Option("--repeats", help="The number of random divisions of the vertices.")] = 1
    clusters: Annotated[
        str | None,
        typer.Option(
            "--clusters",
            help="Keep vertices in one part if their similarity is above this number, such as 0.6; or 'scaffold' "
            "for start molecules of one scaffold.",
            show_default="none",
        ),
    ] = None

    def settings_in_order(self) -> "list[New]":
        """Return the settings in their usual order."""
        from vectrick.data.settings import NEW

        named = some_of(self.settings, "--settings", list(NEW))
        return [new for new in NEW if new in named]

    @property
    def kept_together(self) -> dict[str, Any]:
        """The parameters of `ClusterKFold` that keep similar vertices together; empty without ``--clusters``."""
        text = self.clusters
        if text is None:
            return {}
        if text == "scaffold":
            return {"start": "scaffold"}
        try:
            threshold = float(text)
        except ValueError:
            threshold = -1.0
        if not 0 <= threshold < 1:
            raise ValueError(f"--clusters is {text!r}, but it must be a similarity from 0 to below 1, or 'scaffold'")
        return {"threshold": threshold}


@dataclass(frozen=True)
class BaselineOptions:
    """The baselines that a model is compared with."""

    baselines: Annotated[str, typer.Option("--baselines", help=HELP)] = QUICK
    baseline_edges: Annotated[
        int | None,
        typer.Option(
            "--baseline-edges",
            help="The maximum number of training edges of a baseline; the name then shows the number.",
            show_default="a few seconds of training",
        ),
    ] = None

    def check(self) -> None:
        """Raise if a baseline is unknown or has no edges."""
        if self.baseline_edges is not None and self.baseline_edges < 1:
            raise ValueError(f"--baseline-edges is {self.baseline_edges}, but it must be at least 1")
        named_baselines(self.baselines)

    def models(self, X: "Edges") -> dict[str, Any]:
        """Return the baselines, some of them limited to a part of the edges."""
        from vectrick.model_selection.baselines.beside_baselines import limited

        return limited(named_baselines(self.baselines), X, self.baseline_edges)


def run(
    out: Output,
    data: DataOptions,
    model: ModelOptions,
    keeping: ResumeOptions,
    division: DivisionOptions,
    others: BaselineOptions,
    compare_kernels: Annotated[
        bool,
        typer.Option(
            "--compare-kernels",
            help="Compare pairwise kernels instead of baselines: all that suit the data, or the kernels in "
            "--pairwise, each with alpha chosen inside the folds.",
        ),
    ] = False,
    figure: Annotated[
        Path | None,
        typer.Option("--figure", help="With --compare-kernels: write a plot to this file, .png, .svg or .pdf."),
    ] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write a report to this file, .html.")] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace a file that exists.")] = False,
) -> None:
    """Cross-validate vectrick fit and baselines in the four settings of pairwise learning.

    A random split of the edges does not test predictions for new vertices. "both" tests edges between vertices that
    occur in no training edge, "start" and "end" test edges with one new vertex, and "neither" tests new edges between
    known vertices. In each fold, the whole search uses the training edges only, and is made for the tested setting. A
    single model (--manual) stops early on vertices of the training folds. All methods have the same folds. Ctrl-C shows
    the finished folds; --checkpoint keeps them.
    """
    from vectrick._files import check_targets

    targets = {"--report": report, "--figure": figure, "--checkpoint": keeping.checkpoint}
    check_targets(targets, [*data.inputs, out.config])
    finished = keeping.finished(force)
    if compare_kernels and report is not None:
        raise ValueError("--report is about one model, but --compare-kernels has many; use --figure")
    if report is not None:
        from vectrick.reports import check_report

        check_report(report, force)
    if figure is not None:
        check_figure(figure, compare_kernels, force)
    others.check()
    asked, clusters = division.settings_in_order(), division.kept_together
    if clusters and compare_kernels:
        raise ValueError("--clusters is for one model and baselines, not for --compare-kernels")
    kernels = None
    if compare_kernels:
        several = model.pairwise not in (AUTO, "kronecker")
        kernels = model.pairwise_names() if several else None
        model = replace(model, pairwise="kronecker", manual=True)
    dataset, single = read_told(out, data, model)
    if compare_kernels and dataset.bounds is not None:
        raise ValueError(f"--compare-kernels is for values, but some labels of column {dataset.label!r} are bounds")
    if report is not None or compare_kernels:
        dataset.refuse_several_classes("--report" if report is not None else "--compare-kernels")
    estimators = {
        new: model.estimator(dataset, refit=True) if single else model.searcher(dataset, new) for new in asked
    }
    folds = division.folds, division.repeats, model.seed, clusters
    done: list[dict[str, Any]] = []
    try:
        if compare_kernels:
            rows = cross_validate_kernels(out, estimators[asked[0]], dataset, asked, folds, kernels, figure, finished)
        else:
            rows = cross_validate(out, estimators, dataset, others.models(dataset.X), folds, finished, done)
    except KeyboardInterrupt:
        if not done and keeping.checkpoint is None:
            raise
        if done:
            show_evaluation(out, evaluation_frame(done, dataset))
        raise Interrupted(f"interrupted: {len(done)} fits are finished{keeping.hint}") from None
    show_evaluation(out, rows, compared=not compare_kernels)
    finished.remove()
    if report is not None:
        _report(out, report, estimators[asked[0]], dataset, model if single else None, rows)


def _report(
    out: Output, path: Path, estimator: "FittedModel", dataset: "Dataset", single: ModelOptions | None, rows: "Frame"
) -> None:
    """Train a model on all edges, and write a report about it with the scores of the folds."""
    from vectrick.cli.automatic import train_automatic
    from vectrick.cli.training import hold_out, train
    from vectrick.reports import fit_report

    if single is not None:
        holdout = hold_out(dataset, single.validation_fraction, single.seed)
        trained = train(out, estimator.set_params(refit=False), dataset, holdout)
    else:
        trained = train_automatic(out, estimator, dataset)
    fit_report(trained, command_line(), out.warnings, evaluation=rows).write(path)
    out.wrote("report", path)


def cross_validate(
    out: Output,
    estimators: "Mapping[New, Any]",
    data: "Dataset",
    others: dict[str, Any],
    division: Any,
    finished: "Finished | None" = None,
    done: list[dict[str, Any]] | None = None,
) -> Any:
    """Return a pandas frame with a row for each setting, method and fold; finished rows are appended to ``done``.

    ``estimators`` has the estimator of each setting.
    """
    import vectrick as vt
    from vectrick.data.settings import SETTINGS

    folds, repeats, seed, clusters = division
    name, done = type(next(iter(estimators.values()))).__name__, [] if done is None else done
    for new, estimator in estimators.items():
        kind = vt.ClusterKFold if clusters and new != "neither" else vt.VertexKFold
        more = clusters if new != "neither" else {}
        cv = kind(folds, folds, new, stratify=data.is_binary, n_repeats=repeats, random_state=seed, **more)

        def keep(row: dict[str, Any], new: str = new) -> None:
            done.append({**row, "setting": new})

        with out.library_progress(SETTINGS[new].words):
            vt.compare(
                {name: estimator}, data.X, data.target, cv=cv, baselines=others, checkpoint=finished, callback=keep
            )
    errors = [row["error"] for row in done if row["method"] == name]
    if all(error is not None for error in errors):
        raise ValueError(f"{name} failed in every fold; in the first one: {errors[0]}")
    return evaluation_frame(done, data)


def evaluation_frame(rows: list[dict[str, Any]], data: "Dataset") -> Any:
    """Return rows of settings, methods and folds as a pandas frame that names the score."""
    import pandas as pd

    return pd.DataFrame(rows).assign(scoring="auc" if data.has_classes else "concordance")


def cross_validate_kernels(
    out: Output,
    estimator: "FittedModel",
    data: "Dataset",
    settings: "list[New]",
    division: Any,
    kernels: Any,
    figure: Path | None,
    finished: "Finished | None" = None,
) -> Any:
    """Return a pandas frame with a row for each setting, pairwise kernel and fold; draw it if a figure is named.

    ``kernels`` names the pairwise kernels; None means all that suit the data.
    """
    import vectrick as vt

    folds, repeats, seed, _ = division
    plain = estimator.set_params(early_stopping=False)  # the iteration is chosen inside the folds
    if plain.max_iter is None and not plain._loss_type.is_quadratic:
        plain.set_params(max_iter=_NEWTON_STEPS)
    with out.library_progress("pairwise kernels"):
        comparison = vt.compare_kernels(
            data.X, data.y, plain, kernels=kernels, settings=settings, n_folds=folds, n_repeats=repeats,
            random_state=seed, checkpoint=finished,
        )  # fmt: skip
    for name, why in comparison.left_out.items():
        out.note(f"{name} was left out: {why}")
    out.result["left_out"] = comparison.left_out
    if figure is not None:
        comparison.plot(figure)
        out.wrote("figure", figure)
    if comparison.folds["score"].isna().all():
        raise ValueError("every pairwise kernel failed in every fold; the warnings give the reasons")
    rows = comparison.folds.rename(columns={"kernel": "method", "seconds": "fit"})
    return rows.assign(predict=0.0, scoring=comparison.scoring)


def check_figure(path: Path, compares: bool, force: bool) -> None:
    """Raise if a plot cannot be drawn or written, before any work is done."""
    from importlib.util import find_spec

    from vectrick._files import check_output

    if not compares:
        raise ValueError("--figure is given, but it shows a comparison of kernels; add --compare-kernels")
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise ValueError(f"--figure is {str(path)!r}, but its ending must be .png, .svg or .pdf")
    if find_spec("matplotlib") is None:
        raise ValueError("--figure needs matplotlib; install it with: pip install 'vectrick[plot]'")
    check_output(path, force)


def show_evaluation(out: Output, rows: "Frame", compared: bool = True) -> None:
    """Print the mean and the spread (standard deviation) over folds of each method in each setting.

    ``compared`` adds a comparison of the first method with the best of the others.
    """
    from vectrick.model_selection.baselines.beside_baselines import verdicts

    scoring = rows["scoring"].iloc[0]
    grouped = rows.groupby(["setting", "method"], sort=False)
    summaries = [
        {
            "setting": setting,
            "method": method,
            "mean": float(results["score"].mean(skipna=False)),
            "spread": float(results["score"].std()),
            "lowest": float(results["score"].min()),
            "highest": float(results["score"].max()),
            "folds": len(results),
            "scores": results["score"].tolist(),
            "seconds": float(results["fit"].sum() + results["predict"].sum()),
        }
        for (setting, method), results in grouped
    ]
    out.result |= {"scoring": scoring, "evaluation": summaries}
    table = [
        [f"{summary['setting']} new", *(value for name, value in summary.items() if name not in ("setting", "scores"))]
        for summary in summaries
    ]
    out.table(["test edges", "method", scoring, "spread", "lowest", "highest", "folds", "seconds"], table)
    if compared:
        own = rows["method"].iloc[0]
        found = verdicts(rows)
        out.result["verdicts"] = [{**vars(verdict), "is_clear": verdict.is_clear} for verdict in found]
        for verdict in found:
            out.say(f"{verdict.setting} new: {verdict.words(own)}")
