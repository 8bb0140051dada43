"""Solvers for a regularized risk: ``J(f) = L(p) + ½ α ‖f‖²`` over functions f with predictions p.

>>> import vectrick as vt
>>> sorted(vt.solvers.SOLVERS)[:3]
['box', 'cg', 'direct']
"""

from vectrick.objectives.degree_model import DegreeModel
from vectrick.objectives.space import Dual, Primal, Space
from vectrick.solvers.base import SOLVERS, Limits, Solver, as_solver
from vectrick.solvers.closed_forms.complete_graph import CompleteGraph, Eigen, solve_two_step
from vectrick.solvers.closed_forms.one_pass import OnePass
from vectrick.solvers.hinge_dual import Box
from vectrick.solvers.lbfgs import LBFGS
from vectrick.solvers.linear.cg import ConjugateGradients
from vectrick.solvers.linear.direct import Direct
from vectrick.solvers.linear.minres import Minres
from vectrick.solvers.linear.preconditioned import Patience
from vectrick.solvers.linear.qmr import QMR
from vectrick.solvers.minimise import check_solver, iterative_solver, minimise, minimise_path
from vectrick.solvers.newton_steps import Newton, NewtonDirect, NewtonQMR
from vectrick.solvers.solution import Iterate, Solution

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
