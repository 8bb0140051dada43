"""The primitives of the torch backend: layouts, products in plain torch, and Triton's kernels in its interpreter."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the torch backend was left out")

from vectrick.backends import HOST, settle_backend  # noqa: E402
from vectrick.backends.torch import products  # noqa: E402
from vectrick.backends.torch.backend import backend_on  # noqa: E402
from vectrick.backends.torch.devices import as_device  # noqa: E402
from vectrick.backends.torch.layout import Cells, EdgeBlocks, Scattering  # noqa: E402
from vectrick.backends.torch.rates import device_rates, measure  # noqa: E402
from vectrick.backends.torch.workspace import TensorSpace  # noqa: E402


def edges(rng, n, n_rows, n_cols):
    return tuple(torch.as_tensor(rng.integers(size, size=n), dtype=torch.int32) for size in (n_rows, n_cols))


def test_cells_are_kept_the_way_the_edges_are_ordered():
    i, j = torch.tensor([0, 0, 2]), torch.tensor([1, 3, 0])
    assert (Cells.of(i, j, 3, 4).index == torch.tensor([1, 3, 8])).all()
    turned = Cells.of(j[[2, 0, 1]], i[[2, 0, 1]], 4, 3)
    assert (turned.flipped, turned.is_ascending) == (False, True)
    assert Cells.of(i, torch.tensor([3, 1, 0]), 3, 4).is_ascending is False
    flipped = Cells.of(torch.tensor([1, 0, 2]), torch.tensor([0, 1, 1]), 3, 2)
    assert flipped.flipped
    assert (flipped.index == torch.tensor([1, 3, 5])).all()


@pytest.mark.parametrize("repeated", [False, True])
def test_scatter_adds_up_equal_cells(repeated):
    rng = np.random.default_rng(0)
    cells = rng.integers(20, size=60) if repeated else rng.permutation(20)
    x = torch.as_tensor(rng.standard_normal(len(cells)))
    how = Scattering.of(Cells.of(torch.as_tensor(cells // 5), torch.as_tensor(cells % 5), 4, 5))
    grid = torch.zeros(20, dtype=torch.float64)
    products.scatter(x, how, grid)
    np.testing.assert_allclose(grid, np.bincount(cells, x, 20), atol=1e-14)


def test_blocks_cover_every_edge_once_and_stay_in_a_row():
    rng = np.random.default_rng(0)
    row, column = edges(rng, 5000, 7, 11)
    row[:3000] = 4  # a row that needs several blocks
    blocks = EdgeBlocks.of(row, column, 9, 11)
    assert blocks.some_empty
    assert blocks.shared is not None
    sizes = blocks.start.diff()
    assert int(sizes.sum()) == 5000
    assert (blocks.row.repeat_interleave(sizes) == row[blocks.order.long()]).all()
    assert (blocks.column == column[blocks.order.long()]).all()
    assert (blocks.order[blocks.position.long()] == torch.arange(5000)).all()


def test_sparse_and_sampled_product():
    rng = np.random.default_rng(0)
    row, column = edges(rng, 500, 9, 30)
    blocks = EdgeBlocks.of(row, column, 12, 30)
    E, A = torch.as_tensor(rng.standard_normal((30, 17))), torch.as_tensor(rng.standard_normal((12, 17)))
    values = torch.as_tensor(rng.standard_normal(500))
    out, found = (
        torch.full((12, 17), torch.nan, dtype=torch.float64),
        torch.full((500,), torch.nan, dtype=torch.float64),
    )
    products.sparse_product(E, values, blocks, out)
    V = np.zeros((12, 30))
    np.add.at(V, (row[blocks.order.long()], column[blocks.order.long()]), values)
    np.testing.assert_allclose(out, V @ E.numpy(), atol=1e-12)
    products.sampled_product(A, E, blocks, found)
    np.testing.assert_allclose(found[blocks.position.long()], (A @ E.T)[row.long(), column.long()], atol=1e-12)


def test_a_buffer_of_zeros_begins_with_zeros_and_is_kept():
    space, like = TensorSpace(torch.device("cpu")), torch.empty(0)
    grid = space.get("grid", (2, 3), like, zero=True)
    assert (grid == 0).all()
    grid[0, 0] = 5.0
    assert space.get("grid", (2, 3), like, zero=True)[0, 0] == 5.0


def test_devices():
    assert as_device("cpu") == torch.device("cpu")
    cpu, meta = backend_on(torch.device("cpu")), backend_on(torch.device("meta"))
    assert settle_backend("cpu", None) is HOST
    assert settle_backend("torch", "cpu") is cpu
    assert settle_backend("torch", None, cpu) is cpu
    with pytest.raises(ValueError, match="the data are tensors on meta; use backend='torch'"):
        settle_backend("cpu", None, meta)
    with pytest.raises(ValueError, match=r"device is 'cpu', but the data are tensors on meta; move them with .to\(\)"):
        settle_backend("torch", "cpu", meta)
    assert cpu.free_memory() > 2**20


@pytest.mark.slow
def test_rates_are_measured_and_remembered(tmp_path, monkeypatch):
    monkeypatch.setenv("VECTRICK_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("vectrick.backends.rates._found", {})
    device = torch.device("cpu")
    assert not device_rates(np.dtype(float), device, False, measured=False).measured
    rates = device_rates(np.dtype(float), device, False, measured=True)
    assert rates.measured
    assert min(rates.gemm, rates.sparse_large, rates.sampled_large, rates.move, rates.take, rates.add_at) > 0
    assert device_rates(np.dtype(float), device, False, measured=False) is rates
    assert len(list(tmp_path.glob("rates-*cpu*.json"))) == 1
    assert measure("float32", device).measured


# Triton's interpreter runs the kernels on the CPU, one program after the other: their logic, not their speed.
_INTERPRETED = """
import numpy as np, torch
import vectrick as vt
from vectrick.backends.torch import kernels, products
from vectrick.backends.torch.layout import EdgeBlocks, Cells, Scattering

