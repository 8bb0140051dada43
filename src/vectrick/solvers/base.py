"""The base class of solvers: methods that minimize a regularized risk and declare the losses that they support."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from sklearn.base import BaseEstimator

from vectrick._registry import Registry
from vectrick._typing import Array
from vectrick.losses import Loss
from vectrick.objectives.degree_model import DegreeModel
from vectrick.objectives.space import Element, Space
from vectrick.solvers.solution import Callback, Solution

# Called when a tolerance was reached, with the function and its residual; returns None, or a smaller tolerance.
Accept = Callable[[Element, float], float | None]


@dataclass(frozen=True)
class Limits:
    """When a solver stops, and the coefficients that it starts from.

    It costs O(1).

    Attributes
    ----------
    tol : float
        The tolerance for stopping, in the solver's own measure.
    max_iter, inner_iter : int
        The maximum number of iterations, and of iterations within a step of Newton's method.
    step : float, optional
        A fixed step of Newton's method; None for the exact line search.
    start : array, optional
        Coefficients to start from.
    fit_intercept : bool
        Whether to find an intercept, for losses that are not smooth; other losses are wrapped by `WithIntercept`.
    mixed : bool
        Whether to find directions with products of low precision.
    budget : int, optional
        The maximum number of iterations for all directions in low precision together.
    callback : callable, optional
        Called with an `Iterate` after each iteration; the solver stops if it returns True.
    model : DegreeModel, optional
        The preconditioner; the space is then the space of its features.
    accept : callable, optional
        With a model, called when the tolerance is reached; returns None, or a smaller tolerance.

    Examples
    --------
    >>> import vectrick as vt
    >>> vt.solvers.Limits(tol=1e-6, max_iter=100).inner_iter
    100
    """

    tol: float
    max_iter: int
    inner_iter: int = 100
    step: float | None = None
    start: Array | None = None
    fit_intercept: bool = False
    mixed: bool = False
    budget: int | None = None
    callback: Callback | None = None
    model: DegreeModel | None = None
    accept: Accept | None = None


class Solver(BaseEstimator, ABC):
    """A method to minimize ``L(p) + ½ α ‖f‖²`` over the functions of a space.

    A subclass defines `minimise` and declares its requirements. An estimator accepts an instance as ``solver=``, or its
    name once it is registered (``vt.register``).

    The cost is counted in products with the edge kernel matrix, `Solution.n_products`. Each iteration also takes O(n).

    Examples
    --------
    >>> import vectrick as vt
    >>> solver = vt.solvers.as_solver("newton")
    >>> isinstance(solver, vt.solvers.Solver), solver.needs
    (True, ('is_smooth',))
    """

    name = ""
    needs: ClassVar[tuple[str, ...]] = ("is_smooth",)  # attributes that a loss must have; see `NEEDS`
    max_iter = 1000  # the default
    is_general = True  # whether it suits every loss that meets `needs`, so that error messages may suggest it
    has_mixed = False  # whether it supports directions of low precision
    has_preconditioner = False  # whether it supports a degree model as preconditioner
    verified = "converged"  # when the gradient is recomputed at the end: if it "converged", "always", or never ("")

    @abstractmethod
    def minimise(self, space: Space, loss: Loss, alpha: float, limits: Limits) -> Solution:
        """Return the minimum, or the point where the method stopped."""

    @property
    def label(self) -> str:
        """The name in messages."""
        return self.name or type(self).__name__

    def check(self, loss: Loss | type[Loss]) -> None:
        """Raise ValueError if a loss lacks an attribute that the method needs."""
        missing = next((need for need in self.needs if not getattr(loss, need, False)), None)
        if missing is None:
            return
        kind = loss if isinstance(loss, type) else type(loss)
        suit = [
            repr(name)
            for name, solver in SOLVERS.items()
            if solver.is_general and all(getattr(loss, need, False) for need in solver.needs)
        ]
        use = f"; use {', '.join(suit)} or 'auto'" if suit else "; give a solver of your own"
        why = NEEDS.get(missing, f"needs a loss with {missing}")
        raise ValueError(f"solver is {self.label!r}, which {why}, but the loss is {kind.__name__}{use}")


# How error messages describe each need.
NEEDS = {
    "is_smooth": "needs a smooth loss",
    "is_quadratic": "needs a quadratic loss",
    "is_hinge": "is for the hinge loss",
}

SOLVERS: Registry[Solver] = Registry("solver", Solver)


def as_solver(value: object) -> Solver | None:
    """Return a solver by its name, or the given solver object; None for "auto".

    Examples
    --------
    >>> import vectrick as vt
    >>> vt.solvers.as_solver("cg").name, vt.solvers.as_solver("auto")
    ('cg', None)
    """
    if isinstance(value, Solver):
        return value
    if isinstance(value, str) and value == "auto":
        return None
    if isinstance(value, str) and value in SOLVERS:
        return SOLVERS[value]()
    names = ", ".join(map(repr, ("auto", *SOLVERS)))
    raise ValueError(f"solver is {value!r}, but it must be one of {names}, or a solver object")


def refined(limits: Limits, corrections: int) -> Limits:
    """Return limits for iterative refinement: a number of corrections that share the iterations."""
    return replace(limits, max_iter=corrections, inner_iter=limits.max_iter, budget=limits.max_iter)
