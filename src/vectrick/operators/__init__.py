"""Kronecker product operators that are never formed: factors, paths, the planner."""

from vectrick.operators.base import Operator
from vectrick.operators.construction import kron, plan_kron
from vectrick.operators.factors import LowRank
from vectrick.operators.kron import KronOperator
from vectrick.operators.kron_sums import KronSum, kron_sum
from vectrick.operators.kron_terms import ONES, Term
from vectrick.operators.plan import Plan

__all__ = ["ONES", "KronOperator", "KronSum", "LowRank", "Operator", "Plan", "Term", "kron", "kron_sum", "plan_kron"]
