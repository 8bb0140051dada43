"""Intervals, novelty, explanations and suggestions of the command line."""

import numpy as np
import pandas as pd
import pytest

import vectrick as vt
from tests.cli.commands import as_json, inside, write_data


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certainty")
    write_data(folder / "data", m=40, q=30)
    write_data(folder / "values", m=40, q=30, classes=False)
    inside("fit", "data", "-o", "classes.vt", cwd=folder)
    inside("fit", "values", "-o", "values.vt", cwd=folder)
    inside("fit", "values", "-o", "all.vt", "--new", "all", cwd=folder)
    inside("fit", "values", "--manual", "--start-kernel", "gaussian", "--end-kernel", "gaussian", "--loss", "ridge",
           "-o", "single.vt", cwd=folder)  # fmt: skip
    inside("fit", "values", "--manual", "--start-kernel", "gaussian", "--end-kernel", "gaussian", "--loss", "ridge",
           "--no-early-stopping", "-o", "converged.vt", cwd=folder)  # fmt: skip
    rng = np.random.default_rng(5)
    table = pd.DataFrame(
        {"id": [f"n{i}" for i in range(25)], "f": rng.standard_normal(25), "g": rng.standard_normal(25)}
    )
    table.to_csv(folder / "new.csv", index=False)
    table.assign(id=[f"u{i}" for i in range(25)]).sample(frac=1, random_state=0).to_csv(
        folder / "ends.csv", index=False
    )
    table.assign(f=1e4, g=1e4).to_csv(folder / "far.csv", index=False)
    return folder


def truth(folder, frame, starts="new.csv", ends="ends.csv"):
    d, t = (pd.read_csv(folder / name).set_index("id")[["f", "g"]] for name in (starts, ends))
    first, second = d.loc[frame["start"]].to_numpy(), t.loc[frame["end"]].to_numpy()
    return 5 + (first * second).sum(axis=1) + first[:, 0]


@pytest.mark.parametrize("model", ["values.vt", "all.vt", "single.vt"])
def test_intervals_of_new_vertices_contain_their_labels(place, model):
    new = ["--start-features", "new.csv", "--end-features", "ends.csv"]
    inside("predict", model, "--grid", *new, "--interval", "0.9", "-o", "p.csv", "-f", cwd=place)
    frame = pd.read_csv(place / "p.csv")
    assert list(frame.columns) == ["start", "end", "score", "lower", "upper", "novelty"]
    assert (frame["lower"] < frame["score"]).all()
    assert frame["novelty"].between(0, 1).all()
    y = truth(place, frame)
    assert ((frame["lower"] <= y) & (y <= frame["upper"])).mean() > 0.75
    assert (frame["upper"] - frame["lower"]).nunique() > 1  # wider where the model is less sure


def test_intervals_of_edges_and_of_easier_settings(place):
    done = inside("predict", "values.vt", "values/edges.csv", "--interval", "0.8", "-o", "e.csv", "-f", cwd=place)
    frame = pd.read_csv(place / "e.csv")
    assert ((frame["lower"] <= frame["label"]) & (frame["label"] <= frame["upper"])).mean() > 0.8
    assert (
        "400 edges (known vertices, new edges) have intervals from held-out edges with both vertices new" in done.stderr
    )
    quiet = inside("predict", "all.vt", "values/edges.csv", "--interval", "0.8", "-o", "e.csv", "-f", cwd=place)
    assert "rather too wide" not in quiet.stderr
    narrower = pd.read_csv(place / "e.csv")
    assert (narrower["upper"] - narrower["lower"]).mean() < (frame["upper"] - frame["lower"]).mean()


def test_classes_get_sets_and_novelty(place):
    inside("predict", "classes.vt", "data/edges.csv", "--interval", "0.9", "-o", "s.csv", "-f", cwd=place)
    frame = pd.read_csv(place / "s.csv", dtype={"set": str})
    names = {"-1", "1"}
    assert all(set(str(cell).split()) <= names for cell in frame["set"].dropna())
    inside_set = [str(label) in str(cell).split() for label, cell in zip(frame["label"], frame["set"], strict=True)]
    assert np.mean(inside_set) > 0.8
    inside("predict", "classes.vt", "data/edges.csv", "--novelty", "-o", "n.csv", "-f", cwd=place)
    assert pd.read_csv(place / "n.csv")["novelty"].between(0, 1).all()


