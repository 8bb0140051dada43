"""Figures as plain data for Plotly, with the names that the page gives to colors."""

from html import escape
from typing import Any

import numpy as np

from vectrick._typing import Array, Frame

COLOURS = ("--one", "--two", "--three", "--four", "--grey")
_POINTS = 400  # points of a curve
_DOTS = 4000  # points of a scatter plot
_FEW = 10  # edges that are enough for a share
_DIVERGING = ((0.0, "#2166ac"), (0.25, "#92c5de"), (0.5, "#f7f7f7"), (0.75, "#f4a582"), (1.0, "#b2182b"))

_SEQUENTIAL = ((0.0, "#440154"), (0.25, "#3b528b"), (0.5, "#21918c"), (0.75, "#5ec962"), (1.0, "#fde725"))
_STRETCH = 0.5  # power that stretches distances from the middle, because few cells are far from it

Figure = dict[str, Any]


def numbers(values: Any, digits: int = 5) -> list[Any]:
    """Return numbers rounded to the digits that a figure can show, None for numbers that are not finite."""
    return [
        float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in np.asarray(values, float).tolist()
    ]


def titled(name: str, **more: Any) -> dict[str, Any]:
    """Return an axis with a title."""
    return {"title": {"text": name}, **more}


def history(values: dict[str, list[Any]], scoring: str, best: int) -> Figure:
    """Return the risk in each iteration and, below it, the score."""
    x = values["iteration"]
    data: list[Any] = [
        {"x": x, "y": numbers(values["risk"]), "name": "risk", "mode": "lines+markers", "line": {"color": "--one"}}
    ]
    layout: dict[str, Any] = {"xaxis": titled("iteration"), "yaxis": titled("regularized risk"), "showlegend": False}
    if "score" in values:
        data.append({"x": x, "y": numbers(values["score"]), "name": scoring, "mode": "lines+markers",
                     "line": {"color": "--two"}, "xaxis": "x", "yaxis": "y2"})  # fmt: skip
        layout |= {
            "yaxis": titled("regularized risk", domain=[0.56, 1.0]),
            "yaxis2": titled(f"{scoring}, held out", domain=[0.0, 0.44]),
            "xaxis": titled("iteration", anchor="y2"),
            "shapes": [{"type": "line", "x0": best, "x1": best, "yref": "paper", "y0": 0, "y1": 1,
                        "line": {"color": "--grey", "dash": "dot"}}],
            "annotations": [{"x": best, "yref": "paper", "y": 1.0, "text": f"kept: {best}", "showarrow": False,
                             "yanchor": "bottom"}],
        }  # fmt: skip
    return {"data": data, "layout": layout}


def curves(
    parts: dict[str, tuple[Array, Array]], scores: dict[str, float], called: str = "AUC"
) -> tuple[Figure, Figure]:
    """Return the ROC and the precision-recall curves by setting; ``called`` names the scores in the legend."""
    from sklearn.metrics import average_precision_score, precision_recall_curve, roc_curve

    roc: list[Any] = [
        {"x": [0, 1], "y": [0, 1], "mode": "lines", "name": "chance", "line": {"color": "--grey", "dash": "dot"}}
    ]
    recall: list[Any] = []
    for (name, (y, scored)), colour in zip(parts.items(), COLOURS, strict=False):
        false, true, _ = roc_curve(y, scored)
        roc.append(_line(false, true, f"{name}, {called} {scores[name]:.3f}", colour))
        precision, found_share, _ = precision_recall_curve(y, scored)
        mean = average_precision_score(y, scored)
        recall.append(_line(found_share[::-1], precision[::-1], f"{name}, mean {mean:.3f}", colour))
        share = float((y == y.max()).mean())
        recall.append({"x": [0, 1], "y": [share, share], "mode": "lines", "showlegend": False,
                       "line": {"color": colour, "dash": "dot", "width": 1}})  # fmt: skip
    square = {"range": [0, 1]}
    legend = {"orientation": "v", "x": 0.99, "xanchor": "right", "y": 0.02, "yanchor": "bottom"}
    high = {**legend, "y": 0.98, "yanchor": "top"}
    return (
        {"data": roc, "layout": {"xaxis": titled("false positive rate", **square),
                                 "yaxis": titled("true positive rate", range=[0, 1.01]), "legend": legend}},
        {"data": recall, "layout": {"xaxis": titled("recall", **square), "yaxis": titled("precision", range=[0, 1.01]),
                                    "legend": high}},
    )  # fmt: skip


