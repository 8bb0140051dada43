"""The number of threads, the thread pool, and the thread limit of BLAS."""

import itertools
import math
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

_here = threading.local()  # .inside is true in a thread that runs a task of the pool
_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None
_pool_size = 0
_MOST_THREADS = 1 << 16  # larger numbers are an error
_share: int | None = None  # of the CPUs, if several processes of one program share them


def count_threads(requested: int | None = None) -> int:
    """Return the number of threads to use: the argument, then ``VECTRICK_NUM_THREADS``, then the usable CPUs.

    Inside a task of the package's own pool the result is always one.

    >>> count_threads(3)
    3
    """
    if getattr(_here, "inside", False):
        return 1
    if requested is not None:
        if isinstance(requested, bool) or not hasattr(requested, "__index__"):
            raise TypeError(f"n_threads is {requested!r}, but it must be a positive integer or None")
        if int(requested) < 1:
            raise ValueError(f"n_threads is {requested!r}, but it must be at least 1")
        if requested > _MOST_THREADS:
            raise ValueError(f"n_threads is {requested!r}, but it must be at most {_MOST_THREADS}")
        return int(requested)
    text = os.environ.get("VECTRICK_NUM_THREADS", "").strip()
    if text:
        if not text.isdecimal() or int(text) < 1:
            raise ValueError(f"VECTRICK_NUM_THREADS is {text!r}, but it must be a positive integer")
        return int(text)
    return usable_cpus() if _share is None else min(_share, usable_cpus())


@contextmanager
def thread_share(n_threads: int) -> Iterator[None]:
    """Limit the default number of threads of this process to its share, while several processes run in parallel.

    BLAS libraries spin while they wait: two processes with two threads each on two CPUs took 9 s for a decomposition
    that takes one process alone 0.1 s.
    """
    global _share
    before, _share = _share, n_threads
    try:
        with single_threaded_blas() if n_threads == 1 else nullcontext():
            yield
    finally:
        _share = before


def usable_cpus() -> int:
    """Return the number of CPUs that this process may use: its affinity, limited by the quota of its cgroup."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _cgroup_cpus()
    return max(1, min(cpus, math.ceil(quota)) if quota else cpus)


def _cgroup_cpus(root: Path = Path("/sys/fs/cgroup")) -> float | None:
    """Return the CPU quota of the cgroup, version 2 or 1, or None if there is none."""
    try:
        quota, period = (root / "cpu.max").read_text().split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        pass
    try:
        quota = (root / "cpu/cpu.cfs_quota_us").read_text()
        period = (root / "cpu/cpu.cfs_period_us").read_text()
        return int(quota) / int(period) if int(quota) > 0 else None
    except (OSError, ValueError, ZeroDivisionError):
        return None


def run_tasks(task: Callable[[int], Any], n_tasks: int, n_threads: int) -> None:
    """Call ``task(0) … task(n_tasks - 1)``, on the calling thread and at most ``n_threads - 1`` others.

    Tasks start one by one and must not depend on their order. The first error is raised after all threads have stopped,
    so that no thread still writes to the caller's arrays.
    """
    helpers = min(n_threads, n_tasks) - 1
    numbers = iter(range(n_tasks))

    def work() -> None:
        outer, _here.inside = getattr(_here, "inside", False), True
        try:
            for number in numbers:
                task(number)
        except BaseException:
            for _ in numbers:  # leave no tasks for the other threads
                pass
            raise
        finally:
            _here.inside = outer

    if helpers < 1 or getattr(_here, "inside", False):
        work()
        return
    futures: list[Future[None]] = []
    try:
        for _ in range(helpers):
            futures.append(_executor(helpers).submit(work))  # noqa: PERF401 - submitted tasks must be waited for
        work()
    finally:
        # A helper that has not started yet has no tasks left.
        errors = [future.exception() for future in futures if not future.cancel()]
    for error in errors:
        if error is not None:
            raise error


def even_parts(total: int, n_parts: int) -> list[tuple[int, int]]:
    """Return at most ``n_parts`` contiguous, non-empty parts of ``range(total)`` of nearly equal length."""
    n_parts = max(1, min(n_parts, total))
    bounds = [total * i // n_parts for i in range(n_parts + 1)]
    return list(itertools.pairwise(bounds)) if total else []


def _executor(helpers: int) -> ThreadPoolExecutor:
    global _pool, _pool_size
    with _lock:
        if _pool is None or _pool_size < helpers:
            # A smaller pool that is still busy finishes its tasks and is then freed.
            _pool, _pool_size = ThreadPoolExecutor(helpers, "vectrick", _enter_pool), helpers
        return _pool


_blas: list[Any] | None = None  # a controller for each BLAS library that is loaded
_blas_before: list[int] = []  # the limits of libraries with one limit for the process
_blas_users = 0


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread while our own pool runs one BLAS call per thread.

    Because we split the products ourselves, the result is identical to the last bit for any number of threads. Most
    libraries have one limit for the process, so concurrent users are counted: the first sets it, the last restores it.
    With OpenMP each thread has its own limit: the caller and the threads of the pool set theirs.
    """
    global _blas_before, _blas_users
    counted, own_before = False, [library.num_threads for library in _libraries(own=True)]
    try:
        with _lock:
            if _blas_users == 0:
                _blas_before = [library.num_threads for library in _libraries(own=False)]
            counted = True
            _blas_users += 1
            if _blas_users == 1:
                _set_blas_threads([1] * len(_blas_before))
        _set_own_blas_threads([1] * len(own_before))
        yield
    finally:
        _set_own_blas_threads(own_before)
        if counted:
            with _lock:
                _blas_users -= 1
                if _blas_users == 0:
                    _set_blas_threads(_blas_before)


