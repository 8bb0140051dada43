"""Training with a hold-out: a fit that can be monitored, resumed and interrupted, and its scores on held-out edges."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from vectrick._typing import Array
from vectrick.data.censored import within_bounds
from vectrick.data.files.dataset import Dataset
from vectrick.estimators import FitStep, KronEstimator, label_scale, vertices_only_in, with_iterations
from vectrick.model_selection.calibration.errors import Calibration, errors_of
from vectrick.model_selection.scorers import get_scorer, predictions
from vectrick.model_selection.splitting.holdout import Holdout
from vectrick.model_selection.splitting.pairs import Pairs
from vectrick.persistence.fit_checkpoint import FitCheckpoint


class HeldFold(NamedTuple):
    """A fold of held-out edges: its setting, the training and the test edges, and the predictions."""

    new: str
    train: Array
    test: Array
    decisions: Array


@dataclass
class Trained:
    """A fitted model with its data, the held-out edges, their predictions, and the times."""

    model: Any
    data: Dataset
    holdout: Holdout
    scoring: str
    scores: dict[str, float] = field(default_factory=dict)
    predictions: dict[str, Array] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    history: dict[str, list[Any]] = field(default_factory=dict)
    folds: list[HeldFold] = field(default_factory=list)  # of a search
    is_refitted: bool = False  # on all edges, after the scores
    is_divided: bool = True  # edges were held out by their vertices; otherwise the user chose them
    _scales: tuple[Any, dict[Any, Any]] | None = None  # of the folds, for this model
    is_interrupted: bool = False  # so some results are missing

    @property
    def y(self) -> Array:
        """The labels of all edges."""
        return self.data.y

    @property
    def n_trained(self) -> int:
        """The number of edges that the model was trained on before it was validated."""
        return len(self.holdout.train)

    @property
    def held_out_vertices(self) -> dict[str, list[Any]]:
        """The ids, or the rows, of the vertices of each side that had no training edge before validation."""
        if not self.holdout.tests or len(self.holdout.train) == len(self.data.X):
            return {}
        return vertices_only_in(self.data.X, self.data.X[self.holdout.train])

    def _keep_held_out(self) -> None:
        """Store the held-out vertices in the model."""
        if self.held_out_vertices:
            self.model.validation_vertices_ = self.held_out_vertices

    def judge(self) -> None:
        """Score the model on the held-out edges of each setting that has different labels."""
        scorer, begin = get_scorer(self.scoring), time.perf_counter()
        for new, rows in self.holdout.tests.items():
            if len(np.unique(self.y[rows])) < 2:
                continue
            edges = self.data.X[rows]
            self.predictions[new] = predictions(self.model, edges)
            classes = getattr(self.model, "classes_", None)
            self.scores[new] = scorer.score(self.data.target[rows], self.predictions[new], Pairs.of(edges), classes)
        self.seconds["predicting"] = time.perf_counter() - begin

    @property
    def held_folds(self) -> list[HeldFold]:
        """The held-out edges: the folds of a search, or a fold for each setting."""
        if self.folds:
            return self.folds
        tests = self.holdout.tests.items()
        return [
            HeldFold(new, self.holdout.train, rows, self.predictions[new])
            for new, rows in tests
            if new in self.predictions
        ]

    def held_scale(self, fold: HeldFold) -> Array | None:
        """Return the expected errors at the test edges of a fold, given its training edges; see `label_scale`."""
        if hasattr(self.model, "classes_"):
            return None
        if self._scales is None or self._scales[0] is not self.model:
            self._scales = self.model, {}
        known, key = self._scales[1], (fold.new, fold.test.tobytes())
        if key not in known:
            rows = fold.train if self.is_refitted else None
            known[key] = label_scale(self.model, self.data.X[fold.test], rows)
        scale: Array | None = known[key]
        return scale

    def calibration(self) -> dict[str, Any] | None:
        """Return the errors on held-out edges as JSON for a file; None if there are none."""
        classes = getattr(self.model, "classes_", None)
        parts: dict[str, list[Any]] = {}
        for fold in self.held_folds:
            labels, decisions = within_bounds(self.data.target[fold.test], fold.decisions)
            parts.setdefault(fold.new, []).append((labels, decisions, self.held_scale(fold)))
        errors, scaled = {}, {}
        for new, some in parts.items():
            y, decisions = (np.concatenate([part[i] for part in some]) for i in (0, 1))
            errors[new] = errors_of(y, decisions, None, classes)
            if all(scale is not None for _, _, scale in some):
                scaled[new] = errors_of(y, decisions, np.concatenate([scale for _, _, scale in some]), classes)[0]
        return Calibration(errors, scaled).header() if errors else None

    def refit(self) -> None:
        """Replace the model by a model trained on all edges, with the same number of iterations."""
        model, begin = self.model, time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # the number of iterations was chosen
                self.model = with_iterations(model, model.alpha, model.n_iter_).fit(self.data.X, self.data.target)
            self._keep_held_out()
        except KeyboardInterrupt:  # the validated model is kept
            self.is_interrupted = True
            return
        self.is_refitted = True
        self.seconds["training on all edges"] = time.perf_counter() - begin


def scoring_of(estimator: KronEstimator, y: Array) -> str:
    """Return the name of the score of an estimator."""
    return estimator._auto_scoring(y) if estimator.scoring == "auto" else estimator.scoring


def train(
    estimator: KronEstimator,
    data: Dataset,
    holdout: Holdout | None = None,
    *,
    callback: Callable[[FitStep], bool | None] | None = None,
    checkpoint: FitCheckpoint | None = None,
    keep_interrupted: bool = False,
) -> Trained:
    """Fit an estimator to the training edges, and score it on the held-out edges.

    Parameters
    ----------
    estimator : estimator
        An estimator of vectrick. With early stopping, the held-out edges between new vertices choose the iteration.
    data : Dataset
        Edges and labels.
    holdout : Holdout, optional
        Which edges to hold out; by default none.
    callback : callable, optional
        Called with a `FitStep` after each iteration.
    checkpoint : FitCheckpoint, optional
        A file that stores the state of the fit, so that it can continue.
    keep_interrupted : bool
        Whether Ctrl-C ends training and returns the best model so far.
    """
    X, y, validation = data.X, data.y, None
    holdout = Holdout(np.arange(len(X)), {}) if holdout is None else holdout
    rows = holdout.train
    if holdout.tests and estimator.early_stopping:
        validation = X[holdout.tests["both"]], data.target[holdout.tests["both"]]
    begin = time.perf_counter()
    resume = None if checkpoint is None else checkpoint.read(estimator, X[rows], y[rows], validation)

    def on_step(step: FitStep) -> bool | None:
        stop = None if callback is None else callback(step)
        if checkpoint is not None:
            checkpoint.write(step)
        return stop

    watch: dict[str, Any] = {"callback": on_step, "keep_interrupted": keep_interrupted, "resume": resume}
    model = estimator.fit(X[rows], data.target[rows], validation=validation, **watch)
    model._known_edges = X.start, X.end  # also the held-out edges
    trained = Trained(model, data, holdout, scoring_of(estimator, y), history=model.history_)
    trained._keep_held_out()
    trained.is_interrupted = str(model.solution_.reason).startswith("interrupted")
    trained.seconds["training"] = time.perf_counter() - begin
    if holdout.tests:
        try:
            trained.judge()
        except KeyboardInterrupt:
            if not keep_interrupted:
                raise
            trained.is_interrupted = True
    return trained
