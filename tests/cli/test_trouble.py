"""What goes wrong: bad input, full disks, Ctrl-C, killed processes. It gets one line, and nothing is lost."""

import gzip
import json
import os
import resource
import shutil
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import vectrick as vt
from tests.cli.commands import as_json, inside, vectrick, write_data
from vectrick._files import check_output


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trouble")
    write_data(folder / "data")
    vectrick("fit", "data", "-o", "known.vt", cwd=folder)
    (folder / "loop.vt").symlink_to(folder / "other loop")
    (folder / "other loop").symlink_to(folder / "loop.vt")
    return folder


def replace(file, old, new):
    def change(folder):
        path = folder / file
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new, 1))

    return change


def put(file, content):
    return lambda folder: (folder / file).write_text(content)


def remove(file):
    return lambda folder: (folder / file).unlink()


BAD = {
    "missing file": (remove("edges.csv"), "has no edges"),
    "empty file": (put("edges.csv", ""), "edges.csv is empty"),
    "no header": (replace("edges.csv", "start,end,label\n", ""), "has no column 'start'"),
    "wrong separator": (put("edges.csv", "start;end;label\nd0;t0;1\n"), "separated by ';'"),
    "duplicate ids": (replace("end_features.csv", "t1,", "t0,"), "has 1 ids more than once: 't0'"),
    "unknown ids": (
        replace("start_features.csv", "\nd7,", "\nseven,"),
        "1 ids in column 'start' are not in start_features.csv: 'd7'",
    ),
    "text for a number": (put("start_features.csv", "id,f\nd0,1\nd1,heavy\n"), "row 2, column 'f' is 'heavy'"),
    "names for features": (
        put("start_features.csv", "id,f\n" + "".join(f"d{i},name {i}\n" for i in range(60))),
        "has no columns with numbers or categories",
    ),
    "a gap": (replace("start_features.csv", "\nd0,", "\nd0,,1\nd00,"), "--impute median fills"),
    "no label": (replace("edges.csv", "\nd", "\nd0,t0,\nd"), "--skip-unlabeled leaves these edges out"),
    "a quote without end": (put("edges.csv", 'start,end,"label\n' + "d0,t0,1\n" * 30_000), "edges.csv cannot be read"),
    "a line without end": (
        lambda folder: (
            remove("edges.csv")(folder),
            (folder / "edges.csv.gz").write_bytes(gzip.compress(b"x" * 50_000_000)),
        ),
        "its first line is longer than",
    ),
    "lists in columns": (
        lambda folder: (
            remove("start_features.csv")(folder),
            pd.DataFrame({"id": ["d0"], "f": [["a"]]}).to_parquet(folder / "start_features.parquet"),
        ),
        "column 'f' is of the type list",
    ),
    "records in columns": (
        lambda folder: (
            remove("edges.csv")(folder),
            pd.DataFrame({"start": ["d0"], "end": ["t0"], "label": [{"a": 1}]}).to_parquet(folder / "edges.parquet"),
        ),
        "column 'label' is of the type struct",
    ),
    "NaN": (put("start_features.csv", "id,f\nd0,NaN\nd1,1\n"), "row 1, column 'f' is empty"),
    "labels": (
        put("edges.csv", "start,end,label\n" + "".join(f"d0,t0,word {i}\n" for i in range(101))),
        "must be numbers or 2 to 100 classes",
    ),
    "kernel ids": (
        lambda folder: (
            put("start_kernel.csv", "id,d1,d0\nd0,1,0\nd1,0,1\n")(folder),
            remove("start_features.csv")(folder),
        ),
        "ids differ",
    ),
    "both kinds": (put("start_kernel.csv", "id,d0\nd0,1\n"), "start_features.csv and start_kernel.csv"),
    "no gzip": (
        lambda folder: (remove("edges.csv")(folder), put("edges.csv.gz", "x")(folder)),
        "edges.csv.gz cannot be read",
    ),
}


@pytest.fixture(scope="module")
def refused_files(place, tmp_path_factory):
    """For each case the folder that a command was run in, and what it said."""

    def run(case):
        folder = tmp_path_factory.mktemp("bad")
        shutil.copytree(place / "data", folder / "data")
        BAD[case][0](folder / "data")
        return folder, inside("fit", "data", "-o", "model.vt", "--report", "report.html", cwd=folder, code=2)

    return {case: run(case) for case in BAD}


