"""Every estimator keeps the contract with torch, on the CPU, and agrees with the CPU's own backend."""

import dataclasses
import itertools
import pickle
import weakref

import numpy as np
import pytest
from scipy.sparse import csr_array

import vectrick as vt
from tests.estimators import test_contract as contract, test_pairwise as pairwise, test_weights as weights
from tests.kernels.formulas import ONE_SET, SIGNS, SUMS
from vectrick.backends.torch.backend import TorchBackend

torch = pytest.importorskip("torch", reason="torch is not installed: the torch backend was left out")


class WithTorch:
    """The same contract, computed by torch."""

    def make(self, **parameters):
        return super().make(**{"backend": "torch", "device": "cpu", **parameters})


class TestRidge(WithTorch, contract.TestRidge):
    pass


class TestRidgeWithIntercept(WithTorch, contract.TestRidgeWithIntercept):
    pass


class TestSVM(WithTorch, contract.TestSVM):
    pass


class TestSVMWithIntercept(WithTorch, contract.TestSVMWithIntercept):
    pass


class TestHingeSVM(WithTorch, contract.TestHingeSVM):
    pass


class TestLogistic(WithTorch, contract.TestLogistic):
    pass


class TestLBFGS(WithTorch, contract.TestLBFGS):
    pass


class TestRanker(WithTorch, contract.TestRanker):
    pass


class TestRankerWithin(WithTorch, contract.TestRankerWithin):
    pass


KINDS = [
    (vt.KronRidge, {"solver": "cg"}),
    (vt.KronRidge, {"solver": "minres"}),
    (vt.KronRidge, {"solver": "qmr"}),
    (vt.KronRidge, {"solver": "cg", "fit_intercept": True}),
    (vt.KronSVM, {"solver": "newton"}),
    (vt.KronSVM, {"solver": "newton-qmr", "step": 1.0, "inner_iter": 10}),
    (vt.KronSVM, {"solver": "newton-direct"}),
    (vt.KronLogistic, {"solver": "newton", "fit_intercept": True}),
    (vt.KronLogistic, {"solver": "lbfgs"}),
    (vt.KronRanker, {"groups": "start", "solver": "cg"}),
    (vt.KronRanker, {"solver": "cg"}),
]


def some_data(m=40, seed=0):
    return vt.datasets.make_checkerboard(m, m - 5, density=0.4, random_state=seed)


@pytest.mark.filterwarnings("ignore:solver")  # a few iterations, to compare them one by one
@pytest.mark.parametrize(("kind", "parameters"), KINDS)
@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 1e-4)])
def test_the_same_iterations_as_on_the_cpu(kind, parameters, form, dtype, tolerance):
    X, y = some_data()
    given = {"alpha": 0.5, "form": form, "dtype": dtype, "max_iter": 4, **parameters}
    kernels = vt.Gaussian(0.5), vt.Gaussian(0.5) + vt.Constant(0.1)
    one = kind(*kernels, **given).fit(X, y)
    other = kind(*kernels, **given, backend="torch", device="cpu").fit(X, y)
    expected = one.predict_grid(X.start_table, X.end_table)
    found = other.predict_grid(X.start_table, X.end_table)
    if parameters.get("solver") == "newton-direct":
        tolerance *= 10  # it solves exactly what float32 has rounded
    assert np.abs(found - expected).max() <= tolerance * np.abs(expected).max()
    if (dtype, parameters.get("solver")) == ("float32", "newton-direct"):
        return  # whether the second step still lowers the risk is a matter of rounding
    assert one.n_iter_ == other.n_iter_
    np.testing.assert_allclose(other.history_["risk"], one.history_["risk"], rtol=max(tolerance, 1e-9))


