"""The same on a cluster of processes: the same bits for any number of workers, and whatever happens to them."""

import contextlib
import os
import signal
import threading
import time

import numpy as np
import pytest

import vectrick as vt

pytest.importorskip("distributed")

from distributed import Client, LocalCluster

from vectrick.passes import cluster as engine
from vectrick.passes.cluster import ClusterError
from vectrick.passes.tasks import NormalProduct

# What Dask and its event loop leave to the garbage collector when workers are killed is not ours to fix.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture
def apart():
    """Make clusters of their own, for tests that break them; they are the active ones."""
    with contextlib.ExitStack() as stack:

        def make(n_workers, **more):
            cluster = LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", **more)
            client = stack.enter_context(Client(stack.enter_context(cluster)))
            stack.enter_context(client.as_current())
            assert engine.active_client() is client
            return client

        yield make


def coefficients(lake, **more):
    return vt.KronRidge(backend="dask", tol=1e-10, **more).fit(lake.scan()).coef_


def test_a_cluster_gives_the_bits_of_one_process(lake, two):
    local = vt.KronRidge(tol=1e-10).fit(lake.scan())
    assert np.array_equal(coefficients(lake), local.coef_)
    X = lake.scan()
    first = vt.KronRidge(backend="dask").fit(X)
    again = vt.KronRidge(backend="dask").fit(X)  # whose partitions are on the workers
    assert np.array_equal(first.coef_, again.coef_)
    assert np.isclose(first.score(X), vt.KronRidge.score(first, lake.X, lake.y))


@pytest.mark.slow
def test_every_loss_and_choice_is_the_same_on_a_cluster(lake, two):
    for kind, label in ((vt.KronLogistic, "good"), (vt.KronSVM, "good"), (vt.KronRanker, "y")):
        on_cluster, local = kind(backend="dask").fit(lake.scan(label)), kind().fit(lake.scan(label))
        assert np.array_equal(on_cluster.coef_, local.coef_)
    given = {"groups": "start"}
    grouped = [vt.KronRanker(**given, **more).fit(lake.scan()).coef_ for more in ({}, {"backend": "dask"})]
    assert np.array_equal(*grouped)
    stopped = [
        vt.KronRidge(early_stopping=True, random_state=0, **more).fit(lake.scan()) for more in ({}, {"backend": "dask"})
    ]
    assert np.array_equal(stopped[0].coef_, stopped[1].coef_)
    assert stopped[0].history_["score"] == stopped[1].history_["score"]


def test_tasks_have_names_that_people_understand(lake, two):
    X = lake.scan()
    vt.KronRidge(backend="dask").fit(X)  # whose partitions stay on the workers while there is X
    logged = two.run_on_scheduler(lambda dask_scheduler: sorted(map(str, dask_scheduler.task_groups)))
    assert any("read-edges" in name for name in logged)
    X.close()


def test_workers_have_even_shares_and_keep_their_features(lake, two):
    X = lake.scan()
    vt.KronRidge(backend="dask").fit(X)
    two.amm.run_once()  # which removes copies of one result
    shares = [worker for holders in two.who_has(X.on_cluster[1]).values() for worker in holders]
    n_partitions = [shares.count(worker) for worker in two.nthreads()]
    assert max(n_partitions) - min(n_partitions) <= 1
    kept = {worker: future for worker, future in X.features_on_cluster[1].items() if worker is not None}
    assert set(kept) == set(two.nthreads())
    assert all(worker in two.who_has([future])[future.key] for worker, future in kept.items())
    X.close()


def test_weights_on_a_cluster(lake, two):
    given = {"weight": "weight"}
    for model in (vt.KronRidge, vt.KronRanker):
        here, there = model().fit(lake.scan(**given)), model(backend="dask").fit(lake.scan(**given))
        assert np.array_equal(here.coef_, there.coef_)


@pytest.mark.slow
def test_an_error_of_a_file_system_on_a_worker_is_not_taken_for_a_lost_worker(lake, apart):
    frames = pytest.importorskip("dask.dataframe")
    apart(1)  # what Dask keeps of a file that is gone cannot be sent to other workers
    X = vt.scan_edges(
        frames.read_parquet(str(lake.folder)), start="user", end="item", label="y", start_table=lake.users,
        end_table=lake.items,
    )  # fmt: skip
    for path in lake.folder.iterdir():
        path.unlink()
    with pytest.raises(FileNotFoundError, match="part-"):
        vt.KronRidge(backend="dask").fit(X)


@pytest.mark.slow
def test_a_cluster_without_workers_is_told(lake, apart):
    import dask

    client = apart(1)
    client.cluster.scale(0)
    while client.nthreads():
        time.sleep(0.05)
    with (
        dask.config.set({"vectrick.worker-timeout": "1s"}),
        pytest.raises(ClusterError, match="the cluster has no workers, and none came within 1 s"),
    ):
        coefficients(lake)


@pytest.mark.slow
def test_a_frame_of_dask_is_read_by_the_workers(lake, two):
    frames = pytest.importorskip("dask.dataframe")
    frame = frames.read_parquet(str(lake.folder))
    given = {"start": "user", "end": "item", "label": "y", "start_table": lake.users, "end_table": lake.items}
    on_cluster = vt.KronRidge(backend="dask").fit(vt.scan_edges(frame, **given))
    assert np.allclose(on_cluster.coef_, vt.KronRidge().fit(lake.scan()).coef_, rtol=1e-10)


