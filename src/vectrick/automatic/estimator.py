"""`AutoKron`: an estimator that chooses its kernels, loss and alpha on inner folds."""

import copy
import time
import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from vectrick._progress import Progress
from vectrick._typing import Array, ArrayLike, FloatName, NewOrAll, RandomState
from vectrick.automatic.find import Found, search
from vectrick.automatic.labels import LOSSES, Labels, read_labels
from vectrick.automatic.lakes import fit_lake_search
from vectrick.automatic.mean import Mean, mean_of
from vectrick.automatic.mean_model import MeanModel
from vectrick.automatic.scoring.folding import ASKED
from vectrick.automatic.scoring.full_solves import estimator_of, solver_of
from vectrick.automatic.scoring.results import Result, diverse, near_best
from vectrick.automatic.search import INTERRUPTED
from vectrick.automatic.summary import alpha_paths, joined_frames, search_frame
from vectrick.backends import Backend
from vectrick.backends.arrays import to_host, unmasked
from vectrick.data import DataWarning, Edges, EdgesLike
from vectrick.data.lake.scan import ScannedEdges
from vectrick.data.source import is_lake
from vectrick.estimators import (
    KronRidge,
    SeveralClassesError,
    SourceEdges,
    as_edges,
    as_weights,
    check_parameters,
    joined_source,
    warn_of_data,
)
from vectrick.kernels import KernelWarning, as_kernel
from vectrick.metrics.scores import SCORES
from vectrick.models.kernel_spec import VertexKernels, tables_for

_PAIRWISE = ("auto", "kronecker", "symmetric", "antisymmetric")
_TOL = 1e-4  # of the members; smaller values do not change their scores
_SHARED = ("backend", "device", "dtype", "n_threads", "n_start_features")  # parameters that members have as well


