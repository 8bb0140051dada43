"""Progress of long tasks: the number of finished steps, about twice a second."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from vectrick._messages import Teller

_listener: Callable[[int, int, str], None] | None = None


@contextmanager
def told_to(listener: Callable[[int, int, str], None]) -> Iterator[None]:
    """Report all progress to a function (steps done, total steps, last step) instead of printing it."""
    global _listener
    _listener, before = listener, _listener
    try:
        yield
    finally:
        _listener = before


class Progress:
    """A counter that reports the number of finished steps; threads can share it.

    Parameters
    ----------
    name : str
        The name of the task.
    total : int
        The number of steps.
    verbose : int
        0 only logs, 1 also prints about twice a second, 2 after each step.
    """

    def __init__(self, name: str, total: int, verbose: int) -> None:
        self.name, self.total = name, total
        self.done = 0
        self._begin = time.perf_counter()
        self._teller = Teller(verbose, total)
        self._lock = threading.Lock()

    def step(self, what: str = "") -> None:
        """Count one more finished step."""
        with self._lock:
            self.done += 1
            if _listener is not None:
                _listener(self.done, self.total, what)
                return
            self._teller.tell(lambda: self._line(what), self.done, must=self.done == self.total)

    def _line(self, what: str) -> str:
        rest = f", {what}" if what else ""
        return f"{self.name}: {self.done} of {self.total}{rest}, {time.perf_counter() - self._begin:.1f} s"
