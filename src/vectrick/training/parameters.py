"""The parameters of a fit: which values are valid, and whether there is an intercept."""

from numbers import Integral, Real
from typing import Any, get_args

import numpy as np

from vectrick._typing import ArrayLike, Precision
from vectrick.backends import backend_names
from vectrick.backends.threads import count_threads
from vectrick.data import EdgesLike
from vectrick.kernels import Linear
from vectrick.kernels.maps.landmarks import LANDMARKS
from vectrick.kernels.pairwise import TwoStep
from vectrick.losses import Loss, Pointwise, Squared
from vectrick.metrics.scores import SCORES
from vectrick.models.forms import FORMS
from vectrick.models.kernel_spec import KernelSpec
from vectrick.models.preconditioning import PRECONDITIONERS
from vectrick.solvers import as_solver
from vectrick.solvers.closed_forms.complete_graph import Eigen
from vectrick.training.fitted import Machine, Trainable

_LARGEST = float(np.finfo(np.float64).max)
PRECISIONS = get_args(Precision)
# Parameters that earlier versions did not have, with values that reproduce those versions. Files leave out parameters
# with these values, so that earlier versions can read them and their checkpoints stay valid.
DEFAULTS_OF_OLDER_FILES = {
    "loss": "squared", "preconditioner": "auto", "spectral_filter": "ridge", "filter_iter": 2, "refine": 0,
    "keep_edges": True, "refit": False,
}  # fmt: skip


def check_parameters(estimator: Trainable, validation: tuple[EdgesLike, ArrayLike] | None) -> KernelSpec:
    """Reject invalid parameters before any computation; return the kernel that the parameters describe."""
    if not _is_between(estimator.alpha, 0, np.inf) or estimator.alpha == 0:
        raise ValueError(f"alpha is {estimator.alpha!r}, but it must be a positive number")
    choices = (
        ("form", FORMS),
        ("backend", (*backend_names(), "dask") if isinstance(estimator.backend, str) else (estimator.backend,)),
        ("precision", PRECISIONS),
        ("preconditioner", PRECONDITIONERS),
        ("dtype", (None, "float32", "float64", np.float32, np.float64)),
        ("scoring", ("auto", *SCORES)),
        ("landmarks", LANDMARKS),
    )
    if str(estimator.dtype).removeprefix("torch.") in ("float16", "bfloat16", "half"):
        raise ValueError(
            f"dtype is {estimator.dtype!r}, but with so few digits the solvers do not converge; use dtype='float32', "
            "or precision='mixed' for products in low precision and a result in float64"
        )
    for name, allowed in choices:
        value = getattr(estimator, name)
        if not any(value is choice or value == choice for choice in allowed):
            shown = ", ".join(repr(choice) for choice in allowed if not isinstance(choice, type))
            raise ValueError(f"{name} is {value!r}, but it must be one of {shown}")
    for name, least in (("max_iter", 1), ("inner_iter", 1), ("n_iter_no_change", 1)):
        value = getattr(estimator, name)
        if value is None and name == "max_iter":
            continue
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise ValueError(f"{name} is {value!r}, but it must be an integer of at least {least}")
    value = estimator.n_components
    if value is not None and (isinstance(value, bool) or not isinstance(value, Integral) or value < 1):
        raise ValueError(f"n_components is {value!r}, but it must be a positive integer or None")
    for name in ("tol", "factor_tol"):
        if not _is_between(getattr(estimator, name), 0, 1):
            raise ValueError(f"{name} is {getattr(estimator, name)!r}, but it must be a number in [0, 1)")
    for name in ("keep_edges", "refit"):
        if not isinstance(getattr(estimator, name), bool | np.bool_):
            raise ValueError(f"{name} is {getattr(estimator, name)!r}, but it must be True or False")
    if not isinstance(estimator.fit_intercept, bool | np.bool_) and estimator.fit_intercept != "auto":
        raise ValueError(f"fit_intercept is {estimator.fit_intercept!r}, but it must be True, False or 'auto'")
    if estimator.step is not None and (not _is_between(estimator.step, 0, np.inf) or estimator.step == 0):
        raise ValueError(f"step is {estimator.step!r}, but it must be a positive number or None")
    if not _is_between(estimator.validation_fraction, 0, 1) or estimator.validation_fraction == 0:
        raise ValueError(f"validation_fraction is {estimator.validation_fraction!r}, but it must be between 0 and 1")
    if validation is not None and not (isinstance(validation, tuple | list) and len(validation) == 2):
        raise ValueError(f"validation is of type {type(validation).__name__}, but it must be a pair (X, y)")
    if estimator.precision == "mixed" and (
        str(estimator.dtype) == "float32" or estimator.dtype == np.dtype(np.float32)
    ):
        raise ValueError(
            "precision is 'mixed' and corrects products of float32 to float64, but dtype is 'float32'; leave it out"
        )
    spec = KernelSpec.of(estimator)
    if spec.two_step is not None:
        _check_two_step(estimator, spec.two_step, validation)
    count_threads(estimator.n_threads)
    return spec


def check_in_memory(estimator: Machine) -> None:
    """Reject parameters that apply only to lakes."""
    if estimator.backend == "dask":
        raise ValueError("backend is 'dask', but X is in memory; Dask is for edges of a lake (vt.scan_edges)")


def _check_two_step(estimator: Trainable, kernel: TwoStep, validation: tuple[EdgesLike, ArrayLike] | None) -> None:
    if not estimator._has_two_step:
        raise ValueError(f"pairwise='two_step' is for ridge regression, but this is {type(estimator).__name__}")
    for name in ("start_alpha", "end_alpha"):
        value = getattr(kernel, name)
        if value is not None and (not _is_between(value, 0, np.inf) or value == 0):
            raise ValueError(f"{name} of pairwise is {value!r}, but it must be a positive number or None")
    if (
        estimator.fit_intercept is True
        or estimator.early_stopping
        or validation is not None
        or estimator.form == "primal"
    ):
        raise ValueError("pairwise='two_step' has no intercept, no early stopping and no primal form")
    if estimator._loss_type is not Squared:
        loss = getattr(estimator, "loss", None)
        raise ValueError(f"pairwise='two_step' is for ridge regression, but loss is {loss!r}")
    if estimator.preconditioner == "kronecker":
        raise ValueError("preconditioner is 'kronecker', but pairwise='two_step' has a closed form only; leave it out")
    if not isinstance(as_solver(estimator.solver), Eigen | None):
        raise ValueError(f"solver is {estimator.solver!r}, but pairwise='two_step' has a closed form only")


def _is_between(value: object, low: float, high: float) -> bool:
    """Return whether a value is a number in [low, high)."""
    # Compared without conversion: an integer may be too large for a float, and is then rejected as well.
    number: Any = value
    return isinstance(value, Real) and not isinstance(value, bool) and low <= number <= _LARGEST and number < high


def sees_products_only(estimator: Machine) -> bool:
    """Return whether predictions use features only in products of a start and an end feature."""
    kernels = estimator.start_kernel, estimator.end_kernel
    return all(isinstance(kernel, Linear) or kernel == "linear" for kernel in kernels)


def has_intercept(estimator: Machine, spec: KernelSpec, kind: type[Loss]) -> bool:
    """Return whether an estimator with a kernel and a loss adds an intercept.

    "auto" adds one if there is a best intercept. With the hinge loss it must be requested: the dual problem then has
    a constraint, and takes many times as long to solve.

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
