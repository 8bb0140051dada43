"""Dataset folders: what is in the files comes out, whatever their form, and what is wrong is said."""

import gzip

import numpy as np
import pandas as pd
import pytest

from tests.data import folder_of, read_graph
from vectrick.data.files.columns import Expected
from vectrick.data.files.dataset import ReadOptions
from vectrick.data.files.folder import read_dataset, read_vertices

EDGES = pd.DataFrame({"start": ["a", "b", "b", "c"], "end": ["x", "x", "y", "z"], "label": [1, -1, 1, -1], "more": 0.5})
STARTS = pd.DataFrame({"id": ["c", "b", "a"], "weight": [3.0, 2.0, 1.0], "bits": [1, 0, 1]})
ENDS = pd.DataFrame({"id": ["x", "y", "z"], "x": [1.0, 0.5, 0.0], "y": [0.5, 1.0, 0.2], "z": [0.0, 0.2, 1.0]})


def write(folder, ending=".csv", **tables):
    found = {"edges": EDGES, "start_features": STARTS, "end_kernel": ENDS} | tables
    for name, table in found.items():
        if table is None:
            continue
        path = folder / f"{name}{ending}"
        if ending == ".parquet":
            table.to_parquet(path, index=False)
        else:
            table.to_csv(path, index=False)
    return folder


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_every_ending(tmp_path, ending):
    data = read_dataset(write(tmp_path, ending))
    assert data.X.start.tolist() == [2, 1, 1, 0]
    assert data.X.end.tolist() == [0, 0, 1, 2]
    np.testing.assert_array_equal(data.X.start_table.features, STARTS[["weight", "bits"]])
    np.testing.assert_array_equal(data.X.end_table.features, ENDS[["x", "y", "z"]])
    assert data.X.start_table.ids.tolist() == ["c", "b", "a"]
    assert data.X.start_table.columns == ["weight", "bits"]
    assert data.kinds == {"start": "features", "end": "kernel"}
    assert data.y.tolist() == [1, -1, 1, -1]
    assert data.is_binary


def test_files_and_columns_by_name(tmp_path):
    EDGES.rename(columns={"start": "drug", "end": "target", "more": "ki"}).to_csv(tmp_path / "pairs.csv", index=False)
    STARTS.rename(columns={"id": "drug"}).to_parquet(tmp_path / "drugs.parquet", index=False)
    ENDS.to_csv(tmp_path / "targets.csv.gz", index=False)
    data = read_dataset(
        None,
        ReadOptions(
            edges=tmp_path / "pairs.csv",
            start_features=tmp_path / "drugs.parquet",
            end_features=tmp_path / "targets.csv.gz",
            start_column="drug",
            end_column="target",
        ),
    )
    assert data.X.start.tolist() == [2, 1, 1, 0]
    assert data.kinds["end"] == "features"


def test_ids_are_text_whatever_they_look_like(tmp_path):
    edges = pd.DataFrame({"start": ["007", "7"], "end": ["NA", "1e5"], "label": [1, 0]})
    starts = pd.DataFrame({"id": ["7", "007"], "f": [1, 2]})
    ends = pd.DataFrame({"id": ["1e5", "NA"], "f": [1, 2]})
    data = read_dataset(write(tmp_path, edges=edges, start_features=starts, end_features=ends, end_kernel=None))
    assert data.X.start.tolist() == [1, 0]
    assert data.X.end.tolist() == [1, 0]
    numbered = pd.DataFrame({"start": [7, 8], "end": [1, 2], "label": [0.5, 1.5]})
    table = pd.DataFrame({"id": [8, 7], "f": [1, 2]}), pd.DataFrame({"id": [2, 1], "f": [1, 2]})
    other = tmp_path / "numbered"
    other.mkdir()
    write(other, ".parquet", edges=numbered, start_features=table[0], end_features=table[1], end_kernel=None)
    data = read_dataset(other)
    assert data.X.start.tolist() == [1, 0]
    assert data.y.tolist() == [0.5, 1.5]


def test_sparse_features(tmp_path):
    long = pd.DataFrame({"id": ["b", "a", "b", "c"], "feature": ["p", "q", "q", "r"], "value": [1.0, 2.0, 3.0, 4.0]})
    data = read_dataset(write(tmp_path, start_features=long))
    table = data.X.start_table
    assert table.ids.tolist() == ["b", "a", "c"]
    np.testing.assert_array_equal(table.features.toarray(), [[1, 3, 0], [0, 2, 0], [0, 0, 4]])
    new = pd.DataFrame({"id": ["n", "n"], "feature": ["unheard of", "q"], "value": [9.0, 5.0]})
    new.to_csv(tmp_path / "new.csv", index=False)
    found = read_vertices(tmp_path / "new.csv", "start", "features", expected=Expected(table.columns))
    np.testing.assert_array_equal(found.features.toarray(), [[0, 5, 0]])


