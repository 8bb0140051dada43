"""The command line with torch on the CPU, and without torch."""

import subprocess
import sys

import pandas as pd
import pytest

from tests.cli.commands import as_json, vectrick, write_data

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("torch")
    write_data(folder / "data")
    vectrick("fit", "data", "-o", "cpu.vt", cwd=folder)
    return folder


# As on a machine that does not have it.
_WITHOUT = """
import sys
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *more: None if name == "torch" else find(name, *more)
from vectrick.cli import main
sys.argv[0] = "vectrick"
main()
"""


def without_torch(*arguments, cwd):
    """Run a command where torch is not found."""
    command = [sys.executable, "-c", _WITHOUT, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


def test_without_torch_everything_else_works(place):
    assert without_torch("fit", "data", "-o", "without.vt", "--quiet", cwd=place).returncode == 0
    assert without_torch("fit", "data", "-o", "auto.vt", "--backend", "auto", "--quiet", cwd=place).returncode == 0
    done = without_torch("doctor", cwd=place)
    assert done.returncode == 0
    assert "torch is not installed: pip install 'vectrick[torch]'" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    "command", [("fit", "data", "-o", "never.vt"), ("predict", "cpu.vt", "--grid", "-o", "never.parquet")]
)
def test_asking_for_torch_without_it_is_told_and_writes_nothing(place, command):
    done = without_torch(*command, "--backend", "torch", cwd=place)
    assert done.returncode == 2
    assert "torch is not installed; install it with: pip install 'vectrick[torch]'" in " ".join(done.stderr.split())
    assert not list(place.glob("never*"))


def test_fit_and_predict_with_torch(place):
    pytest.importorskip("torch", reason="torch is not installed: the torch backend was left out")
    vectrick("fit", "data", "-o", "one.vt", cwd=place)
    vectrick("fit", "data", "-o", "other.vt", "--backend", "torch", "--device", "cpu", cwd=place)
    for name, more in (("one", ()), ("other", ("--backend", "torch", "--device", "cpu"))):
        vectrick("predict", f"{name}.vt", "--grid", "-o", f"{name}.parquet", *more, cwd=place)
    tables = [pd.read_parquet(place / f"{name}.parquet") for name in ("one", "other")]
    one, other = (table["score"].to_numpy() for table in tables)
    # Scores of these data, which have no noise, go beyond 50: what counts is their difference relative to that.
    assert one == pytest.approx(other, rel=0, abs=2e-5 * abs(other).max())
    assert tables[0]["probability"].to_numpy() == pytest.approx(tables[1]["probability"].to_numpy(), abs=3e-4)
    rank = ("rank", "other.vt", "--start", "d3", "--top", "2", "-o")
    vectrick(*rank, "torch.csv", "--backend", "torch", cwd=place)
    vectrick(*rank, "numpy.csv", cwd=place)
    pd.testing.assert_frame_equal(pd.read_csv(place / "torch.csv"), pd.read_csv(place / "numpy.csv"))
    assert without_torch("predict", "other.vt", "--grid", "-o", "later.parquet", cwd=place).returncode == 0


def test_mixed_precision(place):
    found = as_json("fit", "data", "-o", "mixed.vt", "--precision", "mixed", "--solver", "newton", cwd=place)
    assert found["iterations"] >= 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--backend", "gpu"), "backend is 'gpu', but it must be one of 'cpu', 'torch', 'auto'"),
        (("--device", "cuda"), "backend is 'cpu', but device is 'cuda'; use backend='torch'"),
        (("--precision", "low"), "precision is 'low', but it must be one of 'full', 'mixed'"),
    ],
)
def test_bad_options(place, options, message):
    done = vectrick("fit", "data", "-o", "never.vt", *options, cwd=place, code=2)
    assert message in " ".join(done.stderr.split())
    assert not (place / "never.vt").exists()
