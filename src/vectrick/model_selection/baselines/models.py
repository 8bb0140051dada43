"""Baselines for models of edges: linear models, neighbors, LIBSVM and trees on concatenated features, and means.

The features of an edge are the features of its start vertex, followed by the features of its end vertex. The methods
come from scikit-learn; this module adds the concatenation, and the search for one parameter over vertex-disjoint folds.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import SVC, SVR
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from vectrick._typing import Array, ArrayLike, RandomState
from vectrick.backends.arrays import unmasked
from vectrick.backends.threads import count_threads, run_tasks
from vectrick.data import Edges
from vectrick.estimators import as_real_labels
from vectrick.kernels.strings.plain import plain_features
from vectrick.model_selection.scorers import get_scorer
from vectrick.model_selection.splitting.folds import Fold
from vectrick.model_selection.splitting.splitters import VertexKFold
from vectrick.models.limits import check_memory

_QUERIES = 100_000  # edges in a block of neighbor queries


class Baseline(BaseEstimator):
    """A baseline for edges, with two classes of any kind or with real-valued labels.

    ``decision_function`` returns real-valued predictions; ``predict`` returns classes if there are two.
    """

    def fit(self, X: Edges, y: ArrayLike) -> Self:
        """Train on edges."""
        if not isinstance(X, Edges):
            raise TypeError(f"X is of type {type(X).__name__}, but it must be Edges")
        labels = np.asarray(unmasked(y, "y"))
        if labels.shape != (len(X),):
            raise ValueError(f"y has shape {labels.shape}, but X has {len(X)} edges")
        values = np.unique(labels)
        self.classes_ = values if len(values) == 2 else None
        coded = np.where(labels == values[1], 1.0, -1.0) if len(values) == 2 else as_real_labels(labels, len(X))
        self._fit(X, coded)
        return self

    @abstractmethod
    def _fit(self, X: Edges, y: Array) -> None:
        """Train on edges with labels of ±1, or real-valued ones."""

    def decision_function(self, X: Edges) -> Array:
        """Return the real-valued predictions for edges."""
        check_is_fitted(self)
        return self._decide(X)

    @abstractmethod
    def _decide(self, X: Edges) -> Array:
        """Return the real-valued predictions for edges."""

    def score(self, X: Edges, y: ArrayLike) -> float:
        """Return the share of pairs of edges in the right order; for two classes the AUC."""
        return get_scorer("concordance").score(y, self.decision_function(X))

    def predict(self, X: Edges) -> Array:
        """Return the class of each edge, or the prediction if labels are real-valued."""
        score = self.decision_function(X)
        return score if self.classes_ is None else np.asarray(self.classes_[(score > 0).astype(int)])


class SGD(Baseline):
    """A linear model of concatenated features, trained by stochastic gradient descent; a baseline of the paper.

    Parameters
    ----------
    loss : str
        "hinge" or "log_loss" for classes; values are fitted with the squared loss.
    penalties : sequence of float
        The weights of the regularizer to choose from. One is chosen on three vertex-disjoint inner folds, or on folds
        of edges if a vertex-disjoint fold would have only one label.
    n_updates : int
        The number of updates; training makes at least one pass over the edges.
    scale : bool
        Whether to standardize the features first.
    random_state : int, optional
        A seed.
    """

    def __init__(
        self,
        loss: str = "hinge",
        penalties: Sequence[float] = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2),
        n_updates: int = 10**6,
        scale: bool = True,
        random_state: RandomState = 0,
    ) -> None:
        self.loss = loss
        self.penalties = penalties
        self.n_updates = n_updates
        self.scale = scale
        self.random_state = random_state

    def _fit(self, X: Edges, y: Array) -> None:
        self.rows_ = ConcatenatedFeatures(X, self.scale)
        rows = self.rows_.of(X)

        passes = max(1, round(self.n_updates / len(y)))

        def score(penalty: float, fold: Fold) -> float:
            model = self._model(penalty, passes).fit(rows[fold.train], y[fold.train])
            return _score(y[fold.test], _decide(model, rows[fold.test]))

        self.penalty_ = _search(self.penalties, score, X, y, self.random_state, n_threads=count_threads())
        self.model_ = self._model(self.penalty_, passes).fit(rows, y)

    def _model(self, penalty: float, passes: int) -> Any:
        common: dict[str, Any] = {"alpha": penalty, "max_iter": passes, "tol": None, "random_state": self.random_state}
        return SGDClassifier(loss=self.loss, **common) if self.classes_ is not None else SGDRegressor(**common)

    def _decide(self, X: Edges) -> Array:
        """Return the real-valued predictions for edges."""
        return _decide(self.model_, self.rows_.of(X))


class Neighbours(Baseline):
    """The mean label of the k nearest edges in concatenated features.

    Parameters
    ----------
    ks : sequence of int
        The numbers of neighbors to choose from. One is chosen on three vertex-disjoint inner folds, or on folds of
        edges if a vertex-disjoint fold would have only one label.
    random_state : int, optional
        The seed of the inner folds.
    """

    def __init__(self, ks: Sequence[int] = (1, 2, 4, 8, 16, 32, 64, 128), random_state: RandomState = 0) -> None:
        self.ks = ks
        self.random_state = random_state

    def _fit(self, X: Edges, y: Array) -> None:
        self.rows_ = ConcatenatedFeatures(X)
        rows = self.rows_.of(X)
        means: dict[str, Array] = {}  # one query for the most neighbors serves all k

        def score(k: int, fold: Fold) -> float:
            if fold.name not in means:
                neighbours = NearestNeighbors().fit(rows[fold.train])
                means[fold.name] = _neighbour_means(neighbours, rows[fold.test], y[fold.train], self.ks)
            return _score(y[fold.test], means[fold.name][:, list(self.ks).index(k)])

        self.k_ = _search(self.ks, score, X, y, self.random_state)
        self.labels_, self.model_ = y, NearestNeighbors().fit(rows)

    def _decide(self, X: Edges) -> Array:
        """Return the mean label of the nearest edges."""
        return _neighbour_means(self.model_, self.rows_.of(X), self.labels_, [self.k_])[:, 0]


class LibSVM(Baseline):
    """LIBSVM with a Gaussian kernel on concatenated features: the product of Gaussian vertex kernels.

    Parameters
    ----------
    C : float
        The inverse of alpha.
    gamma : float or str
        The width, as in scikit-learn's ``SVC``.
    max_edges : int
        The largest number of edges to train on. If there are more, this many are drawn at random, since the training
        time grows with the square of the number.
    random_state : int, optional
        The seed of that draw.
    """

    def __init__(
        self, C: float = 1.0, gamma: float | str = "scale", max_edges: int = 10_000, random_state: RandomState = 0
    ) -> None:
        self.C = C
        self.gamma = gamma
        self.max_edges = max_edges
        self.random_state = random_state

    def _fit(self, X: Edges, y: Array) -> None:
        taken = np.arange(len(y))
        if len(y) > self.max_edges:
            taken = np.sort(check_random_state(self.random_state).permutation(len(y))[: self.max_edges])
            if len(np.unique(y[taken])) < 2:
                raise ValueError(f"max_edges is {self.max_edges}, but so few edges have one label only; raise it")
        self.rows_ = ConcatenatedFeatures(X)
        kind = SVC if self.classes_ is not None else SVR
        self.model_ = kind(C=self.C, gamma=self.gamma, cache_size=1000).fit(self.rows_.of(X[taken]), y[taken])

    def _decide(self, X: Edges) -> Array:
        """Return the decision values."""
        return _decide(self.model_, self.rows_.of(X))


class BoostedTrees(Baseline):
    """scikit-learn's histogram-based gradient-boosted trees on concatenated features.

    Parameters
    ----------
    max_iter : int
        The number of trees.
    random_state : int, optional
        A seed.
    """

    def __init__(self, max_iter: int = 100, random_state: RandomState = 0) -> None:
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, X: Edges, y: Array) -> None:
        kind = HistGradientBoostingClassifier if self.classes_ is not None else HistGradientBoostingRegressor
        self.rows_ = ConcatenatedFeatures(X)
        # No early stopping, since it would hold out edges at random, not vertices.
        self.model_ = kind(max_iter=self.max_iter, early_stopping=False, random_state=self.random_state)
        self.model_.fit(self.rows_.of(X), y)

    def _decide(self, X: Edges) -> Array:
        """Return the real-valued predictions for edges."""
        return _decide(self.model_, self.rows_.of(X))


class VertexMean(Baseline):
    """The mean of all labels, plus the mean deviations from it of the edges of the start and of the end vertex.

    A vertex without training edges has the deviation zero. So predictions are at chance if both vertices are new, and
    the score in other settings does not come from interactions.

    Parameters
    ----------
    prior : float
        The number of additional edges, with the mean of all labels as their label, for each vertex.
    """

    def __init__(self, prior: float = 1.0) -> None:
        self.prior = prior

    def _fit(self, X: Edges, y: Array) -> None:
        self.mean_ = float(y.mean())
        self.means_ = {}
        for side in ("start", "end"):
            table, rows = getattr(X, f"{side}_table"), getattr(X, side)
            sums = np.bincount(rows, y - self.mean_, minlength=len(table))
            self.means_[side] = table, sums / (np.bincount(rows, minlength=len(table)) + self.prior)

    def _decide(self, X: Edges) -> Array:
        """Return the mean of all labels plus the deviations of both vertices."""
        total = np.full(len(X), self.mean_)
        for side in ("start", "end"):
            table, means = self.means_[side]
            if not _is_same(getattr(X, f"{side}_table").features, table.features):
                raise ValueError(
                    f"X has another {side} table than the training edges, so their vertices cannot be matched: make "
                    "one Edges object of all edges, and slice it"
                )
            total += means[getattr(X, side)]
        return total


class ConcatenatedFeatures:
    """Concatenated features of edges, in single precision, optionally standardized over the training edges."""

    def __init__(self, X: Edges, scale: bool = False) -> None:
        self.shift: list[Array] = []
        self.spread: list[Array] = []
        for rows, features in _sides(X):
            used, counts = np.unique(rows, return_counts=True)
            values = _dense(features[used])
            mean = np.average(values, axis=0, weights=counts) if scale else np.zeros(values.shape[1])
            spread = np.sqrt(np.average((values - mean) ** 2, axis=0, weights=counts)) if scale else np.ones_like(mean)
            self.shift.append(mean)
            self.spread.append(np.where(spread > 0, spread, 1.0))

    def of(self, X: Edges) -> Array:
        """Return a row for each edge."""
        n_columns = [len(shift) for shift in self.shift]
        check_memory("the table of concatenated features", len(X), sum(n_columns))
        out = np.empty((len(X), sum(n_columns)), np.float32)
        columns = slice(0, n_columns[0]), slice(n_columns[0], None)
        for (rows, features), chosen, shift, spread in zip(_sides(X), columns, self.shift, self.spread, strict=True):
            out[:, chosen] = ((_dense(features) - shift) / spread).astype(np.float32)[rows]
        return out


def _sides(X: Edges) -> list[tuple[Array, Any]]:
    return [(X.start, plain_features(X.start_table)), (X.end, plain_features(X.end_table))]


def _is_same(first: Array, second: Array) -> bool:
    """Whether two tables hold the same features, so that their rows are the same vertices."""
    if first is second:
        return True
    if issparse(first) and issparse(second):
        return first.shape == second.shape and (first != second).nnz == 0
    return first.shape == second.shape and np.array_equal(_dense(first), _dense(second))


def _dense(features: Any) -> Array:
    return np.asarray(features.toarray() if issparse(features) else features)


def _decide(model: BaseEstimator, rows: Array) -> Array:
    decide = model.decision_function if hasattr(model, "decision_function") else model.predict
    # A small product of finite numbers once raised the flag of an invalid operation, so only the result is checked.
    with np.errstate(invalid="ignore"):
        scores = np.asarray(decide(rows), np.float64)
    if not np.isfinite(scores).all():
        raise FloatingPointError(f"{type(model).__name__} predicts NaN or infinity; scale the features")
    return scores


def _score(y: Array, score: Array) -> float:
    return get_scorer("concordance").score(y, score)


def _neighbour_means(neighbours: Any, rows: Array, y: Array, ks: Sequence[int]) -> Array:
    """Return the mean labels of the k nearest edges, a column for each k; in blocks of rows."""
    numbers: Array = np.minimum(np.asarray(ks), len(y))
    out = np.empty((len(rows), len(ks)))
    for low in range(0, len(rows), _QUERIES):
        nearest = neighbours.kneighbors(rows[low : low + _QUERIES], int(numbers.max()), return_distance=False)
        out[low : low + _QUERIES] = np.cumsum(y[nearest], axis=1)[:, numbers - 1] / numbers
    return out


def _search(
    values: Sequence[Any], score: Any, X: Edges, y: Array, random_state: RandomState, n_threads: int = 1
) -> Any:
    """Return the value with the best mean score over three inner folds that share no vertex.

    The folds are the diagonal of 3 × 3 folds. If a fold has only one label, three folds of edges are used.
    """
    if len(values) == 1 or len(y) < 9:
        return values[0]
    two_classes = len(np.unique(y)) == 2
    try:
        folds = VertexKFold(3, 3, stratify=two_classes, random_state=random_state).folds(X, y)
    except ValueError:
        folds = VertexKFold(3, 3, "neither", stratify=two_classes, strict=False, random_state=random_state).folds(X, y)
    diagonal = folds if len(folds) == 3 else folds[::4]
    scores = np.empty((len(values), len(diagonal)))

    def run(number: int) -> None:
        value, fold = divmod(number, len(diagonal))
        scores[value, fold] = score(values[value], diagonal[fold])

    run_tasks(run, scores.size, n_threads)
    return values[int(np.argmax(scores.mean(axis=1)))]


def baselines(random_state: RandomState = 0) -> dict[str, Baseline]:
    """Return the baselines by name, for `compare`: the paper's baselines, LIBSVM, trees, and the means of the vertices.

    >>> import vectrick as vt
    >>> list(vt.baselines())
    ['SGD hinge', 'SGD logistic', 'KNN', 'LIBSVM', 'boosted trees', 'vertex mean']
    """
    return {
        "SGD hinge": SGD("hinge", random_state=random_state),
        "SGD logistic": SGD("log_loss", random_state=random_state),
        "KNN": Neighbours(random_state=random_state),
        "LIBSVM": LibSVM(random_state=random_state),
        "boosted trees": BoostedTrees(random_state=random_state),
        "vertex mean": VertexMean(),
    }
