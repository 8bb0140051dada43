"""The entry point to all solvers, chosen by name or automatically for a loss."""

from collections.abc import Sequence
from dataclasses import replace

from vectrick._typing import Array
from vectrick.losses import Loss
from vectrick.objectives.degree_model import DegreeModel
from vectrick.objectives.space import Dual, Space
from vectrick.solvers.base import SOLVERS, Limits, Solver, as_solver
from vectrick.solvers.linear.direct import MAX_SIZE
from vectrick.solvers.linear.preconditioned import DualLook, Patience, minimise_preconditioned
from vectrick.solvers.quadratic import QuadraticSolver, gradient_at_zero
from vectrick.solvers.solution import INEXACT, ROUNDING, TOLERANCE, Callback, Solution, finest, rounding


def check_solver(solver: str | Solver, loss: Loss | type[Loss]) -> None:
    """Raise ValueError if a loss does not meet the requirements of a solver.

    Examples
    --------
    >>> import vectrick as vt
    >>> vt.solvers.check_solver("cg", vt.losses.Squared)
    """
    chosen = as_solver(solver)
    if chosen is not None:
        chosen.check(loss)


def _named(loss: Loss | type[Loss]) -> str:
    return "the hinge loss" if loss.is_hinge else (loss if isinstance(loss, type) else type(loss)).__name__


def check_precision(precision: str, solver: Solver | None, loss: Loss | type[Loss], early_stopping: bool) -> None:
    """Raise ValueError if the solver, the loss or early stopping does not support mixed precision."""
    if precision != "mixed":
        return
    if not loss.is_smooth:
        raise ValueError(f"precision is 'mixed', but {_named(loss)} has no solver for it; use precision='full'")
    if solver is not None and not solver.has_mixed:
        names = [repr(name) for name, kind in SOLVERS.items() if kind.has_mixed]
        raise ValueError(
            f"precision is 'mixed' and solver is {solver.label!r}, but mixed precision is for 'auto', "
            f"{' and '.join(names)}; use one of these, or precision='full'"
        )
    if loss.is_quadratic and early_stopping:
        raise ValueError(
            "precision is 'mixed', so the fit goes directly to the minimum of a quadratic loss, but early stopping "
            "requires the iterates on the way; use precision='full', or early_stopping=False"
        )


def check_preconditioner(preconditioner: str, solver: Solver | None, loss: Loss | type[Loss]) -> None:
    """Raise ValueError if the solver or the loss does not support the preconditioner."""
    if preconditioner != "kronecker":
        return
    if not loss.is_smooth:
        raise ValueError(
            f"preconditioner is 'kronecker', which is for smooth losses, but the loss is {_named(loss)}; leave it out"
        )
    if solver is not None and not solver.has_preconditioner:
        names = [repr(name) for name, kind in SOLVERS.items() if kind.has_preconditioner]
        raise ValueError(
            f"preconditioner is 'kronecker' and solver is {solver.label!r}, but the preconditioner is for 'auto', "
            f"{', '.join(names)}; use one of these, or preconditioner='none'"
        )


def check_path_precision(precision: str) -> None:
    """Raise ValueError for mixed precision, because a path of alphas is computed in one Krylov space."""
    if precision == "mixed":
        raise ValueError("precision is 'mixed', but a path of alphas does not support it; use precision='full'")


def choose_solver(space: Space, loss: Loss, early_stopping: bool) -> Solver:
    """Return the solver for "auto": small problems are solved exactly, unless early stopping needs iterates."""
    if loss.is_smooth and space.size <= MAX_SIZE and not early_stopping:
        return SOLVERS["direct" if loss.is_quadratic else "newton-direct"]()
    return iterative_solver(loss)


def iterative_solver(loss: Loss | type[Loss]) -> Solver:
    """Return an iterative solver for a loss, suited to early stopping.

    Conjugate gradients in the kernel's inner product predict well after few iterations, and solve for several shifts
    together. Newton's method uses them for its linear systems.

    Examples
    --------
    >>> import vectrick as vt
    >>> vt.solvers.iterative_solver(vt.losses.Logistic).name
    'newton'
    """
    if not loss.is_smooth:
        if not loss.is_hinge:
            name = (loss if isinstance(loss, type) else type(loss)).__name__
            raise ValueError(f"solver is 'auto', but {name} is not smooth and has no solver; give your own")
        return SOLVERS["box"]()
    return SOLVERS["cg" if loss.is_quadratic else "newton"]()


