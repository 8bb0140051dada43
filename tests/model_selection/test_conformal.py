"""Intervals and sets contain as many labels as they promise, and probabilities are calibrated, for new vertices."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import GridSearchCV, cross_val_score

import vectrick as vt
from vectrick.model_selection.calibration import errors as calibration
from vectrick.model_selection.calibration.errors import Calibration, Centre, Errors, interval
from vectrick.model_selection.calibration.folded import calibration_folds

SETTINGS = ("both", "start", "end", "neither")


def values(m=60, q=50, density=0.6, seed=0, noise=0.3):
    """Labels that are smooth in the vertices, with noise."""
    rng = np.random.default_rng(seed)
    starts, ends = rng.random((m, 2)) * 3, rng.random((q, 2)) * 3
    pairs = rng.choice(m * q, int(density * m * q), replace=False)
    X = vt.Edges(pairs // q, pairs % q, starts, ends)
    f = np.sin(starts[X.start, 0] * 2) * np.cos(ends[X.end, 0] * 2) + starts[X.start, 1]
    return X, f + noise * rng.standard_normal(len(f))


def classes(**more):
    X, y = values(**more)
    return X, np.where(y > np.median(y), "yes", "no")


KERNEL = vt.Gaussian(gamma=0.5) + vt.Constant()
RIDGE = vt.KronRidge(KERNEL, KERNEL, alpha=1.0)
SVM = vt.KronSVM(KERNEL, KERNEL)


def outer(X, y, new, seed=0):
    fold = vt.VertexKFold(3, 3, new, random_state=seed).folds(X, y)[0]
    return X[fold.train], y[fold.train], X[fold.test], y[fold.test]


@pytest.mark.parametrize("method", ["full", pytest.param("cv+", marks=pytest.mark.slow)])
@pytest.mark.parametrize("new", SETTINGS)
def test_intervals_contain_as_many_labels_as_they_promise(new, method):
    shares, narrower = [], []
    for seed in range(3):
        train, y_train, test, y_test = outer(*values(m=45, q=36, seed=seed), new, seed)
        made = {"new": new, "method": method, "random_state": seed}
        conformal = vt.ConformalKron(RIDGE, coverage=0.8, **made).fit(train, y_train)
        assert conformal.is_scaled_
        lower, upper = conformal.predict_interval(test)
        shares.append(np.mean((lower <= y_test) & (y_test <= upper)))
        wide = conformal.predict_interval(test, coverage=0.95)
        assert (wide[0] <= lower + 1e-9).all()
        assert (wide[1] >= upper - 1e-9).all()
        narrower.append((upper - lower).mean())
    assert 0.73 < np.mean(shares) < 0.9
    assert np.mean(narrower) < 4 * 0.3 * 1.3  # the noise decides


def test_intervals_are_the_smallest_that_the_errors_allow():
    rng = np.random.default_rng(0)
    errors = np.abs(rng.standard_normal(99))
    low, high = interval([Centre(np.zeros(3), np.array([1.0, 2.0, 3.0]), Errors.of(errors))], 0.9)
    expected = np.sort(errors)[89]  # the ninetieth of ninety-nine
    np.testing.assert_allclose(high, expected * np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(low, -high)
    assert np.isinf(interval([Centre(np.zeros(1), np.ones(1), Errors.of(errors[:8]))], 0.9)[1]).all()


def test_intervals_of_several_models_are_those_of_cv_plus():
    rng = np.random.default_rng(1)
    means, scales = rng.standard_normal((3, 7)), rng.random((3, 7)) + 0.5
    errors = [np.abs(rng.standard_normal(n)) for n in (20, 25, 30)]
    low, high = interval([Centre(*part) for part in zip(means, scales, map(Errors.of, errors), strict=True)], 0.8)
    ends = [np.concatenate([sign * (m[j] + sign * s[j] * e) for m, s, e in zip(means, scales, errors, strict=True)])
            for j in range(7) for sign in (1, -1)]  # fmt: skip
    rank = int(np.ceil(0.8 * 76)) - 1
    np.testing.assert_allclose(high, [np.sort(values)[rank] for values in ends[::2]])
    np.testing.assert_allclose(low, [-np.sort(values)[rank] for values in ends[1::2]])


def test_many_errors_are_kept_as_few_and_intervals_get_wider_only():
    errors = np.abs(np.random.default_rng(0).standard_normal(123_457))
    few = Errors.of(errors)
    assert len(few.values) == 1000
    exact = np.sort(errors)[int(np.ceil(0.9 * (len(errors) + 1))) - 1]
    _, high = interval([Centre(np.zeros(1), np.ones(1), few)], 0.9)
    assert exact <= high[0] < exact * 1.01


@pytest.mark.parametrize("new", SETTINGS)
def test_sets_contain_the_classes(new):
    inside = []
    for seed in range(3):
        train, y_train, test, y_test = outer(*classes(seed=seed), new, seed)
        conformal = vt.ConformalKron(SVM, new=new, coverage=0.8, random_state=seed).fit(train, y_train)
        members = conformal.predict_set(test)
        inside.append([members[y_test == label, column].mean() for column, label in enumerate(conformal.classes_)])
        assert members.shape == (len(test), 2)
    assert (np.abs(np.mean(inside, axis=0) - 0.8) < 0.1).all()
    assert members.sum(axis=1).mean() < 1.6  # it knows something


@pytest.mark.parametrize("method", ["sigmoid", pytest.param("isotonic", marks=pytest.mark.slow)])
@pytest.mark.parametrize("new", SETTINGS)
def test_probabilities_of_new_edges_are_calibrated(new, method):
    train, y_train, test, y_test = outer(*classes(m=100, q=80), new)
    calibrated = vt.Calibrated(SVM, new=new, method=method, random_state=0).fit(train, y_train)
    chance = calibrated.predict_proba(test)
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)
    truth = y_test == "yes"
    assert brier_score_loss(truth, chance[:, 1]) < 0.16
    for low, high in ((0.0, 0.25), (0.25, 0.75), (0.75, 1.0)):
        part = (chance[:, 1] >= low) & (chance[:, 1] <= high)
        assert abs(truth[part].mean() - chance[part, 1].mean()) < 0.15
    assert calibrated.score(test, y_test) > 0.75
    assert set(calibrated.predict(test)) == {"no", "yes"}


@pytest.mark.slow
def test_the_calibrator_of_scikit_learn_works_on_edges():
    train, y_train, test, y_test = outer(*classes(), "both")
    cv = vt.VertexKFold(3, 3, "both", random_state=0)
    for ensemble in (True, False):
        theirs = CalibratedClassifierCV(SVM, cv=cv, ensemble=ensemble).fit(train, y_train)
        assert brier_score_loss(y_test == "yes", theirs.predict_proba(test)[:, 1]) < 0.16
    ours = vt.Calibrated(SVM, new="both", random_state=0).fit(train, y_train)
    assert np.corrcoef(ours.predict_proba(test)[:, 1], theirs.predict_proba(test)[:, 1])[0, 1] > 0.99


def test_folds_hold_out_each_vertex_once():
    X, y = values()
    folds = calibration_folds(X, y, "both", 5, 0)
    assert len(folds) == 5
    starts = np.concatenate([np.unique(X.start[fold.test]) for fold in folds])
    assert len(np.unique(starts)) == len(starts)
    for fold in folds:
        assert not np.intersect1d(X.start[fold.train], X.start[fold.test]).size
        assert not np.intersect1d(X.end[fold.train], X.end[fold.test]).size
    tests = np.concatenate([fold.test for fold in calibration_folds(X, y, "neither", 5, 0)])
    assert len(np.unique(tests)) == len(tests) > 0.99 * len(y)


@pytest.mark.parametrize(
    "model",
    [
        vt.ConformalKron(RIDGE, random_state=0),
        vt.ConformalKron(RIDGE, method="cv+", new="start", random_state=0),
        pytest.param(
            vt.ConformalKron(vt.AutoKron(random_state=0, budget=2), new="neither", n_folds=2, random_state=0),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["full", "cv+", "auto"],
)
def test_intervals_survive_files_and_pickles(model, tmp_path):
    X, y = values(m=30, q=25)
    lower, upper = model.fit(X, y).predict_interval(X[:50])
    model.save(tmp_path / "model.vt")
    for same in (vt.load(tmp_path / "model.vt"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(same.predict_interval(X[:50]), (lower, upper))
        np.testing.assert_array_equal(same.predict(X[:50]), model.predict(X[:50]))
        assert same.get_params(deep=False).keys() == model.get_params(deep=False).keys()


@pytest.mark.parametrize("n_classes", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_sets_and_probabilities_survive_files(n_classes, tmp_path):
    X, y = values(m=12, q=10, density=1.0)
    labels = np.array(["a", "b", "c"])[np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))]
    for model, method in (
        (vt.ConformalKron(SVM, new="neither", random_state=0), "predict_set"),
        (vt.ConformalKron(SVM, new="neither", method="cv+", random_state=0), "predict_set"),
        (vt.Calibrated(SVM, new="neither", random_state=0), "predict_proba"),
        (vt.Calibrated(SVM, new="neither", method="isotonic", random_state=0), "predict_proba"),
    ):
        model.fit(X, labels)
        model.save(tmp_path / "model.vt")
        same = vt.load(tmp_path / "model.vt")
        np.testing.assert_array_equal(getattr(same, method)(X), getattr(model, method)(X))
        assert getattr(model, method)(X).shape == (len(y), n_classes)


def test_frames_with_ids_and_plain_arrays():
    X, y = values(m=20, q=15)
    tables = [pd.DataFrame(table.features, index=[f"{side}{i}" for i in range(len(table))])
              for side, table in (("d", X.start_table), ("t", X.end_table))]  # fmt: skip
    frame = pd.DataFrame({"start": [f"d{i}" for i in X.start], "end": [f"t{i}" for i in X.end]})
    named = vt.Edges.from_frame(frame, start_table=tables[0], end_table=tables[1])
    plain = np.hstack([X.start_table.features[X.start], X.end_table.features[X.end]])
    made = {"new": "neither", "random_state": 0}
    first = vt.ConformalKron(RIDGE, **made).fit(named, y).predict_interval(named[:9])
    array = vt.ConformalKron(vt.KronRidge(KERNEL, KERNEL, alpha=1.0, n_start_features=2), **made).fit(plain, y)
    second = array.predict_interval(plain[:9])
    assert np.isfinite(first).all()
    assert np.isfinite(second).all()
    with pytest.raises(ValueError, match="features"):
        array.predict_interval(plain[:9, :3])


def test_newer_edges_than_calibrated_for_are_warned_of():
    train, y_train, test, _ = outer(*values(), "both")
    conformal = vt.ConformalKron(RIDGE, new="neither", random_state=0).fit(train, y_train)
    with pytest.warns(vt.DataWarning, match="edges have new vertices on a side without new vertices in calibration"):
        conformal.predict_interval(test)
    conformal = vt.ConformalKron(RIDGE, new="both", random_state=0).fit(train, y_train)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        conformal.predict_interval(test)


def test_what_cannot_be_calibrated_is_refused_before_work(monkeypatch):
    X, y = values(m=20, q=15)
    monkeypatch.setattr(vt.KronRidge, "fit", lambda *given: pytest.fail("there was work"))
    monkeypatch.setattr(vt.KronSVM, "fit", lambda *given: pytest.fail("there was work"))
    for coverage in (0, 1, -0.1, 1.5, "much", None, True):
        with pytest.raises(ValueError, match=r"coverage is .*, but it must be a number between 0 and 1"):
            vt.ConformalKron(RIDGE, coverage=coverage).fit(X, y)
    few = X[(X.start < 10) & (X.end < 10)]
    with pytest.raises(ValueError, match=r"coverage is 0.999 and needs at least 999 edges to calibrate on, but"):
        vt.ConformalKron(RIDGE, coverage=0.999).fit(few, y[: len(few)])
    narrow = X.start < 4
    with pytest.raises(ValueError, match="new is 'start', but X has only 4 start vertices to hold out, and at least 5"):
        vt.ConformalKron(RIDGE, new="start").fit(X[narrow], y[narrow])
    with pytest.raises(ValueError, match="new is 'all', but it must be one of"):
        vt.ConformalKron(RIDGE, new="all").fit(X, y)
    with pytest.raises(ValueError, match="method is 'jackknife', but it must be one of 'full', 'cv\\+'"):
        vt.ConformalKron(RIDGE, method="jackknife").fit(X, y)
    with pytest.raises(ValueError, match="n_folds is 1, but it must be an integer of at least 2"):
        vt.ConformalKron(RIDGE, n_folds=1).fit(X, y)
    with pytest.raises(TypeError, match="model is 3, but it must be an estimator of vectrick"):
        vt.ConformalKron(3).fit(X, y)
    with pytest.raises(ValueError, match=r"y has shape \(3,\), but X has"):
        vt.ConformalKron(RIDGE).fit(X, y[:3])
    rare = np.where(np.arange(len(y)) < 5, "rare", "usual")
    with pytest.raises(ValueError, match="needs at least 9 edges of class 'rare' to calibrate on, but the folds hold"):
        vt.ConformalKron(SVM, new="neither").fit(X, rare)
    with pytest.raises(ValueError, match="its labels are values, but probabilities are for classes"):
        vt.Calibrated(RIDGE).fit(X, y)
    with pytest.raises(ValueError, match="method is 'platt', but it must be one of 'sigmoid', 'isotonic'"):
        vt.Calibrated(SVM, method="platt").fit(X, y > 0)


def test_a_class_of_one_vertex_is_named():
    X, y = values(m=20, q=15)
    labels = np.where(X.start == 3, 2, (y > np.median(y)).astype(int))
    for model in (vt.ConformalKron(SVM, new="start", coverage=0.5), vt.Calibrated(SVM, new="start")):
        with pytest.raises(ValueError, match="has no training edge of class 2: its edges have few vertices"):
            model.fit(X, labels)


def test_labels_that_are_all_alike():
    X, _ = values(m=20, q=15)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "y is constant")
        conformal = vt.ConformalKron(RIDGE, new="neither", random_state=0).fit(X, np.ones(len(X)))
    lower, upper = conformal.predict_interval(X)
    assert (lower <= 1.0 + 1e-6).all()
    assert (upper >= 1.0 - 1e-6).all()


def test_scikit_learn_scores_and_searches():
    X, y = values(m=20, q=15)
    model = vt.ConformalKron(RIDGE, new="neither", random_state=0, n_folds=2)
    cv = vt.VertexKFold(2, 1, "neither", random_state=0)
    assert cross_val_score(model, X, y, cv=cv).shape == (2,)
    search = GridSearchCV(model, {"model__alpha": [0.1, 1.0]}, cv=cv).fit(X, y)
    assert search.best_params_["model__alpha"] in (0.1, 1.0)
    with pytest.raises(NotFittedError):
        vt.Calibrated(SVM).predict(X)
    with pytest.raises(ValueError, match="n_folds is 100, but X has only 20 start vertices to divide"):
        vt.ConformalKron(RIDGE, n_folds=100).fit(X, y)
    with pytest.raises(ValueError, match=r"y\[3\] is nan, but labels must be finite"):
        vt.ConformalKron(RIDGE).fit(X, np.where(np.arange(len(y)) == 3, np.nan, y))
    with pytest.raises(ValueError, match="continuous"):
        vt.Calibrated(SVM).fit(X, y)


def test_a_fit_that_fails_leaves_the_earlier_one():
    X, y = values(m=20, q=15)
    conformal = vt.ConformalKron(SVM, new="neither", random_state=0).fit(X, y > np.median(y))
    before = conformal.predict_set(X)
    with pytest.raises(ValueError, match="one class"):
        conformal.fit(X, np.ones(len(y)))
    np.testing.assert_array_equal(conformal.predict_set(X), before)


def test_questions_of_the_other_kind_are_refused():
    X, y = values(m=20, q=15)
    with pytest.raises(ValueError, match="the labels are values, but sets are for classes; use predict_interval"):
        vt.ConformalKron(RIDGE, new="neither").fit(X, y).predict_set(X)
    with pytest.raises(ValueError, match="the labels are classes, but intervals are for values; use predict_set"):
        vt.ConformalKron(SVM, new="neither").fit(X, y > 0).predict_interval(X)


def test_models_without_variance_have_intervals_of_equal_widths():
    X, y = values(m=30, q=25)
    conformal = vt.ConformalKron(vt.KronRidge(KERNEL, KERNEL, pairwise="linear"), new="neither", random_state=0)
    lower, upper = conformal.fit(X, y).predict_interval(X)
    assert not conformal.is_scaled_
    np.testing.assert_allclose(upper - lower, (upper - lower)[0])


def test_a_calibration_is_read_with_care():
    good = Calibration({"both": [Errors.of(np.arange(20.0))]}, {"both": Errors.of(np.arange(20.0))}).header()
    assert Calibration.read(good).errors["both"][0].n == 20
    for damaged in (None, {}, {"errors": 3}, {**good, "scaled": {"both": {"values": ["x"], "n": 1}}},
                    {**good, "errors": {"both": [{"values": [2.0, 1.0], "n": 2}]}}):  # fmt: skip
        with pytest.raises((KeyError, TypeError, ValueError)):
            Calibration.read(damaged)


def test_easier_edges_take_the_errors_of_harder_ones():
    known = Calibration({"both": [Errors.of(np.arange(100.0))], "start": [Errors.of(np.arange(3.0))]}, {})
    assert known.setting_for("neither", 0.9) == "both"  # three errors are too few
    assert known.setting_for("start", 0.5) == "start"
    assert Calibration({"neither": known.errors["both"]}, {}).setting_for("both", 0.5) is None
    assert set(calibration._HARDER) == set(SETTINGS)