def _line(x: Array, y: Array, name: str, colour: str) -> dict[str, Any]:
    length = np.append(0.0, np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y))))  # points evenly spaced along the curve
    taken = np.unique(np.searchsorted(length, np.linspace(0, length[-1], _POINTS)).clip(0, len(x) - 1))
    return {
        "x": numbers(x[taken], 4),
        "y": numbers(y[taken], 4),
        "mode": "lines",
        "name": name,
        "line": {"color": colour},
    }


def measured(parts: dict[str, tuple[Array, Array]], label: str) -> Figure:
    """Return predicted against measured values by setting."""
    label = escape(label)  # Plotly interprets some tags
    data: list[Any] = []
    low, high = np.inf, -np.inf
    for number, ((name, (y, predicted)), colour) in enumerate(zip(parts.items(), COLOURS, strict=False)):
        taken = np.random.default_rng(0).permutation(len(y))[:_DOTS]
        low, high = min(low, float(y.min())), max(high, float(y.max()))
        data.append({"x": numbers(y[taken], 4), "y": numbers(predicted[taken], 4), "mode": "markers",
                     "name": name, "marker": {"color": colour, "size": 4, "opacity": 0.5},
                     "visible": True if number == 0 else "legendonly"})  # fmt: skip
    data.append(
        {
            "x": [low, high],
            "y": [low, high],
            "mode": "lines",
            "name": "equal",
            "line": {"color": "--grey", "dash": "dot"},
        }
    )
    return {"data": data, "layout": {"xaxis": titled(f"measured {label}"), "yaxis": titled(f"predicted {label}")}}


def settings(scores: dict[str, float], scoring: str) -> Figure:
    """Return a bar with the score of each setting."""
    data = [{"type": "bar", "orientation": "h", "x": numbers(list(scores.values())), "y": list(scores),
             "marker": {"color": "--one"}, "text": [f"{score:.3f}" for score in scores.values()],
             "textposition": "auto"}]  # fmt: skip
    layout = {"xaxis": titled(f"{scoring} on held-out edges"), "yaxis": titled("test edges", autorange="reversed")}
    return {"data": data, "layout": {**layout, "showlegend": False}}


def comparison(rows: Frame, names: dict[str, str], scoring: str) -> Figure:
    """Return a box with a dot for each fold, for each setting and method."""
    data = []
    for (method, results), colour in zip(rows.groupby("method", sort=False), COLOURS * 3, strict=False):
        data.append({"type": "box", "name": method, "x": [names[new] for new in results["setting"]],
                     "y": numbers(results["score"]), "boxpoints": "all", "pointpos": 0, "jitter": 0.4,
                     "marker": {"color": colour, "size": 5}, "line": {"color": colour, "width": 1}})  # fmt: skip
    return {
        "data": data,
        "layout": {"xaxis": titled("test edges"), "yaxis": titled(scoring), "boxmode": "group"},
    }


