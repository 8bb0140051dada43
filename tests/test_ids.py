"""Integers are ids where a table has ids; positions have an argument of their own."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import vectrick as vt
from vectrick.data import VertexTable

rng = np.random.default_rng(0)
FEATURES = rng.standard_normal((5, 2))
NUMERALS = ["101", "102", "103", "104", "7"]


def _model(ids):
    X = vt.Edges.grid(FEATURES, np.eye(3)) if ids is None else vt.Edges(
        np.repeat(np.arange(5), 3), np.tile(np.arange(3), 5), FEATURES, np.eye(3), start_ids=ids, positions=True
    )  # fmt: skip
    return vt.KronRidge().fit(X, rng.standard_normal(15))


def test_numerals_are_matched_by_value_and_never_taken_for_positions():
    model = _model(NUMERALS)
    for asked in ([7], ["7"], [np.int64(7)], 7, "7", [7.0]):
        assert set(model.recommend(asked, exclude_known=False)["start"]) == {"7"}
    for asked in ([4], [2], [7, 4], 2):
        with pytest.raises(ValueError, match="integers are ids if a table has ids; for positions, use"):
            model.recommend(asked, exclude_known=False)
    assert set(model.recommend(positions=[2], exclude_known=False)["start"]) == {"103"}
    with pytest.raises(ValueError, match=r"positions\[0\] is 5, but start_features has 5 vertices"):
        model.recommend(positions=[5], exclude_known=False)
    with pytest.raises(ValueError, match="give either start"):
        model.recommend(exclude_known=False)


def test_large_integers_in_an_object_column_are_ids():
    ids = np.array([5, 6, 7, 2**64, 9], object)
    model = _model(ids)
    assert set(model.recommend([7], exclude_known=False)["start"]) == {7}
    assert set(model.recommend([2**64], exclude_known=False)["start"]) == {2**64}
    with pytest.raises(ValueError, match="has 1 ids that are not in start_features: 2"):
        model.recommend([2], exclude_known=False)


def test_words_have_no_positions_in_requests_but_in_edges():
    model = _model(list("abcde"))
    with pytest.raises(ValueError, match="integers are ids if a table has ids"):
        model.recommend([2], exclude_known=False)
    with pytest.raises(ValueError, match="integers are ids if a table has ids"):
        model.predict_without(vt.Edges([0], [0], FEATURES, np.eye(3)), start=2)
    assert vt.Edges([0, 4], [0, 1], FEATURES, np.eye(3), start_ids=list("abcde")).start.tolist() == [0, 4]


def test_ambiguous_numerals_are_refused():
    table = VertexTable(FEATURES, "users", ["7", "007", "8", "x", "9.0"])
    assert table.positions(["007", "7"], "start").tolist() == [1, 0]
    assert table.positions([8, 9], "start").tolist() == [2, 4]
    with pytest.raises(ValueError, match="has 1 ids that are not in users: 7"):
        table.positions([7], "start")


def test_edges_with_numerals_take_ids_or_positions_on_demand():
    with pytest.raises(ValueError, match="start has 2 ids that are not in start_features: 0, 1"):
        vt.Edges([0, 1], [0, 1], FEATURES, np.eye(3), start_ids=NUMERALS)
    assert vt.Edges([7, 101], [0, 1], FEATURES, np.eye(3), start_ids=NUMERALS).start.tolist() == [4, 0]
    assert vt.Edges([0, 1], [0, 1], FEATURES, np.eye(3), start_ids=NUMERALS, positions=True).start.tolist() == [0, 1]


def _named_model():
    X = vt.Edges.grid(FEATURES, np.eye(3), start_ids=list("abcde"), end_ids=list("xyz"))
    return vt.KronRidge().fit(X, rng.standard_normal(15))


def test_missing_ids_of_known_edges_leave_out_nothing():
    model = _named_model()
    for known in (
        pd.DataFrame({"start": ["a", None], "end": ["x", "z"]}),
        pd.DataFrame({"start": ["a", "a"], "end": ["x", None]}),
    ):
        assert set(model.recommend(["a"], known=known)["end"]) == {"y", "z"}


def test_positions_in_another_table_are_not_ids_of_known_edges():
    ids = np.arange(5)[::-1]
    X = vt.Edges(np.repeat(ids, 3), np.tile(np.arange(3), 5), FEATURES, np.eye(3), start_ids=ids)
    model = vt.KronRidge().fit(X, rng.standard_normal(15))
    own = vt.Edges([3], [0], FEATURES, np.eye(3))  # row 3, which is id 1
    assert set(model.recommend([1], known=own)["end"]) == {1, 2}
    assert set(model.recommend([3], known=own)["end"]) == {0, 1, 2}
    other = vt.Edges([3], [0], FEATURES + 1, np.eye(3))
    with pytest.raises(ValueError, match="known has positions in start_features, but the vertices of"):
        model.recommend([1], known=other)
    with pytest.raises(ValueError, match="the model has none of them"):
        _named_model().recommend(
            ["a"], known=vt.Edges(["q"], ["x"], np.eye(1), np.eye(1), start_ids=["q"], end_ids=["x"])
        )


@pytest.mark.parametrize(
    "ids",
    [
        [b"a", b"b", b"c", b"d", b"e"],
        [(0, "a"), (0, "b"), (1, "a"), (1, "b"), (2, "a")],
        [Decimal("0.5") + i for i in range(5)],
    ],
)
def test_ids_that_are_no_integers_leave_positions_to_edges(ids):
    table = np.empty(5, object)
    table[:] = ids
    assert vt.Edges([0, 4], [0, 1], FEATURES, np.eye(3), start_ids=table).start.tolist() == [0, 4]
