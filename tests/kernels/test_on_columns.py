"""Kernels and scikit-learn transformers on columns of mixed tables, in every form, from every source."""

import json
import warnings
from importlib.util import find_spec

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import vectrick as vt
from vectrick.data import VertexTable
from vectrick.data.files.columns import TableWarning, kind_of_words
from vectrick.data.files.dataset import ReadOptions
from vectrick.data.files.folder import read_dataset
from vectrick.kernels.text import format_kernel, parse_kernel
from vectrick.persistence.transformers import read_transformer, transformer_header

needs_rdkit = pytest.mark.skipif(find_spec("rdkit") is None, reason="RDKit is not installed: vectrick[molecules]")
rng = np.random.default_rng(1)
N = 30
WORDS = ["lost", "sea", "war", "love", "dog", "cat", "house", "train"]
SEQUENCES = ["".join(rng.choice(list("ACDEFGHIKL"), 12)) for _ in range(N)]
USERS = pd.DataFrame(
    {
        "id": [f"u{i}" for i in range(N)],
        "age": rng.normal(40, 9, N).round(1),
        "sequence": SEQUENCES,
        "country": rng.choice(["FR", "DE"], N),
        "plot": ["a story of " + " ".join(rng.choice(WORDS, 4)) for _ in range(N)],
        "vector": [rng.normal(size=3).round(2).tolist() for _ in range(N)],
    }
)
ITEMS = pd.DataFrame({"id": [f"i{j}" for j in range(8)], "price": rng.normal(size=8).round(2)})
EDGES = pd.DataFrame({"start": rng.choice(USERS["id"], 150), "end": rng.choice(ITEMS["id"], 150)}).drop_duplicates()
Y = rng.normal(size=len(EDGES)).round(3)
EXACT = (
    vt.On("sequence", vt.Spectrum(2))
    + 0.5 * vt.On(["age", "country"], vt.Standardized(vt.Linear()))
    + vt.On("plot", TfidfVectorizer())
    + vt.On("vector", "linear")
)


def graph(users=USERS):
    return vt.Edges.from_frame(EDGES, start_table=users, end_table=ITEMS)


def by_hand(users, other):
    """The kernel matrix of EXACT between two frames, from the kernels and transformers of each column."""
    numbers = [
        np.column_stack([f["age"], f["country"] == "DE", f["country"] == "FR"]).astype(float) for f in (users, other)
    ]
    scaled = [(x - numbers[1].mean(0)) / numbers[1].std(0) for x in numbers]
    words = TfidfVectorizer().fit(other["plot"])
    vectors = [np.array(f["vector"].tolist()) for f in (users, other)]
    return (
        vt.Spectrum(2)(users["sequence"].tolist(), other["sequence"].tolist())
        + 0.5 * scaled[0] @ scaled[1].T
        + (words.transform(users["plot"]) @ words.transform(other["plot"]).T).toarray()
        + vectors[0] @ vectors[1].T
    )


@pytest.mark.parametrize("form", ["dual", "primal"])
def test_a_sum_over_columns_is_the_sum_of_their_matrices(form, tmp_path):
    every = vt.Edges.grid(USERS, ITEMS)
    y = rng.normal(size=len(every))
    model = vt.KronRidge(EXACT, "linear", form=form, tol=1e-12).fit(every, y)
    K, known = by_hand(USERS, USERS), by_hand(USERS[:7], USERS)
    plain = vt.KronRidge("precomputed", "linear", tol=1e-12)
    expected = plain.fit(vt.Edges.grid(K, ITEMS[["price"]]), y).predict_grid(known, ITEMS[["price"]])
    assert_allclose(model.predict_grid(USERS[:7], ITEMS), expected, atol=1e-7)
    model.save(tmp_path / "model.vt")
    again = vt.load(tmp_path / "model.vt")
    assert_array_equal(again.predict_grid(USERS[:7], ITEMS), model.predict_grid(USERS[:7], ITEMS))
    assert format_kernel(again.predictor_.start.kernel) == format_kernel(EXACT)
    shuffled = USERS[["plot", "vector", "id", "country", "sequence", "age"]].iloc[[4, 1]]
    assert_allclose(again.predict_grid(shuffled, ITEMS), model.predict_grid(USERS, ITEMS)[[4, 1]], atol=1e-12)


