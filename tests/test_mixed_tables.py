"""Vertex tables of words, truth values and dates beside numbers: the same features from frames and from files."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyarrow import parquet

import vectrick as vt
from vectrick.data import VertexTable
from vectrick.data.files.columns import TableWarning
from vectrick.data.files.dataset import ReadOptions
from vectrick.data.files.folder import read_dataset

USERS = pd.DataFrame(
    {
        "id": [f"u{i}" for i in range(30)],
        "age": np.arange(30) % 7 + 20.0,
        "country": [["FR", "DE", "IT"][i % 3] for i in range(30)],
        "member": np.arange(30) % 2 == 0,
        "since": pd.date_range("2020-01-01", periods=30, freq="D"),
    }
)
ITEMS = pd.DataFrame(
    {"id": [f"i{i}" for i in range(6)], "kind": pd.Categorical(list("xyxyzz")), "price": np.arange(6.0)}
)
rng = np.random.default_rng(0)
EDGES = pd.DataFrame({"start": rng.choice(USERS["id"], 150), "end": rng.choice(ITEMS["id"], 150)}).drop_duplicates()
Y = rng.standard_normal(len(EDGES))
SCALED = vt.Standardized(vt.Gaussian())


def graph(users=USERS, items=ITEMS):
    return vt.Edges.from_frame(EDGES, start_table=users, end_table=items)


def test_words_truth_values_and_dates_become_numbers():
    X = graph()
    names = ["age", "country=DE", "country=FR", "country=IT", "member", "since"]
    assert X.start_table.columns == names
    expected = [20.0, 0.0, 1.0, 0.0, 1.0, (pd.Timestamp("2020-01-01") - pd.Timestamp(0)).days]
    assert_array_equal(X.start_table.features[0], expected)
    assert X.end_table.columns == ["kind=x", "kind=y", "kind=z", "price"]
    assert_array_equal(X.end_table.features[:, :3].sum(1), np.ones(6))


@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas, lambda frame: frame.set_index("id")])
def test_all_frames_give_the_same_features(convert):
    expected, X = graph(), graph(convert(USERS), convert(ITEMS))
    for side in ("start_table", "end_table"):
        mine, other = getattr(X, side), getattr(expected, side)
        assert mine.columns == other.columns
        assert_array_equal(mine.features, other.features)
        assert mine.ids.tolist() == other.ids.tolist()


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_files_give_the_same_features(tmp_path, ending):
    for name, frame in (("edges", EDGES.assign(label=Y)), ("start_features", USERS), ("end_features", ITEMS)):
        if ending == ".csv":
            frame.to_csv(tmp_path / f"{name}.csv", index=False)
        else:
            frame.to_parquet(tmp_path / f"{name}.parquet", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)  # that words became columns
        data = read_dataset(tmp_path, ReadOptions())
    expected = graph()
    for side in ("start_table", "end_table"):
        assert getattr(data.X, side).columns == getattr(expected, side).columns
        assert_array_equal(getattr(data.X, side).features, getattr(expected, side).features)


@pytest.mark.parametrize("form", ["dual", "primal"])
def test_new_vertices_have_the_features_of_the_model(form, tmp_path):
    kernel = vt.Standardized(vt.Linear()) if form == "primal" else SCALED
    model = vt.KronRidge(kernel, kernel, form=form).fit(graph(), Y)
    whole = model.predict_grid(USERS, ITEMS)
    assert_allclose(whole, model.predict_grid(graph().start_table, graph().end_table))
    some = USERS.iloc[[4, 1]][["since", "country", "id", "member", "age"]]  # one country less, another order
    assert_allclose(model.predict_grid(some, ITEMS), whole[[4, 1]])
    different = USERS.assign(country=USERS["id"])  # more words than half of the rows
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        without = model.predict_grid(different, ITEMS)
    assert any("'country' has 'u0', 'u1'" in str(each.message) for each in caught)
    model.save(tmp_path / "model.vt")
    again = vt.load(tmp_path / "model.vt")
    assert_array_equal(again.predict_grid(some, ITEMS), model.predict_grid(some, ITEMS))
    partly = USERS.assign(country=[None] * 15 + USERS["country"].tolist()[15:])
    with pytest.warns(TableWarning, match="'country' is empty in 15 rows"):
        assert_allclose(model.predict_grid(partly, ITEMS), np.vstack([without[:15], whole[15:]]))
    with pytest.raises(ValueError, match=r"lacks 3 of the 6 columns .*'country=DE'"):
        model.predict_grid(USERS.drop(columns="country"), ITEMS)


def test_new_frames_may_have_other_columns_and_words_that_look_like_numbers():
    model = vt.KronRidge(SCALED, SCALED).fit(graph(), Y)
    whole = model.predict_grid(USERS, ITEMS)
    more = USERS.drop(columns="id").assign(
        note=[f"note {i}" for i in range(30)], empty=np.nan, tags=[["a"]] * 30, smiles="CCO", consequence="high"
    )
    assert_allclose(model.predict_grid(more, ITEMS), whole)
    for country in ("12", None):
        with pytest.warns(TableWarning, match="'country'"):
            one = model.predict_grid(USERS[:1].assign(country=country).astype({"country": "string"}), ITEMS)
        assert not np.allclose(one, whole[:1])
    names = [str(i) for i in range(30)]
    with pytest.warns(TableWarning, match="'country' has '0', '1'"):
        model.predict_grid(USERS.drop(columns="id").assign(country=names), ITEMS)
    with pytest.raises(ValueError, match="lacks"):
        model.predict_grid(USERS[["id"]], ITEMS)
    many = USERS[:2].assign(id=["n1", "n2"], country=["FR", "DE"])
    edges = pd.DataFrame({"start": ["n1", "n2"], "end": ["i0", "i1"]})
    model.update(vt.Edges.from_frame(edges, start_table=many, end_table=ITEMS), [1.0, 2.0])
    assert len(model.recommend(["n1"], k=3)) == 3


def test_names_of_features_are_unique():
    clash = USERS.assign(**{"country=FR": "yes"})
    with pytest.raises(ValueError, match="the columns 'country' and 'country=FR', whose features would have equal"):
        VertexTable(clash)


def test_far_dates_and_names_that_are_no_strings():
    dates = pd.DataFrame({"id": ["a", "b"], "until": pd.to_datetime(["9999-12-31", "1600-01-01"]).astype("M8[s]")})
    assert VertexTable(dates).features[:, 0].tolist() == [2932896.0, -135140.0]
    with pytest.raises(TypeError, match="names must be strings"):
        VertexTable(pd.DataFrame({0: [1.0, 2.0], 1: ["x", "y"]}))
    with pytest.raises(TypeError, match="column 'age' is of the type"):
        VertexTable(pd.DataFrame({"id": [0, 1], "age": pd.cut([1, 5], [0, 3, 6]), "x": 1.0}))


def test_parts_of_tables_keep_their_words():
    model = vt.KronRidge(SCALED, SCALED).fit(graph(), Y)
    part = VertexTable(USERS).take(np.arange(30) % 3 == 1)  # of Germany
    assert part.words["country"].tolist() == ["DE"] * 10
    assert_allclose(model.predict_grid(part, ITEMS), model.predict_grid(USERS, ITEMS)[1::3])


def test_a_lake_gives_the_same_model(tmp_path):
    parquet.write_table(pa.Table.from_pandas(EDGES.assign(label=Y)), tmp_path / "part.parquet")
    tables = {"start_table": USERS, "end_table": ITEMS}
    lake = vt.scan_edges(str(tmp_path), start="start", end="end", label="label", **tables)
    kernel = vt.Standardized(vt.Linear())
    streamed = vt.KronRidge(kernel, kernel, tol=1e-9).fit(lake)
    expected = vt.KronRidge(kernel, kernel, form="primal", tol=1e-9).fit(graph(), Y)
    assert_allclose(streamed.predict_grid(USERS, ITEMS), expected.predict_grid(USERS, ITEMS), atol=1e-6)


def test_searches_take_mixed_tables():
    model = vt.AutoKron(new="both", random_state=0).fit(graph(), Y)
    assert np.isfinite(model.predict_grid(USERS[:3], ITEMS)).all()


def test_identifiers_are_left_out_or_have_to_be_named():
    named = USERS.assign(email=[f"{i}@example.org" for i in range(30)])
    with pytest.warns(TableWarning, match="'email' has 30 different words in 30 rows: it seems to identify rows"):
        assert "email=0@example.org" not in VertexTable(named).columns
    with pytest.raises(TypeError, match=r"different for nearly all vertices: 'email'.*holds the ids"):
        VertexTable(named.drop(columns="id"))


@pytest.mark.parametrize(
    ("frame", "error", "message"),
    [
        (USERS.assign(tags=[["a"]] * 30), TypeError, "column 'tags' is of the type list"),
        (USERS.assign(age=[None, *range(29)]), ValueError, r"row 1, column 'age' is empty.*impute='median' fills them"),
        (USERS.assign(age=[np.inf, *range(29)]), ValueError, "row 1, column 'age' is inf"),
        (USERS.assign(price=["1.5", "two", *["3"] * 28]), ValueError, "row 2, column 'price' is 'two'"),
        (USERS.assign(price=["1,5"] * 30), ValueError, "'price'"),
        (
            USERS.assign(vector=[[1.0, 2.0]] * 29 + [[1.0]]),
            ValueError,
            "row 30, column 'vector' has a list of 1 numbers",
        ),
        (USERS.assign(vector=[[1.0, 2.0]] * 29 + [None]), ValueError, "row 30, column 'vector' has no list"),
        (USERS.assign(vector=[[1.0, np.nan]] * 30), ValueError, "row 1, column 'vector' has a number that is missing"),
        (USERS.assign(**{"country=FR": 1.0}), ValueError, "makes the feature 'country=FR' twice"),
    ],
)
def test_columns_that_cannot_be_used_are_named(frame, error, message):
    with pytest.raises(error, match=message):
        VertexTable(frame, "start_table")
