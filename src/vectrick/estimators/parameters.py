"""The text of docstrings about the parameters and attributes that all estimators share."""

import re
import textwrap
from collections.abc import Iterable

from vectrick.kernels import KERNELS
from vectrick.kernels.pairwise import PAIRWISE
from vectrick.solvers import SOLVERS

_WIDTH = 120  # of lines in docstrings

_PARAMETERS = """\
    start_kernel, end_kernel : str, Kernel, callable or list of these
        The vertex kernels k and g: <kernels>, a kernel object such as ``vt.Gaussian(gamma=1.0)``, a sum or product of
        these, or a function of two feature tables. A grid search can set ``start_kernel__gamma``. If lists are given,
        the model adds up all pairs of a start and an end kernel with ``kernel_weights``; a grid search can set
        ``start_kernel__0__gamma`` of the first kernel in a list.
    alpha : float
        The weight λ of the regularizer.
    pairwise : str, PairwiseKernel or list of these
        How the two vertex kernels make a kernel of edges: <two sets>. For edges within one vertex set there are also
        <one set>; these use ``start_kernel`` for both ends. It can also be an object such as
        ``vt.pairwise.Gaussian(gamma=0.1)``, or a list of kernels to add up, without weights or with a weight for each:
        ``[("kronecker", 0.7), ("linear", 0.3)]``. The guide on pairwise kernels explains what each assumes.
    kernel_weights : array or str, optional
        The nonnegative weights of several kernels, in the order of ``components_``, or as a matrix with a row for
        each start kernel and a column for each end kernel; by default all are equal and add up to one. "alignment"
        learns the weights for which the weighted sum of kernels is most similar to ``y yᵀ`` of the labels.
        "validation" starts from these weights and keeps changes that lower the risk on held-out vertices. Learned
        weights are scaled so that the mean kernel value of an edge with itself is one; learning ignores
        ``sample_weight``.
    form : str
        "dual" (a coefficient for each edge), "primal" (a coefficient for each pair of features; smooth kernels get
        their features by pivoted Cholesky), or "auto" for the cheaper one. ``form_`` is the form that was used, and
        ``form_reason_`` the reason.
    solver : str or Solver
        "auto", <solvers>, or a solver object of your own. "minres" is for the squared loss without weights and
        intercept, "eigen" for ridge regression on a complete graph. The paper's settings are
        ``solver="minres", max_iter=100`` for ridge regression and
        ``solver="newton-qmr", max_iter=10, inner_iter=10, step=1.0`` for the SVM.
    preconditioner : str
        "kronecker" preconditions "cg" and "newton" by the degree model of the graph, so that fits to convergence take
        tens of iterations instead of hundreds; "none" does not. "auto" predicts which one takes less time. It means
        "none" with early stopping, ``step``, or a ``max_iter`` below the default, because the iterates matter then.
        ``solution_.preconditioner`` is the one that was used, ``solution_.preconditioner_reason`` the reason.
    max_iter : int, optional
        The maximum number of iterations; by default the limit of the solver: <iterations>.
    inner_iter : int
        The maximum number of iterations in a step of Newton's method.
    step : float, optional
        A fixed step length δ of Newton's method; by default it is found by exact line search.
    tol : float
        The tolerance for stopping: the norm of the gradient relative to its norm at zero, or for "box" the duality gap
        relative to the risk. In float32 it is at least 1e-4.
    fit_intercept : bool or "auto"
        Whether to add an intercept, a constant that is not regularized. Without it, labels should be roughly
        centered: for vertices unlike all others, the model then predicts zero, a bad prediction if the labels are
        around 10. "auto" adds it, except for rankings, antisymmetric pairwise kernels, "two_step" and the solver
        "minres" (they have none), and for the hinge loss (training would take much longer).
    early_stopping : bool
        Whether to stop when the score on held-out edges has not risen for ``n_iter_no_change`` iterations, and to
        return to the best iteration. The held-out edges are given as ``validation=`` in `fit`. If there are none,
        ``validation_fraction`` of the vertices of each side is held out, with the edges that touch them (about 44 % of
        the edges for a quarter of the vertices). Held-out edges stay out of the model, unless ``refit`` is True.
    refit : bool
        Whether to train again on all edges of X after early stopping has chosen the number of iterations on held-out
        vertices. ``history_`` stays the history of the first fit. Edges of ``validation=`` stay out of the model.
    validation_fraction : float
        The share of the vertices of each side that early stopping holds out.
    n_iter_no_change : int
        The number of iterations without a better score after which early stopping ends the fit.
    scoring : str
        The score of early stopping: "auc", "average_precision", "concordance", "r2", or "auto" (AUC for two classes,
        R² for values, concordance for rankings).
    factor_tol : float
        The maximum error of a low-rank factor by pivoted Cholesky, relative to the largest kernel value. With 0.0, only
        kernels with finitely many features are factored; ``form="primal"`` factors the others up to rounding.
    n_components : int, optional
        For edges of a lake, the number of features that approximate a vertex kernel with more, or infinitely many,
        features: Nyström features of this many landmarks. By default, a kernel with up to 1024 features keeps them,
        and others get 256. ``form_reason_`` reports how much of a kernel its features leave out.
    landmarks : str
        How landmarks are chosen: "cholesky" (by pivoted Cholesky, each where the kernel is explained worst) or
        "kmeans" (next to the centers of k-means).
    backend : str or Backend
        "cpu", "torch" (``pip install 'vectrick[torch]'``), "auto" (torch if there is a GPU, else "cpu"), "reference"
        (products by Algorithm 1, line by line), or a backend object of your own. With torch, edges and labels may be
        tensors, and results are then tensors too; with "cpu", tensors are used as NumPy arrays. For edges of a lake
        also "dask" (``pip install 'vectrick[dask]'``): the workers of the active client.
    device : str, optional
        The device of torch: "cuda", "cuda:1", "cpu" or "auto". By default the device of the edges, or a GPU if there
        is one.
    precision : str
        "full" or "mixed". "mixed" solves the linear systems with products in float32 (TF32 on a GPU) and corrects the
        solution with residuals in float64 until ``tol`` is reached; ``solution_.n_corrections`` counts the corrections.
        Each correction is an iteration, so quadratic losses have no early stopping with "mixed".
    keep_edges : bool
        Whether the model keeps the edges and labels that it was trained on, also in its file: `update` and
        recommendations that leave out known edges need them.
    dtype : str, optional
        The dtype of the computation, "float64" or "float32"; by default the dtype of the vertex features.
    n_threads : int, optional
        The number of threads; by default VECTRICK_NUM_THREADS, or all CPUs. torch has its own setting,
        ``torch.set_num_threads``.
    verbose : int
        1 reports progress about twice a second, 2 after each iteration.
    random_state : int, optional
        The seed for holding out vertices.
    n_start_features : int, optional
        How many columns of a plain array X belong to the start vertex; not needed for `Edges`."""

