"""Splits by vertices: what training and test edges share in each setting, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from sklearn import config_context
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, learning_curve

import vectrick as vt
from tests.data import read_graph
from vectrick.data.settings import NEW


def graph(m=20, q=15, density=0.6, seed=0, share=0.4):
    rng = np.random.default_rng(seed)
    start, end = np.divmod(rng.permutation(m * q)[: int(density * m * q)], q)
    X = vt.Edges(start, end, rng.standard_normal((m, 2)), rng.standard_normal((q, 2)))
    return X, np.where(rng.random(len(start)) < share, 1.0, -1.0)


def one_set(m=20, density=0.7, seed=0):
    rng = np.random.default_rng(seed)
    start, end = np.divmod(rng.permutation(m * m)[: int(density * m * m)], m)
    return vt.Edges(start, end, rng.standard_normal((m, 2))), rng.standard_normal(len(start))


def assert_setting(X, train, test, new):
    """The vertices of test edges are new or known as the setting says."""
    for side in ("start", "end"):
        known = np.isin(getattr(X, side)[test], getattr(X, side)[train])
        if new in ("both", side):
            assert not known.any()
        else:
            assert known.all()


@pytest.mark.parametrize("stratify", [False, True])
@pytest.mark.parametrize("new", NEW)
@given(seed=st.integers(0, 10**6))
def test_settings(new, stratify, seed):
    X, y = graph()
    cv = vt.VertexKFold(3, 2, new, stratify=stratify, random_state=seed)
    folds = list(cv.split(X, y))
    assert len(folds) == cv.get_n_splits() == {"both": 6, "start": 3, "end": 2, "neither": 6}[new]
    tested = np.zeros(len(X), int)
    for train, test in folds:
        assert_setting(X, train, test, new)
        assert not np.intersect1d(train, test).size
        tested[test] += 1
    assert tested.max() == 1
    if new == "both":
        assert tested.min() == 1


@pytest.mark.parametrize("new", NEW)
def test_not_strict_tests_each_edge_once(new):
    rng = np.random.default_rng(0)
    pairs = np.column_stack([rng.integers(0, 60, 100), rng.integers(0, 50, 100)])  # many vertices with one edge
    cv = vt.VertexKFold(3, 3, new, strict=False, random_state=0)
    tests = np.concatenate([test for _, test in cv.split(pairs)])
    assert sorted(tests) == list(range(100))
    strict = np.concatenate([test for _, test in vt.VertexKFold(3, 3, new, random_state=0).split(pairs)])
    assert len(strict) < 100 or new == "both"


def test_training_edges_are_all_that_the_setting_allows():
    X, y = graph(density=1.0)
    for train, test in vt.VertexKFold(3, 3, random_state=0).split(X, y):
        allowed = ~np.isin(X.start, X.start[test]) & ~np.isin(X.end, X.end[test])
        assert np.array_equal(train, np.flatnonzero(allowed))


@pytest.mark.parametrize("new", NEW)
def test_one_vertex_set_is_new_on_both_sides_at_once(new):
    X, y = one_set()
    cv = vt.VertexKFold(3, new=new, random_state=0)
    folds = list(cv.split(X, y))
    assert len(folds) == cv.get_n_splits(X)
    for train, test in folds:
        known = np.union1d(X.start[train], X.end[train])
        assert (
            not np.isin(X.start[test], known).any() if new in ("both", "start") else np.isin(X.start[test], known).all()
        )
        assert not np.isin(X.end[test], known).any() if new in ("both", "end") else np.isin(X.end[test], known).all()


def test_one_vertex_set_is_divided_once():
    X, y = one_set()
    with pytest.raises(ValueError, match="n_start is 3 and n_end is 4, but both ends come from one vertex set"):
        list(vt.VertexKFold(3, 4).split(X, y))


def test_one_vertex_set_as_pairs():
    X, y = one_set()
    pairs = np.column_stack([X.start, X.end])
    expected = list(vt.VertexKFold(3, random_state=0).split(X, y))
    cv = vt.VertexKFold(3, one_set=True, random_state=0)
    assert cv.get_n_splits() == 3
    for (train, test), (other_train, other_test) in zip(expected, cv.split(pairs, y), strict=True):
        assert np.array_equal(train, other_train)
        assert np.array_equal(test, other_test)
    split = vt.vertex_split(pairs, y, one_set=True, random_state=0)
    assert not np.intersect1d(pairs[split.train], pairs[split.test]).size
    assert len(list(vt.VertexKFold(3, random_state=0).split(X, y, pairs))) == 3  # the edges say it
    with pytest.raises(ValueError, match="one_set is False, but X has one table of vertices"):
        list(vt.VertexKFold(3, one_set=False).split(X, y))


def test_metadata_routing_passes_groups_on():
    X, y = graph()
    pairs = np.column_stack([X.start, X.end])
    with config_context(enable_metadata_routing=True):
        scores = cross_val_score(DummyClassifier(), pairs, y, cv=vt.VertexKFold(2, 2), params={"groups": pairs})
    assert len(scores) == 4


def test_same_seed_same_folds_and_repeats_differ():
    X, y = graph()
    first, again = (list(vt.VertexKFold(3, 3, n_repeats=2, random_state=5).split(X, y)) for _ in range(2))
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(first, again, strict=True))
    assert len(first) == 18
    assert not np.array_equal(first[0][1], first[9][1])


def test_parts_are_even():
    X, y = graph(m=20, q=15, density=1.0)
    sizes = [len(np.unique(X.start[test])) for _, test in vt.VertexKFold(3, 2, "start", random_state=0).split(X, y)]
    assert sorted(sizes) == [6, 7, 7]


def test_stratified_folds_share_out_rare_positives():
    X, y = graph(60, 60, 0.5, share=0.03)
    spread = {}
    for stratify in (False, True):
        counts = [
            vt.VertexKFold(3, 3, stratify=stratify, random_state=seed).report(X, y)["test_rare"].std()
            for seed in range(5)
        ]
        spread[stratify] = np.mean(counts)
    assert spread[True] < spread[False]
    neither = vt.VertexKFold(3, 3, "neither", stratify=True, strict=False, random_state=0).report(X, y)
    assert neither["test_rare"].max() - neither["test_rare"].min() <= 1


def test_arrays_frames_ids_and_groups_give_the_folds_of_edges():
    X, y = graph()
    names = np.array([f"vertex {i:02d}" for i in range(20)])
    pairs = np.column_stack([X.start, X.end])
    expected = [test for _, test in vt.VertexKFold(2, 2, random_state=0).split(X, y)]
    frame = pd.DataFrame({"drug": names[X.start], "target": names[X.end]})
    for given_X, groups in ((pairs, None), (frame, None), (frame.to_numpy(), None), (np.zeros((len(y), 7)), pairs)):
        found = [test for _, test in vt.VertexKFold(2, 2, random_state=0).split(given_X, y, groups)]
        assert all(np.array_equal(a, b) for a, b in zip(expected, found, strict=True))


def test_report_counts_what_is_left_out():
    X, y = graph()
    report = vt.VertexKFold(3, 3, random_state=0).report(X, y)
    assert len(report) == 9
    assert (report["train"] + report["test"] + report["left_out"] == len(X)).all()
    assert report["test"].sum() == len(X)
    assert "left_out" in vt.VertexKFold(3, 3, "start").report(np.column_stack([X.start, X.end]))
    assert str(vt.vertex_split(X, y, random_state=0).n_left_out) in repr(vt.vertex_split(X, y, random_state=0))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learns_functions_take_it():
    X, y = graph(30, 30)
    model, cv = vt.KronSVM("gaussian", "gaussian"), vt.VertexKFold(2, 2, random_state=0)
    assert cross_val_score(model, X, y, cv=cv, scoring="roc_auc").shape == (4,)
    search = GridSearchCV(vt.KronRidge(vt.Gaussian(), vt.Gaussian()), {"start_kernel__gamma": [0.1, 1.0]}, cv=cv)
    assert search.fit(X, y).best_params_["start_kernel__gamma"] in (0.1, 1.0)
    assert cross_val_predict(model, X, y, cv=cv).shape == y.shape
    sizes, _, scores = learning_curve(model, X, y, cv=cv, train_sizes=[0.5, 1.0], shuffle=True, random_state=0)
    assert scores.shape == (2, 4)
    assert sizes[0] < sizes[1]


@pytest.mark.parametrize("stratify", [False, True])
@pytest.mark.parametrize("new", NEW)
@given(seed=st.integers(0, 10**6))
def test_vertex_split(new, stratify, seed):
    X, y = graph(40, 40)
    split = vt.vertex_split(X, y, new=new, stratify=stratify, random_state=seed)
    train, validation, test = split
    assert_setting(X, train, validation, new)
    assert_setting(X, train, test, new)
    for side in ("start", "end"):
        if new in ("both", side):  # validation and test share no new vertex either
            assert not np.intersect1d(getattr(X, side)[validation], getattr(X, side)[test]).size
    assert len(train) + len(validation) + len(test) + split.n_left_out == len(X)


def test_vertex_split_without_validation_and_of_one_set():
    X, y = graph()
    assert len(vt.vertex_split(X, y, validation_size=0.0, random_state=0).validation) == 0
    X, y = one_set(40)
    train, validation, test = vt.vertex_split(X, y, random_state=0)
    parts = [np.union1d(X.start[rows], X.end[rows]) for rows in (train, validation, test)]
    assert not np.intersect1d(parts[0], parts[1]).size
    assert not np.intersect1d(parts[0], parts[2]).size
    assert not np.intersect1d(parts[1], parts[2]).size


def test_refuses_what_cannot_be_split():
    X, y = graph(4, 15)
    with pytest.raises(ValueError, match="n_start is 5, but the edges have only 4 start vertices"):
        list(vt.VertexKFold(5, 3).split(X, y))
    with pytest.raises(ValueError, match="n_end is 1, but it must be an integer of at least 2"):
        list(vt.VertexKFold(2, 1).split(X, y))
    with pytest.raises(ValueError, match="new is 'all', but it must be one of 'both', 'start', 'end', 'neither'"):
        list(vt.VertexKFold(2, 2, "all").split(X, y))
    with pytest.raises(ValueError, match="there are 10 × 10 folds, but X has edges between only 36 pairs of vertices"):
        list(vt.VertexKFold(10, 10, "neither").split(X, y))
    with pytest.raises(ValueError, match=r"X has shape \(5, 3\), but it must be Edges or an array with two columns"):
        list(vt.VertexKFold(2, 2).split(np.zeros((5, 3))))
    with pytest.raises(ValueError, match=r"y has shape \(3,\), but there are 36 edges"):
        list(vt.VertexKFold(2, 2).split(X, y[:3]))
    with pytest.raises(ValueError, match=r"groups has 2 rows, but X has 5 edges"):
        list(vt.VertexKFold(2, 2).split(np.zeros((5, 3)), None, np.zeros((2, 2))))
    with pytest.raises(ValueError, match="stratify is True, which needs two classes, but y has 36 values"):
        list(vt.VertexKFold(2, 2, stratify=True).split(X, np.arange(36.0)))
    with pytest.raises(ValueError, match="stratify is True, but y is None"):
        list(vt.VertexKFold(2, 2, stratify=True).split(X))
    with pytest.raises(ValueError, match=r"test_size is 1.5"):
        vt.vertex_split(X, y, test_size=1.5)
    with pytest.raises(ValueError, match="leaves nothing to train on"):
        vt.vertex_split(X, y, test_size=0.5, validation_size=0.5)


def test_refuses_a_fold_with_one_label_and_says_which():
    X, _ = graph()
    y = np.where((X.start == 0) & (X.end == X.end[X.start == 0][0]), 1.0, -1.0)
    with pytest.raises(
        ValueError, match=r"fold \d .*start part \d of 3, end part \d of 3\) has \d+ \w+ edges with one label only"
    ):
        list(vt.VertexKFold(3, 3, random_state=0).split(X, y))
    with pytest.raises(ValueError, match=r"one label only, 2.5"):
        list(vt.VertexKFold(3, 3, random_state=0).split(X, np.full(len(X), 2.5)))
    words = pd.Series(np.where(y > 0, "yes", "no"), dtype=object)
    with pytest.raises(ValueError, match="one label only, 'no'; use stratify=True, fewer parts"):
        list(vt.VertexKFold(3, 3, random_state=0).split(X, words))
    with pytest.raises(ValueError, match=r"the validation split has .* one label only"):
        vt.vertex_split(X, y, random_state=0)


def test_refuses_a_fold_without_edges():
    diagonal = np.array([[0, 0], [1, 1]])  # two of the four pairs of parts have no edge
    with pytest.raises(ValueError, match=r"fold \d \(start part 0 of 2.*has no \w+ edges; use fewer parts"):
        list(vt.VertexKFold(2, 2, random_state=0).split(diagonal))


def test_real_data():
    K, G, start, end, y = read_graph("gpcr")
    X = vt.Edges(start, end, K, G)
    report = vt.VertexKFold(3, 3, stratify=True, random_state=0).report(X, y)
    assert report["test"].sum() == len(y)
    assert report["train"].between(0.4 * len(y), 0.5 * len(y)).all()  # 4/9
    assert report["test_rare"].sum() == 635
