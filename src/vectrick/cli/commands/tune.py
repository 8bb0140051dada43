"""``vectrick tune``: a thorough search or a grid search, its nested score, and the best model."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vectrick.cli.baselines import QUICK, beside_baselines, named_baselines, some_of
from vectrick.cli.command import Interrupted, command_line
from vectrick.cli.commands.fit import check_new
from vectrick.cli.model_options import AUTO, DEFAULT_KERNEL, KernelOptions
from vectrick.cli.options import DataOptions, ResumeOptions
from vectrick.cli.output import Output

if TYPE_CHECKING:
    from vectrick._typing import New, NewOrAll
    from vectrick.data.files.dataset import Dataset
    from vectrick.model_selection import NestedScore
    from vectrick.model_selection.search import VertexSearch
    from vectrick.persistence.checkpoints import Finished

EXAMPLE = "vectrick tune gpcr -o gpcr.vt --report gpcr_tuned.html"

_ALPHAS = "0.01,0.1,1,10,100"
_LOSSES = {"svm": "KronSVM", "ridge": "KronRidge", "logistic": "KronLogistic"}


@dataclass(frozen=True)
class GridOptions:
    """A grid to search instead of the default candidates."""

    kernel: Annotated[
        list[str] | None,
        typer.Option("--kernel", help="A kernel to try on both sides; may be repeated.", show_default="four kernels"),
    ] = None
    pairwise: Annotated[
        str | None,
        typer.Option(
            "--pairwise",
            help="Pairwise kernels to try, separated by commas; see vectrick fit --help.",
            show_default="all that suit the data; in a grid, kronecker",
        ),
    ] = None
    alphas: Annotated[
        str | None,
        typer.Option(
            "--alphas", help="The weights of the regularizer to try.", show_default=f"a path; in a grid, {_ALPHAS}"
        ),
    ] = None
    losses: Annotated[
        str | None,
        typer.Option(
            "--losses", help="svm, ridge, logistic, separated by commas.", show_default="all; in a grid, ridge"
        ),
    ] = None
    standardize: Annotated[bool, typer.Option("--standardize", help="Scale features to unit variance.")] = False
    max_iter: Annotated[
        int | None,
        typer.Option(
            "--max-iter",
            help="The maximum number of iterations of ridge regression to try.",
            show_default="in a grid, 100",
        ),
    ] = None

    @property
    def is_given(self) -> bool:
        """Whether there is a grid."""
        return self != type(self)()

    def alpha_values(self) -> list[float]:
        """Return the alphas to try."""
        text = self.alphas or _ALPHAS
        try:
            return sorted({float(word) for word in text.split(",")})
        except ValueError:
            raise ValueError(
                f"--alphas is {text!r}, but it must be numbers separated by commas, such as {_ALPHAS}"
            ) from None

    def pairwise_names(self) -> list[str]:
        """Return the pairwise kernels to try."""
        from vectrick.kernels.pairwise import PAIRWISE

        allowed = [name for name in PAIRWISE if name != "two_step"]
        return some_of(self.pairwise or "kronecker", "--pairwise", allowed)

    def of(self, data: "Dataset") -> tuple[list[Any], list[Any]]:
        """Return the estimators to try on data, and a grid for each."""
        estimators = _estimators(self.losses, data, 100 if self.max_iter is None else self.max_iter)
        pairs = _kernels(self.kernel, self.standardize, data)
        return _grids(estimators, pairs, self.pairwise_names(), self.alpha_values())


@dataclass(frozen=True)
class ChoiceOptions:
    """How a model is chosen, and how the choice is evaluated."""

    folds: Annotated[
        int, typer.Option("--folds", help="The number of parts of the vertices of each side, inner and outer.")
    ] = 3
    new: Annotated[
        str,
        typer.Option("--new", help="Which vertices will be new: both, start, end, neither or all; see vectrick fit."),
    ] = "both"
    budget: Annotated[
        float | None, typer.Option("--budget", help="The time for a search in seconds.", show_default="no limit")
    ] = None
    nested: Annotated[
        bool, typer.Option("--nested/--no-nested", help="Show the nested score of models chosen in this way.")
    ] = True
    jobs: Annotated[int | None, typer.Option("--jobs", help="Processes.", show_default="all CPUs")] = None
    seed: Annotated[int, typer.Option("--seed", help="The random seed.")] = 0

    def check(self, grid: GridOptions) -> None:
        """Raise if options contradict each other."""
        if grid.is_given and self.budget is not None:
            raise ValueError("--budget is the time of a search, but a grid is always searched completely; leave it out")
        if grid.is_given and self.new != "both":
            raise ValueError(f"--new is {self.new!r}, but a grid is searched for edges whose vertices are both new")
        check_new(self.new)
        if grid.is_given:
            grid.alpha_values()
            grid.pairwise_names()


def run(
    out: Output,
    data: DataOptions,
    keeping: ResumeOptions,
    grid: GridOptions,
    choice: ChoiceOptions,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The file to write the best model to.")] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write a report to this file, .html.")] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace files that exist.")] = False,
) -> None:
    """Search more candidates, losses and pairwise kernels than vectrick fit, and evaluate the choice.

    The nested score estimates how good the chosen model is: in each outer fold, all choices are made inside the
    training edges, and no step uses the test edges. The model in the output file is chosen and trained on all edges.

    --kernel, --pairwise, --alphas, --losses and --max-iter describe a grid to search instead, for the best single model
    and its iteration. With --checkpoint, an interrupted or killed run can be resumed.
    """
    from vectrick._files import check_output, check_targets

    targets = {"--output": output, "--report": report, "--checkpoint": keeping.checkpoint}
    check_targets(targets, [*data.inputs, out.config])
    finished = keeping.finished(force)
    if output is not None:
        check_output(output, force)
    if report is not None:
        from vectrick.reports import check_report

        check_report(report, force)
    choice.check(grid)
    dataset = data.read()
    out.note(f"{dataset.X}, read in {out.seconds:.1f} s")
    dataset.refuse_several_classes("vectrick tune")
    if not grid.is_given:
        _thorough(out, dataset, output, report, finished, keeping, choice)
        return
    if dataset.bounds is not None:
        raise ValueError(
            f"some labels of column {dataset.label!r} are bounds, but a grid is for values; leave out --kernel, "
            "--alphas and other options of a grid for a search that supports bounds"
        )
    score, search = _searched(out, dataset, grid, choice, finished, keeping)
    _show(out, score, search)
    if output is not None:
        search.model.save(output, about=_about(dataset, search, score))
        out.wrote("model", output)
    finished.remove()
    if report is not None:
        _report(out, dataset, search, score, report, choice.seed)


def _searched(
    out: Output,
    data: "Dataset",
    grid: GridOptions,
    choice: ChoiceOptions,
    finished: "Finished",
    keeping: ResumeOptions,
) -> tuple[Any, Any]:
    """Return the nested score (None without ``nested``), and the search of a grid on all edges."""
    import vectrick as vt

    estimators, grids = grid.of(data)
    cv = vt.VertexKFold(choice.folds, choice.folds, stratify=data.is_binary, random_state=choice.seed)
    problem = estimators, data.X, data.y, grids
    score = None
    try:
        if choice.nested:
            with out.library_progress("nested"):
                score = vt.nested_score(*problem, outer=cv, n_jobs=choice.jobs, checkpoint=finished)
        with out.library_progress("choosing"):
            return score, vt.vertex_search(*problem, cv=cv, n_jobs=choice.jobs, checkpoint=finished)
    except KeyboardInterrupt:
        if keeping.checkpoint is None:
            raise
        raise Interrupted(f"interrupted{keeping.hint}") from None


def _thorough(
    out: Output,
    data: "Dataset",
    output: Path | None,
    report: Path | None,
    finished: "Finished",
    keeping: ResumeOptions,
    choice: ChoiceOptions,
) -> None:
    """Evaluate a thorough search on outer folds, run it on all edges, and write the model and the report."""
    import vectrick as vt
    from vectrick.cli.automatic import summarise_search, train_automatic
    from vectrick.cli.commands.evaluate import cross_validate
    from vectrick.data.settings import NEW

    new, folds, budget, seed = check_new(choice.new), choice.folds, choice.budget, choice.seed
    asked: list[New] = list(NEW) if new == "all" else [new]
    asked = [each for each in asked if not (data.X.is_one_set and each == "end")]
    rows = None

    def search(what: "NewOrAll") -> Any:
        return vt.AutoKron(what, thorough=True, budget=budget, random_state=seed)

    try:
        if choice.nested:
            estimators = {each: search(each) for each in asked}
            rows = cross_validate(out, estimators, data, {}, (folds, 1, seed, {}), finished)
        trained = train_automatic(out, search(new), data)
    except KeyboardInterrupt:
        if keeping.checkpoint is None:
            raise
        raise Interrupted(f"interrupted{keeping.hint}") from None
    summarise_search(out, trained)
    frame = trained.model.search_
    out.result["choices"] = frame.to_dict("records")
    out.result["nested"] = None
    about: dict[str, Any] = {
        "edges": len(data.X), "label": data.label, "classes": data.classes, "medians": data.medians, "new": new,
        "scoring": trained.scoring, "scores": trained.scores, "nested": None,
    }  # fmt: skip
    if rows is not None:
        scores = rows["score"]
        about["nested"] = {"mean": float(scores.mean()), "spread": float(scores.std())}
        out.result["nested"] = {**about["nested"], "folds": scores.tolist()}
        scoring = rows["scoring"].iloc[0]
        out.say(
            f"nested {scoring}, on edges that were not used for the choice: {scores.mean():.3f} ± {scores.std():.3f}"
        )
    if output is not None:
        trained.model.save(output, about=about)
        out.wrote("model", output)
    finished.remove()
    if report is not None:
        from vectrick.reports import fit_report

        fit_report(trained, command_line(), out.warnings, evaluation=rows).write(report)
        out.wrote("report", report)
    if trained.is_interrupted:
        raise Interrupted("interrupted: the model is the best of the candidates scored so far")


def _estimators(text: str | None, data: "Dataset", max_iter: int) -> list[Any]:
    import vectrick as vt

    names = ["ridge"] if text is None else [word.strip() for word in text.split(",")]
    estimators = []
    for name in names:
        if name not in _LOSSES:
            raise ValueError(f"--losses has {name!r}, but it must be some of {', '.join(_LOSSES)}")
        if name != "ridge" and not data.is_binary:
            raise ValueError(f"--losses has {name!r}, but it needs two classes, and column {data.label!r} has numbers")
        kind = getattr(vt, _LOSSES[name])
        limits = {"max_iter": max_iter} if name == "ridge" else {"max_iter": 10, "inner_iter": 10}
        estimators.append(kind(**limits, fit_intercept="auto"))
    return estimators


def _kernels(texts: list[str] | None, standardize: bool, data: "Dataset") -> list[tuple[Any, Any]]:
    """Return the kernels to try, as pairs for start and end vertices."""
    if texts is None:
        texts = [DEFAULT_KERNEL, "gaussian", "linear + constant(1)"]
        texts += ["precomputed"] if set(data.kinds.values()) == {"kernel"} else ["cosine + constant(0.3)"]
        if set(data.kinds.values()) & {"smiles", "sequences"}:
            texts = [AUTO]  # the usual kernel of each side
    return [KernelOptions(text, text, standardize).kernels(data) for text in texts]


def _grids(
    estimators: list[Any], pairs: list[tuple[Any, Any]], kinds: list[str], alphas: list[float]
) -> tuple[list[Any], list[Any]]:
    """Return estimators with a grid for each; a pairwise kernel of one vertex set has one kernel for both ends."""
    from vectrick.kernels.pairwise import PAIRWISE

    starts, ends = [k for k, _ in pairs], [g for _, g in pairs]
    if kinds == ["kronecker"]:
        grids: list[Any] = [{"start_kernel": starts, "end_kernel": ends, "alpha": alphas}]
    else:
        one_set = [kind for kind in kinds if PAIRWISE[kind].one_set]
        parts: list[tuple[list[str], dict[str, Any]]] = [
            ([k for k in kinds if k not in (*one_set, "gaussian")], {"start_kernel": starts, "end_kernel": ends}),
            ([k for k in kinds if k == "gaussian"], {"start_kernel": ["linear"], "end_kernel": ["linear"]}),
            ([k for k in one_set if PAIRWISE[k].symmetry > 0], {"start_kernel": starts}),
            ([k for k in one_set if PAIRWISE[k].symmetry < 0], {"start_kernel": starts, "fit_intercept": [False]}),
        ]
        grids = [{**rest, "pairwise": names, "alpha": alphas} for names, rest in parts if names]
    return [estimator for estimator in estimators for _ in grids], [grid for _ in estimators for grid in grids]


def _show(out: Output, score: "NestedScore", search: "VertexSearch") -> None:

    best = search.choices[0]
    out.result |= {
        "scoring": search.scoring,
        "nested": None
        if score is None
        else {"mean": score.mean, "spread": score.spread, "folds": score.scores.ravel()},
        "choices": [{name: _plain(value) for name, value in choice.items()} for choice in search.choices],
    }
    several = [name for name in ("estimator", "pairwise") if name in best]
    columns = [*several, "start_kernel", "end_kernel", "alpha", "iteration"]
    lines = []
    for choice in search.choices[:10]:
        shown = {"end_kernel": choice["start_kernel"], **choice}  # with one vertex set, both ends have the same kernel
        words = [_plain(shown[name]) for name in columns]
        lines.append([*words, choice["inner_score"]])
    out.table([*columns, f"{search.scoring} over folds"], lines, "the best combinations, chosen on all edges")
    if score is not None:
        out.say(
            f"nested {score.scoring}, on edges that were not used for the choice: {score.mean:.3f} ± {score.spread:.3f}"
        )


def _about(data: "Dataset", search: "VertexSearch", score: "NestedScore") -> dict[str, Any]:
    """Return the facts about the choice for the model file."""
    nested = None if score is None else {"mean": score.mean, "spread": score.spread}
    return {
        "edges": len(data.X),
        "label": data.label,
        "classes": data.classes,
        "medians": data.medians,
        "scoring": search.scoring,
        "nested": nested,
    }


def _plain(value: Any) -> Any:
    from vectrick.kernels.text import format_kernel

    return value if isinstance(value, int | float | str) else format_kernel(value)


def _report(out: Output, data: "Dataset", search: "VertexSearch", score: "NestedScore", path: Path, seed: int) -> None:
    import warnings

    from sklearn.base import clone
    from sklearn.exceptions import ConvergenceWarning

    from vectrick.cli.training import hold_out, train
    from vectrick.reports import fit_report

    estimator = clone(search.model)  # with the chosen number of iterations
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the number of iterations was chosen
        trained = train(out, estimator, data, hold_out(data, 0.25, seed))
    rows = beside_baselines(trained, named_baselines(QUICK), out)
    fit_report(trained, command_line(), out.warnings, evaluation=rows, tuning=(search, score)).write(path)
    out.wrote("report", path)