def calibration(parts: dict[str, tuple[Array, Array]], n_bins: int = 10) -> Figure:
    """Return the shares of positive edges against predicted probabilities by setting, for bins with enough edges."""
    data: list[Any] = [
        {"x": [0, 1], "y": [0, 1], "mode": "lines", "name": "perfect", "line": {"color": "--grey", "dash": "dot"}},
    ]
    for (name, (y, chance)), colour in zip(parts.items(), COLOURS, strict=False):
        bins = np.minimum((chance * n_bins).astype(int), n_bins - 1)
        filled = [bin for bin in range(n_bins) if (bins == bin).sum() >= max(1, min(_FEW, len(y) // n_bins))]
        counts = np.array([int((bins == bin).sum()) for bin in filled])
        data.append({
            "x": numbers([float(chance[bins == bin].mean()) for bin in filled]),
            "y": numbers([float((y[bins == bin] == y.max()).mean()) for bin in filled]),
            "mode": "lines+markers", "name": name, "text": [f"{count} edges" for count in counts],
            "line": {"color": colour}, "marker": {"size": numbers(4 + 14 * np.sqrt(counts / counts.max()), 3)},
        })  # fmt: skip
    square = {"range": [-0.02, 1.02]}
    return {"data": data, "layout": {"xaxis": titled("predicted probability", **square),
                                     "yaxis": titled("share of positive edges", **square)}}  # fmt: skip


def coverage(nominal: list[float], lines: dict[str, list[float]]) -> Figure:
    """Return the measured against the nominal coverage of intervals by setting."""
    ends = [min(nominal), 1.0]
    data: list[Any] = [
        {
            "x": ends,
            "y": ends,
            "mode": "lines",
            "name": "measured = nominal",
            "line": {"color": "--grey", "dash": "dot"},
        }
    ]
    for (name, shares), colour in zip(lines.items(), COLOURS, strict=False):
        data.append({"x": nominal, "y": numbers(shares), "mode": "lines+markers", "name": name,
                     "line": {"color": colour}})  # fmt: skip
    return {"data": data, "layout": {"xaxis": titled("nominal coverage"), "yaxis": titled("measured coverage")}}


def by_novelty(lines: dict[str, tuple[list[float], list[float]]], score: str) -> Figure:
    """Return the score of held-out edges against their novelty by setting."""
    data = [
        {"x": numbers(x), "y": numbers(y), "mode": "lines+markers", "name": name, "line": {"color": colour}}
        for (name, (x, y)), colour in zip(lines.items(), COLOURS, strict=False)
    ]
    return {"data": data, "layout": {"xaxis": titled("novelty, mean of a tenth of the edges"), "yaxis": titled(score),
                                     "showlegend": True}}  # fmt: skip


def nearest(counts: dict[str, Array], n_bins: int) -> Figure:
    """Return the shares of held-out vertices by their similarity to the nearest training vertex."""
    middles = [(place + 0.5) / n_bins for place in range(n_bins)]
    data = [
        {"type": "bar", "x": numbers(middles), "y": numbers(count / max(1, count.sum())), "name": name,
         "marker": {"color": colour}}
        for (name, count), colour in zip(counts.items(), COLOURS, strict=False)
    ]  # fmt: skip
    return {"data": data, "layout": {"xaxis": titled("similarity to the nearest training vertex", range=[0, 1]),
                                     "yaxis": titled("share of vertices"), "showlegend": True}}  # fmt: skip


def by_similarity(lines: dict[str, tuple[list[float], list[float]]], score: str) -> Figure:
    """Return the score of held-out edges against the similarity of their vertices to training vertices."""
    found = by_novelty(lines, score)
    found["layout"]["xaxis"] = titled("similarity to the nearest training vertex, mean of a fifth of the edges")
    return found


def _stretched(colours: Any, middle: float) -> list[list[Any]]:
    """Return a color scale with the middle color at ``middle`` of the range, and the fastest change there.

    Most scores of a sparse graph are close together. A scale that is cut at a quantile would show all scores beyond it
    in one color.
    """
    scale = []
    for at, colour in colours:
        distance = abs(2 * at - 1) ** (1 / _STRETCH)
        place = middle * (1 - distance) if at <= 0.5 else middle + (1 - middle) * distance
        scale.append([min(1.0, max(0.0, place)), colour])
    scale[0][0], scale[-1][0] = 0.0, 1.0
    return scale


def heat_map(
    grid: Array, starts: list[str], ends: list[str], states: list[str], words: list[str], signed: bool
) -> Figure:
    """Return a heat map of predictions; ``states`` has a character for each pair: an index into ``words``."""
    low, high = float(grid.min()), float(grid.max())
    low, high = min(low, high - 1e-6), max(high, low + 1e-6)
    middle = float(np.median(grid)) if not signed else min(max(0.0, low), high)
    scale = _stretched(_DIVERGING if signed else _SEQUENTIAL, (middle - low) / (high - low))
    trace = {
        "type": "heatmap", "z": [numbers(row, 3) for row in grid], "starts": starts, "ends": ends, "states": states,
        "words": words, "zmin": low, "zmax": high, "colorscale": scale,
        "colorbar": {"title": {"text": "score"}, "thickness": 12, "outlinewidth": 0},
    }  # fmt: skip
    layout = {
        "xaxis": titled("end vertices", type="category", nticks=20),
        "yaxis": titled("start vertices", type="category", nticks=30),
    }
    return {"data": [trace], "layout": layout}
