"""Plots of comparisons, by matplotlib."""

from pathlib import Path
from typing import Any

import numpy as np

from vectrick._files import replacing
from vectrick.data.settings import SETTINGS
from vectrick.kernels.pairwise import PAIRWISE

_MARKERS = "osD^vPX*<>"


def plot_kernels(frame: Any, scoring: str, path: Path | str | None = None) -> Any:
    """Return a figure with the scores of each kernel in each setting, side by side with their spread."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("a plot needs matplotlib; pip install 'vectrick[plot]' brings it") from None
    settings, known = list(dict.fromkeys(frame["setting"])), list(PAIRWISE)
    names = sorted(set(frame["kernel"]), key=lambda name: (known.index(name) if name in known else len(known), name))
    kernels = {name: known.index(name) if name in known else len(known) + i for i, name in enumerate(names)}
    figure = Figure(figsize=(1.6 + 2.1 * len(settings), 3.6), layout="constrained")
    axes = figure.subplots()
    for number, (kernel, colour) in enumerate(kernels.items()):
        results = frame[frame["kernel"] == kernel].set_index("setting")
        shift = (number - (len(kernels) - 1) / 2) * 0.8 / len(kernels)
        places = [settings.index(setting) + shift for setting in results.index]
        axes.errorbar(
            places, results["mean"], yerr=np.nan_to_num(results["spread"]), fmt=_MARKERS[colour % len(_MARKERS)],
            color=f"C{colour % 10}", markersize=5, capsize=2, linewidth=1, label=kernel,
        )  # fmt: skip
    if scoring in ("auc", "concordance"):
        axes.axhline(0.5, color="0.6", linewidth=0.8, linestyle=":", label="chance")
    for place in range(1, len(settings)):
        axes.axvline(place - 0.5, color="0.85", linewidth=0.8)
    axes.set_xticks(range(len(settings)), [SETTINGS[setting].words for setting in settings])
    axes.set_ylabel(f"{scoring}: mean, standard deviation over folds")
    axes.grid(axis="y", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    figure.legend(loc="outside right upper", frameon=False)
    if path is not None:
        with replacing(path) as draft:
            figure.savefig(draft, dpi=150, format=Path(path).suffix[1:] or "png")
    return figure
