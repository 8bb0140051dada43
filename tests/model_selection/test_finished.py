"""Work that goes on after an interruption: what is finished is kept, recognised, and not done again."""

import json

import numpy as np
import pandas as pd
import pytest

import vectrick as vt
from vectrick.model_selection import nested
from vectrick.model_selection.baselines import comparison
from vectrick.persistence.checkpoints import Finished, fingerprint

X, Y = vt.datasets.make_checkerboard(40, density=0.6, noise=0.0, random_state=0)
CV = vt.VertexKFold(2, 2, random_state=0)
RIDGE = vt.KronRidge(vt.Gaussian(1.0), vt.Gaussian(1.0), max_iter=10)
GRID = {"start_kernel": [vt.Gaussian(1.0), "linear"], "alpha": [0.1, 1.0]}


def interrupted(monkeypatch, module, name, after):
    """Let a function raise KeyboardInterrupt after so many calls; return what counts the calls."""
    plain, calls = getattr(module, name), []

    def work(*arguments, **more):
        if len(calls) == after:
            raise KeyboardInterrupt
        calls.append(arguments)
        return plain(*arguments, **more)

    monkeypatch.setattr(module, name, work)
    return calls


def without_seconds(frame):
    return frame.drop(columns=[name for name in ("seconds", "fit", "predict") if name in frame])


def test_compare_goes_on(tmp_path, monkeypatch):
    path = tmp_path / "kept.json"
    options = {"cv": CV, "baselines": {"mean": vt.baselines()["vertex mean"]}, "per_fold": True}
    whole = vt.compare(RIDGE, X, Y, **options)
    rows = []
    with monkeypatch.context() as patch:
        interrupted(patch, comparison, "_judged", 3)
        with pytest.raises(KeyboardInterrupt):
            vt.compare(RIDGE, X, Y, **options, checkpoint=path, callback=rows.append)
    assert len(rows) == 3
    calls = interrupted(monkeypatch, comparison, "_judged", 100)
    again = vt.compare(RIDGE, X, Y, **options, checkpoint=path)
    assert len(calls) == 8 - 3
    pd.testing.assert_frame_equal(without_seconds(again), without_seconds(whole))
    with pytest.raises(ValueError, match="checkpoint of a run with other data or options"):
        vt.compare(vt.KronRidge(), X, Y, cv=CV, baselines=False, checkpoint=path)


def test_nested_scores_and_searches_go_on(tmp_path, monkeypatch):
    path, options = tmp_path / "kept.json", {"outer": CV, "n_jobs": 1}
    whole = vt.nested_score(RIDGE, X, Y, GRID, **options)
    with monkeypatch.context() as patch:
        interrupted(patch, nested, "compare_candidate", 5)
        with pytest.raises(KeyboardInterrupt):
            vt.nested_score(RIDGE, X, Y, GRID, **options, checkpoint=path)
    calls = interrupted(monkeypatch, nested, "compare_candidate", 100)
    np.testing.assert_array_equal(vt.nested_score(RIDGE, X, Y, GRID, **options, checkpoint=path).scores, whole.scores)
    assert len(calls) == 8 - 5
    assert vt.nested_score(RIDGE, X, Y, GRID, **options, checkpoint=path).mean == whole.mean
    assert len(calls) == 8 - 5

    other = tmp_path / "search.json"
    found = vt.vertex_search(RIDGE, X, Y, GRID, cv=CV, n_jobs=1)
    for _ in range(2):
        same = vt.vertex_search(RIDGE, X, Y, GRID, cv=CV, n_jobs=1, checkpoint=other)
        assert same.score == found.score
        np.testing.assert_array_equal(same.model.predict(X), found.model.predict(X))


def test_what_work_depends_on():
    same = fingerprint(RIDGE, X, Y)
    assert (
        fingerprint(vt.KronRidge(vt.Gaussian(1.0), vt.Gaussian(1.0), max_iter=10, n_threads=1, verbose=1), X, Y) == same
    )
    moved = vt.Edges(X.start, X.end, X.start_table.features + 1, X.end_table.features)
    others = [(RIDGE, X, -Y), (RIDGE, X[1:], Y[1:]), (RIDGE, moved, Y), (vt.KronRidge(), X, Y), (RIDGE, X, Y, "auc")]
    assert len({same, *(fingerprint(*what) for what in others)}) == 6
    with pytest.raises(TypeError, match="cannot be identified"):
        fingerprint(object())


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        "[" * 100_000,
        '{"kind": "another"}',
        json.dumps(
            {"kind": "vectrick checkpoint of finished folds", "format": 1, "results": {"a": {"b": [[1], [2, 3]]}}}
        ),
        json.dumps({"kind": "vectrick checkpoint of finished folds", "format": 1, "results": {"a": {"b": [["x"]]}}}),
        json.dumps({"kind": "vectrick checkpoint of finished folds", "format": 1, "results": [1]}),
        json.dumps({"kind": "vectrick checkpoint of finished folds", "format": 9, "results": {}}),
    ],
)
def test_forged_files_are_refused(content, tmp_path):
    path = tmp_path / "kept.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"kept\.json is not a checkpoint of finished folds, or it is damaged"):
        Finished(path)


def test_results_of_another_kind_are_refused(tmp_path):
    path = tmp_path / "kept.json"
    vt.compare(RIDGE, X, Y, cv=CV, baselines=False, checkpoint=path)
    content = json.loads(path.read_text())
    for work in content["results"].values():
        for name in work:
            work[name] = 1.0
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="is damaged"):
        vt.compare(RIDGE, X, Y, cv=CV, baselines=False, checkpoint=path)


def test_the_error_of_a_fold_is_told():
    with pytest.warns(UserWarning, match="failed in"):
        rows = vt.compare(vt.KronRidge(alpha=-1), X, Y, cv=CV, baselines=False, per_fold=True)
    assert rows["error"].str.startswith("ValueError: alpha is -1").all()


def test_functions_are_told_apart_by_what_they_do():
    from functools import partial

    def scaled(factor):
        return lambda A, B: factor * A @ B.T

    functions = [
        lambda A, B: A @ B.T,
        lambda A, B: A @ B.T + 1,
        scaled(2),
        scaled(3),
        partial(np.dot, 1),
        partial(np.dot, 2),
    ]
    assert len({fingerprint(vt.KronRidge(function)) for function in functions}) == 6
    assert fingerprint(scaled(2)) == fingerprint(scaled(2))


def test_a_fold_that_failed_is_tried_again(tmp_path, monkeypatch):
    path = tmp_path / "kept.json"

    def fail(*arguments):
        raise MemoryError("today")

    with monkeypatch.context() as patch:
        patch.setattr(comparison, "_judged", fail)
        with pytest.warns(UserWarning, match="today"):
            vt.compare(RIDGE, X, Y, cv=CV, baselines=False, checkpoint=path)
    assert vt.compare(RIDGE, X, Y, cv=CV, baselines=False, checkpoint=path)["mean"].notna().all()
