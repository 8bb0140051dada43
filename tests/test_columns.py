"""Real tables: categories, gaps, edges without labels, several classes, and what a model asks of new vertices."""

import numpy as np
import pandas as pd
import pytest

from vectrick.data.files.columns import Expected, TableWarning
from vectrick.data.files.dataset import ReadOptions
from vectrick.data.files.folder import read_dataset, read_vertices

EDGES = pd.DataFrame({"start": [1, 2, 3, 3], "end": ["x", "x", "y", "y"], "label": [1, 0, 1, 0]})
ENDS = pd.DataFrame({"id": ["x", "y"], "f": [1.0, 2.0]})
USERS = pd.DataFrame({"id": [1, 2, 3], "age": [30.0, 40.0, 50.0], "job": ["cook", None, "nurse"]})
SAID = r"column 'job' became 2 columns of 0 and 1, as in 'job=cook'|column 'job' is empty in 1 rows; they have 0"


def write(folder, users=USERS, edges=EDGES, ending="csv"):
    for name, table in (("edges", edges), ("start_features", users), ("end_features", ENDS)):
        if ending == "parquet":
            table.to_parquet(folder / f"{name}.parquet", index=False)
        else:
            table.to_csv(folder / f"{name}.{ending}", index=False, sep="\t" if ending.startswith("tsv") else ",")
    return folder


@pytest.mark.parametrize("ending", ["csv", "tsv", "tsv.gz", "parquet"])
def test_words_become_columns_of_zero_and_one(tmp_path, ending):
    with pytest.warns(TableWarning, match=SAID) as said:
        data = read_dataset(write(tmp_path, ending=ending))
    assert len(said) == 2
    assert data.X.start_table.columns == ["age", "job=cook", "job=nurse"]
    np.testing.assert_array_equal(data.X.start_table.features, [[30, 1, 0], [40, 0, 0], [50, 0, 1]])


def test_categories_of_new_vertices(tmp_path):
    expected = ["age", "job=cook", "job=nurse"]
    pd.DataFrame({"job": ["nurse", "pilot"], "id": [7, 8], "age": [1.0, 2.0]}).to_csv(tmp_path / "new.csv", index=False)
    with pytest.warns(TableWarning, match="column 'job' has 'pilot', but the training data did not"):
        table = read_vertices(tmp_path / "new.csv", "start", "features", expected=Expected(expected))
    np.testing.assert_array_equal(table.features, [[1, 0, 1], [2, 0, 0]])
    pd.DataFrame({"id": [7], "age": [1.0]}).to_csv(tmp_path / "less.csv", index=False)
    with pytest.raises(ValueError, match="lacks 2 of the 3 columns that the model was trained with: 'job=cook'"):
        read_vertices(tmp_path / "less.csv", "start", "features", expected=Expected(expected))
    coded = pd.DataFrame({"id": [7], "job=nurse": [1], "job=cook": [0], "age": [3]})
    coded.to_csv(tmp_path / "coded.csv", index=False)
    table = read_vertices(tmp_path / "coded.csv", "start", "features", expected=Expected(expected))
    np.testing.assert_array_equal(table.features, [[3, 0, 1]])


def test_columns_that_only_name_the_rows_are_left_out(tmp_path):
    table = pd.DataFrame({"id": range(40), "title": [f"film {i}" for i in range(40)], "year": range(40)})
    table.to_csv(tmp_path / "films.csv", index=False)
    with pytest.warns(TableWarning, match="column 'title' has 40 different words in 40 rows"):
        assert read_vertices(tmp_path / "films.csv", "end", "features").columns == ["year"]


def test_gaps(tmp_path):
    users = USERS.assign(job="cook", size=[1.0, np.nan, 9.0], age=[30.0, 40.0, np.nan])
    write(tmp_path, users)
    with (
        pytest.warns(TableWarning, match="job"),
        pytest.raises(
            ValueError,
            match=r"row 3, column 'age' is empty.* 2 columns have missing values \('age', 'size'\).*--impute median",
        ),
    ):
        read_dataset(tmp_path)
    with pytest.warns(TableWarning, match="job|missing values in 'age', 'size' were filled with the median"):
        data = read_dataset(tmp_path, ReadOptions(impute="median"))
    assert data.medians == {"start": {"age": 35.0, "size": 5.0}, "end": {"f": 1.5}}
    numbers = ["age", "age is missing", "size"]
    places = [data.X.start_table.columns.index(name) for name in numbers]
    np.testing.assert_array_equal(data.X.start_table.features[:, places], [[30, 0, 1], [40, 0, 5], [35, 1, 9]])
    users.drop(columns="job").to_csv(tmp_path / "new.csv", index=False)
    with pytest.warns(TableWarning, match="missing values"):
        table = read_vertices(
            tmp_path / "new.csv",
            "start",
            "features",
            expected=Expected(["age", "size"], medians={"age": -1.0, "size": -2.0}),
        )
    np.testing.assert_array_equal(table.features, [[30, 1], [40, -2], [-1, 9]])