ATTRIBUTES = """\
    dual_coef_ : array of shape (n_edges,)
        In dual form, the coefficients of the training edges.
    coef_ : array of shape (n_start_features, n_end_features)
        In primal form, the coefficients of pairs of features.
    components_, kernel_weights_ : list of str, array
        The names and the weights of the kernels of edges that are added up; missing for one Kronecker product.
    support_ : array
        In dual form, the training edges whose coefficient is not zero. For an SVM in primal form, the edges inside the
        margin; at convergence these are the same edges.
    intercept_ : float
        The intercept; 0.0 without one.
    form_, form_reason_ : str
        "dual" or "primal", and the reason.
    plan_ : Plan
        How a product with the kernel of edges is computed: the chosen path, its estimated time and memory, and the
        estimates for the other paths.
    validation_vertices_ : dict
        With early stopping on vertices that were held out of X, their ids ("start" and "end"; positions in the tables
        if there are no ids).
    about_ : dict
        For a model loaded from a file, the information that was saved with it.
    n_iter_ : int
        The number of iterations, or the iteration that early stopping returned to.
    history_ : dict of lists
        For each iteration: "iteration", "risk", "seconds", with early stopping "score", and with mixed
        precision "corrections".
    solution_ : Solution
        Whether the solver converged, and why it stopped."""


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _registered_names() -> dict[str, str]:
    """Return the registered names that replace the marks in the text."""
    kernels = [kind for kind in KERNELS.kinds() if kind.name in KERNELS.plain_names()]
    pairs, solvers = PAIRWISE.kinds(), SOLVERS.kinds()
    needs = {"is_quadratic": "quadratic losses", "is_smooth": "smooth losses", "is_hinge": "the hinge loss"}
    limits = sorted({solver.max_iter for solver in solvers})
    return {
        "<kernels>": ", ".join(
            _quoted([kind.name]) + f" ({_quoted(kind.aliases)})" * bool(kind.aliases) for kind in kernels
        ),
        "<two sets>": ", ".join(f'"{kind.name}" ({kind.formula})' for kind in pairs if not kind.one_set),
        "<one set>": _quoted(kind.name for kind in pairs if kind.one_set),
        "<solvers>": ", ".join(
            f"for {loss} {_quoted(solver.name for solver in solvers if solver.needs[-1] == need)}"
            for need, loss in needs.items()
        ),
        "<iterations>": ", ".join(
            f"{limit} for {_quoted(solver.name for solver in solvers if solver.max_iter == limit)}" for limit in limits
        ),
    }


def _fill_in(text: str) -> str:
    """Return the text with marks replaced by names; entries with marks are wrapped again."""
    names, entries = _registered_names(), []
    for entry in re.split(r"\n(?=    \S)", text):
        head, *body = entry.split("\n")
        paragraph = " ".join(line.strip() for line in body)
        for mark, words in names.items():
            paragraph = paragraph.replace(mark, words)
        if any(mark in entry for mark in names):
            indent = " " * 8
            body = textwrap.wrap(
                paragraph, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
            )
        entries.append("\n".join([head, *body]))
    return "\n".join(entries)


PARAMETERS = _fill_in(_PARAMETERS)
