"""Options that several commands share: where the data is, and what the model is."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from vectrick.data.folder import Dataset

DEFAULT_KERNEL = "gaussian + constant(0.3)"
# What the registries say, which would take a second to load for a help text; a test compares them.
_KERNELS = "linear, gaussian(gamma), polynomial(degree, gamma, coef0), cosine, tanimoto, constant(value), precomputed"
_SOLVERS = "cg, minres, qmr, direct, eigen, one-pass, newton, newton-qmr, newton-direct, lbfgs, box"


class Loss(StrEnum):
    """The losses by the names of the command line."""

    auto = "auto"
    svm = "svm"
    hinge = "hinge"
    logistic = "logistic"
    ridge = "ridge"
    rank = "rank"
    rank_start = "rank-start"
    rank_end = "rank-end"


class Scoring(StrEnum):
    """The scores for early stopping."""

    auto = "auto"
    auc = "auc"
    average_precision = "average_precision"
    concordance = "concordance"
    r2 = "r2"


def _panel(title: str) -> Any:
    def option(*names: str, help: str, **more: Any) -> Any:
        return typer.Option(*names, help=help, rich_help_panel=title, **more)

    return option


_data, _model, _training = _panel("Data"), _panel("Model"), _panel("Training")


@dataclass(frozen=True)
class ColumnOptions:
    """The columns that hold ids."""

    start_column: Annotated[str, _data("--start-column", help="The column of start ids in the edges.")] = "start"
    end_column: Annotated[str, _data("--end-column", help="The column of end ids in the edges.")] = "end"
    start_id_column: Annotated[
        str | None, _data("--start-id-column", help="The column of ids in the start table.", show_default="id")
    ] = None
    end_id_column: Annotated[
        str | None, _data("--end-id-column", help="The column of ids in the end table.", show_default="id")
    ] = None


@dataclass(frozen=True)
class DataOptions(ColumnOptions):
    """Where the data is."""

    data: Annotated[Path | None, typer.Argument(help="The data set's folder.", show_default=False)] = None
    edges: Annotated[Path | None, _data("--edges", help="The file of edges, in place of the folder's.")] = None
    start_features: Annotated[
        Path | None, _data("--start-features", help="A file with features of the start vertices.")
    ] = None
    end_features: Annotated[Path | None, _data("--end-features", help="A file with features of the end vertices.")] = (
        None
    )
    start_matrix: Annotated[
        Path | None,
        _data(
            "--start-matrix",
            help="A file with a kernel matrix of the start vertices, like start_kernel in the "
            "folder; --start-kernel names a function, not a file.",
        ),
    ] = None
    end_matrix: Annotated[Path | None, _data("--end-matrix", help="The same for the end vertices.")] = None
    label_column: Annotated[str, _data("--label-column", help="The column of labels in the edges.")] = "label"
    positive: Annotated[
        str | None, _data("--positive", help="Which of two labels is the positive one.", show_default="the larger one")
    ] = None

    skip_unlabeled: Annotated[
        bool, _data("--skip-unlabeled", help="Leave out edges without a label, and say how many.")
    ] = False
    impute: Annotated[
        str | None, _data("--impute", help="Fill gaps in tables: 'median' takes the median of the column.")
    ] = None

    @property
    def inputs(self) -> list[Path | None]:
        """The files that are read, which no command may write to."""
        named = [self.edges, self.start_features, self.end_features, self.start_matrix, self.end_matrix]
        if self.data is None or not self.data.is_dir():
            return [*named, self.data]
        return [*named, *self.data.glob("edges*"), *self.data.glob("start_*"), *self.data.glob("end_*")]

    def read(self, **more: Any) -> "Dataset":
        """Return the data."""
        from vectrick.data.folder import read_dataset

        if self.data is None and self.edges is None:
            raise ValueError("no data was given: name a folder, or the files with --edges, --start-features, ...")
        given = {name: value for name, value in vars(self).items() if name != "data"}
        return read_dataset(self.data, **given, **more)


def _check_backend(backend: str, device: str | None) -> None:
    """Say what is missing before anything is read."""
    if backend != "cpu" or device is not None:
        from vectrick.backends import settle_backend

        settle_backend(backend, device)


_BACKEND = "Where to compute: cpu, torch, auto for torch where there is a GPU, or reference, which is simple and slow."
_DEVICE = "With torch: cuda, cuda:1, or cpu."


@dataclass(frozen=True)
class VertexOptions(ColumnOptions):
    """The vertices of edges to predict: those that the model knows, and new ones of files."""

    start_features: Annotated[
        Path | None,
        _data("--start-features", help="New start vertices: their features, or kernel values with the known ones."),
    ] = None
    end_features: Annotated[Path | None, _data("--end-features", help="New end vertices, in the same way.")] = None
    of_class: Annotated[
        str | None, _data("--class", help="For a model of several classes, the class to score against the rest.")
    ] = None
    backend: Annotated[str, _data("--backend", help=_BACKEND)] = "cpu"
    device: Annotated[str | None, _data("--device", help=_DEVICE, show_default="a GPU, if any")] = None

    def __post_init__(self) -> None:
        _check_backend(self.backend, self.device)

    def load(self, path: Path) -> Any:
        """Load a model, or the model of one of its classes, and set the backend and the device of its predictions."""
        import vectrick as vt

        model = vt.load(path).set_params(backend=self.backend, device=self.device)
        if self.of_class is None:
            return model
        if not hasattr(model, "machines_"):
            raise ValueError(f"--class is {self.of_class!r}, but {path} is no model of several classes")
        machine = model.machine(self.of_class)
        machine.about_ = {**model.about_, "classes": ["other", self.of_class]}
        return machine

    def tables(self, model: Any, only_new: bool = False) -> tuple[Any, Any]:
        """Return the tables of both sides; ``only_new`` leaves out those known to the model where there is a file."""
        from vectrick.cli.vertices import vertex_table

        start = vertex_table(model, "start", self.start_features, (self.start_id_column, self.start_column), only_new)
        if model.start_table_ is model.end_table_ and self.end_features is None:
            return start, start  # one table serves both ends
        return start, vertex_table(model, "end", self.end_features, (self.end_id_column, self.end_column), only_new)


@dataclass(frozen=True)
class ResumeOptions:
    """A file for what is finished, so that work that was interrupted goes on."""

    checkpoint: Annotated[
        Path | None, _training("--checkpoint", help="A file that keeps finished folds until all of them are done.")
    ] = None
    resume: Annotated[bool, _training("--resume", help="Go on from --checkpoint, if it exists.")] = False

    def finished(self, force: bool) -> Any:
        """Return what keeps the results, after a check that it can."""
        from vectrick._files import check_output
        from vectrick.model_selection.finished import Finished

        if self.checkpoint is None:
            if self.resume:
                raise ValueError("--resume is given, but there is no --checkpoint to go on from")
            return Finished()
        check_output(self.checkpoint, force or self.resume)
        return Finished(self.checkpoint, self.resume)

    @property
    def hint(self) -> str:
        """How to go on after an interruption."""
        return "" if self.checkpoint is None else f"; {self.checkpoint} keeps what was finished, --resume goes on"


@dataclass(frozen=True)
class KernelOptions:
    """The kernels of the vertices."""

    start_kernel: Annotated[
        str,
        _model("--start-kernel", help=f"The kernel function of start vertices: {_KERNELS}; sums and products. On a "
               "kernel matrix (--start-matrix, or the file start_kernel), 'precomputed' takes it as it is, and others "
               "take its rows as features."),
    ] = DEFAULT_KERNEL  # fmt: skip
    end_kernel: Annotated[
        str, _model("--end-kernel", help="The kernel of end vertices; one vertex set has that of the start by default.")
    ] = DEFAULT_KERNEL
    standardize: Annotated[
        bool, _model("--standardize", help="Scale features to unit variance over the training vertices.")
    ] = False
    pairwise: Annotated[
        str,
        _model("--pairwise", help="The kernel of edges: kronecker, linear, poly2d, cartesian, gaussian, two_step "
               "(ridge, complete graphs); for one vertex set symmetric, antisymmetric, mlpk, ranking. Several, "
               "separated by commas, are added up, as they are or with weights: 'kronecker=0.7,linear=0.3'."),
    ] = "kronecker"  # fmt: skip

    def kernels(self, data: "Dataset") -> tuple[Any, Any]:
        """Return the kernels of both sides; one vertex set has that of the start for both, unless another is given."""
        from vectrick.kernels.pairwise import PAIRWISE

        names = self.pairwise_names()
        texts = {"start": self.start_kernel, "end": self.end_kernel}
        if data.X.is_one_set and self.end_kernel == DEFAULT_KERNEL:
            texts["end"] = self.start_kernel
        if any(name in PAIRWISE and PAIRWISE[name].one_set for name in names) and not data.X.is_one_set:
            raise ValueError(
                f"--pairwise is {self.pairwise!r}, which needs one vertex set for both ends, but there are two tables "
                "of vertices; leave out --end-features or --end-matrix, and the folder's end table"
            )
        if names == ["gaussian"]:  # which makes its own of the features
            texts = {side: "linear" if text == DEFAULT_KERNEL else text for side, text in texts.items()}
        return self.kernel("start", texts["start"], data), self.kernel("end", texts["end"], data)

    def pairwise_names(self) -> list[str]:
        """Return the names of the pairwise kernels."""
        return [word.partition("=")[0].strip() for word in self.pairwise.split(",")]

    def settled_pairwise(self) -> Any:
        """Return the pairwise kernels as an estimator takes them."""
        from vectrick.kernels.pairwise import as_pairwise

        words = [word.partition("=") for word in self.pairwise.split(",")]
        kernels: list[Any] = []
        for name, sign, weight in words:
            as_pairwise(name.strip(), "--pairwise")
            try:
                kernels.append((name.strip(), float(weight)) if sign else name.strip())
            except ValueError:
                raise ValueError(f"--pairwise has the weight {weight!r}, but it must be a number") from None
        return kernels[0] if len(kernels) == 1 and isinstance(kernels[0], str) else kernels

    def kernel(self, side: str, text: str, data: "Dataset") -> Any:
        """Return a kernel from its description, one of scaled features if that is asked for."""
        from vectrick.kernels import Precomputed, Standardized
        from vectrick.kernels.text import parse_kernel

        if text.endswith((".csv", ".gz", ".parquet")):
            raise ValueError(
                f"--{side}-kernel is {text!r}, which is a file, but it must be a kernel such as 'gaussian'; name the "
                f"file of a kernel matrix with --{side}-matrix"
            )
        kernel = parse_kernel(text, f"--{side}-kernel")
        table = data.X.start_table if side == "start" else data.X.end_table
        if isinstance(kernel, Precomputed):
            if data.kinds[side] != "kernel":
                raise ValueError(
                    f"--{side}-kernel is 'precomputed', but the {side} vertices have features; give a kernel matrix "
                    f"as {side}_kernel or with --{side}-matrix"
                )
            return kernel
        if "precomputed" in text:
            raise ValueError(f"--{side}-kernel is {text!r}, but 'precomputed' can only stand alone")
        return Standardized(kernel) if self.standardize and table.n_features else kernel


@dataclass(frozen=True)
class ModelOptions(KernelOptions):
    """What the model is, and how it is trained."""

    loss: Annotated[
        Loss,
        _model("--loss", metavar="LOSS", help="svm (squared hinge), hinge, logistic, ridge, rank, rank-start, rank-end "
               "(within a vertex), or auto: svm for two classes, ridge for values."),
    ] = Loss.auto  # fmt: skip
    alpha: Annotated[float, _model("--alpha", help="The weight of the regularizer.")] = 1.0
    intercept: Annotated[
        bool | None,
        _model("--intercept/--no-intercept", help="Add a constant that is not regularized.",
               show_default="for ridge regression of values"),
    ] = None  # fmt: skip
    no_early_stopping: Annotated[
        bool, _training("--no-early-stopping", help="Hold out nothing, and train until the solver converges.")
    ] = False
    validation_fraction: Annotated[
        float, _training("--validation-fraction", help="The share of the vertices of each side to hold out.")
    ] = 0.25
    patience: Annotated[int, _training("--patience", help="Iterations without a better score before stopping.")] = 5
    scoring: Annotated[
        Scoring,
        _training("--scoring", metavar="SCORE", help="auc, average_precision, concordance, r2, or auto, by the loss."),
    ] = Scoring.auto
    max_iter: Annotated[int | None, _training("--max-iter", help="The most iterations.")] = None
    inner_iter: Annotated[int, _training("--inner-iter", help="The most iterations in a step of Newton's method.")] = 10
    tol: Annotated[float, _training("--tol", help="The relative gradient at which to stop.")] = 1e-6
    form: Annotated[str, _training("--form", help="auto, dual or primal.")] = "auto"
    solver: Annotated[str, _training("--solver", help=f"auto, or one of {_SOLVERS}; each is for some losses.")] = "auto"
    preconditioner: Annotated[
        str,
        _training("--preconditioner", help="auto, kronecker (far fewer iterations to convergence) or none; auto "
                  "predicts which takes less time, and is none with early stopping."),
    ] = "auto"  # fmt: skip
    dtype: Annotated[str | None, _training("--dtype", help="float64 or float32.", show_default="that of the data")] = (
        None
    )
    threads: Annotated[int | None, _training("--threads", help="Threads.", show_default="all CPUs")] = None
    backend: Annotated[str, _training("--backend", help=_BACKEND)] = "cpu"
    device: Annotated[str | None, _training("--device", help=_DEVICE, show_default="a GPU, if any")] = None
    precision: Annotated[
        str,
        _training("--precision", help="full, or mixed: products in float32 or TF32, corrected to float64."),
    ] = "full"
    seed: Annotated[int, _training("--seed", help="The seed of everything random.")] = 0

    def __post_init__(self) -> None:
        _check_backend(self.backend, self.device)
        if not 0 < self.validation_fraction < 1:
            raise ValueError(f"--validation-fraction is {self.validation_fraction}, but it must be between 0 and 1")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"--seed is {self.seed}, but it must be an integer from 0 to {2**32 - 1}")

    def estimator(self, data: "Dataset", **changes: Any) -> Any:
        """Return the estimator that the options describe; it is not fitted."""
        import vectrick as vt
        from vectrick.estimators import check_parameters
        from vectrick.kernels.pairwise import PAIRWISE
        from vectrick.solvers import as_solver, check_solver
        from vectrick.solvers.minimise import check_preconditioner

        loss = self.settled_loss(data)
        if loss not in (Loss.svm, Loss.hinge, Loss.logistic):
            data.refuse_several_classes(f"--loss {loss.value}")
        elif not data.has_classes:
            raise ValueError(
                f"--loss is {loss.value!r}, which needs classes, but column {data.label!r} has numbers; use ridge "
                "or rank, or choose another --label-column"
            )
        kinds: dict[Loss, tuple[type[Any], dict[str, Any]]] = {
            Loss.svm: (vt.KronSVM, {}),
            Loss.hinge: (vt.KronSVM, {"loss": "hinge"}),
            Loss.logistic: (vt.KronLogistic, {}),
            Loss.ridge: (vt.KronRidge, {}),
            Loss.rank: (vt.KronRanker, {}),
            Loss.rank_start: (vt.KronRanker, {"groups": "start"}),
            Loss.rank_end: (vt.KronRanker, {"groups": "end"}),
        }
        kind, special = kinds[loss]
        start, end = self.kernels(data)
        same = ("alpha", "validation_fraction", "max_iter", "inner_iter", "tol", "form", "solver",
                "preconditioner", "dtype", "backend", "device", "precision")  # fmt: skip
        given = {name: getattr(self, name) for name in same}
        pairwise = self.settled_pairwise()
        signed = all(PAIRWISE[name].symmetry < 0 for name in self.pairwise_names())  # for which there is no intercept
        constant = loss is Loss.ridge and not data.is_binary and not signed
        given |= {
            "pairwise": pairwise, "fit_intercept": constant if self.intercept is None else self.intercept,
            "n_iter_no_change": self.patience, "scoring": self.scoring.value,
            "early_stopping": not self.no_early_stopping, "n_threads": self.threads, "random_state": self.seed,
        }  # fmt: skip
        estimator = kind(start, end, **special, **given, **changes)
        check_parameters(estimator, None)
        check_solver(estimator.solver, estimator._loss_type)
        check_preconditioner(estimator.preconditioner, as_solver(estimator.solver), estimator._loss_type)
        return estimator

    def settled_loss(self, data: "Dataset") -> Loss:
        """Return the loss, where it is chosen by the labels."""
        if self.loss is not Loss.auto:
            return self.loss
        return Loss.svm if data.has_classes else Loss.ridge
