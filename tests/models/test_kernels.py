"""What was asked for and what was settled: one kernel of edges, which says whether it is one product."""

import numpy as np
import pytest

import vectrick as vt
from vectrick.backends import HOST, settle_backend
from vectrick.data import Graph
from vectrick.kernels.pairwise import PAIRWISE
from vectrick.models.edge_kernel import EdgeKernel
from vectrick.models.kernel_spec import KernelSpec

RNG = np.random.default_rng(0)
X = vt.Edges(RNG.integers(9, size=40), RNG.integers(7, size=40), RNG.random((9, 3)), RNG.random((7, 2)))
ONE = vt.Edges(RNG.integers(9, size=40), RNG.integers(9, size=40), RNG.random((9, 3)))


def settled(model, edges):
    spec = KernelSpec.of(model)
    return EdgeKernel.settled(spec, edges, Graph.of(edges, spec.one_set), HOST)


@pytest.mark.parametrize("name", PAIRWISE)
def test_a_kernel_is_always_there_and_says_whether_it_is_one_product(name):
    kernel = settled(vt.KronRidge(pairwise=name), ONE if PAIRWISE[name].one_set else X)
    assert kernel.is_product == (name in ("kronecker", "gaussian", "two_step"))
    assert kernel.one_set == PAIRWISE[name].one_set
    assert kernel.words.startswith(name)


def test_a_weight_or_a_second_kernel_makes_a_sum():
    for model in (
        vt.KronRidge(kernel_weights=[2.0]),
        vt.KronRidge(kernel_weights="alignment"),
        vt.KronRidge(["linear", "gaussian"]),
        vt.KronRidge(pairwise=["kronecker", "linear"]),
    ):
        assert not KernelSpec.of(model).is_product
        assert not settled(model, X).is_product


def test_vertex_kernels_without_weight_are_not_used():
    kernel = settled(vt.KronRidge(["linear", vt.Gaussian(1.0)], ["linear"], kernel_weights=[0.0, 1.0]), X)
    assert [one.kernel for one in kernel.used] == [kernel.starts[1].kernel, kernel.ends[0].kernel]


@pytest.mark.parametrize("edges", [X, ONE], ids=["two sets", "one set"])
def test_one_table_stays_one_when_a_kernel_moves(edges):
    pytest.importorskip("torch", reason="torch is not installed: nothing to move to")
    kernel = settled(vt.KronRidge(vt.Gaussian(1.0), vt.Gaussian(1.0)), edges)
    there = kernel.on(settle_backend("torch", "cpu"))
    assert there.start.backend.name == "torch"
    assert (there.start.known is there.end.known) == edges.is_one_set
    back = there.on(HOST)
    np.testing.assert_array_equal(back.start.vertices, kernel.start.vertices)
    np.testing.assert_allclose(there.start.matrix, kernel.start.matrix, atol=1e-12)


@pytest.mark.parametrize("form", ["dual", "primal"])
def test_a_predictor_that_is_there_stays_itself(form):
    model = vt.KronRidge("linear", "linear", form=form, fit_intercept=False).fit(X, RNG.standard_normal(len(X)))
    assert model.predictor_.on(HOST) is model.predictor_
    reference = settle_backend("reference", None)
    moved = model.predictor_.on(reference)
    assert moved.backend is reference
    np.testing.assert_allclose(moved.predict(X), model.predict(X), atol=1e-12)