def test_new_vertices_by_the_names_of_their_columns(tmp_path):
    pd.DataFrame({"bits": [1, 0], "extra": ["u", "v"], "id": ["n", "m"], "weight": [7, 8]}).to_csv(
        tmp_path / "new.csv", index=False
    )
    found = read_vertices(tmp_path / "new.csv", "start", "features", expected=Expected(["weight", "bits"]))
    np.testing.assert_array_equal(found.features, [[7, 1], [8, 0]])
    with pytest.raises(ValueError, match="lacks 1 of the 2 columns that the model was trained with: 'mass'"):
        read_vertices(tmp_path / "new.csv", "start", "features", expected=Expected(["weight", "mass"]))


@pytest.mark.parametrize(
    ("labels", "positive", "y", "classes"),
    [
        (["yes", "no", "no", "yes"], None, [1, -1, -1, 1], ("no", "yes")),
        (["active", "inactive", "inactive", "active"], None, [1, -1, -1, 1], ("inactive", "active")),
        (["b", "a", "a", "b"], None, [1, -1, -1, 1], ("a", "b")),
        (["b", "a", "a", "b"], "a", [-1, 1, 1, -1], ("b", "a")),
        ([True, False, False, True], None, [1, -1, -1, 1], ("false", "true")),
        ([0, 1, 1, 0], None, [0, 1, 1, 0], ("0", "1")),
        ([0, 1, 1, 0], "0", [1, -1, -1, 1], ("1", "0")),
        ([2.5, 1, 1, 2.5], "2.5", [2.5, 1, 1, 2.5], ("1", "2.5")),
        ([1, 2, 3, 4], None, [1, 2, 3, 4], None),
    ],
)
def test_classes_of_any_kind(tmp_path, labels, positive, y, classes):
    data = read_dataset(write(tmp_path, edges=EDGES.assign(label=labels)), ReadOptions(positive=positive))
    assert data.y.tolist() == y
    assert data.classes == classes
    assert data.is_binary == (classes is not None)


def test_a_positive_class_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match="--positive is 'maybe', but column 'label' has the classes '-1', '1'"):
        read_dataset(write(tmp_path), ReadOptions(positive="maybe"))
    with pytest.raises(ValueError, match="--positive is '1', but column 'label' has numbers"):
        read_dataset(write(tmp_path, edges=EDGES.assign(label=[1, 2, 3, 4])), ReadOptions(positive="1"))


def test_columns_of_ids_by_name(tmp_path):
    write(tmp_path, start_features=STARTS.rename(columns={"id": "compound"}))
    with pytest.raises(ValueError, match=r"has no column 'id'.*--start-id-column chooses another name"):
        read_dataset(tmp_path)
    assert read_dataset(tmp_path, ReadOptions(start_id_column="compound")).X.start.tolist() == [2, 1, 1, 0]


def test_one_vertex_set(tmp_path):
    edges = EDGES.assign(end=["b", "c", "a", "a"])
    data = read_dataset(write(tmp_path, edges=edges, end_kernel=None))
    assert data.X.is_one_set


def test_unknown_ids_can_be_left_out(tmp_path):
    edges = pd.concat([EDGES, pd.DataFrame({"start": ["new"], "end": ["x"], "label": [1], "more": [0.0]})])
    data = read_dataset(write(tmp_path, edges=edges), ReadOptions(drop_unknown=True))
    assert len(data.X) == len(data.y) == 4
    assert "1 ids in column 'start' are not in start_features.csv: 'new' (1 of 5 edges have them)" in data.dropped[0]


@pytest.mark.parametrize("name", ["gpcr", "ki"])
def test_real_data(name):
    K, G, start, end, y = read_graph(name)
    data = read_dataset(folder_of(name))
    np.testing.assert_array_equal(data.X.start, start)
    np.testing.assert_array_equal(data.X.end, end)
    np.testing.assert_array_equal(data.y, y)
    np.testing.assert_array_equal(data.X.start_table.features, K)
    np.testing.assert_array_equal(data.X.end_table.features, G)


def lines(frame):
    return frame.to_csv(index=False)


