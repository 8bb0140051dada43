"""The experiments: each runs at its smallest size, what is finished is not run again, and a missing folder is named."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from experiments import datasets, paper
from experiments.__main__ import EXPERIMENTS, main, run, write_readme
from experiments.experiment import Results, Scale
from tests.data import folder_of

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
QUICK = Scale(quick=True)
# The tasks that stand for all of them: each kind of method, on a small data set.
CHEAP = {
    "tables": lambda task: task["data"] in ("GPCR", "Checker"),
    "tuned": lambda task: task["data"] == "GPCR",
    "pairwise": lambda task: (
        task["data"] == "GDSC"
        and task["setting"] == "both"
        and task["kernel"] in ("linear", "two_step", "weights: linear")
    ),
    "trust": lambda task: task["data"] == "GDSC" and task["seed"] == 0,
    "cold": lambda task: task["data"] == "GPCR" and task["setting"] == "both" and task["seed"] == 0,
    "published": lambda task: task["method"] in ("Morgan × spectrum", "one ridge regression"),
    "suggest": lambda task: task["data"] == "Checker, both new" and task["seed"] == 0,
    "convergence": lambda task: task["data"] in ("GPCR", "Checker"),
    "libsvm_ki": lambda task: task["size"] == 500,
    "vec_trick": lambda task: task["size"] == 500,
    "libsvm_checker": lambda task: task["m"] == 50,
    "automatic": lambda task: (
        task["data"] == "gpcr" and task["fold"] < 2 and task["method"] in ("AutoKron", "vertex mean")
    ),
}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_runs_draws_and_writes(name, tmp_path, monkeypatch):
    for data in ("gpcr", "ki", "gdsc", "celegans", "oneil"):
        folder_of(data)
    experiment = EXPERIMENTS[name]
    tasks = [task for task in experiment.tasks(QUICK) if CHEAP[name](task)]
    assert tasks
    monkeypatch.setattr(type(experiment), "tasks", lambda self, scale: tasks)
    run(experiment, QUICK, tmp_path)
    write_readme(tmp_path, tmp_path / "README.md")
    for ending in ("csv", "png", "svg"):
        assert (tmp_path / f"{name}.{ending}").stat().st_size > 100
    text = (tmp_path / "README.md").read_text()
    assert experiment.title in text
    assert f"({name}.png)" in text
    monkeypatch.setattr(type(experiment), "run", lambda self, task: pytest.fail("it is finished"))
    run(experiment, QUICK, tmp_path)


def test_results_are_kept_and_found_again(tmp_path):
    results = Results(tmp_path / "some.csv")
    task = {"data": "Ki", "seed": 0, "quick": False}
    assert not results.has(task)
    results.add(task, [{"auc": 0.7}, {"auc": 0.8}])
    again = Results(tmp_path / "some.csv")
    assert again.has(task)
    assert not again.has({**task, "seed": 1})
    assert not again.has({**task, "power": -5})
    assert list(again.frame["auc"]) == [0.7, 0.8]
    assert [file.name for file in tmp_path.iterdir()] == ["some.csv"]


def test_a_missing_folder_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("experiments.__main__.HERE", tmp_path)
    monkeypatch.setattr("experiments.datasets.FOLDER", tmp_path / "nowhere")
    monkeypatch.setattr("sys.argv", ["experiments", "vec_trick", "--quick"])
    datasets.real.cache_clear()
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert f"no folder 'ki' in {tmp_path / 'nowhere'}; set VECTRICK_DATA" in capsys.readouterr().err
    assert (tmp_path / "quick" / "README.md").exists()


def test_unknown_names_are_refused():
    done = subprocess.run(
        [sys.executable, "-m", "experiments", "tabels"], check=False, capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 2
    assert "there is no experiment 'tabels'; there are tables, tuned" in done.stderr


@pytest.mark.parametrize("data", datasets.REAL)
def test_data_sets_have_the_papers_counts(data):
    folder_of(datasets.REAL[data])
    X, y = datasets.real(data)
    counts = {"Ki": (93356, 3200), "GPCR": (5296, 165), "IC": (10710, 369), "E": (73870, 732)}
    assert (len(y), int((y > 0).sum())) == counts[data]
    assert X.start_table.n_features == len(X.start_table)


def test_committed_results_are_complete():
    """The full run is in the repository: every table has rows for every method and data set."""
    frame = pd.read_csv(ROOT / "experiments" / "results" / "tables.csv")
    assert set(frame["method"]) == set(paper.METHODS)
    assert set(frame["data"]) == set(paper.DATA)
    page = (ROOT / "experiments" / "README.md").read_text()
    for name, experiment in EXPERIMENTS.items():
        assert experiment.title in page
        for ending in ("csv", "png", "svg"):
            assert (ROOT / "experiments" / "results" / f"{name}.{ending}").exists()
