"""Scorers in scikit-learn's functions, and what they are scores of."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, r2_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_validate

import vectrick as vt
from vectrick.model_selection.scorers import predictions

NAMES = ["auc", "average_precision", "r2", "concordance", "concordance_per_start", "concordance_per_end"]
NAMES += ["interaction_concordance"]


def problem():
    X, y = vt.datasets.make_checkerboard(30, density=0.6, random_state=0)
    return X, y


def test_are_the_functions_they_are_named_after():
    X, y = problem()
    model = vt.KronRidge(vt.Gaussian(1.0), vt.Gaussian(1.0)).fit(X, y)
    score = model.predict(X)
    expected = {
        "auc": roc_auc_score(y, score),
        "average_precision": average_precision_score(y, score),
        "r2": r2_score(y, score),
        "concordance": vt.concordance_index(y, score),
        "concordance_per_start": vt.concordance_index(y, score, X.start, average="groups"),
        "concordance_per_end": vt.concordance_index(y, score, X.end, average="groups"),
        "interaction_concordance": vt.interaction_concordance(y, score, X.start, X.end),
    }
    for name in NAMES:
        assert vt.get_scorer(name)(model, X, y) == pytest.approx(expected[name]), name


def test_labels_that_are_words_and_plain_arrays():
    X, y = problem()
    words = np.where(y > 0, "yes", "no")
    rows = np.hstack([X.start_table.features[X.start], X.end_table.features[X.end]])
    for name in set(NAMES) - {"r2"}:
        scorer = vt.get_scorer(name)
        edges = scorer(vt.KronSVM(vt.Gaussian(1.0), vt.Gaussian(1.0)).fit(X, words), X, words)
        svm = vt.KronSVM(vt.Gaussian(1.0), vt.Gaussian(1.0), n_start_features=1).fit(rows, words)
        assert scorer(svm, rows, words) == pytest.approx(edges, abs=1e-6), name


def test_in_cross_validation():
    X, y = problem()
    scoring = {name: vt.get_scorer(name) for name in NAMES}
    cv = vt.VertexKFold(2, 2, random_state=0)
    found = cross_validate(vt.KronRidge(vt.Gaussian(1.0), vt.Gaussian(1.0)), X, y, cv=cv, scoring=scoring)
    assert all(np.isfinite(found[f"test_{name}"]).all() for name in NAMES)


def test_refuses():
    with pytest.raises(ValueError, match="scoring is 'accuracy', but it must be one of 'auc', 'average_precision'"):
        vt.get_scorer("accuracy")
    with pytest.raises(ValueError, match="scoring is 'auc', which needs two classes, but y has 3 values"):
        vt.get_scorer("auc").score([1, 2, 3], [1, 2, 3])
    assert repr(vt.get_scorer("auc")) == "get_scorer('auc')"


def test_one_label_only_has_no_score():
    for name in NAMES:
        for labels in (np.ones(4), -np.ones(4), np.array(["a"] * 4)):
            assert np.isnan(vt.get_scorer(name).score(labels, np.arange(4.0)))


def test_plain_arrays_in_a_grid_search():
    X, y = problem()
    rows = np.hstack([X.start_table.features[X.start], X.end_table.features[X.end]])
    search = GridSearchCV(vt.KronRidge(n_start_features=1), {"alpha": [1.0]}, cv=2).fit(rows, y)
    assert 0 <= vt.get_scorer("concordance_per_start")(search, rows, y) <= 1


def test_probabilities_where_there_are_no_decision_values():
    rows = np.arange(6.0)[:, None]
    model = LogisticRegression().fit(rows, [0, 0, 1, 0, 1, 1])

    class Probabilities:
        predict_proba = staticmethod(model.predict_proba)

    assert np.array_equal(predictions(Probabilities(), rows), model.predict_proba(rows)[:, 1])
