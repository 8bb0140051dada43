"""What is minimised: the losses of the paper's table, and the intercept as a property of a loss."""

from vectrick.losses.base import Loss, Pointwise
from vectrick.losses.curvature import Centered, Curvature, Diagonal
from vectrick.losses.hinge import Hinge
from vectrick.losses.intercept import WithIntercept
from vectrick.losses.logistic import Logistic
from vectrick.losses.rankrls import RankRLS
from vectrick.losses.squared import Squared
from vectrick.losses.squared_hinge import SquaredHinge

__all__ = [
    "Centered",
    "Curvature",
    "Diagonal",
    "Hinge",
    "Logistic",
    "Loss",
    "Pointwise",
    "RankRLS",
    "Squared",
    "SquaredHinge",
    "WithIntercept",
]
