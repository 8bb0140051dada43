"""Integers are ids where a table has ids; positions have an argument of their own."""

import numpy as np
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
        with pytest.raises(ValueError, match="integers are ids where there are ids, not positions"):
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
    with pytest.raises(ValueError, match="integers are ids where there are ids"):
        model.recommend([2], exclude_known=False)
    with pytest.raises(ValueError, match="integers are ids where there are ids"):
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
