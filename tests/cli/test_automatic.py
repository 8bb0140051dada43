"""The commands without model options: a search, what narrows it, how it is judged, and what it says."""

import json
import signal

import numpy as np
import pandas as pd
import pytest

import vectrick as vt
from tests.cli.commands import as_json, inside, vectrick, write_data
from tests.cli.test_trouble import start, wait_for


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("automatic")
    write_data(folder / "data", m=30, q=24)
    write_data(folder / "values", m=30, q=24, classes=False)
    (folder / "fit.json").write_text(vectrick("fit", "data", "-o", "model.vt", "--json", cwd=folder).stdout)
    return folder


def test_fit_searches(place):
    told = json.loads((place / "fit.json").read_text())
    assert told["estimator"] == "AutoKron"
    assert told["trained_edges"] == told["edges"] == 240
    assert told["scores"] == {"both": pytest.approx(told["score"])}
    assert told["score"] > 0.7
    assert 1 <= len(told["members"]) <= 5
    assert told["candidates"] > 20
    model = vt.load(place / "model.vt")
    assert model.score_ == told["score"]
    assert model.about_["scores"] == told["scores"]


def test_info_of_a_search(place):
    about = as_json("info", "model.vt", cwd=place, run=inside)
    assert about["estimator"] == "AutoKron"
    assert about["score"] > 0.7
    assert "gaussian" in about["member_1"]["start_kernel"] or "linear" in about["member_1"]["start_kernel"]
    assert "member 1" in inside("info", "model.vt", cwd=place).stdout


def test_predict_and_rank(place):
    inside("predict", "model.vt", "data/edges.csv", "-o", "p.csv", cwd=place)
    found = pd.read_csv(place / "p.csv")
    assert found["probability"].between(0, 1).all()
    assert (found["prediction"] == found["label"]).mean() > 0.7
    partners = as_json("rank", "model.vt", "--start", "d0", "--top", "3", cwd=place, run=inside)["partners"]
    assert len(partners) == 3


@pytest.mark.parametrize(
    ("options", "check"),
    [
        (["--loss", "logistic"], lambda members: {one["estimator"] for one in members} == {"KronLogistic"}),
        (["--alpha", "2"], lambda members: {one["alpha"] for one in members} == {2.0}),
        (["--start-kernel", "gaussian(0.5)"],
         lambda members: {one["start_kernel"] for one in members} == {"gaussian(gamma=0.5)"}),
        (["--new", "end", "--budget", "0.01"], lambda members: len(members) >= 1),
    ],
)  # fmt: skip
def test_options_narrow_the_search(place, options, check):
    told = as_json("fit", "data", "-o", "narrow.vt", "-f", *options, cwd=place, run=inside)
    assert told["estimator"] == "AutoKron"
    assert check(told["members"])


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--solver", "cg", "--loss", "ridge"], "--solver describes a single model: there is no search"),
        (["--pairwise", "linear"], "--pairwise linear is not supported by a search"),
        (["--no-refit"], "--no-refit describes a single model"),
        (["--loss", "ridge", "--alpha", "1", "--start-kernel", "linear", "--end-kernel", "linear"],
         "loss, alpha and kernels are all given"),
    ],
)  # fmt: skip
def test_options_of_a_single_model(place, options, why):
    done = inside("fit", "data", "-o", "single.vt", "-f", *options, cwd=place)
    assert why in done.stderr
    assert isinstance(vt.load(place / "single.vt"), vt.KronRidge | vt.KronSVM)


def test_a_single_model_gets_the_held_out_edges_back(place):
    told = as_json("fit", "data", "-o", "manual.vt", "-f", "--manual", cwd=place, run=inside)
    assert told["trained_edges"] == 240
    held = told["validation_vertices"]
    assert set(held) == {"start", "end"}
    assert 4 <= len(held["start"]) <= 10
    assert vt.load(place / "manual.vt").validation_vertices_ == held
    assert as_json("info", "manual.vt", cwd=place, run=inside)["validation_vertices"] == held
    without = as_json("fit", "data", "-o", "less.vt", "-f", "--no-refit", cwd=place, run=inside)
    assert without["trained_edges"] < 240
    assert without["scores"] == told["scores"]


