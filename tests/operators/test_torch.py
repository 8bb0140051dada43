"""The operator contract with torch on the CPU, and what is special about tensors and devices."""

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st

import vectrick as vt
from tests.operators import test_contract as contract
from tests.operators.factories import index, kron_matrix, make_edges, make_factor

torch = pytest.importorskip("torch", reason="torch is not installed: the torch backend was left out")

WHERE = {"backend": "torch", "device": "cpu"}
# On a device a sparse factor is dense, so that it has no path of its own.
LEFT_OUT = ("TestSparseFactors", "TestOneSparseFactor", "TestResultsThatPassTheCache")

for _name, _kind in list(vars(contract).items()):
    _is_kron = isinstance(_kind, type) and issubclass(_kind, contract.Kron)
    if _is_kron and _name.startswith("Test") and _name not in LEFT_OUT:
        globals()[_name] = type(_name, (_kind,), {"where": WHERE, "__module__": __name__})


@pytest.mark.slow
class TestBlocks(contract.Kron):
    """A product that fits only block by block."""

    shapes = (160, 150, 140, 170)
    edges = (300, 200)
    where = {**WHERE, "max_memory": "520KB"}  # noqa: RUF012

    def make(self, rng):
        op, matrix = super().make(rng)
        assert "blocks of rows" in op.plan.reason
        assert len(op._blocks.parts) > 1
        return op, matrix


def test_blocks_where_every_row_is_taken():
    rng = np.random.default_rng(0)
    M, N = rng.standard_normal((60, 50)), rng.standard_normal((40, 70))
    cols = make_edges(rng, 700, 50, 70)
    op = vt.kron(M, N, **WHERE, max_memory="100KB")[:, cols]
    assert "blocks of rows" in op.plan.reason
    v, u = rng.standard_normal(700), rng.standard_normal(2400)
    matrix = kron_matrix(M, N, None, cols)
    np.testing.assert_allclose(op @ v, matrix @ v, atol=1e-11)
    np.testing.assert_allclose(op.T @ u, matrix.T @ u, atol=1e-11)


def test_a_factor_that_is_too_large_stays_on_the_host():
    rng = np.random.default_rng(0)
    M, N = rng.standard_normal((200, 150)), rng.standard_normal((20, 30))
    rows, cols = make_edges(rng, 500, 200, 20), make_edges(rng, 400, 150, 30)
    op = vt.kron(M, N, **WHERE, max_memory="150KB")[rows, cols]
    assert isinstance(op.M, np.ndarray)
    v = rng.standard_normal(400)
    np.testing.assert_allclose(op @ v, kron_matrix(M, N, rows, cols) @ v, atol=1e-11)
    every = vt.kron(M, N, **WHERE, max_memory="150KB")[:, cols]
    assert torch.is_tensor(every.N)  # the smaller one is there
    np.testing.assert_allclose(every @ v, kron_matrix(M, N, None, cols) @ v, atol=1e-11)


@pytest.mark.parametrize("large", ["M", "N"])
@pytest.mark.parametrize("width", [64, 100, 1024])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_factor_on_the_host_crosses_in_panels(large, width, dtype, monkeypatch):
    from vectrick.backends.torch import streamed

    monkeypatch.setattr(streamed, "_WIDEST", width)
    rng = np.random.default_rng(0)
    M, N = rng.standard_normal((300, 280)).astype(dtype), rng.standard_normal((20, 30)).astype(dtype)
    rows, cols = make_edges(rng, 500, 300, 20), make_edges(rng, 60, 280, 30)
    if large == "N":
        M, N, rows, cols = N, M, rows[::-1], cols[::-1]
    op = vt.kron(M, N, **WHERE, max_memory=630_000 if dtype is np.float64 else 330_000)[rows, cols]
    assert op.plan.path == "streamed"
    assert f"{large} stays on the host" in op.plan.reason
    assert op.plan.seconds > 0
    assert op.plan.memory <= op.plan.max_memory + 8 * len(rows[0])
    matrix = kron_matrix(M, N, rows, cols)
    V = rng.standard_normal((60, 3)).astype(dtype)
    tolerance = 1e-11 if dtype is np.float64 else 1e-3
    np.testing.assert_allclose(op @ V[:, 0], matrix @ V[:, 0], atol=tolerance)
    np.testing.assert_allclose(op @ V, matrix @ V, atol=tolerance)
    u = rng.standard_normal(500).astype(dtype)
    np.testing.assert_allclose(op.T @ u, matrix.T @ u, atol=tolerance)
    keep = rng.random(500) < 0.5
    np.testing.assert_allclose(op.restrict(rows=keep) @ V[:, 0], matrix[keep] @ V[:, 0], atol=tolerance)
    assert "streamed" in str(op.plan)


