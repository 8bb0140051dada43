"""Processes that work side by side have their share of the threads."""

import pytest

from vectrick.backends.threads import count_threads, thread_share
from vectrick.model_selection.parallel import in_parallel
from vectrick.persistence.checkpoints import Finished


def _threads(_):
    from threadpoolctl import threadpool_info

    return [count_threads()] + [library["num_threads"] for library in threadpool_info()]


@pytest.mark.slow
def test_processes_have_their_share_of_threads(monkeypatch):
    monkeypatch.setenv("VECTRICK_NUM_THREADS", "")
    work = Finished().work("threads")
    told = []
    found = in_parallel(_threads, {"a": (0,), "b": (1,)}, 2, told.append, work, list)
    share = max(1, count_threads() // 2)
    assert [threads[0] for threads in found] == [share, share]
    assert all(number <= max(1, share) for threads in found for number in threads)
    assert told == found


def test_a_share_ends(monkeypatch):
    monkeypatch.setenv("VECTRICK_NUM_THREADS", "")
    before = count_threads()
    with thread_share(1):
        assert count_threads() == 1
        assert count_threads(3) == 3
    assert count_threads() == before
