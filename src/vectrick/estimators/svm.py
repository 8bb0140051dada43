"""Kronecker support vector machines."""

from typing import Literal

from vectrick._typing import FloatName, FormName, KernelWeights, Landmarks, Precision, PreconditionerName, RandomState
from vectrick.backends import Backend
from vectrick.estimators.classifier import KronClassifier
from vectrick.losses import Loss, as_loss
from vectrick.models.kernel_spec import PairwiseKernels, VertexKernels
from vectrick.solvers import Solver


class KronSVM(KronClassifier):
    """Support vector machine for labeled edges.

    It minimizes ``½ Σ max(0, 1 - yᵢ pᵢ)² + ½ alpha ‖f‖²`` (the paper's L2-SVM, by truncated Newton), or with
    ``loss="hinge"`` ``Σ max(0, 1 - yᵢ pᵢ) + ½ alpha ‖f‖²`` (the L1-SVM, by a projected method on its dual, with a
    duality gap). C is 1 / alpha for the hinge loss (LIBSVM, SVC) and 1 / (2 alpha) for the squared hinge
    (LinearSVC). Edges outside the margin have no coefficient, and products leave them out. An
    iteration takes O(min(q s + m n, m s + q n)) for m start and q end vertices, n edges and s support edges.

    Parameters
    ----------
    loss : str or Loss class
        "squared_hinge" or "hinge"; or the class or the registered name of another loss for labels -1 and +1.
    <shared parameters>

    Attributes
    ----------
    classes_ : array
        The labels; with two classes, the second one is the positive class.
    machines_ : list
        With more than two classes, the model of each class against the rest. ``n_iter_``, ``history_`` and
        ``solution_`` are then from the model that took the most iterations, or did not converge.
    <shared attributes>

    Examples
    --------
    >>> import vectrick as vt
    >>> X, y = vt.datasets.make_checkerboard(200, random_state=0)
    >>> X_new, y_new = vt.datasets.make_checkerboard(200, random_state=1)
    >>> svm = vt.KronSVM(vt.Gaussian(gamma=1.0), vt.Gaussian(gamma=1.0), alpha=0.1).fit(X, y)
    >>> svm.score(X, y) > 0.8, len(svm.support_) < len(y)
    (True, True)
    """

    def __init__(
        self,
        start_kernel: VertexKernels = "linear",
        end_kernel: VertexKernels = "linear",
        *,
        loss: str | type[Loss] = "squared_hinge",
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
        self.loss = loss

    @property
    def _loss_type(self) -> type[Loss]:
        return as_loss(self.loss, of_classes=True)
