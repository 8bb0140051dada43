"""Messages of long tasks: lines for the logger "vectrick", with ``verbose`` also on the screen or next to a bar."""

import logging
import sys
import time
from collections.abc import Callable
from html import escape
from typing import Any

LOGGER = logging.getLogger("vectrick")
_PAUSE = 0.5  # seconds between lines that people read


class _Screen(logging.Handler):
    """Writes records to the current standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), file=sys.stderr, flush=True)


_SCREEN = _Screen()


class Teller:
    """Reports the progress of one task.

    Every line goes to the logger "vectrick". A line has the level INFO if it must be shown, or if it comes at least
    half a second after the last line of level INFO. Other lines have the level DEBUG.

    Parameters
    ----------
    verbose : int
        1 shows lines of level INFO on standard error, 2 all lines. In a notebook, both show a bar.
    total : int, optional
        The number of steps, for the bar.
    """

    def __init__(self, verbose: int, total: int | None = None) -> None:
        self.verbose, self.total = int(verbose), total
        self._said = -float("inf")
        self._bar = _NotebookBar() if verbose and in_notebook() else None

    def tell(self, line: Callable[[], str], done: int | None = None, must: bool = False) -> None:
        """Log and show a line; it is created only if needed. The bar shows ``done`` of the total."""
        now = time.perf_counter()
        due = must or now >= self._said + _PAUSE
        level = logging.INFO if due else logging.DEBUG
        is_shown, is_logged = self.verbose > (0 if due else 1), LOGGER.isEnabledFor(level)
        if not (is_shown or is_logged):
            return
        if due:
            self._said = now
        record = LOGGER.makeRecord(LOGGER.name, level, "vectrick", 0, line(), (), None)
        if is_logged:
            LOGGER.handle(record)
        if is_shown and self._bar is not None:
            self._bar.show(record.getMessage(), done, self.total)
        elif is_shown:
            _SCREEN.emit(record)


def in_notebook() -> bool:
    """Return whether the process is the kernel of a notebook, so that output can be replaced."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


class _NotebookBar:
    """A bar with a line next to it, in the output of a cell."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, line: str, done: int | None, total: int | None) -> None:
        """Replace the last line; without ``done`` the bar is full."""
        from IPython.display import display

        at = f'value="{done}" max="{total}"' if done is not None and total else 'value="1" max="1"'
        style = 'style="width:14em;vertical-align:middle"'
        output = {"text/html": f"<progress {at} {style}></progress> {escape(line)}", "text/plain": line}
        if self._handle is None:
            self._handle = display(output, raw=True, display_id=True)
        else:
            self._handle.update(output, raw=True)