@pytest.mark.parametrize("intercept", [False, True])
def test_the_closed_form_of_a_complete_graph(intercept):
    X = vt.Edges.grid(*(np.random.default_rng(i).standard_normal((12, 3)) for i in range(2)))
    y = np.random.default_rng(0).standard_normal(len(X))
    one, other = (
        vt.KronRidge("gaussian", "gaussian", solver="eigen", fit_intercept=intercept, backend=backend).fit(X, y)
        for backend in ("cpu", "torch")
    )
    assert other.solution_.reason == "solved exactly"
    np.testing.assert_allclose(other.predict(X), one.predict(X), atol=1e-10)


@pytest.mark.parametrize("form", ["dual", "primal"])
def test_the_hinge_loss_has_the_same_minimum(form):
    X, y = some_data()
    given = {"loss": "hinge", "form": form, "tol": 1e-10}
    one = vt.KronSVM("gaussian", "gaussian", **given).fit(X, y)
    other = vt.KronSVM("gaussian", "gaussian", **given, backend="torch", device="cpu").fit(X, y)
    np.testing.assert_allclose(other.decision_function(X), one.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("form", ["dual", "primal"])
def test_tensors_in_tensors_out(form):
    X, y = some_data()
    arrays = vt.KronSVM("gaussian", "gaussian", form=form, backend="torch", device="cpu").fit(X, y)
    there = vt.Edges(*(torch.as_tensor(v) for v in (X.start, X.end, X.start_table.features, X.end_table.features)))
    model = vt.KronSVM("gaussian", "gaussian", form=form, backend="torch").fit(there, torch.as_tensor(y))
    names = ("dual_coef_", "support_") if form == "dual" else ("coef_", "support_")
    for name in names:
        assert isinstance(getattr(arrays, name), np.ndarray)
        assert torch.is_tensor(getattr(model, name))
        np.testing.assert_allclose(getattr(model, name), getattr(arrays, name), atol=1e-12)
    for method in ("decision_function", "predict"):
        assert isinstance(getattr(model, method)(X), np.ndarray)
        assert torch.is_tensor(getattr(model, method)(there))
        np.testing.assert_allclose(getattr(model, method)(there), getattr(arrays, method)(X), atol=1e-10)
    tables = there.start_table.features, there.end_table.features
    assert torch.is_tensor(model.predict_grid(*tables))
    which, best = model.top_k(*tables, 3)
    assert torch.is_tensor(which)
    expected = arrays.top_k(X.start_table.features, X.end_table.features, 3)
    np.testing.assert_array_equal(which, expected[0])
    np.testing.assert_allclose(best, expected[1], atol=1e-10)
    assert all(torch.is_tensor(block) for _, _, block in model.iter_grid(*tables))


def test_top_k_keeps_the_order_of_ties_across_blocks(monkeypatch):
    monkeypatch.setattr(TorchBackend, "grid_bytes", 8 * 64)
    X = vt.Edges.grid(np.eye(3), np.eye(30))
    y = np.tile(np.repeat([1.0, 0.0, 1.0], 10), 3)
    model = vt.KronRidge(alpha=1e-3, backend="torch", device="cpu").fit(X, y)
    which, _ = model.top_k(np.eye(3), np.eye(30), 12)
    same, _ = vt.KronRidge(alpha=1e-3).fit(X, y).top_k(np.eye(3), np.eye(30), 12)
    assert sorted(which[0]) == sorted(same[0])


def test_gradients_are_left_behind():
    X, y = some_data()
    there = X.on("cpu")
    tables = there.start_table.features.requires_grad_(), there.end_table.features
    model = vt.KronSVM("gaussian", "gaussian", backend="torch").fit(vt.Edges(there.start, there.end, *tables), y)
    assert not model.decision_function(there).requires_grad
    op = vt.kron(torch.eye(3, requires_grad=True), torch.eye(3))
    assert not (op @ torch.ones(9, requires_grad=True)).requires_grad


def test_sparse_tensors_are_refused():
    with pytest.raises(TypeError, match=r"start_features is a sparse tensor; .* dense tensor by .to_dense\(\)"):
        vt.Edges([0], [0], torch.eye(2).to_sparse(), torch.eye(2))
    with pytest.raises(TypeError, match="M is a sparse tensor"):
        vt.kron(torch.eye(2).to_sparse(), torch.eye(2))


def test_grids_of_tensors_are_tensors():
    X = vt.Edges.grid(torch.eye(3), np.eye(4))
    assert X.device == torch.device("cpu")
    model = vt.KronRidge(backend="torch").fit(X, torch.arange(12.0))
    assert torch.is_tensor(model.predict(X))
    assert torch.is_tensor(model.predict_grid(torch.eye(3), np.eye(4)))


def test_edges_on_a_device_that_is_none():
    X, _ = some_data()
    with pytest.raises(ValueError, match="device is 'bogus', but it must be 'auto', 'cpu', 'cuda'"):
        X.on("bogus")


def test_a_pickle_holds_arrays():
    X, y = some_data()
    model = vt.KronSVM("gaussian", "gaussian", backend="torch", device="cpu").fit(X, y)
    assert b"torch._utils" not in pickle.dumps(model)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"precision": "half"}, "precision is 'half', but it must be one of 'full', 'mixed'"),
        ({"precision": "mixed", "solver": "lbfgs"}, "mixed precision is for 'auto', 'cg' and 'newton'"),
        ({"precision": "mixed", "loss": "hinge"}, "the hinge loss has no solver for it; use precision='full'"),
        ({"precision": "mixed", "dtype": "float32"}, "but dtype is 'float32'; leave it out"),
        ({"dtype": "float16"}, "with so few digits the solvers do not converge; use dtype='float32'"),
        ({"dtype": "bfloat16"}, "with so few digits the solvers do not converge; use dtype='float32'"),
        ({"backend": "gpu"}, "backend is 'gpu', but it must be one of 'cpu', 'torch', 'auto'"),
        ({"backend": "torch", "device": "tpu"}, "device is 'tpu', but it must be 'auto', 'cpu', 'cuda'"),
        ({"device": "cuda"}, "backend is 'cpu', but device is 'cuda'; use backend='torch'"),
    ],
)
def test_bad_parameters(parameters, message):
    X, y = some_data()
    with pytest.raises(ValueError, match=message):
        vt.KronSVM("gaussian", "gaussian", **parameters).fit(X, y)


