"""Commands on the tables that people have: categories, gaps, integers as ids, several classes, whole files to rank."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

import vectrick as vt
from tests.cli import commands
from tests.cli.commands import inside as vectrick, write_data
from vectrick.data.files.columns import TableWarning

as_json = partial(commands.as_json, run=vectrick)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    users = pd.DataFrame({"id": np.arange(100, 140), "age": rng.random(40), "job": rng.choice(["cook", "nurse"], 40)})
    users.loc[3, "age"] = np.nan
    items = pd.DataFrame({"id": np.arange(1, 31), "size": rng.random(30)})
    edges = pd.DataFrame({"start": rng.integers(100, 140, 500), "end": rng.integers(1, 31, 500)}).drop_duplicates()
    value = (
        users.set_index("id")["age"].fillna(0.5)[edges["start"]].to_numpy()
        - items.set_index("id")["size"][edges["end"]].to_numpy()
    )
    edges["label"] = np.where(value > 0.2, "up", np.where(value < -0.2, "down", "same"))
    edges["sign"] = np.where(value > 0, 1.0, -1.0)
    edges.loc[edges.index[:7], "sign"] = np.nan
    (folder / "data").mkdir()
    users.to_csv(folder / "data" / "start_features.tsv", sep="\t", index=False)
    items.to_csv(folder / "data" / "end_features.csv", index=False)
    edges.to_csv(folder / "data" / "edges.csv", index=False)
    users.assign(id=users["id"] + 1000)[["job", "id", "age"]].to_csv(folder / "new.csv", index=False)
    options = ["--impute", "median", "-o", "signs.vt", "--label-column", "sign", "--skip-unlabeled"]
    (folder / "said").write_text(vectrick("fit", "data", *options, cwd=folder).stderr)
    vectrick("fit", "data", "--impute", "median", "-o", "classes.vt", "--loss", "logistic", cwd=folder)
    return folder


def test_what_was_made_of_the_tables_is_said(place):
    said = (place / "said").read_text()
    for words in ("became 2 columns of 0 and 1", "missing values in 'age' were filled", "7 of", "have no label"):
        assert words in said


def test_predictions_keep_labels_and_integers(place):
    options = ["--start-features", "new.csv", "--label-column", "sign"]
    edges = pd.read_csv(place / "data" / "edges.csv").assign(start=lambda frame: frame["start"] + 1000)
    for ending in ("csv", "parquet"):
        getattr(edges, f"to_{ending}")(place / f"new_edges.{ending}", index=False)
        vectrick("predict", "signs.vt", f"new_edges.{ending}", *options, "-o", "out.parquet", "--force", cwd=place)
        found = pd.read_parquet(place / "out.parquet")
        assert list(found.columns) == ["start", "end", "score", "probability", "prediction", "label"]
        assert found["start"].tolist() == edges["start"].tolist()
        assert {found[name].dtype.kind for name in ("start", "end", "prediction")} == {"i"}
        np.testing.assert_array_equal(found["prediction"], np.where(found["score"] > 0, 1, -1))
        np.testing.assert_array_equal(found["label"], edges["sign"])
    edges.astype({"start": str, "end": str}).to_parquet(place / "text.parquet")
    vectrick("predict", "signs.vt", "text.parquet", *options, "-o", "out.parquet", "--force", cwd=place)
    assert pd.read_parquet(place / "out.parquet")["start"].dtype.kind != "i"  # they were text, and stay text
    vectrick("predict", "signs.vt", "--grid", "-o", "grid.tsv", "--force", cwd=place)
    assert pd.read_csv(place / "grid.tsv", sep="\t").shape == (40 * 30, 4)


def test_rank_for_all_rows_of_a_file(place):
    told = as_json("rank", "signs.vt", "--start-features", "new.csv", "--top", "2", cwd=place)["partners"]
    assert [line["start"] for line in told[::2]] == list(range(1100, 1140))
    model = vt.load(place / "signs.vt")
    with pytest.warns(TableWarning, match="missing values in 'age' were filled"):
        best = model.recommend(pd.read_csv(place / "new.csv"), 2)
    assert [line["end"] for line in told] == [int(end) for end in best["end"]]
    np.testing.assert_allclose([line["score"] for line in told], best["score"])
    by_end = as_json("rank", "signs.vt", "--end", "3", "--top", "1", cwd=place)["partners"]
    assert by_end[0]["end"] == 3


def test_several_classes(place):
    vectrick("predict", "classes.vt", "data/edges.csv", "-o", "classes.csv", cwd=place)
    found = pd.read_csv(place / "classes.csv")
    names = ["down", "same", "up"]
    scores = [f"score_{name}" for name in names]
    assert list(found.columns) == ["start", "end", "score", *scores, "probability", "prediction", "label"]
    assert found["probability"].between(1 / 3, 1).all()
    columns = found[[f"score_{name}" for name in names]].to_numpy()
    assert found["prediction"].tolist() == [names[j] for j in columns.argmax(axis=1)]
    assert (found["prediction"] == found["label"]).mean() > 0.6
    assert "--class" in vectrick("rank", "classes.vt", "--start", "100", cwd=place, code=2).stderr
    told = as_json("rank", "classes.vt", "--start", "100", "--class", "up", "--top", "3", cwd=place)["partners"]
    machine = vt.load(place / "classes.vt").machine("up")
    np.testing.assert_allclose([line["score"] for line in told], machine.recommend(["100"], 3, False)["score"])
    options = ["--manual", "--settings", "neither", "--folds", "2", "--impute", "median"]
    scores = {row["method"]: row["mean"] for row in as_json("evaluate", "data", *options, cwd=place)["evaluation"]}
    assert scores["KronSVM"] > 0.7
    assert scores["vertex mean"] > 0.5
    assert "for values or two classes" in vectrick("tune", "data", "--impute", "median", cwd=place, code=2).stderr
    assert "classes" in vectrick("info", "classes.vt", cwd=place).stdout
    assert "up: " in vectrick("info", "data", "--impute", "median", cwd=place).stdout


def test_baselines_train_on_no_more_edges_than_they_should(place):
    options = ["--manual", "--settings", "neither", "--folds", "2", "--impute", "median", "--baseline-edges", "50"]
    told = as_json("evaluate", "data", *options, cwd=place)
    assert [row["method"] for row in told["evaluation"]] == ["KronSVM", "boosted trees on 50 edges", "vertex mean"]


def test_info_has_no_empty_header_and_no_dump(place):
    for what in ("data", "signs.vt"):
        said = vectrick("info", what, "--impute", "median", cwd=place).stdout
        assert said.splitlines()[0].split()
        assert "{" not in said
        assert "─" not in said


def test_one_vertex_set_is_described_once(tmp_path):
    write_data(tmp_path / "one")
    vertices = pd.read_csv(tmp_path / "one" / "start_features.csv")
    (tmp_path / "one" / "end_features.csv").unlink()
    rng = np.random.default_rng(0)
    pairs = rng.choice(vertices["id"], (200, 2))
    pd.DataFrame({"start": pairs[:, 0], "end": pairs[:, 1], "label": rng.choice([-1, 1], 200)}).to_csv(
        tmp_path / "one" / "edges.csv", index=False
    )
    done = vectrick("info", "one", cwd=tmp_path)
    assert "--pairwise symmetric" in done.stderr
    assert "start" not in done.stdout
    told = as_json("info", "one", cwd=tmp_path)
    assert told["vertices"] == 60
    assert told["vertices_with_edges"] == len(set(pairs.ravel()))


def test_settings_come_in_one_order(place):
    options = [
        "--manual",
        "--settings",
        "neither,end,both",
        "--baselines",
        "none",
        "--folds",
        "2",
        "--impute",
        "median",
    ]
    told = as_json("evaluate", "data", "--label-column", "sign", "--skip-unlabeled", *options, cwd=place)
    assert [row["setting"] for row in told["evaluation"]] == ["both", "end", "neither"]


def test_info_of_many_vertices_needs_no_memory():
    from vectrick.cli.commands.info import describe
    from vectrick.data.files.dataset import Dataset

    rng = np.random.default_rng(0)
    m = 400_000
    X = vt.Edges(rng.integers(0, m, 1000), rng.integers(0, 50, 1000), rng.random((m, 1)), rng.random((50, 1)))
    facts = describe(Dataset(X, rng.random(1000), {"start": "features", "end": "features"}))
    assert facts["start_vertices"] == m
    everywhere = vt.Edges(rng.integers(0, m, m), rng.integers(0, 50, m), X.start_table.features, X.end_table.features)
    facts = describe(Dataset(everywhere, rng.random(m), {"start": "features", "end": "features"}))
    assert "fits" in facts["plan"]
