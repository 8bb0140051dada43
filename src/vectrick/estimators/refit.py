"""Training on all edges after early stopping has held some of them out."""

import warnings
from collections.abc import Callable
from typing import Any

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from vectrick.models.kernel_spec import KernelSpec
from vectrick.solvers import iterative_solver
from vectrick.solvers.solution import INTERRUPTED

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


def train_on_all(model: Any, fit: Callable[[Any], Any]) -> None:
    """Train a model that was stopped early on all edges, for as many iterations; its history stays.

    ``fit`` trains an estimator on all of them.
    """
    if model.solution_.reason.startswith(INTERRUPTED):
        return
    fixed = with_iterations(model, model.alpha, model.n_iter_).set_params(refit=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the number of iterations was chosen
        fit(fixed)
    first = {name: getattr(model, name) for name in _OF_FIRST if hasattr(model, name)}
    parameters = model.get_params(deep=False)
    model.__dict__ = {**fixed.__dict__, **parameters, **first}