@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas])
def test_all_frames_give_the_same_model(convert):
    X, other = graph(), graph(convert(USERS))
    assert X.start_table.columns == other.start_table.columns
    assert (X.start_table.features != other.start_table.features).nnz == 0
    assert X.start_table.notes["plot"] == "text"
    assert X.start_table.strings_in("sequence") == SEQUENCES


def test_files_and_lakes_give_the_same_model(tmp_path):
    expected = vt.KronRidge(EXACT, "linear", form="primal", tol=1e-10).fit(graph(), Y).predict_grid(USERS, ITEMS)
    for ending in ("csv", "parquet"):
        folder = tmp_path / ending
        folder.mkdir()
        kernel = EXACT if ending == "parquet" else EXACT.first  # a CSV file has no vectors
        users = USERS.drop(columns="vector") if ending == "csv" else USERS
        for name, frame in (("edges", EDGES.assign(label=Y)), ("start_features", users), ("end_features", ITEMS)):
            frame.to_csv(folder / f"{name}.csv", index=False) if ending == "csv" else frame.to_parquet(
                folder / f"{name}.parquet", index=False
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TableWarning)  # that words became columns
            data = read_dataset(folder, ReadOptions())
        model = vt.KronRidge(kernel, "linear", form="primal", tol=1e-10).fit(data.X, data.y)
        reference = vt.KronRidge(kernel, "linear", form="primal", tol=1e-10).fit(graph(), Y)
        assert_allclose(model.coef_, reference.coef_, atol=1e-9)
    lake = vt.scan_edges(
        str(tmp_path / "parquet" / "edges.parquet"), start="start", end="end", label="label",
        start_table=USERS, end_table=ITEMS,
    )  # fmt: skip
    streamed = vt.KronRidge(EXACT, "linear", tol=1e-10).fit(lake)
    assert_allclose(streamed.predict_grid(USERS, ITEMS), expected, atol=1e-6)


def test_a_model_needs_only_the_columns_that_it_reads():
    model = vt.KronRidge(vt.On("plot", TfidfVectorizer()), "linear").fit(graph(), Y)
    assert model.start_table_.columns == ["plot"]
    assert model.predict_grid(USERS[["id", "plot"]], ITEMS).shape == (N, 8)
    with pytest.raises(ValueError, match=r"lacks 1 of the 1 columns .*'plot'"):
        model.predict_grid(USERS[["id", "age"]], ITEMS)
    with pytest.raises(TypeError, match="column 'plot' holds double, but the model was trained with strings"):
        model.predict_grid(USERS[["id", "sequence"]].assign(plot=1.0), ITEMS)
    plain = vt.KronRidge("gaussian", "linear").fit(graph(), Y)
    assert plain.start_table_.string_columns == ()
    assert isinstance(plain.predictor_.start.kernel, vt.Gaussian)


def test_kernels_without_columns_read_all_numbers_or_the_only_strings():
    X = graph()
    model = vt.KronRidge(vt.Linear() + vt.Spectrum(2), "linear").fit(X, Y)
    both = vt.On(["age", "country", "vector"], "linear") + vt.On("sequence", vt.Spectrum(2))
    assert_allclose(
        model.predict_grid(USERS, ITEMS), vt.KronRidge(both, "linear").fit(X, Y).predict_grid(USERS, ITEMS), atol=1e-9
    )
    with pytest.raises(ValueError, match=r"several columns of strings, 'sequence', 'other'; choose one: vt.On\('seq"):
        vt.KronRidge(vt.Spectrum(), "linear").fit(graph(USERS.rename(columns={"plot": "other"}).assign(
            other=SEQUENCES[::-1])), Y)  # fmt: skip


def test_patterns_and_text():
    frame = pd.DataFrame(
        {"id": [1, 2, 3], "e_0": [1.0, 2.0, 4.0], "e_1": [0.0, 1.0, 5.0], "body size": [1.0, 0.0, 1.0]}
    )
    X, y = vt.Edges.grid(frame, np.eye(2)), np.arange(6.0)
    kernel = parse_kernel("linear['e_*'] + 0.5 * gaussian(gamma=0.1)['body size']")
    assert format_kernel(kernel) == "linear['e_*'] + 0.5 * gaussian(gamma=0.1)['body size']"
    model = vt.KronRidge(kernel, "linear").fit(X, y)
    assert model.predictor_.start.kernel.first.where == (0, 1)
    assert repr(parse_kernel("tfidf[plot]")) == repr(vt.On(["plot"], TfidfVectorizer(sublinear_tf=True)))
    assert parse_kernel("2 * (linear + constant)").weight == 2.0
    for wrong in ("linear[3]", "linear[a+b]", "tfidf(1)[plot]", "plot[linear]"):
        with pytest.raises(ValueError, match="start_kernel is"):
            parse_kernel(wrong, "start_kernel")