@contextmanager
def threaded_blas(n_threads: int | None) -> Iterator[None]:
    """Let BLAS use several threads within `single_threaded_blas`, for a decomposition that our pool cannot split.

    If other code uses BLAS at the same time, the limit does not change.
    """
    most = count_threads(n_threads)
    with _lock:
        lifted = _blas_users == 1 and most > 1
        if lifted:
            _set_blas_threads([min(number, most) for number in _blas_before])
    try:
        yield
    finally:
        with _lock:
            if lifted and _blas_users:
                _set_blas_threads([1] * len(_blas_before))


def _libraries(own: bool) -> list[Any]:
    """Return the BLAS libraries in which each thread has its own limit, or the other BLAS libraries."""
    global _blas
    if _blas is None:
        from threadpoolctl import ThreadpoolController

        _blas = list(ThreadpoolController().select(user_api="blas").lib_controllers)
    return [library for library in _blas if (getattr(library, "threading_layer", None) == "openmp") == own]


def _set_blas_threads(numbers: list[int]) -> None:
    """Set the limits of the process; the caller holds the lock."""
    for library, number in zip(_libraries(own=False), numbers, strict=True):
        # Since 3.8, threadpoolctl obeys the first thread that sets a limit, and silently ignores all others.
        release = getattr(library, "clear_controlling_thread", lambda force: None)
        release(force=True)
        library.set_num_threads(number)
        release(force=True)


def _set_own_blas_threads(numbers: list[int]) -> None:
    for library, number in zip(_libraries(own=True), numbers, strict=True):
        library.set_num_threads(number)


def _enter_pool() -> None:
    """Prepare a thread of the pool: its BLAS calls use one thread."""
    if _blas is not None:
        _set_own_blas_threads([1] * len(_libraries(own=True)))


def _after_fork_in_child() -> None:
    # The threads of the pool, and the thread that held the lock, stayed in the parent.
    global _pool, _pool_size, _lock, _blas_users
    _pool, _pool_size, _lock = None, 0, threading.Lock()
    if _blas_users:
        _set_blas_threads(_blas_before)
    _blas_users = 0
    _here.inside = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
