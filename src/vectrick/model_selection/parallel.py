"""Run tasks in several processes, each with its share of the threads, so that no CPU runs more than one."""

import os
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from numbers import Integral
from typing import Any

from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning

from vectrick._warnings import warn
from vectrick.backends.threads import count_threads, thread_share
from vectrick.extensions import register, registered
from vectrick.persistence.checkpoints import Work

_guard: threading.Thread | None = None  # in a worker, the thread that watches the parent process


def count_jobs(n_jobs: object) -> int:
    """Return how many processes to use: None and -1 mean as many as there are CPUs."""
    if n_jobs is None or n_jobs == -1:
        return count_threads()
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs < 1:
        raise ValueError(f"n_jobs is {n_jobs!r}, but it must be a positive integer, -1 or None")
    return int(n_jobs)


def in_parallel(
    work: Callable[..., Any],
    tasks: Mapping[str, tuple[Any, ...]],
    n_jobs: int,
    on_result: Callable[[Any], None],
    finished: Work,
    kind: type,
) -> list[Any]:
    """Return ``work(*task)`` for every named task, in order; call ``on_result`` with each result as it arrives.

    Tasks in ``finished`` are not run again, and new results are stored there; ``kind`` is the type of the results.

    It uses processes, since threads would wait for each other's Python code: with two threads, folds of 2 000 to 40 000
    edges took 1.1 to 1.7 times as long as one after the other. Large arrays are shared through memory maps. Warnings
    are passed on once for each kind, except warnings of solvers that were stopped on purpose.
    """
    results = {name: finished.get(name, kind) for name in tasks}
    missing = [name for name, result in results.items() if result is None]
    for result in results.values():
        if result is not None:
            on_result(result)
    warned = set()
    n_processes = max(1, min(n_jobs, len(missing)))
    beside = os.getpid(), max(1, count_threads() // n_processes), registered()
    processes = Parallel(n_jobs=n_processes, return_as="generator")
    done = processes(delayed(_with_warnings)(work, tasks[name], *beside) for name in missing)
    for name, (result, caught) in zip(missing, done, strict=True):
        on_result(result)
        results[name] = result
        finished.put(name, result)
        for category, text in caught:
            words = category, text.partition(":")[0]  # the rest has the numbers of one fold
            if words not in warned:
                warned.add(words)
                warn(text, category)
    return list(results.values())


def _with_warnings(
    work: Callable[..., Any], task: tuple[Any, ...], parent: int, n_threads: int, extensions: list[Any]
) -> tuple[Any, list[tuple[type[Warning], str]]]:
    is_alone = os.getpid() == parent
    if not is_alone:
        _end_with(parent)
        for extension in extensions:
            register(extension)
    share = nullcontext() if is_alone else thread_share(n_threads)
    with share, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = work(*task)
    return result, [(warning.category, str(warning.message)) for warning in caught]


def _end_with(parent: int) -> None:
    """Make this process end soon after its parent process, even if the parent is killed."""
    global _guard
    if _guard is not None or os.getppid() != parent:
        return

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    _guard = threading.Thread(target=watch, daemon=True, name="vectrick-parent")
    _guard.start()
