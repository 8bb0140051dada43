"""Messages of long work: lines for the logger "vectrick", with ``verbose`` also on the screen or beside a bar."""

import logging
import sys
import time
from collections.abc import Callable
from html import escape
from typing import Any

LOGGER = logging.getLogger("vectrick")
_PAUSE = 0.5  # seconds between lines that people read


class _Screen(logging.Handler):
    """Writes records to what standard error is at that moment."""

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), file=sys.stderr, flush=True)


_SCREEN = _Screen()


class Teller:
    """Says how far one piece of work is.

    Every line goes to the logger "vectrick". Lines that come at least half a second after the last one, and those that
    must be said, have the level INFO, the others DEBUG.

    Parameters
    ----------
    verbose : int
        1 shows the lines of the level INFO on standard error, 2 all of them. In a notebook, both are a bar.
    total : int, optional
        How many steps there are, for the bar.
    """

    def __init__(self, verbose: int, total: int | None = None) -> None:
        self.verbose, self.total = int(verbose), total
        self._said = -float("inf")
        self._bar = _NotebookBar() if verbose and in_notebook() else None

    def tell(self, line: Callable[[], str], done: int | None = None, must: bool = False) -> None:
        """Say a line, which is only made if somebody listens; ``done`` of the total is where the bar is."""
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
    """Whether the process is the kernel of a notebook, where output can be replaced."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


class _NotebookBar:
    """A bar with a line beside it, in the output of a cell."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, line: str, done: int | None, total: int | None) -> None:
        """Show a line in place of the last one; without ``done`` the bar is full."""
        from IPython.display import display

        at = f'value="{done}" max="{total}"' if done is not None and total else 'value="1" max="1"'
        style = 'style="width:14em;vertical-align:middle"'
        output = {"text/html": f"<progress {at} {style}></progress> {escape(line)}", "text/plain": line}
        if self._handle is None:
            self._handle = display(output, raw=True, display_id=True)
        else:
            self._handle.update(output, raw=True)
