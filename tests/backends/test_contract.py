"""Every backend keeps the contract: the CPU's, the reference, torch's on the CPU, and a toy of a user."""

import pytest

import vectrick as vt
from tests.extensions.mine import Recording
from vectrick.backends import HOST, settle_backend
from vectrick.testing import BackendContract


class TestHost(BackendContract):
    def make(self):
        return HOST


class TestReference(BackendContract):
    def make(self):
        return settle_backend("reference", None)


class TestRecording(BackendContract):
    def make(self):
        return Recording()


class TestTorch(BackendContract):
    def make(self):
        pytest.importorskip("torch", reason="torch is not installed: its backend was left out")
        return settle_backend("torch", "cpu")


def test_an_unknown_backend_is_refused():
    with pytest.raises(ValueError, match="backend is 'jax', but it must be one of 'cpu', 'torch', 'auto', 'reference'"):
        vt.KronRidge(backend="jax").fit(*vt.datasets.make_checkerboard(10, random_state=0))
