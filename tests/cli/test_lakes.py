"""The commands on a lake: info, a search, single models, what it would take, a cluster, and predictions."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import vectrick as vt
from tests.cli.commands import as_json, inside, vectrick, write_data


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A lake folder with text ids of users and numbers as ids of items."""
    folder = tmp_path_factory.mktemp("lake")
    rng = np.random.default_rng(0)
    m, q, n = 40, 30, 800
    users, items = (rng.standard_normal((size, 3)) for size in (m, q))
    names, numbers = np.array([f"user{i}" for i in range(m)]), np.arange(q) * 3 + 5
    (folder / "lake" / "edges").mkdir(parents=True)
    tables = {"start": (users, names), "end": (items, numbers)}
    for side, (features, ids) in tables.items():
        frame = pd.DataFrame(features, columns=["a", "b", "c"]).assign(id=ids)
        frame.to_csv(folder / "lake" / f"{side}_features.csv", index=False)
    pairs = rng.choice(m * q, n, replace=False)
    start, end = pairs // q, pairs % q
    y = users[start, 0] * items[end, 1] + 0.3 * rng.standard_normal(n)
    frame = pd.DataFrame({"start": names[start], "end": numbers[end], "label": y, "weight": 1.0, "good": y > 0})
    for number, rows in enumerate(np.array_split(np.arange(n), 3)):
        frame.iloc[rows].to_parquet(folder / "lake" / "edges" / f"{number}.parquet")
    write_data(folder / "small", m=10, q=8)
    return folder


SINGLE = ("--manual", "--start-kernel", "linear", "--end-kernel", "linear")


def test_info_reads_the_lake(place):
    facts = as_json("info", "lake", "--partition-edges", "300", cwd=place, run=inside)
    assert (facts["edges"], facts["start_vertices"], facts["partitions"]) == (800, 40, 3)
    assert facts["start_degrees"]["vertices"] == 40
    assert "800" in inside("info", "lake", cwd=place).stdout


def test_what_it_would_take_is_told_and_nothing_written(place):
    told = as_json(
        "fit", "lake", "--dry-run", "-o", "none.vt", "--partition-edges", "300", *SINGLE, cwd=place, run=inside
    )
    assert (told["n_edges"], told["n_partitions"], told["ranks"]) == (800, 3, [3, 3])
    assert told["seconds"] > 0
    assert "partitions" in inside("fit", "lake", "--dry-run", cwd=place).stdout
    assert not (place / "none.vt").exists()


def test_a_single_model_is_that_of_the_library(place):
    told = as_json("fit", "lake", "-o", "single.vt", *SINGLE, "--no-early-stopping", cwd=place, run=inside)
    assert (told["estimator"], told["edges"], told["converged"]) == ("KronRidge", 800, True)
    model = vt.load(place / "single.vt")
    users, items = (pd.read_csv(place / "lake" / f"{side}_features.csv", index_col="id") for side in ("start", "end"))
    X = vt.scan_edges(place / "lake" / "edges", start_table=users, end_table=items)
    assert np.allclose(model.coef_, vt.KronRidge().fit(X).coef_)
    assert model.about_["edges"] == 800
    options = ("--label-column", "good", "--loss", "logistic", "--weight-column", "weight", "--max-memory", "1GB")
    as_json("fit", "lake", "-o", "classes.vt", *SINGLE, *options, cwd=place, run=inside)
    assert vt.load(place / "classes.vt").classes_.tolist() == [False, True]


def test_a_search_is_the_default(place):
    told = as_json("fit", "lake", "-o", "search.vt", "--start-kernel", "linear", cwd=place, run=inside)
    assert told["estimator"] == "AutoKron"
    assert told["score"] > 0.6
    assert "held-out vertices" in told["notes"][0]
    inside("rank", "search.vt", "--start", "user3", "--top", "2", cwd=place)


def test_predictions_of_a_lake_are_a_folder(place):
    inside("fit", "lake", "-o", "model.vt", "-f", *SINGLE, cwd=place)
    for source in ("lake", "lake/edges"):
        told = as_json("predict", "model.vt", source, "-o", "predicted", "--force", cwd=place, run=inside)
        assert told["edges"] == 800
        frame = pd.read_parquet(place / "predicted")
        assert np.corrcoef(frame["score"], frame["label"])[0, 1] > 0.7
    inside("predict", "model.vt", "lake", "-o", "predicted", cwd=place, code=2)
    inside("predict", "model.vt", "lake", "-o", "predicted.csv", cwd=place, code=2)
    inside("predict", "model.vt", "small/edges.csv", "--missing", "drop", "-o", "p.csv", cwd=place, code=2)


def test_predictions_never_replace_the_lake(place):
    inside("fit", "lake", "-o", "model.vt", "-f", *SINGLE, cwd=place)
    before = sorted(path.name for path in (place / "lake").rglob("*"))
    for target in ("lake", "lake/edges", "lake/edges/more", "."):
        inside("predict", "model.vt", "lake", "-o", target, "--force", cwd=place, code=2)
    assert sorted(path.name for path in (place / "lake").rglob("*")) == before


