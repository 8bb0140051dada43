"""What users bring works like what is there: in fit, in text, in files, in searches and comparisons."""

import inspect
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

import vectrick as vt
from tests.extensions import mine, registries_restored
from vectrick.kernels.text import format_kernel, parse_kernel

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
    with pytest.raises(ValueError, match="loss is 'huber', which is for real-valued labels; use KronRidge"):
        vt.KronSVM(loss="huber").fit(X, y)
    with pytest.raises(ValueError, match="which is for classes; use KronSVM"):
        vt.KronRidge(loss=mine.Boosting).fit(X, y)


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
    assert "it names the kernel 'Laplacian', which is not known here" in lines[0]
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
    with pytest.raises(ValueError, match="'gaussian' is the name of Gaussian already"):
        vt.register(type("Other", (mine.Laplacian,), {"name": "gaussian"}))
    with pytest.raises(ValueError, match="Nameless has no name"):
        vt.register(type("Nameless", (mine.Laplacian,), {"name": ""}))
    with pytest.raises(ValueError, match="that is one of vectrick's own"):
        vt.register(type("Cpu", (mine.Recording,), {"name": "cpu"})())
    assert vt.register(mine.Laplacian) is mine.Laplacian  # once more, as in a notebook