from vectrick.backends.torch import backend
products.uses_triton = backend.uses_triton = lambda x: True
products._here = lambda x: __import__("contextlib").nullcontext()
torch.cuda.device = lambda device: __import__("contextlib").nullcontext()
rng = np.random.default_rng(0)
for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-4)):
    n_edges = 3000
    M, N = rng.standard_normal((14, 11)).astype(dtype), rng.standard_normal((9, 300)).astype(dtype)
    hub = np.where(rng.random(n_edges) < 0.5, 3, rng.integers(300, size=n_edges))
    rows, cols = (rng.integers(14, size=70), rng.integers(9, size=70)), (rng.integers(11, size=n_edges), hub)
    v = rng.standard_normal(n_edges).astype(dtype)
    expected = vt.kron(M, N)[rows, cols] @ v
    for path in ("sparse:M", "sparse:N", "dense:M", "dense-sparse:N", "sparse-dense:M"):
        found = vt.kron(M, N, path=path, backend="torch", device="cpu")[rows, cols] @ v
        assert np.abs(found - expected).max() <= tolerance * np.abs(expected).max(), path
print("done")
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed: its kernels were left out")
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU: benchmarks/gpu.py checks the kernels on it")
def test_triton_kernels_in_the_interpreter():
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, "-c", _INTERPRETED]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert done.stdout.strip() == "done", done.stderr


@pytest.mark.slow
def test_the_benchmark_runs_at_small_size(tmp_path):
    root = Path(__file__).parent.parent.parent
    command = [sys.executable, "-m", "benchmarks.gpu", "--device", "cpu", "--quick", "--output", tmp_path / "gpu.json"]
    command += ["--only", "products", "sampled", "planner", "billion"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=root)
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "gpu.json").read_text())
    assert results["errors"]["float64"] < 1e-10
    assert all(row["seconds"] > 0 for row in results["rows"])
    assert results["memory"]["left after a failed fit"] == 0
