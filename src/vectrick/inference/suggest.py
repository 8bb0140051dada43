"""Active learning: suggest a batch of edges to label next, from a list of edges or from a grid."""

from dataclasses import replace
from typing import Any, get_args

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from vectrick._progress import Progress
from vectrick._typing import Array, Frame, RandomState, SuggestBy
from vectrick.backends.arrays import to_host
from vectrick.data import Edges, EdgesLike, join_edges
from vectrick.inference.covariances import Columns
from vectrick.inference.pool import ACTIVE, BatchLimits, Pool, Rule
from vectrick.inference.posterior import DensePosterior, FeaturePosterior, Posterior, RidgeEdges
from vectrick.inference.recommend import names_of
from vectrick.inference.uncertainty import check_has_variance, on_host, scale_of, trained_edges
from vectrick.objectives.degree_model import NoDegreeModelError
from vectrick.training.fitted import Fitted
from vectrick.training.update import source_of

_MOST_EXACT = 4000  # training edges whose covariances are computed
BY = get_args(SuggestBy)
_AIMS, _TRIED = 256, 1 << 13  # sampled edges: to represent the pool, and to choose from a large pool
_AT_ONCE = 64  # columns of covariances
_DENSE = 2e10  # multiplications that exact variances of a pool may take
_DRAWS = 32  # largest number of drawn functions


def suggest(
    model: Fitted,
    X_pool: EdgesLike | None = None,
    n: int = 384,
    by: SuggestBy = "variance",
    *,
    X_aim: EdgesLike | None = None,
    per_start: int | None = None,
    per_end: int | None = None,
    random_state: RandomState = None,
) -> Frame:
    """Return the most informative edges to label next, as a batch that is chosen jointly.

    The individually best edges would be too similar. Here each edge is chosen as if the edges before it were already
    measured, by the posterior covariances of ridge regression with the kernels and the alpha of the model. These need
    no labels. They are exact for small training sets, and computed by the degree model of the graph otherwise.

    Parameters
    ----------
    model : estimator
        A fitted model that has kept its training edges. "improvement" and "thompson" require a ridge regression, or an
        ensemble of ridge regressions. An ensemble has the covariances of its member with the largest weight.
    X_pool : Edges, pair of tables, or None
        The edges to choose from. A pair of tables, ``(starts, ends)``, means the pairs of their vertices, and None the
        pairs of all vertices of the model; both exclude the training edges. The grid is never formed.
    n : int
        The number of edges to choose.
    by : str
        - "variance": edges whose labels reduce the posterior variance of the pool, or of ``X_aim``, the most;
        - "diverse": edges with the largest unexplained share of prior variance: unlike known edges and each other;
        - "improvement": edges with the largest expected improvement over the best prediction so far;
        - "thompson": edges with the largest values of functions drawn from the posterior (Thompson sampling).
    X_aim : Edges, optional
        With "variance", the edges whose predictions should become more certain, such as edges of new vertices; by
        default the pool. Their labels are not needed.
    per_start, per_end : int, optional
        The largest number of edges with the same start or end vertex, such as a row or column of a plate.
    random_state : int, optional
        The seed of "thompson", and of the edges that represent a large pool with "variance".

    Returns
    -------
    pandas.DataFrame
        "rank", "start", "end", the prediction "score" of the model, "std" (the posterior standard deviation before any
        of the edges is measured; NaN for classes) and "gain", the value of the selection criterion, given the edges
        before it. For a list of edges, "row" is the position in it.

    Examples
    --------
    >>> import vectrick as vt
    >>> X, y = vt.datasets.make_checkerboard(60, random_state=0)
    >>> model = vt.KronRidge(vt.Gaussian(gamma=1.0), vt.Gaussian(gamma=1.0)).fit(X[:500], y[:500])
    >>> plate = vt.suggest(model, X[500:], n=8, per_start=2)
    >>> plate[["rank", "start", "end"]].shape, bool(plate["start"].value_counts().max() <= 2)
    ((8, 3), True)
    """
    _check(model, n, by, per_start, per_end)
    if X_aim is not None and by != "variance":
        raise ValueError(f"X_aim is given, but by is {by!r}; X_aim requires by='variance'")
    if by in ("improvement", "thompson"):
        check_has_variance(model)
    _, part = max(model._parts, key=lambda both: abs(both[0]))
    trained = trained_edges(part, model)[0]
    aims = None if X_aim is None else on_host(model, X_aim)
    if aims is not None and not len(aims):
        raise ValueError("X_aim is empty, but it must have the edges whose predictions should become more certain")
    pool = Pool(model, X_pool, trained.kernel)
    if pool.n_edges < n:
        what = "is empty" if not pool.n_edges else f"has {pool.n_edges} edges to choose from"
        known = "" if pool.edges is not None else "; the edges that the model was trained on are left out"
        raise ValueError(f"X_pool {what}, but n is {n}{known}")
    seed = int(check_random_state(0 if random_state is None else random_state).randint(2**31 - 1))
    n_train = len(trained.graph.start)
    exact = by != "thompson" and n_train**2 * pool.n_edges <= _DENSE and n_train <= _MOST_EXACT
    whole = _posterior(trained, exact)
    # An intercept has no prior variance.
    found = _posterior(replace(trained, has_intercept=False), exact) if by == "diverse" else whole
    scale = 1.0 if hasattr(model, "classes_") else scale_of(part, model)
    best = _best_so_far(model) if by == "improvement" else 0.0
    rng = np.random.default_rng(seed)
    rule = Rule(by, scale, best, rng)
    edges, rows, first, mean = pool.candidates(found, rule)
    limits = BatchLimits(edges, per_start, per_end)
    if by == "variance":
        chosen, gains = _reducing(found, edges, aims, scale, n, limits, rng)
    elif by == "thompson":
        assert isinstance(found, FeaturePosterior)
        chosen, gains = _drawn(found, edges, mean, scale, n, limits, seed)
    else:
        chosen, gains = _greedy(found, edges, rule, mean, first, n, limits)
    if len(chosen) < n:
        raise ValueError(
            f"only {len(chosen)} of n = {n} edges can be chosen with per_start={per_start} and per_end={per_end}"
        )
    if not exact and n_train <= _MOST_EXACT:  # for few edges, the exact variance takes little time
        variance = DensePosterior(trained).variance(edges[chosen])[0]
    else:
        variance = first[chosen] if found is whole else whole.variance(edges[chosen])[0]
    spread = np.sqrt(scale * np.maximum(variance, 0.0)) if not hasattr(model, "classes_") else np.nan
    return _frame(edges[chosen], rows[chosen] if rows is not None else None, mean[chosen], spread, gains)