def test_guesses_are_warned_of(place):
    done = inside("predict", "single.vt", "--grid", "--start-features", "far.csv", "-o", "f.csv", "-f", cwd=place)
    assert "predictions are mostly prior" in done.stderr
    done = inside("rank", "single.vt", "--start-features", "far.csv", "--top", "2", cwd=place)
    assert "predictions are mostly prior" in done.stderr
    done = inside("rank", "single.vt", "--start", "d1", "--top", "2", cwd=place)
    assert "mostly prior" not in done.stderr


def test_a_model_without_calibration_says_so(place):
    model = vt.load(place / "single.vt")
    model.save(place / "bare.vt")
    done = inside("predict", "bare.vt", "values/edges.csv", "--interval", "0.9", "-o", "x.csv", cwd=place, code=2)
    assert "--interval needs errors on held-out edges, but this model has none" in done.stderr
    for damaged in ({"errors": 1}, {"errors": {"both": [{"values": ["a"], "n": 1}]}, "scaled": {}}):
        model.save(place / "bare.vt", about={"calibration": damaged})
        inside("predict", "bare.vt", "values/edges.csv", "--interval", "0.9", "-o", "x.csv", cwd=place, code=2)
    for share in ("0", "1", "-2", "1.5"):
        done = inside("predict", "values.vt", "values/edges.csv", "--interval", share, "-o", "x.csv", cwd=place, code=2)
        assert "--interval is" in done.stderr
    assert not (place / "x.csv").exists()


def test_info_does_not_list_all_errors(place):
    told = as_json("info", "values.vt", cwd=place, run=inside)
    assert told["about"]["calibration"] == {"both": pytest.approx(134, abs=60)}
    assert "{" not in inside("info", "values.vt", cwd=place).stdout


def test_explain_adds_up(place):
    for by in ("edge", "start", "end"):
        told = as_json("explain", "values.vt", "--start", "d1", "--end", "t2", "--by", by, cwd=place, run=inside)
        total = sum(line["contribution"] for line in told["contributions"])
        assert total == pytest.approx(told["prediction"], abs=1e-9)
    asked = ["--start", "n3", "--end", "t2", "--start-features", "new.csv", "-n", "4", "-o", "why.csv", "-f"]
    done = inside("explain", "single.vt", *asked, "--influence", cwd=place, code=2)
    assert "the fit ended before it" in done.stderr
    shown = inside("explain", "converged.vt", *asked, "--influence", cwd=place).stdout
    assert "the prediction for n3 and t2 is" in shown
    frame = pd.read_csv(place / "why.csv")
    assert frame["what"].tolist() == ["edge"] * 4 + ["the rest", "intercept", "left by the solver"]
    assert frame["without"].notna().sum() == 4
    done = inside("explain", "values.vt", "--start", "nobody", "--end", "t2", cwd=place, code=2)
    assert "--start is 'nobody', but neither the model nor --start-features has it" in done.stderr
    inside("explain", "values.vt", "--start", "d1", "--end", "t2", "--by", "drug", cwd=place, code=2)
    inside("explain", "values.vt", "--start", "d1", "--end", "t2", "-n", "0", cwd=place, code=2)


def test_words_of_classes_are_shown(place):
    data = write_data(place / "words", m=30, q=20)
    table = pd.read_csv(data / "edges.csv")
    table.assign(label=np.where(table["label"] > 0, "yes", "no")).to_csv(data / "edges.csv", index=False)
    inside("fit", "words", "-o", "words.vt", cwd=place)
    told = as_json("explain", "words.vt", "--start", "d1", "--end", "t2", cwd=place, run=inside)
    assert {line["label"] for line in told["contributions"]} <= {"yes", "no", None}


