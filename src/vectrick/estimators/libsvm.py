"""LIBSVM models as Kronecker models: the same decision values, through the vec trick."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from vectrick.data import Graph
from vectrick.estimators.svm import KronSVM
from vectrick.kernels import Gaussian
from vectrick.models.edge_kernel import EdgeKernel
from vectrick.models.product import DualPredictor
from vectrick.models.vertex_kernel import VertexKernel
from vectrick.solvers import Solution
from vectrick.training.validate import split_columns


def from_svc(svc: SVC, n_start_features: int, *, n_threads: int | None = None) -> KronSVM:
    """Turn a fitted ``SVC`` with a Gaussian kernel on concatenated features into a predictor through the vec trick.

    ``exp(-γ ‖(d, t) - (d', t')‖²)`` is the product of a Gaussian kernel of the start and one of the end vertices, so
    the decision values are the same. For n new edges between u start and v end vertices they take O(v s + m n), with s
    support vectors of m start vertices; LIBSVM takes O(n s).

    Parameters
    ----------
    svc : SVC
        A fitted model for two classes with ``kernel="rbf"``.
    n_start_features : int
        How many of its features belong to the start vertex; the rest belong to the end vertex.
    n_threads : int, optional
        The number of threads for predictions.

    Returns
    -------
    KronSVM
        A fitted model: `decision_function`, `predict`, `predict_grid`, `top_k` for Edges and for plain arrays.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> from sklearn.svm import SVC
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> svc = SVC(gamma=0.5).fit(X, X[:, 0] * X[:, 3] > 0)
    >>> model = vt.from_svc(svc, n_start_features=2)
    >>> bool(np.allclose(model.decision_function(X), svc.decision_function(X), atol=1e-8))
    True
    """
    _check(svc, n_start_features)
    kernel = Gaussian(gamma=float(svc._gamma))  # the number that gamma="scale" became
    edges = split_columns(_dense(svc.support_vectors_), n_start_features)
    graph = Graph.of(edges)
    start = VertexKernel(kernel, "start", edges.start_table, graph.used_start)
    end = VertexKernel(kernel, "end", edges.end_table, graph.used_end)
    coefficients = _dense(svc.dual_coef_).ravel()
    model = KronSVM(
        kernel, kernel, loss="hinge", alpha=1.0 / svc.C, fit_intercept=True,
        n_start_features=n_start_features, n_threads=n_threads,
    )  # fmt: skip
    for name in ("classes_", "n_features_in_", "feature_names_in_"):
        if hasattr(svc, name):
            setattr(model, name, getattr(svc, name))
    model.support_ = np.asarray(svc.support_)
    model.dual_coef_ = np.zeros(svc.shape_fit_[0])
    model.dual_coef_[model.support_] = coefficients
    model.intercept_ = float(svc.intercept_[0])
    model.n_iter_, model.history_ = int(np.max(svc.n_iter_)), {}
    converged, reason = svc.fit_status_ == 0, "LIBSVM's own"
    model.solution_ = Solution(model.dual_coef_, None, converged, reason, model.n_iter_, 0, [], model.intercept_)
    model.form_, model.form_reason_ = "dual", "taken from LIBSVM"
    model.predictor_ = DualPredictor(EdgeKernel.product(start, end), graph, coefficients, n_threads)
    model._remember_parameters()
    return model


def _check(svc: SVC, n_start_features: int) -> None:
    """Reject a model that has no Kronecker form."""
    if not isinstance(svc, SVC):
        raise TypeError(f"svc is of type {type(svc).__name__}, but it must be a sklearn.svm.SVC")
    check_is_fitted(svc)
    if svc.kernel != "rbf":
        raise ValueError(f"svc has the kernel {svc.kernel!r}, but only 'rbf' is a product of vertex kernels")
    if len(svc.classes_) != 2:
        raise ValueError(f"svc has {len(svc.classes_)} classes, but it must have two")
    if not isinstance(n_start_features, Integral) or not 1 <= int(n_start_features) < svc.n_features_in_:
        raise ValueError(
            f"n_start_features is {n_start_features!r}, but it must be from 1 to {svc.n_features_in_ - 1}, since svc "
            f"has {svc.n_features_in_} features"
        )


def _dense(array: Any) -> NDArray[Any]:
    return np.asarray(array.toarray() if issparse(array) else array)