class AutoKron(MeanModel):
    """An estimator for edges that chooses its kernels and its regularization; the default of the command line.

    A fit makes candidates for the data (vertex kernels with their widths, Tanimoto kernels of binary features, scaled
    features, constants, symmetric kernels for one vertex set), scores each for a whole path of alphas on inner folds
    with the setting ``new``, and trains the best ``n_best`` on all edges. The prediction is the weighted mean of this
    ensemble. First scores come from ridge regression by one pass over the edges. All candidates and folds share kernels
    and eigenvectors, so a hundred candidates take seconds.

    Parameters
    ----------
    new : str
        Which vertices of an edge will be unseen at prediction time: "both", "start", "end" or "neither"; "all" gives
        all these settings the same weight.
    loss : str
        "auto", "ridge", "logistic", "svm" (squared hinge), "hinge", "rank", "rank-start" or "rank-end" (within a
        vertex). "auto" tries ridge regression (of -1 and 1 for classes) and, for classes, the logistic loss; with a
        given ``alpha``, ridge regression only.
    budget : float, optional
        The number of seconds after which the search ends; training the chosen models takes additional time. Without a
        budget, the same ``random_state`` gives the same model.
    n_best : int
        The number of members of the ensemble.
    start_kernel, end_kernel : str or Kernel
        "auto", or the only kernel to use.
    pairwise : str
        "auto", "kronecker", and for edges within one vertex set "symmetric" and "antisymmetric".
    thorough : bool
        Whether to solve twice as many candidates, and to try further losses ("svm" for classes) if ``loss`` is "auto"
        and further pairwise kernels ("linear", "poly2d" and "cartesian", or "mlpk" or "ranking" for one vertex set) if
        ``pairwise`` is "auto". Takes several times as long.
    alpha : float, optional
        The weight of the regularizer; by default the search chooses it.
    scoring : str
        The score for model selection: "auc", "average_precision", "concordance", "r2", or "auto" (AUC for two classes,
        R² for values, concordance for rankings).
    backend, device, dtype, keep_edges : str, str, str, bool
        As for `KronRidge`. The search uses the same backend; only the kernels for a lake are chosen on the CPU.
    n_threads : int, optional
        The number of threads; by default VECTRICK_NUM_THREADS, or all CPUs.
    verbose : int
        1 reports progress about twice a second.
    random_state : int, optional
        The seed of the inner folds.
    n_start_features : int, optional
        The number of columns of a plain array X that belong to the start vertex; not needed for `Edges`.

    Attributes
    ----------
    members_ : list of estimators
        The members of the ensemble, trained on all edges.
    weights_ : array
        The weight of each member in the sum; ``intercept_`` is the intercept of the sum. For classes the sum is the
        log-odds.
    search_ : pandas.DataFrame
        All results of the search, members first: kernels, alpha, score, spread between folds, seconds, and whether the
        result became a member.
    score_, spread_ : float
        The score of the ensemble on the inner folds, and the standard deviation between folds; NaN without folds. The
        members were chosen on the same folds, so the score is a little optimistic; on the other hand, they had fewer
        training edges on the folds than the final model has.
    scoring_ : str
        The name of the score.
    classes_ : array
        The classes, if the labels are classes.
    machines_ : list of AutoKron
        With more than two classes, a one-vs-rest model for each class.

    Notes
    -----
    Scoring an inner fold takes O(m r₁ r₂ + m q r₂) for m start and q end vertices and kernels of rank r₁ and r₂, and
    each kernel needs an eigendecomposition for each part of the vertices. With more than a few thousand vertices, the
    search uses a sample (vertices with many edges are more likely); the members are trained on all edges.

    Ctrl-C ends the search and starts the training of the best models so far.

    Examples
    --------
    >>> import vectrick as vt
    >>> X, y = vt.datasets.make_checkerboard(60, noise=0.0, density=0.5, random_state=0)
    >>> model = vt.AutoKron(random_state=0).fit(X, y)
    >>> len(model.members_), model.predict_proba(X).shape
    (5, (1800, 2))
    """

    def __init__(
        self,
        new: NewOrAll = "both",
        loss: str = "auto",
        *,
        budget: float | None = None,
        n_best: int = 5,
        start_kernel: VertexKernels = "auto",
        end_kernel: VertexKernels = "auto",
        pairwise: str = "auto",
        thorough: bool = False,
        alpha: float | None = None,
        scoring: str = "auto",
        backend: str | Backend = "cpu",
        device: str | None = None,
        dtype: FloatName | None = None,
        keep_edges: bool = True,
        n_threads: int | None = None,
        verbose: int = 0,
        random_state: RandomState = None,
        n_start_features: int | None = None,
    ) -> None:
        self.new = new
        self.loss = loss
        self.budget = budget
        self.n_best = n_best
        self.start_kernel = start_kernel
        self.end_kernel = end_kernel
        self.pairwise = pairwise
        self.thorough = thorough
        self.alpha = alpha
        self.scoring = scoring
        self.backend = backend
        self.device = device
        self.dtype = dtype
        self.keep_edges = keep_edges
        self.n_threads = n_threads
        self.verbose = verbose
        self.random_state = random_state
        self.n_start_features = n_start_features

    # Fitting

    def fit(
        self, X: EdgesLike | ScannedEdges, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Choose models on inner folds, and train them on edges X with labels y.

        Parameters
        ----------
        X : Edges, ScannedEdges or array
            One row for each edge; see ``n_start_features`` for plain arrays. A lake (`vt.scan_edges`) contains its
            labels; kernels are then chosen on the edges between a sample of its vertices, and alphas on held-out
            vertices of the whole lake.
        y : array
            A label for each edge. Labels may be bounds (`vt.censored`): the search treats bounds as values, and the
            members are trained with the bounds.
        sample_weight : array, optional
            A weight for each edge, for training; the search leaves out edges of weight zero and ignores other weights.

        Returns
        -------
        self
        """
        before = dict(self.__dict__)
        try:
            self._check_parameters()
            if is_lake(X):
                if y is not None or sample_weight is not None:
                    raise ValueError("X is a lake and contains its labels and weights; leave out y and sample_weight")
                fit_lake_search(self, X)
                self._remember_parameters()
                return self
            edges = as_edges(self, X, reset=True)
            try:
                labels = read_labels(y, len(edges), self.loss)
            except SeveralClassesError as several:
                self._fit_against_rest(edges, y, sample_weight, several.classes)
                self._remember_parameters()
                return self
            weight = as_weights(None if sample_weight is None else to_host(sample_weight), len(edges))
            self._fit_one(edges, y, labels, weight)
            self._remember_parameters()
        except BaseException:  # after any error, an earlier model stays intact
            self.__dict__ = before
            raise
        return self

    @property
    def _takes_bounds(self) -> bool:
        return self.loss in ("auto", "ridge")

    def _check_parameters(self) -> None:
        """Raise on invalid parameters, before any work is done."""
        choices = (
            ("new", ASKED), ("loss", LOSSES), ("pairwise", _PAIRWISE), ("scoring", ("auto", *SCORES)),
        )  # fmt: skip
        for name, allowed in choices:
            value = getattr(self, name)
            if value not in allowed:
                raise ValueError(f"{name} is {value!r}, but it must be one of {', '.join(map(repr, allowed))}")
        if isinstance(self.n_best, bool) or not isinstance(self.n_best, Integral) or self.n_best < 1:
            raise ValueError(f"n_best is {self.n_best!r}, but it must be a positive integer")
        if not isinstance(self.thorough, bool | np.bool_):
            raise ValueError(f"thorough is {self.thorough!r}, but it must be True or False")
        for name in ("budget", "alpha"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, Real) or not 0 < value < np.inf):
                raise ValueError(f"{name} is {value!r}, but it must be a positive number or None")
        for side in ("start", "end"):
            given = getattr(self, f"{side}_kernel")
            if not (isinstance(given, str) and given == "auto"):
                as_kernel(given, f"{side}_kernel")
        settings = {name: getattr(self, name) for name in _SHARED}
        check_parameters(KronRidge(**settings), None)

    def _fit_one(self, edges: Edges, y: ArrayLike | None, labels: Labels, weight: Array | None) -> None:
        """Choose, train and keep the members for two classes or for values."""
        begin = time.perf_counter()
        warn_of_data(edges, labels.y)
        found = search(self, edges, labels, weight)
        chosen, mean = self._chosen(found)
        searching = time.perf_counter() - begin
        members = self._train(edges, labels, weight, found, chosen)
        for name in ("machines_", "classes_"):
            self.__dict__.pop(name, None)
        if labels.classes is not None:
            self.classes_ = labels.classes
        self.members_, self._has_two_labels = members, labels.has_two
        self.weights_ = np.ones(1) if mean is None else mean.weights
        self.score_, self.spread_ = (float("nan"), float("nan")) if mean is None else (mean.score, mean.spread)
        self.scoring_ = found.scoring
        self.folds_ = found.folding.words(len(chosen[0].folds)) if found.folding else "no folds"
        self.told_ = found.messages
        if labels.bounds is not None:
            bounds = "the search treated bounds as values; the members are trained with the bounds"
            self.told_ = [*found.messages, bounds]
        self.search_ = search_frame(found, chosen)
        self._was_interrupted = found.run is not None and found.run.ended == INTERRUPTED
        self._held_out, self._paths = found.held_out(chosen, mean), alpha_paths(found, chosen)
        source = SourceEdges.of(edges, y, weight) if self.keep_edges else None
        self._keep(0.0 if mean is None else mean.constant, source)
        self.seconds_ = {"search": searching, "training": time.perf_counter() - begin - searching}

    def _chosen(self, found: Found) -> tuple[list[Result], Mean | None]:
        """Return the best results and their ensemble; the ensemble is None if there were no folds."""
        chosen = diverse(near_best(found.ranked), int(self.n_best))
        if found.folding is None:
            return chosen, None
        predictions = found.run.predictions(chosen)
        is_classifier = found.labels.classes is not None
        is_scaled = not is_classifier and not found.labels.is_rank
        return chosen, mean_of(found.problem, chosen[0].folds, predictions, is_classifier, is_scaled)

    def _train(
        self, edges: Edges, labels: Labels, weight: Array | None, found: Found, chosen: list[Result]
    ) -> list[Any]:
        """Return the chosen models, trained on all edges."""
        progress, members = Progress("AutoKron, training", len(chosen), self.verbose), []
        models = [found.model_of(result) for result in chosen]
        tables = edges.start_table, edges.end_table
        tables = tables_for([start for start, _, _ in models], [end for _, end, _ in models], *tables)
        edges = edges.with_tables(*tables).settled()
        for result, (start_kernel, end_kernel, alpha) in zip(chosen, models, strict=True):
            candidate = result.candidate
            member = estimator_of(
                candidate.loss if labels.bounds is None else "censored",
                start_kernel=start_kernel,
                end_kernel=end_kernel,
                alpha=alpha,
                pairwise=candidate.pairwise,
                fit_intercept=candidate.has_intercept,
                tol=_TOL,
                solver=solver_of(candidate.loss),
                keep_edges=False,
                **{name: getattr(self, name) for name in _SHARED},
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", KernelWarning)  # about repaired matrices
                warnings.simplefilter("ignore", DataWarning)  # the search has its own
                warnings.simplefilter("ignore", ConvergenceWarning)  # solution_ records it
                member.fit(edges, labels.target, weight)
            members.append(member)
            progress.step(", ".join(candidate.words.values()))
        return members

    def _fit_against_rest(
        self, edges: Edges, y: ArrayLike | None, sample_weight: ArrayLike | None, classes: Array
    ) -> None:
        """Train a one-vs-rest model for each class."""
        values = np.asarray(unmasked(to_host(y), "y"))
        budget = None if self.budget is None else self.budget / len(classes)
        edges = edges.settled()  # each class may have other kernels
        machines = [
            clone(self).set_params(budget=budget, keep_edges=False).fit(edges, values == label, sample_weight)
            for label in classes
        ]
        for name in ("members_", "weights_", "constant_", "_held_out", "_paths"):
            self.__dict__.pop(name, None)
        self.classes_ = classes
        self._keep_machines(machines)
        first = machines[0]
        self._source = SourceEdges.of(edges, values, sample_weight) if self.keep_edges else None
        self._known_edges = None if self._source is None else (self._source.start, self._source.end)
        self.score_ = float(np.mean([machine.score_ for machine in machines]))
        self.spread_ = float(np.mean([machine.spread_ for machine in machines]))
        frames = [machine.search_.assign(label=str(name)) for name, machine in zip(classes, machines, strict=True)]
        self.search_ = joined_frames(frames)
        self._was_interrupted = any(machine._was_interrupted for machine in machines)
        for name in ("scoring_", "folds_", "told_"):
            setattr(self, name, getattr(first, name))

    def update(self, X: EdgesLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Add edges X with labels y and train the members again; their kernels and alphas stay the same.

        With more than two classes, or if y has a new class, the whole search is repeated. The model must have kept its
        training edges (``keep_edges=True``).
        """
        check_is_fitted(self)
        edges, values, weight = joined_source(self, X, y, sample_weight)
        if self._machines or (hasattr(self, "classes_") and len(np.setdiff1d(values, self.classes_))):
            return self.fit(edges, values, weight)
        self._train_members(edges, values, weight)
        return self

    def _train_members(self, edges: Edges, values: Any, weight: ArrayLike | None) -> None:
        """Train the chosen models on other edges."""
        labels = read_labels(values, len(edges), self._as_fitted().loss)
        members = [clone(member._as_fitted()) for member in self.members_]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KernelWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.members_ = [member.fit(edges, labels.target, weight) for member in members]
        self._keep(self.constant_, SourceEdges.of(edges, values, weight))

    def _trained_again(self, edges: Edges, labels: ArrayLike, weight: ArrayLike | None) -> Any:
        again = copy.copy(self)
        again._train_members(edges, labels, weight)
        return again