def test_intervals_of_other_pairwise_kernels_and_of_one_class(place):
    manual = ["--manual", "--loss", "ridge", "--pairwise", "linear", "-o", "linear.vt"]
    inside("fit", "values", *manual, cwd=place)
    done = inside("predict", "linear.vt", "values/edges.csv", "--interval", "0.9", "-o", "l.csv", cwd=place)
    assert "there is no column of novelty" in done.stderr
    assert np.isfinite(pd.read_csv(place / "l.csv")["lower"]).all()
    done = inside("predict", "linear.vt", "values/edges.csv", "--novelty", "-o", "m.csv", cwd=place, code=2)
    assert "--novelty: the kernel of edges is linear" in done.stderr
    data = write_data(place / "three", m=30, q=20, classes=False)
    table = pd.read_csv(data / "edges.csv")
    table["label"] = np.array(["lo", "mid", "hi"])[np.digitize(table["label"], table["label"].quantile([0.3, 0.7]))]
    table.to_csv(data / "edges.csv", index=False)
    inside("fit", "three", "--manual", "--loss", "svm", "-o", "three.vt", cwd=place)
    one = ["three.vt", "--class", "hi"]
    done = inside("predict", *one, "three/edges.csv", "--interval", "0.9", "-o", "t.csv", cwd=place, code=2)
    assert "--interval needs errors on held-out edges" in done.stderr
    told = as_json("explain", *one, "--start", "d1", "--end", "t2", cwd=place, run=inside)
    assert sum(line["contribution"] for line in told["contributions"]) == pytest.approx(told["prediction"])
    assert len(as_json("suggest", *one, "-n", "3", cwd=place, run=inside)["edges"]) == 3


def test_suggest_writes_a_plate(place):
    asked = ["-n", "24", "--per-start", "2", "-o", "plate.csv", "-f"]
    done = inside("suggest", "values.vt", *asked, cwd=place)
    assert "24 edges of" in done.stdout
    plate, known = pd.read_csv(place / "plate.csv"), pd.read_csv(place / "values" / "edges.csv")
    assert list(plate.columns) == ["rank", "start", "end", "score", "std", "gain"]
    assert plate["start"].value_counts().max() <= 2
    assert plate.merge(known, on=["start", "end"]).empty
    told = as_json("suggest", "classes.vt", "-n", "5", "--by", "diverse", cwd=place, run=inside)
    assert len(told["edges"]) == 5
    new = ["--start-features", "new.csv", "--end-features", "ends.csv"]
    inside("suggest", "values.vt", "-n", "7", *new, "-o", "p.parquet", "-f", cwd=place)
    assert set(pd.read_parquet(place / "p.parquet")["start"].str[0]) == {"n"}
    some = known.head(30)
    some.to_csv(place / "some.csv", index=False)
    inside("suggest", "values.vt", "-n", "6", "--edges", "some.csv", "-o", "plate.csv", "-f", cwd=place)
    assert len(pd.read_csv(place / "plate.csv").merge(some, on=["start", "end"])) == 6


def test_suggest_aims_at_edges_of_new_vertices(place):
    pairs = pd.DataFrame({"start": ["n1", "n2"], "end": ["t1", "t2"]})
    pairs.to_csv(place / "aim.csv", index=False)
    asked = ["-n", "6", "--aim", "aim.csv", "--start-features", "new.csv", "-o", "plate.csv", "-f"]
    inside("suggest", "values.vt", *asked, cwd=place)
    plate = pd.read_csv(place / "plate.csv")
    assert len(plate) == 6
    assert set(plate["start"].str[0]) == {"d"}
    done = inside("suggest", "values.vt", *asked, "--by", "diverse", cwd=place, code=2)
    assert "X_aim is given, but by is 'diverse'" in done.stderr


def test_what_cannot_be_suggested(place):
    for wrong, words in (
        (["-n", "0"], "--number is 0"),
        (["-n", "10000"], "X_pool has 800 edges to choose from, but n is 10000"),
        (["--by", "luck"], "by is 'luck'"),
        (["--per-end", "0"], "per_end is 0"),
        (["-n", "5", "-o", "plate.txt"], "its name must end in"),
        (["-n", "5", "-o", "values.vt"], "values.vt"),
    ):
        done = inside("suggest", "values.vt", *wrong, cwd=place, code=2)
        assert words in done.stderr
