"""Extensions: users' own kernels, pairwise kernels, losses, solvers and backends, registered by name."""

from typing import Any, TypeVar

from vectrick._registry import Registry
from vectrick.backends import Backend, own_backends, register_backend
from vectrick.kernels import KERNELS, Kernel
from vectrick.kernels.pairwise import PAIRWISE, PairwiseKernel
from vectrick.losses import LOSSES, Loss
from vectrick.solvers import SOLVERS, Solver

T = TypeVar("T")

FAMILIES: dict[type, Registry] = {  # type: ignore[type-arg]
    Kernel: KERNELS,
    PairwiseKernel: PAIRWISE,
    Loss: LOSSES,
    Solver: SOLVERS,
}


def registered() -> list[Any]:
    """Return the extensions that users have registered, for worker processes."""
    kinds = [kind for registry in FAMILIES.values() for kind in registry.kinds()]
    return [kind for kind in kinds if not kind.__module__.startswith("vectrick.")] + own_backends()


def register(extension: T) -> T:
    """Register your own class for use by name: in parameters, in text such as ``"mine + constant"``, and in files.

    Kernels, pairwise kernels, losses and solvers also work in `fit` without registration. The name is valid in this
    process and in processes that vectrick's own searches start; for other pools of processes, such as scikit-learn's,
    pass the object. A model file stores extensions by name, so register them in the process that calls `vectrick.load`
    as well.

    Parameters
    ----------
    extension : class or Backend
        A subclass of `vectrick.kernels.Kernel`, `vectrick.pairwise.PairwiseKernel`, `vectrick.losses.Loss` or
        `vectrick.solvers.Solver` with a ``name``, or an object of a subclass of `vectrick.backends.Backend`.

    Returns
    -------
    class or Backend
        The argument itself, so that ``@vt.register`` works as a class decorator.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> @vt.register
    ... class Exponential(vt.kernels.Kernel):
    ...     name = "exponential"
    ...     def _matrix(self, X, Y):
    ...         return np.exp(-np.abs(X[:, None] - Y).sum(axis=2))
    ...     def diagonal(self, X):
    ...         return np.ones(len(X))
    >>> X, y = vt.datasets.make_checkerboard(20, random_state=0)
    >>> vt.KronRidge("exponential", "exponential").fit(X, y).score(X, y) > 0.5
    True
    """
    if isinstance(extension, Backend):
        register_backend(extension)
        return extension
    for base, registry in FAMILIES.items():
        if isinstance(extension, type) and issubclass(extension, base):
            registry.register(extension)
            return extension
    names = ", ".join(base.__name__ for base in FAMILIES)
    what = extension.__name__ if isinstance(extension, type) else f"an object of type {type(extension).__name__}"
    raise TypeError(f"register was given {what}, but it takes a subclass of {names}, or a Backend object")
