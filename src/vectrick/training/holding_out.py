"""Holding vertices out for early stopping, and training on all edges afterwards."""

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from vectrick._typing import Array
from vectrick.backends.arrays import to_host, true_places, zeros
from vectrick.data import Edges
from vectrick.data.splits import TooFewLabelsError, hold_out_labeled
from vectrick.models.kernel_spec import KernelSpec
from vectrick.solvers import iterative_solver
from vectrick.solvers.solution import INTERRUPTED
from vectrick.training.fitted import Machine, Trainable


def hold_out_some(model: Trainable, edges: Edges, labels: Array, rows: Array | None) -> tuple[Array, Array]:
    """Return masks of the training and the validation edges; a mask ``rows`` limits both to its edges."""
    rng = np.random.default_rng(check_random_state(model.random_state).randint(2**31 - 1))
    usable, known = (edges, labels) if rows is None else (edges[rows], labels[rows])
    try:
        masks = hold_out_labeled(usable, known, model.validation_fraction, itertools.repeat(rng))
    except TooFewLabelsError as error:
        raise ValueError(
            f"validation_fraction is {model.validation_fraction}, but it leaves {error.n_edges} edges with "
            f"{error.n_labels} different labels in the {error.part} part; choose another fraction or "
            "random_state, or give validation=(X, y)"
        ) from None
    if rows is None:
        return masks
    parts = zeros(len(edges), rows), zeros(len(edges), rows)
    for part, mask in zip(parts, masks, strict=True):
        part[true_places(rows)[mask]] = True
    return parts


def vertices_only_in(held: Edges, trained: Edges) -> dict[str, list[Any]]:
    """Return the vertices that occur in held-out edges only: ids, or positions in the tables."""
    found = {}
    for side, table in (("start", held.start_table), ("end", held.end_table)):
        parts = [to_host(getattr(edges, each)) for edges in (held, trained) for each in (side, "start", "end")]
        own, known = parts[0], np.concatenate(parts[4:]) if held.is_one_set else parts[3]
        rows = np.setdiff1d(own, known)
        found[side] = (rows if table.ids is None else np.asarray(table.ids)[rows]).tolist()
    return found


_OF_FIRST = (
    "history_",
    "n_iter_",
    "validation_vertices_",
    "_fitted_parameters",
)  # attributes of the fit with held-out vertices


def with_iterations(estimator: Machine, alpha: float, iteration: int) -> Any:
    """Return an estimator that runs the same solver for a fixed number of iterations."""
    fixed = clone(estimator)
    if KernelSpec.of(estimator).two_step is not None:  # it has no iterations
        return fixed.set_params(alpha=alpha)
    solver = estimator.solver
    if solver == "auto":
        solver = iterative_solver(estimator._loss_type).name
    return fixed.set_params(alpha=alpha, max_iter=max(1, iteration), solver=solver, early_stopping=False)


def train_on_all(model: Machine, fit: Callable[[Any], Any]) -> None:
    """Train an early-stopped model again on all edges, for the same number of iterations; its history stays.

    ``fit`` trains an estimator on all edges.
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
