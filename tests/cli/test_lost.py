"""Nothing is lost: old outputs survive failures, no input is an output, and long work goes on after any end."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time

import pandas as pd
import psutil
import pytest

import vectrick as vt
from tests.cli.commands import as_json, vectrick, write_data

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lost")
    write_data(folder / "data")
    vectrick("fit", "data", "-o", "known.vt", cwd=folder)
    return folder


@pytest.fixture
def copy(place, tmp_path):
    shutil.copytree(place, tmp_path / "copy")
    return tmp_path / "copy"


def digests(folder):
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def test_a_failed_prediction_keeps_the_old_file(copy):
    (copy / "header.csv").write_text("start,end\n")
    (copy / "unknown.csv").write_text("start,end\nd0,t0\nwho,t0\n")
    (copy / "good.csv").write_text("what was there")
    before = digests(copy)
    for edges, message in (("header.csv", "has a header, but no rows"), ("unknown.csv", "'who'")):
        assert message in vectrick("predict", "known.vt", edges, "-o", "good.csv", "--force", cwd=copy, code=2).stderr
    assert digests(copy) == before


OVER_INPUTS = {
    "fit -o": ["fit", "data", "-o", "data/edges.csv"],
    "fit --checkpoint": ["fit", "data", "-o", "x.vt", "--checkpoint", "data/edges.csv"],
    "fit --start-features": ["fit", "data", "--start-features", "other.csv", "-o", "other.csv"],
    "fit --config": ["fit", "data", "-o", "options.toml", "--config", "options.toml"],
    "evaluate --checkpoint": ["evaluate", "data", "--checkpoint", "data/start_features.csv"],
    "tune -o": ["tune", "data", "-o", "data/end_features.csv"],
    "predict": ["predict", "known.vt", "data/edges.csv", "-o", "data/edges.csv"],
    "predict over new vertices": ["predict", "known.vt", "--grid", "--start-features", "other.csv", "-o", "other.csv"],
    "rank": ["rank", "known.vt", "--start", "d0", "--edges", "data/edges.csv", "-o", "data/edges.csv"],
    "demo": ["demo", "-o", "same.html", "--report", "same.html"],
}


@pytest.mark.parametrize("case", OVER_INPUTS)
def test_outputs_are_no_inputs(copy, case):
    shutil.copy(copy / "data" / "start_features.csv", copy / "other.csv")
    (copy / "options.toml").write_text("alpha = 0.5\n")
    before = digests(copy)
    force = [] if case == "demo" else ["--force"]
    said = vectrick(*OVER_INPUTS[case], *force, cwd=copy, code=2).stderr
    assert "it is also an input" in said or "must be different files" in said
    assert digests(copy) == before


def test_evaluate_fails_when_every_fold_does(place):
    done = vectrick("evaluate", "data", "--alpha", "nan", cwd=place, code=2)
    assert "alpha is nan, but it must be a positive number" in done.stderr
    assert "auc" not in done.stdout
    matrix = ["--start-kernel", "gaussian(1e-300) * constant(1e-300)"]
    done = vectrick(
        "evaluate", "data", "--manual", "--settings", "both", "--baselines", "none", *matrix, cwd=place, code=2
    )
    assert "KronSVM failed in every fold; in the first one: ValueError: training ended in a model that" in done.stderr


def test_a_checkpoint_knows_its_validation_data(copy):
    slow = [
        "--loss",
        "hinge",
        "--alpha",
        "1e-4",
        "--max-iter",
        "100000000",
        "--tol",
        "0",
        "--patience",
        "100000000",
        "-v",
    ]
    options = ["fit", "data", "-o", "long.vt", "--checkpoint", "long.ckpt", *slow]
    env = {**os.environ, "VECTRICK_CHECKPOINT_SECONDS": "0"}
    process = subprocess.Popen(
        [sys.executable, "-m", "vectrick", *options], cwd=copy, stderr=subprocess.PIPE, text=True, env=env
    )
    for line in process.stderr:
        if "training: 3 of" in line:
            break
    process.kill()
    process.communicate()
    edges = pd.read_csv(copy / "data" / "edges.csv")
    from vectrick.cli.training import hold_out
    from vectrick.data.files.folder import read_dataset

    held = hold_out(read_dataset(copy / "data"), 0.25, 0).tests["both"]
    edges.loc[held[0], "label"] *= -1
    edges.to_csv(copy / "data" / "edges.csv", index=False)
    assert "other data or options" in vectrick(*options, "--resume", cwd=copy, code=2, env=env).stderr


def run_until(arguments, cwd, enough, how):
    """Run a command until something is true, and end it; return what it said and the processes that it had."""
    process = subprocess.Popen([sys.executable, "-m", "vectrick", *map(str, arguments)], cwd=cwd, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    limit = time.monotonic() + 100
    while not enough():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < limit
        time.sleep(0.05)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(how)
    said = process.communicate(timeout=60)
    return process.returncode, *said, children


def results_in(path):
    """Return how many results a checkpoint has; it is replaced whole, so it can always be read."""
    import json

    return sum(map(len, json.loads(path.read_text())["results"].values())) if path.exists() else 0


EVALUATE = [
    "evaluate",
    "data",
    "--manual",
    "--settings",
    "both,neither",
    "--baselines",
    "boosted trees",
    "--repeats",
    "3",
]


def test_evaluate_goes_on_after_an_interruption(copy):
    kept = [*EVALUATE, "--checkpoint", "kept.json"]
    code, out, err, _ = run_until(kept, copy, lambda: results_in(copy / "kept.json") >= 3, signal.SIGINT)
    assert code == 3, err
    assert "kept.json has the finished work; --resume continues it" in err
    assert "KronSVM" in out
    n_before = results_in(copy / "kept.json")
    assert 3 <= n_before < 108
    assert "kept.json exists" in vectrick(*kept, cwd=copy, code=2).stderr
    again = as_json(*kept, "--resume", cwd=copy)
    assert not (copy / "kept.json").exists()
    whole = as_json(*EVALUATE, cwd=copy)
    for one, other in zip(again["evaluation"], whole["evaluation"], strict=True):
        assert (one["setting"], one["method"], one["scores"]) == (other["setting"], other["method"], other["scores"])


TUNE = [
    "tune",
    "data",
    "--kernel",
    "gaussian",
    "--kernel",
    "linear",
    "--alphas",
    "0.1,1",
    "--jobs",
    "2",
    "--folds",
    "3",
]


def test_a_killed_tune_leaves_no_processes_and_goes_on(copy):
    kept = [*TUNE, "--checkpoint", "kept.json", "-o", "tuned.vt"]
    *_, children = run_until(kept, copy, lambda: results_in(copy / "kept.json") >= 2, signal.SIGKILL)
    assert children
    _, alive = psutil.wait_procs(children, timeout=10)
    assert not alive
    n_before = results_in(copy / "kept.json")
    assert n_before >= 2
    again = as_json(*kept, "--resume", cwd=copy)
    assert not (copy / "kept.json").exists()
    whole = as_json(*TUNE, "-o", "whole.vt", cwd=copy)
    assert again["nested"] == whole["nested"]
    assert again["choices"] == whole["choices"]
    X = vt.load(copy / "whole.vt").start_table_
    assert len(X) == 60


def test_resume_needs_a_checkpoint(place):
    for command in ("evaluate", "tune"):
        assert "there is no --checkpoint" in vectrick(command, "data", "--resume", cwd=place, code=2).stderr