def test_tensors_on_different_devices():
    start, table = torch.tensor([0, 1]), torch.eye(2)
    with pytest.raises(ValueError, match=r"different devices: start on cpu, .*start_features on meta.*with .to\(\)"):
        vt.Edges(start, start, table.to("meta"), table)
    X, y = some_data()
    there = X.on(torch.device("cpu"))
    with pytest.raises(ValueError, match=r"y is on meta, but the edges are on cpu; move one of them with .to\(\)"):
        vt.KronSVM(backend="torch").fit(there, torch.as_tensor(y).to("meta"))


def test_labels_and_validation_of_either_kind():
    X, y = some_data()
    X_val, y_val = some_data(seed=1)
    there, val = X.on(torch.device("cpu")), X_val.on(torch.device("cpu"))
    given = {"alpha": 0.1, "backend": "torch", "max_iter": 5}
    models = [
        vt.KronSVM("gaussian", "gaussian", **given).fit(edges, labels, validation=pair)
        for edges, labels, pair in (
            (X, y, (X_val, y_val)),
            (there, torch.as_tensor(y), (val, torch.as_tensor(y_val))),
            (X, torch.as_tensor(y), (val, y_val)),
            (there, y.astype(int), (X_val, torch.as_tensor(y_val).int())),
        )
    ]
    for model in models[1:]:
        np.testing.assert_allclose(model.history_["score"], models[0].history_["score"], atol=1e-12)


def test_labels_that_are_words():
    X, y = some_data()
    model = vt.KronLogistic("gaussian", "gaussian", backend="torch", device="cpu").fit(X, np.where(y > 0, "yes", "no"))
    assert set(model.predict(X)) == {"yes", "no"}
    proba = model.predict_proba(X)
    np.testing.assert_allclose(
        proba, vt.KronLogistic("gaussian", "gaussian").fit(X, np.where(y > 0, "b", "a")).predict_proba(X), atol=1e-6
    )


