"""Warnings that point to the line of the user's code."""

import sys
import warnings


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the innermost line of the call stack that is outside of vectrick and functools."""
    level, frame = 1, sys._getframe()
    own = ("vectrick", "functools")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in own:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
