"""The order of edges: nothing is lost, groups are what they say, and a restriction equals a fresh layout."""

import itertools

import numpy as np
import pytest

from vectrick.backends.cpu.layout import Blocking, ColumnLayout, RowLayout, column_blocking, row_blocking


@pytest.fixture(params=[0, 1, 5, 400, 5000])
def edges(request):
    rng = np.random.default_rng(request.param)
    return rng.integers(700, size=request.param), rng.integers(900, size=request.param)


def columns_of(layout):
    """Every edge as (kept, contracted, original number), read back from the layout."""
    found = []
    n_blocks = (len(layout.cell_start) - 1) // layout.n_chunks
    for cell, (first, last) in enumerate(itertools.pairwise(layout.cell_start)):
        chunk, block = divmod(cell, n_blocks)
        for run in range(first, last):
            places = range(layout.run_start[run], layout.run_start[run + 1])
            kept = chunk * layout.blocking.chunk + layout.run_kept[run]
            assert {int(layout.contracted[place]) // layout.blocking.block for place in places} <= {block}
            found += [(int(kept), int(layout.contracted[place]), int(layout.order[place])) for place in places]
    return sorted(found)


@pytest.mark.parametrize("blocking", [Blocking(128, 128), Blocking(1024, 512)])
def test_columns_hold_every_edge_once(edges, blocking):
    kept, contracted = edges
    layout = ColumnLayout.build(kept, contracted, 700, 900, blocking)
    expected = sorted(zip(kept.tolist(), contracted.tolist(), range(len(kept)), strict=True))
    assert columns_of(layout) == expected
    assert layout.contracted.dtype == np.int32


def test_rows_hold_every_edge_once(edges):
    held, tile = edges
    layout = RowLayout.build(held, tile, 700, 900, Blocking(128, 0))
    assert len(layout.held) % 8 == 0
    np.testing.assert_array_equal(layout.held[layout.position], held)
    np.testing.assert_array_equal(layout.tile[layout.position], tile)
    assert len(np.unique(layout.position)) == len(held)
    groups = layout.held.reshape(-1, 8)
    np.testing.assert_array_equal(layout.one_row, [len(set(group)) == 1 for group in groups.tolist()])


def test_restriction_equals_a_fresh_layout(edges):
    first, second = edges
    mask = np.random.default_rng(1).random(len(first)) < 0.3
    blocking = Blocking(128, 128)
    part = ColumnLayout.build(first, second, 700, 900, blocking).restrict(mask)
    fresh = ColumnLayout.build(first[mask], second[mask], 700, 900, blocking)
    assert columns_of(part) == columns_of(fresh)
    rows = RowLayout.build(first, second, 700, 900, blocking).restrict(mask)
    np.testing.assert_array_equal(rows.held[rows.position], first[mask])
    np.testing.assert_array_equal(rows.tile[rows.position], second[mask])


def test_blocks_grow_when_the_graph_thins_out():
    assert column_blocking(250_000, 1000, 1000).is_small
    assert row_blocking(250_000, 1000, 1000).is_small
    assert not column_blocking(2000, 1000, 1000).is_small
    assert not row_blocking(2000, 1000, 1000).is_small
    assert column_blocking(10, 5, 5).chunk == 128
