"""Edges between the same two vertices stay on one side of every split."""

import numpy as np
import pandas as pd
import pytest

import vectrick as vt
from vectrick.model_selection.calibration.folded import calibration_folds


def _pairs(X, rows):
    start, end = X.start[rows], X.end[rows]
    if X.is_one_set:
        start, end = np.minimum(start, end), np.maximum(start, end)
    return set(zip(start.tolist(), end.tolist(), strict=True))


def _repeated(one_set: bool):
    rng = np.random.default_rng(0)
    start, end = np.divmod(np.arange(80), 8) if not one_set else rng.integers(0, 10, (2, 80))
    features = rng.standard_normal((10, 3)), None if one_set else rng.standard_normal((8, 2))
    again = rng.permutation(160)
    start, end = np.tile(start, 2)[again], np.tile(end, 2)[again]
    if one_set:
        start[::3], end[::3] = end[::3].copy(), start[::3].copy()
    X = vt.Edges(start, end, *features)
    return X, rng.choice([-1.0, 1.0], 160)


@pytest.mark.parametrize("one_set", [False, True])
@pytest.mark.parametrize("stratify", [False, True])
def test_folds_keep_copies_together(one_set, stratify):
    X, y = _repeated(one_set)
    tested = np.zeros(len(X), int)
    for train, test in vt.VertexKFold(3, 2, "neither", stratify=stratify, strict=False, random_state=1).split(X, y):
        assert not _pairs(X, train) & _pairs(X, test)
        tested[test] += 1
    assert (tested == 1).all()


@pytest.mark.parametrize("one_set", [False, True])
def test_splits_keep_copies_together(one_set):
    X, y = _repeated(one_set)
    parts = [_pairs(X, rows) for rows in vt.vertex_split(X, y, new="neither", random_state=1)]
    assert all(parts)
    assert not parts[0] & parts[1]
    assert not parts[0] & parts[2]
    assert not parts[1] & parts[2]


@pytest.mark.parametrize("one_set", [False, True])
def test_calibration_keeps_copies_together(one_set):
    X, y = _repeated(one_set)
    for fold in calibration_folds(X, y, "neither", 5, 0):
        assert not _pairs(X, fold.train) & _pairs(X, fold.test)


@pytest.mark.parametrize("one_set", [False, True])
@pytest.mark.parametrize("new", ["both", "start", "end", "neither"])
def test_splits_of_lakes_keep_copies_together(one_set, new, tmp_path):
    X, y = _repeated(one_set)
    pd.DataFrame({"start": X.start, "end": X.end, "label": y}).to_parquet(tmp_path / "edges.parquet")
    end = None if one_set else X.end_table.features
    lake = vt.scan_edges(tmp_path, start_table=X.start_table.features, end_table=end)
    train, test = (part.edges()[0] for part in lake.split(new, 0.4, random_state=3))
    assert len(train)
    assert len(test)
    assert not _pairs(train, slice(None)) & _pairs(test, slice(None))
    if new == "neither":
        assert len(train) + len(test) == len(X)


def test_folds_of_edges_without_copies_are_as_before():
    X, _ = vt.datasets.make_checkerboard(8, density=1.0, random_state=0)
    part = np.empty(64, int)
    seed = np.random.RandomState(5).randint(2**31 - 1)
    part[np.random.default_rng(seed).permutation(64)] = np.repeat(np.arange(4), 16)
    for i, (_, test) in enumerate(vt.VertexKFold(2, 2, "neither", strict=False, random_state=5).split(X)):
        assert test.tolist() == np.flatnonzero(part == i).tolist()


def test_coin_flips_are_not_predictable_between_known_vertices():
    X, _ = _repeated(False)
    X = vt.Edges(
        np.tile(np.repeat(np.arange(10), 8), 2),
        np.tile(np.arange(8), 20),
        *(t.features for t in (X.start_table, X.end_table)),
    )
    y = np.tile(np.random.default_rng(1).choice([-1.0, 1.0], 80), 2)
    score = vt.AutoKron(new="neither", random_state=0).fit(X, y).score_
    assert score < 0.75  # it was 0.95 while copies were tested
