"""An ensemble computes the values of each kernel once for a call, and those of its own end vertices once."""

import pickle

import numpy as np
import pytest

import vectrick as vt
from vectrick.models.combined import CombinedPredictor

rng = np.random.default_rng(0)
START, END = rng.standard_normal((12, 3)), rng.standard_normal((8, 2))
X = vt.Edges.grid(START, END)
Y = rng.standard_normal(96)


class Counted(vt.Gaussian):
    """A Gaussian kernel that counts its matrices."""

    calls = 0

    def _matrix(self, X, Y):
        Counted.calls += 1
        return super()._matrix(X, Y)


@pytest.fixture
def ensemble():
    kernels = [Counted(0.5), Counted(0.5) + vt.Constant(0.3), Counted(0.5) * Counted(0.5), Counted(2.0)]
    models = [vt.KronRidge(kernel, kernel, form="dual", alpha=0.1).fit(X, Y) for kernel in kernels]
    return CombinedPredictor([model.predictor_ for model in models], [0.1, 0.2, 0.3, 0.4])


def _expected(ensemble, edges):
    return sum(w * part.predict(edges) for w, part in zip(ensemble.weights, ensemble.parts, strict=True))


def _blocks(ensemble, start, end):
    out = np.empty((len(start), len(end)))
    for rows, cols, block in ensemble.blocks(start, end):
        out[rows, cols] = block
    return out


@pytest.mark.parametrize("n_edges", [3, 40])  # by a plan, and by the whole grid
def test_kernels_of_several_members_are_computed_once(ensemble, n_edges):
    new = vt.Edges.grid(START[:5] + 1, END + 1)[rng.permutation(40)[:n_edges]]
    expected = _expected(ensemble, new)
    Counted.calls = 0
    np.testing.assert_array_equal(ensemble.predict(new), expected)
    assert Counted.calls == 4  # two widths on two sides


def test_own_end_vertices_are_computed_once(ensemble):
    start, end = X.start_table.take(np.arange(4)), ensemble.end.known
    expected = _expected(ensemble, X[:32]).reshape(4, 8)
    counts = []
    for _ in range(2):
        Counted.calls = 0
        np.testing.assert_allclose(_blocks(ensemble, start, end), expected, atol=1e-14)
        counts.append(Counted.calls)
    assert counts == [4, 2]
    assert "_kept_functions" not in pickle.loads(pickle.dumps(ensemble)).__dict__


def test_members_share_their_tables(ensemble):
    first, *others = ensemble.parts
    for part in others:
        assert part.start.vertices is first.start.vertices
        assert part.end.known is first.end.known


def test_recommendations_after_others_are_the_same():
    model = vt.KronRidge(vt.Gaussian(0.5), vt.Gaussian(0.5)).fit(X, Y)
    first = model.recommend([3], exclude_known=False)
    model.predict_grid(START, END + 1)
    again = model.recommend([3], exclude_known=False)
    assert first.equals(again)
    refitted = model.fit(X, -Y).recommend([3], k=8, exclude_known=False)
    np.testing.assert_allclose(refitted["score"], sorted(model.predict(X[X.start == 3]), reverse=True))
