"""The estimators on real drug-target data, vertex-disjoint, with the protocol of the paper."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import vectrick as vt
from tests.data import read_graph
from vectrick.data import hold_out_vertices


def split(name, seed=0):
    K, G, start, end, y = read_graph(name)
    X = vt.Edges(start, end, K, G)
    train, test = hold_out_vertices(X, 1 / 3, np.random.default_rng(seed))
    return X, y, train, test


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["gpcr", "ic"])
def test_zero_shot_prediction_is_far_above_chance(name):
    aucs = {"ridge": [], "svm": [], "logistic": []}
    for seed in range(3):
        X, y, train, test = split(name, seed)
        for model, scores in (
            (vt.KronRidge(alpha=1e-4, solver="minres", max_iter=100), aucs["ridge"]),
            (vt.KronSVM(alpha=1e-4, max_iter=10, inner_iter=10), aucs["svm"]),
            (vt.KronLogistic(alpha=1e-2, max_iter=10, inner_iter=10), aucs["logistic"]),
        ):
            model.fit(X[train], y[train])
            decision = model.decision_function if hasattr(model, "decision_function") else model.predict
            scores.append(roc_auc_score(y[test], decision(X[test])))
    assert all(np.mean(scores) > 0.6 for scores in aucs.values()), aucs


def test_kernels_of_ki_are_not_positive_and_said_so():
    X, y, train, test = split("ki")
    model = vt.KronRidge("precomputed", "precomputed", alpha=100.0, early_stopping=True, random_state=0)
    with pytest.warns(UserWarning, match="_kernel is not positive semi-definite") as caught:
        model.fit(X[train], y[train])
    said = {str(warning.message).partition(" ")[0] for warning in caught if warning.category is vt.KernelWarning}
    assert said == {"start_kernel", "end_kernel"}
    assert roc_auc_score(y[test], model.predict(X[test])) > 0.6


def test_asymmetric_kernels_are_said_so():
    X, y, train, _ = split("gpcr")
    with pytest.warns(UserWarning, match="start_kernel is not symmetric"):
        vt.KronSVM("precomputed", "precomputed", alpha=1.0).fit(X[train], y[train])
