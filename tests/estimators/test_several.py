"""More than two classes: one against the rest, as scikit-learn's OneVsRestClassifier does it."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.multiclass import OneVsRestClassifier

import vectrick as vt

RNG = np.random.default_rng(0)
D, T = RNG.standard_normal((25, 3)), RNG.standard_normal((20, 3))
X = vt.Edges.grid(D, T)[RNG.random(500) < 0.6]
VALUES = (D[X.start] * T[X.end]).sum(axis=1)
Y = np.where(VALUES > 1, "high", np.where(VALUES < -1, "low", "mid"))
G = vt.Gaussian(0.2)
MODELS = {
    "svm": vt.KronSVM(G, G),
    "hinge": vt.KronSVM(G, G, loss="hinge"),
    "logistic": vt.KronLogistic(G, G, alpha=0.1, fit_intercept=True),
    "primal": vt.KronLogistic(form="primal"),
    "pairwise": vt.KronSVM(G, G, pairwise="poly2d"),
    "stopped": vt.KronSVM(G, G, early_stopping=True, random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_equals_one_vs_rest(name, tmp_path):
    model, other = clone(MODELS[name]).fit(X, Y), OneVsRestClassifier(MODELS[name]).fit(X, Y)
    assert model.classes_.tolist() == ["high", "low", "mid"]
    assert_allclose(model.decision_function(X), other.decision_function(X))
    assert_array_equal(model.predict(X), other.predict(X))
    assert model.score(X, Y) == other.score(X, Y) > 0.5
    if hasattr(model, "predict_proba"):
        assert_allclose(model.predict_proba(X), other.predict_proba(X))
        assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)))
    model.save(tmp_path / "model.vt")
    for same in (vt.load(tmp_path / "model.vt"), pickle.loads(pickle.dumps(model))):
        assert_array_equal(same.decision_function(X), model.decision_function(X))
        assert_array_equal(same.predict(X), model.predict(X))


def test_machines_have_what_the_whole_has_not():
    model = vt.KronSVM(G, G).fit(X, Y)
    with pytest.raises(ValueError, match=r"has 3 classes, .* use model\.machine\('high'\)"):
        model.predict_grid(D, T)
    with pytest.raises(ValueError, match="3 classes"):
        model.recommend([0])
    low = model.machine("low")
    assert_array_equal(low.predict_grid(D, T)[X.start, X.end] > 0, low.predict(X))
    assert low.recommend([0], 2).shape == (2, 4)
    with pytest.raises(ValueError, match="label is 'none', but the machines of this model are 'high', 'low', 'mid'"):
        model.machine("none")
    assert model.dual_coef_.shape == (3, len(X))


def test_a_model_forgets_its_machines_with_two_classes():
    model = vt.KronSVM(G, G).fit(X, Y).fit(X, Y == "low")
    assert not hasattr(model, "machines_")
    assert model.decision_function(X).shape == (len(X),)
    assert model.predict_grid(D, T).shape == (25, 20)


def test_numbers_as_classes_and_bad_validation():
    classes, codes = np.unique(Y, return_inverse=True)
    words = vt.KronSVM(G, G).fit(X, Y).predict(X)
    assert_array_equal(classes[vt.KronSVM(G, G).fit(X, codes).predict(X)], words)
    with pytest.raises(ValueError, match="validation has the class 'huge'"):
        vt.KronSVM().fit(X, Y, validation=(X, np.where(Y == "low", "huge", Y)))
    with pytest.raises(ValueError, match="y has 3 classes, but this is for two"):
        vt.alpha_path(vt.KronSVM(), X, Y, [1.0])


def test_scores_are_means_over_classes():
    from sklearn.metrics import roc_auc_score

    model = vt.KronLogistic(G, G).fit(X, Y)
    expected = np.mean([roc_auc_score(c == Y, model.decision_function(X)[:, j]) for j, c in enumerate(model.classes_)])
    assert vt.get_scorer("auc")(model, X, Y) == pytest.approx(expected)
    frame = vt.compare(model, X, Y, cv=vt.VertexKFold(2, 2, random_state=0), baselines=False)
    assert frame.columns.name == "auc"
    assert frame["mean"].item() > 0.6


def test_an_interrupt_ends_all_machines():
    def interrupt(step):
        raise KeyboardInterrupt

    model = vt.KronSVM(G, G)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, callback=interrupt)
    calls = []

    def once(step):
        calls.append(step.iteration)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        vt.KronSVM(G, G, tol=1e-12).fit(X, Y, callback=once, keep_interrupted=True)
    assert len(calls) == 2
    assert not hasattr(model, "classes_")


def test_a_callback_stops_all_machines():
    calls = []

    def stop(step):
        calls.append(step.iteration)
        return True

    model = vt.KronSVM(G, G, tol=1e-12).fit(X, Y, callback=stop)
    assert calls == [1]
    assert [machine.n_iter_ for machine in model.machines_] == [1, 1, 1]


def test_labels_that_are_missing_or_too_many():
    import pandas as pd

    words = np.where(np.arange(len(X)) % 2, "a", "b").tolist()
    for missing in (None, float("nan"), pd.NA):
        for y in ([*words[:-1], missing], pd.Series([*words[:-1], missing], dtype=object)):
            with pytest.raises(ValueError, match=rf"y\[{len(X) - 1}\] is missing"):
                vt.KronSVM().fit(X, y)
    with pytest.raises(ValueError, match="is missing"):
        vt.KronSVM().fit(X, pd.Series([*words[:-1], None], dtype="string"))
    with pytest.raises(ValueError, match="different labels, but there can be 100 classes; for values use KronRidge"):
        vt.KronSVM().fit(X, np.arange(len(X)) % 120)


def test_strings_of_any_length():
    model = vt.KronSVM(G, G).fit(X, Y.astype(np.dtypes.StringDType()))
    assert model.classes_.tolist() == ["high", "low", "mid"]


def test_baselines_beside_several_classes():
    for labels in (Y, np.unique(Y, return_inverse=True)[1]):
        options = {"cv": vt.VertexKFold(2, 2, random_state=0), "baselines": {"mean": vt.baselines()["vertex mean"]}}
        frame = vt.compare(vt.KronSVM(G, G), X, labels, **options)
        assert frame.columns.name == "auc"
        assert frame["mean"].notna().all()