@pytest.mark.parametrize("case", BAD)
def test_bad_files(refused_files, case):
    folder, done = refused_files[case]
    assert BAD[case][1] in done.stderr
    lines = [line for line in done.stderr.splitlines() if not line.startswith("warning: ")]
    assert lines[0].startswith("vectrick fit: ")
    assert len(lines) == 1
    assert done.stdout == ""
    assert os.listdir(folder) == ["data"]


OPTIONS = {
    "no data": (["fit"], "no data was given"),
    "no such folder": (["fit", "nowhere"], "there is no folder nowhere"),
    "kernel": (
        ["fit", "data", "--start-kernel", "gausian"],
        "--start-kernel is 'gausian', but 'gausian' is not a kernel",
    ),
    "precomputed": (["fit", "data", "--end-kernel", "precomputed"], "but the end vertices have features"),
    "alpha": (["fit", "data", "--alpha", "-1"], "alpha is -1.0, but it must be a positive number"),
    "solver": (["fit", "data", "--solver", "magic"], "solver is 'magic'"),
    "backend": (["fit", "data", "--backend", "abacus"], "backend is 'abacus'"),
    "fraction": (["fit", "data", "--validation-fraction", "2"], "--validation-fraction is 2.0"),
    "label column": (["fit", "data", "--label-column", "affinity"], "--label-column chooses another name"),
    "exists": (["fit", "data", "-o", "known.vt"], "known.vt exists; use --force to replace it"),
    "no folder for it": (["fit", "data", "-o", "none/model.vt"], "there is no folder"),
    "is a folder": (["fit", "data", "-o", "data"], "data is a folder, but the output must be a file"),
    "resume what": (["fit", "data", "-o", "x.vt", "--resume"], "there is no --checkpoint to go on from"),
    "no model": (["predict", "none.vt", "data/edges.csv"], "there is no file none.vt"),
    "not a model": (["predict", "data/edges.csv", "data/edges.csv"], "is not a vectrick file"),
    "neither edges nor grid": (
        ["predict", "known.vt"],
        "give a file of edges, new vertices to pair with all others, or --grid",
    ),
    "ending": (["predict", "known.vt", "--grid", "-o", "out.xlsx"], "must end in .parquet, .csv or .tsv"),
    "unknown vertex": (["rank", "known.vt", "--start", "nobody"], "--start is 'nobody', but neither the model nor"),
    "rank whom": (["rank", "known.vt"], "give --start ID"),
    "top": (["rank", "known.vt", "--start", "d0", "--top", "0"], "--top is 0"),
    "setting": (["evaluate", "data", "--settings", "all"], "--settings has 'all'"),
    "baseline": (["evaluate", "data", "--baselines", "magic"], "--baselines has 'magic'"),
    "folds": (["evaluate", "data", "--folds", "1"], "n_start is 1"),
    "alphas": (["tune", "data", "--alphas", "1,two"], "--alphas is '1,two'"),
    "one file for two": (["fit", "data", "-o", "x.html", "--report", "x.html"], "must be different files"),
    "report": (
        ["fit", "data", "-o", "x.vt", "--report", "x.txt"],
        "--report is 'x.txt', but its name must end in .html",
    ),
    "a device": (["fit", "data", "-o", "/dev/null", "--force"], "/dev/null is not a regular file"),
    "a file for a folder": (["fit", "data/edges.csv"], "is a file, but DATA must be a folder"),
    "a file for a kernel": (
        ["fit", "data", "--start-kernel", "k.csv"],
        "name the file of a kernel matrix with --start-matrix",
    ),
    "gamma": (
        ["fit", "data", "-o", "x.vt", "--start-kernel", "gaussian(-1)"],
        "gamma is -1, but it must be a positive number",
    ),
    "positive": (
        ["fit", "data", "-o", "x.vt", "--positive", "yes"],
        "--positive is 'yes', but column 'label' has the classes",
    ),
    "losses": (["tune", "data", "--losses", "hings"], "--losses has 'hings'"),
    "a gamma of 400 digits": (
        ["fit", "data", "-o", "x.vt", "--start-kernel", f"gaussian(1{'0' * 400})"],
        "gamma is beyond 1e+300",
    ),
    "a solver for another loss": (
        ["evaluate", "data", "--solver", "minres", "--loss", "svm"],
        "needs a quadratic loss",
    ),
    "a loop of links": (["fit", "data", "-o", "loop.vt", "--force"], "it is a link that leads to itself"),
    "a name too long": (["fit", "data", "-o", "a" * 256], "File name too long"),
    "an id of no class": (["rank", "known.vt", "--start", "d0", "--class", "x"], "is no model of several classes"),
    "impute": (["fit", "data", "-o", "x.vt", "--impute", "mean"], "--impute is 'mean', but it must be 'median'"),
    "baseline edges": (["evaluate", "data", "--baseline-edges", "0"], "--baseline-edges is 0"),
    "seed": (["fit", "data", "-o", "x.vt", "--seed", "-1"], "--seed is -1"),
}


