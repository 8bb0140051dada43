"""How to minimise a regularized risk: ``J(f) = L(p) + ½ α ‖f‖²`` over functions f with predictions p."""

from vectrick.solvers.complete import solve_complete, solve_two_step
from vectrick.solvers.minimise import SOLVERS, check_solver, minimise, minimise_path
from vectrick.solvers.solution import Iterate, Solution
from vectrick.solvers.space import Dual, Primal, Space

__all__ = [
    "SOLVERS",
    "Dual",
    "Iterate",
    "Primal",
    "Solution",
    "Space",
    "check_solver",
    "minimise",
    "minimise_path",
    "solve_complete",
    "solve_two_step",
]
