"""What says how sure and why works the same for models and edges on torch, on a GPU where there is one."""

import numpy as np
import pytest

import vectrick as vt

torch = pytest.importorskip("torch", reason="torch is not installed")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
KERNEL = vt.Gaussian(gamma=0.5)


def graphs():
    rng = np.random.default_rng(0)
    starts, ends = rng.random((30, 3)), rng.random((25, 2))
    pairs = rng.permutation(750)[:500]
    here = vt.Edges(pairs // 25, pairs % 25, starts, ends)
    tables = (torch.as_tensor(table, device=DEVICE) for table in (starts, ends))
    there = vt.Edges(*(torch.as_tensor(part, device=DEVICE) for part in (pairs // 25, pairs % 25)), *tables)
    return here, there, rng.standard_normal(500)


@pytest.mark.parametrize("loss", ["ridge", "svm"])
def test_explanations_novelty_and_suggestions(loss):
    here, there, y = graphs()
    kind = vt.KronRidge if loss == "ridge" else vt.KronSVM
    y = y if loss == "ridge" else np.where(y > 0, 1.0, -1.0)
    model = kind(KERNEL, KERNEL, tol=1e-10).fit(here[:400], y[:400])
    other = kind(KERNEL, KERNEL, tol=1e-10, backend="torch", device=DEVICE)
    other.fit(there[:400], torch.as_tensor(y[:400], device=DEVICE))
    for by in ("edge", "start", "end"):
        first, second = (one.explain(X[400:401], 5, by=by) for one, X in ((model, here), (other, there)))
        np.testing.assert_allclose(second["contribution"], first["contribution"], atol=1e-6)
        assert abs(second["contribution"].sum() - float(other._decide(there[400:401])[0])) < 1e-10
    np.testing.assert_allclose(np.asarray(other.novelty(there[400:])), model.novelty(here[400:]), atol=1e-8)
    rows = [vt.suggest(one, X[400:], 6)["row"].tolist() for one, X in ((model, here), (other, there))]
    assert rows[0] == rows[1]
    without = [one.predict_without(X[400:404], edges=X[:2]) for one, X in ((model, here), (other, there))]
    np.testing.assert_allclose(without[1], without[0], atol=1e-6)


def test_intervals_and_probabilities():
    here, there, y = graphs()
    made = {"new": "neither", "random_state": 0}
    bounds = []
    for X, more in ((here, {}), (there, {"backend": "torch", "device": DEVICE})):
        model = vt.KronRidge(KERNEL, KERNEL, tol=1e-10, **more)
        bounds.append(vt.ConformalKron(model, **made).fit(X[:400], y[:400]).predict_interval(X[400:]))
    np.testing.assert_allclose(bounds[1], bounds[0], atol=1e-6)
    chances = []
    for X, more in ((here, {}), (there, {"backend": "torch", "device": DEVICE})):
        model = vt.KronSVM(KERNEL, KERNEL, tol=1e-8, **more)
        chances.append(vt.Calibrated(model, **made).fit(X[:400], y[:400] > 0).predict_proba(X[400:]))
    np.testing.assert_allclose(chances[1], chances[0], atol=1e-4)