def test_nan_on_the_host_is_not_streamed():
    rng = np.random.default_rng(0)
    M, N = rng.standard_normal((300, 280)), rng.standard_normal((20, 30))
    rows, cols = make_edges(rng, 500, 300, 20), make_edges(rng, 60, 280, 30)
    M[:, np.setdiff1d(np.arange(280), cols[0])[0]] = np.nan  # in a column without edges
    op = vt.kron(M, N, **WHERE, max_memory=630_000)[rows, cols]
    assert op.plan.path != "streamed"
    assert np.isfinite(op @ rng.standard_normal(60)).all()


def test_what_does_not_fit_in_any_number_of_blocks_is_refused_before_it_is_made():
    eye = torch.eye(300)
    edges = 2 * (torch.arange(300).repeat(10),)
    with pytest.raises(MemoryError, match=r"needs .* but max_memory is 3 KB; its largest array is the"):
        vt.kron(eye, eye, max_memory="3KB")[edges, edges]


@given(
    shapes=st.tuples(*4 * [st.integers(1, 20)]),
    kinds=st.tuples(*2 * [st.sampled_from(["C", "F", "strided", "low-rank"])]),
    n_edges=st.tuples(*2 * [st.one_of(st.none(), st.integers(1, 60))]),
    single=st.booleans(),
    in_order=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_every_path_equals_np_kron_and_the_cpu(shapes, kinds, n_edges, single, in_order, seed):
    rng = np.random.default_rng(seed)
    a, b, c, d = shapes
    dtype = np.float32 if single else np.float64
    M, N = make_factor(rng, a, b, kinds[0], dtype), make_factor(rng, c, d, kinds[1], dtype)
    rows, cols = (
        None if n is None else make_edges(rng, n, *sizes) for n, sizes in zip(n_edges, ((a, c), (b, d)), strict=True)
    )
    if in_order and cols is not None:
        order = np.lexsort(cols)
        cols = cols[0][order], cols[1][order]
    matrix = kron_matrix(M, N, rows, cols)
    v = rng.standard_normal(matrix.shape[1]).astype(dtype)
    expected, tolerance = matrix @ v.astype(float), 1e-4 if single else 1e-10
    scale = max(np.abs(matrix).max() * np.abs(v).sum(), 1e-300)
    for path in vt.kron(M, N, **WHERE)[index(rows), index(cols)].plan.estimates:
        op = vt.kron(M, N, path=path.path, **WHERE)[index(rows), index(cols)]
        for found in (op @ v, vt.kron(M, N)[index(rows), index(cols)] @ v):
            assert np.abs(found - expected).max(initial=0.0) <= tolerance * scale


def test_results_are_of_the_kind_that_came_in():
    rng = np.random.default_rng(0)
    M, N = rng.standard_normal((5, 5)), rng.standard_normal((4, 4))
    pair = make_edges(rng, 12, 5, 4)
    v = rng.standard_normal(12)
    for factors, where in (((M, N), {}), ((M, N), WHERE), ((torch.as_tensor(M), torch.as_tensor(N)), {})):
        op = vt.kron(*factors, **where)[pair, pair]
        expected = kron_matrix(M, N, pair, pair) @ v
        assert isinstance(op @ v, np.ndarray)
        assert torch.is_tensor(op @ torch.as_tensor(v))
        np.testing.assert_allclose(op @ v, expected, atol=1e-12)
        np.testing.assert_allclose((op @ torch.as_tensor(v)).numpy(), expected, atol=1e-12)


def test_tensors_as_edges_and_masks():
    rng = np.random.default_rng(0)
    M, N = torch.randn(5, 5, dtype=torch.float64), torch.randn(4, 4, dtype=torch.float64)
    pair = tuple(torch.as_tensor(part) for part in make_edges(rng, 12, 5, 4))
    op = vt.kron(M, N)[pair, pair]
    mask = torch.arange(12) % 2 == 0
    whole = op @ torch.eye(12, dtype=torch.float64)
    assert torch.allclose(
        op.restrict(rows=mask, cols=mask) @ torch.ones(6, dtype=torch.float64), whole[mask][:, mask].sum(1)
    )


def test_an_operator_of_the_cpu_takes_tensors_as_edges_and_masks():
    edges = 2 * (torch.arange(3),)
    op = vt.kron(np.eye(3), np.eye(3))[edges, edges]
    assert (op @ np.ones(3) == 1).all()
    assert (op.restrict(cols=torch.tensor([True, False, True])) @ np.ones(2) == [1, 0, 1]).all()


def test_bfloat16_is_computed_in_float32():
    half = torch.eye(3, dtype=torch.bfloat16)
    assert vt.kron(half, half).dtype == np.float32


def test_backend_cpu_takes_tensors_to_numpy():
    M = torch.eye(3, dtype=torch.float64)
    op = vt.kron(M, M, backend="cpu")
    assert op.device is None
    assert isinstance(op @ np.ones(9), np.ndarray)


def test_sums_of_operators_on_different_devices_are_refused():
    one, other = vt.kron(np.eye(2), np.eye(2)), vt.kron(np.eye(2), np.eye(2), **WHERE)
    with pytest.raises(ValueError, match="different devices: None, cpu"):
        one + other


def test_factors_on_different_devices_are_refused():
    with pytest.raises(
        ValueError, match="the factors are on different devices: M on cpu, N on meta, but both must be on one"
    ):
        vt.kron(torch.eye(2), torch.eye(2, device="meta"))


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"backend": "numpy"}, "backend is 'numpy', but it must be one of 'cpu', 'torch', 'auto'"),
        ({"backend": "torch", "device": "gpu"}, "device is 'gpu', but it must be 'auto', 'cpu', 'cuda'"),
        ({"backend": "torch", "device": "cuda:x"}, "device is 'cuda:x', but it must be"),
        ({"backend": "cpu", "device": "cuda"}, "backend is 'cpu', but device is 'cuda'; use backend='torch'"),
    ],
)
def test_bad_devices(where, message):
    with pytest.raises(ValueError, match=message):
        vt.kron(np.eye(2), np.eye(2), **where)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there():
    for where in ({"backend": "torch", "device": "cuda"}, {"backend": "auto", "device": "cuda"}, {"device": "cuda:1"}):
        with pytest.raises(
            ValueError, match=r"device is 'cuda.*', but .*; use device='cpu' or 'auto', or backend='cpu'"
        ):
            vt.kron(np.eye(2), np.eye(2), **where)
    assert vt.kron(np.eye(2), np.eye(2), backend="auto").device is None  # silently, since nobody asked for one


