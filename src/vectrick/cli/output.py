"""Output of commands: messages and progress on standard error, the result on standard output, optionally as JSON."""

import json
import math
import os
import re
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_WIDE = 120  # characters of a table if there is no terminal
_PAUSE = 10.0  # seconds between lines of progress if there is no terminal


class Output:
    """The output of a command.

    Parameters
    ----------
    command : str
        The name of the command.
    as_json : bool
        Whether to print the result as one JSON object.
    quiet, verbose : bool
        Whether to show errors only, or more details.
    """

    def __init__(self, command: str, as_json: bool = False, quiet: bool = False, verbose: bool = False) -> None:
        self.command, self.as_json, self.quiet, self.verbose = command, as_json, quiet, verbose
        self.result: dict[str, Any] = {}
        self.warnings: list[str] = []
        self.written: list[str] = []
        self.config: Path | None = None  # the file with options, if there is one
        self._said: set[str] = set()
        self.begin = time.perf_counter()

    @property
    def seconds(self) -> float:
        """The time since the command began."""
        return time.perf_counter() - self.begin

    def note(self, text: str) -> None:
        """Print a message on standard error."""
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)

    def detail(self, text: str) -> None:
        """Print a message only if the output is verbose."""
        if self.verbose:
            self.note(text)

    def warn(self, text: str) -> None:
        """Show a warning once; the same text with other numbers, for example of another fold, is not repeated."""
        key = re.sub(r"\d", "", text)
        if key not in self._said:
            self._said.add(key)
            self.warnings.append(text)
            self.note(f"warning: {text}")

    def error(self, text: str) -> None:
        """Show an error on all streams that can still be written."""
        try:
            if self.as_json:
                print(json.dumps({"error": text}), flush=True)
        except OSError:  # such as a full disk, possibly the error itself
            silence()
        with suppress(OSError):
            print(f"vectrick {self.command}: {text}", file=sys.stderr, flush=True)

    def say(self, text: str = "") -> None:
        """Print a line of the human-readable result."""
        if not self.as_json and not self.quiet:
            print(text, flush=True)

    def table(self, columns: list[str], rows: list[list[Any]], title: str = "") -> None:
        """Print a human-readable table."""
        if self.as_json or self.quiet:
            return
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for name, values in zip(columns, zip(*rows, strict=True) if rows else [()] * len(columns), strict=True):
            numbers = all(isinstance(value, int | float) for value in values)
            table.add_column(name, justify="right" if numbers else "left", overflow="fold")
        for row in rows:
            table.add_row(*(Text(shown(value)) for value in row))  # as text: an id may look like markup
        Console(width=None if sys.stdout.isatty() else _WIDE, highlight=False).print(table)

    def facts(self, values: dict[str, Any]) -> None:
        """Print names and values as a human-readable table without a header."""
        if self.as_json or self.quiet:
            return
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(style="dim", no_wrap=True)
        table.add_column(overflow="fold")
        for name, value in values.items():
            table.add_row(name.replace("_", " "), Text(shown(value)))
        Console(width=None if sys.stdout.isatty() else _WIDE, highlight=False).print(table)

    def wrote(self, what: str, path: Path) -> None:
        """Record and report that a file was written."""
        self.written.append(str(path))
        self.result[what] = str(path)
        self.say(f"{what} written to {path}")

    def what_was_written(self) -> str:
        """Return a text about the files that the command has written so far."""
        return f"{' and '.join(self.written)} had been written" if self.written else "nothing was written"

    def finish(self) -> None:
        """Print the result as JSON if ``as_json`` is set."""
        if self.as_json:
            print(json.dumps(_plain({**self.result, "warnings": self.warnings}), allow_nan=False), flush=True)

    @contextmanager
    def collecting_warnings(self) -> Iterator[None]:
        """Show the text of the library's warnings, without the line of code."""
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = lambda message, *rest: self.warn(str(message))
            yield

    @contextmanager
    def progress(self, what: str, total: int | None) -> Iterator["Bar"]:
        """Show a progress bar; if there is no terminal, print a line every few seconds."""
        if self.quiet or not sys.stderr.isatty():
            yield Bar(self, what, total)
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[text]}"), TimeElapsedColumn(),
            TextColumn("left:"), TimeRemainingColumn(),
        )  # fmt: skip
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task(what, total=total, text="")
            bar = Bar(self, what, total)
            bar.update = lambda done, text: progress.update(task, completed=done, total=bar.total, text=text)
            yield bar

    @contextmanager
    def library_progress(self, what: str) -> Iterator["Bar"]:
        """Show a progress bar of the steps that the library reports; the caller can add steps."""
        from vectrick._progress import told_to

        with self.progress(what, None) as bar:

            def report(done: int, total: int, text: str) -> None:
                bar.total = total
                bar.step(done, text)

            with told_to(report):
                yield bar


class Bar:
    """The progress of one task."""

    def __init__(self, out: Output, what: str, total: int | None) -> None:
        self.out, self.what, self.total = out, what, total
        self.update: Any = None  # updates the bar on a terminal
        self._said = time.perf_counter()

    def step(self, done: float, text: str = "") -> None:
        """Report the number of finished steps."""
        if self.update is not None:
            self.update(done, text)
        elif time.perf_counter() >= self._said + _PAUSE or self.out.verbose:
            self._said = time.perf_counter()
            of = f" of {self.total}" if self.total else ""
            self.out.note(f"{self.what}: {done:g}{of}{', ' + text if text else ''}, {self.out.seconds:.1f} s")


def silence() -> None:
    """Discard standard output, so that the process does not try to write it again when it ends."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def shown(value: object) -> str:
    """Return a value as human-readable text.

    >>> shown(0.123456), shown(93356), shown(None), shown(1e-6)
    ('0.123', '93 356', '', '1e-06')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace(",", " ")
    if isinstance(value, float):
        return f"{value:.3f}" if 0.001 <= abs(value) < 1000 or value == 0 else f"{value:.3g}"
    return str(value)


def _plain(value: object) -> Any:
    """Return a value for JSON: arrays become lists, paths become text, and non-finite numbers become null."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, bool | int | float | str | None) else str(value)