@pytest.mark.slow
def test_evaluate_judges_the_search_and_says_what_that_means(place):
    options = ["--folds", "2", "--settings", "both,neither", "--baselines", "vertex mean"]
    told = as_json("evaluate", "values", *options, cwd=place, run=inside)
    rows = {(one["setting"], one["method"]): one for one in told["evaluation"]}
    assert set(rows) == {(new, name) for new in ("both", "neither") for name in ("AutoKron", "vertex mean")}
    for verdict in told["verdicts"]:
        own, other = (rows[verdict["setting"], name] for name in ("AutoKron", "vertex mean"))
        differences = np.subtract(own["scores"], other["scores"])
        assert verdict["difference"] == pytest.approx(differences.mean())
        assert verdict["spread"] == pytest.approx(differences.std(ddof=1))
        assert verdict["is_clear"] == (abs(differences.mean()) > differences.std(ddof=1))
    said = inside("evaluate", "values", *options, cwd=place).stdout
    assert "AutoKron is ahead of the best baseline, vertex mean, by" in said
    assert "its spread over folds" in said


@pytest.mark.slow
def test_tune_searches_thoroughly(place):
    told = as_json("tune", "values", "--folds", "2", "-o", "tuned.vt", "-f", cwd=place, run=inside)
    assert {"linear", "poly2d", "kronecker"} <= {one["pairwise"] for one in told["choices"]}
    assert told["nested"]["mean"] > 0.6
    model = vt.load(place / "tuned.vt")
    assert model.thorough
    assert model.about_["nested"]["mean"] == told["nested"]["mean"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["fit", "data", "--new", "drug"], "--new is 'drug', but it must be one of both, start, end, neither, all"),
        (["fit", "data", "--budget", "0", "-o", "x.vt"], "budget is 0.0, but it must be a positive number"),
        (["fit", "data", "--budget", "3", "--manual", "-o", "x.vt"], "--budget is the time of a search"),
        (["tune", "data", "--alphas", "1", "--budget", "3"], "--budget is the time of a search"),
        (["tune", "data", "--alphas", "1", "--new", "start"], "--new is 'start', but a grid"),
        (["fit", "values", "--loss", "logistic", "-o", "x.vt"], "needs classes, but column"),
    ],
)
def test_bad_options(place, command, message):
    done = inside(*command, cwd=place, code=2)
    assert message in done.stderr
    assert not (place / "x.vt").exists()


@pytest.mark.slow
def test_ctrl_c_keeps_the_best_so_far(place):
    write_data(place / "large", m=700, q=500)
    process = start(["fit", "large", "-o", "kept.vt", "-v"], place)
    wait_for(process, "best so far 0")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=100)
    assert process.returncode == 3, err
    assert "kept.vt holds the best model so far" in err
    model = vt.load(place / "kept.vt")
    assert any("interrupted" in line for line in model.told_)
    assert model.score_ > 0.7


@pytest.mark.slow
def test_the_report_has_one_score_under_one_name(place):
    vectrick("fit", "data", "-o", "r.vt", "--report", "fit.html", cwd=place)
    page = (place / "fit.html").read_text()
    told = json.loads((place / "fit.json").read_text())
    assert f"AUC {told['score']:.3f} ± {told['spread']:.3f} over 9 of 27 inner folds" in page
    assert "mean AUC on 3 of 9 folds" in page
    vectrick("evaluate", "data", "--manual", "--settings", "both", "--report", "evaluation.html", cwd=place)
    page = (place / "evaluation.html").read_text()
    assert "by cross-validation, both new" in page
    assert "<span>AUC, both new</span>" in page
    assert "AUC on one split" not in page.partition("<section")[0]  # tiles have that of the cross-validation
    assert "The held-out vertices" in page


@pytest.mark.slow
def test_ctrl_c_ends_an_evaluation(place):
    write_data(place / "large", m=700, q=500)
    process = start(["evaluate", "large", "--settings", "both", "--baselines", "none", "-v"], place)
    wait_for(process, "read in")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (3, 130), err
    assert "Traceback" not in err