def test_a_grid_search_reaches_the_kernels_inside():
    kernel = vt.On("sequence", vt.Spectrum(2)) + 0.5 * vt.On("age", vt.Gaussian())
    grid = {"start_kernel__second__kernel__view__gamma": [0.1, 1.0], "start_kernel__second__weight": [0.1, 1.0]}
    search = GridSearchCV(vt.KronRidge(kernel, "linear"), grid, cv=vt.VertexKFold(2, 2)).fit(graph(), Y)
    assert set(search.best_params_) == set(grid)


def test_transformers_learn_from_training_vertices_only():
    X = graph()
    held = X.start >= 20
    model = vt.KronRidge(vt.On("age", StandardScaler()), "linear").fit(X[~held], Y[~held])
    scaler = model.predictor_.start.kernel.view
    ages = USERS["age"][np.unique(X.start[~held])]
    assert_allclose([scaler.mean_[0], scaler.scale_[0]], [ages.mean(), ages.std(ddof=0)])
    assert model.start_kernel.where is None
    assert not hasattr(model.start_kernel.view, "mean_")  # fit changes no parameter


@pytest.mark.parametrize(
    "kernel",
    [
        vt.On("plot", make_pipeline(TfidfVectorizer(), TruncatedSVD(3, random_state=0)), kernel=vt.Gaussian()),
        vt.On(["age", "vector"], StandardScaler(), kernel=vt.Standardized(vt.Gaussian())),
    ],
)
def test_pipelines_and_kernels_of_what_they_return(kernel, tmp_path):
    model = vt.KronRidge(kernel, "linear").fit(graph(), Y)
    model.save(tmp_path / "model.vt")
    assert_array_equal(vt.load(tmp_path / "model.vt").predict_grid(USERS, ITEMS), model.predict_grid(USERS, ITEMS))
    _, std = model.predict(graph()[:5], return_std=True)
    assert (std > 0).all()


def test_files_hold_only_known_transformers(tmp_path):
    model = vt.KronRidge(vt.On("age", FunctionTransformer(np.log1p)), "linear").fit(graph(), Y)
    with pytest.raises(ValueError, match="which a model file cannot hold"):
        model.save(tmp_path / "model.vt")
    assert not (tmp_path / "model.vt").exists()
    tensors = {}
    header = transformer_header(TfidfVectorizer().fit(["a sea", "a dog"]), "view", tensors)
    assert json.loads(json.dumps(header)) == header
    assert_allclose(read_transformer(header, tensors).transform(["sea dog"]).toarray(), [[2**-0.5, 2**-0.5]])
    for change in (
        {"transformer": "os.path.join"},
        {"transformer": "sklearn.preprocessing.FunctionTransformer.fit"},
        {"transformer": "sklearn.datasets.load_files"},
        {"parameters": {"dict": [["input", "filename"]]}},
        {"state": {"dict": [["transform", 1]]}},
        {"state": {"dict": [["__class__", 1]]}},
        {"state": {"pickle": "x"}},
    ):
        with pytest.raises((ValueError, TypeError)):
            read_transformer(header | change, tensors)
    with pytest.raises(ValueError, match="must not read or write other files"):
        transformer_header(TfidfVectorizer(input="filename"), "view", {})


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (
            vt.On("agge", "linear"),
            r"On\('agge'\), but start_table has no such column; its columns are 'age', 'se",
        ),
        (vt.On("age", vt.Spectrum()), r"'age' of start_table holds numbers; kernels of strings are"),
        (vt.On("plot", "gaussian"), r"'plot' of start_table holds strings; kernels of strings are"),
        (vt.On(["age", "plot"], "linear"), r"but 'plot' holds strings; give each column of strings an On of its own"),
        (vt.On("age", 3), r"the view 3, but it must be a kernel such as vt.Gaussian\(\), its name, or"),
        (vt.On("age", "precomputed"), "reads whole vertices"),
        (vt.On("age", vt.Linear(), kernel=vt.Gaussian()), "the view is a kernel already"),
        (vt.On([], "linear"), "names of On is"),
        (vt.On("mail", "linear"), r"no such column \('mail': left out: identifies rows\)"),
        (0.0 * vt.Linear(), "weight is 0.0, but it must be a positive number"),
    ],
)
def test_what_does_not_fit_the_table_is_told(kernel, message):
    with pytest.warns(TableWarning, match="seems to identify rows"):
        X = graph(USERS.assign(mail=[f"m{i}@x.org" for i in range(N)]))
    with pytest.raises(ValueError, match=message):
        vt.KronRidge(kernel, "linear").fit(X, Y)