@pytest.mark.parametrize("form", ["dual", "primal"])
def test_model_files_and_the_backend_of_predictions(tmp_path, form):
    X, y = some_data()
    model = vt.KronSVM("gaussian", vt.Standardized(vt.Gaussian(0.5)), form=form, backend="torch", device="cpu").fit(
        X, y
    )
    model.save(tmp_path / "model.vt")
    same = vt.load(tmp_path / "model.vt")
    assert (same.backend, same.device) == ("torch", "cpu")
    expected = model.decision_function(X)
    np.testing.assert_allclose(same.decision_function(X), expected, atol=1e-12)
    np.testing.assert_allclose(same.set_params(backend="cpu", device=None).decision_function(X), expected, atol=1e-12)
    np.testing.assert_allclose(model.set_params(backend="cpu", device=None).decision_function(X), expected, atol=1e-12)
    np.testing.assert_array_equal(same.support_, model.support_)


@pytest.mark.parametrize("form", ["dual", "primal"])
def test_a_sum_with_a_kernel_that_is_given_as_a_table(form):
    rng = np.random.default_rng(0)
    F = rng.standard_normal((20, 4))
    K = F @ F.T
    X = vt.Edges(rng.integers(20, size=150), rng.integers(20, size=150), K, K)
    y = rng.standard_normal(150)
    given = {"start_kernel": "precomputed", "end_kernel": "precomputed", "form": form, "tol": 1e-10}
    one, other = vt.KronRidge(**given).fit(X, y), vt.KronRidge(**given, backend="torch", device="cpu").fit(X, y)
    np.testing.assert_allclose(other.predict(X), one.predict(X), atol=1e-7)


@pytest.mark.parametrize("kind", [vt.KronRidge, vt.KronSVM])
def test_paths_of_alpha(kind):
    X, y = some_data(60)
    alphas = [0.1, 1.0, 10.0]
    given = {"random_state": 0, **({} if kind is vt.KronRanker else {"fit_intercept": False})}
    one = vt.alpha_path(kind("gaussian", "gaussian", **given), X, y, alphas=alphas)
    other = vt.alpha_path(kind("gaussian", "gaussian", **given, backend="torch", device="cpu"), X, y, alphas=alphas)
    # Eighty truncated conjugate gradients amplify rounding, and two predictions that are nearly equal may swap.
    np.testing.assert_allclose(other.scores, one.scores, atol=2e-3)
    for model, same in zip(other.models, one.models, strict=True):
        np.testing.assert_allclose(model._decide(X), same._decide(X), atol=1e-6 if kind is vt.KronRidge else 1e-3)


@pytest.mark.filterwarnings("ignore:solver")
def test_resuming_from_a_step():
    X, y = some_data()
    steps = []
    given = {"alpha": 0.01, "backend": "torch", "device": "cpu", "solver": "newton", "inner_iter": 3}
    whole = vt.KronSVM("gaussian", "gaussian", **given).fit(X, y, callback=steps.append)
    assert isinstance(steps[0].x, np.ndarray)
    begun = []

    def stop(step):
        begun.append(step)
        return step.iteration == 2

    vt.KronSVM("gaussian", "gaussian", **given).fit(X, y, callback=stop)
    resumed = vt.KronSVM("gaussian", "gaussian", **given).fit(X, y, resume=begun[-1])
    assert resumed.n_iter_ == whole.n_iter_
    np.testing.assert_allclose(resumed.decision_function(X), whole.decision_function(X), atol=1e-8)