def _check(model: Fitted, n: int, by: SuggestBy, per_start: int | None, per_end: int | None) -> None:
    """Raise an error for invalid arguments, before any work is done."""
    if not hasattr(type(model), "predict_without"):  # the methods of `FittedModel`
        raise TypeError(
            f"model is {model!r}, but it must be a fitted estimator of vectrick, such as vt.KronRidge(); for a "
            "vt.ConformalKron or vt.Calibrated, pass its model_"
        )
    check_is_fitted(model)
    if by not in BY:
        raise ValueError(f"by is {by!r}, but it must be one of {', '.join(map(repr, BY))}")
    for name, value in (("n", n), ("per_start", per_start), ("per_end", per_end)):
        if value is None and name != "n":
            continue
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name} is {value!r}, but it must be a positive integer")
    if model._machines:
        raise ValueError(model._why_one_machine())


def _posterior(trained: RidgeEdges, exact: bool) -> Posterior:
    try:
        return DensePosterior(trained) if exact else FeaturePosterior(trained, 0)
    except NoDegreeModelError as error:
        raise ValueError(f"the model has no posterior: {error}") from error


def _best_so_far(model: Fitted) -> float:
    """Return the largest prediction for a training edge, the baseline of an improvement."""
    return float(to_host(model._decide(source_of(model)[0])).max())


def _greedy(
    found: Posterior, edges: Edges, rule: Rule, mean: Array, variance: Array, n: int, limits: BatchLimits
) -> tuple[Array, Array]:
    """Return the edges of a batch and their gains, each chosen given the edges before it.

    Gains only fall when other edges are chosen. So only the covariances of the most promising edges are updated, and
    others are added when they could be next. The result is the same as with updates of all covariances.
    """
    prior, allowed = found.prior(edges), np.ones(len(edges), bool)
    progress = Progress("suggest", n, 0)
    first = rule.gain(variance, prior, mean)
    order = np.argsort(-first, kind="stable")
    active = _Active(found, edges, variance)
    active.add(order[: max(ACTIVE, 16 * n)])
    chosen: list[int] = []
    gains: list[float] = []
    while len(chosen) < n:
        places = active.places
        now = np.where(allowed[places], rule.gain(active.variance, prior[places], mean[places]), -np.inf)
        at = int(np.argmax(now))
        waiting = order[len(places) :]
        waiting = waiting[allowed[waiting]]
        if len(waiting) and now[at] < first[waiting[0]]:
            active.add(order[len(places) : 3 * len(places)])
            continue
        if not np.isfinite(now[at]):
            break
        chosen.append(int(places[at]))
        gains.append(float(now[at]))
        active.take(at)
        allowed[chosen[-1]] = False
        for over in limits.take(chosen[-1]):
            allowed &= ~over
        progress.step()
    return np.array(chosen, np.int64), np.array(gains)


