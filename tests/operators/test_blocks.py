"""Products with several vectors at once, where these share the loads of the factors."""

import numpy as np
import pytest

import vectrick as vt
from vectrick.backends.cpu import block_product
from vectrick.backends.cpu.product_stages import SparseBlock


def problem(rng, m=150, q=130, n=900, n_rows=None, dtype=np.float64):
    M, N = rng.standard_normal((m, m + 9)).astype(dtype), rng.standard_normal((q, q + 5)).astype(dtype)
    rows = rng.integers(m, size=n_rows or n), rng.integers(q, size=n_rows or n)
    cols = rng.integers(m + 9, size=n), rng.integers(q + 5, size=n)
    return M, N, rows, cols


def together(op, V):
    """Return the product, which must have been made by the block stage."""
    runs = []
    stage = op._path.block
    run = stage.run
    stage.run = lambda *args: (runs.append(args[0].shape[1]), run(*args))
    try:
        return op @ V, runs
    finally:
        del stage.run


@pytest.mark.parametrize("path", ["sparse:M", "sparse:N"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("k", [8, 16, 19, 24, 40])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_block_equals_its_vectors(path, dtype, k, n_threads):
    rng = np.random.default_rng(0)
    M, N, rows, cols = problem(rng, n_rows=700, dtype=dtype)
    op = vt.kron(M, N, path=path, n_threads=n_threads)[rows, cols]
    assert isinstance(op._path.block, SparseBlock)
    V = rng.standard_normal((len(cols[0]), k)).astype(dtype)
    found, runs = together(op, V)
    width, least = op._path.block.width, op._path.block.least
    assert sum(runs) == (k // width) * width + (k % width if k % width >= least else 0)
    expected = (M[np.ix_(rows[0], cols[0])] * N[np.ix_(rows[1], cols[1])]).astype(np.float64) @ V
    np.testing.assert_allclose(found, expected, atol=(1e-10 if dtype is np.float64 else 2e-2))


def test_blocks_of_tiles(monkeypatch):
    """Tiles that do not divide the matrix between the products."""
    monkeypatch.setattr(block_product, "_PANEL", 48)
    monkeypatch.setattr(block_product, "_HEIGHT", 40)
    monkeypatch.setattr(block_product, "_PART", 20)
    rng = np.random.default_rng(1)
    M, N, rows, cols = problem(rng)
    V = rng.standard_normal((len(cols[0]), 16))
    expected = (M[np.ix_(rows[0], cols[0])] * N[np.ix_(rows[1], cols[1])]) @ V
    for path in ("sparse:M", "sparse:N"):
        found, runs = together(vt.kron(M, N, path=path)[rows, cols], V)
        assert runs == [16]
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_restricted_and_transposed_operators_have_blocks():
    rng = np.random.default_rng(2)
    M, N, rows, cols = problem(rng)
    op = vt.kron(M, N, path="sparse:M")[rows, cols]
    A = M[np.ix_(rows[0], cols[0])] * N[np.ix_(rows[1], cols[1])]
    keep, few = rng.random(900) < 0.5, rng.random(900) < 0.3
    V = rng.standard_normal((900, 16))
    np.testing.assert_allclose(op.T @ V, A.T @ V, atol=1e-10)
    part = op.restrict(rows=keep, cols=few)
    np.testing.assert_allclose(part @ V[few], A[np.ix_(keep, few)] @ V[few], atol=1e-10)


def test_the_same_bits_for_any_number_of_threads():
    rng = np.random.default_rng(3)
    M, N, rows, cols = problem(rng, m=400, q=300, n=3000)
    V = rng.standard_normal((3000, 16))
    found = [vt.kron(M, N, path="sparse:M", n_threads=threads)[rows, cols] @ V for threads in (1, 2, 5)]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_without_memory_the_vectors_follow_one_another():
    rng = np.random.default_rng(4)
    M, N, rows, cols = problem(rng)
    free = vt.kron(M, N, path="sparse:M")[rows, cols]
    V = rng.standard_normal((900, 16))
    limit = free.plan.memory + 8 * (900 * 15 + 1800 * 8) + 1000
    assert limit < free.plan.memory + free._path.block.n_bytes()
    tight = vt.kron(M, N, path="sparse:M", max_memory=limit)[rows, cols]
    found, runs = together(tight, V)
    assert runs == []
    np.testing.assert_allclose(found, free @ V, atol=1e-10)


def test_nan_stays_nan():
    rng = np.random.default_rng(5)
    M, N, rows, cols = problem(rng)
    V = rng.standard_normal((900, 16))
    V[7, 3] = np.nan
    found = vt.kron(M, N, path="sparse:M")[rows, cols] @ V
    assert np.isnan(found[:, 3]).any()
    assert not np.isnan(np.delete(found, 3, axis=1)).any()
