"""Sizes, work space that is reused, and estimates that hold."""

import tracemalloc

import numpy as np
import pytest

import vectrick as vt
from tests.operators.factories import make_edges, make_factor, path_names
from vectrick.backends import memory
from vectrick.backends.memory import Workspace, aligned_empty, available_memory, format_bytes, parse_bytes


def test_sizes_as_people_write_them():
    assert parse_bytes("2GB") == 2 * 10**9
    assert parse_bytes("2 GiB") == 2**31
    assert parse_bytes("2 gb") == 2 * 10**9
    assert parse_bytes(".5MB") == 500_000
    assert parse_bytes("100") == parse_bytes("100B") == parse_bytes(100.0) == 100
    assert format_bytes(1.5e15) == "1,500 TB"
    assert format_bytes(999_999) == "1 MB"


def test_available_memory_respects_the_cgroup(tmp_path, monkeypatch):
    assert memory._cgroup_free(tmp_path) is None
    (tmp_path / "memory.max").write_text("max")
    (tmp_path / "memory.current").write_text("5")
    assert memory._cgroup_free(tmp_path) is None
    (tmp_path / "memory.max").write_text("1005")
    (tmp_path / "memory.stat").write_text("anon 3\ninactive_file 2\n")
    assert memory._cgroup_free(tmp_path) == 1002
    monkeypatch.setattr(memory, "_cgroup_free", lambda: 1000)
    assert available_memory() == 1000
    monkeypatch.setattr(memory, "_cgroup_free", lambda: None)
    assert available_memory() > 1000


def test_buffers_are_aligned_and_reused():
    for n_items in (1, 1000, 100_000):
        assert aligned_empty(n_items, np.float32).ctypes.data % 64 == 0
    space = Workspace()
    first = space.get("a", 100, np.float64)
    assert space.get("a", 50, np.float64).ctypes.data == first.ctypes.data
    assert space.get("b", 100, np.float64).ctypes.data != first.ctypes.data
    with space.borrow(100, np.float64) as one, space.borrow(100, np.float64) as two:
        assert one.ctypes.data != two.ctypes.data
    with space.borrow(10, np.float64) as again:
        assert again.ctypes.data in (one.ctypes.data, two.ctypes.data)


@pytest.fixture
def graph():
    rng = np.random.default_rng(0)
    M, N = make_factor(rng, 500, 520, "C"), make_factor(rng, 480, 510, "C")
    return rng, M, N, make_edges(rng, 60_000, 500, 480), make_edges(rng, 50_000, 520, 510)


def test_a_product_allocates_only_its_result(graph):
    rng, M, N, rows, cols = graph
    v = rng.random(50_000)
    for path in path_names(M, N, rows, cols):
        # One thread: with more, one that had nothing to do in the first product may need its work space in the second.
        op = vt.kron(M, N, path=path, n_threads=1)[rows, cols]
        op @ v
        tracemalloc.start()
        u = op @ v
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < u.nbytes + 50_000, path


@pytest.mark.slow
def test_the_estimate_covers_the_peak(graph):
    rng, M, N, rows, cols = graph
    thin = make_factor(rng, 500, 520, "low-rank")
    sparse = make_factor(rng, 480, 510, "sparse")
    v = rng.random(50_000)
    for M_, N_ in (
        (M, N),
        (np.asfortranarray(M), N.astype(np.float32)),
        (thin, N),
        (M, sparse),
        (thin, sparse),
    ):
        for path in path_names(M_, N_, rows, cols):
            vt.kron(M_, N_, path=path)[rows, cols] @ v
            tracemalloc.start()
            op = vt.kron(M_, N_, path=path, n_threads=2)[rows, cols]
            op @ v
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            # Large buffers start on a huge page: up to 2 MB each for the alignment, which is never touched.
            assert peak <= 1.2 * op.plan.memory + 10 * memory.HUGE_PAGE, (path, peak, op.plan.memory)
            assert op.plan.memory <= 2.5 * peak, (path, peak, op.plan.memory)


def test_what_does_not_fit_is_refused_before_it_is_allocated():
    n = 20_000
    M = vt.LowRank(np.ones((n, 1)))
    edges = (np.arange(n), np.arange(n))
    tracemalloc.start()
    with pytest.raises(
        MemoryError, match=r"needs .* GB, but max_memory is 1 GB; its largest array is the .* What helps"
    ):
        vt.kron(M, M, path="dense", max_memory="1GB")[edges, edges]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10e6
    assert vt.kron(M, M, max_memory="1GB")[edges, edges].plan.path.startswith("thin")
    with pytest.raises(MemoryError, match="max_memory is 10 KB"):
        vt.kron(M, M, max_memory=10_000)[edges, edges]
