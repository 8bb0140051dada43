"""Warnings that point to the user's own line."""

import sys
import warnings


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the first line of the call stack that is not the package's own, nor that of a cached property."""
    level, frame = 1, sys._getframe()
    own = ("vectrick", "functools")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in own:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
