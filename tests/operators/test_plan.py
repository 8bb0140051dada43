"""The planner: the cheapest path that fits, said in a table that a person understands."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import random_array

import vectrick as vt
from tests.operators.factories import make_edges
from vectrick.backends.cpu.rates import default_rates
from vectrick.backends.product_path import PATHS, is_path_name, mirrored
from vectrick.operators.plan import format_seconds, format_table


@pytest.fixture(autouse=True)
def typical_rates(monkeypatch):
    """The choice is judged at typical rates, so that it does not depend on the machine."""
    monkeypatch.setattr("vectrick.backends.cpu.backend.machine_rates", default_rates)
    monkeypatch.setattr("vectrick.backends.cpu.backend.known_rates", default_rates)


def plan_of(m, q, n_edges, **options):
    rng = np.random.default_rng(0)
    edges = make_edges(rng, n_edges, m, q)
    return vt.kron(np.ones((m, m)), np.ones((q, q)), n_threads=2, **options)[edges, edges].plan


def test_sparse_graphs_are_sparse_and_complete_ones_dense():
    assert plan_of(800, 800, 10_000).path.startswith("sparse:")
    assert plan_of(300, 300, 200_000).path.startswith("dense:")


def test_low_rank_pays_for_itself():
    edges = make_edges(np.random.default_rng(0), 50_000, 1000, 1000)
    thin = vt.LowRank(np.ones((1000, 5)))
    assert vt.kron(thin, thin)[edges, edges].plan.path.startswith("thin-")
    thick = vt.LowRank(np.ones((1000, 1500)))
    assert not vt.kron(thick, thick)[edges, edges].plan.path.startswith("thin-")


def test_the_order_of_the_factors_follows_their_sizes():
    assert plan_of(1500, 150, 20_000).path == "sparse:M"
    assert plan_of(150, 1500, 20_000).path == "sparse:N"


def test_less_memory_takes_another_path():
    free = plan_of(800, 800, 160_000)
    tight = (free.memory + min(estimate.memory for estimate in free.estimates)) // 2
    other = plan_of(800, 800, 160_000, max_memory=tight)
    assert other.memory <= tight
    assert other.path != free.path
    assert "that fit into" in other.reason
    assert "(too much)" in str(other)


def test_the_table_says_what_and_why():
    plan = plan_of(800, 800, 10_000)
    text = str(plan)
    assert "10000 rows and 10000 columns of M ⊗ N, M 800 × 800, N 800 × 800, float64, 2 threads" in text
    assert text.count("→") == 1
    assert plan.path in text.splitlines()[-1]
    assert "sparse product, sampled product" in text
    assert [estimate.seconds for estimate in plan.estimates] == sorted(estimate.seconds for estimate in plan.estimates)
    assert plan.seconds == plan.chosen.seconds
    assert plan.memory == sum(array.n_bytes for array in plan.chosen.arrays)
    forced = plan_of(800, 800, 10_000, path="dense")
    assert "asked for by path='dense'" in str(forced)


def test_measured_rates_are_named(monkeypatch):
    measured = []
    measure = "vectrick.backends.cpu.backend.machine_rates"
    monkeypatch.setattr(measure, lambda *key: measured.append(key) or default_rates(*key))
    plan_of(20, 20, 30)  # short
    plan_of(1500, 1500, 10_000)  # clear
    assert not measured
    plan_of(800, 800, 100_000)
    assert measured == [(np.dtype(float), 2)]


def test_restriction_keeps_the_prepared_path():
    rng = np.random.default_rng(0)
    edges = make_edges(rng, 20_000, 400, 400)
    op = vt.kron(np.ones((400, 400)), np.ones((400, 400)))[edges, edges]
    part = op.restrict(cols=rng.random(20_000) < 0.9)
    assert part.plan.path == op.plan.path
    assert "kept" in part.plan.reason


def test_path_names():
    assert all(is_path_name(name) for name in PATHS)
    assert is_path_name("thin:M")
    assert not is_path_name("sparse:")
    assert mirrored(mirrored("thin-sparse-dense:N")) == "thin-sparse-dense:N"


def test_formats():
    assert [format_seconds(s) for s in (12.0, 0.0123, 4.2e-5)] == ["12 s", "12.3 ms", "42 µs"]
    assert format_table(["a", "b"], [["xx", "y"]]) == "a   b\nxx  y"


@pytest.mark.parametrize("kinds", [("dense", "dense"), ("csr", "dense"), ("coo", "csr"), ("low", "csc")])
def test_the_operator_keeps_to_its_memory(kinds):
    """Buffers are aligned to huge pages only if the slack fits into max_memory, too."""
    rng = np.random.default_rng(0)
    limit = 20_000_000

    def factor(kind, m, q):
        if kind == "low":
            return vt.LowRank(rng.standard_normal((m, 5)), rng.standard_normal((q, 5)))
        return (
            rng.standard_normal((m, q)) if kind == "dense" else random_array((m, q), density=0.05, format=kind, rng=rng)
        )

    M, N = factor(kinds[0], 733, 568), factor(kinds[1], 526, 899)
    rows = rng.integers(0, 733, 100_000), rng.integers(0, 526, 100_000)
    cols = rng.integers(0, 568, 34_000), rng.integers(0, 899, 34_000)
    v = rng.standard_normal(34_000)
    vt.kron(M, N)[rows, cols] @ v  # compiles, and loads what is loaded late
    tracemalloc.start()
    op = vt.kron(M, N, max_memory=limit)[rows, cols]
    op @ v
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert op.plan.memory <= limit
    assert peak < 1.3 * limit  # with what sorting takes in passing