def test_a_failed_fit_leaves_the_old_model():
    X, y = some_data()
    model = vt.KronSVM("gaussian", "gaussian", backend="torch", device="cpu").fit(X, y)
    before = model.decision_function(X)

    def fail(step):
        raise RuntimeError("the callback failed")

    with pytest.raises(RuntimeError, match="the callback failed"):
        model.set_params(alpha=100.0).fit(X, y, callback=fail)
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_kernel_matrices_that_do_not_fit_on_the_device_stay_on_the_host(monkeypatch):
    X, y = some_data(90)
    expected = vt.KronRidge("gaussian", "gaussian", form="dual", solver="cg").fit(X, y).predict(X)
    monkeypatch.setattr(TorchBackend, "has_room", lambda self, n_bytes, share: n_bytes <= 100_000 // share)
    monkeypatch.setattr(TorchBackend, "free_memory", lambda self: 300_000)
    model = vt.KronRidge("gaussian", "gaussian", form="dual", solver="cg", backend="torch", device="cpu").fit(X, y)
    assert "blocks of rows" in model.plan_.reason
    monkeypatch.undo()
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-4)


@pytest.mark.slow
def test_numba_is_not_loaded():
    import subprocess
    import sys

    code = (
        "import sys, vectrick as vt; X, y = vt.datasets.make_checkerboard(40, random_state=0); "
        "vt.KronSVM('gaussian', 'gaussian', backend='torch', device='cpu').fit(X, y).predict(X); "
        "print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.filterwarnings("ignore:solver")
def test_coefficients_that_leave_a_fit_are_in_the_order_of_the_edges():
    X, y = some_data()
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    steps = {"cpu": [], "torch": []}
    given = {"form": "dual", "solver": "newton", "inner_iter": 3, "alpha": 0.01}
    models = {
        backend: vt.KronSVM("gaussian", "gaussian", backend=backend, **given).fit(X, y, callback=found.append)
        for backend, found in steps.items()
    }
    np.testing.assert_array_equal(models["torch"].solution_.x, models["torch"].dual_coef_)
    np.testing.assert_allclose(steps["torch"][0].x, steps["cpu"][0].x, atol=1e-10)
    np.testing.assert_allclose(models["torch"].dual_coef_, models["cpu"].dual_coef_, atol=1e-6)
    first = []

    def stop(step):
        first.append(dataclasses.replace(step, x=step.x.copy()))
        return True

    vt.KronSVM("gaussian", "gaussian", **given).fit(X, y, callback=stop)  # on the CPU, to go on with torch
    resumed = vt.KronSVM("gaussian", "gaussian", backend="torch", device="cpu", **given).fit(X, y, resume=first[0])
    np.testing.assert_allclose(resumed.history_["risk"], models["cpu"].history_["risk"], rtol=1e-6)


@pytest.mark.parametrize("leave", ["edge", "start", "end", "both"])
def test_leave_out_predictions_are_those_of_the_edges(leave):
    rng = np.random.default_rng(0)
    order = rng.permutation(63)
    X, y = vt.Edges.grid(rng.standard_normal((9, 2)), rng.standard_normal((7, 2)))[order], rng.standard_normal(63)
    expected = vt.leave_out_predictions(vt.KronRidge("gaussian", "gaussian"), X, y, leave=leave)
    model = vt.KronRidge("gaussian", "gaussian", backend="torch", device="cpu")
    for edges in (X, X.on("cpu")):
        np.testing.assert_allclose(vt.leave_out_predictions(model, edges, y, leave=leave), expected, atol=1e-12)


def test_primal_form_of_a_kernel_whose_diagonal_rounds():
    rng = np.random.default_rng(0)
    tables = [10 * rng.standard_normal((40, 30)) for _ in range(2)]
    X = vt.Edges(rng.integers(40, size=300), rng.integers(40, size=300), *tables)
    given = {"form": "primal", "backend": "torch", "device": "cpu"}
    model = vt.KronRidge(vt.Gaussian(1.0), vt.Gaussian(1.0), **given).fit(X, rng.standard_normal(300))
    assert model.form_ == "primal"


@pytest.mark.parametrize("kernel", ["linear", "gaussian", "cosine", "polynomial", "tanimoto"])
@pytest.mark.parametrize("form", ["dual", "primal"])
def test_sparse_and_dense_tables_at_training_and_prediction(kernel, form):
    rng = np.random.default_rng(0)
    dense = [np.where(rng.random((12, 5)) < 0.5, rng.random((12, 5)), 0.0) for _ in range(2)]
    start, end, y = rng.integers(12, size=90), rng.integers(12, size=90), rng.standard_normal(90)
    kinds = {
        "dense": vt.Edges(start, end, *dense),
        "sparse": vt.Edges(start, end, *map(csr_array, dense)),
        "one": vt.Edges(start, end, csr_array(dense[0]), dense[1]),
    }
    expected = vt.KronRidge(kernel, kernel, form=form, tol=1e-10).fit(kinds["dense"], y).predict(kinds["dense"])
    for train, test in itertools.product(kinds.values(), repeat=2):
        model = vt.KronRidge(kernel, kernel, form=form, tol=1e-10, backend="torch", device="cpu").fit(train, y)
        np.testing.assert_allclose(model.predict(test), expected, atol=1e-6)


@pytest.mark.parametrize("solver", ["auto", "eigen", "cg"])
def test_what_does_not_fit_on_the_device_predicts_too(monkeypatch, solver):
    rng = np.random.default_rng(0)
    X = vt.Edges.grid(rng.standard_normal((60, 2)), rng.standard_normal((50, 2)))
    if solver == "cg":
        X = X[rng.permutation(3000)[:1000]]
    y = rng.standard_normal(len(X))
    expected = vt.KronRidge("gaussian", "gaussian", form="dual", tol=1e-10, solver="cg").fit(X, y).predict(X)
    monkeypatch.setattr(TorchBackend, "has_room", lambda self, n_bytes, share: n_bytes <= 40_000 // share)
    model = vt.KronRidge(
        "gaussian", "gaussian", form="auto" if solver == "auto" else "dual", tol=1e-10,
        solver="cg" if solver == "eigen" else solver, backend="torch", device="cpu",
    ).fit(X, y)  # fmt: skip
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-5)


def test_keys_of_edges_mean_the_same_for_tensors():
    X, y = some_data()
    there = X.on("cpu")
    for key in (
        y > 0,
        (y > 0).astype(np.uint8),
        [],
        ...,
        slice(None, None, -1),
        slice(2, 9, 3),
        [3, 1],
        -1,
        np.uint32(4),
    ):
        np.testing.assert_array_equal(there[key].start, X[key].start)


def test_words_as_labels_of_tensors():
    X, y = some_data()
    model = vt.KronSVM("gaussian", "gaussian", backend="torch").fit(X.on("cpu"), np.where(y > 0, "yes", "no"))
    assert set(model.predict(X.on("cpu"))) == {"yes", "no"}


def test_scores_and_splits_of_tensors():
    X, y = some_data()
    there, labels = X.on("cpu"), torch.as_tensor(y)
    model = vt.KronSVM("gaussian", "gaussian", backend="torch").fit(there, labels)
    assert model.score(there, labels) == model.score(X, y)
    ridge = vt.KronRidge("gaussian", "gaussian", backend="torch").fit(there, labels)
    assert ridge.score(there, labels) == pytest.approx(ridge.score(X, y))
    assert vt.concordance_index(labels, ridge.predict(there)) > 0.5


def test_a_failed_fit_lets_go_of_its_tensors():
    X, y = some_data()
    alive = []

    def fail(step):
        raise RuntimeError("the callback failed")

    original = vt.Edges.on

    def watched(self, device):
        made = original(self, device)
        alive.append(weakref.ref(made.start))
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vt.Edges, "on", watched)
        kept = None
        try:
            vt.KronSVM("gaussian", "gaussian", backend="torch", device="cpu").fit(X, y, callback=fail)
        except RuntimeError as error:
            kept = error  # as a notebook does
    assert kept is not None
    assert alive
    assert all(one() is None for one in alive)


