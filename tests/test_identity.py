"""Which vertex is meant: ids of every type, tables that could be joined by accident, and values that are hidden."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import vectrick as vt

IDS = [2, 0, 1]


@pytest.mark.parametrize(
    "ids",
    [
        pd.Series(IDS, dtype=object),
        pd.Series(IDS, dtype=float),
        pd.Series(IDS, dtype="Int64"),
        pd.Series(IDS, dtype="uint64"),
        pd.Series(["2", "0", "1"]),
    ],
    ids=["object", "float", "Int64", "uint64", "text"],
)
@pytest.mark.parametrize("kind", [int, float, object, np.int8])
def test_integers_are_ids_whatever_their_column_is(ids, kind):
    table = pd.DataFrame({"id": ids, "a": [1.0, 2.0, 3.0]})
    assert_array_equal(vt.Edges(np.array(IDS, kind), [0, 0, 0], table, np.eye(1)).start, [0, 1, 2])
    assert_array_equal(vt.Edges([0, 1, 2], [0, 0, 0], table, np.eye(1)).start, [1, 2, 0])


def test_integers_are_positions_where_ids_are_words():
    assert_array_equal(vt.Edges(IDS, [0, 0, 0], np.eye(3), np.eye(1), start_ids=["a", "b", "c"]).start, IDS)
    for ids in (["x", "1", "2"], ["10", "20", "30"]):  # some of which the integers may mean
        with pytest.raises(ValueError, match="ids that are not in start_features"):
            vt.Edges(IDS, [0, 0, 0], np.eye(3), np.eye(1), start_ids=ids)
        assert_array_equal(vt.Edges(IDS, [0, 0, 0], np.eye(3), np.eye(1), start_ids=ids, positions=True).start, IDS)
    for ids in (["002", "000", "001"], ["2.0", "0.0", "1.0"], [Decimal(2), Decimal(0), Decimal(1)]):
        assert_array_equal(vt.Edges(IDS, [0, 0, 0], np.eye(3), np.eye(1), start_ids=np.array(ids)).start, [0, 1, 2])
    with pytest.raises(ValueError, match=r"start has 1 ids that are not in start_features: 0 \(an id there: '3'"):
        vt.Edges([0, 1, 2], [0, 0, 0], np.eye(3), np.eye(1), start_ids=["3", "2", "1"])


@pytest.fixture
def movies():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"movie_id": rng.permutation(80), "length": rng.random(80)})
    edges = pd.DataFrame({"user": rng.integers(0, 5, 60), "movie": rng.integers(0, 80, 60)})
    return edges, pd.DataFrame({"age": rng.random(5)}), table


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_table_is_not_joined_by_its_row_numbers(movies, library):
    edges, users, table = movies
    if library == "polars":
        edges, users, table = (pl.from_pandas(frame) for frame in (edges, users.assign(user=range(5)), table))
    given = {"start": "user", "end": "movie", "start_table": users, "end_table": table}
    with pytest.raises(ValueError, match="columns that could hold them: 'movie_id'; pass end_id='movie_id'"):
        vt.Edges.from_frame(edges, **given)
    X = vt.Edges.from_frame(edges, **given, end_id="movie_id")
    assert_array_equal(table["movie_id"].to_numpy()[X.end], edges["movie"].to_numpy())
    assert X.end_table.n_features == 1


@pytest.mark.parametrize("change", ["filtered", "shuffled", "float", "in part"])
def test_row_numbers_of_a_frame_that_was_worked_on_are_no_ids_either(movies, change):
    edges, users, table = movies
    table = {
        "filtered": table[table["length"] > 0],
        "shuffled": table.sample(frac=1, random_state=0),
        "float": table.astype({"movie_id": float}),
        "in part": table[table["movie_id"] != edges["movie"][0]],
    }[change]
    given = {"start": "user", "end": "movie", "start_table": users, "end_table": table}
    with pytest.raises(ValueError, match="pass end_id='movie_id'"):
        vt.Edges.from_frame(edges, **given)
    if change != "in part":
        X = vt.Edges.from_frame(edges, **given, end_id="movie_id")
        assert_array_equal(table["movie_id"].to_numpy()[X.end], edges["movie"].to_numpy())


def test_row_numbers_are_ids_where_they_are_meant(movies):
    edges, users, table = movies
    given = {"start": "user", "end": "movie", "start_table": users}
    named = table.drop(columns="movie_id").rename_axis("movie")
    assert_array_equal(vt.Edges.from_frame(edges, **given, end_table=named).end, edges["movie"])
    assert_array_equal(vt.Edges.from_frame(edges, **given, end_table=table[["length"]]).end, edges["movie"])
    by_index = table.set_index("movie_id")
    assert_array_equal(by_index.index.to_numpy()[vt.Edges.from_frame(edges, **given, end_table=by_index).end],
                       edges["movie"])  # fmt: skip
    with pytest.raises(ValueError, match="start_table has no column 'who'"):
        vt.Edges.from_frame(edges, **given, end_table=named, start_id="who")
    with pytest.raises(ValueError, match="start_id is 'who', but start_table is of type ndarray"):
        vt.Edges.from_frame(edges, **{**given, "start_table": np.eye(5)}, end_table=named, start_id="who")


def test_words_in_a_table_say_how_to_name_ids_and_encode_categories(movies):
    edges, users, _ = movies
    table = pd.DataFrame({"title": [f"film {i}" for i in range(80)], "length": 1.0}).rename_axis("movie")
    with pytest.raises(
        TypeError, match=r"end_table has columns of words that are different for nearly all vertices: 'title'.*end_id="
    ):
        vt.Edges.from_frame(edges, start="user", end="movie", start_table=users, end_table=table)
    with pytest.raises(TypeError, match=r"start_features is a LazyFrame .*start_features\.collect\(\)"):
        vt.Edges([0], [0], pl.DataFrame({"a": [1.0]}).lazy(), np.eye(1))
    with pytest.raises(TypeError, match=r"frame is a LazyFrame .*frame\.collect\(\)"):
        vt.Edges.from_frame(pl.from_pandas(edges).lazy(), start_table=users)


D, T = np.arange(8.0).reshape(4, 2), np.arange(6.0).reshape(3, 2)
X, Y = vt.Edges.grid(D, T), np.arange(12.0)
HIDDEN = {
    "start_features": lambda: vt.Edges([0], [0], np.ma.array(D, mask=D == 3), T),
    "end": lambda: vt.Edges([0, 1], np.ma.array([0, -999], mask=[0, 1]), D, T),
    "the id column of start_features": lambda: vt.Edges(
        [0], [0], D, T, start_ids=np.ma.array([0, 1, 2, 9], mask=[0, 0, 0, 1])
    ),
    "the index of edges": lambda: X[np.ma.array([0, 1], mask=[0, 1])],
    "y": lambda: vt.KronRidge().fit(X, np.ma.array(Y, mask=Y == 3)),
    "sample_weight": lambda: vt.KronRidge().fit(X, Y, np.ma.array(np.ones(12), mask=Y == 3)),
    "X": lambda: vt.KronRidge(n_start_features=1).fit(np.ma.array(D, mask=D == 3), [1.0, 2.0, 3.0, 4.0]),
    "M": lambda: vt.kron(np.ma.array(D, mask=D == 3), T),
    "v": lambda: vt.kron(D, T) @ np.ma.array(np.ones(4), mask=[0, 0, 0, 1]),
    "y_true": lambda: vt.concordance_index(np.ma.array([1.0, 2.0], mask=[0, 1]), [1.0, 2.0]),
    "y_score": lambda: vt.concordance_index([1.0, 2.0], np.ma.array([1.0, 2.0], mask=[0, 1])),
    "y ": lambda: vt.compare(vt.KronRidge(), X, np.ma.array(Y, mask=Y == 3), baselines=False),
    "kernel_weights": lambda: vt.KronRidge(
        ["linear", "gaussian"], kernel_weights=np.ma.array([1.0, 2.0], mask=[0, 1])
    ).fit(X, Y),
    "mean of Standardized": lambda: vt.KronRidge(
        vt.Standardized(vt.Linear(), mean=np.ma.array([1.0, 2.0], mask=[0, 1]))
    ).fit(X, Y),
    "start_features ": lambda: vt.Edges([0], [0], [np.ma.array(row, mask=row == 3) for row in D], T),
    "the labels of validation": lambda: vt.KronSVM().fit(
        X, np.arange(12) % 3, validation=(X, np.ma.array(np.arange(12) % 3, mask=Y == 3))
    ),
    "sample_weight ": lambda: vt.KronRidge().fit(X, Y).score(X, Y, np.ma.array(np.ones(12), mask=Y == 3)),
    "Y": lambda: vt.Gaussian(1.0)(D, np.ma.array(D, mask=D == 3)),
    "y  ": lambda: vt.KronRidge().fit(X, Y).score(X, np.ma.array(Y, mask=Y == 3)),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_hidden_values_are_refused(name):
    with pytest.raises(
        ValueError, match=rf"^{name.strip()} is a masked array with 1 of \d+ values hidden; fill them in"
    ):
        HIDDEN[name]()


def test_a_mask_that_hides_nothing_is_no_matter():
    model = vt.KronRidge().fit(vt.Edges.grid(np.ma.array(D), np.ma.array(T)), np.ma.array(Y))
    assert_array_equal(model.predict(X), vt.KronRidge().fit(X, Y).predict(X))
