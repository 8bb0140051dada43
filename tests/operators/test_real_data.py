"""The operator on real graphs: drugs and targets, every pair or a part of them."""

import numpy as np
import pytest

import vectrick as vt
from tests.data import read_graph
from tests.operators.factories import path_names


@pytest.mark.parametrize("name", ["gpcr", "ki"])
def test_every_path_on_a_real_graph(name):
    K, G, start, end, y = read_graph(name)
    edges = (end, start)
    sample = np.random.default_rng(0).choice(len(y), 300, replace=False)
    some = G[np.ix_(end[sample], end)]
    some *= K[np.ix_(start[sample], start)]
    expected, scale = some @ y, np.abs(some) @ np.abs(y)
    paths = path_names(G, K, edges, edges)
    assert len(paths) == 8
    for path in paths:
        found = vt.kron(G, K, path=path)[edges, edges] @ y
        assert (np.abs(found[sample] - expected) <= 1e-12 * scale).all(), path
