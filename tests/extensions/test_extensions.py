"""What users bring works like what is there: in fit, in text, in files, in searches and comparisons."""

import inspect
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

import vectrick as vt
from tests.extensions import mine, registries_restored
from vectrick.backends.registry import _OTHERS
from vectrick.extensions import FAMILIES
from vectrick.kernels.text import format_kernel, parse_kernel
from vectrick.persistence.checkpoints import fingerprint

G = vt.Gaussian(gamma=0.5)
RECORDING = mine.Recording()


@pytest.fixture(scope="module", autouse=True)
def registered():
    with registries_restored():
        for extension in (mine.Laplacian, mine.Huber, mine.Boosting, mine.Descent, mine.Weighted, RECORDING):
            vt.register(extension)
        yield


@pytest.fixture(scope="module")
def data():
    return vt.datasets.make_checkerboard(40, 30, density=0.5, noise=0.0, random_state=0)


def models():
    return {
        "kernel": vt.KronRidge(mine.Laplacian(0.5), "laplacian", alpha=0.1),
        "loss of values": vt.KronRidge(G, G, loss=mine.Huber, alpha=0.1),
        "loss of classes": vt.KronSVM(G, G, loss="exponential", alpha=0.1),
        "solver": vt.KronRidge(G, G, solver=mine.Descent(), alpha=1.0, tol=1e-3),
        "solver by name": vt.KronRidge(G, G, solver="descent", alpha=1.0, tol=1e-3),
        "pairwise": vt.KronRidge(G, G, pairwise=mine.Weighted(2.0), alpha=0.1),
        "backend": vt.KronSVM(G, G, backend="recording", alpha=0.1, form="dual", solver="newton"),
        "backend object": vt.KronRidge(G, G, backend=RECORDING, alpha=0.1),
    }


@pytest.mark.parametrize("name", models())
def test_trains_predicts_saves_and_loads(name, data, tmp_path):
    X, y = data
    model = models()[name].fit(X, y)
    predict = "decision_function" if hasattr(model, "decision_function") else "predict"
    expected = getattr(model, predict)(X)
    assert np.mean(np.sign(expected) == y) > 0.8
    model.save(tmp_path / "model.vt")
    same = vt.load(tmp_path / "model.vt")
    assert np.array_equal(getattr(same, predict)(X), expected)
    assert np.array_equal(clone(same).fit(X, y).predict(X), model.predict(X))


@pytest.mark.parametrize("name", ["Laplacian", "Huber", "Boosting", "Descent", "Weighted", "Recording"])
def test_an_extension_is_short(name):
    assert len(inspect.getsource(getattr(mine, name)).splitlines()) < 40


def test_the_backend_was_asked(data):
    X, y = data
    RECORDING.asked.clear()
    vt.KronSVM(G, G, backend="recording", form="dual", solver="newton").fit(X, y).predict(X)
    assert RECORDING.asked["products"] > 0
    assert RECORDING.asked["plans"] > 0
    assert RECORDING.asked["memory"] > 0
    assert vt.kron(np.eye(3), np.eye(2), backend=RECORDING).backend is RECORDING


def test_the_same_as_without(data):
    X, y = data
    own = vt.KronRidge(G, G, solver="descent", alpha=1.0, tol=1e-6, max_iter=5000).fit(X, y)
    assert own.solution_.converged
    np.testing.assert_allclose(own.predict(X), vt.KronRidge(G, G, alpha=1.0).fit(X, y).predict(X), atol=1e-3)
    weighted = vt.KronRidge(G, G, pairwise=mine.Weighted(0.0)).fit(X, y).predict(X)
    np.testing.assert_allclose(weighted, vt.KronRidge(G, G).fit(X, y).predict(X), atol=1e-4)


def test_a_kernel_has_its_name_in_text():
    assert parse_kernel("laplacian(0.5) + constant(2)").first.gamma == 0.5
    assert format_kernel(mine.Laplacian(0.25)) == "laplacian(gamma=0.25)"


