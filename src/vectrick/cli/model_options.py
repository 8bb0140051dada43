"""The options of a model: kernels, loss, training and search."""

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, cast

from vectrick.cli.options import BACKEND, DEVICE, check_backend, panel

if TYPE_CHECKING:
    from vectrick._typing import FloatName, NewOrAll
    from vectrick.data.files.dataset import Dataset

AUTO = "auto"
DEFAULT_KERNEL = "gaussian + constant(0.3)"
_OF_STRINGS = {"smiles": "morgan + constant(0.3)", "sequences": "spectrum + constant(0.3)"}
_SEARCHED = ("auto", "kronecker", "symmetric", "antisymmetric")  # pairwise kernels that a search supports
# Options of single models only; a search does not use them.
_SINGLE = ("intercept", "no_early_stopping", "validation_fraction", "patience", "max_iter", "inner_iter", "tol", "form",
           "solver", "preconditioner", "precision")  # fmt: skip
# Copies from the registries, because loading these for a help text takes a second; a test compares them.
_KERNELS = (
    "linear, gaussian(gamma), polynomial(degree, gamma, coef0), cosine, tanimoto, minmax, constant(value), "
    "precomputed; for molecules molecule(view), morgan(radius, n_bits, counts); for sequences spectrum(k), "
    "smith_waterman(matrix, open, extend); from training labels profile; from distances of another kernel "
    "radial(kernel, gamma); for vertices with edges identity; for pairs parts(kernel, other); on columns in brackets, "
    "as in 'morgan[smiles] + 0.5 * gaussian[age, income] + tfidf[plot]'"
)
_SOLVERS = "cg, minres, qmr, direct, eigen, one-pass, newton, newton-qmr, newton-direct, lbfgs, box"

_model, _training = panel("Model"), panel("Training")


class LossName(StrEnum):
    """The names of the losses on the command line."""

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


