"""Figures of models, paths and splits, with matplotlib (extra ``vectrick[plot]``).

Each function draws into ``ax``, or into a new figure of matplotlib's pyplot, and returns the axes.

>>> import numpy as np, vectrick as vt
>>> X, y = vt.datasets.make_checkerboard(60, noise=0.0, density=0.5, random_state=0)
>>> axes = vt.plot.split(vt.VertexKFold(3, 3, random_state=0), X)
>>> axes.get_xlabel()
'end vertices'
"""

from vectrick.plot.curves import history, path, roc
from vectrick.plot.pictures import matrix, split

__all__ = ["history", "matrix", "path", "roc", "split"]