def test_they_can_be_searched_and_compared(data):
    X, y = data
    grid = {"start_kernel": [mine.Laplacian(0.1), "laplacian"], "pairwise": ["weighted", "kronecker"], "alpha": [0.1]}
    found = vt.vertex_search(vt.KronRidge(end_kernel=G, max_iter=10), X, y, grid, n_jobs=1)
    assert len(found.choices) == 4
    compared = vt.compare_kernels(X, y, vt.KronRidge(G, G), settings=["neither"], n_folds=2, alphas=[1.0], n_jobs=1)
    assert "weighted" in compared.frame["kernel"].tolist()
    scores = vt.compare({"mine": vt.KronRidge("laplacian", "laplacian")}, X, y, cv=vt.VertexKFold(2, 2), baselines={})
    assert np.isfinite(scores["mean"]).all()


def test_a_solver_refuses_what_it_cannot_do(data):
    X, y = data
    with pytest.raises(ValueError, match="solver is 'descent', which needs a quadratic loss, but the loss is Huber"):
        vt.KronRidge(loss="huber", solver="descent").fit(X, y)
    with pytest.raises(ValueError, match="solver is 'descent', but mixed precision is for 'auto', 'cg' and 'newton'"):
        vt.KronRidge(solver=mine.Descent(), precision="mixed").fit(X, y)


def test_a_loss_of_the_other_kind_is_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="loss is 'huber', but it is for real-valued labels; use KronRidge"):
        vt.KronSVM(loss="huber").fit(X, y)
    with pytest.raises(ValueError, match="but it is for classes; use KronSVM"):
        vt.KronRidge(loss=mine.Boosting).fit(X, y)


@pytest.mark.slow
def test_a_file_that_names_an_unknown_one_is_refused(data, tmp_path):
    X, y = data
    for number, model in enumerate((models()["kernel"], models()["pairwise"])):
        model.fit(X, y).save(tmp_path / f"{number}.vt")
    code = (
        "import sys, vectrick as vt\n"
        "for path in sys.argv[1:]:\n"
        "    try: vt.load(path)\n"
        "    except vt.ModelFileError as error: print(error)\n"
    )
    paths = [str(tmp_path / "0.vt"), str(tmp_path / "1.vt")]
    done = subprocess.run([sys.executable, "-c", code, *paths], capture_output=True, text=True, check=True)
    lines = done.stdout.strip().splitlines()
    assert "it names the kernel 'laplacian', but this is not registered" in lines[0]
    assert "'weighted'" in lines[1]


class Unregistered(mine.Laplacian):
    name = "unregistered"


def test_what_is_not_registered_trains_but_is_not_saved(data, tmp_path):
    X, y = data
    model = vt.KronRidge(Unregistered(), G).fit(X, y)
    with pytest.raises(ValueError, match=r"yours after vt\.register"):
        model.save(tmp_path / "model.vt")
    assert not (tmp_path / "model.vt").exists()


def test_bad_registrations():
    with pytest.raises(TypeError, match="register was given an object of type int, but it takes a subclass of Kernel"):
        vt.register(3)
    with pytest.raises(ValueError, match="'gaussian' is already the name of Gaussian"):
        vt.register(type("Other", (mine.Laplacian,), {"name": "gaussian"}))
    with pytest.raises(ValueError, match="Nameless has no name"):
        vt.register(type("Nameless", (mine.Laplacian,), {"name": ""}))
    assert vt.register(mine.Laplacian) is mine.Laplacian  # once more, as in a notebook
    with pytest.raises(ValueError, match="a backend is called 'cpu' already"):
        vt.register(type("Cpu", (mine.Recording,), {"name": "cpu"})())
    with pytest.raises(ValueError, match="a backend is called 'recording' already"):
        vt.register(type("Another", (vt.backends.NumpyBackend,), {"name": "recording"})())
    with pytest.raises(ValueError, match="called 'auto', but this name is reserved"):
        vt.register(type("Auto", (mine.Descent,), {"name": "auto"}))


def test_a_class_that_is_defined_again_takes_the_place_of_its_old_self():
    with registries_restored():
        old = type("Twice", (mine.Laplacian,), {"name": "first", "__module__": "page"})
        new = type("Twice", (mine.Laplacian,), {"name": "second", "__module__": "page"})
        vt.register(old)
        vt.register(new)
        assert vt.kernels.KERNELS.called("Twice") is new
        assert "first" not in vt.kernels.KERNELS


def test_a_subclass_has_its_own_names_only():
    with registries_restored():
        vt.register(type("Wide", (vt.Gaussian,), {"name": "wide"}))
        assert vt.kernels.KERNELS["rbf"] is vt.Gaussian