class _Active:
    """Edges with their variances given the chosen edges."""

    def __init__(self, found: Posterior, edges: Edges, variance: Array) -> None:
        self._found, self._edges, self._first = found, edges, variance
        self.places = np.zeros(0, np.int64)
        self._chosen: list[int] = []

    def add(self, places: Array) -> None:
        """Add more edges, and recompute the variances given the chosen edges."""
        again, self._chosen = self._chosen, []
        self.places = np.concatenate([self.places, places])
        self.variance = self._first[self.places].copy()
        self.columns: Columns = self._found.columns(self._edges[self.places])
        self._factors = np.zeros((len(self.places), max(64, 2 * len(again))))
        for at in again:
            self.take(at)

    def take(self, at: int) -> Array:
        """Condition on the label of an edge with noise variance alpha; return roots of the decreases in variance."""
        n = len(self._chosen)
        if n == self._factors.shape[1]:
            self._factors = np.hstack([self._factors, np.zeros_like(self._factors)])
        column = self.columns.block(np.array([at]))[:, 0] - self._factors[:, :n] @ self._factors[at, :n]
        own = max(float(self.variance[at]), 0.0) + self._found.trained.alpha
        column /= own**0.5
        self.variance = np.maximum(self.variance - column * column, 0.0)
        self._factors[:, n] = column
        self._chosen.append(at)
        return column


def _reducing(
    found: Posterior,
    edges: Edges,
    aims: Edges | None,
    scale: float,
    n: int,
    limits: BatchLimits,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Return the edges whose labels reduce the variance of the pool, or of aims, most, each given the edges before it.

    The mean of variances is over a sample of edges, and a large pool is sampled for edges to choose (Cohn 1996).
    """
    order = limits.spread(rng.permutation(len(edges)))
    tried = np.sort(order[: max(_TRIED, 8 * n)])
    aims = edges if aims is None else aims
    aims = aims[rng.permutation(len(aims))[:_AIMS]]
    both = join_edges(edges[tried], aims)
    followed = _Active(found, both, found.variance(both)[0])
    followed.add(np.arange(len(both)))
    progress = Progress("suggest", -(-len(aims) // _AT_ONCE) + n, 0)
    cross = np.empty((len(aims), len(tried)))
    for low in range(0, len(aims), _AT_ONCE):
        some = np.arange(low, min(low + _AT_ONCE, len(aims)))
        cross[some] = followed.columns.block(len(tried) + some)[: len(tried)].T
        progress.step()
    allowed, squares = np.ones(len(tried), bool), (cross**2).sum(0)
    chosen: list[int] = []
    gains: list[float] = []
    while len(chosen) < n and allowed.any():
        own = followed.variance[: len(tried)] + found.trained.alpha
        at = int(np.argmax(np.where(allowed, squares / own, -np.inf)))
        chosen.append(int(tried[at]))
        gains.append(scale * float(squares[at] / own[at]) / len(aims))
        change = followed.take(at)
        of_tried, of_aims = change[: len(tried)], change[len(tried) :]
        squares += of_tried * (of_tried * float(of_aims @ of_aims) - 2.0 * (of_aims @ cross))
        cross -= of_aims[:, None] * of_tried
        allowed[at] = False
        for over in limits.take(chosen[-1]):
            allowed &= ~over[tried]
        progress.step()
    return np.array(chosen, np.int64), np.array(gains)


def _drawn(
    found: FeaturePosterior, edges: Edges, mean: Array, scale: float, n: int, limits: BatchLimits, seed: int
) -> tuple[Array, Array]:
    """Return the best edges of functions drawn from the posterior, one function after the other."""
    n_draws = min(n, _DRAWS)
    values = mean[:, None] + scale**0.5 * found.draws(edges, n_draws, seed)
    allowed = np.ones(len(edges), bool)
    chosen: list[int] = []
    gains: list[float] = []
    while len(chosen) < n:
        column = np.where(allowed, values[:, len(chosen) % n_draws], -np.inf)
        at = int(np.argmax(column))
        if not allowed[at]:
            break
        chosen.append(at)
        gains.append(float(column[at]))
        allowed[at] = False
        for over in limits.take(at):
            allowed &= ~over
    return np.array(chosen, np.int64), np.array(gains)


def _frame(edges: Edges, rows: Array | None, mean: Array, spread: Any, gains: Array) -> Frame:
    import pandas as pd

    columns: dict[str, Any] = {"rank": np.arange(1, len(edges) + 1)}
    if rows is not None:
        columns["row"] = rows
    for side in ("start", "end"):
        columns[side] = names_of(getattr(edges, f"{side}_table"))[getattr(edges, side)]
    return pd.DataFrame({**columns, "score": mean, "std": spread, "gain": gains})