def test_tables_without_names_are_told():
    with pytest.raises(ValueError, match="has no named columns; give a pandas, polars or Arrow frame"):
        vt.KronRidge(vt.On("age", "linear"), "linear").fit(vt.Edges.grid(np.eye(3), np.eye(2)), np.arange(6.0))
    with pytest.raises(ValueError, match="knows its columns only in a fit"):
        vt.On("age", vt.Linear())(np.eye(2))


def test_missing_numbers_are_filled_and_marked(tmp_path):
    users = USERS.assign(age=[None, *USERS["age"][1:]])[["id", "age", "country"]]
    with pytest.warns(TableWarning, match="missing values in 'age' were filled with the median"):
        X = vt.Edges.from_frame(EDGES, start_table=users, end_table=ITEMS, impute="median")
    assert X.start_table.columns == ["age", "age is missing", "country=DE", "country=FR"]
    median = float(users["age"].astype(float).median())
    assert X.start_table.features[0, :2].tolist() == [median, 1.0]
    model = vt.KronRidge(vt.On("age", "linear"), "linear").fit(X, Y)
    model.save(tmp_path / "model.vt")
    model = vt.load(tmp_path / "model.vt")
    with pytest.warns(TableWarning, match="filled with the median"):
        gap = model.predict_grid(pd.DataFrame({"id": ["n"], "age": [np.nan]}), ITEMS)
    assert_allclose(
        gap, model.predict_grid(pd.DataFrame({"id": ["n"], "age": [median], "age is missing": [1.0]}), ITEMS)
    )
    with pytest.raises(ValueError, match="impute is 'mean', but it must be 'median'"):
        vt.Edges.from_frame(EDGES, start_table=users, end_table=ITEMS, impute="mean")


def test_words_are_recognized_by_their_looks():
    smiles = ["CC(=O)Oc1ccccc1C(=O)O" + "C" * i for i in range(30)]
    letters = ["".join(rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), 50)) for _ in range(30)]
    titles = [f"The story of {i} brothers" for i in range(30)]
    assert kind_of_words(smiles, "structure") == "smiles"
    assert kind_of_words(letters, "target") == "sequence"
    assert kind_of_words(titles, "title") == "text"
    assert kind_of_words([f"user{i}@example.org" for i in range(30)], "mail") == "identifier"
    assert kind_of_words(["New York", "Los Angeles"] * 15, "city") == "category"
    assert kind_of_words([f"550e8400-e29b-41d4-a716-44665544{i:04d}" for i in range(30)], "key") == "identifier"


@needs_rdkit
def test_vertices_with_unreadable_strings_are_left_out():
    frame = pd.DataFrame({"id": [0, 1, 2], "smiles": ["CCO", "C1CC", "CCN"], "mass": [1.0, 2.0, 3.0]})
    with pytest.warns(TableWarning, match=r"start_features, column 'smiles': 1 of 3 molecules are invalid.*row 2"):
        X = vt.Edges.grid(frame, np.eye(2), invalid="skip")
    assert X.kept.tolist() == [True, True, False, False, True, True]
    vt.KronRidge(vt.Morgan() + vt.Linear(), "linear").fit(X, np.arange(4.0))
    assert vt.Edges.grid(frame, np.eye(2), invalid="raise").shape == (6, 2)
    with pytest.raises(ValueError, match="C1CC"):
        vt.KronRidge(vt.Morgan() + vt.Linear(), "linear").fit(vt.Edges.grid(frame, np.eye(2)), np.arange(6.0))