class Damped(mine.Descent):
    name = "damped"

    def __init__(self, damp=1.0):
        self.damp = damp


def test_parameters_of_a_solver_are_kept_and_set(data, tmp_path):
    X, y = data
    with registries_restored():
        vt.register(Damped)
        model = vt.KronRidge(G, G, solver=Damped(0.5), tol=1e-2).fit(X, y)
        model.save(tmp_path / "model.vt")
        assert vt.load(tmp_path / "model.vt").solver.damp == 0.5
        assert clone(model).set_params(solver__damp=0.25).solver.damp == 0.25
        assert repr(model.solver) == "Damped(damp=0.5)"


@pytest.mark.slow
def test_names_reach_the_processes_of_a_search(data):
    X, y = data
    model = vt.KronRidge("laplacian", "laplacian", pairwise="weighted", loss="huber", max_iter=5)
    outer = vt.VertexKFold(2, 2, random_state=0)
    scores = [vt.nested_score(model, X, y, {"alpha": [0.1, 1.0]}, outer=outer, inner=outer, n_jobs=n) for n in (1, 2)]
    np.testing.assert_array_equal(scores[0].scores, scores[1].scores)


def test_work_with_extensions_can_be_kept(data, tmp_path):
    X, y = data
    model = vt.KronRidge(G, G, solver=mine.Descent(), backend=RECORDING, loss="squared", max_iter=5)
    vt.vertex_search(model, X, y, {"alpha": [1.0]}, n_jobs=1, checkpoint=tmp_path / "kept")
    assert fingerprint(model) != fingerprint(clone(model).set_params(solver="cg"))
    assert fingerprint(model) != fingerprint(clone(model).set_params(backend="cpu"))


class Kinked(vt.losses.Pointwise):
    name = "kinked"
    is_smooth = False

    def values(self, p, y):
        return np.abs(p - y)

    def slopes(self, p, y):
        return np.sign(p - y)

    def curvatures(self, p, y):
        return np.zeros_like(y)


class Whole(vt.losses.Loss):
    is_quadratic = True

    def value(self, p):
        return float(0.5 * ((p - self.y) ** 2).sum())

    def gradient(self, p):
        return p - self.y

    def curvature(self, p):
        return vt.losses.Diagonal(np.ones_like(self.y))


class Scaled(vt.losses.Squared):
    def values(self, p, y):
        return 50 * super().values(p, y)

    def slopes(self, p, y):
        return 50 * super().slopes(p, y)

    def curvatures(self, p, y):
        return 50 * super().curvatures(p, y)


def test_what_a_loss_cannot_have_is_refused(data):
    X, y = data
    grid = vt.Edges.grid(X.start_table.features, X.end_table.features)
    values = np.random.default_rng(0).standard_normal(len(grid))
    with pytest.raises(ValueError, match="solver is 'auto', but Kinked is not smooth and has no solver"):
        vt.KronRidge(G, G, loss=Kinked).fit(X, y)
    with pytest.raises(ValueError, match="precision is 'mixed', but Kinked has no solver for it"):
        vt.KronRidge(G, G, loss=Kinked, precision="mixed").fit(X, y)
    with pytest.raises(ValueError, match="the loss Whole is not a sum over edges"):
        vt.KronRidge(G, G, loss=Whole, fit_intercept=True).fit(X, y)
    with pytest.raises(ValueError, match="pairwise='two_step' is for ridge regression, but loss is 'huber'"):
        vt.KronRidge(G, G, loss="huber", pairwise="two_step").fit(grid, values)
    with pytest.raises(ValueError, match="loss is 'huber', but the closed form is for the squared loss"):
        vt.leave_out_predictions(vt.KronRidge(G, G, loss="huber"), grid, values)
    with pytest.raises(ValueError, match="the loss is Huber, but one fit for all alphas is for quadratic losses"):
        vt.KronRidge(G, G, loss="huber").fit_path(X, y, [0.1, 1.0])


