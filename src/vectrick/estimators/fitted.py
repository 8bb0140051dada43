"""The methods of a fitted model: predict edges and grids, find the best pairs, update, and save to a file."""

import copy
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from vectrick._typing import Array, ArrayLike, Table
from vectrick.backends import HOST, Backend, common_backend, settle_backend
from vectrick.backends.arrays import like, namespace, numpy_dtype, to_host
from vectrick.data import Edges, EdgesLike, VertexTable
from vectrick.data.lake.scan import ScannedEdges
from vectrick.data.source import AnyEdges, is_lake
from vectrick.estimators.fit_parameters import FitParameters
from vectrick.estimators.nested_parameters import NestedParameters
from vectrick.inference.methods import InferenceMethods
from vectrick.models.predictor import Predictor
from vectrick.persistence.models import save_model
from vectrick.streaming.predictions import decide_lake, predict_lake
from vectrick.training.problem import SourceEdges
from vectrick.training.update import COLUMNS, WarmStart, has_more_classes, joined_source
from vectrick.training.validate import as_edges, as_given


class FittedModel(InferenceMethods, FitParameters, NestedParameters):
    """The methods of a fitted estimator that are the same for all losses."""

    predictor_: Predictor
    _known_edges: tuple[Array, Array] | None = None  # positions in the tables, if the model keeps them
    _source: SourceEdges | None = None  # with labels and weights, if the model keeps them
    intercept_: float
    backend: str | Backend
    device: Any

    @property
    def _machines(self) -> list[Any]:
        """The models of more than two classes, or of several labels for each edge; otherwise an empty list."""
        machines: list[Any] = self.__dict__.get("machines_", [])
        return machines

    @property
    def _parts(self) -> list[tuple[float, Any]]:
        """The weights and models whose weighted sum gives the predictions; by default only this model, as fitted."""
        return [(1.0, self._as_fitted())]

    def _place_machines(self) -> list[Any]:
        """Return the models of all classes or labels, set to the backend and device of the whole model."""
        return [machine.set_params(backend=self.backend, device=self.device) for machine in self._machines]

    def _with_source(self, machine: Any, label: object) -> Any:
        """Return the one-vs-rest model of a class, with the edges that the whole model keeps."""
        source = self._source
        if source is None:
            return machine
        alone = copy.copy(machine)
        one, other = np.asarray(machine.classes_).tolist()[::-1]
        labels = np.where(np.asarray(to_host(source.labels)) == label, one, other)
        alone._source = replace(source, labels=labels)
        return alone

    def _why_one_machine(self) -> str:
        """Return an error message for methods that need one of several models."""
        return (
            f"the model has {len(self._machines)} labels for each edge, but rankings are for one of them: use "
            "model.machines_[0], or another one; explanations need a model that was fitted to one label"
        )

    def _decide(self, X: AnyEdges) -> Array:
        """Return the real-valued predictions for edges; a column for each of several classes or labels."""
        check_is_fitted(self)
        if is_lake(X):
            return decide_lake(self, X)
        edges = self.predictor_.aligned(as_edges(self, X, reset=False))
        if self._machines:
            return self._decide_all(edges)
        predictor = self._placed(edges.backend)
        result: Array = as_given(predictor.predict(edges.on(predictor.backend)), edges.backend) + self.intercept_
        return result

    def _decide_all(self, edges: Edges) -> Array:
        """Return the predictions of all models as columns; several labels are predicted together."""
        machines = self._place_machines()
        predictors = [machine._placed(edges.backend) for machine in machines]
        first = predictors[0]
        # The decision for a class equals the decision of its one-vs-rest model to the last bit.
        if hasattr(self, "classes_") or not all(first.has_functions_of(other) for other in predictors):
            columns = [machine._decide(edges) for machine in machines]
            return namespace(columns[0]).stack(columns, -1)
        rows = namespace(first.coefficients).stack([predictor.coefficients for predictor in predictors])
        predictions = as_given(first.predict_all(edges.on(first.backend), rows), edges.backend).T
        intercepts = np.array([machine.intercept_ for machine in machines])
        result: Array = predictions + like(intercepts, predictions, numpy_dtype(predictions))
        return result

    def _placed(self, home: Backend) -> Predictor:
        """Return the predictor on the chosen backend and device; ``home`` is the backend of the user's arrays."""
        self.predictor_ = self.predictor_.on(settle_backend(self.backend, self.device, home))
        return self.predictor_

    def __getstate__(self) -> Any:
        """Return the state to pickle; its predictor is on the host, so a computer without the device can read it."""
        state = {name: value for name, value in super().__getstate__().items() if name != "_posterior"}
        if state.get("_known_edges") is not None:
            state = {**state, "_known_edges": tuple(to_host(vertices) for vertices in state["_known_edges"])}
        if state.get("_source") is not None:
            state = {**state, "_source": state["_source"].on_host()}
        predictor = state.get("predictor_")
        return state if predictor is None else {**state, "predictor_": predictor.on(HOST)}

    def predict_lake(self, X: ScannedEdges, path: Path | str, *, overwrite: bool = False) -> int:
        """Write predictions for the edges of a lake to a folder of Parquet files; return the number of edges.

        Each partition of X becomes one file, so the lake may be larger than memory. A file has the columns of the ids
        and of the label (if X was scanned with one), and "score"; for classes also "prediction", and "probability" if
        the model has probabilities. The folder appears when it is complete.

        Parameters
        ----------
        X : ScannedEdges
            Edges of a lake; ``label=None`` if they have no labels.
        path : path
            The folder to write.
        overwrite : bool
            Whether to replace a folder that exists.
        """
        check_is_fitted(self)
        return predict_lake(self, X, path, self._lake_columns, overwrite)

    def _lake_columns(self, decisions: Array) -> dict[str, Any]:
        """Return the columns of a table of predictions."""
        classes: Any = getattr(self, "classes_", None)
        if classes is None:
            return {"score": decisions} if decisions.ndim == 1 else {f"score_{j}": d for j, d in enumerate(decisions.T)}
        if decisions.ndim == 2:
            columns = {f"score_{name}": decisions[:, j] for j, name in enumerate(classes.tolist())}
            return {**columns, "prediction": classes[decisions.argmax(axis=1)]}
        columns = {"score": decisions, "prediction": classes[(decisions > 0).astype(np.int64)]}
        return {**columns, "probability": expit(decisions)} if hasattr(self, "predict_proba") else columns

    def _trained_again(self, edges: Edges, labels: Any, weight: ArrayLike | None) -> Any:
        """Return a model with the same parameters, trained on other edges."""
        again: Any = clone(self._as_fitted())
        return again.fit(edges, labels, weight)

    def update(self, X: EdgesLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train on additional edges X with labels y; the result equals a fit to all edges.

        X may have unseen vertices. Vertices are the same if they have the same id, or in tables without ids the same
        features. Training starts from the current model (unless a closed form, early stopping or several classes
        require a new fit), and uses the preconditioner if that pays. ``solution_.n_products`` is the number of
        products with all edges; two products are a pass.

        The model must have kept the edges that it was trained on (``keep_edges=True``).

        >>> import vectrick as vt
        >>> X, y = vt.datasets.make_checkerboard(100, random_state=0)
        >>> model = vt.KronRidge(vt.Gaussian(gamma=1.0), vt.Gaussian(gamma=1.0)).fit(X[:2000], y[:2000])
        >>> len(model.update(X[2000:], y[2000:]).dual_coef_) == len(y)
        True
        """
        check_is_fitted(self)
        edges, labels, weight = joined_source(self, X, y, sample_weight)
        model: Any = self
        columns = {name: value for name, value in self.__dict__.items() if name in COLUMNS}
        if model.early_stopping or self._machines or has_more_classes(model, labels):
            model.fit(edges, labels, weight)
        else:
            start = WarmStart(self.predictor_, getattr(self, "dual_coef_", None), len(edges))
            model._fit(edges, labels, weight, None, warm=start.coefficients)
        self.__dict__.update(columns)  # of the plain array that the edges came from
        return self

    def _tables(self, start_features: Table, end_features: Table) -> tuple[Predictor, VertexTable, VertexTable, Any]:
        """Return the predictor, the vertex tables, and a function that turns results into the user's kind of array."""
        check_is_fitted(self)
        if self._machines:
            raise ValueError(self._why_one_machine())
        predictor = self.predictor_
        start = predictor.start.table(start_features)
        if end_features is None and predictor.start.known is not predictor.end.known:
            raise ValueError("end_features is None, but the model was trained with two vertex sets; give both tables")
        end = start if end_features is None else predictor.end.table(end_features)
        advice = "the tables are on different devices: {}; move one of them with .to()"
        home = common_backend({"start_features": start.features, "end_features": end.features}, advice)
        return self._placed(home), start, end, partial(as_given, home=home)

    def iter_grid(self, start_features: Table, end_features: Table = None) -> Iterator[tuple[slice, slice, Array]]:
        """Yield the predictions for every pair of vertices block by block, for grids that do not fit into memory.

        Each block comes with the rows and columns of the grid that it fills.
        """
        predictor, start, end, given = self._tables(start_features, end_features)
        for rows, cols, block in predictor.blocks(start, end):
            yield rows, cols, given(block) + self.intercept_

    def predict_grid(self, start_features: Table, end_features: Table = None) -> Array:
        """Return the real-valued predictions for every pair of a start and an end vertex, a row for each start vertex.

        The vertices are given by their features (or rows of a precomputed kernel). For a model of one vertex set,
        ``end_features`` can be left out, and both ends are then the same vertices. The grid is computed in blocks.
        With a symmetric or antisymmetric kernel, the grid of one list of vertices is symmetric or antisymmetric to the
        last bit.
        """
        predictor, start, end, given = self._tables(start_features, end_features)
        result: Array = given(predictor.grid(start, end)) + self.intercept_
        return result

    def top_k(self, start_features: Table, end_features: Table = None, k: int = 10) -> tuple[Array, Array]:
        """Return the k end vertices with the largest predictions for each start vertex, and the predictions.

        For a model of one vertex set, ``end_features`` can be left out, and both ends are then the same vertices. The
        end vertices are returned as positions in ``end_features``. Both arrays have a row for each start vertex, with
        the best end vertex first; equal predictions keep the order of the end vertices. The whole grid is never in
        memory.
        """
        predictor, start, end, given = self._tables(start_features, end_features)
        if isinstance(k, bool) or not isinstance(k, Integral) or not 1 <= k <= len(end):
            raise ValueError(f"k is {k!r}, but it must be an integer from 1 to the number of end vertices, {len(end)}")
        which, scores = predictor.top_k(start, end, int(k))
        return given(which), given(scores) + self.intercept_

    @property
    def start_table_(self) -> VertexTable:
        """The table of start vertices that the model was trained with, including vertices without training edges."""
        check_is_fitted(self)
        return self.predictor_.start.known

    @property
    def end_table_(self) -> VertexTable:
        """The table of end vertices that the model was trained with, including vertices without training edges."""
        check_is_fitted(self)
        return self.predictor_.end.known

    def save(self, path: Path | str, *, about: dict[str, Any] | None = None) -> None:
        """Write the fitted model to one file that `vectrick.load` and the command line read.

        It is a safetensors file with the parameters, the kernels, the vertex tables with their ids, and a summary of
        the training in a JSON header; no part of it is code. An existing file is replaced once the new one is
        complete, so a crash leaves either the old file or the new one. Kernels that are functions cannot be saved.

        Parameters
        ----------
        path : path
            The file, usually with the ending ".vt".
        about : dict, optional
            Anything that JSON can hold; the loaded model has it as ``about_``.
        """
        check_is_fitted(self)
        save_model(self, path, about)
