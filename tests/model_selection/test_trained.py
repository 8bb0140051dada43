"""Holding out, training and judging as a script does it."""

import numpy as np
import pytest

import vectrick as vt
from vectrick.data.files.dataset import Dataset
from vectrick.data.splits import TooFewLabelsError
from vectrick.model_selection.baselines.beside_baselines import beside_baselines, limited
from vectrick.model_selection.splitting.holdout import hold_out
from vectrick.model_selection.trained import train
from vectrick.persistence.fit_checkpoint import FitCheckpoint

G = vt.Gaussian(1.0)


@pytest.fixture(scope="module")
def data():
    X, y = vt.datasets.make_checkerboard(60, density=0.5, random_state=0)
    return Dataset(X, y, {"start": "features", "end": "features"}, classes=("-1", "1"))


def model(**parameters):
    return vt.KronSVM(G, G, alpha=0.01, early_stopping=True, inner_iter=5, **parameters)


def test_edges_are_held_out_by_what_is_new(data):
    held = hold_out(data.X, data.y, 0.25, seed=1)
    start, end = set(data.X.start[held.train]), set(data.X.end[held.train])
    assert not start & set(data.X.start[held.tests["both"]])
    assert not end & set(data.X.end[held.tests["both"]])
    assert set(data.X.end[held.tests["start"]]) <= end
    again = hold_out(data.X, data.y, 0.25, seed=1)
    np.testing.assert_array_equal(held.train, again.train)


def test_what_cannot_be_held_out_is_refused(data):
    with pytest.raises(ValueError, match=r"fraction is 1\.5, but it must be between 0 and 1"):
        hold_out(data.X, data.y, 1.5)
    with pytest.raises(TooFewLabelsError, match="20 divisions of the vertices all left a part with too few labels"):
        hold_out(data.X, np.ones(len(data.y)))


def test_a_model_is_trained_watched_and_judged(data):
    steps = []
    trained = train(model(), data, hold_out(data.X, data.y), callback=lambda step: steps.append(step.iteration))
    assert steps == trained.history["iteration"]
    assert trained.scoring == "auc"
    assert set(trained.scores) == {"both", "start", "end"}
    assert trained.n_trained < len(data.X)
    rows = trained.holdout.tests["both"]
    scores = vt.get_scorer("auc")(trained.model, data.X[rows], data.y[rows])
    assert trained.scores["both"] == pytest.approx(scores)
    before = trained.model
    trained.refit()
    assert trained.is_refitted
    assert trained.model is not before
    assert trained.model.n_iter_ == before.n_iter_


def test_without_a_holdout_nothing_is_judged(data):
    trained = train(vt.KronRidge(G, G), data)
    assert trained.scores == {}
    assert trained.n_trained == len(data.X)
    assert beside_baselines(trained, vt.baselines()) is None


def test_a_fit_goes_on_from_its_checkpoint(data, tmp_path, monkeypatch):
    monkeypatch.setenv("VECTRICK_CHECKPOINT_SECONDS", "0")
    held, path = hold_out(data.X, data.y), tmp_path / "state"
    whole = train(model(), data, held)

    def stop(step):
        if step.iteration == 3:
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        train(model(), data, held, callback=stop, checkpoint=FitCheckpoint(path, False, False))
    told = []
    resumed = train(model(), data, held, checkpoint=FitCheckpoint(path, True, False, told.append))
    assert told == [2]
    np.testing.assert_allclose(resumed.predictions["both"], whole.predictions["both"], atol=1e-9)


def test_baselines_are_judged_on_the_same_edges(data):
    trained = train(model(), data, hold_out(data.X, data.y))
    done, others = [], {"vertex mean": vt.baselines()["vertex mean"]}
    rows = beside_baselines(trained, others, done=lambda number, name: done.append(name))
    assert done == ["vertex mean"]
    assert rows["method"].unique().tolist() == ["KronSVM", "vertex mean"]
    assert rows.query("method == 'KronSVM' and setting == 'both'")["score"].item() == trained.scores["both"]
    assert list(limited(others, data.X, 10)) == ["vertex mean"]
    assert list(limited({"KNN": vt.baselines()["KNN"]}, data.X, 10)) == ["KNN on 10 edges"]