def test_one_vertex_set_stays_one(tmp_path):
    rng = np.random.default_rng(0)
    X = vt.Edges(rng.integers(9, size=60), rng.integers(9, size=60), rng.standard_normal((9, 2)))
    model = vt.KronRidge("gaussian", "gaussian", backend="torch", device="cpu").fit(X, rng.standard_normal(60))
    model.save(tmp_path / "model.vt")
    same = vt.load(tmp_path / "model.vt")
    assert same.start_table_ is same.end_table_
    same.predict(X)
    assert same.start_table_ is same.end_table_


@pytest.mark.filterwarnings("ignore:solver")
@pytest.mark.parametrize("form", ["dual", "primal"])
def test_resuming_with_early_stopping_goes_back_to_the_best(form):
    X, y = some_data()
    order = np.random.default_rng(0).permutation(len(X))
    X, y, validation = X[order], y[order], some_data(seed=1)
    given = {"form": form, "solver": "newton", "inner_iter": 2, "alpha": 1e-3, "max_iter": 12, "backend": "torch"}
    whole = vt.KronSVM("gaussian", "gaussian", **given).fit(X, y, validation=validation)
    best, steps = whole.n_iter_, []

    def stop(step):
        steps.append(dataclasses.replace(step, x=step.x.copy(), history={k: list(v) for k, v in step.history.items()}))
        return step.iteration > best

    vt.KronSVM("gaussian", "gaussian", **given).fit(X, y, validation=validation, callback=stop)
    resumed = vt.KronSVM("gaussian", "gaussian", **given).fit(X, y, validation=validation, resume=steps[-1])
    assert resumed.n_iter_ == best
    np.testing.assert_allclose(resumed.decision_function(X), whole.decision_function(X), atol=1e-8)


