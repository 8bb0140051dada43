"""Edges that are not read yet: what scanning finds, what reading refuses, and how splits divide."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyarrow.fs import LocalFileSystem

import vectrick as vt
from tests.lakes.lake import make_lake
from vectrick.data import VertexTable
from vectrick.data.source import EdgeSource


def written(folder, **columns):
    folder.mkdir(exist_ok=True)
    frame = pd.DataFrame({"user": [0, 1], "item": [1, 0], "y": [1.0, 2.0]}).assign(**columns)
    frame.to_parquet(folder / f"part-{len(list(folder.iterdir()))}.parquet")
    return folder


def scanned(folder, **more):
    given = {"start": "user", "end": "item", "label": "y", "start_table": np.eye(2), "end_table": np.eye(2), **more}
    return vt.scan_edges(folder, **given)


def in_order(start, end, *values):
    order = np.lexsort((end, start))
    return [np.asarray(column)[order] for column in (start, end, *values)]


def test_nothing_is_read_but_the_schema_and_the_row_counts(lake, monkeypatch):
    from vectrick.data.lake.source import ParquetSource

    monkeypatch.setattr(ParquetSource, "read", lambda *_: pytest.fail("the lake was read"))
    X = lake.scan()
    assert X.n_rows == 700
    assert X.n_partitions == 5  # 700 edges in parts of about 150
    X.split(random_state=0)
    repr(X)


def test_edges_degrees_and_head_are_those_of_the_files(lake):
    X = lake.scan(weight="weight")
    assert X.count() == 700
    degrees = X.degrees()
    assert np.array_equal(degrees[0], np.bincount(lake.start, minlength=40))
    assert np.array_equal(degrees[1], np.bincount(lake.end, minlength=30))
    edges, y, weight = X.edges()
    for read, true in zip(
        in_order(edges.start, edges.end, y, weight), in_order(lake.start, lake.end, lake.y, lake.weight), strict=True
    ):
        assert np.array_equal(read, true)
    assert X.head(3)["y"].tolist() == lake.y[:3].tolist()
    assert len(X.edges(limit=10)[1]) == 10


def test_ids_may_be_text_numbers_dictionaries_or_positions(tmp_path):
    users = pd.DataFrame({"id": ["ann", "bob"], "x": [1.0, 2.0]})
    items = pd.DataFrame({"x": [1.0, 2.0]}, index=pd.Index([70, 50], name="item"))
    folder = tmp_path / "edges"
    folder.mkdir()
    table = pa.table(
        {"user": pa.array(["bob", "ann", "bob"]).dictionary_encode(), "item": [50, 70, 70], "y": [1, 2, 3]}
    )
    parquet.write_table(table, folder / "a.parquet")
    edges, y, _ = scanned(folder, start_table=users, end_table=items).edges()
    assert edges.start.tolist() == [1, 0, 1]
    assert edges.end.tolist() == [1, 0, 0]
    assert y.tolist() == [1.0, 2.0, 3.0]


def test_partitions_in_the_names_of_folders_filters_and_one_file(tmp_path):
    for year in (2023, 2024):
        inner = tmp_path / "edges" / f"year={year}"
        inner.mkdir(parents=True)
        pd.DataFrame({"user": [0, 1], "item": [1, 0], "y": [1.0, float(year)]}).to_parquet(inner / "a.parquet")
    assert scanned(tmp_path / "edges").count() == 4
    assert scanned(tmp_path / "edges", filters=[("year", ">", 2023)]).edges()[1].tolist() == [1.0, 2024.0]
    assert scanned(tmp_path / "edges", label="year").edges()[1].tolist() == [2023.0, 2023.0, 2024.0, 2024.0]
    assert scanned(tmp_path / "edges" / "year=2023" / "a.parquet").count() == 2


def test_a_dask_frame_is_a_lake(lake):
    frames = pytest.importorskip("dask.dataframe")
    frame = frames.read_parquet(str(lake.folder))
    X = vt.scan_edges(frame, start="user", end="item", label="y", start_table=lake.users, end_table=lake.items)
    assert X.count() == 700
    ours, theirs = vt.KronRidge().fit(lake.scan()), vt.KronRidge().fit(X)
    assert np.allclose(ours.coef_, theirs.coef_, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("column", ["user", "y"])
def test_missing_vertices_and_labels_are_refused_or_dropped_and_counted(tmp_path, column):
    folder = written(tmp_path / "edges")
    gap = {"user": {"user": [0, 7]}, "y": {"y": [np.nan, 3.0]}}[column]
    written(folder, **gap)
    with pytest.raises(vt.LakeError, match="missing='drop'"):
        scanned(folder).count()
    X = scanned(folder, missing="drop")
    assert X.count() == 3
    assert (X.counts.n_unknown, X.counts.n_unlabeled) == ((1, 0) if column == "user" else (0, 1))


def test_the_error_names_the_id_the_file_and_the_table(tmp_path):
    folder = written(tmp_path / "edges", user=["ann", "eve"])
    users = pd.DataFrame({"x": [1.0]}, index=pd.Index(["ann"], name="user"))
    with pytest.raises(vt.LakeError, match=r"part-0.parquet, row group 0.*'user'.*start_table: 'eve'"):
        scanned(folder, start_table=users).count()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"y": ["good", "bad"]}, "column 'y' has type .*string.*numbers"),
        ({"user": ["a", "b"]}, "column 'user' has type .*string.*positions"),
        ({"user": [0.5, 1.0]}, "column 'user' has type double"),
    ],
)
def test_columns_of_the_wrong_type_are_refused_before_reading(tmp_path, columns, message):
    with pytest.raises((TypeError, ValueError), match=message):
        scanned(written(tmp_path / "edges", **columns))


def test_files_with_another_schema_are_named(tmp_path):
    folder = written(written(tmp_path / "edges"), y=["a", "b"])
    with pytest.raises(vt.LakeError, match=r"part-1.parquet: column 'y'"):
        scanned(folder)
    (folder / "part-1.parquet").unlink()
    pd.DataFrame({"user": [0], "item": [0]}).to_parquet(folder / "part-1.parquet")
    with pytest.raises(vt.LakeError, match=r"part-1.parquet has no column 'y'"):
        scanned(folder)


def test_truncated_files_and_files_that_change_are_named(tmp_path):
    folder = written(written(tmp_path / "edges"))
    X = scanned(folder)
    model = vt.KronRidge().fit(X)
    file = folder / "part-1.parquet"
    content = file.read_bytes()
    file.write_bytes(content[:-100])
    with pytest.raises(vt.LakeError, match=r"part-1.parquet has changed .*: it has \d+ bytes"):
        vt.KronRidge().fit(X)
    with pytest.raises(vt.LakeError, match=r"part-1.parquet cannot be read"):
        scanned(folder)
    broken = bytearray(content)
    broken[20:200] = bytes(180)
    file.write_bytes(bytes(broken))
    with pytest.raises(vt.LakeError, match=r"part-1.parquet, row group 0"):
        scanned(folder).count()
    assert model.predict(vt.Edges([0], [1], np.eye(2), np.eye(2))).shape == (1,)


def test_empty_partitions_are_fine_and_empty_lakes_are_not(tmp_path):
    folder = written(tmp_path / "edges")
    empty = pd.DataFrame({"user": [0], "item": [0], "y": [0.0]})[:0]
    empty.to_parquet(folder / "part-1.parquet")
    X = scanned(folder)
    assert X.count() == 2
    vt.KronRidge().fit(X)
    for file in folder.iterdir():
        file.unlink()
    empty.to_parquet(folder / "part-0.parquet")
    with pytest.raises(vt.LakeError, match="has no edges"):
        vt.KronRidge().fit(scanned(folder))
    (folder / "part-0.parquet").unlink()
    with pytest.raises(vt.LakeError, match="no Parquet files"):
        scanned(folder)
    with pytest.raises(FileNotFoundError, match="there is no file or folder"):
        scanned(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"missing": "ignore"}, "missing is 'ignore'"),
        ({"max_memory": "much"}, "max_memory is 'much'"),
        ({"cache_dir": "/no/such/folder"}, "cache_dir is"),
        ({"partition_edges": 0}, "partition_edges is 0"),
        ({"filters": "y > 1"}, "filters is"),
        ({"label": "stars"}, "no column 'stars'; its columns are user, item, y"),
    ],
)
def test_bad_arguments_are_named(tmp_path, given, message):
    with pytest.raises(ValueError, match=message):
        scanned(written(tmp_path / "edges"), **given)


@pytest.mark.parametrize("new", ["both", "start", "end", "neither"])
def test_a_split_holds_out_vertices_or_edges(lake, new):
    train, test = (part.edges()[0] for part in lake.scan().split(new, 0.3, random_state=1))
    assert min(len(train), len(test)) > 20
    if new == "neither":
        assert len(train) + len(test) == 700
        pairs = [set(zip(part.start.tolist(), part.end.tolist(), strict=True)) for part in (train, test)]
        assert not pairs[0] & pairs[1]
    for side in ("start", "end"):
        shared = set(getattr(train, side).tolist()) & set(getattr(test, side).tolist())
        assert bool(shared) == (new not in ("both", side))


def test_a_split_of_one_vertex_set_holds_vertices_out_wherever_they_are(tmp_path):
    rng = np.random.default_rng(0)
    folder = tmp_path / "edges"
    folder.mkdir()
    frame = pd.DataFrame({"user": rng.integers(0, 20, 300), "item": rng.integers(0, 20, 300), "y": rng.random(300)})
    frame.to_parquet(folder / "a.parquet")
    X = scanned(folder, start_table=rng.random((20, 3)), end_table=None)
    assert X.is_one_set
    train, test = (part.edges()[0] for part in X.split("both", 0.3, random_state=0))
    assert not {*train.start, *train.end} & {*test.start, *test.end}
    train, test = (part.edges()[0] for part in X.split("start", 0.3, random_state=0))
    known = {*train.start.tolist(), *train.end.tolist()}
    assert all((a in known) != (b in known) for a, b in zip(test.start.tolist(), test.end.tolist(), strict=True))


def test_splits_of_splits_and_bad_sizes(lake):
    train, test = lake.scan().split(random_state=0)
    inner, held = train.split("neither", 0.2, random_state=0)
    assert inner.count() + held.count() == train.count()
    assert test.count() > 0
    for size in (0, 1, -0.1, True):
        with pytest.raises(ValueError, match="test_size is"):
            train.split(test_size=size)
    with pytest.raises(ValueError, match="new is 'any'"):
        train.split("any")


def test_partitions_do_not_change_the_edges(tmp_path):
    (tmp_path / "a").mkdir()
    lake = make_lake(tmp_path / "a", n_files=7)
    counts = [lake.scan(partition_edges=n).count() for n in (1, 250, 10_000)]
    assert counts == [700, 700, 700]
    assert lake.scan(partition_edges=10_000).n_partitions == 1


def wrote(folder, *frames, names=None):
    folder.mkdir(parents=True, exist_ok=True)
    for number, frame in enumerate(frames):
        frame.to_parquet(folder / (f"{number}.parquet" if names is None else names[number]))
    return folder


TABLES = {"start_table": np.eye(3), "end_table": np.eye(4)}


@pytest.mark.parametrize(
    ("ids", "dtype", "others"),
    [
        ([5, 6, 7], "int32", [2**32 + 7, -(2**32) + 5]),
        ([5, 6, 7], "uint8", [256 + 5, -1]),
        ([-1, 0, 1], "int64", np.array([2**64 - 1, 2**63], np.uint64)),
        ([2**63, 1, 2**64 - 1], "uint64", [-1, -(2**63)]),
        ([0, 1, 2], "int64", np.array([2**64 - 1, 3], np.uint64)),  # positions
    ],
)
def test_an_integer_that_has_no_place_in_the_type_of_ids_is_in_no_table(tmp_path, ids, dtype, others):
    table = pd.DataFrame(np.eye(3), index=pd.Index(np.array(ids, dtype=dtype), name="start"))
    frame = pd.DataFrame({"start": others, "end": [0, 1], "label": [1.0, 2.0]})
    given = {"start_table": table, "end_table": np.eye(4)}
    with pytest.raises(vt.LakeError, match="has 2 edges whose vertex is not in start_table"):
        vt.scan_edges(wrote(tmp_path / "a", frame), **given).count()
    known = pd.DataFrame({"start": np.array(ids, dtype=dtype), "end": [0, 1, 2], "label": 1.0})
    assert vt.scan_edges(wrote(tmp_path / "b", known), **given).degrees()[0].tolist() == [1, 1, 1]


@pytest.mark.parametrize("order", [1, -1])
def test_types_of_several_files_hold_the_values_of_all(tmp_path, order):
    narrow = pd.DataFrame({"start": np.array([0], np.int8), "end": [1], "label": np.array([0.5], np.float32)})
    wide = pd.DataFrame({"start": np.array([2]), "end": [1], "label": [0.1 + 1e-12]})
    folder = wrote(tmp_path / "lake", *[narrow, wide][::order])
    _, y, _ = vt.scan_edges(folder, **TABLES).edges()
    assert sorted(y) == [0.1 + 1e-12, 0.5]
    whole = pd.DataFrame({"start": [0], "end": [1], "label": np.array([1], np.int8)})
    large = pd.DataFrame({"start": [0], "end": [1], "label": [1000]})
    folder = wrote(tmp_path / "whole", *[whole, large][::order])
    assert sorted(vt.scan_edges(folder, **TABLES).edges()[1]) == [1.0, 1000.0]


def test_other_files_lists_of_files_and_columns_without_values(tmp_path):
    frame = pd.DataFrame({"start": [0, 1], "end": [1, 2], "label": [1.0, 2.0]})
    folder = wrote(tmp_path / "lake", frame, frame, names=["x.parquet", "y.parquet"])
    (folder / "README.txt").write_text("not Parquet, and it comes first")
    assert vt.scan_edges(folder, **TABLES).count() == 4
    assert vt.scan_edges([folder / "x.parquet"], **TABLES).count() == 2
    pd.DataFrame({"start": [0], "end": [1], "label": [None]}).to_parquet(folder / "z.parquet")
    X = vt.scan_edges(folder, missing="drop", **TABLES)
    assert (X.count(), X.counts.n_unlabeled) == (4, 1)


def test_a_column_that_only_sounds_like_a_part_of_the_path_is_missing(tmp_path):
    frame = pd.DataFrame({"start": [0, 1], "end": [1, 2], "label": [1.0, 2.0]})
    wrote(tmp_path / "lake" / "label_kind=a", frame)
    wrote(tmp_path / "lake" / "label_kind=b", frame.drop(columns="label"))
    with pytest.raises(vt.LakeError, match="has no column 'label', but other files of the lake have it"):
        vt.scan_edges(tmp_path / "lake", **TABLES)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"start": None}, "start is None, but it must be the name of a column"),
        ({"label": ""}, "label is '', but it must be the name of a column"),
        ({"label": ["a", "b"]}, "label is .*, but it must be the name of a column"),
        ({"cache_dir": 5}, "cache_dir is '5', but there is no such folder"),
        ({"filters": [("label", "==", "x")]}, "filters is .*, but it does not fit the columns"),
        ({"filters": [("year", "==", 1)]}, "filters is .*, but it does not fit the columns"),
    ],
)
def test_arguments_that_cannot_be_meant(tmp_path, given, message):
    folder = wrote(tmp_path / "lake", pd.DataFrame({"start": [0], "end": [1], "label": [1.0]}))
    with pytest.raises(ValueError, match=message):
        vt.scan_edges(folder, **TABLES, **given)


def test_counts_and_weights_that_cannot_be_meant(tmp_path):
    frame = pd.DataFrame({"start": [0], "end": [1], "label": [1.0], "w": [np.inf]})
    folder = wrote(tmp_path / "lake", frame)
    with pytest.raises(ValueError, match="n is -1, but it must be an integer of at least 0"):
        vt.scan_edges(folder, **TABLES).head(-1)
    with pytest.raises(ValueError, match="limit is -5, but it must be an integer of at least 0"):
        vt.scan_edges(folder, **TABLES).edges(-5)
    with pytest.raises(vt.LakeError, match="column 'w' has weights that are negative, infinite or missing"):
        vt.scan_edges(folder, weight="w", **TABLES).count()


def test_a_link_does_not_multiply_a_lake(tmp_path):
    lake, elsewhere = tmp_path / "lake", tmp_path / "elsewhere"
    (lake / "year=2024").mkdir(parents=True)
    elsewhere.mkdir()
    frame = pd.DataFrame({"start": [0, 1, 1], "end": [1, 0, 1], "label": [1.0, 2.0, 3.0]})
    frame.to_parquet(lake / "year=2024" / "a.parquet")
    frame.to_parquet(elsewhere / "b.parquet")
    (lake / "again").symlink_to(lake, target_is_directory=True)
    (lake / "year=2024" / "up").symlink_to(lake, target_is_directory=True)
    (lake / "year=2024" / "copy.parquet").symlink_to(lake / "year=2024" / "a.parquet")
    tables = {"start_table": np.eye(2), "end_table": np.eye(2)}
    assert vt.scan_edges(lake, **tables).count() == 3
    assert vt.scan_edges(lake, filters=[("year", "==", 2024)], **tables).count() == 3
    assert vt.scan_edges(f"file://{lake}", **tables).count() == 3
    assert vt.scan_edges(str(lake), filesystem=LocalFileSystem(), **tables).count() == 3
    (lake / "year=2025").symlink_to(elsewhere, target_is_directory=True)  # a folder that is somewhere else counts
    assert vt.scan_edges(lake, **tables).count() == 6
    assert vt.scan_edges(lake, filters=[("year", "==", 2025)], **tables).count() == 3


def test_ids_may_be_text_in_one_file_and_categories_in_another(tmp_path):
    frame = pd.DataFrame({"start": ["a", "b", "a"], "end": ["x", "y", "y"], "label": [1.0, 2.0, 3.0]})
    for number, categories in enumerate(([], ["start"], ["start", "end"], ["end"])):
        frame.astype(dict.fromkeys(categories, "category")).to_parquet(tmp_path / f"{number}.parquet")
    names = {"start_table": pd.DataFrame(np.eye(2), ["a", "b"]), "end_table": pd.DataFrame(np.eye(2), ["x", "y"])}
    lake = vt.scan_edges(tmp_path, **names)
    assert lake.count() == 12
    assert lake.degrees()[0].tolist() == [8, 4]
    assert len(lake.head(12)) == 12


def test_ids_beyond_the_integers_of_a_lake_are_refused(tmp_path):
    pd.DataFrame({"start": [5], "end": [0], "label": [1.0]}).to_parquet(tmp_path / "a.parquet")
    table = VertexTable(np.eye(2), "start_table", np.array([5, 2**64], object))
    with pytest.raises(TypeError, match="the ids of start_table have a type that no lake has"):
        vt.scan_edges(tmp_path, start_table=table, end_table=np.eye(2))


def test_lakes_and_edges_in_memory_satisfy_one_protocol(lake):
    X, Y = lake.scan(), lake.X
    assert isinstance(X, EdgeSource)
    assert isinstance(Y, EdgeSource)
    assert X.count() == Y.count()
    for ours, others in zip(X.degrees(), Y.degrees(), strict=True):
        np.testing.assert_array_equal(ours, others)
