"""The losses of the paper's table, and the intercept as a property of a loss.

>>> import numpy as np, vectrick as vt
>>> bool(vt.losses.Logistic(np.array([1.0])).value(np.zeros(1)) == np.log(2))
True
"""

from vectrick.losses.base import LOSSES, Formula, Loss, Pointwise
from vectrick.losses.censored import Censored
from vectrick.losses.curvature import Centered, Curvature, Diagonal, Identity
from vectrick.losses.hinge import Hinge
from vectrick.losses.intercept import WithIntercept
from vectrick.losses.logistic import Logistic
from vectrick.losses.rankrls import RankRLS
from vectrick.losses.squared import Squared
from vectrick.losses.squared_hinge import SquaredHinge

for _kind in (Squared, Censored, SquaredHinge, Hinge, Logistic, RankRLS):
    LOSSES.register(_kind)

COMPILED: tuple[type[Formula], ...] = (Squared, SquaredHinge, Logistic)  # in passes over sorted edges


def as_loss(value: object, of_classes: bool) -> type[Loss]:
    """Return the class of a loss, given its name or the class; raise an error if it is for the other kind of labels.

    >>> as_loss("hinge", of_classes=True)
    <class 'vectrick.losses.hinge.Hinge'>
    """
    if isinstance(value, type) and issubclass(value, Loss):
        kind: type[Loss] = value
    elif isinstance(value, str) and value in LOSSES:
        kind = LOSSES[value]
    else:
        names = ", ".join(repr(name) for name, known in LOSSES.items() if known.of_classes == of_classes)
        raise ValueError(f"loss is {value!r}, but it must be one of {names}, or a subclass of vectrick.losses.Loss")
    if kind.of_classes != of_classes:
        labels = "classes" if kind.of_classes else "real-valued labels"
        raise ValueError(
            f"loss is {value!r}, but it is for {labels}; use {'KronSVM' if kind.of_classes else 'KronRidge'}"
        )
    return kind


__all__ = [
    "COMPILED",
    "LOSSES",
    "Censored",
    "Centered",
    "Curvature",
    "Diagonal",
    "Formula",
    "Hinge",
    "Identity",
    "Logistic",
    "Loss",
    "Pointwise",
    "RankRLS",
    "Squared",
    "SquaredHinge",
    "WithIntercept",
    "as_loss",
]
