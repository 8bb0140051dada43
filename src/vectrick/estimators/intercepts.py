"""Whether a model has an intercept, where its parameters leave that open."""

from typing import Any

from vectrick.kernels import Linear
from vectrick.losses import Loss, Pointwise
from vectrick.models.kernel_spec import KernelSpec
from vectrick.solvers import as_solver


def sees_products_only(estimator: Any) -> bool:
    """Whether the features of a vertex count only in products with those of its partner."""
    kernels = estimator.start_kernel, estimator.end_kernel
    return all(isinstance(kernel, Linear) or kernel == "linear" for kernel in kernels)


def has_intercept(estimator: Any, spec: KernelSpec, kind: type[Loss]) -> bool:
    """Return whether an estimator with a kernel and a loss adds a constant.

    "auto" does so wherever there is a best one. The hinge loss has it on request only: its dual problem then has a
    constraint, and takes many times as long.

    >>> import vectrick as vt
    >>> models = vt.KronRidge(), vt.KronRidge(solver="minres"), vt.KronRanker()
    >>> [has_intercept(model, KernelSpec.of(model), model._loss_type) for model in models]
    [True, False, False]
    """
    asked = estimator.fit_intercept
    if not isinstance(asked, str):
        return bool(asked)
    if not (issubclass(kind, Pointwise) and kind.is_smooth):
        return False
    if getattr(as_solver(estimator.solver), "needs_symmetric", False):
        return False
    return spec.two_step is None and spec.symmetry >= 0
