"""Scores from histograms are near the exact ones, within the bound that they tell."""

import pickle

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from vectrick.metrics import concordance_index
from vectrick.metrics.binned import Bins, BoundedScore


def drawn(n, kind, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.standard_normal(n)
    p = y + rng.standard_normal(n)
    if kind == "ties":
        p = np.round(p, 1)
    labels = {"values": y, "ratings": np.round(y), "classes": (y > 1).astype(float), "ties": np.round(y)}[kind]
    distinct = None if kind == "values" else np.unique(labels)
    return labels, p, distinct


@pytest.mark.parametrize("kind", ["values", "ratings", "classes", "ties"])
@pytest.mark.parametrize("n", [50, 60_000])
def test_the_concordance_index_is_within_its_bound(kind, n):
    y, p, distinct = drawn(n, kind)
    sample = np.arange(n)
    bins = Bins.of(p[sample], y[sample], distinct)
    halves = [bins.count(p[half], y[half]) for half in (slice(0, n // 2), slice(n // 2, None))]
    counts = tuple(one + other for one, other in zip(*halves, strict=True))
    score = bins.concordance(counts)
    assert score.n_edges == n
    assert abs(score - concordance_index(y, p)) <= score.bound + 1e-12
    if n > 1000 and kind != "ties":
        assert score.bound <= 1e-4


def test_the_average_precision_is_within_its_bound():
    y, p, distinct = drawn(30_000, "classes")
    bins = Bins.of(p, y, distinct)
    score = bins.average_precision(bins.count(p, y))
    assert abs(score - average_precision_score(y, p)) <= score.bound + 1e-12
    assert score.bound < 1e-3


def test_one_class_has_no_score():
    bins = Bins.of(np.arange(5.0), np.ones(5), np.array([0.0, 1.0]))
    counts = bins.count(np.arange(5.0), np.ones(5))
    assert np.isnan(bins.concordance(counts))
    assert np.isnan(bins.average_precision(bins.count(np.arange(5.0), np.zeros(5))))


def test_a_bounded_score_is_a_number():
    score = BoundedScore(0.75, 1e-5, 10)
    assert score == 0.75
    assert f"{score:.2f}" == "0.75"
    back = pickle.loads(pickle.dumps(score))
    assert (back, back.bound, back.n_edges) == (0.75, 1e-5, 10)