@pytest.mark.parametrize("labels", [[1, None, 1, 0], ["yes", None, "yes", "no"], ["yes", "", "yes", "no"]])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_edges_without_labels(tmp_path, labels, ending):
    write(tmp_path, USERS.drop(columns="job"), EDGES.assign(label=labels), ending)
    with pytest.raises(ValueError, match=r"row 2, column 'label' is empty.*1 of 4 edges.*--skip-unlabeled"):
        read_dataset(tmp_path)
    with pytest.warns(TableWarning, match="1 of 4 edges have no label, and were left out"):
        data = read_dataset(tmp_path, ReadOptions(skip_unlabeled=True))
    assert data.X.start.tolist() == [0, 2, 2]
    assert (data.y > 0).tolist() == [True, True, False]


def test_several_classes(tmp_path):
    write(tmp_path, USERS.drop(columns="job"), EDGES.assign(label=["up", "down", "same", "up"]))
    data = read_dataset(tmp_path)
    assert data.classes == ("down", "same", "up")
    assert data.y.tolist() == ["up", "down", "same", "up"]
    assert data.has_classes
    assert not data.is_binary
    with pytest.raises(ValueError, match="--positive is 'up', but column 'label' has 3 classes"):
        read_dataset(tmp_path, ReadOptions(positive="up"))


def test_sparse_vertices_of_which_nothing_is_known(tmp_path):
    long = pd.DataFrame({"id": ["n1", "n1", "n2"], "feature": ["a", "zz", "zz"], "value": [1.0, 1.0, 1.0]})
    long.to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(ValueError, match="has 1 vertices without any feature that the model was trained with: 'n2'"):
        read_vertices(tmp_path / "new.csv", "start", "features", expected=Expected(["a", "b"]))
    long[:2].to_csv(tmp_path / "new.csv", index=False)
    table = read_vertices(tmp_path / "new.csv", "start", "features", expected=Expected(["a", "b"]))
    np.testing.assert_array_equal(table.features.toarray(), [[1, 0]])


def test_medians_of_all_columns_are_kept(tmp_path):
    write(tmp_path, USERS.drop(columns="job").assign(size=[1.0, np.nan, 9.0]))
    with pytest.warns(TableWarning, match="missing values in 'size'"):
        data = read_dataset(tmp_path, ReadOptions(impute="median"))
    assert data.medians["start"] == {"age": 40.0, "size": 5.0}


def test_what_cannot_be_filled(tmp_path):
    write(tmp_path, USERS.drop(columns="job").assign(size=np.nan))
    for impute in (None, "median"):
        with pytest.raises(ValueError, match="column 'size' has no value at all; leave it out"):
            read_dataset(tmp_path, ReadOptions(impute=impute))
    pd.DataFrame({"id": [7], "age": [None], "size": [1.0]}).to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(ValueError, match="has no value at all"):
        read_vertices(tmp_path / "new.csv", "start", "features", expected=Expected(["age", "size"]))


def test_two_features_of_one_name(tmp_path):
    write(tmp_path, USERS.assign(**{"job=cook": [1, 0, 0]}))
    with (
        pytest.warns(TableWarning),
        pytest.raises(ValueError, match="makes the feature 'job=cook' twice"),
    ):
        read_dataset(tmp_path)


def test_a_quote_that_does_not_end_in_the_header(tmp_path):
    write(tmp_path, USERS.drop(columns="job"))
    content = (tmp_path / "edges.csv").read_text()
    (tmp_path / "edges.csv").write_text(content.replace("start,end", 'start,"end', 1))
    with pytest.raises(ValueError, match="its header has a quote that does not end") as caught:
        read_dataset(tmp_path)
    assert len(str(caught.value)) < 300
