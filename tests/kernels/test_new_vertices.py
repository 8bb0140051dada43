"""New vertices in mixed tables: read by the columns of the model, whatever a few rows look like."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler

import vectrick as vt
from vectrick.data import VertexTable
from vectrick.data.files.columns import TableWarning

rng = np.random.default_rng(0)
N = 30
USERS = pd.DataFrame(
    {
        "id": [f"u{i}" for i in range(N)],
        "age": rng.integers(20, 60, N) * 1.0,
        "income": rng.normal(size=N),
        "job": rng.choice(["nurse", "cook"], N),
        "bio": ["likes " + " and ".join(rng.choice(["sea", "war", "love", "dog"], 3)) for _ in range(N)],
    }
)
FILMS = pd.DataFrame({"id": [f"f{i}" for i in range(10)], "v": list(rng.normal(size=(10, 3)))})
EDGES = pd.DataFrame({"start": rng.choice(USERS["id"], 150), "end": rng.choice(FILMS["id"], 150)}).drop_duplicates()
Y = rng.normal(size=len(EDGES))
BIO = vt.On("bio", TfidfVectorizer())


def graph(users=USERS, **how):
    return vt.Edges.from_frame(EDGES, start_table=users, end_table=FILMS, **how)


def both_ways(model, new):
    """Predictions of a grid from the frame itself, and from edges made of it."""
    whole = model.predict_grid(new, FILMS)
    X = vt.Edges.grid(new, FILMS)
    assert_allclose(model.predict(X).reshape(whole.shape), whole)
    assert_allclose(model.predict(X[:5]), whole.ravel()[:5])
    return whole


def test_edges_of_new_frames_are_read_by_the_columns_of_the_model():
    new = pd.DataFrame({"id": ["a", "b"], "age": [1.0, 2], "income": 0.0, "job": "cook", "bio": ["sea and war", "dog"]})
    both_ways(vt.KronRidge(BIO, vt.On("v", "linear")).fit(graph(), Y), new)
    both_ways(vt.KronRidge(BIO + vt.On("job", "linear"), "linear").fit(graph(), Y), new[["id", "bio", "job"]])
    text_only = vt.KronRidge(BIO, "linear").fit(graph(USERS[["id", "bio"]]), Y)
    assert_allclose(both_ways(text_only, new), both_ways(text_only, new[["id", "bio"]]))
    assert_allclose(text_only.predict_grid(USERS, FILMS), text_only.predict_grid(USERS[["id", "bio"]], FILMS))
    mixed = vt.KronRidge(BIO, "linear").fit(graph(), Y)
    assert_allclose(both_ways(mixed, USERS[["id", "bio"]]), both_ways(mixed, USERS))


def test_missing_numbers_get_the_medians_of_training():
    users = USERS.assign(age=[np.nan] * 5 + USERS["age"].tolist()[5:])
    with pytest.warns(TableWarning):
        model = vt.KronRidge(vt.Standardized(vt.Linear()), "linear").fit(graph(users, impute="median"), Y)
    new = USERS[:3].assign(id=list("abc"), age=[np.nan, 100.0, 200.0])
    with pytest.warns(TableWarning):
        whole = model.predict_grid(new, FILMS)
    with pytest.warns(TableWarning):
        X = vt.Edges.grid(new, FILMS, impute="median")
    with pytest.warns(TableWarning):
        assert_allclose(model.predict(X).reshape(3, 10), whole)
    without = USERS[:3].assign(id=list("abc"))
    both_ways(model, without)


def test_vectors_have_the_length_of_training():
    model = vt.KronRidge("linear", vt.On("v", "linear")).fit(graph(), Y)
    longer = FILMS.assign(v=[[9.0, *v] for v in FILMS["v"]])
    message = "vectors of 4 numbers.*but the model was trained with 3"
    with pytest.raises(ValueError, match=message):
        model.predict_grid(USERS, longer)
    with pytest.raises(ValueError, match=message):
        model.predict(vt.Edges.grid(USERS, longer))


def test_missing_text_is_told():
    model = vt.KronRidge(BIO, "linear").fit(graph(), Y)
    with pytest.warns(TableWarning, match="column 'bio' is empty in 2 rows"):
        model.predict_grid(USERS.assign(bio=[None, None, *USERS["bio"][2:]]), FILMS)


def test_identity_goes_by_ids():
    users = USERS[["id", "age", "income"]]
    model = vt.KronRidge(vt.Linear() + vt.Identity(), "linear").fit(graph(users), Y)
    whole = model.predict_grid(users, FILMS)
    assert_allclose(model.predict_grid(users.assign(age=users["age"] + 1e-9), FILMS), whole, atol=1e-6)
    numbered = users.assign(id=range(N))
    edges = EDGES.assign(start=EDGES["start"].str[1:].astype(int))
    X = vt.Edges.from_frame(edges, start_table=numbered, end_table=FILMS)
    other = vt.KronRidge(vt.Linear() + vt.Identity(), "linear").fit(X, Y)
    assert_allclose(other.predict_grid(numbered.assign(id=numbered["id"].astype(str)), FILMS), whole, atol=1e-6)


@pytest.mark.parametrize(
    "kernel",
    [
        vt.On("age", vt.Identity()),
        vt.On(["age", "income"], vt.Linear() + vt.Identity()),
        vt.On("bio", vt.Identity()),
        vt.Standardized(vt.Linear() + vt.Identity()),
        vt.Radial(vt.Linear() + vt.Identity()),
    ],
)
def test_identity_stays_outside(kernel):
    with pytest.raises(ValueError, match=r"reads whole vertices|Identity must be outside of other kernels"):
        vt.KronRidge(kernel, "linear").fit(graph(), Y)


def test_covariances_of_new_parts():
    drugs = pd.DataFrame({"id": list("abc"), "x": [0.0, 1.0, 2.0]})
    doses = pd.DataFrame({"id": [1, 2], "level": [0.1, 0.5]})
    pairs = vt.Pairs(["a", "b", "c", "a"], [1, 2, 1, 2], drugs, doses)
    X = vt.Edges(pairs.vertices, [0, 0, 1, 1], pairs, np.eye(2), positions=True)
    model = vt.KronRidge(vt.Linear() + vt.Identity(), "linear", fit_intercept=False).fit(X, [1.0, 2, 3, 4])
    new = vt.Pairs(["n"], [1], pd.DataFrame({"id": ["n"], "x": [0.5]}), doses)
    one = vt.Edges([0], [0], new, np.eye(2), positions=True)
    assert_allclose(model.predict(one, return_std=True)[1] ** 2, model.predict(one, return_cov=True)[1][0])
    same = vt.Pairs(["a", "a", "b"], ["b", "c", "c"], drugs)
    model = vt.KronRidge("identity", "linear", fit_intercept=False).fit(vt.Edges.grid(same, np.eye(2)), np.arange(6.0))
    strangers = pd.DataFrame({"id": ["n1", "n2", "n3"], "x": [0.5, 0.5, 0.7]})
    stds = [
        model.predict(vt.Edges([0], [0], vt.Pairs([a], [b], strangers), np.eye(2), positions=True), return_std=True)[1]
        for a, b in (("n1", "n2"), ("n1", "n3"))
    ]
    assert_allclose(stds[0], stds[1])  # two strangers with equal features are two vertices


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (vt.On("job", TfidfVectorizer()), "TfidfVectorizer failed on 'job', which holds numbers, given as a matrix"),
        (vt.On("bio", StandardScaler()), "StandardScaler failed on 'bio', which holds strings, given as a list"),
        (vt.On("age", PCA(3)), "PCA failed on 'age'"),
        (vt.On(3, vt.Linear()), "names of On is 3"),
    ],
)
def test_what_a_transformer_cannot_read_is_told(kernel, message):
    with pytest.raises(ValueError, match=message):
        vt.KronRidge(kernel, "linear").fit(graph(), Y)


def test_objects_of_pandas_and_dates_in_words():
    frame = pd.DataFrame(
        {
            "id": list("ab"),
            "day": [datetime.date(1970, 1, 2), datetime.date(1970, 1, 3)],
            "price": [Decimal("1.5"), Decimal("2")],
            "known": [True, None],
            "since": ["1970-01-05", "1970-01-06"],
        }
    )
    with pytest.raises(ValueError, match="'known' is empty"):
        VertexTable(frame)
    table = VertexTable(frame.assign(known=[True, False], known_object=pd.Series([True, False], dtype=object)))
    assert table.features.tolist() == [[1, 1.5, 1, 4, 1], [2, 2, 0, 5, 0]]


def test_joined_tables_are_taken_everywhere():
    first, second = USERS[["id", "age"]], USERS[["id", "bio"]]
    model = vt.KronRidge(vt.On("age", "linear") + BIO, "linear").fit(graph([first, second]), Y)
    assert_allclose(model.predict_grid([first, second], FILMS), model.predict_grid(USERS, FILMS))
    X = vt.Edges(["u1"], ["f2"], [first, second], FILMS)
    assert_allclose(model.predict(X), model.predict_grid(USERS, FILMS)[1, 2])


def test_searches_on_lakes_leave_out_what_lakes_cannot_hold(tmp_path):
    EDGES.assign(label=Y).to_parquet(tmp_path / "part.parquet", index=False)
    scan = {"start": "start", "end": "end", "label": "label"}
    for new, users in (("start", USERS[["id", "age", "income"]]), ("neither", USERS), ("both", USERS)):
        lake = vt.scan_edges(str(tmp_path), **scan, start_table=users, end_table=FILMS)
        model = vt.AutoKron(new=new, random_state=0).fit(lake)
        assert model.predict_grid(users[:2], FILMS).shape == (2, 10)


@pytest.mark.parametrize("wrong", ["2021-13-45", "unknown", "2021-02-30"])
def test_a_date_that_is_none_is_told(wrong, tmp_path):
    dates = [f"2021-05-{day:02d}" for day in range(1, 28)]
    frame = pd.DataFrame({"id": range(28), "since": [*dates, wrong], "age": 1.0})
    with pytest.raises(ValueError, match=rf"row 28, column 'since' is '{wrong}', but it must be a date like the other"):
        VertexTable(frame)
    with pytest.warns(TableWarning, match="missing values in 'since' were filled"):
        table = VertexTable(frame.assign(since=[*dates, None]), impute="median")
    assert table.columns == ["since", "since is missing", "age"]
