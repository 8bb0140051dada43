"""``vectrick fit``: train and validate a model, write it to a file, and show how good it is."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from vectrick.cli.baselines import HELP, QUICK, beside_baselines, named_baselines
from vectrick.cli.command import Interrupted, command_line
from vectrick.cli.lakes import LakeOptions, fit_lake
from vectrick.cli.model_options import ModelOptions
from vectrick.cli.options import DataOptions
from vectrick.cli.output import Output

if TYPE_CHECKING:
    from vectrick._typing import NewOrAll
    from vectrick.data.files.dataset import Dataset
    from vectrick.estimators import FittedModel
    from vectrick.model_selection.trained import Trained

EXAMPLE = "vectrick fit gpcr -o gpcr.vt --report gpcr.html"


def run(
    out: Output,
    data: DataOptions,
    model: ModelOptions,
    lakes: LakeOptions,
    new: Annotated[
        str,
        typer.Option(
            "--new",
            help="Which vertices will be new at prediction time: both, start, end or neither; or all. "
            "Models are chosen by their scores in this setting.",
        ),
    ] = "both",
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write the model to.")] = Path("model.vt"),
    report: Annotated[
        Path | None, typer.Option("--report", help="Write a report about the model to this file, .html.")
    ] = None,
    baselines: Annotated[
        str, typer.Option("--baselines", help=f"For the report: {HELP[0].lower() + HELP[1:]}")
    ] = QUICK,
    refit: Annotated[
        bool,
        typer.Option(
            "--refit/--no-refit",
            help="For a single model with early stopping: train again on all edges, for the best number of iterations.",
        ),
    ] = True,
    checkpoint: Annotated[
        Path | None, typer.Option("--checkpoint", help="A file for the state of a long run, written every minute.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume from --checkpoint, if it exists.")] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace files that exist.")] = False,
) -> None:
    """Train a model on labeled edges and write it to a file.

    A search chooses kernels, loss and alpha by their scores on inner folds that match --new, and trains an ensemble of
    the best models on all edges. Parameters that are given, such as --alpha or --start-kernel, stay fixed.

    A lake is a folder edges/ of Parquet files next to the two vertex tables. It may be larger than memory. The options
    --max-memory, --cluster and --dry-run are for lakes.

    --manual trains the single model that the options describe. A quarter of the vertices of each side is held out, for
    early stopping and for scores on unseen vertices. The model is then trained again on all edges. Ctrl-C keeps the
    best model so far.
    """
    from vectrick.cli.automatic import beside_baselines_inside, summarise_search, train_automatic
    from vectrick.cli.commands.info import read_told
    from vectrick.persistence.fit_checkpoint import FitCheckpoint

    setting = check_new(new)
    if not lakes.dry_run:
        _check_files([*data.inputs, out.config], output, report, checkpoint, resume, force)
    lake = lakes.lake(data)
    if lake is not None:
        if report is not None or checkpoint is not None:
            raise ValueError(
                "--report and --checkpoint are for edges in memory, but the data are a lake; leave them out"
            )
        fit_lake(out, lake, model, lakes, new, output)
        return
    if lakes.is_given:
        raise ValueError(
            "an option for lakes is given, such as --cluster or --max-memory, but the data are no lake: a lake has a "
            "folder edges/ of Parquet files"
        )
    others = {} if report is None else named_baselines(baselines)
    dataset, single = read_told(out, data, model, no_refit=not refit, checkpoint=checkpoint is not None)
    reading = out.seconds
    if report is not None or checkpoint is not None:
        dataset.refuse_several_classes("--report" if report is not None else "--checkpoint")
    state = None
    if checkpoint is not None:
        on_resume = lambda iteration: out.note(f"going on after iteration {iteration}")  # noqa: E731
        state = FitCheckpoint(checkpoint, resume, force, on_resume)
    if single:
        trained = _fit_single(out, model, dataset, state, refit)
    else:
        trained = train_automatic(out, model.searcher(dataset, setting), dataset)
    trained.seconds["reading"] = reading
    trained.model.save(output, about=_about(trained))
    (summarise if single else summarise_search)(out, trained)
    out.wrote("model", output)
    if state is not None:
        state.finish(trained.is_interrupted)
    if report is not None:
        from vectrick.reports import fit_report

        compare = beside_baselines if single else beside_baselines_inside
        rows = None if trained.is_interrupted else compare(trained, others, out)
        fit_report(trained, command_line(), out.warnings, evaluation=rows).write(report)
        out.wrote("report", report)
    out.result["seconds"] = {**trained.seconds, "total": out.seconds}
    if trained.is_interrupted:
        best = "from the candidates scored so far" if not single else f"from iteration {trained.model.n_iter_}"
        raise Interrupted(f"interrupted: {output} holds the best model so far, {best}")


def check_new(new: str) -> "NewOrAll":
    """Return the value of `--new`, or raise if there is no such setting."""
    from vectrick.automatic.scoring.folding import ASKED

    if new not in ASKED:
        raise ValueError(f"--new is {new!r}, but it must be one of {', '.join(ASKED)}")
    return cast("NewOrAll", new)


def _fit_single(out: Output, model: ModelOptions, dataset: "Dataset", state: Any, refit: bool) -> "Trained":
    """Train the model that the options describe; with ``refit``, train it again on all edges."""
    from vectrick.cli.training import hold_out, train

    holdout = None if model.no_early_stopping else hold_out(dataset, model.validation_fraction, model.seed)
    trained = train(out, model.estimator(dataset), dataset, holdout, state, keep_interrupted=True)
    if refit and holdout is not None:
        if trained.is_interrupted:
            out.warn("training was interrupted, so the model was not trained on the held-out edges")
        else:
            out.note(f"training on all edges for {trained.model.n_iter_} iterations")
            trained.refit()
    return trained


def _check_files(
    inputs: list[Path | None], output: Path, report: Path | None, checkpoint: Path | None, resume: bool, force: bool
) -> None:
    """Raise if a file cannot be written, before any work is done; a resumed run may replace its own files."""
    from vectrick._files import check_output, check_targets

    check_targets({"--output": output, "--report": report, "--checkpoint": checkpoint}, inputs)
    check_output(output, force or resume)
    if report is not None:
        from vectrick.reports import check_report

        check_report(report, force or resume)
    if resume and checkpoint is None:
        raise ValueError("--resume is given, but there is no --checkpoint to go on from")


def summarise(out: Output, trained: "Trained") -> None:
    """Print the model, the reason for its end, and its scores."""
    from vectrick.cli.training import result_of
    from vectrick.data.settings import settings_of

    model, data = trained.model, trained.data
    out.result |= {**result_of(trained), "validation_vertices": trained.held_out_vertices}
    n_made = len(trained.history.get("iteration", []))
    kept = f"kept iteration {model.n_iter_} of {n_made}" if n_made > 1 else "one step"
    out.say(
        f"{type(model).__name__}: {kept}; it stopped because: {model.solution_.reason.partition('; the best was')[0]}"
    )
    out.say(_kernels(model, data))
    if data.has_classes and not data.is_binary:
        shares = [f"{name} ({100 * float((trained.y == name).mean()):.3g} %)" for name in data.class_names]
        out.say(f"classes, each against the rest: {', '.join(shares)}")
    elif data.is_binary:
        share = float((trained.y == trained.y.max()).mean())
        negative, positive = data.class_names
        out.say(f"positive label: {positive} ({100 * share:.3g} % of the edges), the other: {negative}")
    if trained.scores:
        settings = settings_of(data.X.is_one_set)
        out.table(
            ["held-out edges", "edges", trained.scoring],
            [[settings[new].words, len(trained.holdout.tests[new]), score] for new, score in trained.scores.items()],
        )
    if trained.is_refitted:
        out.say(f"the model was trained again on all {len(data.X)} edges")
    elif trained.n_trained < len(data.X):
        out.say(f"trained on {trained.n_trained} of {len(data.X)} edges")
    out.detail(f"form: {model.form_}, {model.form_reason_}")
    solution = model.solution_
    out.result["preconditioner"] = solution.preconditioner
    out.detail(f"preconditioner: {solution.preconditioner}, {solution.preconditioner_reason}")
    out.result["computed_on"] = model.predictor_.backend.place
    out.detail(f"computed on: {out.result['computed_on']}, precision {model.precision}")


def _kernels(model: "FittedModel", data: "Dataset") -> str:
    """Return a line about the kernels of the model."""
    from vectrick.kernels.text import format_kernel
    from vectrick.models.kernel_spec import KernelSpec

    sentences = []
    for side, kernel in (("start", model.start_kernel), ("end", model.end_kernel)):
        text = format_kernel(kernel)
        of_rows = data.kinds[side] == "kernel" and text != "precomputed"
        sentences.append(text + " of the rows of the kernel matrix" * of_rows)
    start, end = sentences
    text = f"kernels: {start}" if start == end else f"start kernel: {start}; end kernel: {end}"
    names = list(dict.fromkeys(component.pairwise.name for component in KernelSpec.of(model).components))
    return text + (f"; pairwise: {', '.join(names)}" if names != ["kronecker"] else "")


def _about(trained: Any) -> dict[str, Any]:
    """Return the facts about the training for the model file."""
    X = trained.data.X
    return {
        "edges": len(X),
        "trained_edges": len(X) if trained.is_refitted else trained.n_trained,
        "start_vertices": len(X.start_table),
        "end_vertices": len(X.end_table),
        "files": {name: path.name for name, path in trained.data.files.items()},
        "label": trained.data.label,
        "classes": trained.data.classes,
        "medians": trained.data.medians,
        "scoring": trained.scoring,
        "scores": trained.scores,
        "calibration": trained.calibration(),
    }
