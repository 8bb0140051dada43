"""An ensemble as a fitted model: predictions, probabilities, files and summaries."""

from typing import Any, Literal, overload

import numpy as np
from scipy.special import expit
from sklearn import get_config
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags, estimator_html_repr
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from vectrick._typing import Array, ArrayLike
from vectrick.automatic.labels import CLASS_LOSSES, RANKS
from vectrick.automatic.summary import summary, summary_html
from vectrick.backends.arrays import cast, like, to_host, unmasked
from vectrick.data import EdgesLike
from vectrick.data.censored import within_bounds
from vectrick.estimators import (
    N_SAMPLES,
    FittedModel,
    KronEstimator,
    SourceEdges,
    as_edges,
    frame_header,
    read_frame,
    with_uncertainty,
)
from vectrick.metrics import concordance_index
from vectrick.models.combined import CombinedPredictor
from vectrick.persistence.checks import numbers, of_kind

_STATE = {"score_": float, "spread_": float, "scoring_": str, "folds_": str, "told_": list}


class MeanModel(FittedModel):
    """An ensemble: the weighted sum of several models, each trained on all edges; log-odds for classes."""

    loss: str
    members_: list[Any]
    weights_: Array
    classes_: Array
    search_: Any
    told_: list[str]

    def _keep(self, constant: float, source: SourceEdges | None) -> None:
        """Set the attributes that follow from the members and their weights."""
        members, weights = self.members_, self.weights_
        self.constant_ = float(constant)
        self.predictor_ = CombinedPredictor([member.predictor_ for member in members], weights.tolist())
        self.intercept_ = self.constant_ + float(
            sum(weight * member.intercept_ for weight, member in zip(weights, members, strict=True))
        )
        self._source = source
        self._known_edges = None if source is None else (source.start, source.end)
        longest = max(members, key=lambda member: (not member.solution_.converged, member.n_iter_))
        self.solution_, self.n_iter_, self.history_ = longest.solution_, longest.n_iter_, longest.history_
        self.form_, self.form_reason_ = members[0].form_, members[0].form_reason_

    @property
    def _parts(self) -> list[tuple[float, Any]]:
        """The members with their weights."""
        return [
            (weight, member._as_fitted()) for weight, member in zip(self.weights_.tolist(), self.members_, strict=True)
        ]

    def _keep_machines(self, machines: list[Any]) -> None:
        """Set the attributes that follow from the one-vs-rest models."""
        self.machines_, first = machines, machines[0]
        self.predictor_ = first.predictor_
        self.intercept_ = np.array([machine.intercept_ for machine in machines])  # type: ignore[assignment]
        for name in ("solution_", "n_iter_", "history_", "form_", "form_reason_"):
            setattr(self, name, getattr(first, name))

    # Predicting

    @available_if(lambda model: _ranks_classes(model))  # type: ignore[untyped-decorator] # noqa: PLW0108 (it is below)
    def decision_function(self, X: EdgesLike) -> Array:
        """Return the log-odds of the second class, or with several classes a column of log-odds for each class.

        For a regression model of labels with two values, return the predictions.
        """
        return self._decide(X)

    @overload
    def predict(self, X: EdgesLike, return_std: Literal[False] = ..., *, n_samples: int = ...) -> Array: ...
    @overload
    def predict(self, X: EdgesLike, return_std: bool, *, n_samples: int = ...) -> Array | tuple[Array, Array]: ...
    def predict(
        self, X: EdgesLike, return_std: bool = False, *, n_samples: int = N_SAMPLES
    ) -> Array | tuple[Array, Array]:
        """Return the class of each edge, or the predicted value.

        With ``return_std``, return the standard deviations of values as well: the weighted sum of the members' standard
        deviations, an upper bound. This requires an ensemble of ridge regressions.
        """
        decisions = self._decide(X if not return_std else as_edges(self, X, reset=False))
        if return_std:
            return with_uncertainty(self, X, decisions, True, False, n_samples)
        if self._machines:
            return np.asarray(self.classes_[to_host(decisions).argmax(axis=1)])
        if not hasattr(self, "classes_"):
            return decisions
        positive = decisions > 0 if self.classes_.dtype.kind in "biuf" else to_host(decisions > 0)  # strings need NumPy
        return like(self.classes_, positive)[cast(positive, np.int64)]

    @available_if(lambda model: _is_classifier(model._as_fitted(), if_unknown=True))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: EdgesLike) -> Array:
        """Return a column of probabilities for each class, calibrated on the inner folds."""
        decisions = self._decide(X)
        if not hasattr(self, "classes_"):
            raise AttributeError("the labels are values, and values have no probabilities; use predict")
        home = np.asarray(to_host(decisions))
        if self._machines:
            each = expit(home)
            columns = each / np.maximum(each.sum(axis=1, keepdims=True), 1e-300)
        else:
            columns = np.stack([expit(-home), expit(home)], axis=1)
        return like(columns, decisions)

    def score(self, X: EdgesLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy for classes, R² for values, or the concordance for rankings."""
        labels, predicted = unmasked(to_host(y), "y"), to_host(self.predict(X))
        weight = unmasked(sample_weight, "sample_weight")
        if hasattr(self, "classes_"):
            return float(accuracy_score(labels, predicted, sample_weight=weight))
        loss = self._as_fitted().loss
        if loss in RANKS:
            edges = as_edges(self, X, reset=False)
            groups = None if RANKS[loss] is None else to_host(getattr(edges, str(RANKS[loss])))
            return concordance_index(labels, predicted, groups)
        return float(r2_score(*within_bounds(labels, predicted), sample_weight=weight))

    def machine(self, label: object) -> Any:
        """Return the one-vs-rest model of a class, for grids and rankings of this class."""
        check_is_fitted(self)
        for name, machine in zip(self.classes_.tolist() if self._machines else [], self._place_machines(), strict=True):
            if name == label or str(name) == str(label):
                return self._with_source(machine, name)
        known = ", ".join(map(repr, self.classes_.tolist())) if self._machines else "none, since there are two classes"
        raise ValueError(f"label is {label!r}, but the machines of this model are {known}")

    def _why_one_machine(self) -> str:
        return (
            f"the model has {len(self.classes_)} classes, but grids, rankings and explanations are for one class: use "
            f"model.machine({self.classes_.tolist()[0]!r}), or --class on the command line"
        )

    # Files

    @property
    def _file_parts(self) -> list[Any]:
        """The models that a file contains."""
        return self._machines or self.members_

    def _file_state(self) -> dict[str, Any]:
        """Return the state that a file contains in addition to the models."""
        state: dict[str, Any] = {name: getattr(self, name) for name in _STATE}
        if not self._machines:
            state |= {"weights": self.weights_.tolist(), "constant": self.constant_}
        return {**state, "search": frame_header(self.search_)}

    def _restore(self, state: dict[str, Any], parts: list[Any]) -> None:
        """Set the fitted attributes from a file."""
        for name, kind in _STATE.items():
            setattr(self, name, of_kind(kind, state[name]))
        self.told_ = [of_kind(str, line) for line in self.told_]
        self.search_ = read_frame(state["search"])
        if "weights" not in state:
            if not all(isinstance(part, MeanModel) for part in parts) or len(parts) != len(self.classes_):
                raise ValueError(f"there are {len(parts)} one-vs-rest models for {len(self.classes_)} classes")
            self._keep_machines(parts)
            return
        self.weights_, self.members_ = np.array(numbers(state["weights"]), np.float64), parts
        if len(parts) != len(self.weights_) or not all(isinstance(part, KronEstimator) for part in parts):
            raise ValueError(f"there are {len(self.weights_)} weights for {len(parts)} models")
        if not np.isfinite(self.weights_).all() or len(getattr(self, "classes_", [0, 0])) != 2:
            raise ValueError("the weights or the classes of the models are damaged")
        self._keep(of_kind(float, state["constant"]), None)

    # For display, and for scikit-learn

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the inner folds and paths of alphas; only reports after training use them."""
        state = dict(super().__getstate__())
        for name in ("_held_out", "_paths"):
            state.pop(name, None)
        return state

    def __str__(self) -> str:
        return summary(self) if hasattr(self, "search_") else repr(self)

    def _repr_html_(self) -> str:
        """Return the summary, followed by scikit-learn's list of the parameters."""
        parameters = str(estimator_html_repr(self))
        return parameters if not hasattr(self, "search_") else summary_html(self) + parameters

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        text = {"text/plain": str(self)}
        return {**text, "text/html": self._repr_html_()} if get_config()["display"] == "diagram" else text

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if _is_classifier(self, if_unknown=False):
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags(poor_score=True)
        elif self.loss in ("ridge", *RANKS) or hasattr(self, "search_"):
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags(poor_score=True)
        tags.target_tags.required = True
        return tags


def _ranks_classes(model: MeanModel) -> bool:
    """Whether a model has a decision function: it is a classifier, or its labels have only two values."""
    if not hasattr(model, "search_"):
        return model.loss in ("auto", *CLASS_LOSSES)
    return hasattr(model, "classes_") or getattr(model, "_has_two_labels", True)


def _is_classifier(model: MeanModel, if_unknown: bool) -> bool:
    """Whether a model is a classifier, by its loss or its training labels."""
    if model.loss in CLASS_LOSSES:
        return True
    if model.loss != "auto":
        return False
    return hasattr(model, "classes_") if hasattr(model, "search_") else if_unknown
