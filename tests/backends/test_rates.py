"""Rates: measured once, kept, read with suspicion."""

import json
import os
from dataclasses import asdict

import numpy as np
import pytest

from vectrick.backends import rates
from vectrick.backends.cpu import rates as cpu_rates
from vectrick.backends.cpu.rates import default_rates, known_rates, machine_rates
from vectrick.backends.rates import cache_folder

FLOAT64 = np.dtype(np.float64)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("VECTRICK_CACHE_DIR", str(tmp_path / "cache"))
    rates._found.clear()
    yield tmp_path / "cache"
    rates._found.clear()


@pytest.fixture
def counted(monkeypatch):
    calls = []

    def measure(dtype, n_threads):
        calls.append((dtype, n_threads))
        return rates.Rates(**{**asdict(default_rates(dtype, n_threads)), "gemm": 1e9, "measured": True})

    monkeypatch.setattr(cpu_rates, "measure", measure)
    return calls


def test_measured_once_and_kept(folder, counted):
    assert not known_rates(FLOAT64, 2).measured
    assert machine_rates(FLOAT64, 2).gemm == 1e9
    assert machine_rates(FLOAT64, 2).gemm == 1e9
    rates._found.clear()
    assert machine_rates(FLOAT64, 2).gemm == 1e9
    assert len(counted) == 1
    assert known_rates(FLOAT64, 2).measured
    assert [file.suffix for file in folder.iterdir()] == [".json"]
    machine_rates(FLOAT64, 1)
    assert len(counted) == 2


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"gemm": "x"}', '{"gemm": -1}', '{"gemm": NaN}'])
def test_a_damaged_file_is_measured_again(folder, counted, text):
    machine_rates(FLOAT64, 2)
    (file,) = folder.iterdir()
    good = json.loads(file.read_text())
    file.write_text(json.dumps({**good, **json.loads(text)}) if text.startswith('{"') else text)
    rates._found.clear()
    assert machine_rates(FLOAT64, 2).gemm == 1e9
    assert len(counted) == 2


def test_a_folder_that_cannot_be_written_is_no_obstacle(tmp_path, monkeypatch, counted):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("VECTRICK_CACHE_DIR", str(blocked / "below"))
    rates._found.clear()
    assert machine_rates(FLOAT64, 2).gemm == 1e9
    rates._found.clear()


def test_nobodys_home_is_no_obstacle(monkeypatch, counted):
    monkeypatch.delenv("VECTRICK_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def nobody(*_args):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr("pathlib.Path.home", nobody)
    rates._found.clear()
    assert machine_rates(FLOAT64, 2).gemm == 1e9
    rates._found.clear()


def test_the_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("VECTRICK_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "vectrick"


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_real_measurement_makes_sense(dtype):
    found = asdict(cpu_rates.measure(dtype, 1))
    assert found.pop("measured") is True
    assert all(np.isfinite(rate) and rate > 0 for rate in found.values())
    assert max(found["sparse_small"], found["sampled_small"]) <= 2 * found["gemm"]


@pytest.mark.parametrize(
    "content", ["[" * 100_000, '{"gemm": 1' + "0" * 400 + "}", '{"gemm": 1e999}', "{}", "null", "\x00", "1" * 200_000]
)
def test_a_cache_that_is_nonsense_is_no_cache(content, tmp_path):
    path = tmp_path / "rates.json"
    path.write_text(content)
    assert rates._read(path) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_pipe_as_cache_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "rates.json")
    assert rates._read(tmp_path / "rates.json") is None
