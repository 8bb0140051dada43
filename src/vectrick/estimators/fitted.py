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

from vectrick._typing import Array, ArrayLike, RandomState, Table
from vectrick.backends import HOST, Backend, common_backend, settle_backend
from vectrick.backends.arrays import like, namespace, numpy_dtype, to_host
from vectrick.data import Edges, EdgesLike, VertexTable
from vectrick.data.lake.scan import ScannedEdges
from vectrick.data.source import is_lake
from vectrick.estimators.fit_parameters import FitParameters
from vectrick.estimators.nested_parameters import NestedParameters
from vectrick.inference.explain import explain, predict_without
from vectrick.inference.recommend import recommend
from vectrick.inference.uncertainty import N_SAMPLES, FittedPosterior, novelty_of, posterior_of
from vectrick.models.predictor import Predictor
from vectrick.persistence.models import save_model
from vectrick.streaming.predictions import decide_lake, predict_lake
from vectrick.training.problem import SourceEdges
from vectrick.training.update import COLUMNS, WarmStart, has_more_classes, joined_source
from vectrick.training.validate import as_edges, as_given


class FittedModel(FitParameters, NestedParameters):
    """The methods of a fitted estimator that are the same for all losses."""

    _predictor: Predictor
    _known_edges: tuple[Array, Array] | None = None  # positions in the tables, where the model keeps them
    _source: SourceEdges | None = None  # with labels and weights, where the model keeps them
    intercept_: float
    backend: str | Backend
    device: Any

    @property
    def _machines(self) -> list[Any]:
        """The machines of more than two classes, or of several labels of each edge; else an empty list."""
        machines: list[Any] = self.__dict__.get("machines_", [])
        return machines

    @property
    def _parts(self) -> list[tuple[float, Any]]:
        """The models that the predictions are a weighted sum of, as they were fitted: by default this one alone."""
        return [(1.0, self._as_fitted())]

    def _place_machines(self) -> list[Any]:
        """Return the machines, set to the backend and device of the whole model."""
        return [machine.set_params(backend=self.backend, device=self.device) for machine in self._machines]

    def _with_source(self, machine: Any, label: Any) -> Any:
        """Return the machine of one class against the rest, with the edges that the whole model keeps."""
        source = self._source
        if source is None:
            return machine
        alone = copy.copy(machine)
        one, other = np.asarray(machine.classes_).tolist()[::-1]
        labels = np.where(np.asarray(to_host(source.labels)) == label, one, other)
        alone._source = replace(source, labels=labels)
        return alone

    def _why_one_machine(self) -> str:
        """Say why a method is for one machine of several."""
        return (
            f"the model has {len(self._machines)} labels for each edge, but rankings are for one of them: use "
            "model.machines_[0], or another one; explanations need a model that was fitted to one label"
        )

    def _decide(self, X: Any) -> Array:
        """Return the real-valued predictions for edges; a column for each machine if there are several."""
        check_is_fitted(self)
        if is_lake(X):
            return decide_lake(self, X)
        edges = self._predictor.aligned(as_edges(self, X, reset=False))
        if self._machines:
            return self._decide_all(edges)
        predictor = self._placed(edges.backend)
        return as_given(predictor.predict(edges.on(predictor.backend)), edges.backend) + self.intercept_

    def _decide_all(self, edges: Edges) -> Array:
        """Return the predictions of all machines as columns; those of several labels are made together."""
        machines = self._place_machines()
        predictors = [machine._placed(edges.backend) for machine in machines]
        first = predictors[0]
        # The decision of one class is that of its machine to the last bit.
        if hasattr(self, "classes_") or not all(first.has_functions_of(other) for other in predictors):
            columns = [machine._decide(edges) for machine in machines]
            return namespace(columns[0]).stack(columns, -1)
        rows = namespace(first.coefficients).stack([predictor.coefficients for predictor in predictors])
        predictions = as_given(first.predict_all(edges.on(first.backend), rows), edges.backend).T
        intercepts = np.array([machine.intercept_ for machine in machines])
        return predictions + like(intercepts, predictions, numpy_dtype(predictions))

    def _placed(self, home: Backend) -> Predictor:
        """Return the predictor on the chosen backend and device; ``home`` is the backend of the user's arrays."""
        self._predictor = self._predictor.on(settle_backend(self.backend, self.device, home))
        return self._predictor

    def __getstate__(self) -> Any:
        """Return the state to pickle; its predictor is on the host, so a machine without the device can read it."""
        state = {name: value for name, value in super().__getstate__().items() if name != "_posterior"}
        if state.get("_known_edges") is not None:
            state = {**state, "_known_edges": tuple(to_host(vertices) for vertices in state["_known_edges"])}
        if state.get("_source") is not None:
            state = {**state, "_source": state["_source"].on_host()}
        predictor = state.get("_predictor")
        return state if predictor is None else {**state, "_predictor": predictor.on(HOST)}

    def predict_lake(self, X: ScannedEdges, path: Path | str, *, overwrite: bool = False) -> int:
        """Write predictions for the edges of a lake to a folder of Parquet files; return how many there are.

        Each partition of X becomes a file, written as it is made, so the lake may be larger than memory. It has the
        columns of the ids and of the label (if X was scanned with one), and "score"; for classes also "prediction", and
        "probability" where the model has probabilities. The folder appears when it is complete.

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

    def posterior(self, n_samples: int = N_SAMPLES, random_state: RandomState = None) -> FittedPosterior:
        """Return the posterior of a ridge regression, a Gaussian process: `std`, `std_error` and `covariance` of edges.

        Variances are exact for complete graphs, for up to 2000 training edges, and for few edges if no samples have
        been drawn before; otherwise they are estimated without bias from samples, with the degree model of the graph as
        control variate. The model must have kept the edges that it was trained on.

        Parameters
        ----------
        n_samples : int
            The number of samples: the error of a standard deviation falls with its root.
        random_state : int, optional
            The seed of the samples.

        Examples
        --------
        >>> import vectrick as vt
        >>> X, y = vt.datasets.make_checkerboard(100, random_state=0)
        >>> model = vt.KronRidge(vt.Gaussian(gamma=1.0), vt.Gaussian(gamma=1.0)).fit(X, y)
        >>> posterior = model.posterior()
        >>> posterior.method
        'from 64 samples, with the degree model as control variate'
        >>> bool((posterior.std_error(X) < 0.1 * posterior.std(X)).all())
        True
        """
        check_is_fitted(self)
        return posterior_of(self, n_samples, random_state)

    def novelty(self, X: EdgesLike, *, parts: bool = False) -> Any:
        """Return how new edges are to the model, between 0 and 1.

        It is the share of the prior variance of an edge that the training edges leave unexplained, for ridge regression
        with the same kernels and alpha, whatever the loss; by the degree model of the graph, which is exact on complete
        graphs. At 1 a prediction is the intercept alone. The model must have kept the edges that it was trained on.

        Parameters
        ----------
        X : Edges or array
            The edges.
        parts : bool
            Whether to return a frame with "novelty", and the parts that are due to the "start" and to the "end" vertex:
            the same share of the mean over edges to all training vertices of the other side.

        Examples
        --------
        >>> import vectrick as vt
        >>> X, y = vt.datasets.make_checkerboard(100, random_state=0)
        >>> model = vt.KronSVM(vt.Gaussian(gamma=1.0), vt.Gaussian(gamma=1.0)).fit(X, y)
        >>> far = vt.Edges([0], [0], X.start_table.features[:1] + 1000, X.end_table.features[:1])
        >>> bool((model.novelty(X) < 1).all()), model.novelty(far)
        (True, array([1.]))
        """
        check_is_fitted(self)
        return novelty_of(self, X, parts)

    def explain(self, X: EdgesLike, k: int = 10, *, by: str = "edge", influence: bool = False) -> Any:
        """Return a frame that says why the prediction for one edge is what it is.

        A prediction is a sum over the training edges. The frame has those with the largest contributions, then a row
        each for the rest of them, the intercept, and what the solver left of the minimum, where the coefficients of
        edges follow from the loss. Its column "contribution" adds up to the
        prediction: the value, for a classifier the decision, whose sign is the class. The model must have kept the
        edges that it was trained on.

        Parameters
        ----------
        X : Edges or array
            One edge.
        k : int
            How many contributions are listed.
        by : str
            "edge" for training edges, with their labels and the kernel values of both ends with those of the edge (of a
            mean of models the mean values, each relative to those of vertices with themselves);
            "start" or "end" for training vertices, each with the sum over its edges; "features" for pairs of a start
            and an end feature, if the kernels are linear in them.
        influence : bool
            Of a ridge regression: whether to add a column "without", what the prediction would be if the model had
            been trained without the edge.

        Examples
        --------
        >>> import vectrick as vt
        >>> X, y = vt.datasets.make_checkerboard(60, random_state=0)
        >>> model = vt.KronRidge(vt.Gaussian(gamma=1.0), vt.Gaussian(gamma=1.0), alpha=0.1).fit(X, y)
        >>> why = model.explain(X[:1], k=2)
        >>> why["what"].tolist()
        ['edge', 'edge', 'the rest', 'intercept', 'left by the solver']
        >>> bool(abs(why["contribution"].sum() - model.predict(X[:1])[0]) < 1e-10)
        True
        """
        check_is_fitted(self)
        return explain(self, X, k, by, influence)

    def predict_without(self, X: EdgesLike, *, edges: Any = None, start: Any = None, end: Any = None) -> Array:
        """Return what the predictions would be if some training edges had not been there.

        For ridge regression and few edges, this follows from the posterior covariances, exactly and without a fit;
        otherwise the model is trained again on the edges that stay. A classifier returns decisions.

        Parameters
        ----------
        X : Edges or array
            The edges to predict.
        edges : Edges or array, optional
            Training edges to leave out.
        start, end : id or list of ids, optional
            Vertices to leave out with all their training edges; positions if the tables have no ids.

        Examples
        --------
        >>> import vectrick as vt
        >>> X, y = vt.datasets.make_checkerboard(60, random_state=0)
        >>> model = vt.KronRidge(vt.Gaussian(gamma=1.0), vt.Gaussian(gamma=1.0), tol=1e-10).fit(X, y)
        >>> again = vt.KronRidge(vt.Gaussian(gamma=1.0), vt.Gaussian(gamma=1.0), tol=1e-10).fit(X[1:], y[1:])
        >>> bool(abs(model.predict_without(X[:1], edges=X[:1]) - again.predict(X[:1]))[0] < 1e-6)
        True
        """
        check_is_fitted(self)
        return predict_without(self, X, edges, start, end)

    def _trained_again(self, edges: Edges, labels: Any, weight: Any) -> Any:
        """Return a model like this one that is trained on other edges."""
        again: Any = clone(self._as_fitted())
        return again.fit(edges, labels, weight)

    def update(self, X: EdgesLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train on further edges X with labels y, too; the result equals a fit to all edges.

        X may have vertices that the model does not know yet. Vertices are the same if they have the same id, or in
        tables without ids the same features. Training starts from the model as it is (unless a closed form, early
        stopping or several classes ask for a new fit), and takes the preconditioner if that pays.
        ``solution_.n_products`` says how many products with all edges it took; two of them are a pass.

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
            start = WarmStart(self._predictor, getattr(self, "dual_coef_", None), len(edges))
            model._fit(edges, labels, weight, None, warm=start.coefficients)
        self.__dict__.update(columns)  # of a plain array, which the edges came from
        return self

    def _tables(self, start_features: Any, end_features: Any) -> tuple[Predictor, VertexTable, VertexTable, Any]:
        """Return the predictor, the vertex tables, and a function that turns results into the user's kind of array."""
        check_is_fitted(self)
        if self._machines:
            raise ValueError(self._why_one_machine())
        predictor = self._predictor
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
        return given(predictor.grid(start, end)) + self.intercept_

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

    def recommend(
        self,
        start: Any = None,
        k: int = 10,
        exclude_known: bool = True,
        *,
        positions: Any = None,
        known: Any = None,
        end_features: Any = None,
    ) -> Any:
        """Return a frame with the k best end vertices for each given start vertex, without known edges.

        Parameters
        ----------
        start : list of ids, or table
            Start vertices that the model knows, by their ids (or positions if they have no ids), or a table of new
            ones as for `predict_grid`. An integer also stands for an id that is its numeral, such as "7".
        k : int
            The number of end vertices for each start vertex; there are fewer if the others are known.
        exclude_known : bool
            Whether to leave out the edges that were given to `fit`, or those of ``known``.
        positions : list of int, optional
            Rows of ``start_table_`` instead of ``start``, for vertices that have ids.
        known : Edges or frame, optional
            Edges to leave out instead of the model's own. In a frame, the columns "start" and "end" hold the ids, or
            else the first two columns.
        end_features : table, optional
            The end vertices to choose from; by default all that the model knows.

        Returns
        -------
        pandas.DataFrame
            A row for each start vertex and partner, the best first: "start", "end", "rank", "score", and for logistic
            regression "probability". The whole grid is never in memory.

        Examples
        --------
        >>> import pandas as pd, vectrick as vt
        >>> users = pd.DataFrame({"age": [0.2, 0.9]}, index=["ann", "bob"])
        >>> items = pd.DataFrame({"size": [0.1, 0.5, 0.9]}, index=["pin", "cup", "box"])
        >>> df = pd.DataFrame({"start": ["ann", "ann", "bob"], "end": ["pin", "box", "box"]})
        >>> X = vt.Edges.from_frame(df, start_table=users, end_table=items)
        >>> model = vt.KronRidge("gaussian", "gaussian").fit(X, [1.0, 0.0, 1.0])
        >>> model.recommend(["ann"])["end"].tolist()
        ['cup']
        """
        check_is_fitted(self)
        return recommend(self, start, positions, k, exclude_known, known, end_features)

    @property
    def start_table_(self) -> VertexTable:
        """The table of start vertices that the model was trained with, with those that are not training vertices."""
        check_is_fitted(self)
        return self._predictor.start.known

    @property
    def end_table_(self) -> VertexTable:
        """The table of end vertices that the model was trained with, with those that are not training vertices."""
        check_is_fitted(self)
        return self._predictor.end.known

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
