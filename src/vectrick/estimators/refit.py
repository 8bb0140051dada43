"""Training on all edges after early stopping has held some of them out."""

import warnings
from typing import Any

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from vectrick.models.kernel_spec import KernelSpec
from vectrick.solvers import iterative_solver

_OF_FIRST = (
    "history_",
    "n_iter_",
    "validation_vertices_",
    "_fitted_parameters",
)  # what the fit with held-out vertices says


def with_iterations(estimator: Any, alpha: float, iteration: int) -> Any:
    """Return an estimator with a fixed number of iterations of the solver that was compared."""
    fixed = clone(estimator)
    if KernelSpec.of(estimator).two_step is not None:  # which makes none
        return fixed.set_params(alpha=alpha)
    solver = estimator.solver
    if solver == "auto":
        solver = iterative_solver(estimator._loss_type).name
    return fixed.set_params(alpha=alpha, max_iter=max(1, iteration), solver=solver, early_stopping=False)


def train_on_all(model: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Train a model that was stopped early on all edges, for as many iterations; its history stays."""
    if model.solution_.reason.startswith("interrupted"):
        return
    fixed = with_iterations(model, model.alpha, model.n_iter_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the number of iterations was chosen
        fixed.fit(X, y, sample_weight)
    first = {name: getattr(model, name) for name in _OF_FIRST}
    parameters = model.get_params(deep=False)
    model.__dict__ = {**fixed.__dict__, **parameters, **first}
