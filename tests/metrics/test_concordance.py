"""The concordance index against its definition and against the AUC."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import kendalltau
from sklearn.metrics import roc_auc_score

import vectrick as vt


def brute_force(y, score):
    right = total = 0.0
    for i in range(len(y)):
        for j in range(i):
            if y[i] != y[j]:
                total += 1
                order = (y[i] - y[j]) * (score[i] - score[j])
                right += 1.0 if order > 0 else 0.5 if order == 0 else 0.0
    return right / total if total else float("nan")


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30))
def test_is_its_definition(pairs):
    y, score = np.array(pairs, float).T
    assert vt.concordance_index(y, score) == pytest.approx(brute_force(y, score), abs=1e-12, nan_ok=True)


def test_of_two_classes_is_the_auc():
    rng = np.random.default_rng(0)
    y, score = rng.random(500) < 0.2, rng.standard_normal(500).round(1)
    assert vt.concordance_index(y.astype(float), score) == pytest.approx(roc_auc_score(y, score))


def test_refuses_what_does_not_belong_together():
    with pytest.raises(ValueError, match=r"groups has shape \(2,\), but y_true has \(4,\)"):
        vt.concordance_index([1, 2, 3, 4], [1, 2, 4, 3], groups=[0, 0])
    assert np.isnan(vt.concordance_index([1.0, 2.0], [1.0, np.nan]))
    with pytest.raises(ValueError, match=r"y_true has shape \(2,\) and y_score \(3,\)"):
        vt.concordance_index([1, 2], [1, 2, 3])


def test_groups_count_only_pairs_within():
    rng = np.random.default_rng(0)
    y, score, groups = rng.integers(0, 6, 300).astype(float), rng.integers(0, 6, 300), rng.integers(0, 40, 300)
    each = [(brute_force(y[groups == g], score[groups == g]), groups == g) for g in np.unique(groups)]
    means = [value for value, _ in each if not np.isnan(value)]
    assert vt.concordance_index(y, score, groups, average="groups") == pytest.approx(np.mean(means))
    pairs = [sum(a != b for i, a in enumerate(y[rows]) for b in y[rows][:i]) for _, rows in each]
    weighted = sum(value * n for (value, _), n in zip(each, pairs, strict=True) if n) / sum(pairs)
    assert vt.concordance_index(y, score, groups) == pytest.approx(weighted)
    with pytest.raises(ValueError, match="average is 'mean'"):
        vt.concordance_index(y, score, groups, average="mean")


def test_is_kendalls_tau_on_many_edges():
    rng = np.random.default_rng(0)
    y = rng.standard_normal(10**5)
    score = y + rng.standard_normal(10**5)
    assert vt.concordance_index(y, score) == pytest.approx(0.5 + 0.5 * kendalltau(y, score).statistic, abs=1e-12)


def test_one_list_needs_no_compiler():
    import subprocess
    import sys

    code = (
        "import sys, numpy as np, vectrick as vt; rng = np.random.default_rng(0);"
        "vt.concordance_index(rng.random(100), rng.random(100)); print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("n", [2, 3, 11, 500])
@pytest.mark.parametrize("values", [2, 5, 10**9])
def test_short_and_long_lists_are_counted_alike(n, values, monkeypatch):
    rng = np.random.default_rng(n)
    y, score = rng.integers(0, values, n).astype(float), rng.integers(0, values, n).astype(float)
    short = vt.concordance_index(y, score)
    monkeypatch.setattr("vectrick.metrics.concordance._SHORT", 0)
    np.testing.assert_equal(vt.concordance_index(y, score), short)
