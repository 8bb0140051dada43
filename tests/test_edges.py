"""Edges and vertex tables: positions and ids, frames, slices, grids, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

import vectrick as vt
from vectrick.data import hold_out_vertices

D, T = np.arange(6.0).reshape(3, 2), np.arange(8.0).reshape(4, 2)


def test_slices_share_the_tables():
    X = vt.Edges([0, 1, 2], [3, 2, 1], D, T)
    part = X[np.array([True, False, True])]
    assert part.start_table is X.start_table
    assert_array_equal(part.end, [3, 1])
    assert_array_equal(X[[2, 0]].start, [2, 0])
    assert_array_equal(X[[2, 0], ...].start, [2, 0])
    assert_array_equal(X[1:].start, [1, 2])
    assert len(X[1]) == 1
    with pytest.raises(IndexError, match="only rows"):
        X[[0], 1]


def test_shape_and_text():
    X = vt.Edges([0, 1], [3, 2], D, T)
    assert X.shape == (2, 2)
    assert len(X) == 2
    assert repr(X) == "<2 edges between 3 start and 4 end vertices>"
    assert vt.Edges([0], [1], D).is_one_set


@pytest.mark.parametrize(
    "table", [pd.DataFrame(D, columns=["a", "b"]), pl.DataFrame(D, schema=["a", "b"]), csr_array(D), D.tolist()]
)
def test_tables_of_every_kind(table):
    X = vt.Edges([0, 2], [1, 1], table, T)
    features = X.start_table.features
    assert_array_equal(features.toarray() if hasattr(features, "toarray") else features, D)
    assert_array_equal(X.start, [0, 2])


@pytest.mark.parametrize("library", [pd, pl])
def test_from_frame(library):
    drugs = library.DataFrame({"drug": ["x", "y", "z"], "weight": [1.0, 2.0, 3.0], "is_salt": [True, False, True]})
    targets = library.DataFrame({"id": [10, 20], "length": [5, 6]})
    df = library.DataFrame({"drug": ["z", "x", "z"], "target": [20, 10, 10]})
    X = vt.Edges.from_frame(df, start="drug", end="target", start_table=drugs, end_table=targets)
    assert_array_equal(X.start, [2, 0, 2])
    assert_array_equal(X.end, [1, 0, 0])
    assert_array_equal(X.start_table.features, [[1, 1], [2, 0], [3, 1]])
    assert X.start_table.label(2) == "vertex 'z'"


def test_from_frame_with_an_index_and_one_set():
    vertices = pd.DataFrame({"f": [1.0, 2.0]}, index=["a", "b"])
    df = pd.DataFrame({"start": ["a", "b"], "end": ["b", "b"]})
    X = vt.Edges.from_frame(df, start_table=vertices)
    assert X.is_one_set
    assert_array_equal(X.end, [1, 1])


def test_unknown_ids_are_listed():
    df = pd.DataFrame({"start": ["a", "q", "r"], "end": ["a", "a", "a"]})
    with pytest.raises(ValueError, match="start has 2 ids that are not in start_table: 'q', 'r'"):
        vt.Edges.from_frame(df, start_table=pd.DataFrame({"f": [1.0]}, index=["a"]))
    many = vt.Edges([0], [0], D, T)
    with pytest.raises(ValueError, match="9 ids that are not in start_features: 'a', 'b', 'c', 'd', 'e', …"):
        vt.Edges(list("abcdefghi"), [0] * 9, D, T, start_ids=["x", "y", "z"])
    assert len(many) == 1


def test_integers_in_a_frame_are_ids():
    table = pd.DataFrame({"id": ["2", "1", "0"], "f": [20.0, 10.0, 0.0]})
    numerals = vt.Edges.from_frame(pd.DataFrame({"start": [0, 1], "end": [1, 0]}), start_table=table)
    assert_array_equal(numerals.start, [2, 1])
    words = table.assign(id=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"start has 2 ids that are not in start_table: 0, 1 \(an id there: 'a'"):
        vt.Edges.from_frame(pd.DataFrame({"start": [0, 1], "end": [1, 0]}), start_table=words)
    with pytest.raises(ValueError, match=r"start\[1\] is missing \(1 of 2 ids are\)"):
        vt.Edges.from_frame(pd.DataFrame({"start": ["0", None], "end": ["1", "0"]}), start_table=table)
    with pytest.raises(TypeError, match="start has ids of several types, int and str"):
        vt.Edges(np.array(["0", 1], object), ["1", "0"], table)
    assert vt.Edges.from_frame(
        pd.DataFrame({"start": ["0"], "end": ["1"]}), start_table=table, end_table=table
    ).is_one_set


def test_frames_without_names_and_of_float32():
    table = pd.DataFrame(D.astype(np.float32))
    X = vt.Edges([0, 2], [1, 1], table, T)
    assert X.start_table.features.dtype == np.float32
    assert_array_equal(X.start_table.features, D)
    assert repr(X.start_table) == "<start_features: 3 vertices, 2 features, with ids>"
    polars = vt.Edges([0, 2], [1, 1], pl.DataFrame(D.astype(np.float32)), T)
    assert polars.start_table.features.dtype == np.float32


def test_frames_without_column_names():
    df, tables = pd.DataFrame({0: [0, 1], 1: [2, 2]}), pd.DataFrame(D)
    X = vt.Edges.from_frame(df, start=0, end=1, start_table=tables, end_table=tables)
    assert_array_equal(X.end, [2, 2])
    with pytest.raises(ValueError, match="start is 'start', but the frame has the columns 0, 1"):
        vt.Edges.from_frame(df, start_table=tables)


def test_missing_values_of_pandas():
    table = pd.DataFrame({"f": [1.0, 2.0]}, index=["a", "b"])
    for missing in (pd.array(["a", None], "string"), np.array(["a", None], object), np.array(["a", np.nan], object)):
        df = pd.DataFrame({"start": missing, "end": ["a", "b"]})
        with pytest.raises(ValueError, match=r"start\[1\] is missing"):
            vt.Edges.from_frame(df, start_table=table)
    X = vt.Edges([0], [0], pd.DataFrame({"a": pd.array([True, None], "boolean"), "b": [1.0, 2.0]}))
    assert_array_equal(X.start_table.features, [[1.0, 1.0], [np.nan, 2.0]])


def test_sparse_tables_with_repeated_entries():
    table = csr_array((np.ones(4), np.array([0, 0, 1, 1]), np.array([0, 2, 4])), shape=(2, 2))
    X = vt.Edges([0], [0], table)
    assert_array_equal(X.start_table.features.data, [2.0, 2.0])
    assert len(table.data) == 4


def test_edges_are_no_array():
    with pytest.raises(TypeError, match="Edges are not an array"):
        np.asarray(vt.Edges([0], [0], D, T))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([0, 5], [0, 0], D, T), ValueError, r"start\[1\] is 5, but start_features has 3 vertices"),
        (([0], [-1], D, T), ValueError, r"end\[0\] is -1, but end_features has 4 vertices"),
        (([0, 1], [0], D, T), ValueError, "start has length 2 and end has 1"),
        (([0.5], [0], D, T), TypeError, "start has dtype float64, but start_features has no ids"),
        ((["a"], [0], D, T), TypeError, "has no ids"),
        (([True], [0], D, T), TypeError, "start is boolean"),
        (([[0]], [0], D, T), ValueError, r"start has shape \(1, 1\)"),
        (([0], [0], D[:, 0], T), ValueError, r"start_features has shape \(3,\).*\[:, None\]"),
        (([0], [0], D.astype(str), T), TypeError, "start_features has dtype <U"),
        (([0], [0], D.astype(complex), T), TypeError, "start_features has dtype complex"),
    ],
)
def test_what_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        vt.Edges(*arguments)


def test_ids_that_are_refused():
    with pytest.raises(ValueError, match="start_features has the id 'a' more than once"):
        vt.Edges(["a"], [0], D, T, start_ids=["a", "a", "b"])
    with pytest.raises(ValueError, match="the ids of start_features have shape"):
        vt.Edges(["a"], [0], D, T, start_ids=["a"])
    with pytest.raises(ValueError, match="end_ids is given, but end_features is None"):
        vt.Edges([0], [0], D, end_ids=["a", "b", "c"])
    with pytest.raises(ValueError, match="start is 'from', but the frame has the columns a"):
        vt.Edges.from_frame(pd.DataFrame({"a": [1]}), start="from", end="a", start_table=D)


def test_grid():
    X = vt.Edges.grid(D, T)
    assert len(X) == 12
    assert_array_equal(X.start * 4 + X.end, np.arange(12))
    assert len(vt.Edges.grid(D)) == 9


def test_held_out_vertices_are_new():
    rng = np.random.default_rng(0)
    X = vt.Edges(rng.integers(0, 30, 400), rng.integers(0, 20, 400), np.eye(30), np.eye(20))
    train, test = hold_out_vertices(X, 0.3, rng)
    assert train.any()
    assert test.any()
    for side in (X.start, X.end):
        assert not set(side[train]) & set(side[test])


def test_held_out_vertices_of_one_set_are_new_everywhere():
    rng = np.random.default_rng(0)
    X = vt.Edges(*rng.integers(0, 30, (2, 400)), np.eye(30))
    train, test = hold_out_vertices(X, 0.3, rng)
    assert not set(np.r_[X.start[train], X.end[train]]) & set(np.r_[X.start[test], X.end[test]])


def test_checkerboard_is_the_papers():
    X, y = vt.datasets.make_checkerboard(60, 40, density=0.5, noise=0.0, random_state=0)
    assert len(X) == 1200
    assert len(set(zip(X.start.tolist(), X.end.tolist(), strict=True))) == 1200
    d, t = X.start_table.features[X.start, 0], X.end_table.features[X.end, 0]
    assert_array_equal(y == 1, np.floor(d) % 2 == np.floor(t) % 2)
    assert 0 < d.min() < d.max() < 100
    noisy = vt.datasets.make_checkerboard(60, 40, density=0.5, noise=0.2, random_state=0)[1]
    assert 0.15 < np.mean(noisy != y) < 0.25
    again = vt.datasets.make_checkerboard(60, 40, density=0.5, noise=0.0, random_state=0)
    assert_array_equal(again[0].start, X.start)


@pytest.mark.parametrize(("name", "value"), [("m", 0), ("q", 1.5), ("density", 0), ("density", 1.5), ("noise", -0.1)])
def test_checkerboard_refuses(name, value):
    with pytest.raises(ValueError, match=f"{name} is {value}"):
        vt.datasets.make_checkerboard(**{"m": 10, name: value})
