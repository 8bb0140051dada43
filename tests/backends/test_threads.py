"""The number of threads, the pool, BLAS beside it, and what happens after a fork."""

import os
import signal
import threading
import warnings

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import vectrick as vt
from tests.operators.factories import make_edges, path_names
from vectrick.backends import threads
from vectrick.backends.threads import count_threads, even_parts, run_tasks, single_threaded_blas, usable_cpus


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_the_argument_comes_first_then_the_environment(monkeypatch):
    monkeypatch.setenv("VECTRICK_NUM_THREADS", "5")
    assert count_threads(3) == 3
    assert count_threads() == 5
    monkeypatch.setenv("VECTRICK_NUM_THREADS", "")
    assert count_threads() == usable_cpus() <= os.cpu_count()


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5"])
def test_a_bad_environment_is_named(monkeypatch, text):
    monkeypatch.setenv("VECTRICK_NUM_THREADS", text)
    with pytest.raises(ValueError, match=f"VECTRICK_NUM_THREADS is '{text}'"):
        count_threads()


def test_the_cgroup_quota_counts(tmp_path):
    assert threads._cgroup_cpus(tmp_path) is None
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    assert threads._cgroup_cpus(tmp_path) == 1.5
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert threads._cgroup_cpus(tmp_path) is None
    (tmp_path / "cpu.max").unlink()
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu/cpu.cfs_quota_us").write_text("300000")
    (tmp_path / "cpu/cpu.cfs_period_us").write_text("100000")
    assert threads._cgroup_cpus(tmp_path) == 3
    (tmp_path / "cpu/cpu.cfs_quota_us").write_text("-1")
    assert threads._cgroup_cpus(tmp_path) is None


def test_one_thread_inside_the_pool():
    seen = []
    run_tasks(lambda _: seen.append(count_threads(8)), 6, 3)
    assert seen == [1] * 6
    assert count_threads(8) == 8


def test_every_task_runs_once():
    for n_threads in (1, 2, 5):
        done = []
        run_tasks(done.append, 100, n_threads)
        assert sorted(done) == list(range(100))


def test_the_first_error_comes_out_and_the_pool_lives_on():
    def fail(number):
        if number == 3:
            raise KeyError("three")

    for n_threads in (1, 4):
        with pytest.raises(KeyError, match="three"):
            run_tasks(fail, 50, n_threads)
    test_every_task_runs_once()


def test_nested_tasks_do_not_wait_for_each_other():
    done = []
    run_tasks(lambda i: run_tasks(lambda j: done.append((i, j)), 3, 4), 8, 4)
    assert sorted(done) == [(i, j) for i in range(8) for j in range(3)]


def test_parts_are_even_and_complete():
    for total in (0, 1, 7, 100):
        for n_parts in (1, 3, 8):
            parts = even_parts(total, n_parts)
            assert [i for start, stop in parts for i in range(start, stop)] == list(range(total))
            lengths = [stop - start for start, stop in parts]
            assert not lengths or max(lengths) - min(lengths) <= 1
            assert len(parts) == min(total, n_parts)


def test_blas_is_held_to_one_thread_and_restored():
    before = blas_threads()
    with single_threaded_blas():
        assert set(blas_threads()) == {1}
        with single_threaded_blas():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert blas_threads() == before
    with pytest.raises(KeyError), single_threaded_blas():
        raise KeyError
    assert blas_threads() == before


@pytest.fixture
def graph():
    rng = np.random.default_rng(3)
    M, N = rng.standard_normal((300, 310)), rng.standard_normal((290, 320))
    return rng, M, N, make_edges(rng, 9000, 300, 290), make_edges(rng, 8000, 310, 320)


def test_any_number_of_threads_gives_the_same_bits(graph):
    rng, M, N, rows, cols = graph
    v = rng.standard_normal(8000)
    for path in path_names(M, N, rows, cols):
        results = [vt.kron(M, N, path=path, n_threads=n)[rows, cols] @ v for n in (1, 2, 3, 8)]
        for other in results[1:]:
            np.testing.assert_array_equal(results[0], other, err_msg=path)


@pytest.mark.parametrize("path", ["sparse", "dense", "sparse-dense", "dense-sparse"])
def test_four_python_threads_share_one_operator(graph, path):
    rng, M, N, rows, cols = graph
    op = vt.kron(M, N, path=path, n_threads=2)[rows, cols]
    vectors = rng.standard_normal((4, 8000))
    expected = [op @ v for v in vectors]
    wrong, blas_before = [], blas_threads()

    def work(number):
        wrong.extend(number for _ in range(10) if not np.array_equal(op @ vectors[number], expected[number]))

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong
    assert blas_threads() == blas_before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("path", ["sparse", "dense"])
def test_after_a_fork(graph, path):
    rng, M, N, rows, cols = graph
    op = vt.kron(M, N, path=path, n_threads=2)[rows, cols]
    v = rng.standard_normal(8000)
    expected = op @ v
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forking beside threads
        child = os.fork()
    if child == 0:
        status = 1
        try:
            fresh = vt.kron(M, N, path=path, n_threads=2)[rows, cols]
            status = 0 if np.array_equal(op @ v, expected) and np.array_equal(fresh @ v, expected) else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    np.testing.assert_array_equal(op @ v, expected)


def test_an_interrupt_leaves_the_operator_usable(graph, monkeypatch):
    """Whatever stops a product in the middle, the next one is right."""
    rng, M, N, rows, cols = graph
    op = vt.kron(M, N, path="sparse", n_threads=2)[rows, cols]
    v = rng.standard_normal(8000)
    expected = op @ v
    with monkeypatch.context() as patch:

        def interrupt(*_args):
            raise KeyboardInterrupt

        patch.setattr("vectrick.backends.cpu.compiled.kernels.sampled_product", interrupt)
        with pytest.raises(KeyboardInterrupt):
            op @ v
    np.testing.assert_array_equal(op @ v, expected)


def in_a_thread(work):
    found = []
    worker = threading.Thread(target=lambda: found.append(work()))
    worker.start()
    worker.join()
    return found[0]


def held():
    with single_threaded_blas():
        return set(blas_threads())


def test_blas_obeys_from_every_thread():
    before = blas_threads()
    assert held() == {1}
    assert in_a_thread(held) == {1}  # threadpoolctl listens to the first thread only
    assert blas_threads() == before
    with single_threaded_blas():
        assert in_a_thread(held) == {1}
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_blas_is_restored_after_overlapping_uses():
    before = blas_threads()
    inside, leave = threading.Event(), threading.Event()

    def other():
        with single_threaded_blas():
            inside.set()
            leave.wait()

    worker = threading.Thread(target=other)
    worker.start()
    inside.wait()
    context = single_threaded_blas()
    context.__enter__()
    leave.set()
    worker.join()
    assert set(blas_threads()) == {1}
    context.__exit__(None, None, None)
    assert blas_threads() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_while_another_thread_computes_a_kernel_matrix():
    """functools.cached_property holds a lock for all instances in Python 3.11: the child would wait for ever."""
    rng = np.random.default_rng(0)
    X, y = vt.Edges.grid(rng.random((6, 2)), rng.random((5, 2))), rng.random(30)
    begun, leave = threading.Event(), threading.Event()

    def slow(A, B):
        begun.set()
        leave.wait(30)
        return A @ B.T

    worker = threading.Thread(target=lambda: vt.KronRidge(slow, "linear", form="dual").fit(X, y))
    worker.start()
    begun.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        signal.alarm(20)
        vt.KronRidge("gaussian", "gaussian", form="dual").fit(X, y)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    leave.set()
    worker.join()
    assert status == 0
