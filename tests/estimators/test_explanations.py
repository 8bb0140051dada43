"""Explanations add up to predictions, and predictions without edges are those of a fit without them."""

import numpy as np
import pandas as pd
import pytest

import vectrick as vt

KERNEL = vt.Gaussian(gamma=0.5)


def problem(n=150, m=18, q=14, seed=0, ids=False):
    rng = np.random.default_rng(seed)
    pairs = rng.choice(m * q, n, replace=False)
    starts, ends = rng.random((m, 3)), rng.random((q, 2))
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    if not ids:
        return vt.Edges(pairs // q, pairs % q, starts, ends), y
    tables = {
        "start_table": pd.DataFrame(starts, index=[f"d{i}" for i in range(m)], columns=list("abc")),
        "end_table": pd.DataFrame(ends, index=range(100, 100 + q), columns=list("xy")),
    }
    frame = pd.DataFrame({"start": [f"d{i}" for i in pairs // q], "end": pairs % q + 100})
    return vt.Edges.from_frame(frame, **tables), y


MODELS = {
    "ridge, dual": vt.KronRidge(KERNEL, KERNEL, alpha=0.3, form="dual"),
    "ridge, primal": vt.KronRidge(KERNEL, KERNEL, alpha=0.3, form="primal"),
    "early": vt.KronRidge(KERNEL, KERNEL, alpha=0.3, early_stopping=True, random_state=0),
    "svm, primal": vt.KronSVM(KERNEL, KERNEL, form="primal"),
    "hinge": vt.KronSVM(KERNEL, KERNEL, loss="hinge"),
    "logistic": vt.KronLogistic(KERNEL, KERNEL),
    "ranker": vt.KronRanker(KERNEL, KERNEL),
    "cartesian": vt.KronRidge(KERNEL, KERNEL, pairwise="cartesian"),
    "mean": vt.AutoKron(random_state=0, n_best=2),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_contributions_add_up_to_the_prediction(name, weighted):
    X, y = problem()
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float) if weighted else None
    model = MODELS[name].fit(X, y, weight)
    x = vt.Edges([0], [0], np.array([[0.4, 0.5, 0.6]]), np.array([[0.3, 0.7]]))
    x = X[:1] if name == "cartesian" else x  # which knows nothing of new vertices
    decide = getattr(model, "decision_function", model.predict)
    for by in ("edge", "start", "end"):
        why = model.explain(x, 5, by=by)
        assert abs(why["contribution"].sum() - decide(x)[0]) < 1e-10
        assert why["what"].tolist()[5:] == ["the rest", "intercept", "left by the solver"]
        assert why.attrs["prediction"] == decide(x)[0]
        sizes = why["contribution"][:5].abs()
        assert sizes.is_monotonic_decreasing
        assert sizes.iloc[0] > 0
    if name != "early":  # which is not at the minimum
        assert abs(why["contribution"].iloc[-1]) < 1e-4


def test_an_edge_is_listed_with_its_label_and_kernel_values():
    X, y = problem(ids=True)
    model = vt.KronRidge(KERNEL, KERNEL, alpha=0.3, tol=1e-12).fit(X, y)
    why = model.explain(X[3:4], len(y))
    row = why[(why["start"] == X.start_table.ids[X.start[7]]) & (why["end"] == X.end_table.ids[X.end[7]])].iloc[0]
    first, second = (
        KERNEL(getattr(X, f"{side}_table").features[[getattr(X, side)[3]]],
               getattr(X, f"{side}_table").features[[getattr(X, side)[7]]])[0, 0]
        for side in ("start", "end")
    )  # fmt: skip
    assert row["label"] == y[7]
    assert np.allclose([row["start_kernel"], row["end_kernel"]], [first, second])
    assert np.isclose(row["contribution"], model.dual_coef_[7] * first * second)
    assert isinstance(row["end"], int | np.integer)  # not 104.0
    of_vertex = model.explain(X[3:4], 30, by="end").set_index("end")
    mask = X.end == X.end[7]
    whole = why[: len(y)].groupby("end")["contribution"].sum()
    assert np.isclose(of_vertex.loc[row["end"], "contribution"], whole[row["end"]])
    assert of_vertex.loc[row["end"], "edges"] == mask.sum()


@pytest.mark.parametrize("form", ["dual", "primal"])
def test_linear_kernels_are_explained_by_pairs_of_features(form):
    X, y = problem(ids=True)
    model = vt.KronRidge("linear", vt.Standardized(vt.Linear()), form=form, tol=1e-10).fit(X, y)
    why = model.explain(X[:1], 6, by="features")
    assert abs(why["contribution"].sum() - model.predict(X[:1])[0]) < 1e-10
    assert set(why["start"][:6]) <= set("abc")
    assert set(why["end"][:6]) <= set("xy")
    row = why.iloc[0]
    assert row["start_value"] == X.start_table.features[X.start[0], "abc".index(row["start"])]
    turned = vt.KronRidge("linear", "linear", tol=1e-10).fit(X, y)
    pair = turned.explain(X[:1], 1, by="features").iloc[0]
    core = X.start_table.features[X.start].T @ (turned.dual_coef_[:, None] * X.end_table.features[X.end])
    i, j = "abc".index(pair["start"]), "xy".index(pair["end"])
    assert np.isclose(pair["contribution"], core[i, j] * pair["start_value"] * pair["end_value"])
    with pytest.raises(ValueError, match="by is 'features', but this requires kernels that are linear"):
        vt.KronRidge(KERNEL, "linear").fit(X, y).explain(X[:1], by="features")


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_influence_is_the_prediction_of_a_fit_without_the_edge(weighted, constant):
    X, y = problem()
    weight = np.random.default_rng(1).random(len(y)) + 0.5 if weighted else None
    make = vt.KronRidge(KERNEL, KERNEL, alpha=0.3, tol=1e-12, fit_intercept=constant)
    model = make.fit(X, y, weight)
    x = vt.Edges([0], [0], np.array([[0.4, 0.5, 0.6]]), np.array([[0.3, 0.7]]))
    row = model.explain(x, 1, influence=True).iloc[0]
    at = np.flatnonzero((X.start == row["start"]) & (X.end == row["end"]))[0]
    rest = np.arange(len(y)) != at
    again = vt.KronRidge(KERNEL, KERNEL, alpha=0.3, tol=1e-12, fit_intercept=constant)
    expected = again.fit(X[rest], y[rest], None if weight is None else weight[rest]).predict(x)[0]
    assert abs(row["without"] - expected) < 1e-8
    assert abs(model.predict_without(x, edges=X[at : at + 1])[0] - expected) < 1e-8


@pytest.mark.parametrize("name", ["ridge, dual", "ridge, primal", "svm, primal", "mean"])
def test_predictions_without_vertices_are_those_of_a_fit_without_them(name):
    X, y = problem(ids=True)
    model = MODELS[name].set_params(**({} if name == "mean" else {"tol": 1e-10})).fit(X, y)
    given = model.predict_without(X[:5], start=["d3", "d4"], end=105)
    start, end = X.start_table.ids[X.start], X.end_table.ids[X.end]
    rest = ~np.isin(start, ["d3", "d4"]) & (end != 105)
    again = model._trained_again(X[rest], y[rest], None)
    assert np.allclose(given, again._decide(X[:5]), atol=1e-6)
    assert not np.allclose(given, model._decide(X[:5]), atol=1e-3)


def test_a_complete_graph_takes_the_closed_form():
    rng = np.random.default_rng(0)
    X = vt.Edges.grid(rng.random((50, 3)), rng.random((45, 2)))  # too many edges for a kernel matrix of them
    y = rng.standard_normal(len(X))
    model = vt.KronRidge(KERNEL, KERNEL, alpha=0.3).fit(X, y)
    rest = np.arange(len(y)) != 17
    again = vt.KronRidge(KERNEL, KERNEL, alpha=0.3, tol=1e-12).fit(X[rest], y[rest])
    assert np.allclose(model.predict_without(X[:4], edges=X[17:18]), again.predict(X[:4]), atol=1e-7)


def test_explanations_survive_a_file(tmp_path):
    X, y = problem(ids=True)
    for name in ("ridge, primal", "mean"):
        model = MODELS[name].fit(X, y)
        model.save(tmp_path / "model.vt")
        pd.testing.assert_frame_equal(vt.load(tmp_path / "model.vt").explain(X[:1]), model.explain(X[:1]))


@pytest.mark.parametrize("kind", [vt.KronRidge, vt.KronSVM, vt.KronLogistic])
def test_explanations_do_not_depend_on_the_form_for_kernels_of_low_rank(kind):
    X, y = problem(m=30, q=25, n=600)
    one, other = (kind("linear", "linear", form=form, tol=1e-12).fit(X, y) for form in ("dual", "primal"))
    first, second = (model.explain(X[:1], 4) for model in (one, other))
    np.testing.assert_allclose(first["contribution"], second["contribution"], rtol=1e-3, atol=1e-6)
    updated = kind("linear", "linear", tol=1e-12).fit(X[:500], y[:500]).update(X[500:], y[500:])
    np.testing.assert_allclose(updated.explain(X[:1], 4)["contribution"][:4], first["contribution"][:4], rtol=1e-3)


def test_edges_that_were_held_out_have_no_influence():
    X, y = problem()
    model = vt.KronRidge(KERNEL, KERNEL, alpha=0.3, early_stopping=True, random_state=0, tol=1e-12).fit(X, y)
    held = model.validation_vertices_["start"][0]
    with pytest.raises(ValueError, match="was not trained on any of the edges to leave out"):
        model.predict_without(X[:3], start=held)
    with pytest.raises(ValueError, match=r"influence is True, but this requires the minimum of the risk, and the fit"):
        model.explain(X[:1], influence=True)


def test_edges_without_direction():
    rng = np.random.default_rng(0)
    pairs = np.array([(i, j) for i in range(12) for j in range(i)])[rng.permutation(66)[:50]]
    X, y = vt.Edges(pairs[:, 0], pairs[:, 1], rng.random((12, 3))), rng.standard_normal(50)
    make = {"pairwise": "symmetric", "alpha": 0.3, "tol": 1e-12}
    model = vt.KronRidge(KERNEL, **make).fit(X, y)
    vertex = int(pairs[0, 1])
    rest = (pairs != vertex).all(axis=1)
    again = vt.KronRidge(KERNEL, **make).fit(X[rest], y[rest])
    for side in ("start", "end"):
        np.testing.assert_allclose(model.predict_without(X[:4], **{side: vertex}), again.predict(X[:4]), atol=1e-7)
    turned = vt.Edges(pairs[:1, 1], pairs[:1, 0], X.start_table.features)
    one = vt.KronRidge(KERNEL, **make).fit(X[1:], y[1:])
    np.testing.assert_allclose(model.predict_without(X[:4], edges=turned), one.predict(X[:4]), atol=1e-7)
    why = [model.explain(X[:1], 12, by=side) for side in ("start", "end")]
    np.testing.assert_allclose(*[frame["contribution"].sum() for frame in why])
    assert why[0]["start"].tolist() == why[1]["end"].tolist()


def test_what_cannot_be_explained_is_refused():
    X, y = problem()
    model = vt.KronRidge(KERNEL, KERNEL).fit(X, y)
    for X_one in (X[:2], X[:0]):
        with pytest.raises(ValueError, match=r"X has [02] edges, but one edge is explained at a time"):
            model.explain(X_one)
    with pytest.raises(ValueError, match="by is 'drug', but it must be one of 'edge', 'start', 'end', 'features'"):
        model.explain(X[:1], by="drug")
    with pytest.raises(ValueError, match="k is 0, but it must be a positive integer"):
        model.explain(X[:1], 0)
    with pytest.raises(ValueError, match="influence is True and by is 'start'"):
        model.explain(X[:1], by="start", influence=True)
    with pytest.raises(ValueError, match=r"KronSVM with loss .* has no posterior variance"):
        vt.KronSVM(KERNEL, KERNEL).fit(X, y).explain(X[:1], influence=True)
    with pytest.raises(ValueError, match="nothing is left out"):
        model.predict_without(X[:1])
    with pytest.raises(ValueError, match="all training edges are left out"):
        model.predict_without(X[:1], edges=X)
    with pytest.raises(ValueError, match="was not trained on any of the edges to leave out"):
        vt.KronRidge(KERNEL, KERNEL).fit(X[:-1], y[:-1]).predict_without(X[:1], edges=X[-1:])
    forgetful = vt.KronRidge(KERNEL, KERNEL, keep_edges=False).fit(X, y)
    with pytest.raises(ValueError, match="does not keep the edges"):
        forgetful.explain(X[:1])


@pytest.mark.filterwarnings("ignore:y is constant")
@pytest.mark.parametrize("by", ["edge", "start", "end", "features"])
def test_a_model_of_zeros_is_explained_by_its_intercept(by):
    X = vt.Edges.grid(np.eye(3), np.eye(2))
    model = vt.KronRidge(fit_intercept=True, form="dual").fit(X, np.full(6, 3.0))
    assert not model.dual_coef_.any()
    frame = model.explain(X[:1], by=by)
    assert frame["contribution"].iloc[-2] == model.intercept_
    assert list(frame["what"].iloc[-3:]) == ["the rest", "intercept", "left by the solver"]


def test_one_pass_is_not_explained_by_the_gradient_at_its_function():
    model = vt.KronRidge(KERNEL, KERNEL, alpha=0.3, solver="one-pass").fit(*problem())
    with pytest.raises(ValueError, match=r"its fit ended before the minimum \(one pass over the edges"):
        model.explain(problem()[0][:1])