@needs_rdkit
def test_files_of_numbers_and_molecules_can_be_skipped_by_row(tmp_path):
    frame = pd.DataFrame({"id": ["a", "b", "c"], "smiles": ["CCO", "C1CC", "CCN"], "mass": [1.0, 2.0, 3.0]})
    frame.to_csv(tmp_path / "start_features.csv", index=False)
    ITEMS.to_csv(tmp_path / "end_features.csv", index=False)
    edges = pd.DataFrame({"start": list("abc"), "end": ["i0", "i1", "i2"], "label": [1.0, 2.0, 3.0]})
    edges.to_csv(tmp_path / "edges.csv", index=False)
    with pytest.warns(TableWarning, match="molecules are invalid|edges have an invalid vertex"):
        data = read_dataset(tmp_path, ReadOptions(skip_invalid=True))
    assert (data.X.start_table.ids.tolist(), data.y.tolist()) == (["a", "c"], [1.0, 3.0])


def test_a_table_is_what_its_file_says():
    table = VertexTable(USERS)
    assert repr(table) == "<features: 30 vertices, 6 features, strings in sequence, plot, with ids>"
    part = table.take(np.array([3, 5]))
    assert part.strings_in("plot") == USERS["plot"].iloc[[3, 5]].tolist()


def test_explanations_say_which_view_carried_a_prediction():
    model = vt.KronRidge(EXACT, vt.Linear() + vt.Constant(), tol=1e-12).fit(graph(), Y)
    one = graph()[3:4]
    why = model.explain(one, by="view")
    assert_allclose(why["contribution"].sum(), model.predict(one)[0])
    views = why[why["what"] == "views"]
    assert len(views) == 8
    assert set(views["start"]) == {
        "spectrum(k=2, groups=False)[sequence]", "standardized(linear)[age, country]", "tfidf[plot]", "linear[vector]"
    }  # fmt: skip
    # Of one view alone, from the coefficients of the edges.
    plot = vt.On("plot", TfidfVectorizer()).of_table(model.start_table_, "start_kernel")
    features = model.start_table_.features
    k = plot.resolve(features, np.arange(N))(features)
    G = ITEMS[["price"]].to_numpy()
    X = graph()
    rows = model.start_table_.positions(USERS["id"].to_numpy()[X.start], "start")
    values = k[rows[3], rows] * (G @ G.T)[X.end[3], X.end]
    found = views[(views["start"] == "tfidf[plot]") & (views["end"] == "linear")]["contribution"].item()
    assert_allclose(found, values @ model.dual_coef_, atol=1e-6)
    with pytest.raises(ValueError, match="one product of positive semi-definite kernels"):
        vt.KronRidge("linear", "linear", pairwise="linear").fit(graph(USERS[["id", "age"]]), Y).explain(
            graph(USERS[["id", "age"]])[:1], by="view")  # fmt: skip


def test_several_tables_are_joined_by_ids():
    numbers, words = USERS[["id", "age"]], USERS[["id", "country", "plot"]].iloc[::-1]
    vectors = USERS[["id", "sequence"]]
    X = vt.Edges.from_frame(EDGES, start_table=[numbers, words, vectors], end_table=ITEMS)
    assert X.start_table.columns == ["age", "country=DE", "country=FR", "plot", "sequence"]
    assert X.start_table.strings_in("sequence") == SEQUENCES
    kernel = EXACT.first
    model, other = (vt.KronRidge(kernel, "linear").fit(edges, Y) for edges in (X, graph()))
    assert_allclose(model.predict_grid(USERS, ITEMS), other.predict_grid(USERS, ITEMS))
    with pytest.raises(ValueError, match="has the column 'age' in two tables; rename one of them"):
        vt.Edges.from_frame(EDGES, start_table=[numbers, numbers], end_table=ITEMS)
    with pytest.raises(ValueError, match=r"start_table\[0\] has 1 ids that are not in start_table\[1\]"):
        vt.Edges.from_frame(EDGES, start_table=[numbers, words[:-1]], end_table=ITEMS)


def test_torch_gives_the_same_model():
    pytest.importorskip("torch")
    kernel = EXACT + 0.2 * vt.Identity()
    models = [vt.KronRidge(kernel, vt.Gaussian(), tol=1e-12, backend=name).fit(graph(), Y) for name in ("cpu", "torch")]
    assert_allclose(*(model.predict_grid(USERS, ITEMS) for model in models), atol=1e-8)