@pytest.mark.slow
def test_a_search_on_a_cluster(lake, two, tmp_path):
    given = {"start_kernel": "linear", "end_kernel": "linear", "loss": "ridge", "random_state": 0, "n_best": 1}
    on_cluster, local = (vt.AutoKron(**given, backend=backend).fit(lake.scan()) for backend in ("dask", "cpu"))
    assert np.array_equal(on_cluster.predict(lake.X), local.predict(lake.X))
    on_cluster.save(tmp_path / "model.vt")
    assert np.array_equal(vt.load(tmp_path / "model.vt").predict(lake.X), local.predict(lake.X))


def test_errors_of_workers_are_those_of_the_lake(lake, two):
    X = lake.scan()
    (lake.folder / "part-2.parquet").write_bytes(b"PAR1 but not for long")
    with pytest.raises(vt.LakeError, match=r"part-2.parquet has changed .*: it has 21 bytes"):
        vt.KronRidge(backend="dask").fit(X)
    with pytest.raises(ValueError, match="Dask is for edges of a lake"):
        vt.KronRidge(backend="dask").fit(lake.X, lake.y)


def test_a_worker_with_another_version_is_refused(lake, two, monkeypatch):
    monkeypatch.setattr(engine, "__version__", "0.0.1")
    with pytest.raises(ClusterError, match=r"a worker has vectrick .*, but the client has 0.0.1"):
        coefficients(lake)


def test_without_a_client_it_says_so(lake, monkeypatch):
    monkeypatch.setattr("distributed.get_client", lambda: (_ for _ in ()).throw(ValueError("no client")))
    with pytest.raises(ClusterError, match="there is no active client"):
        coefficients(lake)


def test_ctrl_c_cancels_what_was_asked(lake, two):
    def interrupt(step):
        raise KeyboardInterrupt

    X = lake.scan()
    with pytest.raises(KeyboardInterrupt):
        vt.KronRidge(backend="dask").fit(X, callback=interrupt)
    X.close()
    deadline = time.monotonic() + 10
    while any(two.processing().values()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(two.processing().values())
    assert np.array_equal(coefficients(lake), vt.KronRidge(tol=1e-10).fit(lake.scan()).coef_)


@pytest.mark.slow
def test_the_number_of_workers_does_not_change_the_bits(lake, apart):
    apart(4)  # of one and of two there are other tests
    assert np.array_equal(coefficients(lake), vt.KronRidge(tol=1e-10).fit(lake.scan()).coef_)


class Killer:
    """Kills a process after a while, unless it is ended before."""

    def __init__(self, pid, after):
        self.stop, self.has_killed = threading.Event(), False
        self.thread = threading.Thread(target=self.run, args=(pid, after))
        self.thread.start()

    def run(self, pid, after):
        if not self.stop.wait(after):
            os.kill(pid, signal.SIGKILL)
            self.has_killed = True

    def end(self):
        self.stop.set()
        self.thread.join()
        return self.has_killed


@pytest.mark.slow
def test_workers_that_are_killed_do_not_change_the_bits(lake, apart):
    client = apart(3)
    expected = vt.KronRidge(tol=1e-10).fit(lake.scan()).coef_
    rng = np.random.default_rng(0)
    n_killed = 0
    for _ in range(10):
        client.wait_for_workers(2, timeout=60)
        pids = list(client.run(os.getpid).values())
        killer = Killer(int(rng.choice(pids)), float(rng.uniform(0, 0.5)))
        found = coefficients(lake)
        n_killed += killer.end()
        assert np.array_equal(found, expected)
    assert n_killed >= 5


@pytest.mark.slow
def test_the_only_worker_may_be_killed(lake, apart):
    client = apart(1)
    expected = vt.KronRidge(tol=1e-10).fit(lake.scan()).coef_
    X = lake.scan()
    vt.KronRidge(backend="dask", tol=1e-10).fit(X)
    (pid,) = client.run(os.getpid).values()
    os.kill(pid, signal.SIGKILL)  # its partitions and features are lost
    assert np.array_equal(vt.KronRidge(backend="dask", tol=1e-10).fit(X).coef_, expected)


@pytest.mark.slow
def test_a_worker_that_hangs_is_left(lake, apart):
    import dask

    client = apart(2)
    X = lake.scan()
    expected = vt.KronRidge(tol=1e-10).fit(lake.scan()).coef_
    with dask.config.set({"vectrick.worker-timeout": "3s"}):
        vt.KronRidge(backend="dask").fit(X)
        pid = next(iter(client.run(os.getpid).values()))
        os.kill(pid, signal.SIGSTOP)
        try:
            begin = time.monotonic()
            assert np.array_equal(vt.KronRidge(backend="dask", tol=1e-10).fit(X).coef_, expected)
            assert time.monotonic() - begin < 60
        finally:
            os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_a_scheduler_that_is_gone_is_told(lake, apart):
    client = apart(1)
    passes = engine.DaskEngine(lake.scan(), client=client)
    passes.read(0)
    passes.set_features(lake.users, lake.items)
    question = NormalProduct(np.ones((4, 5)))
    passes.total(question)
    client.cluster.close()
    begin = time.monotonic()
    with pytest.raises(ClusterError, match="gone"):
        passes.total(question)
    assert time.monotonic() - begin < 60


@pytest.mark.slow
def test_candidates_of_a_search_in_memory_are_spread_over_the_client(lake, two):
    import joblib

    grid = {"alpha": [0.1, 10.0]}
    folds = vt.VertexKFold(2, 2, random_state=0)
    given = {"n_jobs": 2, "outer": folds, "inner": folds}
    here = vt.nested_score(vt.KronRidge(max_iter=20), lake.X, lake.y, grid, **given)
    with joblib.parallel_backend("dask"):
        there = vt.nested_score(vt.KronRidge(max_iter=20), lake.X, lake.y, grid, **given)
    assert str(here) == str(there)


def test_without_dask_it_says_what_to_install(lake, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'vectrick\[dask\]'"):
        engine.active_client()
