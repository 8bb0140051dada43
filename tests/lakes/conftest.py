import pytest

from tests.lakes.lake import make_lake


@pytest.fixture
def lake(tmp_path):
    folder = tmp_path / "edges"
    folder.mkdir()
    return make_lake(folder)


@pytest.fixture(scope="module")
def two():
    """A client of two Dask workers with one thread each."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
