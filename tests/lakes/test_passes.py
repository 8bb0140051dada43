"""Passes over blocks equal products with the Kronecker product, to the same bits for any number of threads."""

import numpy as np
import pytest

from vectrick.data.lake import blocks
from vectrick.data.lake.blocks import EdgeBlock
from vectrick.losses import LOSSES
from vectrick.passes.host import HostPasses
from vectrick.passes.tasks import (
    Coding,
    ColumnSums,
    CurvatureProduct,
    LabelSums,
    LossGradient,
    NormalProduct,
    RowSums,
    VertexSums,
)

SHAPE = (23, 17)


@pytest.fixture(params=[np.float64, np.float32])
def case(request, monkeypatch):
    monkeypatch.setattr(blocks, "_SEGMENT", 20)  # so that several threads have work
    monkeypatch.setattr(blocks, "_NARROW", 8)
    monkeypatch.setattr(blocks, "_RUN", 0)  # and several tiles
    rng = np.random.default_rng(0)
    n = 200
    rows, cols = (rng.integers(0, size, n).astype(np.int32) for size in SHAPE)
    R, C = (rng.standard_normal((size, rank)).astype(request.param) for size, rank in zip(SHAPE, (3, 4), strict=True))
    y, w = rng.integers(0, 2, n).astype(float), rng.random(n).astype(np.float32).astype(float)
    block = EdgeBlock.of(rows, cols, y, w, SHAPE)
    assert len(np.unique(block.pieces[:, 2])) > 1
    assert block.n_segments > 3
    Z = np.kron(R.astype(float), C.astype(float))[rows * SHAPE[1] + cols]  # a row for each edge
    tol = {"rtol": 1e-10, "atol": 1e-10} if request.param == np.float64 else {"rtol": 2e-4, "atol": 2e-4}
    return block, HostPasses(R, C), Z, y, w, tol, rows, cols


def core(rng, passes):
    return rng.standard_normal((3, 4)).astype(passes.dtype)


def test_sums_equal_those_of_the_kronecker_product(case):
    block, passes, Z, _, w, tol, *_ = case
    W = core(np.random.default_rng(1), passes)
    p = Z @ W.astype(float).ravel()
    assert np.allclose(NormalProduct(W).run(passes, block, 2)[0].ravel(), Z.T @ (w * p), **tol)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("coding", [Coding(), Coding(1.0)])
def test_sums_of_labels_equal_those_of_the_kronecker_product(case, coding, compiled, monkeypatch):
    block, passes, Z, y, w, tol, *_ = case
    if not compiled:
        monkeypatch.setattr(HostPasses, "has_sums", lambda *_: False)
    y = coding(y)
    rhs, mean, numbers = LabelSums(coding, True).run(passes, block, 2)
    assert np.allclose(rhs.ravel(), Z.T @ (w * y), **tol)
    assert np.allclose(mean.ravel(), Z.T @ w, **tol)
    assert np.allclose(numbers, [w.sum(), w @ y, w @ y**2], **tol)
    alone, numbers = LabelSums(coding, False).run(passes, block, 1)
    assert np.array_equal(alone, rhs)
    assert np.allclose(numbers, [w.sum(), w @ y, w @ y**2], **tol)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", ["logistic", "squared_hinge", "squared"])
def test_derivatives_of_losses_equal_those_of_the_loss(case, name, compiled, monkeypatch):
    block, passes, Z, y, w, tol, *_ = case
    if not compiled:
        monkeypatch.setattr(HostPasses, "has_sums", lambda *_: False)
    kind, rng = LOSSES[name], np.random.default_rng(2)
    W, D, signs = core(rng, passes), core(rng, passes), np.where(y == 1, 1.0, -1.0)
    p, d = Z @ W.astype(float).ravel() + 0.3, Z @ D.astype(float).ravel()
    loss = kind(signs, w)
    gradient, mean, numbers = LossGradient(W, 0.3, kind, Coding(1.0)).run(passes, block, 2)
    h = np.asarray(loss.curvature(p).h, float)
    assert np.allclose(gradient.ravel(), Z.T @ loss.gradient(p), **tol)
    assert np.allclose(mean.ravel(), Z.T @ h, **tol)
    assert np.allclose(numbers, [loss.value(p), loss.gradient(p).sum(), h.sum()], **tol)
    product = CurvatureProduct(W, D, 0.3, kind, Coding(1.0)).run(passes, block, 2)[0]
    assert np.allclose(product.ravel(), Z.T @ (h * d), **tol)


