"""Kronecker product operators that are never formed: factors, paths, the planner."""

from vectrick.operators.base import Operator
from vectrick.operators.factors import LowRank
from vectrick.operators.kron import KronOperator, kron, plan_kron
from vectrick.operators.plan import Plan

__all__ = ["KronOperator", "LowRank", "Operator", "Plan", "kron", "plan_kron"]