def test_tensors_beside_arrays_become_tensors():
    table = np.eye(3)
    for arrays in itertools.product(
        (np.arange(3), torch.arange(3)), (np.arange(3), torch.arange(3)), (table, torch.eye(3))
    ):
        X = vt.Edges(*arrays, table)
        there = torch.is_tensor(arrays[0]) or torch.is_tensor(arrays[1]) or torch.is_tensor(arrays[2])
        for found in (X.start, X.end, X.start_table.features, X.end_table.features):
            assert torch.is_tensor(found) == there


@pytest.mark.parametrize("name", SUMS)
def test_pairwise_kernels(name):
    S, E, X, y = pairwise.graph(name)
    ours = pairwise.model_of(name).fit(X, y)
    where = {"backend": "torch", "device": "cpu"}
    model = pairwise.model_of(name, **where).fit(X.on("cpu"), torch.as_tensor(y))
    found = model.predict(X.on("cpu"))
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), ours.predict(X), atol=1e-9)
    others = [S + 0.1] if name in ONE_SET else [S + 0.1, E + 0.1]
    grid = model.predict_grid(*(torch.as_tensor(table) for table in others))
    np.testing.assert_allclose(grid.numpy(), ours.predict_grid(*others), atol=1e-9)
    if name in ONE_SET:
        assert bool((grid == SIGNS[name] * grid.T).all())
    host = model.set_params(backend="cpu", device=None).predict(X)
    np.testing.assert_allclose(host, ours.predict(X), atol=1e-9)


def test_learned_weights():
    X, y = weights.problem()
    ours = vt.KronRidge(weights.STARTS, weights.ENDS, kernel_weights="alignment").fit(X, y)
    model = vt.KronRidge(
        weights.STARTS, weights.ENDS, kernel_weights="alignment", backend="torch", device="cpu"
    ).fit(X.on("cpu"), torch.as_tensor(y))  # fmt: skip
    np.testing.assert_allclose(model.kernel_weights_, ours.kernel_weights_)
    np.testing.assert_allclose(model.predict(X.on("cpu")).numpy(), ours.predict(X), atol=1e-5)