def test_what_is_trained_does_not_depend_on_the_order_of_edges(place, tmp_path):
    frame = pd.concat([pd.read_parquet(path) for path in sorted((place / "lake" / "edges").iterdir())])
    stars = frame.assign(label=np.clip(np.round(3 + frame["label"]), 1, 5)).sort_values("label")
    (tmp_path / "edges").mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(stars)), 5)):
        stars.iloc[rows].to_parquet(tmp_path / "edges" / f"{number}.parquet")
    for side in ("start", "end"):
        (tmp_path / f"{side}_features.csv").write_bytes((place / "lake" / f"{side}_features.csv").read_bytes())
    told = as_json("fit", tmp_path, "-o", "stars.vt", "-f", *SINGLE, cwd=tmp_path, run=inside)
    assert told["estimator"] == "KronRidge"


def test_edges_of_unknown_vertices_can_be_left_out_of_predictions(place):
    inside("fit", "lake", "-o", "model.vt", "-f", *SINGLE, cwd=place)
    (place / "more").mkdir()
    pd.DataFrame({"start": ["user0", "nobody"], "end": [5, 8]}).to_parquet(place / "more" / "0.parquet")
    done = inside("predict", "model.vt", "more", "-o", "predicted-more", cwd=place, code=2)
    assert "nobody" in done.stderr
    assert not (place / "predicted-more").exists()
    told = as_json("predict", "model.vt", "more", "-o", "predicted-more", "--missing", "drop", cwd=place, run=inside)
    assert (told["edges"], told["dropped"]) == (1, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fit", "lake", "--report", "r.html"), "--report and --checkpoint are for edges in memory"),
        (("fit", "small", "--max-memory", "1GB"), "the data are no lake"),
        (("fit", "lake", "--cluster", "nowhere"), "--cluster is 'nowhere'"),
        (("fit", "lake", "--cluster", "local:none"), "--cluster is 'local:none'"),
        (("fit", "lake", "--max-memory", "much"), "max_memory is 'much'"),
        (("fit", "lake", "--missing", "keep"), "missing is 'keep'"),
        (("fit", "lake", "--label-column", "stars"), "no column 'stars'"),
        (("fit", "lake", "--label-column", "start"), "must hold numbers"),
        (("fit", "lake", "--positive", "1"), "--positive is given"),
        (("fit", "lake", "--worker-timeout", "9s"), "--worker-timeout is '9s', but there is no --cluster"),
        (("fit", "lake", "--worker-timeout", "abc", "--cluster", "local:1"), "--worker-timeout is 'abc'"),
        (("fit", "lake", "--cluster", "nope://x"), "--cluster is 'nope://x'"),
        (("fit", "lake", "--manual", "--pairwise", "cartesian"), "pairwise is 'cartesian'"),
    ],
)
def test_bad_options_are_named(place, arguments, message):
    if "--cluster" in arguments:
        pytest.importorskip("distributed")
    done = inside(*arguments, "-o", "never.vt", cwd=place, code=2)
    assert message in " ".join(done.stderr.split())
    assert not (place / "never.vt").exists()


def test_an_old_model_stays_when_a_fit_fails(place):
    (place / "old.vt").write_bytes(b"an old model")
    inside("fit", "lake", "-o", "old.vt", "-f", "--manual", "--pairwise", "cartesian", cwd=place, code=2)
    assert (place / "old.vt").read_bytes() == b"an old model"


@pytest.mark.slow
def test_a_cluster_of_processes_writes_the_same_model(place):
    pytest.importorskip("distributed")
    inside("fit", "lake", "-o", "here.vt", "-f", *SINGLE, cwd=place)
    done = vectrick("fit", "lake", "-o", "there.vt", "-f", "--json", *SINGLE, "--cluster", "local:2", cwd=place)
    assert json.loads(done.stdout)["edges"] == 800
    here, there = (vt.load(place / f"{name}.vt") for name in ("here", "there"))
    assert np.array_equal(here.coef_, there.coef_)
    import dask

    nobody = ["--cluster", "tcp://127.0.0.1:9"]
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        missing = inside("fit", "lake", "-o", "x.vt", *SINGLE, *nobody, cwd=place, code=2)
    assert "no scheduler responds there" in " ".join(missing.stderr.split())


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_a_fit_on_a_cluster_that_is_ended_leaves_no_process(place, end):
    pytest.importorskip("distributed")
    psutil = pytest.importorskip("psutil")
    before = sorted(os.listdir(place))
    forever = ["--tol", "0", "--max-iter", "100000000", "--no-early-stopping", "--cluster", "local:2", "-v"]
    process = subprocess.Popen(
        [sys.executable, "-m", "vectrick", "fit", "lake", "-o", "ended.vt", "--manual", "--loss", "logistic",
         "--label-column", "good", *forever], cwd=place, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    said = next((line for line in process.stderr if "iteration" in line), None)
    assert said is not None
    children = psutil.Process(process.pid).children(recursive=True)
    assert len(children) >= 2
    process.send_signal(end)
    _, said = process.communicate(timeout=60)
    _, left = psutil.wait_procs(children, timeout=60)
    assert left == []
    if end == signal.SIGINT:
        assert process.returncode == 3, said
        assert "interrupted: ended.vt holds the best model so far" in said
        assert vt.load(place / "ended.vt").n_iter_ >= 1
        (place / "ended.vt").unlink()
    assert sorted(os.listdir(place)) == before
