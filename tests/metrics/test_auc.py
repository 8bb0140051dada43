"""The AUC against scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.metrics import roc_auc_score

from vectrick.metrics import auc


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=2, max_size=40))
def test_is_scikit_learns(pairs):
    y, score = np.array(pairs, float).T
    if 0 < y.sum() < len(y):
        assert auc(2 * y - 1, score) == pytest.approx(roc_auc_score(y, score), abs=1e-12)
    else:
        assert np.isnan(auc(2 * y - 1, score))


def test_without_ties():
    rng = np.random.default_rng(0)
    y, score = np.where(rng.random(5000) < 0.1, 1.0, -1.0), rng.standard_normal(5000)
    assert auc(y, score) == pytest.approx(roc_auc_score(y, score), abs=1e-12)
    assert auc(y, score.astype(np.float32)) == pytest.approx(roc_auc_score(y, score.astype(np.float32)), abs=1e-12)