@pytest.fixture(scope="module")
def refused_options(place):
    """For each case what the command said; none of them may write anything."""
    before = sorted(os.listdir(place))
    found = {case: inside(*OPTIONS[case][0], cwd=place, code=2) for case in OPTIONS}
    assert sorted(os.listdir(place)) == before
    return found


@pytest.mark.parametrize("case", OPTIONS)
def test_bad_options(refused_options, case):
    arguments, message = OPTIONS[case]
    said = refused_options[case].stderr
    assert message in said
    assert said.splitlines()[-1].startswith(f"vectrick {arguments[0]}: ")


def test_unknown_options_and_commands(place):
    for arguments, named in (
        (["fit", "data", "--alhpa", "1"], "--alhpa"),
        (["fti"], "fti"),
        (["fit", "data", "--loss", "hings"], "hings"),
    ):
        done = vectrick(*arguments, cwd=place, code=2)
        assert named in done.stderr
        assert done.stdout == ""


@pytest.mark.slow
def test_errors_as_json_and_with_a_traceback(place):
    done = vectrick("fit", "nowhere", "--json", cwd=place, code=2)
    assert json.loads(done.stdout)["error"].startswith("there is no folder nowhere")
    command = [sys.executable, "-m", "vectrick", "fit", "nowhere", "--debug"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert "Traceback" in done.stderr


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root, who may run this, may write everywhere
    with pytest.raises(PermissionError, match=r"model\.vt cannot be written: the folder .* does not allow it"):
        check_output(tmp_path / "model.vt", force=False)


@pytest.mark.slow
def test_predictions_of_unknown_edges_leave_nothing_behind(place, tmp_path):
    many = pd.DataFrame({"start": ["d0"] * 50 + ["who"], "end": ["t0"] * 51})
    many.to_csv(tmp_path / "edges.csv", index=False)
    done = vectrick("predict", place / "known.vt", "edges.csv", "-o", "out.csv", cwd=tmp_path, code=2)
    assert (
        "1 ids in column 'start' are not in the start vertices of the model or of --start-features: 'who'"
        in done.stderr
    )
    assert os.listdir(tmp_path) == ["edges.csv"]


def limited(n_bytes):
    """Return what lets a process write no file larger than that, as a quota does."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))

    return limit


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "data", "-o", "new.vt"],
        ["fit", "data", "-o", "old.vt", "--force"],
        ["predict", "known.vt", "--grid", "-o", "old.csv", "--force"],
        ["predict", "known.vt", "--grid", "-o", "new.parquet"],
    ],
)
def test_a_disk_that_fills_up(place, tmp_path, arguments):
    shutil.copytree(place / "data", tmp_path / "data")
    for name in ("known.vt", "old.vt", "old.csv"):
        shutil.copy(place / "known.vt", tmp_path / name)
    before = sorted(os.listdir(tmp_path))
    done = subprocess.run(
        [sys.executable, "-m", "vectrick", *arguments], cwd=tmp_path, capture_output=True, text=True,
        preexec_fn=limited(8192), check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(os.listdir(tmp_path)) == before
    for name in ("old.vt", "old.csv"):
        assert (tmp_path / name).read_bytes() == (place / "known.vt").read_bytes()


@pytest.mark.slow
def test_a_full_disk(place, small_disk):
    (small_disk / "old.vt").write_bytes((place / "known.vt").read_bytes())
    for arguments in (
        ["fit", place / "data", "-o", "old.vt", "--force", "--report", "report.html"],  # the page does not fit
        ["predict", place / "known.vt", "--grid", "-o", "grid.csv"],
    ):
        if arguments[0] == "predict":
            free = os.statvfs(small_disk)
            (small_disk / "filler").write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - 8192)))
        done = vectrick(*arguments, cwd=small_disk, code=2)
        assert "No space left on device" in done.stderr
        assert {name for name in os.listdir(small_disk) if name.startswith(".")} == set()
        vt.load(small_disk / "old.vt")
    assert not (small_disk / "report.html").exists()
    assert not (small_disk / "grid.csv").exists()


def start(arguments, cwd):
    return subprocess.Popen(
        [sys.executable, "-m", "vectrick", *arguments],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(process, word):
    """Read what the process says until a word comes up."""
    said = ""
    for line in process.stderr:
        said += line
        if word in line:
            return said
    raise AssertionError(f"it ended and never said {word!r}: {said}")


LONG = ["--loss", "hinge", "--alpha", "1e-4", "--max-iter", "100000000", "--tol", "0", "-v"]  # it would take days


@pytest.mark.slow
def test_ctrl_c_keeps_the_best_model(place):
    process = start(["fit", "data", "-o", "kept.vt", "--patience", "100000000", *LONG], place)
    wait_for(process, "training: 5 of")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    assert "interrupted: kept.vt holds the best model so far" in err
    assert "Traceback" not in err
    model = vt.load(place / "kept.vt")
    assert model.solution_.reason.startswith("interrupted")
    assert model.n_iter_ == model.history_["iteration"][int(np.argmax(model.history_["score"]))]


@pytest.mark.slow
def test_ctrl_c_before_there_is_a_model(place):
    process = start(["evaluate", "data", "-v"], place)
    wait_for(process, "read in")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert err.splitlines()[-1] == "vectrick evaluate: interrupted; nothing was written"


@pytest.mark.slow
def test_a_killed_run_goes_on_from_its_checkpoint(place, monkeypatch):
    fast = {**os.environ, "VECTRICK_CHECKPOINT_SECONDS": "0"}
    monkeypatch.setenv("VECTRICK_CHECKPOINT_SECONDS", "0")
    options = ["fit", "data", "-o", "long.vt", "--checkpoint", "long.ckpt", "--patience", "100000000", *LONG]
    process = start(options, place)
    wait_for(process, "training: 20 of")
    process.kill()
    process.communicate()
    assert not (place / "long.vt").exists()
    leftovers = [name for name in os.listdir(place) if name.startswith(".long.ckpt")]
    assert len(leftovers) <= 1
    vectrick(*options, cwd=place, code=2, env=fast)  # the checkpoint exists
    other = [*options, "--resume", "--alpha", "0.5"]
    assert "other data or options" in vectrick(*other, cwd=place, code=2, env=fast).stderr
    process = start([*options, "--resume"], place)
    said = wait_for(process, "going on after iteration")
    reached = int(said.rpartition("going on after iteration ")[2])
    assert reached >= 19
    wait_for(process, f"training: {reached + 5} of")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143
    process = start([*options, "--resume"], place)
    wait_for(process, f"training: {reached + 10} of")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    model = vt.load(place / "long.vt")
    assert model.history_["iteration"] == list(range(1, len(model.history_["iteration"]) + 1))
    assert len(model.history_["iteration"]) > reached + 5
    for name in leftovers:
        (place / name).unlink()


def test_ctrl_c_while_training_on_all_edges_keeps_the_model(place, monkeypatch):
    from vectrick.cli import training
    from vectrick.cli.output import Output
    from vectrick.data.files.folder import read_dataset

    data = read_dataset(place / "data")
    trained = training.train(Output("fit"), vt.KronSVM(early_stopping=True), data, training.hold_out(data, 0.25, 0))
    before = trained.model

    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("vectrick.model_selection.trained.with_iterations", interrupt)
    trained.refit()
    assert trained.model is before
    assert trained.is_interrupted
    assert not trained.is_refitted


def test_every_held_out_edge_has_its_setting():
    from vectrick.cli.training import hold_out
    from vectrick.data.files.dataset import Dataset

    X, y = vt.datasets.make_checkerboard(30, density=0.6, random_state=0)
    one = vt.Edges(X.start, X.end, X.start_table.features)
    for edges in (X, one):
        found = hold_out(Dataset(edges, y, {}, classes=("-1", "1")), 0.25, 0)
        parts = [found.train, *found.tests.values()]
        assert sorted(np.concatenate(parts)) == list(range(len(y)))
        known = [set(edges.start[found.train]), set(edges.end[found.train])]
        if edges.is_one_set:
            known = [known[0] | known[1]] * 2
        for new, rows in found.tests.items():
            for i, j in zip(edges.start[rows], edges.end[rows], strict=True):
                one_new = (i not in known[0]) != (j not in known[1])
                if edges.is_one_set and new == "start":  # one or the other, in one setting
                    assert one_new
                else:
                    assert (i not in known[0], j not in known[1]) == (new != "end", new != "start")


@pytest.mark.slow
def test_a_finished_run_removes_its_checkpoint_and_a_damaged_one_is_refused(place):
    (place / "bad.ckpt").write_bytes(b"nonsense" * 40)
    options = ["fit", "data", "-o", "ck.vt", "--checkpoint", "bad.ckpt"]
    assert "is not a vectrick file" in vectrick(*options, "--resume", cwd=place, code=2).stderr
    as_json(*options, "--force", cwd=place)
    assert not (place / "bad.ckpt").exists()


@pytest.mark.slow
def test_a_reader_that_goes_away(place):
    command = f"{sys.executable} -m vectrick rank known.vt --start d0 --top 40 | head -1"
    done = subprocess.run(command, shell=True, cwd=place, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr


def shell(command, cwd):
    return subprocess.run(command, shell=True, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "code"),
    [
        (">&-", 0),
        ("2>&-", 0),
        ("--json >&- 2>&-", 0),
        ("> /dev/full", 2),
        ("--json > /dev/full", 2),
        ("--json > /dev/full 2> /dev/full", 2),
    ],
)
def test_nobody_to_talk_to(place, ending, code):
    done = shell(f"{sys.executable} -m vectrick info data {ending}", place)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize("arguments", ["--help", "--version", "fit --help"])
def test_help_that_finds_no_room(place, arguments):
    done = shell(f"{sys.executable} -m vectrick {arguments} > /dev/full", place)
    assert done.returncode == 2
    assert done.stderr == "vectrick: No space left on device\n"


def test_a_config_file_that_is_too_deep(place, tmp_path):
    (tmp_path / "deep.toml").write_text("x = " + "[" * 5000 + "]" * 5000)
    done = vectrick("fit", "data", "--config", tmp_path / "deep.toml", cwd=place, code=2)
    assert "nested too deeply" in " ".join(done.stderr.split())


@pytest.mark.slow
def test_labels_that_differ_in_their_last_digit(place, tmp_path):
    shutil.copytree(place / "data", tmp_path / "data")
    edges = pd.read_csv(tmp_path / "data" / "edges.csv")
    edges["label"] = edges["label"].map({1: 1700000001, -1: 1700000000})
    edges.to_csv(tmp_path / "data" / "edges.csv", index=False)
    told = as_json("fit", "data", "-o", "model.vt", cwd=tmp_path)
    assert told["positive"] == "1700000001"
    assert as_json("fit", "data", "-o", "x.vt", "--positive", "1700000000.0", cwd=tmp_path)["positive"] == "1700000000"


@pytest.mark.slow
def test_a_forged_model_and_a_forged_checkpoint(place, tmp_path):
    from vectrick.persistence.container import read_container, write_container

    model = vt.load(place / "known.vt")
    model.save(tmp_path / "forged.vt", about={**model.about_, "classes": [], "medians": [1], "label": None})
    shutil.copytree(place / "data", tmp_path / "data")
    vectrick("predict", "forged.vt", "data/edges.csv", "-o", "out.csv", cwd=tmp_path)
    assert "positive label" in vectrick("info", "forged.vt", cwd=tmp_path).stdout

    fast = {**os.environ, "VECTRICK_CHECKPOINT_SECONDS": "0"}
    options = ["fit", "data", "-o", "long.vt", "--checkpoint", "long.ckpt", "--patience", "100000000", *LONG]
    process = subprocess.Popen([sys.executable, "-m", "vectrick", *options], cwd=tmp_path, env=fast, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    wait_for(process, "training: 5 of")
    process.kill()
    process.communicate()
    header, tensors = read_container(tmp_path / "long.ckpt", "checkpoint")
    step = header["step"]
    for forged in (
        {**step, "history": {}},
        {**step, "history": {**step["history"], "seconds": []}},
        {**step, "history": {**step["history"], "score": ["x"] * step["iteration"]}},
        {**step, "iteration": "5"},
        {**step, "best_score": None},
        {**step, "unknown": 1},
        [],
    ):
        write_container(tmp_path / "long.ckpt", "checkpoint", {"key": header["key"], "step": forged}, tensors)
        assert "is damaged" in vectrick(*options, "--resume", cwd=tmp_path, code=2, env=fast).stderr
