"""More than two classes: one model for each class against the rest."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from vectrick._typing import Array, ArrayLike
from vectrick.backends.arrays import namespace, to_host, unmasked
from vectrick.data.lake.scan import ScannedEdges
from vectrick.solvers.solution import INTERRUPTED
from vectrick.training.fitted import Trainable
from vectrick.training.monitor import FitStep

_MOST = 100  # classes
_SHARED = ("form_", "form_reason_", "plan_", "n_features_in_", "feature_names_in_", "components_", "kernel_weights_")


class SeveralClassesError(ValueError):
    """Labels have more than two classes, but a function trains only one model."""

    def __init__(self, classes: Array) -> None:
        self.classes = classes
        if len(classes) > _MOST:
            raise ValueError(
                f"y has {len(classes)} different labels, but there can be {_MOST} classes; for values use KronRidge"
            )
        super().__init__(
            f"y has {len(classes)} classes, but this is for two; the fit method of an estimator trains a model for "
            "each class against the rest"
        )


def fit_against_rest(
    model: Trainable,
    classes: Array,
    X: ScannedEdges,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    validation: tuple[Any, Any] | None,
    **watch: Any,
) -> None:
    """Train a copy of a classifier for each class against the rest, and set the fitted attributes."""
    if watch.get("resume") is not None:
        raise ValueError(f"resume is given, but y has {len(classes)} classes, each with its own fit; leave it out")
    labels = np.asarray(unmasked(to_host(y), "y"))
    if validation is not None:
        validation = validation[0], np.asarray(unmasked(to_host(validation[1]), "the labels of validation"))
        unknown = np.setdiff1d(validation[1], classes)
        if len(unknown):
            raise ValueError(f"validation has the class {unknown.tolist()[0]!r}, but the training labels do not")
    watch["callback"] = stopping_all(watch.get("callback"))
    machines = []
    for label in classes:
        held = None if validation is None else (validation[0], validation[1] == label)
        machine = clone(model).fit(X, labels == label, sample_weight, validation=held, **watch)
        if machine.solution_.reason.startswith(INTERRUPTED):
            raise KeyboardInterrupt  # a model without some of its classes is not usable
        machines.append(machine)
    source = machines[0]._source
    set_machines(model, machines)
    model.classes_ = classes
    model._source = None if source is None else replace(source, labels=labels)


def stopping_all(callback: Callable[[FitStep], bool | None] | None) -> Any:
    """Return a callback that also stops the fits of all later models, once it has stopped one."""
    if callback is None:
        return None
    stopped = False

    def stops(step: FitStep) -> bool:
        nonlocal stopped
        stopped = stopped or bool(callback(step))
        return stopped

    return stops


def set_machines(model: Trainable, machines: list[Any]) -> None:
    """Set the fitted attributes of a model of several classes or labels, from one model for each."""
    for name in ("dual_coef_", "support_", "coef_", *_SHARED):
        model.__dict__.pop(name, None)
    model._remember_parameters()
    model.machines_ = machines
    first = machines[0]
    model.predictor_, model._known_edges = first.predictor_, first._known_edges
    for machine in machines:
        machine._source = None  # the whole model has the labels
    for name in _SHARED:
        if hasattr(first, name):
            setattr(model, name, getattr(first, name))
    # The whole model reports the fit of the model that took the most iterations, or did not converge.
    longest = max(machines, key=lambda machine: (not machine.solution_.converged, machine.n_iter_))
    model.solution_, model.history_, model.n_iter_ = longest.solution_, longest.history_, longest.n_iter_
    model.intercept_ = np.array([machine.intercept_ for machine in machines])
    name = "dual_coef_" if all(hasattr(machine, "dual_coef_") for machine in machines) else "coef_"
    parts: list[Any] = [getattr(machine, name, None) for machine in machines]
    if len({None if part is None else part.shape for part in parts} | {None}) == 2:  # all exist, with the same shape
        setattr(model, name, namespace(parts[0]).stack(parts))
    if all(hasattr(machine, "support_") for machine in machines):
        model.support_ = np.unique(np.concatenate([to_host(machine.support_) for machine in machines]))
