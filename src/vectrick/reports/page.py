"""A page with sections of text, tables and figures, assembled into one self-contained file."""

import base64
import gzip
import json
import re
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from vectrick._files import check_output, write_text
from vectrick._version import __version__
from vectrick.operators.plan import format_seconds


def check_report(path: Path, force: bool, name: str = "--report", advice: str = "use --force") -> None:
    """Raise if a page cannot be made or written, before any work is done."""
    if path.suffix not in (".html", ".htm"):
        raise ValueError(f"{name} is {str(path)!r}, but its name must end in .html")
    check_output(path, force, advice)
    if find_spec("plotly") is None:
        raise ImportError("a report needs plotly, but it is not installed: pip install 'vectrick[report]'")


@dataclass
class Section:
    """A section of a page; all added text is escaped, except by ``html``."""

    title: str
    parts: list[str] = field(default_factory=list)

    def text(self, words: str) -> None:
        """Add a paragraph."""
        self.parts.append(f"<p>{escape(words)}</p>")

    def html(self, markup: str) -> None:
        """Add markup without escaping; it must be safe."""
        self.parts.append(markup)

    def code(self, words: str) -> None:
        """Add preformatted text."""
        self.parts.append(f"<pre>{escape(words)}</pre>")

    def facts(self, values: dict[str, Any]) -> None:
        """Add a table of names and values."""
        rows = "".join(f"<tr><th>{escape(str(k))}</th><td>{escape(str(v))}</td></tr>" for k, v in values.items())
        self.parts.append(f'<div class="wide"><table class="facts">{rows}</table></div>')

    def table(self, columns: list[str], rows: list[list[Any]], searchable: str = "") -> None:
        """Add a sortable table; a searchable one has a search field for all rows of its data."""
        head = "".join(f"<th{_number_class(rows, j)}>{escape(name)}</th>" for j, name in enumerate(columns))
        body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
        if searchable:
            self.parts.append(
                f'<label class="search">Search <input type="search" data-table="{searchable}" '
                f'placeholder="a start or end vertex"> <span class="count" aria-live="polite"></span></label>'
            )
        name = f' id="{searchable}" class="long"' if searchable else ""
        self.parts.append(
            f'<div class="wide"><table{name}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        )

    def figure(self, name: str, caption: str, size: str = "") -> None:
        """Add the place and the caption of a figure; ``size`` is "low", "tall" or "" for the usual height."""
        self.parts.append(
            f'<figure><div class="plot {size}" id="{name}" role="img" aria-label="{escape(caption, quote=True)}"></div>'
            f'<figcaption>{escape(caption)} <button class="tools" data-plot="{name}" aria-pressed="false">zoom and save'
            "</button></figcaption></figure>"
        )


class Report:
    """A page.

    Parameters
    ----------
    title : str
        The title.
    lead : str
        The main result, in a sentence.
    """

    def __init__(self, title: str, lead: str) -> None:
        self.title, self.lead = title, lead
        self.tiles: list[tuple[str, str]] = []
        self.sections: list[Section] = []
        self.figures: dict[str, Any] = {}
        self.tables: dict[str, list[list[Any]]] = {}  # all rows of searchable tables; the page shows some
        self.explanations: dict[str, list[list[list[Any]]]] = {}  # for their first rows: the terms of a sum

    def section(self, title: str) -> Section:
        """Add a section."""
        section = Section(title)
        self.sections.append(section)
        return section

    def html(self) -> str:
        """Return the page as text."""
        from plotly.offline import get_plotlyjs

        assets = files("vectrick.reports") / "assets"
        tiles = "".join(f"<div><b>{escape(value)}</b><span>{escape(name)}</span></div>" for name, value in self.tiles)
        links = "".join(f'<a href="#part{i}">{escape(section.title)}</a>' for i, section in enumerate(self.sections))
        body = "".join(
            f'<section id="part{i}"><h2>{escape(section.title)}</h2>{"".join(section.parts)}</section>'
            for i, section in enumerate(self.sections)
        )
        values = {
            "title": escape(self.title), "lead": escape(self.lead), "tiles": tiles, "links": links,
            "version": escape(__version__),
            "style": (assets / "style.css").read_text(encoding="utf-8"),
            "script": (assets / "script.js").read_text(encoding="utf-8"),
            "library": _packed(get_plotlyjs()),
            "figures": _packed(json.dumps(self.figures, separators=(",", ":"))),
            "tables": _packed(json.dumps(self.tables, separators=(",", ":"))),
            "explanations": _packed(json.dumps(self.explanations, separators=(",", ":"))),
            "body": body,
        }  # fmt: skip
        page = (assets / "page.html").read_text(encoding="utf-8")
        # One substitution for all places: inserted text is not searched for further places.
        return re.sub(r"\{\{(\w+)\}\}", lambda place: values[place[1]], page)

    def write(self, path: Path | str) -> None:
        """Write the page; an error leaves no partial file."""
        write_text(path, self.html())


def _packed(text: str) -> str:
    """Return compressed text that the browser unpacks; plotly alone has five megabytes uncompressed."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


class Seconds(float):
    """A time that is shown in a suitable unit."""

    def __str__(self) -> str:
        return format_seconds(float(self))


def _number_class(rows: list[list[Any]], column: int) -> str:
    """Return the CSS class of a header, so that it is aligned with the numbers below it."""
    return ' class="number"' if rows and all(_is_number(row[column]) for row in rows) else ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    if not _is_number(value):
        return f"<td>{escape(str(value))}</td>"
    text = f"{value:#.4g}" if isinstance(value, float) and not isinstance(value, Seconds) else str(value)
    return f'<td class="number" data-value="{float(value)!r}">{text}</td>'
