"""Vertices made of vertices: kernels of pairs, their splits, model files, updates and searches."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import vectrick as vt

rng = np.random.default_rng(5)
STRINGS = ["MKTA", "MKMK", "GGGG", "KTAM", "TTTA", "MGMG", "AAAA"]
DRUGS = pd.DataFrame({"id": list("abcdefg"), "x": rng.normal(size=7), "z": rng.normal(size=7), "sequence": STRINGS})
CELLS = pd.DataFrame({"id": [f"c{i}" for i in range(5)], "u": rng.normal(size=5)})
FIRST, SECOND = np.array([(i, j) for i in range(7) for j in range(7) if i < j and (i + j) % 4]).T
FRAME = pd.DataFrame(
    {
        "one": DRUGS["id"].to_numpy()[np.repeat(FIRST, 4)],
        "two": DRUGS["id"].to_numpy()[np.repeat(SECOND, 4)],
        "cell": [f"c{(i + j) % 5}" for i in range(len(FIRST)) for j in range(4)],
    }
)
Y = rng.normal(size=len(FRAME))
KERNEL = vt.On(["x", "z"], "linear") + vt.Constant(0.5) + 0.3 * vt.Identity()


def graph(frame=FRAME, drugs=DRUGS):
    return vt.Edges.from_frame(frame, start=["one", "two"], end="cell", start_table=drugs, end_table=CELLS)


def part_matrix():
    F = DRUGS[["x", "z"]].to_numpy()
    return F @ F.T + 0.5 + 0.3 * np.eye(7)


@pytest.mark.parametrize("form", ["dual", "primal"])
def test_the_kernel_is_the_symmetric_product(form, tmp_path):
    X = graph()
    a, b = X.start_table.first, X.start_table.second
    k = part_matrix()
    K = 0.5 * (k[np.ix_(a, a)] * k[np.ix_(b, b)] + k[np.ix_(a, b)] * k[np.ix_(b, a)])
    assert np.linalg.eigvalsh(K).min() > -1e-12
    G = CELLS[["u"]].to_numpy()
    A = K[np.ix_(X.start, X.start)] * (G @ G.T + 1.0)[np.ix_(X.end, X.end)]
    expected = A @ np.linalg.solve(A + 0.5 * np.eye(len(Y)), Y)
    model = vt.KronRidge(KERNEL, vt.Linear() + vt.Constant(), alpha=0.5, form=form, tol=1e-12, fit_intercept=False)
    assert_allclose(model.fit(X, Y).predict(X), expected, atol=1e-8)
    model.save(tmp_path / "model.vt")
    again = vt.load(tmp_path / "model.vt")
    assert_array_equal(again.predict(X), model.predict(X))
    turned = graph(FRAME.rename(columns={"one": "two", "two": "one"}), DRUGS.iloc[::-1])
    assert_allclose(again.predict(turned), expected, atol=1e-8)
    unseen = DRUGS[:2].assign(id=["new", "newer"])
    mixed = pd.concat([DRUGS, unseen])
    new = pd.DataFrame({"one": ["new", "newer", "a"], "two": ["a", "new", "d"], "cell": ["c0", "c1", "c2"]})
    assert np.isfinite(again.predict(graph(new, mixed))).all()
    _, std = model.predict(graph(new, mixed), return_std=True)
    assert (std > 0).all()


def test_the_order_counts_if_the_parts_are_of_two_tables(tmp_path):
    doses = pd.DataFrame({"id": [1, 2, 3], "dose": [0.1, 1.0, 10.0]})
    frame = pd.DataFrame({"drug": list("aabbcc"), "level": [1, 2, 2, 3, 1, 3], "cell": ["c0", "c1"] * 3})
    X = vt.Edges.from_frame(frame, start=["drug", "level"], end="cell", start_table=(DRUGS, doses), end_table=CELLS)
    y = np.arange(6.0)
    given = vt.Parts(vt.On("sequence", vt.Spectrum(2)), vt.Standardized(vt.Gaussian()) + vt.Constant())
    model = vt.KronRidge(given, "linear").fit(X, y)
    assert model.predictor_.start.kernel.kernel.names == "sequence"
    model.save(tmp_path / "model.vt")
    assert_array_equal(vt.load(tmp_path / "model.vt").predict(X), model.predict(X))
    k = vt.Spectrum(2)(DRUGS["sequence"].tolist())
    g = vt.Standardized(vt.Gaussian()).resolve(doses[["dose"]].to_numpy(), np.arange(3))(doses[["dose"]].to_numpy()) + 1
    table = X.start_table
    expected = k[np.ix_(table.first, table.first)] * g[np.ix_(table.second, table.second)]
    assert_allclose(model.predictor_.start.matrix, expected)
    folds = vt.PartKFold(3, part="second", random_state=0).folds(X)
    assert all(not set(frame["level"].iloc[f.train]) & set(frame["level"].iloc[f.test]) for f in folds)


def test_pairs_are_named_counted_once_and_checked():
    pairs = vt.Pairs(["a", "b", "g"], ["b", "a", "c"], DRUGS)
    assert pairs.ids.tolist() == ["a + b", "c + g"]
    assert pairs.vertices.tolist() == [0, 0, 1]
    assert repr(pairs) == "<pairs: 2 pairs of 4 parts, with ids>"
    ordered = vt.Pairs(["a", "b"], ["b", "a"], DRUGS, symmetric=False)
    assert ordered.ids.tolist() == ["a + b", "b + a"]
    with pytest.raises(
        ValueError, match=r"first\[1\] and second\[1\] are both vertex 'b', but a pair has two different"
    ):
        vt.Pairs(["a", "b"], ["b", "b"], DRUGS)
    with pytest.raises(ValueError, match="second has 1 ids that are not in table: 'z'"):
        vt.Pairs(["a"], ["z"], DRUGS)
    with pytest.raises(ValueError, match="first has length 2 and second has 1"):
        vt.Pairs(["a", "b"], ["c"], DRUGS)
    with pytest.raises(ValueError, match="symmetric is True, but the parts are from two tables"):
        vt.Pairs(["a"], ["c0"], DRUGS, CELLS, symmetric=True)
    with pytest.raises(TypeError, match="the parts of a pair must be single vertices"):
        vt.Pairs(["a + b"], ["a + b"], pairs)
    with pytest.raises(ValueError, match="vertices that are pairs have two columns"):
        vt.Edges.from_frame(FRAME, start=["one"], end="cell", start_table=DRUGS, end_table=CELLS)


def test_kernels_and_tables_have_to_fit():
    X = graph()
    with pytest.raises(ValueError, match="has a kernel of its own for second parts"):
        vt.KronRidge(vt.Parts(vt.Linear(), vt.Linear()), "linear").fit(X, Y)
    with pytest.raises(ValueError, match=r"end_table is no vt.Pairs, so its vertices have no parts"):
        vt.KronRidge("linear", vt.Parts(vt.Linear())).fit(X, Y)
    with pytest.raises(ValueError, match=r"On\('zz'\), but .* has no such column"):
        vt.KronRidge(vt.On("zz", "linear"), "linear").fit(X, Y)
    model = vt.KronRidge(KERNEL, "linear").fit(X, Y)
    with pytest.raises(ValueError, match=r"has single vertices, but the model was trained with vt.Pairs"):
        model.predict(vt.Edges([0], [0], DRUGS, CELLS, positions=True))
    with pytest.raises(ValueError, match=r"lacks 1 of the 2 columns .*'z'"):
        model.predict(graph(drugs=DRUGS.drop(columns="z")))


def test_sums_over_parts_and_whole_pairs():
    X = graph()
    whole = vt.Parts(vt.On(["x", "z"], "linear") + vt.Constant(0.5)) + 2.0 * vt.Parts(vt.Identity()) + vt.Constant(0.1)
    model = vt.KronRidge(whole, "linear", tol=1e-12).fit(X, Y)
    a, b = X.start_table.first, X.start_table.second
    F = DRUGS[["x", "z"]].to_numpy()
    k = F @ F.T + 0.5
    first = 0.5 * (k[np.ix_(a, a)] * k[np.ix_(b, b)] + k[np.ix_(a, b)] * k[np.ix_(b, a)])
    assert_allclose(model.predictor_.start.matrix, first + 2.0 * 0.5 * np.eye(len(a)) + 0.1)


def test_profiles_are_those_of_the_parts(tmp_path):
    X = graph()
    model = vt.KronRidge(vt.On(["x", "z"], "linear") + vt.Profile(), "linear").fit(X, Y)
    profile = model.predictor_.start.kernel.kernel.second
    assert profile.profiles.shape == (7, 5)
    model.save(tmp_path / "model.vt")
    assert_array_equal(vt.load(tmp_path / "model.vt").predict(X), model.predict(X))


def test_updates_equal_fits_to_all_edges():
    some = np.arange(len(Y)) < 40
    first, second = FRAME[some], FRAME[~some]
    model = vt.KronRidge(KERNEL, "linear", tol=1e-12).fit(graph(first), Y[some])
    model.update(graph(second), Y[~some])
    whole = vt.KronRidge(KERNEL, "linear", tol=1e-12).fit(graph(), Y)
    assert_allclose(model.predict(graph()), whole.predict(graph()), atol=1e-7)


def test_held_out_parts_are_in_no_training_pair():
    X = graph()
    folds = vt.PartKFold(3, random_state=0).folds(X, Y)
    seen = []
    for fold in folds:
        parts = [set(FRAME[["one", "two"]].iloc[rows].to_numpy().ravel()) for rows in (fold.train, fold.test)]
        held = set("abcdefg") - parts[0]
        seen += held
        assert all(held & set(pair) for pair in FRAME[["one", "two"]].iloc[fold.test].to_numpy())
        assert len(fold.train) + len(fold.test) == len(X)
    assert sorted(seen) == list("abcdefg")
    from sklearn.model_selection import cross_val_score

    assert len(cross_val_score(vt.KronRidge(KERNEL, "linear"), X, Y, cv=vt.PartKFold(3, random_state=0))) == 3
    for wrong in ({"side": "end"}, {"side": "both"}, {"part": "first"}, {"n_splits": 1}, {"n_splits": 99}):
        with pytest.raises(ValueError, match=r"(side|part|n_splits) is"):
            vt.PartKFold(**{"n_splits": 3, **wrong}).folds(X)


def test_a_search_tries_kernels_of_the_parts(tmp_path):
    effect = rng.normal(size=7)
    y = np.array([effect["abcdefg".index(a)] + effect["abcdefg".index(b)] for a, b in FRAME[["one", "two"]].to_numpy()])
    model = vt.AutoKron(new="start", random_state=0).fit(graph(), y)
    assert all(
        "parts(" in name or name == "constant" for name in model.search_["start_kernel"].str.split(" \\+ ").str[0]
    )
    assert np.corrcoef(model.predict(graph()), y)[0, 1] > 0.9
    model.save(tmp_path / "model.vt")
    assert_array_equal(vt.load(tmp_path / "model.vt").predict(graph()), model.predict(graph()))


def test_pairs_on_the_command_line(tmp_path):
    from tests.cli.commands import inside

    FRAME.assign(label=Y).to_csv(tmp_path / "edges.csv", index=False)
    DRUGS[["id", "x", "z"]].to_csv(tmp_path / "start_features.csv", index=False)
    CELLS.to_csv(tmp_path / "end_features.csv", index=False)
    columns = ["--start-columns", "one,two", "--end-column", "cell"]
    kernel = "linear + constant(0.5) + 0.3 * identity"
    options = ["--loss", "ridge", "--manual", "--start-kernel", kernel, "--end-kernel", "linear", "--alpha", "1"]
    inside("fit", ".", "-o", "model.vt", *columns, *options, cwd=tmp_path)
    FRAME[::-1].rename(columns={"one": "two", "two": "one"}).to_csv(tmp_path / "new.csv", index=False)
    inside("predict", "model.vt", "new.csv", *columns, "-o", "out.csv", cwd=tmp_path)
    found = pd.read_csv(tmp_path / "out.csv")
    assert list(found.columns) == ["one", "two", "end", "score"]
    drugs = DRUGS[["id", "x", "z"]]
    expected = vt.load(tmp_path / "model.vt").predict(graph(drugs=drugs))[::-1]
    assert_allclose(found["score"], expected, rtol=1e-6)
    assert np.corrcoef(expected, Y[::-1])[0, 1] > 0.1
    told = inside("predict", "model.vt", "new.csv", "-o", "out.csv", "--force", cwd=tmp_path, code=2).stderr
    assert "the start vertices of the model are pairs, so the edges need --start-columns with two" in " ".join(
        told.split()
    )