BAD = {
    "no folder": (None, None, "there is no folder"),
    "no edges": ("edges.csv", None, "has no edges: a file edges.parquet, edges.csv or edges.csv.gz"),
    "no start": ("start_features.csv", None, "has no table of its start vertices"),
    "empty": ("edges.csv", "", "edges.csv is empty"),
    "header only": ("edges.csv", "start,end,label\n", "has a header, but no rows"),
    "no header": (
        "edges.csv",
        "a,x,1\nb,x,-1\n",
        "has no column 'start', but 'a', 'x', '1'; its first line must be a header",
    ),
    "empty header": ("edges.csv", "\n\na,x,1\n", "its first line is empty"),
    "semicolons": (
        "edges.csv",
        lines(EDGES).replace(",", ";"),
        "seems to be separated by ';', but it must be by commas",
    ),
    "tabs": ("start_features.csv", lines(STARTS).replace(",", "\t"), "seems to be separated by '\\t'"),
    "no label": ("edges.csv", lines(EDGES.drop(columns="label")), "no column 'label', but 'start', 'end', 'more'"),
    "column twice": ("edges.csv", "start,end,label,label\na,x,1,1\n", "has the column 'label' more than once"),
    "ragged": ("edges.csv", "start,end,label\na,x,1\nb,x\n", "Expected 3 columns, got 2"),
    "duplicate ids": ("start_features.csv", "id,f\na,1\nb,2\na,3\nc,4\n", "has 1 ids more than once: 'a'"),
    "missing id": ("edges.csv", lines(EDGES).replace("b,x", ",x"), None),
    "unknown ids": (
        "edges.csv",
        lines(EDGES) + "".join(f"n{i},x,1,0\n" for i in range(7)),
        "not in start_features.csv: 'n0', 'n1', 'n2', 'n3', 'n4', … (7 of 11 edges have them)",
    ),
    "text in features": (
        "start_features.csv",
        "id,f,g\na,1,2\nb,3,heavy\nc,4,5\n",
        "row 2, column 'g' is 'heavy', but it must be a number",
    ),
    "NaN in features": (
        "start_features.csv",
        "id,f,g\na,1,2\nb,,5\nc,4,5\n",
        "row 2, column 'f' is empty, but it must be a finite number",
    ),
    "infinity": ("start_features.csv", "id,f,g\na,1,2\nb,inf,5\nc,4,5\n", "row 2, column 'f' is inf"),
    "ids only": ("start_features.csv", "id\na\nb\nc\n", "has ids only"),
    "words for labels": (
        "edges.csv",
        "start,end,label\n" + "".join(f"a,x,w{i:03}\n" for i in range(101)),
        "column 'label' has the words 'w000', 'w001', 'w002', 'w003', 'w004', … (101 different ones)",
    ),
    "a word among labels": (
        "edges.csv",
        lines(EDGES.assign(label=["1", "2", "x", "3"])),
        "row 3, column 'label' is 'x'",
    ),
    "label missing": ("edges.csv", lines(EDGES.assign(label=[1, -1, None, 1])), "row 3, column 'label' is empty"),
    "one label": ("edges.csv", lines(EDGES.assign(label=1)), "column 'label' is 1 in every row"),
    "kernel ids differ": (
        "end_kernel.csv",
        "id,x,z,y\nx,1,0,0\ny,0,1,0\nz,0,0,1\n",
        "row 2 is 'y', but the header has 'z' there",
    ),
    "kernel not square": (
        "end_kernel.csv",
        "id,x,y\nx,1,0\ny,0,1\nz,0,0\n",
        "has 3 rows and 2 columns without the ids, but a kernel matrix is square",
    ),
    "no Parquet": ("edges.parquet", "start,end\n", "has both edges.parquet and edges.csv"),
    "sparse twice": (
        "start_features.csv",
        "id,feature,value\na,f,1\na,f,2\n",
        "has the same feature of a vertex more than once",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files(tmp_path, case):
    file, content, message = BAD[case]
    write(tmp_path)
    if file is None:
        tmp_path = tmp_path / "none"
    elif content is None:
        (tmp_path / file).unlink()
    else:
        (tmp_path / file).write_text(content)
    message = message or "column 'start' has no id"
    if case == "missing id":
        message = "1 ids in column 'start' are not in start_features.csv: ''"
    with pytest.raises((ValueError, FileNotFoundError)) as caught:
        read_dataset(tmp_path)
    assert message in str(caught.value)


def test_files_of_the_wrong_kind(tmp_path):
    write(tmp_path)
    for name, content in (
        ("e.parquet", b"PAR1 is not what follows"),
        ("e.csv.gz", b"no gzip"),
        ("e.csv", b"\xff\xfe\x00,"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises((ValueError, OSError), match=name.replace(".", r"\.")):
            read_dataset(tmp_path, ReadOptions(edges=tmp_path / name))
    (tmp_path / "e.txt").write_text("x")
    with pytest.raises(
        ValueError, match=r"e\.txt is not a table: its name must end in \.parquet, \.csv, .* or \.tsv\.gz"
    ):
        read_dataset(tmp_path, ReadOptions(edges=tmp_path / "e.txt"))
    whole = gzip.compress(lines(pd.concat([EDGES] * 50)).encode())
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises((ValueError, OSError), match=r"cut\.csv\.gz"):
        read_dataset(tmp_path, ReadOptions(edges=tmp_path / "cut.csv.gz"))


def test_a_column_has_one_role(tmp_path):
    pd.DataFrame({"start": ["a"], "end": ["x"], "label": [1.0]}).to_csv(tmp_path / "edges.csv", index=False)
    for side, vertex in (("start", "a"), ("end", "x")):
        pd.DataFrame({"id": [vertex], "f": [1.0]}).to_csv(tmp_path / f"{side}_features.csv", index=False)
    with pytest.raises(ValueError, match="--label-column and --relation-column are both 'label'"):
        read_dataset(tmp_path, ReadOptions(relation_column="label"))
    with pytest.raises(ValueError, match="--start-column and --end-column are both 'start'"):
        read_dataset(tmp_path, ReadOptions(end_column="start"))
