"""How to minimise a regularized risk: ``J(f) = L(p) + ½ α ‖f‖²`` over functions f with predictions p.

>>> import vectrick as vt
>>> sorted(vt.solvers.SOLVERS)[:3]
['box', 'cg', 'direct']
"""

from vectrick.solvers.base import SOLVERS, Limits, Solver, as_solver
from vectrick.solvers.cg import ConjugateGradients
from vectrick.solvers.complete_graph import CompleteGraph, Eigen, solve_two_step
from vectrick.solvers.degree_model import DegreeModel
from vectrick.solvers.direct import Direct
from vectrick.solvers.hinge_dual import Box
from vectrick.solvers.lbfgs import LBFGS
from vectrick.solvers.minimise import check_solver, iterative_solver, minimise, minimise_path
from vectrick.solvers.minres import Minres
from vectrick.solvers.newton_steps import Newton, NewtonDirect, NewtonQMR
from vectrick.solvers.one_pass import OnePass
from vectrick.solvers.preconditioned import Patience
from vectrick.solvers.qmr import QMR
from vectrick.solvers.solution import Iterate, Solution
from vectrick.solvers.space import Dual, Primal, Space

for _kind in (ConjugateGradients, Minres, QMR, Direct, Eigen, OnePass, Newton, NewtonQMR, NewtonDirect, LBFGS, Box):
    SOLVERS.register(_kind)

__all__ = [
    "SOLVERS",
    "CompleteGraph",
    "DegreeModel",
    "Dual",
    "Iterate",
    "Limits",
    "OnePass",
    "Patience",
    "Primal",
    "Solution",
    "Solver",
    "Space",
    "as_solver",
    "check_solver",
    "iterative_solver",
    "minimise",
    "minimise_path",
    "solve_two_step",
]
