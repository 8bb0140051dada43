"""Draws results of ``make bench`` as an SVG: times of products or of training, compared with other libraries."""

import argparse
import json
import math
from pathlib import Path
from typing import Any

from experiments import paper

COLOURS = {
    "vectrick": "#0b6e4f",
    "dense BLAS": "#8d99ae",
    "SciPy sparse": "#c9ada7",
    "Algorithm 1": "#e0d5c5",
    "LIBSVM": "#8d99ae",
    "RLScore": "#c9ada7",
    "the paper": "#e0d5c5",
}
# Measurements from another run, on a machine of the same kind.
ELSEWHERE = json.loads((Path(__file__).parent / "results" / "elsewhere.json").read_text())
Rows = list[tuple[str, dict[str, float]]]
LEFT, WIDTH, BAR, GAP = 230, 520, 13, 16


def product_rows(results: dict[str, Any]) -> Rows:
    """Return the times of one product in float64 for each graph."""
    rows: Rows = []
    for case in results["cases"]:
        if case["dtype"] == "float64" and case["vectors"] == 1:
            times = {"vectrick": case["paths"][case["planned"]], **case["baselines"]}
            label = f"{case['start']} × {case['end']}, {case['edges']:,} edges"
            rows.append((label, {name: times[name] for name in COLOURS if times.get(name)}))
    return rows


def training_rows(results: dict[str, Any]) -> Rows:
    """Return the times of training in float64, and of prediction compared with LIBSVM."""
    rows: Rows = []
    for row in results["checker"]:
        if row["dtype"] == "float64":
            times = {
                "vectrick": sorted(row["seconds"])[len(row["seconds"]) // 2],
                "RLScore": ELSEWHERE["RLScore"][row["model"]]["seconds"],
            }
            rows.append((f"{row['model']}, 250,000 edges", times))
    for row in results["checker_plus"]:
        if row["dtype"] == "float64":
            times = {"vectrick": row["seconds"], "the paper": paper.of(paper.SECONDS, row["model"], "Checker+")}
            rows.append((f"{row['model']}, 10,240,000 edges", times))
    beside = results["libsvm"]
    for what, word in (("fit", "KronSVM"), ("predict", "its predictions")):
        times = {"vectrick": beside["vectrick"][what], "LIBSVM": beside["libsvm"][what]}
        rows.append((f"{word}, {beside['edges']:,} edges", times))
    return rows


def draw(rows: Rows) -> str:
    """Return the figure: horizontal bars on a logarithmic scale (shorter is better)."""
    low = math.floor(math.log10(min(time for _, times in rows for time in times.values())))
    high = math.ceil(math.log10(max(time for _, times in rows for time in times.values())))
    scale = WIDTH / (high - low)
    body, y = [], 50
    for label, times in rows:
        body.append(f'<text x="{LEFT - 10}" y="{y + 10}" text-anchor="end">{label}</text>')
        for name, time in times.items():
            length = (math.log10(time) - low) * scale
            body.append(f'<rect x="{LEFT}" y="{y}" width="{length:.0f}" height="{BAR - 2}" fill="{COLOURS[name]}"/>')
            body.append(f'<text x="{LEFT + length + 5:.0f}" y="{y + 10}" fill="#555">{_text(time)}</text>')
            y += BAR
        y += GAP
    axis = []
    for i in range(high - low + 1):
        x = round(LEFT + i * scale)
        axis.append(f'<line x1="{x}" x2="{x}" y1="42" y2="{y - 8}" stroke="#ddd"/>')
        axis.append(f'<text x="{x}" y="{y + 6}" text-anchor="middle" fill="#555">{_text(10.0 ** (low + i))}</text>')
    legend = []
    shown = [name for name in COLOURS if any(name in times for _, times in rows)]
    for i, name in enumerate(shown):
        colour = COLOURS[name]
        legend.append(f'<rect x="{LEFT + 130 * i}" y="18" width="12" height="12" fill="{colour}"/>')
        legend.append(f'<text x="{LEFT + 130 * i + 18}" y="28">{name}</text>')
    size = f'width="{LEFT + WIDTH + 90}" height="{y + 20}"'
    style = 'font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#222"'
    parts = "\n".join([*axis, *legend, *body])
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>\n<rect {size} fill="white"/>\n{parts}\n</svg>\n'


def _text(seconds: float) -> str:
    if seconds >= 1000:
        return f"{seconds:,.0f} s"
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, help="the JSON file of the benchmark")
    parser.add_argument("picture", type=Path, help="the SVG file to write")
    options = parser.parse_args()
    results = json.loads(options.results.read_text())
    options.picture.parent.mkdir(parents=True, exist_ok=True)
    options.picture.write_text(draw(product_rows(results) if "cases" in results else training_rows(results)))


if __name__ == "__main__":
    main()
