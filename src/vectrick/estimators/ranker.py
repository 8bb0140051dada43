"""Kronecker RankRLS."""

from typing import Any, Literal

from vectrick._typing import (
    Array,
    ArrayLike,
    FloatName,
    FormName,
    Groups,
    KernelWeights,
    Landmarks,
    Precision,
    PreconditionerName,
    RandomState,
)
from vectrick.backends import Backend
from vectrick.backends.arrays import to_host
from vectrick.data import Edges, EdgesLike
from vectrick.data.lake.counts import Counts
from vectrick.data.lake.scan import ScannedEdges
from vectrick.data.source import is_lake
from vectrick.estimators.regressor import KronRegressor
from vectrick.losses import Loss, RankRLS
from vectrick.metrics import concordance_index
from vectrick.models.kernel_spec import PairwiseKernels, VertexKernels
from vectrick.solvers import Solver
from vectrick.streaming.scores import score_lake
from vectrick.training.validate import as_edges

_GROUPS = (None, "start", "end")


class KronRanker(KronRegressor):
    """Ranking of labeled edges by the squared loss of differences (RankRLS).

    It minimizes ``1/(4c) Σᵢ Σⱼ (yᵢ - pᵢ - yⱼ + pⱼ)² + ½ alpha ‖f‖²``, over all pairs of edges, or over pairs that
    share their start or end vertex. c is the mean number of edges that an edge is compared with, so that alpha
    has the same scale as in `KronRidge`. Only the order of the predictions is meaningful. An iteration takes
    O((m + q) n) for m start vertices, q end vertices and n edges; the sum over pairs itself takes O(n).

    Parameters
    ----------
    groups : None, "start" or "end"
        Which edges are compared: all, or edges of the same start vertex, or of the same end vertex.
    <shared parameters>

    Attributes
    ----------
    <shared attributes>

    Examples
    --------
    >>> import vectrick as vt
    >>> X, y = vt.datasets.make_checkerboard(100, random_state=0)
    >>> ranker = vt.KronRanker(vt.Gaussian(gamma=1.0), vt.Gaussian(gamma=1.0), groups="start").fit(X, y)
    >>> ranker.score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        start_kernel: VertexKernels = "linear",
        end_kernel: VertexKernels = "linear",
        *,
        groups: Groups = None,
        alpha: float = 1.0,
        pairwise: PairwiseKernels = "kronecker",
        kernel_weights: KernelWeights = None,
        form: FormName = "auto",
        solver: str | Solver = "auto",
        preconditioner: PreconditionerName = "auto",
        max_iter: int | None = None,
        inner_iter: int = 100,
        step: float | None = None,
        tol: float = 1e-6,
        fit_intercept: bool | Literal["auto"] = "auto",
        early_stopping: bool = False,
        refit: bool = False,
        validation_fraction: float = 0.25,
        n_iter_no_change: int = 5,
        scoring: str = "auto",
        factor_tol: float = 1e-12,
        n_components: int | None = None,
        landmarks: Landmarks = "cholesky",
        backend: str | Backend = "cpu",
        device: str | None = None,
        precision: Precision = "full",
        keep_edges: bool = True,
        dtype: FloatName | None = None,
        n_threads: int | None = None,
        verbose: int = 0,
        random_state: RandomState = None,
        n_start_features: int | None = None,
    ) -> None:
        super().__init__(
            start_kernel,
            end_kernel,
            alpha=alpha,
            pairwise=pairwise,
            kernel_weights=kernel_weights,
            form=form,
            solver=solver,
            preconditioner=preconditioner,
            max_iter=max_iter,
            inner_iter=inner_iter,
            step=step,
            tol=tol,
            fit_intercept=fit_intercept,
            early_stopping=early_stopping,
            refit=refit,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            scoring=scoring,
            factor_tol=factor_tol,
            n_components=n_components,
            landmarks=landmarks,
            backend=backend,
            device=device,
            precision=precision,
            keep_edges=keep_edges,
            dtype=dtype,
            n_threads=n_threads,
            verbose=verbose,
            random_state=random_state,
            n_start_features=n_start_features,
        )
        self.groups = groups

    _labels_have_signs = False

    @property
    def _loss_type(self) -> type[Loss]:
        if self.groups not in _GROUPS:
            raise ValueError(f"groups is {self.groups!r}, but it must be one of {', '.join(map(repr, _GROUPS))}")
        return RankRLS

    def _check_combination(self, kind: type[Loss]) -> None:
        """Accept all combinations: an intercept does not change the order of predictions."""

    def _make_loss(
        self, kind: type[Loss], y: Array, weight: Array | None, edges: Edges, bounds: Array | None = None
    ) -> Loss:
        return RankRLS(y, weight, self._groups_of(edges))

    def _groups_of(self, edges: Edges) -> Any:
        if self.groups is None:
            return None
        return edges.start if self.groups == "start" else edges.end

    def _auto_scoring(self, y: Array) -> str:
        return "concordance"

    def _lake_scoring(self, counts: Counts) -> str:
        return "concordance"

    def score(self, X: EdgesLike | ScannedEdges, y: ArrayLike | None = None) -> float:
        """Return the concordance index: the share of pairs with different labels that are in the right order.

        With ``groups`` only pairs within a group count, as in training.
        """
        if is_lake(X):
            return score_lake(self, X, "concordance")
        scores, groups = self._decide(X), self._groups_of(as_edges(self, X, reset=False))
        return concordance_index(to_host(y), to_host(scores), to_host(groups))
