"""Small HTML fragments that notebooks show instead of text."""

from collections.abc import Iterable, Sequence
from html import escape
from numbers import Integral, Real
from typing import Any

from vectrick._colours import BLUE, ORANGE

_NUMBER = "text-align:right;font-variant-numeric:tabular-nums"


def html_table(head: Sequence[str], rows: Iterable[Sequence[Any]], strong: int | None = None) -> str:
    """Return a table with right-aligned numbers and at most one row in bold.

    >>> html_table(["path", "time"], [["dense", 1.5]])[:41]
    '<table><thead><tr><th style="text-align:l'
    """
    cells = "".join(f'<th style="text-align:left">{escape(name)}</th>' for name in head)
    body = ""
    for number, row in enumerate(rows):
        weight = ' style="font-weight:bold"' if number == strong else ""
        body += f"<tr{weight}>{''.join(map(_cell, row))}</tr>"
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, Real):
        return f'<td style="text-align:left">{escape(str(value))}</td>'
    return f'<td style="{_NUMBER}">{f"{value:,}" if isinstance(value, Integral) else f"{value:.4g}"}</td>'


def html_block(title: str, *parts: str) -> str:
    """Return a title with parts below it.

    >>> html_block("3 edges")
    '<div><p><strong>3 edges</strong></p></div>'
    """
    return f"<div><p><strong>{escape(title)}</strong></p>{''.join(parts)}</div>"


def html_note(words: str) -> str:
    """Return a line of small text."""
    return f'<p style="opacity:0.8">{escape(words)}</p>'


def html_bar(shares: Sequence[tuple[str, int, str]]) -> str:
    """Return a bar with parts in proportion to their numbers, and a line that explains their colors.

    >>> html_bar([("train", 3, "#069"), ("test", 1, "#c60"), ("nothing", 0, "#000")]).count("title=")
    2
    """
    total = max(1, sum(number for _, number, _ in shares))
    some = [(escape(name), number, colour) for name, number, colour in shares if number]
    parts = "".join(
        f'<span style="display:inline-block;height:1em;width:{100 * number / total:.2f}%;background:{colour}" '
        f'title="{name}: {number:,}"></span>'
        for name, number, colour in some
    )
    names = " &nbsp; ".join(f'<span style="color:{colour}">■</span> {name} {number:,}' for name, number, colour in some)
    return f'<div style="max-width:32em;line-height:0;white-space:nowrap">{parts}</div><p>{names}</p>'


def html_line(heights: Sequence[float], marked: int) -> str:
    """Return a small line chart with one marked point.

    >>> html_line([0.5, 0.8, 0.6], 1).count("<circle")
    1
    """
    width, height = 240, 60
    known = [value for value in heights if value == value]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    step = (width - 16) / max(1, len(heights) - 1)
    places = [
        (8 + step * i, height - 8 - (height - 16) * (value - low) / (high - low or 1.0))
        for i, value in enumerate(heights)
    ]
    points = " ".join(f"{x:.1f},{y:.1f}" for (x, y), value in zip(places, heights, strict=True) if value == value)
    x, y = places[marked]
    return (
        f'<svg width="{width}" height="{height}" role="img" aria-label="scores from {low:.3g} to {high:.3g}">'
        f'<polyline points="{points}" fill="none" stroke="{BLUE}" stroke-width="2"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{ORANGE}"/></svg>'
    )


def html_cells(colours: Sequence[Sequence[str]], label: str) -> str:
    """Return a grid of colored cells; the label describes it for screen readers.

    >>> html_cells([["#069", "#c60"], ["#c60", "#069"]], "two by two").count("<rect")
    4
    """
    size = 26
    boxes = "".join(
        f'<rect x="{size * j}" y="{size * i}" width="{size - 2}" height="{size - 2}" fill="{colour}"/>'
        for i, row in enumerate(colours)
        for j, colour in enumerate(row)
    )
    width, height = size * len(colours[0]), size * len(colours)
    return f'<svg width="{width}" height="{height}" role="img" aria-label="{escape(label)}">{boxes}</svg>'
