"""Blocks hold the edges of a partition in eight bytes each, sorted; a store spills them and reads them back."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vectrick.data.lake import blocks, store
from vectrick.data.lake.blocks import EdgeBlock
from vectrick.data.lake.store import BlockStore


def random_block(rng, n, shape, weight=False):
    rows, cols = (rng.integers(0, size, n).astype(np.int32) for size in shape)
    label, w = rng.integers(1, 6, n).astype(float), rng.random(n) if weight else None
    return (rows, cols, label, w), EdgeBlock.of(rows, cols, label, w, shape)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 3000), st.sampled_from([(5, 7), (300, 70_000), (70_000, 9_000)]), st.integers(0, 100))
def test_a_block_has_the_edges_that_it_was_made_of(n, shape, seed):
    rng = np.random.default_rng(seed)
    (rows, cols, label, weight), block = random_block(rng, n, shape, weight=True)
    found_rows, found_cols = block.positions()
    expected = sorted(zip(rows.tolist(), cols.tolist(), label.tolist(), weight.tolist(), strict=True))
    found = zip(found_rows.tolist(), found_cols.tolist(), block.label.tolist(), block.weight.tolist(), strict=True)
    assert sorted(found) == expected
    assert block.pieces[:, 4].sum() - block.pieces[:, 3].sum() == n
    for _, row0, _, first, stop in block.pieces.tolist():
        assert (np.diff(found_rows[first:stop]) >= 0).all()
        assert row0 <= found_rows[first]


def test_both_ways_to_sort_give_the_same_order(monkeypatch):
    rng = np.random.default_rng(0)
    given_edges, block = random_block(rng, 5000, (40, 100_000))
    monkeypatch.setattr(blocks, "_COUNTERS", 0)
    other = EdgeBlock.of(*given_edges, (40, 100_000))
    assert np.array_equal(block.row, other.row)
    assert np.array_equal(block.label, other.label)


def test_an_edge_takes_eight_bytes_unless_its_label_needs_more():
    rng = np.random.default_rng(0)
    (rows, cols, label, _), block = random_block(rng, 100_000, (2000, 3000))
    assert block.n_bytes + block.pieces.nbytes <= 9 * 100_000
    longer = EdgeBlock.of(rows, cols, label + 1e-9, None, (2000, 3000))
    assert longer.label.dtype == np.float64
    assert np.array_equal(np.sort(longer.label), np.sort(label + 1e-9))


def test_segments_divide_rows(monkeypatch):
    monkeypatch.setattr(blocks, "_SEGMENT", 100)
    _, block = random_block(np.random.default_rng(0), 2000, (50, 20_000))
    assert block.n_segments > 4
    rows = block.positions()[0]
    of_segment = [
        {row for segment, _, _, first, stop in block.pieces.tolist() if segment == number for row in rows[first:stop]}
        for number in range(block.n_segments)
    ]
    assert sum(map(len, of_segment)) == len(set(rows.tolist()))  # no row is in two of them


@pytest.mark.parametrize("limit", [0, 30_000, 10**9])
def test_a_store_gives_back_its_blocks_in_order_within_its_limit(tmp_path, limit):
    rng = np.random.default_rng(0)
    made = [random_block(rng, 1000, (50, 60), weight=number % 2 == 0)[1] for number in range(6)]
    kept = BlockStore(limit, tmp_path)
    for block in made:
        kept.add(block)
    assert kept.n_bytes <= limit
    assert kept.n_edges == 6000
    for _ in range(2):
        for block, back in zip(made, kept, strict=True):
            for one, other in zip(block.arrays, back.arrays, strict=True):
                assert (one is None) == (other is None)
                assert one is None or np.array_equal(one, other)
    assert list(tmp_path.iterdir()) == []  # the file has no name
    kept.close()
    assert len(kept) == 0


def test_a_pass_that_ends_early_leaves_no_thread(tmp_path):
    import threading

    kept = BlockStore(0, tmp_path)
    for number in range(5):
        kept.add(random_block(np.random.default_rng(number), 100, (5, 6))[1])
    for _ in kept:
        break
    assert not any(thread.name == "vectrick-read-ahead" for thread in threading.enumerate())


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(store.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 10})())
    kept = BlockStore(0, tmp_path)
    with pytest.raises(OSError, match=r"cache_dir .* has no room for another .*max_memory"):
        kept.add(random_block(np.random.default_rng(0), 100, (5, 6))[1])
    assert list(tmp_path.iterdir()) == []
