"""The style of the figures, and the format of tables and times."""

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

__all__ = ["COLOURS", "PAPER", "markdown", "pyplot", "save", "seconds"]

COLOURS = {
    "KronSVM": "#0b6e4f",
    "KronRidge": "#2a9d8f",
    "SGD hinge": "#b08968",
    "SGD logistic": "#ddb892",
    "KNN": "#8d99ae",
    "LIBSVM": "#9d4edd",
    "tuned vectrick": "#d1495b",
    "vec trick": "#e07a5f",
}
PAPER = {"marker": "D", "color": "black", "linestyle": "none", "markersize": 5, "markerfacecolor": "white", "zorder": 5}

pyplot.rcParams.update(
    {
        "figure.dpi": 110,
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": "#e6e6e6",
        "axes.axisbelow": True,
        "legend.frameon": False,
        "svg.hashsalt": "vectrick",
        "svg.fonttype": "none",
    }
)


def save(figure: Any, path: Path) -> None:
    """Write a figure as PNG and as SVG."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path.with_suffix(".png"), bbox_inches="tight", metadata={"Software": None})
    figure.savefig(path.with_suffix(".svg"), bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def seconds(value: float) -> str:
    """Return a time with its unit."""
    if value >= 100:
        return f"{value:,.0f} s"
    return f"{value:.3g} s" if value >= 1 else f"{value * 1e3:.3g} ms"
