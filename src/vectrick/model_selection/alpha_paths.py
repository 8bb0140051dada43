"""Scores and models over a grid of alpha and over iterations, for about the cost of one fit."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from vectrick._html import html_block, html_line, html_note, html_table
from vectrick._typing import Array, ArrayLike, Frame, New
from vectrick.data import Edges, EdgesLike, VertexTable
from vectrick.data.lake.scan import ScannedEdges
from vectrick.data.source import is_lake
from vectrick.estimators import KronEstimator, PathStep, as_edges, fit_along
from vectrick.model_selection.splitting.folds import check_new
from vectrick.solvers import Solver

_BEST = 5  # alphas that a notebook lists
_SHOWN = 3  # vertices named in an error


@dataclass(frozen=True)
class AlphaPath:
    """The result of `alpha_path`.

    Attributes
    ----------
    alphas : array
        The grid.
    steps : list of PathStep
        For each alpha, the scored iterations, their ``scores`` and ``risks``, and the ``model`` of the best one.
    """

    alphas: Array
    steps: list[PathStep]

    @property
    def models(self) -> list[Any]:
        """For each alpha the fitted model of its best iteration."""
        return [step.model for step in self.steps]

    @property
    def scores(self) -> Array:
        """For each alpha the highest score over the iterations."""
        return np.array([step.best_score for step in self.steps])

    @property
    def best(self) -> PathStep:
        """The step with the highest score; a tie goes to the largest alpha."""
        return self.steps[len(self.steps) - 1 - int(np.argmax(self.scores[::-1]))]

    @property
    def best_model(self) -> Any:
        """The model with the highest score."""
        return self.best.model

    def frame(self) -> Frame:
        """Return a pandas frame with a row for each alpha and iteration: its score and its risk."""
        import pandas as pd

        columns = ("alpha", "iteration", "score", "risk")
        parts = [
            (np.full(len(step.scores), step.alpha), step.iterations, step.scores, step.risks) for step in self.steps
        ]
        return pd.DataFrame(
            {name: np.concatenate(column) for name, column in zip(columns, zip(*parts, strict=True), strict=True)}
        )

    def __repr__(self) -> str:
        best = self.best
        return (
            f"<AlphaPath: {len(self.alphas)} alphas from {self.alphas[0]:.3g} to {self.alphas[-1]:.3g}; "
            f"the best score, {best.best_score:.4f}, at alpha {best.alpha:.3g}, iteration {best.best}>"
        )

    def _repr_html_(self) -> str:
        order = sorted(range(len(self.steps)), key=lambda at: -self.scores[at])[:_BEST]
        rows = [
            [float(step.alpha), int(step.best), float(step.best_score)] for step in (self.steps[at] for at in order)
        ]
        at = next(number for number, step in enumerate(self.steps) if step is self.best)
        return html_block(
            repr(self)[1:-1],
            html_line(self.scores.tolist(), at),
            html_note("the best score of each alpha, from the smallest to the largest"),
            html_table(["alpha", "best iteration", "score"], rows),
        )


def alpha_path(
    estimator: KronEstimator,
    X: EdgesLike | ScannedEdges,
    y: ArrayLike | None,
    alphas: Sequence[float] | Array,
    validation: Any = None,
    *,
    new: New = "both",
    iterations: Sequence[int] | str | None = None,
    warm_start: bool = True,
    solver: str | Solver | None = None,
    **parameters: Any,
) -> AlphaPath:
    """Fit an estimator for every alpha of a grid, and score the iterations of each on validation edges.

    With a quadratic loss (`KronRidge`, `KronRanker`), one Krylov basis of ``max_iter`` vectors (100 if it is None)
    gives every iterate of ``solver="cg"`` or "minres" for every alpha. This costs the products of one fit, plus O(n k)
    for each alpha. Other losses are fitted from the largest alpha to the smallest. Each fit starts from the
    previous model, and stops as with ``early_stopping``.

    Parameters
    ----------
    estimator : KronRidge, KronSVM, KronLogistic or KronRanker
        The estimator to fit; it is not changed. Its ``scoring`` defines the score.
    X, y : Edges or array, array
        The training edges and their labels; or a lake (`vt.scan_edges`) and None. A lake is read once, ``validation``
        is another lake (from ``X.split()``), and each fit starts from the model of the next larger alpha.
    alphas : sequence or array of float
        The grid, positive and increasing.
    validation : (X, y), optional
        Edges and labels to score on. By default ``validation_fraction`` of the vertices is held out.
    new : str
        Which vertices of the validation edges must not occur in the training edges: "both", "start", "end" or
        "neither". Vertices are compared by their rows in a shared table, else by ids, and in plain arrays by their
        features. Separate tables without ids cannot be compared.
    iterations : sequence of int or "all", optional
        With a quadratic loss, the iterations to score; by default nine, at increasing distances. Predictions are
        cheap, but each score takes a sort.
    warm_start : bool
        Whether other losses start from the model of the previous alpha.
    solver : str or Solver, optional
        The solver, instead of the estimator's. "one-pass" reads the edges of a `KronRidge` once, and every alpha has a
        closed form; see `KronRidge` for its limits.
    **parameters
        Other parameters of the estimator to change, such as ``spectral_filter="cut-off"``, or ``refine=3`` for
        three preconditioned iterations after the pass for each alpha.

    Returns
    -------
    AlphaPath
        ``best_model``, ``models``, ``scores``, and all scores as ``frame()``.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> X, y = vt.datasets.make_checkerboard(200, random_state=0)
    >>> ridge = vt.KronRidge(vt.Gaussian(gamma=1.0), vt.Gaussian(gamma=1.0), random_state=0)
    >>> path = vt.alpha_path(ridge, X, y, 2.0 ** np.arange(-20, 21))
    >>> len(path.models), path.best_model.alpha == path.best.alpha
    (41, True)
    """
    if not isinstance(estimator, KronEstimator):
        raise TypeError(
            f"estimator is of type {type(estimator).__name__}, but it must be one of vectrick's, such as vt.KronRidge()"
        )
    if solver is not None:
        parameters["solver"] = solver
    estimator = clone(estimator).set_params(**parameters)
    grid = check_alphas(alphas)
    check_new(new)
    check_iterations(iterations)
    if validation is None and new != "both":
        raise ValueError(f"new is {new!r}, but without validation both vertices are held out; give validation=(X, y)")
    if is_lake(X) and (y is not None or not (validation is None or is_lake(validation))):
        raise ValueError("X is a lake and contains its labels: y must be None, and validation a lake or None")
    if validation is not None and not is_lake(X):
        if not (isinstance(validation, tuple | list) and len(validation) == 2):
            raise ValueError(f"validation is of type {type(validation).__name__}, but it must be a pair (X, y)")
        check_new_vertices(estimator, X, validation[0], new)
    return AlphaPath(
        grid, fit_along(estimator, X, y, grid.tolist(), validation, iterations=iterations, warm_start=warm_start)
    )


def check_alphas(alphas: ArrayLike, name: str = "alphas") -> Array:
    """Return a grid as positive numbers in increasing order, or raise an error."""
    try:
        grid = np.asarray(alphas, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {alphas!r}, but it must be a list of positive numbers") from None
    if grid.ndim != 1 or not len(grid):
        raise ValueError(f"{name} has shape {grid.shape}, but it must be a list of at least one positive number")
    for at, alpha in enumerate(grid):
        if not 0 < alpha < np.inf:
            raise ValueError(f"{name}[{at}] is {alpha}, but it must be a positive number")
        if at and alpha <= grid[at - 1]:
            raise ValueError(f"{name}[{at}] is {alpha} after {grid[at - 1]}, but {name} must be in increasing order")
    return grid


def check_iterations(iterations: Any) -> None:
    """Raise an error unless ``iterations`` is None, "all" or a list of increasing positive integers."""
    if iterations is None or (isinstance(iterations, str) and iterations == "all"):
        return
    wrong = isinstance(iterations, str) or not hasattr(iterations, "__len__") or not len(iterations)
    before = 0
    for k in [] if wrong else iterations:
        wrong = wrong or isinstance(k, bool) or not isinstance(k, Integral) or k <= before
        before = int(k) if not wrong else 0
    if wrong:
        raise ValueError(f"iterations is {iterations!r}, but it must be 'all' or positive integers in increasing order")


def check_new_vertices(estimator: KronEstimator, train: Any, validation: Any, new: New) -> None:
    """Raise an error if validation edges have a training vertex on a side that must be new.

    Two vertices are the same if they share a row of one table or an id; in plain arrays, if they share the features.
    """
    plain = not isinstance(train, Edges) and not isinstance(validation, Edges)
    both = [as_edges(clone(estimator), X, reset=True) for X in (train, validation)]
    one_set = both[0].is_one_set and both[1].is_one_set
    for side in ("start", "end"):
        if new not in ("both", side):
            continue
        tables: list[VertexTable] = [getattr(edges, f"{side}_table") for edges in both]
        rows = [getattr(edges, side) for edges in both]
        if one_set:
            rows[0] = np.concatenate([both[0].start, both[0].end])
        names = _names(tables, rows, plain)
        if names is None:
            continue
        shared = names[1].keys() & names[0].keys()
        if shared:
            shown = [tables[1].label(row) for row in sorted(names[1][vertex] for vertex in shared)[:_SHOWN]]
            more = ", …" if len(shared) > _SHOWN else ""
            raise ValueError(
                f"validation has {len(shared)} {side} vertices that also train: {', '.join(shown)}{more}; they must be "
                f"new (use vt.vertex_split), unless new={_without(new, side)!r}"
            )


def _names(tables: list[VertexTable], rows: list[Array], plain: bool) -> list[dict[Any, int]] | None:
    """Return keys that identify the vertices of two tables, with their rows; None if there are no such keys."""
    used = [np.unique(vertices).tolist() for vertices in rows]
    if tables[0] is tables[1]:
        return [{row: row for row in vertices} for vertices in used]
    if plain:
        return [
            {(table.features[row].astype(np.float64) + 0.0).tobytes(): row for row in vertices}
            for table, vertices in zip(tables, used, strict=True)
        ]
    if tables[0].ids is not None and tables[1].ids is not None:
        return [
            {table.ids[row : row + 1].tolist()[0]: row for row in vertices}  # type: ignore[index]
            for table, vertices in zip(tables, used, strict=True)
        ]
    return None


def _without(new: New, side: str) -> str:
    """Return the setting in which that side need not be new."""
    other = "end" if side == "start" else "start"
    return other if new == "both" else "neither"