def test_a_path_that_a_device_does_not_have_is_named():
    sparse = make_factor(np.random.default_rng(0), 6, 6, "sparse")
    with pytest.raises(ValueError, match="path is 'thin', but this product can only be computed by dense-sparse:M"):
        vt.kron(sparse, np.eye(4), path="thin", **WHERE)[([0, 1], [0, 1]), ([0, 1], [0, 1])]


def test_tf32_is_never_used_silently():
    from vectrick.backends.torch.devices import float32_products

    settings = torch.backends.cuda.matmul
    before = settings.fp32_precision
    try:
        settings.fp32_precision = "tf32"  # as another library may have left it
        with float32_products(fast=False):
            assert settings.fp32_precision == "ieee"
        assert settings.fp32_precision == "tf32"
        settings.fp32_precision = "ieee"
        with float32_products(fast=True):
            assert settings.fp32_precision == "tf32"
        assert settings.fp32_precision == "ieee"
    finally:
        settings.fp32_precision = before


def test_an_operator_and_its_transpose_do_not_keep_each_other_alive():
    import gc
    import weakref

    op = vt.kron(torch.eye(3), torch.eye(3))[([0, 1], [0, 1]), ([0, 1], [0, 1])]
    assert op.T.T is op
    gone = weakref.ref(op)
    gc.disable()
    try:
        op @ torch.ones(2)
        del op
        assert gone() is None
    finally:
        gc.enable()


def test_the_plan_of_a_device_says_so():
    op = vt.kron(np.eye(30), np.eye(20), **WHERE)[2 * (np.arange(20),), 2 * (np.arange(20),)]
    assert op.plan.title.endswith("float64, torch on cpu")
    assert {estimate.path.partition(":")[0] for estimate in op.plan.estimates} >= {"sparse", "dense", "dense-sparse"}