@pytest.mark.parametrize("name", ["logistic", "squared_hinge"])
def test_curvatures_that_are_kept_are_those_that_are_made_again(case, name):
    block, passes, *_, tol, _, _ = case
    kind, rng = LOSSES[name], np.random.default_rng(2)
    W, D, keeping = core(rng, passes), core(rng, passes), HostPasses(passes.R, passes.C, keeps=True)
    task = CurvatureProduct(W, D, 0.3, kind, Coding(1.0))
    expected = task.run(passes, block, 2)[0]
    assert np.allclose(task.run(keeping, block, 2)[0], expected, **tol)  # they are made first
    bits = task.run(keeping, block, 2)[0]
    LossGradient(W, 0.3, kind, Coding(1.0)).run(keeping, block, 2)
    assert np.array_equal(task.run(keeping, block, 2)[0], bits)
    LossGradient(D, 0.3, kind, Coding(1.0)).run(keeping, block, 2)  # another function, as that of a trial step
    assert np.array_equal(task.run(keeping, block, 2)[0], bits)


def test_sums_at_vertices(case):
    block, passes, _, y, w, tol, rows, cols = case
    sums = VertexSums(SHAPE, with_labels=True).run(passes, block, 1)
    assert np.allclose(sums[0], np.bincount(rows, w, SHAPE[0]))
    assert np.allclose(sums[3], np.bincount(cols, w * y, SHAPE[1]))
    assert np.allclose(sums[4], np.bincount(rows, w * y**2, SHAPE[0]))
    first, of_rows = RowSums().run(passes, block, 2)
    expected = np.zeros((SHAPE[0], 4))
    np.add.at(expected, rows, w[:, None] * passes.C[cols])
    assert np.allclose(of_rows, expected[first : first + len(of_rows)], **tol)
    _, of_cols = ColumnSums().run(passes, block, 2)
    expected = np.zeros((SHAPE[1], 3))
    np.add.at(expected, cols, w[:, None] * passes.R[rows])
    assert np.allclose(of_cols, expected, **tol)


def test_predictions_are_in_the_order_of_the_block(case):
    block, passes, _, _, _, tol, *_ = case
    W = core(np.random.default_rng(3), passes)
    rows, cols = block.positions()
    expected = np.einsum("ij,jk,ik->i", passes.R[rows], W, passes.C[cols])
    assert np.allclose(passes.predictions(block, W, 2), expected, **tol)
    places = np.arange(0, len(block), 7)
    assert np.allclose(passes.predictions_at(block, W, places), expected[places], **tol)


def test_the_bits_do_not_depend_on_the_number_of_threads(case):
    block, passes, *_ = case
    W = core(np.random.default_rng(4), passes)
    tasks = [NormalProduct(W), LabelSums(Coding(), True), LossGradient(W, 0.1, LOSSES["logistic"], Coding(1.0))]
    for task in tasks:
        answers = [task.run(HostPasses(passes.R, passes.C), block, n_threads) for n_threads in (1, 2, 3)]
        for answer in answers[1:]:
            assert all(np.array_equal(one, other) for one, other in zip(answers[0], answer, strict=True))


def test_what_cores_make_of_the_rows_is_kept_while_it_is_used(case):
    _, passes, *_ = case
    rng = np.random.default_rng(5)
    W, directions = core(rng, passes), [core(rng, passes) for _ in range(4)]
    for D in directions:  # as systems of Newton's method ask, whose point stays
        L, M = passes.left(W, 1, most=2), passes.left(D, 1, most=2)
        assert np.allclose(L, passes.R @ W)
        assert np.allclose(M, passes.R @ D)


def test_passes_at_the_same_time_do_not_share_memory(case):
    _, passes, *_ = case
    first, second = core(np.random.default_rng(5), passes), core(np.random.default_rng(6), passes)
    one = passes.left(first, 1)
    expected = one.copy()
    passes.left(second, 1)  # which another fit may ask for, while the first one still reads
    assert np.array_equal(one, expected)
