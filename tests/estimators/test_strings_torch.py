"""Strings, profiles and bounds on torch: on its CPU everywhere, and on the GPU where there is one."""

from importlib.util import find_spec

import numpy as np
import pytest

import vectrick as vt

torch = pytest.importorskip("torch", reason="torch is not installed")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

RNG = np.random.default_rng(0)
WORDS = ["".join(RNG.choice(list("ACDEFGHIKLMNPQRSTVWY"), 30)) for _ in range(14)]
X = vt.Edges.grid(WORDS, RNG.standard_normal((11, 3)))
Y = RNG.standard_normal(len(X))
G = vt.Gaussian(0.2)
KERNELS = [
    vt.Spectrum(2),
    vt.Radial(vt.Spectrum(1), 0.5) + vt.Constant(0.3),
    vt.Spectrum(2) + vt.Profile(like=vt.Spectrum(1)),
]
if find_spec("parasail"):
    KERNELS += [vt.SmithWaterman(), vt.SmithWaterman(kernel=G)]


@pytest.mark.filterwarnings("ignore::vectrick.kernels.KernelWarning")
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_same_model_as_on_the_host(kernel):
    how = {"alpha": 0.3, "tol": 1e-10}
    host = vt.KronRidge(kernel, G + vt.Profile(), **how).fit(X, Y)
    there = vt.KronRidge(kernel, G + vt.Profile(), backend="torch", device=DEVICE, **how).fit(X, Y)
    np.testing.assert_allclose(there.predict(X), host.predict(X), atol=1e-6)
    np.testing.assert_allclose(
        there.predict_grid(["ACDEFGHIKL"], np.ones((2, 3))),
        host.predict_grid(["ACDEFGHIKL"], np.ones((2, 3))),
        atol=1e-6,
    )


@pytest.mark.parametrize("loss", ["censored", "squared"])
def test_edges_on_the_device(loss):
    moved = X.on(DEVICE)
    y = vt.censored(Y, RNG.integers(-1, 2, len(Y))) if loss == "censored" else Y
    how = {"loss": loss, "alpha": 0.3, "tol": 1e-10}
    host = vt.KronRidge(vt.Spectrum(2), G, **how).fit(X, y)
    there = vt.KronRidge(vt.Spectrum(2), G, backend="torch", device=DEVICE, **how)
    there.fit(moved, y if loss == "censored" else torch.as_tensor(y, device=DEVICE))
    np.testing.assert_allclose(np.asarray(there.predict(moved).cpu()), host.predict(X), atol=1e-6)
