import pytest

from tests.lakes.lake import make_lake


@pytest.fixture
def lake(tmp_path):
    folder = tmp_path / "edges"
    folder.mkdir()
    return make_lake(folder)
