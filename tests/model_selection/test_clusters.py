"""Folds by clusters: nothing that is like a test vertex trains."""

from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

import vectrick as vt
from vectrick.model_selection.splitting.similarity import Similarity, largest_similarity

RNG = np.random.default_rng(0)
needs_rdkit = pytest.mark.skipif(find_spec("rdkit") is None, reason="RDKit is not installed: vectrick[molecules]")


def bits(n, size, seed):
    """Return fingerprints of families: copies of a few, with some bits turned."""
    rng = np.random.default_rng(seed)
    parents = rng.random((n // 3, size)) < 0.2
    rows = parents[np.arange(n) % len(parents)]
    return (rows ^ (rng.random((n, size)) < 0.02)).astype(float)


X = vt.Edges.grid(bits(30, 60, 0), bits(24, 60, 1))
Y = RNG.standard_normal(len(X))


@pytest.mark.parametrize("new", ["both", "start", "end"])
@pytest.mark.parametrize("threshold", [0.4, 0.6])
def test_no_training_vertex_is_more_similar_than_the_threshold(new, threshold):
    cv = vt.ClusterKFold(3, 3, new, threshold=threshold, n_repeats=2, random_state=0)
    plain = vt.VertexKFold(3, 3, new, n_repeats=2, random_state=0)
    assert cv.get_n_splits(X) == plain.get_n_splits(X) == len(cv.folds(X, Y))
    for train, test in cv.split(X, Y):
        for side in ("start", "end"):
            if new in ("both", side):
                assert largest_similarity(X, train, test, side).max() <= threshold
    worst = max(
        largest_similarity(X, train, test, "start" if new != "end" else "end").max() for train, test in plain.split(X)
    )
    assert worst > threshold  # which is what the clusters are for


def test_clusters_are_connected_components():
    cv = vt.ClusterKFold(threshold=0.5)
    found = cv.clusters(X, "start")
    K = vt.Tanimoto()(X.start_table.features)
    reached = K > 0.5
    for _ in range(5):
        reached = reached.astype(int) @ reached.astype(int) > 0
    np.testing.assert_array_equal(found[:, None] == found, reached)


def test_parts_are_about_equal_and_repeat():
    sizes = [len(np.unique(X.start[test])) for _, test in vt.ClusterKFold(3, new="start", random_state=0).split(X)]
    assert sum(sizes) == 30
    assert max(sizes) - min(sizes) <= 3
    again = [list(vt.ClusterKFold(3, new="start", random_state=7).split(X)) for _ in range(2)]
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(*again, strict=True))


def test_other_similarities():
    K = np.where(np.arange(30)[:, None] // 10 == np.arange(30) // 10, 50.0, 1.0) + 50 * np.eye(30)
    given = vt.Edges.grid(K, X.end_table.features)
    found = vt.ClusterKFold(threshold=0.4).clusters(given, "start")  # a matrix in percent, by itself
    assert len(set(found.tolist())) == 3
    by_kernel = vt.ClusterKFold(threshold=0.9, start=vt.Linear()).clusters(X, "start")
    assert len(set(by_kernel.tolist())) > 1
    numbers = vt.Edges.grid(RNG.standard_normal((6, 2)), np.eye(3))
    assert Similarity(numbers.start_table, np.arange(6)).kernel.name == "standardized"
    one = vt.Edges(*np.triu_indices(30, 1), X.start_table.features)
    for train, test in vt.ClusterKFold(3, threshold=0.5, random_state=0).split(one):
        assert largest_similarity(one, train, test, "start").max() <= 0.5


@needs_rdkit
def test_scaffolds():
    rings = ["c1ccccc1", "c1ccncc1", "C1CCCCC1", "c1ccc2ccccc2c1"]
    molecules = [ring + tail for ring in rings for tail in ("C", "CC", "O")] + ["CCO", "CCCC"]
    graph = vt.Edges.grid(pd.DataFrame({"id": range(14), "smiles": molecules}), np.eye(4))
    found = vt.ClusterKFold(start="scaffold").clusters(graph, "start")
    assert [len(set(found[3 * i : 3 * i + 3])) for i in range(4)] == [1] * 4
    assert len(set(found.tolist())) == 5
    cv = vt.ClusterKFold(4, new="start", start="scaffold", random_state=0)
    for train, test in cv.split(graph, RNG.standard_normal(len(graph))):
        assert not set(found[graph.start[train]]) & set(found[graph.start[test]])
    with pytest.raises(ValueError, match="'scaffold', but the start vertices are not molecules"):
        list(vt.ClusterKFold(start="scaffold").split(X))


def test_what_is_refused():
    with pytest.raises(ValueError, match="new is 'neither', but clusters divide vertices"):
        list(vt.ClusterKFold(new="neither").split(X))
    for wrong in (1.5, "a", None, True):
        with pytest.raises(ValueError, match=f"threshold is {wrong!r}"):
            list(vt.ClusterKFold(threshold=wrong).split(X))
    with pytest.raises(TypeError, match="clusters need Edges"):
        list(vt.ClusterKFold().split(np.zeros((4, 2))))
    with pytest.raises(ValueError, match="start vertices form 1 clusters, but 3 parts are needed; raise"):
        list(vt.ClusterKFold(3, threshold=0.0).split(vt.Edges.grid(np.ones((5, 3)), X.end_table.features)))
    lopsided = vt.Edges.grid(np.vstack([np.tile(bits(3, 60, 5)[:1], (20, 1)), bits(10, 60, 9)]), np.eye(3))
    with pytest.warns(UserWarning, match="a cluster of 20 of the 30 start vertices"):
        list(vt.ClusterKFold(3, new="start").split(lopsided))


def test_the_nearest_vertex_of_one_set_may_be_at_the_other_end():
    words = ["MKTAYIAKQR", "GGGGSGGGGS", "WWWWWHHHHH", "MKTAYIAKQR"]
    one = vt.Edges([1, 3], [0, 2], words)  # vertex 3 is a copy of vertex 0, an end
    assert largest_similarity(one, np.array([0]), np.array([1]), "start") == pytest.approx(1.0)


def test_methods_are_compared_on_clusters():
    rows = vt.compare(
        {"ridge": vt.KronRidge("tanimoto", "tanimoto")}, X, Y, cv=vt.ClusterKFold(2, random_state=0), baselines=False
    )
    assert rows["mean"].notna().all()
