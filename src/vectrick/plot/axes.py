"""Axes for figures, with their labels and legends."""

from typing import Any

from vectrick._colours import BLUE, GREEN, ORANGE, PURPLE
from vectrick._typing import Axes

COLOURS = (BLUE, ORANGE, GREEN, PURPLE)


def axes_of(ax: "Axes | None", width: float = 6.0, height: float = 4.0) -> Any:
    """Return the given axes, or the axes of a new figure; raise an error if matplotlib is missing."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("a plot needs matplotlib; install it with pip install 'vectrick[plot]'") from None
    if ax is None:
        return pyplot.subplots(figsize=(width, height), layout="constrained")[1]
    if not hasattr(ax, "plot"):
        raise TypeError(f"ax is of type {type(ax).__name__}, but it must be axes of matplotlib")
    return ax


def clean(ax: Axes, x: str, y: str) -> Any:
    """Label both axes, remove unnecessary lines, and return the axes."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="0.92", linewidth=0.7)
    ax.set_axisbelow(True)
    return ax


def below(ax: Axes) -> None:
    """Put the legend below the axes, so that it hides nothing."""
    ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3)


def plain(name: object) -> str:
    """Return text that matplotlib does not parse as a formula."""
    return str(name).replace("$", r"\$")