def test_a_loss_that_is_nearly_the_squared_one_is_itself_on_complete_graphs(data):
    X, _ = data
    grid = vt.Edges.grid(X.start_table.features, X.end_table.features)
    y = np.random.default_rng(0).standard_normal(len(grid))
    scaled = vt.KronRidge(G, G, loss=Scaled, alpha=1.0, tol=1e-9, solver="cg").fit(grid, y).predict(grid)
    np.testing.assert_allclose(scaled, vt.KronRidge(G, G, alpha=1 / 50).fit(grid, y).predict(grid), atol=1e-5)
    auto = vt.KronRidge(G, G, loss=Scaled, alpha=1.0, tol=1e-9).fit(grid, y).predict(grid)
    np.testing.assert_allclose(auto, scaled, atol=1e-5)


def test_a_need_of_its_own(data):
    X, y = data
    with registries_restored():
        vt.register(type("Picky", (mine.Descent,), {"name": "picky", "needs": ("is_smooth", "is_mine")}))
        with pytest.raises(ValueError, match="solver is 'picky', which needs a loss with is_mine"):
            vt.KronRidge(solver="picky").fit(X, y)
        with pytest.raises(
            ValueError, match="solver is 'cg', which needs a quadratic loss, but the loss is SquaredHinge"
        ):
            vt.KronSVM(solver="cg").fit(X, y)


def test_a_solver_object_does_what_its_name_does(data):
    X, _ = data
    grid = vt.Edges.grid(X.start_table.features, X.end_table.features)
    y = np.random.default_rng(0).standard_normal(len(grid))
    for name, kind in vt.solvers.SOLVERS.items():
        if name not in ("box", "descent"):
            models = [vt.KronRidge(G, G, solver=solver, max_iter=300).fit(grid, y) for solver in (name, kind())]
            assert np.array_equal(models[0].solution_.x, models[1].solution_.x), name


def test_a_device_that_is_not_the_backends_own_is_refused(data):
    with pytest.raises(ValueError, match="but device is 'cuda'; leave device out"):
        vt.KronRidge(backend=RECORDING, device="cuda").fit(*data)
    with pytest.raises(ValueError, match=r"backend is \['cpu'\], but it must be one of"):
        vt.KronRidge(backend=["cpu"]).fit(*data)


def test_names_that_files_have_are_checked_with_a_hint(data, tmp_path):
    X, y = data
    models = [
        vt.KronRidge("laplacian", "laplacian"), vt.KronRidge(G, G, solver="descent", tol=1e-2),
        vt.KronRidge(G, G, loss="huber"), vt.KronRidge(G, G, backend="recording"),
        vt.KronRidge(G, G, pairwise=[("weighted", 1.0)]),
    ]  # fmt: skip
    for number, model in enumerate(models):
        model.fit(X, y).save(tmp_path / f"{number}.vt")
    with registries_restored():
        for known in (*(family._kinds for family in FAMILIES.values()), _OTHERS):
            for name in [name for name, kind in known.items() if "tests" in getattr(kind, "__module__", "")]:
                del known[name]
        for number in range(len(models)):
            with pytest.raises(vt.ModelFileError, match=r"cannot be loaded: it names .* but this is not registered"):
                vt.load(tmp_path / f"{number}.vt")


@pytest.mark.slow
def test_commands_know_them_in_a_program_that_registers_them(data, tmp_path):
    X, y = data
    table = np.column_stack([X.start, X.end, y])
    np.savetxt(tmp_path / "edges.csv", table, "%d", ",", header="start,end,label", comments="")
    for side, table in (("start", X.start_table), ("end", X.end_table)):
        rows = np.column_stack([np.arange(len(table)), table.features])
        np.savetxt(tmp_path / f"{side}_features.csv", rows, "%.6g", ",", header="id,x", comments="")
    program = (
        "import vectrick as vt\nfrom tests.extensions import mine\nfrom vectrick.cli import main\n"
        "vt.register(mine.Laplacian)\nmain()"
    )
    own = ["--start-kernel", "laplacian(0.5) + constant(0.3)", "--end-kernel", "laplacian"]
    for arguments in (
        ["fit", str(tmp_path), "-o", str(tmp_path / "model.vt"), *own],
        ["evaluate", str(tmp_path), "--settings", "neither", "--folds", "2", "--baselines", "none", *own],
        ["info", str(tmp_path / "model.vt")],
    ):
        done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert "laplacian" in done.stdout
    alone = [sys.executable, "-m", "vectrick", "info", str(tmp_path / "model.vt")]
    done = subprocess.run(alone, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "but this is not registered" in done.stderr