def test_equal_edges_add_up_in_the_same_order():
    rng = np.random.default_rng(0)
    pair = make_edges(rng, 5000, 4, 3)
    v = rng.standard_normal(5000) * 10.0 ** rng.integers(-8, 8, 5000)
    for path, shuffle in itertools.product(("dense", "sparse"), (False, True)):
        order = rng.permutation(5000) if shuffle else np.lexsort(pair[::-1])
        edges = pair[0][order], pair[1][order]
        op = vt.kron(np.eye(4), np.eye(3), path=path, **WHERE)[edges, edges]
        first = op @ v
        assert (op @ v == first).all()
        np.testing.assert_allclose(first, vt.kron(np.eye(4), np.eye(3))[edges, edges] @ v, rtol=1e-9)


def test_edges_that_change_afterwards_do_not_matter():
    p, q = torch.arange(4, dtype=torch.int32), torch.arange(4, dtype=torch.int32)
    op = vt.kron(torch.randn(4, 4), torch.randn(4, 4), path="sparse")[(p, q), (p, q)]
    before = op @ torch.ones(4)
    p.zero_()
    assert (op @ torch.ones(4) == before).all()
    assert torch.allclose(op.T @ torch.ones(4), (op @ torch.eye(4)).sum(0), atol=1e-5)


def test_thin_tensors_on_the_cpu():
    A = torch.randn(5, 2, dtype=torch.float64)
    op = vt.kron(vt.LowRank(A), np.eye(2), backend="cpu")
    np.testing.assert_allclose(op @ np.ones(10), np.kron((A @ A.T).numpy(), np.eye(2)) @ np.ones(10), atol=1e-12)


def test_no_rows_of_a_factor_on_the_host():
    op = vt.kron(np.ones((200, 200)), np.ones((20, 20)), **WHERE, max_memory="100KB")[([], []), ([0], [0])]
    assert (op @ np.ones(1)).shape == (0,)


def test_settings_of_float32_survive_threads():
    from concurrent.futures import ThreadPoolExecutor

    from vectrick.backends.torch.devices import float32_products

    before = torch.backends.cuda.matmul.fp32_precision

    def work(number):
        with float32_products(fast=number % 2 == 0):
            return torch.backends.cuda.matmul.fp32_precision == ("tf32" if number % 2 == 0 else "ieee")

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(200)))
    assert torch.backends.cuda.matmul.fp32_precision == before


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("order", ["first", "second", "none"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("in_turns", [False, True])
def test_matrices_that_are_made_tile_by_tile(thin, order, dtype, in_turns, monkeypatch):
    """Dense paths, both entering and leaving, with repeated edges in any order, which are joined or added in turns."""
    from vectrick.backends.torch import tiles

    monkeypatch.setattr(tiles, "TILE_BYTES", 1500)
    monkeypatch.setattr(tiles, "_FEW", 1.0 if in_turns else 0.0)
    rng = np.random.default_rng(0)
    M, N = rng.standard_normal((45, 30)).astype(dtype), rng.standard_normal((37, 52)).astype(dtype)
    rows, cols = make_edges(rng, 700, 45, 37), make_edges(rng, 900, 30, 52)  # more than there are different pairs
    if order != "none":
        by = (lambda pair: np.lexsort(pair[::-1])) if order == "first" else np.lexsort
        rows, cols = (tuple(part[by(pair)] for part in pair) for pair in (rows, cols))
    matrix = kron_matrix(M, N, rows, cols)
    factors = (M, N)
    if thin:
        U, s, V = np.linalg.svd(M.astype(np.float64), full_matrices=False)
        factors = (vt.LowRank((U * s).astype(dtype), V.T.astype(dtype)), N)
    v, u = rng.standard_normal(900).astype(dtype), rng.standard_normal(700).astype(dtype)
    tolerance = 1e-10 if dtype is np.float64 else 2e-3
    seen = set()
    for path in vt.kron(*factors, **WHERE)[rows, cols].plan.estimates:
        op = vt.kron(*factors, path=path.path, **WHERE)[rows, cols]
        seen |= {stage.label for stage in op._path.stages if "tiles" in stage.label}
        np.testing.assert_allclose(op @ v, matrix @ v, atol=tolerance, err_msg=path.path)
        np.testing.assert_allclose(op.T @ u, matrix.T @ u, atol=tolerance, err_msg=path.path)
    assert len(seen) == 2


def test_numbers_split_for_tf32_add_up():
    from vectrick.backends.torch.tiles import split

    x = torch.randn(10_000, dtype=torch.float32) * torch.logspace(-20, 20, 10_000)
    high, low = split(x)
    assert torch.equal(high + low, x)
    assert bool((low.abs() <= 2.0**-11 * x.abs()).all())
    assert not bool((high.view(torch.int32) & 0x1FFF).any())
