"""Progress of long work for people: a line on standard error about twice a second."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_PAUSE = 0.5  # seconds between reports


_listener: Callable[[int, int, str], None] | None = None


@contextmanager
def told_to(listener: Callable[[int, int, str], None]) -> Iterator[None]:
    """Report all progress to a function (steps done, total steps, what was done) in place of printing it."""
    global _listener
    _listener, before = listener, _listener
    try:
        yield
    finally:
        _listener = before


class Progress:
    """A counter that reports how many of ``total`` steps are done; safe to share among threads.

    Parameters
    ----------
    name : str
        What is under way.
    total : int
        How many steps there are.
    verbose : int
        0 says nothing, 1 reports about twice a second, 2 after each step.
    """

    def __init__(self, name: str, total: int, verbose: int) -> None:
        self.name, self.total, self.verbose = name, total, verbose
        self.done = 0
        self._begin = time.perf_counter()
        self._said = -_PAUSE
        self._lock = threading.Lock()

    def step(self, what: str = "") -> None:
        """Count one more finished step."""
        with self._lock:
            self.done += 1
            if _listener is not None:
                _listener(self.done, self.total, what)
                return
            seconds = time.perf_counter() - self._begin
            last = self.done == self.total
            if self.verbose > 1 or (self.verbose and (last or seconds >= self._said + _PAUSE)):
                self._said = seconds
                rest = f", {what}" if what else ""
                print(f"{self.name}: {self.done} of {self.total}{rest}, {seconds:.1f} s", file=sys.stderr, flush=True)
