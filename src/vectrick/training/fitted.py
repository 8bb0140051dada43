"""The interface of estimators inside the package: parameters, hooks of a fit, and methods of a fitted model."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, overload

import numpy as np

from vectrick._typing import (
    Array,
    ArrayLike,
    FloatName,
    FormName,
    Frame,
    KernelWeights,
    Landmarks,
    Precision,
    PreconditionerName,
    RandomState,
    SpectralFilter,
    Table,
)
from vectrick.backends import Backend
from vectrick.data import Edges, EdgesLike, VertexTable
from vectrick.data.lake.counts import Counts
from vectrick.data.lake.scan import ScannedEdges
from vectrick.data.source import AnyEdges
from vectrick.losses import Loss
from vectrick.models.forms import Form
from vectrick.models.kernel_spec import PairwiseKernels, VertexKernels
from vectrick.models.predictor import Predictor
from vectrick.solvers import Solution, Solver
from vectrick.training.problem import SourceEdges, Training

# Validation edges as a user passes them to a fit in memory.
HeldEdges: TypeAlias = tuple[EdgesLike, ArrayLike]


class KeepsEdges(Protocol):
    """A fitted model, or a wrapper of one, as model files need it."""

    predictor_: Predictor  # the trained function, without the intercept
    _known_edges: tuple[Array, Array] | None  # positions in the tables, if the model keeps them
    _source: SourceEdges | None  # with labels and weights, if the model keeps them

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""


class Fitted(KeepsEdges, Protocol):
    """A fitted model as other layers use it: a single model, one per class or label, or an ensemble."""

    backend: str | Backend
    device: str | None
    n_threads: int | None
    random_state: RandomState
    verbose: int
    intercept_: float | Array  # a number for each machine, if there are several
    solution_: Solution
    n_iter_: int
    history_: dict[str, list[Any]]
    form_: str
    form_reason_: str

    @property
    def _machines(self) -> "list[Machine]":
        """The models of more than two classes, or of several labels for each edge; otherwise an empty list."""

    @property
    def _parts(self) -> "list[tuple[float, Machine]]":
        """The weights and models whose weighted sum gives the predictions; by default only this model, as fitted."""

    @property
    def start_table_(self) -> VertexTable:
        """The table of start vertices."""

    @property
    def end_table_(self) -> VertexTable:
        """The table of end vertices."""

    def _decide(self, X: AnyEdges) -> Array:
        """Return the real-valued predictions for edges."""

    def _tables(self, start_features: Table, end_features: Table) -> tuple[Predictor, VertexTable, VertexTable, Any]:
        """Return the predictor, the vertex tables, and a function that turns results into the user's kind of array."""

    def _why_one_machine(self) -> str:
        """Return an error message for methods that need one of several models."""

    def _trained_again(self, edges: Edges, labels: ArrayLike, weight: ArrayLike | None) -> "Fitted":
        """Return a model with the same parameters, trained on other edges."""

    def iter_grid(self, start_features: Table, end_features: Table = None) -> Iterator[tuple[slice, slice, Array]]:
        """Yield the predictions for every pair of vertices block by block."""

    def predict_grid(self, start_features: Table, end_features: Table = None) -> Array:
        """Return the predictions for every pair of vertices."""


class LoadedModel(Fitted, Protocol):
    """A model from a file: the methods of all kinds of models; others depend on the kind that was saved."""

    about_: dict[str, Any]

    @overload
    def predict(self, X: AnyEdges) -> Array: ...
    @overload
    def predict(self, X: AnyEdges, return_std: bool, *, n_samples: int = ...) -> Array | tuple[Array, Array]: ...

    def recommend(
        self,
        start: ArrayLike | None = None,
        k: int = 10,
        exclude_known: bool = True,
        *,
        positions: ArrayLike | None = None,
        known: ArrayLike | None = None,
        end_features: Table = None,
    ) -> Frame:
        """Return the best partners of start vertices."""

    def save(self, path: Path | str, *, about: dict[str, Any] | None = None) -> None:
        """Write the model to a file."""

    def __getattr__(self, name: str) -> Any:
        """Return what only some kinds of models have."""


class Machine(Fitted, Protocol):
    """A single fitted model with its parameters, as described in `vectrick.estimators.parameters`."""

    start_kernel: VertexKernels
    end_kernel: VertexKernels
    alpha: float
    pairwise: PairwiseKernels
    kernel_weights: KernelWeights
    form: FormName
    solver: str | Solver
    preconditioner: PreconditionerName
    max_iter: int | None
    inner_iter: int
    step: float | None
    tol: float
    fit_intercept: bool | Literal["auto"]
    early_stopping: bool
    refit: bool
    validation_fraction: float
    n_iter_no_change: int
    scoring: str
    factor_tol: float
    n_components: int | None
    landmarks: Landmarks
    precision: Precision
    keep_edges: bool
    dtype: FloatName | None
    n_start_features: int | None

    @property
    def _loss_type(self) -> type[Loss]:
        """The class of the loss."""

    def _make_loss(
        self, kind: type[Loss], y: Array, weight: Array | None, edges: Edges, bounds: Array | None = None
    ) -> Loss:
        """Return the loss for labels."""

    def _lake_scoring(self, counts: Counts) -> str:
        """Return the score that "auto" stands for on the edges of a lake."""


class Trainable(Machine, Protocol):
    """An estimator that is being fitted: the hooks that a class of estimators defines."""

    classes_: Array
    validation_vertices_: Any
    machines_: "list[Machine]"
    support_: Array
    coef_: Array
    _has_two_step: bool
    _labels_have_signs: bool

    def set_params(self, **params: object) -> Any:
        """Set parameters by name."""

    def fit(self, X: AnyEdges, y: ArrayLike) -> Any:
        """Train the model."""

    def _check_combination(self, kind: type[Loss]) -> None:
        """Raise if parameters contradict each other or the loss."""

    def _check_labels(self, labels: Array) -> None:
        """Raise if nothing can be learned from training labels."""

    def _encode_validation(self, y: ArrayLike, n_edges: int) -> Array:
        """Check labels for validation and return them as numbers."""

    def _encode(self, y: ArrayLike, n_edges: int) -> Array:
        """Check labels for training and return them as numbers."""

    def _choose_form(self, training: Training, way: Any = ...) -> Form:
        """Return the dual or the primal form."""

    def _with_intercept(self, training: Training) -> Loss:
        """Return the loss with the intercept minimized out."""

    def _keep(
        self,
        form: Form,
        training: Training,
        solution: Solution,
        intercept: float,
        n_iter: int,
        history: dict[str, list[Any]],
    ) -> None:
        """Set the fitted attributes of a fit to edges in memory."""

    def _set_fitted(
        self,
        predictor: Predictor,
        solution: Solution,
        form: tuple[str, str],
        n_iter: int,
        history: dict[str, list[Any]],
        source: SourceEdges | None = None,
    ) -> None:
        """Set the attributes that all fits have."""

    def _remember_parameters(self) -> None:
        """Keep the parameters of this fit."""

    def _compute_dtype(self, edges: Edges | ScannedEdges) -> np.dtype[Any]:
        """Return the dtype of the computation."""

    def _check_lake_labels(self, counts: Counts, dtype: np.dtype[Any]) -> None:
        """Check the labels of a lake."""


class SpectralRidge(Trainable, Protocol):
    """Ridge regression: the parameters of its closed forms, too."""

    spectral_filter: SpectralFilter
    filter_iter: int
    refine: int
