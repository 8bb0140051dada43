"""Uncertainty of fitted models: standard deviations and samples of ridge regression, and the novelty of edges."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from vectrick._typing import Array, Frame, RandomState, Table
from vectrick.backends import HOST
from vectrick.backends.arrays import like, to_host
from vectrick.data import Edges, EdgesLike, Graph, join_edges
from vectrick.data.censored import split_bounds
from vectrick.inference.posterior import FeaturePosterior, RidgeEdges, posterior, share_of
from vectrick.losses import Squared
from vectrick.models.edge_kernel import EdgeKernel
from vectrick.models.kernel_spec import KernelSpec
from vectrick.models.vertex_kernel import VertexKernel
from vectrick.objectives.degree_model import NoDegreeModelError
from vectrick.training.fitted import Fitted, Machine
from vectrick.training.parameters import has_intercept
from vectrick.training.update import source_of
from vectrick.training.validate import as_edges

N_SAMPLES = 64  # samples that estimate variances if exact ones take too long
_KEPT = 4  # cached posteriors of a model, with different samples
_MOST_PARTS = 2  # members of an ensemble whose standard deviations scale errors
MOST_COVARIANCES = 4000  # edges whose covariances are computed


class FittedPosterior:
    """The posterior of a ridge regression: a Gaussian process whose mean is the prediction.

    For an ensemble of ridge regressions, such as an `AutoKron`, standard deviations are the weighted sums of the
    members' standard deviations. This is an upper bound. It is exact if the errors of the members are fully correlated.

    The noise of a label is ``alpha`` relative to the kernel, as the fit assumes; the scale of both is estimated from
    the residuals of the training edges.

    Attributes
    ----------
    method : str
        A description: whether variances are exact or estimated from samples.
    scale : float
        The estimated scale σ²: the prior variance of an edge (d, t) is ``σ² k(d, d) g(t, t)``, and the variance of
        the noise of a label ``σ² alpha``.
    """

    def __init__(
        self, model: Fitted, n_samples: int, seed: int, rows: Array | None = None, most: int | None = None
    ) -> None:
        check_has_variance(model)
        self._model, self._parts = model, []
        for weight, part in sorted(model._parts, key=lambda both: -abs(both[0]))[:most]:
            trained, labels = trained_edges(part, model)
            scale = _scale(part, trained, labels)
            trained = trained if rows is None else _on_rows(model, trained, rows)
            found = _checked(partial(posterior, trained, n_samples, seed))
            self._parts.append((abs(weight), found, scale))
        methods = list(dict.fromkeys(found.method for _, found, _ in self._parts))
        self.method: str = "; ".join(methods)
        if len(self._parts) > 1:
            self.method = f"an upper bound for an ensemble of {len(self._parts)} models; {self.method}"
        self.scale = float(np.mean([scale for _, _, scale in self._parts]))

    def std(self, X: EdgesLike) -> Array:
        """Return the standard deviation of the function at edges, without the noise of labels."""
        return self._std(X, noise=False)[0]

    def label_std(self, X: EdgesLike) -> Array:
        """Return the standard deviation of the labels of edges: function and noise."""
        return self._std(X, noise=True)[0]

    def std_error(self, X: EdgesLike) -> Array:
        """Return the standard errors of the standard deviations; zero if these are exact."""
        return self._std(X, noise=False)[1]

    def _std(self, X: EdgesLike, noise: bool) -> tuple[Array, Array]:
        edges = on_host(self._model, X)
        total, total_error = np.zeros(len(edges)), np.zeros(len(edges))
        for weight, found, scale in self._parts:
            variance, error = found.variance(edges)
            variance = variance + noise * found.trained.alpha
            total += weight * np.sqrt(scale * variance)
            total_error += 0.5 * weight * np.sqrt(scale) * error / np.sqrt(np.maximum(variance, 1e-300))
        return total, total_error

    def covariance(self, X: EdgesLike) -> Array:
        """Return the covariances of the function between edges."""
        if len(self._parts) > 1:
            raise ValueError(
                f"the model is an ensemble of {len(self._parts)} models: it has standard deviations, but no covariances"
            )
        return self.scale * self._covariance(on_host(self._model, X))

    def relative_covariance(self, *X: Any) -> Array:
        """Return the covariances between the edges of all arguments, divided by the scale."""
        return self._covariance(reduce(join_edges, (on_host(self._model, some) for some in X)))

    def _covariance(self, edges: Edges) -> Array:
        if len(edges) > MOST_COVARIANCES:
            raise ValueError(
                f"X has {len(edges)} edges, but covariances are for at most {MOST_COVARIANCES}; standard deviations "
                "are for any number"
            )
        covariance: Array = self._parts[0][1].covariance(edges)
        return covariance

    def __repr__(self) -> str:
        return f"<posterior of a ridge regression: {self.method}; scale {self.scale:.3g}>"


def check_has_variance(model: Fitted) -> None:
    """Raise an error if a model has no posterior variance."""
    if model._machines:
        raise ValueError(
            f"the model has {len(model._machines)} labels for each edge, but a posterior requires one label; fit a "
            "model to each"
        )
    for _, part in model._parts:
        if part._loss_type is not Squared:
            raise ValueError(
                f"{type(part).__name__} with loss {part._loss_type.name!r} has no posterior variance; use ridge "
                "regression (KronRidge). model.novelty(X) shows how far edges are from the training data for every "
                "loss"
            )
    if hasattr(model, "classes_"):
        raise ValueError(
            f"{type(model).__name__} was trained with classes, but a posterior requires values; predict_proba returns "
            "probabilities, and model.novelty(X) shows how far edges are from the training data"
        )


def trained_edges(model: Machine, owner: Fitted | None = None) -> tuple[RidgeEdges, Array]:
    """Return the training edges of a model, for the posterior of ridge regression, and their labels.

    The owner is the model that keeps the edges: the ensemble that the model is a part of, or the model itself.
    """
    predictor = model.predictor_.on(HOST)
    kernel = predictor.kernel
    if not kernel.is_product or kernel.is_two_step:
        raise ValueError(f"the kernel of edges is {kernel.words}, but a posterior requires 'kronecker'")
    edges, source = source_of(model if owner is None else owner)
    start, end = numbers_of(kernel.start)[edges.start], numbers_of(kernel.end)[edges.end]
    weight = None if source.weight is None else np.asarray(to_host(source.weight), np.float64)
    # Held-out edges have vertices without training edges, and edges of weight zero do not count.
    kept = (start >= 0) & (end >= 0)
    kept &= True if weight is None else weight > 0
    graph = Graph(start[kept], end[kept], kernel.start.used, kernel.end.used)
    constant = has_intercept(model, KernelSpec.of(model), model._loss_type)
    how: dict[str, Any] = {"factor_tol": model.factor_tol, "n_threads": model.n_threads}
    weight = None if weight is None else weight[kept]
    labels = split_bounds(np.asarray(to_host(source.labels)))[0][kept]
    return RidgeEdges(kernel, graph, weight, float(model.alpha), constant, **how), labels


def _on_rows(owner: Fitted, trained: RidgeEdges, rows: Array) -> RidgeEdges:
    """Return the same ridge regression on some of the edges that were given to its fit."""
    edges, source = source_of(owner)
    weight = None if source.weight is None else np.asarray(to_host(source.weight), np.float64)
    rows = rows if weight is None else rows[weight[rows] > 0]
    edges, kernel = edges[rows], trained.kernel
    graph = Graph.of(edges)
    start = VertexKernel(kernel.start.kernel, "start", edges.start_table, graph.used_start, HOST)
    end = VertexKernel(kernel.end.kernel, "end", edges.end_table, graph.used_end, HOST)
    weight = None if weight is None else weight[rows]
    return replace(trained, kernel=EdgeKernel.product(start, end), graph=graph, weight=weight)


def numbers_of(side: VertexKernel) -> Array:
    """Return the number of each vertex of the table among the training vertices, -1 for others."""
    number = np.full(len(side.known), -1)
    number[np.asarray(to_host(side.used))] = np.arange(len(side.used))
    return number


def scale_of(part: Machine, owner: Fitted) -> float:
    """Return the scale of a ridge regression that is a part of a model."""
    return _scale(part, *trained_edges(part, owner))


def _scale(model: Fitted, trained: RidgeEdges, labels: Array) -> float:
    """Return the most likely scale: ``Σ h (y - b) (y - f - b) / (α n)``."""
    graph, predictor = trained.graph, model.predictor_.on(HOST)
    vertices = trained.kernel.start.used[graph.start], trained.kernel.end.used[graph.end]
    f = predictor.predict(Edges._of(*vertices, trained.kernel.start.known, trained.kernel.end.known))
    y = labels.astype(np.float64) - model.intercept_
    h = 1.0 if trained.weight is None else trained.weight
    total = float((h * y * (y - f)).sum())
    return max(total, 0.0) / (trained.alpha * max(1, len(y) - trained.has_intercept))


def on_host(model: Fitted, X: EdgesLike) -> Edges:
    """Return edges on the host, with table columns in the order of the model."""
    edges: Edges = model.predictor_.aligned(as_edges(model, X, reset=False)).on(HOST)
    return edges


def _checked(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except NoDegreeModelError as error:
        raise ValueError(f"the model has no posterior: {error}") from error


def posterior_of(model: Fitted, n_samples: int, random_state: RandomState) -> FittedPosterior:
    """Return the posterior of a fitted model; the last few are kept until the model changes."""
    if isinstance(n_samples, bool) or not isinstance(n_samples, int | np.integer) or n_samples < 2:
        raise ValueError(f"n_samples is {n_samples!r}, but it must be an integer of at least 2")
    key = int(n_samples), _seed_of(model, random_state)
    kept: dict[tuple[int, int], FittedPosterior] = cached_with_fit(model, "posteriors", dict)
    if key not in kept:
        found = FittedPosterior(model, *key)
        if len(kept) >= _KEPT:
            kept.pop(next(iter(kept)))
        kept[key] = found
    return kept[key]


def _seed_of(model: Fitted, random_state: RandomState) -> int:
    """Return the seed of samples; a generator draws it once, so that all predictions use the same posterior."""
    if not isinstance(random_state, np.random.RandomState):
        return int(check_random_state(0 if random_state is None else random_state).randint(2**31 - 1))
    drawn: dict[str, Any] = cached_with_fit(model, "seed", dict)
    if drawn.get("by") is not random_state:
        drawn |= {"by": random_state, "seed": int(random_state.randint(2**31 - 1))}
    return int(drawn["seed"])


def cached_with_fit(model: Fitted, key: str | tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """Return a value that is cached with a fit, created at its first use; a new fit starts an empty cache."""
    kept: Any = model.__dict__.get("_posterior")
    if kept is None or kept[0] is not model.predictor_:
        kept = model.__dict__["_posterior"] = (model.predictor_, {})
    if key not in kept[1]:
        kept[1][key] = make()
    return kept[1][key]


def with_uncertainty(
    model: Fitted, X: EdgesLike, mean: Array, return_std: bool, return_cov: bool, n_samples: int
) -> tuple[Array, Array]:
    """Return predictions with their standard deviations, or with their covariances."""
    if return_std and return_cov:
        raise ValueError("return_std and return_cov are both true, but only one of them can be returned; set only one")
    found = posterior_of(model, n_samples, model.random_state)
    spread = found.covariance(X) if return_cov else found.std(X)
    return mean, like(spread, mean)


def grid_std(model: Fitted, mean: Array, start_features: Table, end_features: Table, n_samples: int) -> Array:
    """Return the standard deviations of a grid of predictions."""
    _, start, end, _ = model._tables(start_features, end_features)
    rows, cols = (np.arange(len(table), dtype=np.int32) for table in (start, end))
    grid = Edges._of(np.repeat(rows, len(cols)), np.tile(cols, len(rows)), start, end)
    return like(posterior_of(model, n_samples, model.random_state).std(grid).reshape(mean.shape), mean)


def samples_of(model: Fitted, X: EdgesLike, mean: Array, n: int, random_state: RandomState) -> Array:
    """Return the values at edges of functions drawn from the posterior, one row per function."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ValueError(f"n is {n!r}, but it must be a positive integer")
    covariance = posterior_of(model, N_SAMPLES, model.random_state).covariance(X)
    values, vectors = np.linalg.eigh(covariance)
    noise = check_random_state(random_state).standard_normal((n, len(values)))
    drawn = (noise * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return mean + like(drawn, mean)


def novelty_of(model: Fitted, X: EdgesLike, parts: bool, rows: Array | None = None) -> "Array | Frame":
    """Return the share of the prior variance that the training edges leave unexplained, or a frame with its parts.

    With ``rows``, the model counts as trained on these edges only, with the same kernels and alphas.
    """
    import pandas as pd

    edges = on_host(model, X)
    if rows is None:
        found = cached_with_fit(model, "novelty", lambda: _degree_models(model, None))
    else:
        found = _degree_models(model, rows)
    total = sum(share * share_of(one.variance(edges)[0], one.prior(edges)) for share, one in found)
    if not parts:
        return total
    graph, columns = Graph.of(edges), {"novelty": total}
    for side, table, used, places in (
        ("start", edges.start_table, graph.used_start, graph.start),
        ("end", edges.end_table, graph.used_end, graph.end),
    ):
        columns[side] = sum(share * one.side_shares(table, used, side) for share, one in found)[places]
    return pd.DataFrame(columns)


def _degree_models(model: Fitted, rows: Array | None) -> list[tuple[float, FeaturePosterior]]:
    """Return the posteriors of the parts of a model by the degree model, and their shares.

    The prior variance is the variance of the kernel, since an intercept has none.
    """
    wholes: list[Fitted] = [*model._machines] or [model]
    parts = [(weight, part) for whole in wholes for weight, part in whole._parts]
    total = sum(abs(weight) for weight, _ in parts) or 1.0
    found = []
    for weight, part in parts:
        trained = replace(trained_edges(part, model)[0], has_intercept=False)
        trained = trained if rows is None else _on_rows(model, trained, rows)
        found.append((abs(weight) / total, _checked(partial(FeaturePosterior, trained, 0))))
    return found


def label_scale(model: Fitted, X: EdgesLike, rows: Array | None = None) -> Array | None:
    """Return the relative sizes of errors to expect at edges: the standard deviations of their labels.

    They are computed for ridge regression with the kernels and alphas of the model (for an ensemble, its members of
    largest weight), by the degree model and without a solve. With ``rows``, the model counts as trained on these edges
    only. None if there is no posterior: several labels, classes, other losses or pairwise kernels, no edges kept.
    """
    try:
        if rows is not None:
            return _positive(FittedPosterior(model, 0, 0, rows, _MOST_PARTS).label_std(X))
        found: FittedPosterior = cached_with_fit(
            model, "scale", lambda: FittedPosterior(model, 0, 0, None, _MOST_PARTS)
        )
    except ValueError:
        return None
    return _positive(found.label_std(X))


def _positive(scale: Array) -> Array:
    """Return positive sizes of errors to divide by; all ones if all sizes are zero."""
    largest = float(scale.max(initial=0.0))
    return np.maximum(scale, 1e-9 * largest) if largest > 0 else np.ones(len(scale))
