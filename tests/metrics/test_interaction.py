"""The interaction concordance against its definition."""

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st

import vectrick as vt


def brute_force(y, score, start, end):
    shape = max(start) + 1, max(end) + 1
    Y, S = np.full(shape, np.nan), np.full(shape, np.nan)
    Y[start, end], S[start, end] = y, score
    right = total = 0.0
    for (d, e), (t, u) in itertools.product(
        itertools.combinations(range(shape[0]), 2), itertools.combinations(range(shape[1]), 2)
    ):
        labels, scores = ((M[d, t] - M[e, t]) - (M[d, u] - M[e, u]) for M in (Y, S))
        if not np.isnan(labels) and abs(labels) > 1e-9:
            total += 1
            right += 0.5 if abs(scores) < 1e-9 else float((labels > 0) == (scores > 0))
    return right / total if total else float("nan")


@given(st.integers(2, 6), st.integers(2, 7), st.integers(0, 10**6))
def test_is_its_definition(m, q, seed):
    rng = np.random.default_rng(seed)
    start, end = np.divmod(rng.permutation(m * q)[: max(2, int(0.8 * m * q))], q)
    # Tenths, whose differences are not exact: equal differences must still be ties.
    y, score = rng.integers(0, 5, len(start)) / 10, rng.integers(0, 5, len(start)) / 10
    found = vt.interaction_concordance(y, score, start, end)
    assert found == pytest.approx(brute_force(y, score, start, end), abs=1e-12, nan_ok=True)
    assert vt.interaction_concordance(y, score, end, start) == pytest.approx(found, nan_ok=True)


def graph(m=30, q=20, seed=0):
    rng = np.random.default_rng(seed)
    start, end = np.divmod(rng.permutation(m * q)[: m * q // 2], q)
    return rng, start, end


def test_main_effects_are_at_chance_however_well_they_rank():
    rng, start, end = graph()
    main = rng.standard_normal(30)[start] + rng.standard_normal(20)[end]
    y = 10 * main + rng.standard_normal(len(start))
    assert vt.concordance_index(y, main) > 0.9
    assert vt.interaction_concordance(y, main, start, end) == 0.5
    assert vt.interaction_concordance(y, y + 100 * main, start, end) == 1.0


def test_ids_and_threads_make_no_difference():
    rng, start, end = graph()
    y, score = rng.standard_normal((2, len(start)))
    found = vt.interaction_concordance(y, score, start, end, n_threads=1)
    names = np.array([f"drug {i}" for i in range(30)])
    assert vt.interaction_concordance(y, score, names[start], end, n_threads=3) == found


def test_repeated_edges_are_averaged():
    rng, start, end = graph()
    y, score = rng.standard_normal((2, len(start)))
    twice = np.r_[start, start], np.r_[end, end]
    noise = rng.standard_normal(len(start))
    found = vt.interaction_concordance(np.r_[y + noise, y - noise], np.r_[score, score], *twice)
    assert found == pytest.approx(vt.interaction_concordance(y, score, start, end), abs=1e-3)


def test_what_is_not_defined_is_nan():
    _, start, end = graph()
    y = start.astype(float)
    assert np.isnan(vt.interaction_concordance(y, y, start, end))
    assert np.isnan(vt.interaction_concordance([], [], [], []))
    assert np.isnan(vt.interaction_concordance([1.0, 0, 0, 1], [np.nan, 0, 0, 1], [0, 0, 1, 1], [0, 1, 0, 1]))


def test_refuses_what_does_not_belong_together():
    with pytest.raises(ValueError, match=r"start has shape \(3,\), but y_true has \(2,\)"):
        vt.interaction_concordance([1, 2], [1, 2], [0, 1, 2], [0, 1])
    with pytest.raises(ValueError, match=r"y_true\[1\] is nan, but labels must be finite"):
        vt.interaction_concordance([1, np.nan], [1, 2], [0, 1], [0, 1])
    with pytest.raises(ValueError, match=r"y_score\[0\] is inf"):
        vt.interaction_concordance([1, 2], [np.inf, 2], [0, 1], [0, 1])
