"""Recommendations: the best partners by ids, without edges that are known."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import vectrick as vt

RNG = np.random.default_rng(0)
USERS = pd.DataFrame({"user": np.arange(100, 130), "a": RNG.random(30), "b": RNG.random(30)})
ITEMS = pd.DataFrame({"item": [f"i{j}" for j in range(20)], "c": RNG.random(20)})
EDGES = pd.DataFrame({"user": RNG.integers(100, 130, 200), "item": [f"i{j}" for j in RNG.integers(0, 20, 200)]})
EDGES = EDGES.drop_duplicates(ignore_index=True)
X = vt.Edges.from_frame(EDGES, start="user", end="item", start_table=USERS, end_table=ITEMS)
KNOWN = set(zip(EDGES["user"], EDGES["item"], strict=True))
MODEL = vt.KronLogistic("gaussian", "gaussian", early_stopping=True, random_state=0).fit(X, RNG.integers(0, 2, len(X)))


def by_force(model, k, without):
    grid = pd.DataFrame(model.predict_grid(USERS, ITEMS), index=USERS["user"], columns=ITEMS["item"])
    rows = []
    for user, scores in grid.iterrows():
        left = scores[[item for item in scores.index if (user, item) not in without]]
        best = left.sort_values(ascending=False, kind="stable")[:k]
        rows += [(user, item, rank, score) for rank, (item, score) in enumerate(best.items(), 1)]
    return pd.DataFrame(rows, columns=["start", "end", "rank", "score"])


@pytest.mark.parametrize("k", [1, 5, 50])
@pytest.mark.parametrize("block", [1 << 26, 1000])
def test_are_the_best_of_the_grid(k, block, monkeypatch):
    monkeypatch.setattr("vectrick.backends.NumpyBackend.grid_bytes", block)
    for exclude in (True, False):
        found = MODEL.recommend(USERS["user"].tolist(), k, exclude)
        expected = by_force(MODEL, k, KNOWN if exclude else set())
        pd.testing.assert_frame_equal(found[["start", "end", "rank", "score"]], expected, check_dtype=False)
        np.testing.assert_allclose(found["probability"], 1 / (1 + np.exp(-found["score"])))


def test_ids_keep_their_type():
    found = MODEL.recommend([101, 100, 101], k=2)
    assert found["start"].tolist() == [101, 101, 100, 100, 101, 101]
    assert found["end"].tolist()[:2] == found["end"].tolist()[4:]
    assert found["start"].dtype.kind == "i"
    assert MODEL.recommend(101, k=1)["end"].tolist() == found["end"][:1].tolist()


def test_tables_of_new_vertices_and_other_partners():
    new = USERS.assign(user=USERS["user"] + 1000)[["b", "user", "a"]]
    found = MODEL.recommend(new, k=3)
    pd.testing.assert_frame_equal(
        found.assign(start=found["start"] - 1000), MODEL.recommend(USERS["user"].tolist(), 3, False)
    )
    some = MODEL.recommend([100], k=20, end_features=ITEMS[:4])
    assert set(some["end"]) <= set(ITEMS["item"][:4])


def test_vertices_without_ids_have_no_known_edges():
    new = pd.DataFrame({"a": [0.3] * 120, "b": [0.4] * 120})  # whose row numbers are ids of others
    found = MODEL.recommend(new, k=20)
    assert len(found) == 120 * 20
    assert found["end"].tolist() == found["end"].tolist()[:20] * 120
    plain = vt.KronRidge().fit(vt.Edges([0, 1, 2], [0, 1, 2], np.eye(3), np.eye(3)), [1.0, 2.0, 3.0])
    assert len(plain.recommend(np.eye(3), k=3)) == 9
    assert len(plain.recommend([0], k=3, end_features=np.eye(3))) == 3
    assert len(plain.recommend([0, 1, 2], k=3)) == 6


def test_known_edges_of_no_vertex_are_refused():
    for known in (EDGES.astype({"user": str}), EDGES[["item", "user"]]):
        with pytest.raises(ValueError, match="as ids of start vertices, but the model has none of them"):
            MODEL.recommend([100], known=known)
    assert len(MODEL.recommend([100], 20, known=EDGES[:0])) == 20


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, "edges"])
def test_known_edges_that_are_given(kind):
    known = X[:5] if kind == "edges" else kind(EDGES[:5].to_dict("list"))
    found = MODEL.recommend(USERS["user"].tolist(), 20, known=known)
    assert len(found) == 600 - 5


def test_a_model_file_keeps_known_edges(tmp_path, monkeypatch):
    MODEL.save(tmp_path / "m.vt")
    expected = MODEL.recommend([100, 101], 4)
    pd.testing.assert_frame_equal(vt.load(tmp_path / "m.vt").recommend([100, 101], 4), expected)
    monkeypatch.setattr("vectrick.persistence.edges._KEPT_EDGES", 3)
    MODEL.save(tmp_path / "m.vt")
    with pytest.raises(ValueError, match=r"does not keep the edges .* give them as known="):
        vt.load(tmp_path / "m.vt").recommend([100])
    assert len(vt.load(tmp_path / "m.vt").recommend([100], 4, exclude_known=False)) == 4


def test_one_vertex_set():
    rng = np.random.default_rng(1)
    edges = vt.Edges(rng.integers(0, 9, 12), rng.integers(0, 9, 12), rng.random((9, 2)))
    model = vt.KronRidge("gaussian", pairwise="symmetric").fit(edges, rng.random(12))
    found = model.recommend(list(range(9)), 9)
    known = {(i, j) for i, j in zip(edges.start.tolist(), edges.end.tolist(), strict=True)}
    pairs = set(zip(found["start"], found["end"], strict=True))
    assert not pairs & (known | {(j, i) for i, j in known} | {(i, i) for i in range(9)})
    assert len(pairs) == 81 - len({pair for i, j in known for pair in ((i, j), (j, i))} | {(i, i) for i in range(9)})


def test_bad_input():
    for k in (0, 1.5, True):
        with pytest.raises(ValueError, match="k is"):
            MODEL.recommend([100], k)
    with pytest.raises(ValueError, match="start has 1 ids that are not in start_table: 7"):
        MODEL.recommend([7])
    with pytest.raises(TypeError, match="known is of type list"):
        MODEL.recommend([100], known=[1])