def minimise(
    space: Space,
    loss: Loss,
    alpha: float,
    *,
    solver: str | Solver = "auto",
    max_iter: int = 100,
    inner_iter: int = 100,
    step: float | None = None,
    tol: float = 1e-6,
    start: Array | None = None,
    fit_intercept: bool = False,
    precision: str = "full",
    callback: Callback | None = None,
    model: DegreeModel | None = None,
    patience: Patience | None = None,
    warm: bool = False,
) -> Solution:
    """Minimize ``L(p) + ½ α ‖f‖²``, and warn with ConvergenceWarning if the tolerance was not reached.

    Parameters
    ----------
    space : Dual or Primal
        The functions to minimize over.
    loss : Loss
        The loss, with its labels.
    alpha : float
        The weight of the regularizer, positive.
    solver : str or Solver
        A name in `SOLVERS`, or a solver object. "newton-qmr" with ``max_iter=10, inner_iter=10, step=1.0`` is the
        paper's setting for the SVM, "minres" with ``max_iter=100`` its setting for ridge regression.
    step : float, optional
        A fixed step of Newton's method; by default the exact line search.
    tol : float
        The norm of the gradient relative to its norm at the zero function, or for "box" the duality gap relative to
        the risk; at least 1e-4 in float32.
    start : array, optional
        Coefficients to start from. Newton's method continues from them as if it had never stopped; methods that build
        up a Krylov space begin a new one there.
    fit_intercept : bool
        Whether "box" finds an intercept; other losses are wrapped by `WithIntercept`.
    precision : str
        "full" or "mixed". "mixed" finds directions in low precision if the solver supports it ("cg" and "newton").
        For a quadratic loss, ``max_iter`` then limits the iterations that find all directions, and each correction
        counts as one iteration.
    callback : callable, optional
        Called with an `Iterate` after each iteration; the solver stops if it returns True.
    model : DegreeModel, optional
        The preconditioner, for solvers that support one.
    patience : Patience, optional
        When to give up the preconditioner.
    warm : bool
        Whether ``start`` is the solution of another problem, and not an iterate of this one.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> space = vt.solvers.Dual(vt.kron(np.diag([1.0, 3.0]), np.eye(2)))
    >>> found = vt.solvers.minimise(space, vt.losses.Squared(np.ones(4)), 1.0)
    >>> found.converged, found.x  # (A + I)⁻¹ y
    (True, array([0.5 , 0.5 , 0.25, 0.25]))
    """
    chosen = as_solver(solver) or choose_solver(space, loss, callback is not None)
    chosen.check(loss)
    tol = max(tol, finest(loss.y))
    mixed = precision == "mixed" and chosen.has_mixed
    limits = Limits(tol, max_iter, inner_iter, step, start, fit_intercept, mixed, callback=callback)
    if model is not None and chosen.has_preconditioner:
        solution = minimise_preconditioned(space, loss, alpha, chosen, limits, model, patience)
    else:
        solution = chosen.minimise(space, loss, alpha, limits)
        if warm and isinstance(space, Dual) and loss.is_smooth and solution.converged:
            solution = _without_null_space(space, loss, alpha, solution, tol)
    # Mixed precision already stops on a full-precision gradient.
    if chosen.verified == "always" or (chosen.verified and solution.converged and not mixed):
        solution = _verified(space, loss, alpha, solution, tol, _scale(space, loss, solution))
    solution.warn(chosen.label, tol)
    return solution


def _without_null_space(space: Dual, loss: Loss, alpha: float, solution: Solution, tol: float) -> Solution:
    """Return the same function with dual coefficients ``-L'(p) / α``, if these meet the tolerance.

    Start coefficients may have a component that the kernel maps to zero. No solver would remove it.
    """
    look = DualLook(space, loss, alpha, tol)
    look.scale = _scale(space, loss, solution)
    look.look(solution.predictions)
    if look.relative > tol:
        return solution
    return replace(solution, x=look.a, predictions=look.f, n_products=space.n_products)


def _scale(space: Space, loss: Loss, solution: Solution) -> float:
    return gradient_at_zero(space, loss) if solution.scale is None else solution.scale


def _verified(space: Space, loss: Loss, alpha: float, solution: Solution, tol: float, first: float) -> Solution:
    """Return a solution whose ``converged`` is computed from its coefficients, not from a recurrence."""
    f = space.predict(solution.x)
    rest = space.measured(space.lift(loss.gradient(f)) + alpha * solution.x).norm
    relative = rest / first if first else 0.0
    near = relative <= 10 * tol
    reached = relative <= tol or (solution.converged and (near or relative <= rounding(f)))
    reason = solution.reason
    if reached != solution.converged:
        reason = TOLERANCE if reached else INEXACT
    elif reached and not near:
        reason = ROUNDING
    residuals = [*solution.residuals, relative]
    return replace(solution, predictions=f, converged=reached, reason=reason, residuals=residuals)


def minimise_path(
    space: Space,
    loss: Loss,
    alphas: Sequence[float],
    *,
    solver: str | Solver = "auto",
    max_iter: int = 100,
    tol: float = 1e-6,
) -> list[Solution]:
    """Minimize a quadratic loss for every alpha, at about the cost of the smallest one.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> space = vt.solvers.Dual(vt.kron(np.diag([1.0, 3.0]), np.eye(2)))
    >>> found = vt.solvers.minimise_path(space, vt.losses.Squared(np.ones(4)), [1.0, 3.0])
    >>> [solution.x[0].round(6) for solution in found]
    [np.float64(0.5), np.float64(0.25)]
    """
    if not loss.is_quadratic:
        name = type(getattr(loss, "loss", loss)).__name__  # the loss that `WithIntercept` wraps
        raise ValueError(f"the loss is {name}, but one fit for all alphas is for quadratic losses; fit each alpha")
    check_solver(solver, loss)
    chosen = as_solver(solver) or choose_solver(space, loss, False)
    if not (isinstance(chosen, QuadraticSolver) and chosen.solves_paths):
        names = [repr(name) for name, kind in SOLVERS.items() if getattr(kind, "solves_paths", False)]
        raise ValueError(
            f"solver is {solver!r}, but only {', '.join(names[:-1])} and {names[-1]} solve for several alphas together"
        )
    tol = max(tol, finest(loss.y))
    solutions = chosen.minimise_all(space, loss, alphas, Limits(tol, max_iter))
    first = _scale(space, loss, solutions[0])
    pairs = zip(alphas, solutions, strict=True)
    solutions = [_verified(space, loss, alpha, solution, tol, first) for alpha, solution in pairs]
    worst = max(solutions, key=lambda solution: (not solution.converged, solution.residuals[-1]))
    worst.warn(chosen.label, tol)
    return solutions