@dataclass(frozen=True)
class KernelOptions:
    """The kernels of vertices and edges."""

    start_kernel: Annotated[
        str,
        _model("--start-kernel", help=f"The kernel function of start vertices: {_KERNELS}; also sums and products. "
               "With a kernel matrix (--start-matrix, or the file start_kernel), 'precomputed' uses the matrix, and "
               f"others use its rows as features. With auto, a search chooses; a single model has '{DEFAULT_KERNEL}'."),
    ] = AUTO  # fmt: skip
    end_kernel: Annotated[
        str, _model("--end-kernel", help="The kernel function of end vertices; for one vertex set, the start kernel.")
    ] = AUTO
    standardize: Annotated[
        bool,
        _model("--standardize", help="Scale features to unit variance over the training vertices; a search does so "
               "if it is useful."),
    ] = False  # fmt: skip
    pairwise: Annotated[
        str,
        _model("--pairwise", help="The kernel of edges: auto, kronecker, linear, poly2d, cartesian, gaussian, two_step "
               "(ridge, complete graphs); for one vertex set symmetric, antisymmetric, mlpk, ranking. "
               "Several, separated by commas, are summed, optionally with weights: 'kronecker=0.7,linear=0.3'. auto "
               "is kronecker; for one vertex set, a search chooses by the labels."),
    ] = AUTO  # fmt: skip

    def kernels(self, data: "Dataset") -> tuple[Any, Any]:
        """Return the kernels of both sides; for one vertex set, the end kernel defaults to the start kernel."""
        from vectrick.kernels.pairwise import PAIRWISE

        names = self.pairwise_names()
        start = _OF_STRINGS.get(data.kinds["start"], DEFAULT_KERNEL) if self.start_kernel == AUTO else self.start_kernel
        end = start if data.X.is_one_set else _OF_STRINGS.get(data.kinds["end"], DEFAULT_KERNEL)
        texts = {"start": start, "end": end if self.end_kernel == AUTO else self.end_kernel}
        if any(name in PAIRWISE and PAIRWISE[name].one_set for name in names) and not data.X.is_one_set:
            raise ValueError(
                f"--pairwise {self.pairwise!r} needs one vertex set for both ends, but there are two tables "
                "of vertices; leave out --end-features or --end-matrix, and the folder's end table"
            )
        if names == ["gaussian"]:  # it computes its own kernels from the features
            texts = {side: "linear" if text == DEFAULT_KERNEL else text for side, text in texts.items()}
        return self.kernel("start", texts["start"], data), self.kernel("end", texts["end"], data)

    def pairwise_names(self) -> list[str]:
        """Return the names of the pairwise kernels."""
        return [word.partition("=")[0].strip() for word in self._pairwise_words()]

    def _pairwise_words(self) -> list[str]:
        return ("kronecker" if self.pairwise == AUTO else self.pairwise).split(",")

    def settled_pairwise(self) -> Any:
        """Return the pairwise kernels as the parameter of an estimator."""
        from vectrick.kernels.pairwise import as_pairwise

        words = [word.partition("=") for word in self._pairwise_words()]
        kernels: list[Any] = []
        for name, sign, weight in words:
            as_pairwise(name.strip(), "--pairwise")
            try:
                kernels.append((name.strip(), float(weight)) if sign else name.strip())
            except ValueError:
                raise ValueError(f"--pairwise has the weight {weight!r}, but it must be a number") from None
        return kernels[0] if len(kernels) == 1 and isinstance(kernels[0], str) else kernels

    def kernel(self, side: str, text: str, data: "Dataset") -> Any:
        """Return a kernel from its description, with scaled features if ``standardize`` is set."""
        from vectrick.kernels import Precomputed
        from vectrick.kernels.tables.binding import standardized
        from vectrick.kernels.text import parse_kernel

        if text.endswith((".csv", ".gz", ".parquet")):
            raise ValueError(
                f"--{side}-kernel is the file {text!r}, but it must be a kernel such as 'gaussian'; name the "
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
        return standardized(kernel) if self.standardize and table.n_features else kernel


@dataclass(frozen=True)
class ModelOptions(KernelOptions):
    """The options of a model and of its training."""

    loss: Annotated[
        LossName,
        _model("--loss", metavar="LOSS", help="svm (squared hinge), hinge, logistic, ridge, rank, rank-start, rank-end "
               "(within a vertex), or auto: a search chooses; a single model has svm for classes, ridge for values."),
    ] = LossName.auto  # fmt: skip
    alpha: Annotated[
        float | None,
        _model("--alpha", help="The weight of the regularizer.", show_default="a search chooses; 1 for a single model"),
    ] = None
    manual: Annotated[
        bool,
        _model("--manual", help="Train the single model that the options describe, instead of a search. Options of "
               "single models, such as --solver, imply this."),
    ] = False  # fmt: skip
    budget: Annotated[
        float | None, _training("--budget", help="The time for the search in seconds.", show_default="no limit")
    ] = None
    intercept: Annotated[
        bool | None,
        _model("--intercept/--no-intercept", help="Add an intercept that is not regularized.",
               show_default="if possible"),
    ] = None  # fmt: skip
    no_early_stopping: Annotated[
        bool, _training("--no-early-stopping", help="Hold out no vertices, and train until the solver converges.")
    ] = False
    validation_fraction: Annotated[
        float, _training("--validation-fraction", help="The share of the vertices of each side to hold out.")
    ] = 0.25
    patience: Annotated[int, _training("--patience", help="Iterations without a better score before stopping.")] = 5
    scoring: Annotated[
        Scoring,
        _training("--scoring", metavar="SCORE", help="auc, average_precision, concordance, r2, or auto: by the loss."),
    ] = Scoring.auto
    max_iter: Annotated[int | None, _training("--max-iter", help="The maximum number of iterations.")] = None
    inner_iter: Annotated[
        int, _training("--inner-iter", help="The maximum number of iterations in a step of Newton's method.")
    ] = 10
    tol: Annotated[float, _training("--tol", help="The relative gradient at which to stop.")] = 1e-6
    form: Annotated[str, _training("--form", help="auto, dual or primal.")] = "auto"
    solver: Annotated[str, _training("--solver", help=f"auto, or one of {_SOLVERS}; each fits some losses.")] = "auto"
    preconditioner: Annotated[
        str,
        _training("--preconditioner", help="auto, kronecker (far fewer iterations to convergence) or none; auto "
                  "takes the one that is predicted to be faster, and none with early stopping."),
    ] = "auto"  # fmt: skip
    dtype: Annotated[str | None, _training("--dtype", help="float64 or float32.", show_default="as the data")] = None
    threads: Annotated[int | None, _training("--threads", help="Threads.", show_default="all CPUs")] = None
    backend: Annotated[str, _training("--backend", help=BACKEND)] = "cpu"
    device: Annotated[str | None, _training("--device", help=DEVICE, show_default="a GPU, if any")] = None
    precision: Annotated[
        str,
        _training("--precision", help="full, or mixed: products in float32 or TF32, corrected to float64."),
    ] = "full"
    seed: Annotated[int, _training("--seed", help="The random seed.")] = 0

    def __post_init__(self) -> None:
        check_backend(self.backend, self.device)
        if not 0 < self.validation_fraction < 1:
            raise ValueError(f"--validation-fraction is {self.validation_fraction}, but it must be between 0 and 1")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"--seed is {self.seed}, but it must be an integer from 0 to {2**32 - 1}")

    def estimator(self, data: "Dataset", **changes: Any) -> Any:
        """Return the unfitted estimator that the options describe."""
        import vectrick as vt
        from vectrick.estimators import check_parameters
        from vectrick.solvers import as_solver, check_solver
        from vectrick.solvers.minimise import check_preconditioner

        loss = self.settled_loss(data)
        if loss not in (LossName.svm, LossName.hinge, LossName.logistic):
            data.refuse_several_classes(f"--loss {loss.value}")
        elif not data.has_classes:
            raise ValueError(
                f"--loss {loss.value!r} needs classes, but column {data.label!r} has numbers; use ridge "
                "or rank, or choose another --label-column"
            )
        kinds: dict[LossName, tuple[type[Any], dict[str, Any]]] = {
            LossName.svm: (vt.KronSVM, {}),
            LossName.hinge: (vt.KronSVM, {"loss": "hinge"}),
            LossName.logistic: (vt.KronLogistic, {}),
            LossName.ridge: (vt.KronRidge, {}),
            LossName.rank: (vt.KronRanker, {}),
            LossName.rank_start: (vt.KronRanker, {"groups": "start"}),
            LossName.rank_end: (vt.KronRanker, {"groups": "end"}),
        }
        kind, special = kinds[loss]
        self._check_bounds(data, loss)
        if getattr(data, "bounds", None) is not None:
            special = {"loss": "censored"}
        start, end = self.kernels(data)
        same = ("validation_fraction", "max_iter", "inner_iter", "tol", "form", "solver",
                "preconditioner", "dtype", "backend", "device", "precision")  # fmt: skip
        given = {name: getattr(self, name) for name in same}
        pairwise = self.settled_pairwise()
        given |= {
            "alpha": 1.0 if self.alpha is None else self.alpha, "pairwise": pairwise,
            "fit_intercept": "auto" if self.intercept is None else self.intercept,
            "n_iter_no_change": self.patience, "scoring": self.scoring.value,
            "early_stopping": not self.no_early_stopping, "n_threads": self.threads, "random_state": self.seed,
        }  # fmt: skip
        estimator = kind(start, end, **special, **given, **changes)
        check_parameters(estimator, None)
        check_solver(estimator.solver, estimator._loss_type)
        check_preconditioner(estimator.preconditioner, as_solver(estimator.solver), estimator._loss_type)
        return estimator

    def why_single(self, data: "Dataset", **more: bool) -> str | None:
        """Return the reason for training a single model, None for a search.

        ``more`` are further options of single models, and whether they are given.
        """
        if self.manual:
            return "--manual is given"
        given = [field.name for field in fields(self) if field.name in _SINGLE and self._is_given(field.name)]
        given += [name for name, is_given in more.items() if is_given]
        if given:
            return f"{' and '.join('--' + name.replace('_', '-') for name in given)} describes a single model"
        if self.pairwise not in _SEARCHED:
            return f"--pairwise {self.pairwise} is not supported by a search"
        everything = ["loss", "alpha", "start_kernel", *([] if data.X.is_one_set else ["end_kernel"])]
        return "loss, alpha and kernels are all given" if all(map(self._is_given, everything)) else None

    def _is_given(self, name: str) -> bool:
        return bool(getattr(self, name) != next(field.default for field in fields(self) if field.name == name))

    def searcher(self, data: "Dataset", new: "NewOrAll", thorough: bool = False) -> Any:
        """Return the unfitted `AutoKron` that searches for everything that the options leave open."""
        import vectrick as vt

        one_set = data.X.is_one_set and self.end_kernel == AUTO
        texts = {"start": self.start_kernel, "end": self.start_kernel if one_set else self.end_kernel}
        start, end = (AUTO if text == AUTO else self.kernel(side, text, data) for side, text in texts.items())
        if self.loss.value in ("svm", "hinge", "logistic") and not data.has_classes:
            raise ValueError(
                f"--loss {self.loss.value!r} needs classes, but column {data.label!r} has numbers; use ridge "
                "or rank, or choose another --label-column"
            )
        if self.loss not in (LossName.auto, LossName.svm, LossName.hinge, LossName.logistic):
            data.refuse_several_classes(f"--loss {self.loss.value}")
        self._check_bounds(data, self.loss)
        estimator = vt.AutoKron(
            new, self.loss.value, budget=self.budget, start_kernel=start, end_kernel=end, pairwise=self.pairwise,
            thorough=thorough, alpha=self.alpha, scoring=self.scoring.value, backend=self.backend, device=self.device,
            dtype=cast("FloatName | None", self.dtype), n_threads=self.threads, random_state=self.seed,
        )  # fmt: skip
        estimator._check_parameters()
        return estimator

    def _check_bounds(self, data: "Dataset", loss: LossName) -> None:
        """Raise if labels are bounds and the loss does not support bounds."""
        if getattr(data, "bounds", None) is not None and loss not in (LossName.auto, LossName.ridge):
            raise ValueError(
                f"--loss is {loss.value!r}, but some labels of column {data.label!r} are bounds; use ridge for them"
            )

    def settled_loss(self, data: "Dataset") -> LossName:
        """Return the loss; ``auto`` is replaced by a loss for the labels."""
        if self.loss is not LossName.auto:
            return self.loss
        return LossName.svm if data.has_classes else LossName.ridge
